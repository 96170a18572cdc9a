"""Error bars hold at the ends of a metric's range, and where noise hides what it is a share of."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import metrics

from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import BinaryEvaluation, MulticlassEvaluation
from dpsk.metrics._scores import ScoreBins
from dpsk.metrics._table import simulated_ratio

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
    assert np.all((estimate.bounds[0] <= estimate.value) & (estimate.value <= estimate.bounds[1]))
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


def test_a_ratio_to_a_hidden_whole_says_that_nothing_is_known():
    draws = 10.0 * np.random.default_rng(0).normal(size=(2, 800))
    for whole in (-5.0, 0.0, 5.0):
        estimate = simulated_ratio((3.0, whole), (draws[0] + 3.0, draws[1] + whole), (0.0, 1.0))
        assert estimate.value == 0.5 and estimate.interval() == (0.0, 1.0)
    # A whole that is known leaves the error of the part.
    estimate = simulated_ratio((300.0, 1000.0), (300.0 + draws[0], np.full(800, 1000.0)),
                               (0.0, 1.0))
    assert estimate.value == pytest.approx(0.3)
    assert estimate.standard_error == pytest.approx(0.01, rel=0.1)


def test_the_middle_of_a_range_of_scores_is_an_edge():
    rng = np.random.default_rng(0)
    for low, width in np.round(rng.uniform([-5.0, 0.1], [5.0, 9.0], size=(2000, 2)), 2).tolist():
        high = round(low + width, 2)
        bins = ScoreBins.of("auto", (low, high), 16)
        assert bins.middle in bins.inner and np.all(np.diff(bins.edges) > 0.0)
