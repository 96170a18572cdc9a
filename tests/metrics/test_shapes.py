"""Stated intervals cover whatever the shape of scores, labels and residuals is."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn import metrics

from benchmarks.utility.evaluation_grid import cells, measured
from benchmarks.utility.evaluation_shapes import BINARY, KINDS, scored
from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import BinaryEvaluation, DPCalibrationDisplay
from dpsk.testing import NoiseSeed

#: One cell of every shape in `make test`.
COARSE = [("binary", shape, 0.05, 5000, 1.0) for shape in KINDS["binary"].shapes]
COARSE += [("multiclass", shape, 10, 500, 1.0) for shape in KINDS["multiclass"].shapes]
COARSE += [("regression", shape, 0.3, 500, 1.0) for shape in KINDS["regression"].shapes]


def named(cell):
    return "-".join(map(str, cell))


def check(cell, draws, least):
    """Raise an AssertionError unless all metrics cover at least as often as one at `least`."""
    found = measured(*cell, draws)
    low = {name: one[0] for name, one in found.items()
           if one[0] * draws < binom.ppf(1e-4, draws, least) - 1e-9}
    assert not low, low


@pytest.mark.parametrize("cell", COARSE, ids=named)
def test_stated_intervals_cover_every_shape_and_metric(cell):
    """Noise has fixed seeds; bars that cover half as often as stated fail."""
    check(cell, 8, 0.95)


@pytest.mark.audit
@pytest.mark.parametrize("cell", list(cells()), ids=named)
def test_stated_intervals_cover_over_the_whole_grid(cell):
    """Noise has fixed seeds; a coverage of .75 fails in half of all cells."""
    check(cell, 60, 0.93)


def test_areas_of_few_cases_are_not_off_to_one_side():
    """Noise has fixed seeds; the middles of intervals are off by .06, areas of bins by .09."""
    _, bias, error, stated, _ = measured("binary", "logistic", 0.0134, 7500, 1.0, 32)["roc_auc"]
    assert bias < 0.03 and error < 0.07 < 1.2 * stated < 0.15


def easy_group(seed):
    """Return labels and probabilities of six groups, in one of which both labels are far apart."""
    rng = np.random.default_rng(seed)
    y, group = (np.arange(5000) < 250).astype(int), rng.integers(6, size=5000)
    apart, shift = np.array([[0.0, 0.5, 1.0, 1.5, 2.5, 4.0], [-3.0, -1.0, 0.0, 0.5, 1.0, 2.0]])
    return y, expit(rng.normal(size=5000) + apart[group] * (y - 0.5) + shift[group])


def one_crowd(seed):
    """Return labels and scores that differ by less than bins tell apart, in order."""
    y = np.arange(500) % 2
    return y, 0.30712 + 1e-5 * np.tanh(
        np.random.default_rng(seed).normal(size=500) + 1.5 * (y - 0.5))


def in_halves(seed):
    """Return labels and scores of which all positives are higher, by less than bins tell."""
    y = (np.arange(5000) + seed) % 2
    return y, 0.30712 + 1e-9 * y


def hard_negatives(seed):
    """Return labels and probabilities of which the highest hundredth are negatives."""
    rng = np.random.default_rng(seed)
    y = (np.arange(5000) < 2500).astype(int)
    hard = (y == 0) & (rng.uniform(size=5000) < 0.01)
    return y, expit(rng.normal(size=5000) + 1.5 * (y - 0.5) + 5.0 * hard)


def two_kinds(seed):
    """Return labels and probabilities of two groups, one of them with nearly one probability."""
    y = np.arange(5000) % 2
    z = np.random.default_rng(seed).normal(size=5000) + 1.5 * (y - 0.5)
    return y, np.where(np.sin(97.0 * z) > 0.3, 0.8 + 0.004 * np.tanh(z), expit(0.8 * z - 1.0))


#: Public bins around the probabilities of `two_kinds`.
AROUND = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.79, 0.798, 0.8, 0.802, 0.81, 0.9]


@pytest.mark.parametrize("rows, epsilon, bins", [
    (easy_group, 4.0, "auto"), (one_crowd, 1.0, "auto"), (in_halves, 1.0, "auto"),
    (hard_negatives, 4.0, "auto"), (two_kinds, 8.0, AROUND), (two_kinds, 4.0, 8),
    (easy_group, 4.0, [0.1, 0.5, 0.9])])
@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "lift"])
def test_rows_within_bins_may_be_in_any_order(rows, epsilon, bins, metric):
    """Noise has fixed seeds."""
    covered = 0
    for seed in range(16):
        y, p = rows(seed)
        found = BinaryEvaluation.from_predictions(y, p, epsilon=epsilon, bins=bins,
                                                  random_state=NoiseSeed(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            low, high = getattr(found, metric)().interval()
        covered += low <= BINARY[metric](y, p) <= high
    assert covered >= 13


def test_the_selected_rows_of_a_crowd_may_be_any():
    """Noise has fixed seeds; a lift of crowds as ties covers none."""
    assert measured("binary", "three crowds", 0.5, 500, 4.0, 16)["lift"][0] > 0.8


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


@pytest.mark.parametrize("shape", ["logistic", "sharp", "crowded", "rounded", "bimodal"])
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
