"""Stated intervals cover whatever the shape of scores is."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn import metrics

from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import BinaryEvaluation, DPCalibrationDisplay
from dpsk.testing import NoiseSeed

SHAPES = {"logistic": expit, "sharp": lambda z: expit(6.0 * z),
          "crowded": lambda z: 0.5 + 0.02 * np.tanh(z / 2.0),
          "rounded": lambda z: np.round(expit(z), 2),
          "bimodal": lambda z: np.where(z > 0.0, 0.85, 0.15) + 0.02 * np.tanh(z),
          "constant": lambda z: np.full(len(z), 0.3)}


def at_half(score, **more):
    return lambda y, p: score(y, p >= 0.5, **more)


def lift(y, p):
    """Return the exact lift of a tenth of the rows, ties in any order alike."""
    order = np.argsort(-p, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(p[order])) + 1, len(p))
    held = np.append(0, np.cumsum(y[order])[ends - 1])
    return np.interp(0.1 * len(p), np.append(0, ends), held) / y.sum() / 0.1


#: Every metric of scores that is one number, but those that have none without predictions.
METRICS = {
    "roc_auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score,
    "brier_score": metrics.brier_score_loss, "accuracy": at_half(metrics.accuracy_score),
    "balanced_accuracy": at_half(metrics.balanced_accuracy_score),
    "precision": at_half(metrics.precision_score, zero_division=0.0),
    "recall": at_half(metrics.recall_score), "f1": at_half(metrics.f1_score), "lift": lift,
    "prevalence": lambda y, p: y.mean()}


def scored(shape, prevalence, n):
    rng = np.random.default_rng(0)
    y = (np.arange(n) < max(2, round(prevalence * n))).astype(int)
    return y, SHAPES[shape](rng.normal(size=n) + 1.5 * (y - 0.5))


def uncovered(shape, prevalence, n, epsilon, draws):
    """Return how often each metric is outside of its stated interval of 95 %."""
    y, p = scored(shape, prevalence, n)
    truth, missed = {name: score(y, p) for name, score in METRICS.items()}, dict.fromkeys(
        METRICS, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        for _ in range(draws):
            evaluation = BinaryEvaluation.from_predictions(y, p, epsilon=epsilon)
            for name in METRICS:
                estimate = getattr(evaluation, name)()
                assert estimate.bounds[0] <= estimate.value <= estimate.bounds[1]
                low, high = estimate.interval()
                missed[name] += bool(low > truth[name] + 1e-9 or high < truth[name] - 1e-9)
    return missed


@pytest.mark.parametrize("shape", SHAPES)
def test_stated_intervals_cover_scores_of_every_shape(shape):
    """A coverage of .93 fails it with a chance below 1e-8 a metric; those of .5 do not pass."""
    cells = [(0.5, 5000, 1.0), (0.1, 5000, 1.0)]
    missed = [uncovered(shape, *cell, 10) for cell in cells]
    worst = {name: sum(each[name] for each in missed) for name in METRICS}
    assert max(worst.values()) <= binom.isf(1e-8, 20, 0.07), worst


@pytest.mark.audit
@pytest.mark.parametrize("shape, prevalence, n, epsilon", list(itertools.product(
    SHAPES, (0.5, 0.1, 0.013), (500, 5000, 50_000), (0.5, 1.0, 4.0))))
def test_stated_intervals_cover_over_the_whole_grid(shape, prevalence, n, epsilon):
    """A coverage of .88 fails a cell with a chance below 1e-8 a metric."""
    worst = uncovered(shape, prevalence, n, epsilon, 60)
    assert max(worst.values()) <= binom.isf(1e-8, 60, 0.12), worst


@pytest.mark.parametrize("shape", ["crowded", "sharp"])
def test_bins_follow_the_scores(shape):
    y, p = scored(shape, 0.5, 5000)
    found = BinaryEvaluation.from_predictions(y, p, random_state=NoiseSeed(0))
    assert found.counts.sum(axis=0).max() < 0.25 * len(y)
    assert 0.5 in found.bins.inner
    public = BinaryEvaluation.from_predictions(y, p, bins=len(found.bins),
                                               random_state=NoiseSeed(0))
    assert public.counts.sum(axis=0).max() > 0.25 * len(y)
    assert found.privacy_.released[0] == "bins"
    assert "bins" not in public.privacy_.released


def test_a_brier_score_has_no_error_of_bins():
    y, p = scored("crowded", 0.5, 5000)
    exact = metrics.brier_score_loss(y, p)
    for bins in (2, 16, "auto"):
        value, error = BinaryEvaluation.from_predictions(
            y, p, bins=bins, epsilon=np.inf).brier_score()
        assert value == pytest.approx(exact, abs=1e-5) and error < 1e-3
    noisy = BinaryEvaluation.from_predictions(y, p, bins=16)
    value, error = noisy.brier_score()
    assert error < 0.005 and abs(value - exact) < 6 * error
    assert noisy.for_population().brier_score().standard_error > error


@pytest.mark.parametrize("numbers", [[0.3], [0.5], [0.2, 0.8], [0.2, 0.5, 0.8]])
def test_scores_of_few_numbers_have_every_metric(numbers):
    y, p = np.arange(5000) % 2, np.resize(numbers, 5000)
    found = BinaryEvaluation.from_predictions(y, p, random_state=NoiseSeed(0))
    low, high = found.roc_auc().interval(0.9999)
    assert low <= metrics.roc_auc_score(y, p) <= high and high - low < 0.1
    shares, means = found.calibration_curve(30)
    assert shares.value.shape == means.shape
    assert len(numbers) <= len(means) <= len(found.bins)
    DPCalibrationDisplay.from_evaluation(found)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_calibration_curves_are_of_groups_of_rows_or_of_equal_widths(shape, strategy):
    """Noise repeats, so that this is the same in every run."""
    y, p = scored(shape, 0.3, 20_000)
    found = BinaryEvaluation.from_predictions(y, p, random_state=NoiseSeed(0))
    shares, means = found.calibration_curve(4, strategy=strategy)
    assert len(means) <= 4 and np.all(np.diff(means) > 0)
    if strategy == "uniform":
        assert np.all(np.diff(np.floor(4 * means)) >= 1)
    elif shape in ("logistic", "sharp", "crowded"):
        assert len(means) == 4
    for share, error, mean in zip(*shares, means, strict=True):
        near = np.abs(p - mean) <= np.sort(np.abs(p - mean))[800]
        assert abs(share - y[near].mean()) < 0.2 + 4 * error
