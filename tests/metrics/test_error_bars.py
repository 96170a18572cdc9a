"""Error bars hold at the ends of a metric's range, and where noise hides what it is a share of."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import metrics

from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import BinaryEvaluation, MulticlassEvaluation, RegressionEvaluation
from dpsk.testing import NoiseSeed

DRAWS = 60
#: A coverage of .93 fails with a chance below 1e-8.
LEAST = binom.ppf(1e-8, DRAWS, 0.93)
#: Metrics of two classes that are one number, and their exact values.
EXACT = {
    "prevalence": lambda y, p: y.mean(),
    "accuracy": lambda y, p: metrics.accuracy_score(y, p >= 0.5),
    "balanced_accuracy": lambda y, p: metrics.balanced_accuracy_score(y, p >= 0.5),
    "precision": lambda y, p: metrics.precision_score(y, p >= 0.5),
    "recall": lambda y, p: metrics.recall_score(y, p >= 0.5),
    "f1": lambda y, p: metrics.f1_score(y, p >= 0.5)}


def scored(positives, n=3000):
    """Return labels, a few of them positive, and probabilities that are nearly right."""
    rng = np.random.default_rng(0)
    y = (np.arange(n) < positives).astype(int)
    p = np.where(y, 0.8, 0.2) + 0.1 * rng.uniform(size=n)
    p[:max(1, positives // 100)] = 0.3
    return y, p


def outside(estimate, exact):
    low, high = estimate.interval()
    inside = (estimate.bounds[0] <= estimate.value) & (estimate.value <= estimate.bounds[1])
    assert np.all(inside | np.isnan(estimate.value))
    return np.any((exact < low - 1e-12) | (high + 1e-12 < exact))


@pytest.mark.parametrize("positives, epsilon", [(900, 1.0), (30, 1.0), (30, 0.2)])
def test_shares_of_two_classes_are_covered_where_noise_puts_them_beyond_their_range(
        positives, epsilon):
    y, p = scored(positives)
    missed = dict.fromkeys(EXACT, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        for _ in range(DRAWS):
            found = BinaryEvaluation.from_predictions(y, p, epsilon=epsilon, bins=16)
            for name, exact in EXACT.items():
                missed[name] += outside(getattr(found, name)(), exact(y, p))
    assert DRAWS - max(missed.values()) >= LEAST, missed


def test_shares_of_many_classes_are_covered_where_noise_puts_them_beyond_their_range():
    y = np.arange(3000) % 5
    guesses = y.copy()
    guesses[:9] = (1 + y[:9]) % 5
    missed = 0
    for _ in range(DRAWS):
        found = MulticlassEvaluation.from_predictions(y, guesses)
        missed += outside(found.accuracy(), 1.0 - 9 / 3000)
    assert DRAWS - missed >= LEAST
    recalls = metrics.recall_score(y, guesses, average=None)
    assert np.all(np.abs(found.recall().value - recalls) < 0.3)


@pytest.mark.parametrize("metric", ["precision", "recall", "f1", "roc_auc", "average_precision",
                                    "balanced_accuracy", "lift"])
def test_a_metric_that_noise_hides_is_not_told(metric):
    """The noise of the positives is 30 times their number; 1 of 1e5 draws would tell a ratio."""
    y, p = scored(2)
    found = BinaryEvaluation.from_predictions(y, np.where(p > 0.5, 0.0, p), epsilon=0.1,
                                              random_state=NoiseSeed(0))
    estimate = getattr(found, metric)()
    assert "noise hides" in estimate.note and estimate.note in repr(-estimate)
    assert np.isnan(estimate.value) and estimate.standard_error == np.inf
    assert estimate.interval() == estimate.bounds


def test_a_mean_recall_of_labels_that_noise_hides_is_not_told():
    y = np.arange(400) % 40
    found = MulticlassEvaluation.from_predictions(y, y, random_state=NoiseSeed(0))
    assert np.isnan(found.balanced_accuracy().value)
    recalls = found.recall()
    assert "noise hides" in recalls.note and found.balanced_accuracy().note == recalls.note
    assert np.isnan(recalls.value).sum() > 35
    low, high = recalls.interval()
    assert np.all((low <= 1.0) & (high >= 0.0))
    value, error = MulticlassEvaluation.from_predictions(
        np.resize(y, 40_000), np.resize(y, 40_000), random_state=NoiseSeed(0)).balanced_accuracy()
    assert abs(value - 1.0) < 5 * error < 0.1


def test_numbers_that_noise_hides_are_not_told_and_roots_have_ends():
    y = 0.01 * np.sin(np.arange(500))
    found = RegressionEvaluation.from_predictions(y, np.zeros(500), target_bounds=(-1, 1),
                                                  random_state=NoiseSeed(0))
    assert np.isnan(found.r2().value) and found.r2().interval() == (-np.inf, 1.0)
    assert "noise hides" in found.r2().note
    low, high = found.root_mean_squared_error().interval()
    np.testing.assert_allclose([low**2, high**2], found.mean_squared_error().interval())


def test_errors_of_what_is_linear_in_counts_are_exact():
    y, p = scored(900)
    found = BinaryEvaluation.from_predictions(y, p, bins=8)
    exact = found.noise_scale * np.sqrt(8 / 2) / len(y)
    assert found.prevalence().standard_error == pytest.approx(exact * (1 + 1 / 40))


def test_roots_of_squares_that_noise_may_have_made_are_0():
    """Noise has fixed seeds."""
    found = [RegressionEvaluation.from_predictions(
        np.zeros(500), np.zeros(500), residual_bound=1.0, random_state=NoiseSeed(seed))
        .root_mean_squared_error() for seed in range(100)]
    value, stated = np.mean([tuple(each) for each in found], axis=0)
    assert value < 0.5 * stated and np.median([each.value for each in found]) == 0.0
    assert all(each.interval()[0] == 0.0 for each in found if each.value == 0.0)


def test_a_metric_is_known_for_the_population_where_it_is_for_the_sample():
    """With 28 positives of 2,250, noise is nearly as large as their number."""
    y, p = scored(28, 2250)
    p += np.random.default_rng(1).normal(scale=0.15, size=len(p))
    known = 0
    for seed in range(12):
        found = BinaryEvaluation.from_predictions(y, p, epsilon=1.5635, delta=1e-6,
                                                  random_state=NoiseSeed(seed))
        for name in ("roc_auc", "average_precision", "recall", "balanced_accuracy", "lift"):
            one, other = (getattr(each, name)() for each in (found, found.for_population()))
            assert np.isnan(other.value) == np.isnan(one.value) and other.note == one.note
            if np.isfinite(one.value):
                known += 1
                assert other.value == pytest.approx(one.value, abs=0.02)
                (low, high), (lower, higher) = one.interval(), other.interval()
                assert (lower < low or low == 0.0) and higher >= high
    assert 10 < known < 60


def test_a_mean_recall_for_the_population_has_the_error_of_a_sample():
    y, hits = np.arange(600) % 3, np.arange(600) % 4 > 0
    found = MulticlassEvaluation.from_predictions(
        y, np.where(hits, y, (y + 1) % 3), epsilon=np.inf).for_population()
    value, error = found.balanced_accuracy()
    assert error == pytest.approx(np.sqrt(value * (1.0 - value) / 600), rel=0.1)
