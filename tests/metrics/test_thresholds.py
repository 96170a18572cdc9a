"""Metrics at thresholds: those that are declared are edges, and others hold all of their bin."""

from functools import partial

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)

from benchmarks.utility.evaluation_shapes import SHAPES, UNBOUNDED, scored
from dpsk import (
    DPLogisticRegression,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    make_dp_pipeline,
)
from dpsk.metrics import BinaryEvaluation, dp_cross_validate
from dpsk.testing import NoiseSeed

EXACT = {"accuracy": metrics.accuracy_score, "recall": metrics.recall_score,
         "balanced_accuracy": metrics.balanced_accuracy_score, "f1": metrics.f1_score,
         "precision": partial(metrics.precision_score, zero_division=0.0),
         "confusion_matrix": metrics.confusion_matrix}


@pytest.mark.parametrize("given", [
    {}, {"bins": 8}, {"bins": [0.2, 0.6]}, {"bins": [0.2, np.nextafter(0.37, 1.0)]},
    {"score_range": None}, {"score_range": (-1.0, 2.0)}])
def test_a_declared_threshold_is_an_edge_and_that_of_all_metrics(given):
    y, p = scored("logistic", 0.2, 4000)
    found = BinaryEvaluation.from_predictions(y, p, threshold=0.37, epsilon=np.inf, **given)
    assert 0.37 in found.bins.inner and np.diff(found.bins.edges).min() > 1e-9
    for name, exact in EXACT.items():
        np.testing.assert_allclose(getattr(found, name)().value, exact(y, p >= 0.37), atol=1e-9)


@pytest.mark.parametrize("threshold", [-0.5, 0.0, 1e-300, 0.07, 1.0, 1.5])
def test_any_number_may_be_the_threshold(threshold):
    y, p = np.arange(3000) % 2, np.resize([0.0, 0.07, 0.5, 1.0, 1.0], 3000)
    found = BinaryEvaluation.from_predictions(y, p, threshold=threshold, epsilon=np.inf)
    np.testing.assert_allclose(found.confusion_matrix().value,
                               metrics.confusion_matrix(y, p >= threshold), atol=1e-9)


def test_an_area_is_known_as_well_where_a_threshold_is_declared():
    """Noise repeats, so that this is the same in every run."""
    y, p = scored("logistic", 0.05, 20_000)
    one, other = (BinaryEvaluation.from_predictions(y, p, random_state=NoiseSeed(0), **given)
                  for given in ({}, {"threshold": 0.3}))
    assert len(other.bins) <= len(one.bins) + 1
    assert other.roc_auc().standard_error < 1.1 * one.roc_auc().standard_error
    assert other.precision().standard_error < 0.5 * one.precision(0.3).standard_error


@pytest.mark.parametrize("shape", ["logistic", "wave", "zeros", "margins", *(
    pytest.param(shape, marks=pytest.mark.thorough)
    for shape in sorted(set(SHAPES) - {"logistic", "wave", "zeros", "margins"}))])
def test_intervals_at_thresholds_within_bins_hold_the_exact_metrics(shape):
    """Noise repeats, so that this is the same in every run."""
    y, p = scored(shape, 0.1, 5000)
    found = BinaryEvaluation.from_predictions(
        y, p, random_state=NoiseSeed(0), score_range=None if shape in UNBOUNDED else (0.0, 1.0))
    missed = 0
    for threshold in np.quantile(p, [0.4, 0.9, 0.97]) * 1.0001 + 1e-9:
        for name, exact in EXACT.items():
            low, high = getattr(found, name)(threshold).interval(0.99)
            truth = exact(y, p >= threshold)
            missed += np.any(truth < low - 1e-9) or np.any(truth > high + 1e-9)
    assert missed <= 1


def test_a_bin_is_open_even_where_fine_cells_show_no_row_beyond_the_threshold():
    rng = np.random.default_rng(0)
    y, p = np.arange(4000) % 2, rng.uniform(0.0, 0.3, size=4000)
    found = BinaryEvaluation.from_predictions(y, p, bins="auto", epsilon=np.inf)
    assert not np.any((np.array(found.bins.inner) >= 0.4) & (np.array(found.bins.inner) < 0.5))
    recall = found.recall(0.45)
    assert recall.value == pytest.approx(0.0, abs=1e-6) and recall.interval()[1] > 0.005


X, Y = make_classification(3000, weights=[0.8], random_state=0)


@pytest.mark.parametrize("model", [
    DPTunedThresholdClassifier(DPLogisticRegression(data_norm=5.0), epsilon=4.0, scoring="f1",
                               thresholds=50, random_state=NoiseSeed(0)),
    DPTunedThresholdClassifier(DPLogisticRegression(data_norm=5.0), epsilon=4.0, scoring="f1",
                               thresholds=[-1.3, -0.8, -0.3], random_state=NoiseSeed(0),
                               response_method="decision_function"),
    TunedThresholdClassifierCV(LogisticRegression(), scoring="f1", cv=2),
    make_dp_pipeline(DPStandardScaler(), DPTunedThresholdClassifier(
        DPLogisticRegression(), scoring="f1", thresholds=[0.2, 0.23]), epsilon=4.0,
        random_state=NoiseSeed(0)),
    GridSearchCV(FixedThresholdClassifier(LogisticRegression(), threshold=0.23), {}, cv=2)])
def test_metrics_are_those_of_the_predictions_of_a_classifier_with_a_threshold(model):
    model.fit(X[:1000], Y[:1000])
    decided = model.predict(X[1000:])
    for place in (0, 1):
        found = BinaryEvaluation.from_estimator(model, X[1000:], Y[1000:], epsilon=np.inf,
                                                pos_label=place)
        for name in ("recall", "precision"):
            exact = getattr(metrics, f"{name}_score")(Y[1000:], decided, pos_label=place)
            assert float(getattr(found, name)()) == pytest.approx(exact)
        assert found.roc_auc() > 0.8


def test_a_threshold_is_checked_before_models_are_fitted():
    with pytest.raises(ValueError, match="threshold"):
        dp_cross_validate(DPLogisticRegression(), X, Y, threshold=np.nan)
