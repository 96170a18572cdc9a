"""What an evaluation releases: how far a row moves it, the law of its noise, and nothing else."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.stats import chi2

from dpsk.accounting import Gaussian, compose, delta
from dpsk.metrics import (
    BinaryEvaluation,
    MulticlassEvaluation,
    RegressionEvaluation,
    dp_log_loss,
)
from dpsk.testing import NoiseSeed
from tests.events import gaussian_mu

N = 40
HOSTILE = [-np.inf, -1e300, -0.0, 0.0, 1e-300, 0.25, 0.5, 1.0, 1e300, np.inf, np.nan]


def scores():
    return np.arange(N) % 2, np.linspace(0.0, 1.0, N)


def with_last(y, values, label, value):
    y, values = y.astype(float), values.copy()
    y[-1], values[-1] = label, value
    return y, values


@pytest.mark.parametrize("score_range, floor", [((0, 1), None), ((0, 1), 0.01), (None, None)])
def test_a_row_moves_the_histogram_by_the_root_of_two_at_most(noise_times, score_range, floor):
    noise_times(0.0)
    found = [BinaryEvaluation.from_predictions(
        *with_last(*scores(), label, value), labels=[0, 1], score_range=score_range, bins=8,
        log_loss_floor=floor)
        for label, value in itertools.product([0, 1], HOSTILE)]
    tables = [each.counts for each in found]
    moved = [np.linalg.norm(one - other) for one, other in itertools.combinations(tables, 2)]
    assert max(moved) == pytest.approx(np.sqrt(2.0), rel=1e-12)
    assert all(table.sum() == pytest.approx(N) for table in tables)
    mu = gaussian_mu(1.0, 1.0 / N**2)
    if score_range is None:
        assert found[0].noise_scale == pytest.approx(np.sqrt(2.0) / mu, rel=1e-6)
        return
    # Counts and losses together, each in the unit of its noise.
    whole = [np.append(each.counts.ravel() / each.noise_scale,
                       [each.squared_loss / each.loss_noise,
                        each.log_loss_left / (each.log_loss_noise or 1.0)]) for each in found]
    moved = max(np.linalg.norm(one - other) for one, other in itertools.combinations(whole, 2))
    assert 0.97 * mu < moved <= mu * (1.0 + 1e-9)


def test_a_row_moves_the_mean_of_log_losses_by_what_is_priced_at_most(noise_times):
    noise_times(0.0)
    found = [dp_log_loss(*with_last(*scores(), *last), labels=[0, 1])
             for last in itertools.product([0, 1], HOSTILE)]
    most = np.log(100.0)
    assert 0.99 * most < N * np.ptp([each.value for each in found]) <= most * (1.0 + 1e-9)
    mu = gaussian_mu(1.0, 1.0 / N**2)
    assert N * found[0].standard_error == pytest.approx(most / mu, rel=1e-6)


def test_a_row_moves_the_table_of_labels_by_the_root_of_two_at_most(noise_times):
    noise_times(0.0)
    y, guesses = np.arange(N) % 3, np.arange(N) % 3
    tables = [MulticlassEvaluation.from_predictions(*with_last(y, guesses, *last)).counts
              for last in itertools.product(range(3), repeat=2)]
    moved = [np.linalg.norm(one - other) for one, other in itertools.combinations(tables, 2)]
    assert max(moved) == pytest.approx(np.sqrt(2.0), rel=1e-12)


def test_a_row_moves_the_table_and_the_log_losses_by_what_is_priced_at_most(noise_times):
    noise_times(0.0)
    y = np.arange(N) % 3
    found = []
    for label, guess, p in itertools.product(range(3), range(3), HOSTILE):
        chances = np.full((N, 3), 1.0 / 3.0)
        chances[-1] = p
        found.append(MulticlassEvaluation.from_predictions(
            *with_last(y, y, label, guess), labels=range(3), y_proba=chances,
            log_loss_floor=0.01))
    whole = [np.append(each.counts.ravel() / each.noise_scale,
                       each.log_loss_left / each.log_loss_noise) for each in found]
    moved = max(np.linalg.norm(one - other) for one, other in itertools.combinations(whole, 2))
    mu = gaussian_mu(1.0, 1.0 / N**2)
    assert (1.0 - 1e-5) * mu < moved <= mu * (1.0 + 1e-9)


@pytest.mark.parametrize("bounds, most", [
    (None, 2.0 * np.sqrt(2.5)), ((-1.0, 1.0), 2.0 * np.sqrt(3.75))])
def test_a_row_moves_the_moments_by_what_is_priced_at_most(noise_times, bounds, most):
    noise_times(0.0)
    y, guesses = np.linspace(-1, 1, N), np.zeros(N)
    found = [RegressionEvaluation.from_predictions(
        *with_last(y, guesses, *last), residual_bound=1.0, target_bounds=bounds)
        for last in itertools.product([-1.0, 1.0 + 1e-9, *HOSTILE], repeat=2)]
    sums = [N * each.moments for each in found]
    moved = max(np.linalg.norm(one - other) for one, other in itertools.combinations(sums, 2))
    assert 0.94 * most < moved <= most
    mu = gaussian_mu(1.0, 1.0 / N**2)
    assert found[0].noise_scale * N == pytest.approx(most / mu, rel=1e-6)


EVALUATIONS = {
    "histogram": lambda **more: BinaryEvaluation.from_predictions(*scores(), bins=8, **more),
    "table": lambda **more: MulticlassEvaluation.from_predictions(
        np.arange(N) % 3, np.arange(N) % 3, **more),
    "moments": lambda **more: RegressionEvaluation.from_predictions(
        *scores(), residual_bound=1.0, **more)}
every_evaluation = pytest.mark.parametrize("make", EVALUATIONS.values(), ids=EVALUATIONS)
#: Those whose bins are fixed, and those of bins that follow the scores, which are two releases.
PRICED = EVALUATIONS | {
    "following": lambda **more: BinaryEvaluation.from_predictions(*scores(), **more),
    "with log loss": lambda **more: BinaryEvaluation.from_predictions(
        *scores(), log_loss_floor=0.01, **more),
    "table with log loss": lambda **more: MulticlassEvaluation.from_predictions(
        scores()[0], scores()[0], y_proba=scores()[1], log_loss_floor=0.01, **more),
    "log loss": lambda **more: dp_log_loss(*scores(), **more)}


@pytest.mark.parametrize("make", PRICED.values(), ids=PRICED)
def test_the_certificate_is_that_of_one_gaussian_release_at_the_budget(make):
    certificate = make(epsilon=0.7, delta=1e-4).privacy_
    mu = gaussian_mu(0.7, 1e-4)
    assert delta(certificate, 0.7) <= 1e-4
    assert delta(compose(certificate), 0.7) == pytest.approx(delta(Gaussian(mu), 0.7), rel=1e-6)
    assert "not checked" in str(certificate)
    # Where a model centers the rows it predicts, one row moves the predictions of all.
    assert any("from no other row" in line for line in certificate.assumed)
    assert type(certificate).from_json(certificate.to_json()) == certificate


def noise_square(make, runs):
    """Return the sum of squares of fresh noise over its stated scale, and its degrees of freedom.
    """
    exact = made_of(make(epsilon=np.inf))
    found = [make(epsilon=1.0) for _ in range(runs)]
    squares = sum(np.sum((made_of(each) - exact)**2) / each.noise_scale**2 for each in found)
    # The sum of counts is known.
    free = exact.size - (exact.ndim == 2)
    return squares, runs * free


def made_of(evaluation):
    return evaluation.moments if hasattr(evaluation, "moments") else evaluation.counts


@every_evaluation
def test_noise_has_the_stated_scale(make):
    """False alarm 1e-7; a third of the noise is rejected below."""
    squares, free = noise_square(make, 60)
    assert chi2.ppf(5e-8, free) < squares < chi2.isf(5e-8, free)


@every_evaluation
def test_a_third_of_the_noise_is_found_out(make, noise_times):
    noise_times(1 / 3)
    squares, free = noise_square(make, 60)
    assert squares < chi2.ppf(5e-8, free)


@every_evaluation
def test_noise_is_fresh_unless_a_noise_seed_repeats_it(make):
    assert np.any(made_of(make()) != made_of(make()))
    assert np.any(made_of(make(random_state=3)) != made_of(make(random_state=3)))
    seeded = [make(random_state=NoiseSeed(3)) for _ in range(2)]
    np.testing.assert_array_equal(made_of(seeded[0]), made_of(seeded[1]))
    assert seeded[0].privacy_.reproducible


@every_evaluation
def test_nothing_is_kept_but_what_was_released(make):
    evaluation = make()
    exact = made_of(make(epsilon=np.inf))
    arrays = [value for value in vars(evaluation).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 1 and not arrays[0].flags.writeable
    assert not np.any(arrays[0] == exact)
    stored = pickle.dumps(evaluation)
    for hidden in (exact, *scores()):
        assert np.ascontiguousarray(hidden).tobytes() not in stored
    assert repr(evaluation).count("\n") == 0 and len(repr(evaluation)) < 200
    np.testing.assert_array_equal(made_of(pickle.loads(stored)), made_of(evaluation))
    with pytest.raises(AttributeError):
        evaluation.n_samples = 3
