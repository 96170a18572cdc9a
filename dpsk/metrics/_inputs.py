"""Reading of labels, scores and targets, with errors that quote no values."""

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.utils.validation import column_or_1d

from dpsk._data.errors import discreetly
from dpsk._data.labels import encode_labels
from dpsk._data.passes import InPasses
from dpsk._data.structure import check_cells, refuse_masked
from dpsk._parameters import check_real

__all__ = ["check_floor", "check_lengths", "label_column", "predicted", "read_labels",
           "read_numbers", "released_floor", "score_range_of", "scores_of", "threshold_of"]


def label_column(what, labels):
    """Return labels as an array of shape (n,), with the errors of `what`."""
    check_cells(what, labels, is_numeric=False)
    return discreetly(what, column_or_1d, labels)


def read_labels(name, y_true, labels):
    """Return the sorted classes as a tuple and the index of every label among them."""
    y = label_column("y_true", y_true)
    classes, codes = encode_labels(y, labels, name, what="y_true", parameter="labels")
    return tuple(classes.tolist()), codes


def read_numbers(what, values, *, columns=None):
    """Return numbers as float64, shape (n,), or (n, columns) with `columns`."""
    check_cells(what, values, is_numeric=True)
    array = discreetly(what, np.asarray, values, np.float64)
    if not (array.ndim == 1 or (columns and array.ndim == 2 and array.shape[1] == columns)):
        wanted = f"(n,) or (n, {columns})" if columns else "(n,)"
        raise ValueError(f"{what} of shape {array.shape}: must be of shape {wanted}.")
    return array


def check_floor(name, floor):
    """Return a floor of probabilities in a log loss, or raise a ValueError."""
    return check_real(name, floor, low=1e-15, high=0.5, remedy="a number in [1e-15, 0.5]")


def check_lengths(y_true, name, values):
    """Raise a ValueError unless there are as many values as labels."""
    if len(y_true) != len(values):
        raise ValueError(f"y_true has {len(y_true)} rows and {name} has {len(values)}; there must "
                         "be one of each.")


def released_floor(floor, more=""):
    """Return the floor of a log loss that was released, or raise a ValueError.

    `more` names the other arguments that an evaluation needs for the log loss.
    """
    if floor is None:
        raise ValueError("log_loss_floor=None: the log loss was not released; evaluate with "
                         f"{more}log_loss_floor=0.01, or use dp_log_loss.")
    return floor


def score_range_of(estimator):
    """Return the range of a classifier's scores: that of probabilities, or None.

    It is None for decision values. A classifier with a tuned threshold says which of the two it
    compares with the threshold.
    """
    _check_kind(estimator, is_classifier, "a classifier")
    decides = getattr(estimator, "response_method", "auto") == "decision_function"
    return (0.0, 1.0) if hasattr(estimator, "predict_proba") and not decides else None


def scores_of(estimator, X, *, grouped=False, pos_label=None):
    """Return the scores of rows by a fitted classifier.

    Decision values are higher for the positive label; probabilities have a column for each label.
    With `grouped`, the score of a row does not depend on its position.
    """
    refuse_masked("X", X)
    method = "predict_proba" if score_range_of(estimator) else "decision_function"
    found = discreetly("X", getattr(_placed(estimator, grouped), method), X)
    return -found if found.ndim == 1 and _is_first(estimator, pos_label) else found


def threshold_of(estimator, pos_label=None):
    """Return the least score that a classifier predicts as positive, or None.

    It is None if the threshold is unknown.
    """
    model = _deciding(estimator)
    threshold = getattr(model, "best_threshold_", None)
    if isinstance(model, FixedThresholdClassifier) and model.threshold != "auto":
        threshold = model.threshold
    if threshold is not None and score_range_of(model) != score_range_of(estimator):
        return None
    if threshold is None or not _is_first(estimator, pos_label):
        return threshold
    # Scores that reach the threshold are predicted as the second label.
    return float(np.nextafter((1.0 if score_range_of(estimator) else 0.0) - threshold, np.inf))


def _deciding(estimator):
    """Return the final model inside fitted searches and pipelines."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = getattr(estimator, "steps_", estimator.steps)[-1][1]
        else:
            return estimator


def _is_first(estimator, pos_label):
    return pos_label is not None and pos_label == estimator.classes_[0]


def predicted(estimator, X, *, classifies, grouped=False):
    """Return the predictions of a fitted classifier or regressor for rows.

    With `grouped`, the prediction for a row does not depend on its position.
    """
    if classifies:
        _check_kind(estimator, is_classifier, "a classifier")
    else:
        _check_kind(estimator, is_regressor, "a regressor")
    refuse_masked("X", X)
    return discreetly("X", _placed(estimator, grouped).predict, X)


def _placed(estimator, grouped):
    return InPasses(estimator) if grouped else estimator


def _check_kind(estimator, check, words):
    if not check(estimator):
        raise TypeError(f"estimator of type {type(estimator).__name__}: must be {words}.")
