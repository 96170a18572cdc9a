"""What is evaluated of a group does not follow from where its rows stand."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from dpsk import (
    DPLinearDiscriminantAnalysis,
    DPLogisticRegression,
    DPMLPClassifier,
    DPQuadraticDiscriminantAnalysis,
    DPRidge,
)
from dpsk._data.passes import InPasses
from dpsk.metrics import BinaryEvaluation, MulticlassEvaluation, RegressionEvaluation

MODELS = [DPLogisticRegression(epsilon=1.0, data_norm=9.0),
          DPRidge(epsilon=1.0, data_norm=9.0, target_bounds=(0.0, 2.0)),
          DPMLPClassifier(epsilon=1.0, hidden_layer_sizes=(9,), max_iter=2),
          DPLinearDiscriminantAnalysis(epsilon=1.0), DPQuadraticDiscriminantAnalysis(epsilon=1.0)]


class Counting(RegressorMixin, BaseEstimator):
    """Predicts for each row how many rows it was asked for at once."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.full(len(X), float(len(X)))


class Even(ClassifierMixin, BaseEstimator):
    """Says 1 where it is asked for a multiple of 64 rows at once."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.full(len(X), 1.0 if len(X) % 64 == 0 else -1.0)

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


@pytest.mark.parametrize("n_rows", [3, 255, 256, 257, 1000])
def test_rows_of_groups_are_predicted_in_passes_of_one_shape(n_rows):
    X, groups = np.zeros((n_rows, 2)), np.arange(n_rows) // 2
    model = Counting().fit(X, X[:, 0])
    found = RegressionEvaluation.from_estimator(
        model, X, np.full(n_rows, 256.0), groups=groups, epsilon=np.inf, residual_bound=2000.0,
        target_bounds=(0.0, 2000.0))
    assert found.mean_absolute_error().value == 0.0
    y = np.resize([1, 1, 1, 0], n_rows)
    model = Even().fit(X, [0, 1])
    for kind, metric in ((MulticlassEvaluation, "accuracy"), (BinaryEvaluation, "accuracy")):
        given = {"groups": groups, "epsilon": np.inf}
        whole = kind.from_estimator(model, X, np.ones(n_rows, int), **given)
        assert getattr(whole, metric)().value == pytest.approx(1.0)
        assert kind.from_estimator(model, X, y, **given).privacy_.relation != (
            kind.from_estimator(model, X, y, epsilon=np.inf).privacy_.relation)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_equal_rows_have_equal_predictions_in_such_passes(model):
    """Without them the last ones of 1003 differ in their last bits, for most widths."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 130))
    model = model.fit(X, np.arange(600) % 2)
    method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    found = getattr(InPasses(model), method)(np.repeat(X[:1], 1003, axis=0))
    assert np.all(found == found[0])
