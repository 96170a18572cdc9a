"""Every answer of an oracle is clipped, noised at the declared scale, and charged first."""

import numpy as np
import pytest
from scipy import stats

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.penalties import PENALTIES
from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.events import Gaussian, Pure, Repeated, SampledGaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.grids import float_unit, grid_bits
from dpsk._privacy.noise.streams import KeyedStream, poisson_batches
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Gradients, Output
from dpsk._queries.gradients import GradientOracle
from dpsk._queries.one_shot import OutputOracle
from dpsk._sums.linear_sums import float_sums, grid_sums
from tests.contracts.units import assert_whole, unit_and_scale
from tests.registry import (
    every_loss,
    make_loss,
    make_model,
    make_penalty,
    make_problem,
    make_targets,
    usable_clip,
)

_KEY = bytes(range(16))
_Z, _COUNT = 1.7, 3


class CountingStream(KeyedStream):
    """A keyed stream that counts what is drawn from it."""

    drawn = 0

    def words(self, count):
        self.drawn += count
        return super().words(count)


def _row_sums(name="logistic", n=50, clip_norm=0.3, seed=0, fit_intercept=True):
    rng = np.random.default_rng(seed)
    model, loss = make_model(name, 3, fit_intercept), make_loss(name)
    rows = Rows(rng.normal(size=(n, 3)), make_targets(name, n, rng))
    return float_sums(model, loss, rows, usable_clip(loss, model, clip_norm))


def _gradient_oracle(sums, batches, count=_COUNT, plan_count=None):
    declared = NoisySums(batches, count)
    stream = CountingStream(_KEY)
    plan = NoisySums(batches, plan_count or count)(_Z)
    ledger = Ledger(plan)
    return GradientOracle(sums, declared, _Z, Session(stream, ledger)), stream, ledger


@every_loss
def test_full_batch_answer_is_the_mean_plus_noise_of_the_declared_scale(name):
    sums = _row_sums(name)
    oracle, _, _ = _gradient_oracle(sums, FullBatch())
    noise = samplers.standard_normal(KeyedStream(_KEY), (_COUNT, *sums.model.shape))
    for t in range(_COUNT):
        theta = np.full(sums.model.shape, float(t))
        answer = oracle.gradient(theta)
        unit, scale = unit_and_scale(_Z, sums.clip_norm, theta.size)
        surplus = answer - sums.gradient(theta) / 50
        np.testing.assert_allclose(surplus, scale * noise[t] / 50, rtol=0, atol=2 * unit / 50)
        assert_whole(answer * 50 / unit)


@every_loss
def test_sampled_answer_is_divided_by_the_public_expected_batch_size(name):
    # 6.5 rows are expected, which no realized batch has.
    sums, rate = _row_sums(name), 0.13
    oracle, _, _ = _gradient_oracle(sums, PoissonBatches(rate))
    same = KeyedStream(_KEY)
    batches = list(poisson_batches(same, 50, rate, _COUNT))
    noise = samplers.standard_normal(same, (_COUNT, *sums.model.shape))
    for t in range(_COUNT):
        theta = np.full(sums.model.shape, float(t))
        exact = sums.gradient(theta, batches[t])
        unit, scale = unit_and_scale(_Z, sums.clip_norm, theta.size)
        expected = (exact + scale * noise[t]) / (rate * 50)
        answer = oracle.gradient(theta)
        np.testing.assert_allclose(answer, expected, rtol=0, atol=2 * unit / (rate * 50))
        assert_whole(answer * (rate * 50) / unit)


def test_noise_on_rounded_sums_covers_what_rounding_adds_to_a_row():
    # Each of two sums of m rows is off by up to m u times m clip norms.
    n = 1 << 20
    rows = Rows(np.ones((n, 1)), np.zeros(n))
    sums = float_sums(LinearModel(1, None, False, 1.0), make_loss("huber"), rows, 1.0)
    for batches, margin in ((FullBatch(), 2.0**-13), (PoissonBatches(0.9), 2.0**-13),
                            (PoissonBatches(256 / n), 612**2 * 2.0**-53)):
        oracle, _, _ = _gradient_oracle(sums, batches, count=1)
        same = KeyedStream(_KEY)
        list(batches.batches(same, n, 1))
        noise = samplers.standard_normal(same, (1,))
        # Targets and theta are zero, so the answer is the noise.
        answer = oracle.gradient(np.zeros(1)) * batches.expected_size(n)
        unit = float_unit(_Z)
        # Both are in whole units, which adds one unit to the bound on one coordinate.
        assert answer / (_Z * noise) - 1.0 == pytest.approx(
            margin + unit, abs=unit / abs(_Z * noise[0]), rel=1e-2)
        assert_whole(answer / unit)


def test_batches_hardly_ever_exceed_the_size_that_margins_are_made_for():
    n = 10**9
    for expected in np.geomspace(1e-3, 1e6, 200):
        size = PoissonBatches(expected / n).largest_size(n)
        assert stats.binom.logsf(size, n, expected / n) < np.log(1e-50)
    assert PoissonBatches(0.9).largest_size(1000) == FullBatch().largest_size(1000) == 1000


def test_an_empty_batch_is_answered_with_noise_and_charged():
    sums = _row_sums()
    oracle, _, ledger = _gradient_oracle(sums, PoissonBatches(1e-9))
    answers = [oracle.gradient(np.zeros(4)) for _ in range(_COUNT)]
    assert all(np.all(answer != 0) for answer in answers)
    assert len(np.unique(answers)) == 4 * _COUNT
    assert ledger.spent.events == (Repeated(SampledGaussian(1e-9, _Z), _COUNT),)


@pytest.mark.parametrize("batches, event", [
    (FullBatch(), Gaussian(2 / _Z)), (PoissonBatches(0.2), SampledGaussian(0.2, _Z))])
def test_every_answer_is_charged_as_the_plan_states_it(batches, event):
    oracle, _, ledger = _gradient_oracle(_row_sums(), batches)
    for t in range(1, _COUNT + 1):
        oracle.gradient(np.zeros(4))
        assert ledger.spent.events == (Repeated(event, t),)


@pytest.mark.parametrize("batches", [FullBatch(), PoissonBatches(0.2)])
def test_more_answers_than_declared_are_refused(batches):
    oracle, stream, _ = _gradient_oracle(_row_sums(), batches)
    for _ in range(_COUNT):
        oracle.gradient(np.zeros(4))
    drawn = stream.drawn
    with pytest.raises(RuntimeError, match="plan"):
        oracle.gradient(np.zeros(4))
    assert stream.drawn == drawn


@pytest.mark.parametrize("batches", [FullBatch(), PoissonBatches(0.2)])
def test_nothing_is_drawn_or_read_before_the_ledger_has_agreed(batches):
    sums = _row_sums()
    stream = CountingStream(_KEY)
    ledger = Ledger(Gaussian(1e-3))
    oracle = GradientOracle(sums, NoisySums(batches, _COUNT), _Z, Session(stream, ledger))
    sums.gradient = None
    with pytest.raises(RuntimeError, match="plan"):
        oracle.gradient(np.zeros(4))
    assert stream.drawn == 0


def test_noise_is_fresh_in_every_answer():
    sums = _row_sums()
    oracle, _, _ = _gradient_oracle(sums, FullBatch(), count=200)
    answers = np.array([oracle.gradient(np.zeros(4)) for _ in range(200)])
    assert len(np.unique(answers)) == answers.size


def _opened(z, batches=None, n=50):
    """Return the oracle that a fit would open, with sums made apart from the same rows."""
    problem = make_problem(n_samples=n)
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(n, 3)), rng.integers(2, size=n).astype(float))
    declared = Gradients(NoisySums(batches or FullBatch(), _COUNT), 0.3)
    oracle = declared.run((problem, rows), Session(KeyedStream(_KEY), Ledger(declared(z))), z)
    bits = grid_bits(n, 0.3, 0.3 * z)
    exact = bits and grid_sums(problem.model, problem.loss, rows, 0.3, bits)
    return oracle, exact


@pytest.mark.parametrize("z", [1e-6, 1.7, 1e6])
def test_full_batches_are_answered_on_the_grid_to_the_last_bit(z):
    oracle, exact = _opened(z)
    noise = samplers.standard_normal(KeyedStream(_KEY), (_COUNT, 4))
    assert oracle.arithmetic == "grid"
    for t in range(_COUNT):
        theta = np.full(4, float(t))
        total = exact.gradient(theta)
        units = total / exact.resolution + np.rint(0.3 * z * noise[t] / exact.resolution)
        answer = oracle.gradient(theta)
        np.testing.assert_array_equal(answer, units * exact.resolution / 50)
        # Nothing finer than the unit is left in the answer.
        np.testing.assert_array_equal(np.rint(answer * 50 / exact.resolution), units)


def test_float_sums_remain_for_samples_and_for_noise_too_small_for_the_grid():
    assert _opened(1.7, PoissonBatches(0.3))[0].arithmetic == "float"
    # 2^10 units of noise on sums below 2^52 units: less than n C 2^-42.
    oracle, exact = _opened(1e-12)
    assert exact is None and oracle.arithmetic == "float"


# Output perturbation.

def _smooth_step(sums, alpha):
    return 2.0 / (sums.smoothness + 2.0 * alpha)


def _output_oracle(sums, pure=False):
    release, stream = Output(pure, sums.clip_norm), CountingStream(_KEY)
    ledger = Ledger(release(_Z))
    return OutputOracle(sums, release, _Z, Session(stream, ledger)), stream, ledger


def _noiseless(sums, penalty, step, n_steps):
    theta = np.zeros(sums.model.shape)
    for _ in range(n_steps):
        gradient = sums.gradient(theta) / sums.n_samples + penalty.gradient(theta)
        theta = penalty.prox(theta - step * gradient, step)
    return theta


@pytest.mark.parametrize("pure", [False, True])
def test_output_is_the_last_iterate_plus_noise_of_the_claimed_sensitivity(pure):
    sums, penalty = _row_sums(clip_norm=np.inf), make_penalty("l2", 0.1)
    step = _smooth_step(sums, 0.1)
    oracle, _, ledger = _output_oracle(sums, pure)
    released = oracle.descend(np.zeros(4), penalty, step, 20)
    claimed = 2 * sums.clip_norm / (50 * 0.1) * (1 - (1 - 0.1 * step)**20)
    if pure:
        noise = _Z * claimed * samplers.gamma_norm(KeyedStream(_KEY), (4,))
    else:
        noise = _Z * claimed * samplers.standard_normal(KeyedStream(_KEY), (4,))
    surplus = released - _noiseless(sums, penalty, step, 20)
    # Both are rounded to a grid far below the noise.
    np.testing.assert_allclose(surplus, noise, rtol=1e-8, atol=1e-8 * _Z * claimed)
    event = Pure(1 / _Z) if pure else Gaussian(1 / _Z)
    assert ledger.spent.events == (Repeated(event, 1),)


@pytest.mark.parametrize("pure", [False, True])
def test_an_output_oracle_answers_once(pure):
    sums, penalty = _row_sums(), make_penalty("l2", 0.1)
    oracle, stream, _ = _output_oracle(sums, pure)
    oracle.descend(np.zeros(4), penalty, 0.5, 3)
    drawn = stream.drawn
    with pytest.raises(RuntimeError, match="plan"):
        oracle.descend(np.zeros(4), penalty, 0.5, 3)
    assert stream.drawn == drawn


_NEIGHBOURS = [("logistic", 0.3), ("logistic", np.inf), ("huber", 0.1), ("huber", np.inf),
               ("multinomial", np.inf), ("huberized_hinge", 0.2), ("capped_poisson", np.inf),
               ("squared", 0.3), ("squared_hinge", 1.0), ("one_vs_rest", np.inf)]


@pytest.mark.covering
@pytest.mark.parametrize("name, clip_norm", _NEIGHBOURS)
@pytest.mark.parametrize("penalty", sorted(PENALTIES))
@pytest.mark.parametrize("unpenalized", [0, 1])
def test_last_iterates_on_neighbors_stay_within_the_claimed_sensitivity(
        name, clip_norm, penalty, unpenalized):
    penalty = make_penalty(penalty, 0.2, radius=0.4, unpenalized=unpenalized)
    rng = np.random.default_rng(7)
    n = 8
    sums = _row_sums(name, n, clip_norm)
    for n_steps, share in [(1, 1.0), (10, 0.3), (60, 1.0)]:
        step = share * _smooth_step(sums, penalty.smoothness)
        claimed = _output_oracle(sums)[0]._sensitivity(penalty, step, n_steps)
        furthest = 0.0
        for _ in range(4):
            X = rng.normal(size=(n, 3)) * rng.choice([0.1, 1.0, 1e3])
            y = make_targets(name, n, rng)
            ends = []
            for sign in (1, -1):
                X[0], y[0] = sign * 1e6 * np.eye(3)[0], (y.max() if sign > 0 else y.min())
                pair = float_sums(sums.model, sums.loss, Rows(X.copy(), y.copy()), sums.clip_norm)
                ends.append(_noiseless(pair, penalty, step, n_steps))
            furthest = max(furthest, np.linalg.norm(ends[0] - ends[1]))
        assert furthest <= claimed
        if penalty == make_penalty("l2", 0.2):
            # The neighbors are hostile enough for a bound a tenth as large to fail.
            assert furthest > 0.1 * claimed


def test_the_claimed_sensitivity_is_attained_by_opposite_gradients():
    # One step from zero with the one row's gradient turned round moves by 2 C step / n.
    sums = _row_sums("huber", 4, 0.05, fit_intercept=False)
    penalty = make_penalty("l2", 0.0)
    X = np.eye(3)[np.zeros(4, dtype=int)]
    ends = [_noiseless(float_sums(sums.model, sums.loss, Rows(X, np.array([target, 0, 0, 0])),
                               sums.clip_norm), penalty, 1.0, 1)
            for target in (5.0, -5.0)]
    claimed = _output_oracle(sums)[0]._sensitivity(penalty, 1.0, 1)
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(claimed)


def test_a_free_intercept_is_not_granted_the_contraction_of_the_penalty():
    sums = _row_sums(clip_norm=np.inf)
    step = 0.5 * _smooth_step(sums, 1.0)
    claims = [_output_oracle(sums)[0]._sensitivity(
        make_penalty("l2", 1.0, unpenalized=free), step, 100) for free in (0, 1)]
    assert claims[1] == pytest.approx(2 * sums.clip_norm * 100 * step / 50)
    assert claims[0] < 0.1 * claims[1]


def test_clipped_softmax_is_refused_before_anything_is_drawn():
    oracle, stream, ledger = _output_oracle(_row_sums("multinomial", clip_norm=0.3))
    with pytest.raises(ValueError, match=r"clip_norm=0\.3"):
        oracle.descend(np.zeros((4, 3)), make_penalty("l2", 0.1), 0.1, 5)
    assert stream.drawn == 0 and ledger.spent.events == ()


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("unpenalized", [0, 1])
def test_steps_that_may_expand_are_refused_before_anything_is_drawn(alpha, unpenalized):
    sums, penalty = _row_sums(clip_norm=np.inf), make_penalty("l2", alpha, unpenalized=unpenalized)
    oracle, stream, ledger = _output_oracle(sums)
    # A step of 2 over the largest curvature of all is the longest that never expands.
    longest = 2.0 / (sums.smoothness + alpha)
    with pytest.raises(ValueError, match=f"learning_rate={1.01 * longest!r}"):
        oracle.descend(np.zeros(4), penalty, 1.01 * longest, 5)
    assert stream.drawn == 0 and ledger.spent.events == ()


@pytest.mark.parametrize("pure", [False, True])
def test_a_released_iterate_has_no_finer_bits_than_its_noise_allows(pure):
    sums, penalty = _row_sums(clip_norm=np.inf), make_penalty("l2", 0.1)
    step = _smooth_step(sums, 0.1)
    oracle, _, _ = _output_oracle(sums, pure)
    released = oracle.descend(np.zeros(4), penalty, step, 20)
    noise = _Z * oracle._sensitivity(penalty, step, 20)
    unit = 2.0 ** (np.floor(np.log2(noise)) - 30)
    np.testing.assert_array_equal(released / unit, np.rint(released / unit))


def test_coordinates_that_are_not_finite_are_released_as_zero_plus_noise():
    oracle, _, _ = _output_oracle(_row_sums(clip_norm=np.inf))
    start = np.array([np.nan, np.inf, -np.inf, 0.0])
    with np.errstate(all="ignore"):
        released = oracle.descend(start, make_penalty("l2", 0.1), 0.1, 3)
    assert np.all(np.isfinite(released)) and np.all(released != 0)
