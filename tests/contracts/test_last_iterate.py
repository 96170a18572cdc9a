"""The last of many noisy iterates, and a certified minimizer: one release each, priced as such."""

import dataclasses

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Gaussian, Pure, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.grids import float_unit
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._queries import LastIterate, Output
from dpsk._queries.last_iterate import LastIterateOracle
from dpsk._queries.one_shot import OutputOracle, steps_to_certify
from dpsk._solvers.one_shot.last_iterate import LastIterateDescent
from dpsk._sums.linear_sums import LinearSums, float_sums
from tests.contracts.streams import SilentStream
from tests.registry import (
    make_loss,
    make_model,
    make_penalty,
    make_problem,
    make_targets,
    usable_clip,
)

pytestmark = pytest.mark.thorough

_KEY = bytes(range(16))
_Z, _ALPHA = 1.7, 0.2
_SCALAR = ["logistic", "huber", "huberized_hinge", "capped_poisson"]


def _sums(name="logistic", n=30, clip_norm=np.inf, X=None, y=None):
    rng = np.random.default_rng(0)
    model, loss = make_model(name), make_loss(name)
    X = rng.normal(size=(n, 3)) if X is None else X
    y = make_targets(name, n, rng) if y is None else y
    return float_sums(model, loss, Rows(X, y), usable_clip(loss, model, clip_norm))


def _step(sums, share=1.0):
    return share * 2.0 / (sums.smoothness + 2.0 * _ALPHA)


def _last(sums, steps, step, alpha=_ALPHA, stream=None):
    declared = LastIterate(sums.clip_norm, steps, step, alpha)
    ledger = Ledger(declared(_Z))
    session = Session(stream or KeyedStream(_KEY), ledger)
    return LastIterateOracle(sums, declared, _Z, session), ledger


def _output(sums, pure=False, stream=None):
    release = Output(pure, sums.clip_norm)
    ledger = Ledger(release(_Z))
    return OutputOracle(sums, release, _Z, Session(stream or KeyedStream(_KEY), ledger)), ledger


def test_the_price_is_that_of_the_shifts_along_the_path():
    # Shifts a_k are proportional to c^(T-k) and must sum, damped, to what one row can move.
    for c, steps in ((0.5, 1), (0.5, 7), (0.97, 40), (0.999, 3)):
        k = np.arange(1, steps + 1)
        damping = c ** (steps - k)
        shifts = damping * damping.sum() / np.square(damping).sum()
        effective = LastIterate(1.0, steps, 1.0 - c, 1.0).effective_steps
        assert effective == pytest.approx(np.square(shifts).sum(), rel=1e-9)
        assert effective <= min(steps, 2 / (1 - c))
    event = LastIterate(1.0, 9, 0.1, 0.5)(_Z)
    assert event == Gaussian(2 * np.sqrt(LastIterate(1.0, 9, 0.1, 0.5).effective_steps) / _Z)
    assert LastIterate(1.0, 9, 0.1, 0.0)(_Z).mu == pytest.approx(2 * 3 / _Z)


def test_the_last_iterate_is_that_of_noisy_steps_and_is_charged_once():
    sums, penalty = _sums(), make_penalty("l2", _ALPHA)
    oracle, ledger = _last(sums, 12, _step(sums, 0.5))
    released = oracle.descend(np.zeros(4), penalty)
    stream, theta = KeyedStream(_KEY), np.zeros(4)
    for _ in range(12):
        noise = _Z * sums.clip_norm * samplers.standard_normal(stream, (4,))
        slope = (sums.gradient(theta) + noise) / 30 + _ALPHA * theta
        theta = theta - _step(sums, 0.5) * slope
    np.testing.assert_allclose(released, theta, atol=1e-8)
    # No finer bits than 2^-30 of the noise of the last step.
    unit = float_unit(_step(sums, 0.5) * _Z * sums.clip_norm / 30)
    np.testing.assert_array_equal(released / unit, np.rint(released / unit))
    assert ledger.spent.events == (Repeated(oracle._event, 1),)
    oracle._session._stream = SilentStream(_KEY)
    with pytest.raises(RuntimeError, match="plan"):
        oracle.descend(np.zeros(4), penalty)


@pytest.mark.parametrize("kind, alpha, unpenalized, share", [
    ("l2", 2 * _ALPHA, 0, 1.0), ("l2", 0.5 * _ALPHA, 0, 1.0), ("l2", _ALPHA, 1, 1.0),
    ("elasticnet", _ALPHA, 0, 1.0), ("l1", _ALPHA, 0, 1.0), ("l2_ball", _ALPHA, 0, 1.0),
    ("l2", _ALPHA, 0, 1.01)])
def test_what_might_not_contract_as_declared_is_refused_before_anything_is_drawn(
        kind, alpha, unpenalized, share):
    sums = _sums()
    oracle, ledger = _last(sums, 5, _step(sums, share), stream=SilentStream(_KEY))
    with pytest.raises(ValueError, match="learning_rate"):
        oracle.descend(np.zeros(4), make_penalty(kind, alpha, unpenalized=unpenalized))
    assert ledger.spent.events == ()


def test_clipped_softmax_is_refused_before_anything_is_drawn():
    sums = _sums("multinomial", clip_norm=0.3)
    penalty = make_penalty("l2", _ALPHA)
    last, _ = _last(sums, 5, _step(sums), stream=SilentStream(_KEY))
    with pytest.raises(ValueError, match=r"clip_norm=0\.3"):
        last.descend(np.zeros((4, 3)), penalty)
    output, _ = _output(sums, stream=SilentStream(_KEY))
    with pytest.raises(ValueError, match=r"clip_norm=0\.3"):
        output.minimize(np.zeros((4, 3)), penalty, 1e-3, 10**4)


@pytest.mark.parametrize("name", _SCALAR)
@pytest.mark.parametrize("clip_norm", [0.1, np.inf])
def test_one_step_contracts_and_moves_no_more_than_the_price_assumes(name, clip_norm):
    rng = np.random.default_rng(1)
    for _ in range(30):
        X, y = 3 * rng.normal(size=(6, 3)), make_targets(name, 6, rng)
        sums = _sums(name, 6, clip_norm, X, y)
        X_other, y_other = X.copy(), y.copy()
        X_other[0], y_other[0] = -1e3 * X[0], make_targets(name, 1, rng)[0]
        other = _sums(name, 6, clip_norm, X_other, y_other)
        step = _step(sums)
        ends = rng.normal(size=(2, 4)) * 3
        here, there = (end - step * (sums.gradient(end) / 6 + _ALPHA * end) for end in ends)
        gap = np.linalg.norm(ends[0] - ends[1])
        assert np.linalg.norm(here - there) <= (1 - step * _ALPHA) * gap * (1 + 1e-12)
        moved = step * np.linalg.norm(sums.gradient(ends[0]) - other.gradient(ends[0])) / 6
        assert moved <= 2 * step * sums.clip_norm / 6


def _final_noise(name, alpha, **given):
    """Return steps and the noise's standard deviation at the end, for 200 rows and epsilon 1."""
    problem = make_problem(name, alpha=alpha)
    solver = LastIterateDescent(**given).configured(problem)
    z = calibrate(solver.queries(problem), problem.epsilon, problem.delta)
    rate = 1.0 - solver.learning_rate * alpha
    steps = solver.max_iter
    spread = np.sqrt(np.square(rate ** np.arange(steps)).sum())
    return steps, solver.learning_rate * z * solver.clip_norm / 200 * spread


@pytest.mark.parametrize("name", _SCALAR)
def test_a_ridge_that_is_weak_for_the_budget_gets_fewer_steps_and_less_noise(name):
    steps, noise = _final_noise(name, 1e-3)
    _, late = _final_noise(name, 1e-3, max_iter=2000)
    assert 10 <= steps < 300 and noise < 0.5 * late
    # Norms and bounds do not matter, rows do.
    wider = dataclasses.replace(make_problem(name, alpha=1e-3), n_samples=400)
    assert steps < LastIterateDescent().configured(wider).max_iter < 2.2 * steps
    # A strong one is waited for until what came first has faded.
    solver = LastIterateDescent().configured(make_problem(name, alpha=2.0))
    assert solver.max_iter == max(10, np.ceil(np.log(1e3) / (2.0 * solver.learning_rate)))


# A minimizer up to a certified gradient norm.

def _certain(sums, tolerance, alpha=_ALPHA):
    return steps_to_certify(sums.smoothness, alpha, sums.clip_norm, tolerance)


def _hostile_tables(name, n=12, n_features=3):
    """Yield tables of ordinary, aligned, huge, vanishing and opposed rows."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(n, n_features)), make_targets(name, n, rng)
    aligned = np.tile(X[0], (n, 1))
    # Targets pull both ways, or all one way.
    opposed = aligned * (-1.0)**np.arange(n)[:, None]
    for rows in (X, aligned, opposed, 1e300 * X, 1e-300 * X, 0.0 * X):
        for targets in (y, np.full(n, y.max()), np.full(n, y.min())):
            yield rows, targets


@pytest.fixture
def silent(monkeypatch):
    """Let what was found leave without noise."""
    monkeypatch.setattr(OutputOracle, "_released", lambda self, read, sensitivity: read(None))


@pytest.mark.parametrize("name", _SCALAR)
@pytest.mark.parametrize("clip_norm, n_features, alpha", [
    (0.1, 3, _ALPHA), (np.inf, 3, _ALPHA), (np.inf, 3, 1e-2), (np.inf, 100, _ALPHA)])
def test_the_end_is_within_the_certified_distance_of_the_minimizer_on_any_rows(
        name, clip_norm, n_features, alpha, silent):
    penalty, start = make_penalty("l2", alpha), np.zeros(n_features + 1)
    for X, y in _hostile_tables(name, n_features=n_features):
        model, loss = LinearModel(n_features, None, True, 1.0), make_loss(name)
        with np.errstate(all="ignore"):
            sums = float_sums(model, loss, Rows(X, y), usable_clip(loss, model, clip_norm))
            tolerance = 1e-3 * sums.clip_norm
            found = [_output(sums)[0].minimize(start, penalty, size, _certain(sums, size, alpha))
                     for size in (tolerance, 1e-12)]
            gradients = [sums.gradient(end) / len(X) + penalty.gradient(end) for end in found]
        assert np.linalg.norm(gradients[0]) <= tolerance
        # Strong convexity: no gradient is shorter than alpha times the distance.
        assert np.linalg.norm(gradients[1]) <= 1e-10 * sums.clip_norm
        assert np.linalg.norm(found[0] - found[1]) <= (tolerance + 1e-10) / alpha


@pytest.mark.parametrize("name", _SCALAR)
def test_steps_and_gradients_are_as_many_for_any_rows(name, monkeypatch):
    """How long a fit takes tells nothing of the rows."""
    asked, gradient = [], LinearSums.gradient
    monkeypatch.setattr(LinearSums, "gradient",
                        lambda self, *args: asked.append(len(args)) or gradient(self, *args))
    counts = set()
    for X, y in _hostile_tables(name):
        with np.errstate(all="ignore"):
            sums = _sums(name, len(X), 0.3, X, y)
            tolerance = 1e-4 * sums.clip_norm
            asked.clear()
            _output(sums)[0].minimize(np.zeros(4), make_penalty("l2", _ALPHA), tolerance,
                                      _certain(sums, tolerance))
        counts.add(len(asked))
    assert counts == {_certain(sums, tolerance)}


def test_rows_too_long_to_scale_do_not_make_steps_jump():
    # Their products with theta overflow on one side of a line between two neighboring runs.
    n, steps, model = 2000, 6, LinearModel(2, None, True, 1.0)
    X = np.repeat([[0.5**0.5, 0.5**0.5], [1.7e307, 1.7e307]], n // 2, axis=0)
    y = np.repeat([1.0, 0.0], n // 2)
    changed = np.r_[0.0, y[1:]]

    def run(y, steps):
        sums = float_sums(model, make_loss("logistic"), Rows(X, y), 1.5)
        theta = np.zeros(3)
        for _ in range(steps):
            theta = theta - 4.0 * sums.gradient(theta) / n
        return theta

    with np.errstate(all="ignore"):
        crossing = run(y, steps - 1)[:2].sum() / 2 + run(changed, steps - 1)[:2].sum() / 2
        X[n // 2:] = np.finfo(float).max / crossing
        distance = np.linalg.norm(run(y, steps) - run(changed, steps))
    assert distance <= 2 * 1.5 * 4.0 * steps / n


@pytest.mark.parametrize("pure", [False, True])
def test_the_noise_is_that_of_the_distance_between_minimizers(pure, silent, monkeypatch):
    sums, penalty = _sums(), make_penalty("l2", _ALPHA)
    tolerance = 1e-4 * sums.clip_norm / 30
    steps = _certain(sums, tolerance)
    exact = _output(sums)[0].minimize(np.zeros(4), penalty, tolerance, steps)
    monkeypatch.undo()
    oracle, ledger = _output(sums, pure)
    released = oracle.minimize(np.zeros(4), penalty, tolerance, steps)
    claimed = 2 * sums.clip_norm / (30 * _ALPHA) + 2 * tolerance / _ALPHA
    draw = samplers.gamma_norm if pure else samplers.standard_normal
    noise = _Z * claimed * draw(KeyedStream(_KEY), (4,))
    unit = float_unit(_Z * claimed)
    np.testing.assert_allclose(released - exact, noise, rtol=1e-8, atol=2 * unit)
    np.testing.assert_array_equal(released / unit, np.rint(released / unit))
    event = Pure(1 / _Z) if pure else Gaussian(1 / _Z)
    assert ledger.spent.events == (Repeated(event, 1),)


@pytest.mark.parametrize("name", _SCALAR)
@pytest.mark.parametrize("clip_norm", [0.05, np.inf])
def test_the_declared_bound_covers_what_minimizers_move_and_rounding(
        name, clip_norm, silent, monkeypatch):
    """Ends on neighbors, each rounded to the unit, against the bound that noise is for."""
    rng, n, penalty, furthest = np.random.default_rng(4), 6, make_penalty("l2", _ALPHA), 0.0
    bounds = []
    monkeypatch.setattr(OutputOracle, "_released", lambda self, read, sensitivity:
                        bounds.append(sensitivity) or read(None))
    for _ in range(20):
        X, y = rng.normal(size=(n, 3)), make_targets(name, n, rng)
        ends = []
        for sign in (1.0, -1.0):
            X[0], y[0] = sign * 1e6 * np.eye(3)[0], y.max() if sign > 0 else y.min()
            sums = _sums(name, n, clip_norm, X.copy(), y.copy())
            tolerance = 1e-3 * sums.clip_norm / n
            ends.append(_output(sums)[0].minimize(np.zeros(4), penalty, tolerance,
                                                  _certain(sums, tolerance)))
        noise = Sensitivity(bounds[-1], size=4).noise(Gaussian(1 / _Z))
        rounded = [np.rint(end / noise.unit) * noise.unit for end in ends]
        # Over the multiplier, the noise's scale is the bound on what moves.
        furthest = max(furthest, np.linalg.norm(rounded[0] - rounded[1]) / (noise.scale / _Z))
    assert bounds[0] >= 2 * sums.clip_norm / (n * _ALPHA) + 2 * tolerance / _ALPHA
    assert 0.05 < furthest <= 1.0


@pytest.mark.parametrize("kind, unpenalized, fewer", [
    ("l2", 0, 1), ("elasticnet", 0, 0), ("l2", 1, 0)])
def test_a_minimizer_that_may_not_be_reached_is_refused_before_anything_is_drawn(
        kind, unpenalized, fewer):
    sums = _sums()
    tolerance = 1e-3 * sums.clip_norm
    oracle, ledger = _output(sums, stream=SilentStream(_KEY))
    with pytest.raises(ValueError, match="tolerance"):
        oracle.minimize(np.zeros(4), make_penalty(kind, _ALPHA, unpenalized=unpenalized),
                        tolerance, _certain(sums, tolerance) - fewer)
    assert ledger.spent.events == ()
