"""Bad input is refused before anything is drawn, and no message carries a value of the rows."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from dpsk.metrics import (
    BinaryEvaluation,
    MulticlassEvaluation,
    RegressionEvaluation,
    dp_cross_validate,
    dp_roc_auc_score,
)

Y, SCORES = np.arange(40) % 2, np.linspace(0.0, 1.0, 40)
SECRET = "secret-7391"


pytestmark = pytest.mark.usefixtures("silent")


def refused(function, *args, error=ValueError, **kwargs):
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    seen = caught.value
    while seen is not None:
        assert SECRET not in str(seen)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return str(caught.value)


BAD = [("epsilon", 0), ("epsilon", -1.0), ("epsilon", "1"), ("epsilon", np.nan),
       ("delta", 0), ("delta", 1.0), ("delta", -1e-9), ("random_state", "a"),
       ("random_state", np.random.RandomState(0))]


@pytest.mark.parametrize("name, value", BAD)
@pytest.mark.parametrize("make", [
    lambda **more: BinaryEvaluation.from_predictions(Y, SCORES, **more),
    lambda **more: MulticlassEvaluation.from_predictions(Y, Y, **more),
    lambda **more: RegressionEvaluation.from_predictions(Y, SCORES, residual_bound=1.0, **more)])
def test_parameters_of_the_guarantee(make, name, value):
    assert name in refused(make, **{name: value})


@pytest.mark.parametrize("options, words", [
    ({"bins": 1}, "bins"), ({"bins": 2.5}, "bins"), ({"bins": "many"}, "bins"),
    ({"bins": [0.5, 0.2]}, "bins"), ({"bins": [0.0, 0.5]}, "bins"), ({"bins": []}, "bins"),
    ({"log_loss_floor": 0.0}, "log_loss_floor"), ({"log_loss_floor": 0.6}, "log_loss_floor"),
    ({"log_loss_floor": 0.01, "score_range": None}, "score_range"),
    ({"bins": [np.nan]}, "bins"), ({"score_range": (1, 0)}, "score_range"),
    ({"score_range": 3}, "score_range"), ({"score_range": (0, np.inf)}, "score_range"),
    ({"pos_label": 5}, "pos_label"), ({"labels": [0, 1, 2]}, "3 classes"),
    ({"threshold": np.inf}, "threshold"), ({"threshold": "0.5"}, "threshold"),
    ({"labels": [0, 0]}, "labels"), ({"labels": [1, 2]}, "outside labels=")])
def test_parameters_of_a_histogram(options, words):
    assert words in refused(BinaryEvaluation.from_predictions, Y, SCORES, **options)


@pytest.mark.parametrize("y, scores, words", [
    (Y[:-1], SCORES, "39 rows and y_score has 40"), ([], [], "y_true"),
    (np.zeros(40, int), SCORES, "one class"), (np.arange(40), SCORES, "40 classes"),
    (SCORES, SCORES, "y_true|Unknown label type"), (Y, SCORES[:, None], r"shape \(40, 1\)"),
    (Y, np.zeros((40, 3)), r"shape \(40, 3\)"), (Y, [SECRET] * 40, "y_score"),
    (np.column_stack([Y, Y]), SCORES, "1d array"), (Y + 0.5, SCORES, "Unknown label type")])
def test_labels_and_scores(y, scores, words):
    with pytest.raises(ValueError, match=words):
        BinaryEvaluation.from_predictions(y, scores)


def test_labels_are_not_quoted():
    y = np.array([f"{SECRET}-{label}" for label in Y], dtype=object)
    message = refused(BinaryEvaluation.from_predictions, y, SCORES, labels=["a", "b"])
    assert "y_true holds a label outside labels=" in message
    message = refused(MulticlassEvaluation.from_predictions, Y, y, labels=[0, 1])
    assert "y_pred holds a label outside labels=[0, 1]" in message
    refused(MulticlassEvaluation.from_predictions, ["a", "b"] * 20, y)
    refused(BinaryEvaluation.from_predictions, Y, [SECRET, *SCORES[1:].astype(str)])
    refused(RegressionEvaluation.from_predictions, Y, [SECRET] * 40, residual_bound=1.0)
    refused(RegressionEvaluation.from_predictions, [SECRET] * 40, Y, residual_bound=1.0)


def test_a_log_loss_of_predictions_needs_probabilities_and_a_floor():
    chances = np.column_stack([1.0 - SCORES, SCORES])
    for words, options in (("log_loss_floor", {"y_proba": chances}),
                           ("log_loss_floor", {"log_loss_floor": 0.01}),
                           ("log_loss_floor", {"log_loss_floor": 0.6, "y_proba": chances}),
                           ("40 rows and y_proba has 39", {"y_proba": chances[1:]}),
                           (r"shape (40, 3)", {"y_proba": np.zeros((40, 3))})):
        given = {"log_loss_floor": 0.01} if "rows" in words or "shape" in words else {}
        assert words in refused(MulticlassEvaluation.from_predictions, Y, Y, **given, **options)


def test_weights_are_refused():
    refused(dp_roc_auc_score, Y, SCORES, error=TypeError, sample_weight=np.ones(40))


@pytest.mark.parametrize("options", [
    {}, {"residual_bound": 0.0}, {"residual_bound": np.inf}, {"target_bounds": (1, 0)},
    {"target_bounds": (0, np.inf), "residual_bound": 1.0}])
def test_bounds_of_residuals(options):
    message = refused(RegressionEvaluation.from_predictions, Y, SCORES, **options)
    assert "_bound" in message


def test_r2_needs_bounds_on_targets(monkeypatch):
    monkeypatch.undo()
    found = RegressionEvaluation.from_predictions(Y, SCORES, residual_bound=1.0)
    with pytest.raises(ValueError, match="declare target_bounds"):
        found.r2()
    found = BinaryEvaluation.from_predictions(Y, SCORES)
    for call in (lambda: found.accuracy(np.nan), lambda: found.lift(0), lambda: found.lift(2),
                 lambda: found.calibration_curve(0), lambda: found.calibration_curve(2.5)):
        with pytest.raises(ValueError, match="must be"):
            call()


def test_a_score_that_is_no_number_is_the_lowest_and_others_are_clipped(monkeypatch):
    monkeypatch.undo()
    y = np.array([0, 1, 0, 1])
    found = BinaryEvaluation.from_predictions(y, [np.nan, np.inf, -np.inf, 7.0], bins=4,
                                              epsilon=np.inf)
    np.testing.assert_array_equal(found.counts, [[2, 0, 0, 0], [0, 0, 0, 2]])


def test_estimators_of_the_wrong_kind():
    model = LinearRegression().fit(SCORES[:, None], Y)
    assert "classifier" in refused(BinaryEvaluation.from_estimator, model, SCORES[:, None], Y,
                                   error=TypeError)
    assert "classifier" in refused(MulticlassEvaluation.from_estimator, model, SCORES[:, None], Y,
                                   error=TypeError)


def test_a_model_without_certificate_is_refused():
    message = refused(dp_cross_validate, LinearRegression(), SCORES[:, None], SCORES,
                      residual_bound=1.0, error=TypeError)
    assert "certificate" in message


def test_every_check_of_an_evaluation_comes_before_the_trainings_of_a_cross_validation():
    class Untrained(LinearRegression):
        def fit(self, X, y):
            raise AssertionError("trained")

    X = SCORES[:, None]
    options = [{}, {"residual_bound": -1.0}, {"residual_bound": 1.0, "epsilon": 0}]
    folds = [[([0, 1], [1, 2])], [([0, 0], [1])], [([0], [40])], [([0], [1]), ([2], [1])], [],
             [(["a"], [1])], [([], [1])]]
    for more in (*options, *({"residual_bound": 1.0, "cv": cv} for cv in (1, 41, 2.5, *folds))):
        refused(dp_cross_validate, Untrained(), X, SCORES, **more)
    refused(dp_cross_validate, Untrained(), X[1:], SCORES, residual_bound=1.0)
    refused(dp_cross_validate, Untrained(), X, SCORES, residual_bound=1.0, nonsense=3,
            error=TypeError)
