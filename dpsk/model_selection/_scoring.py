"""Scores whose sensitivity is known: means of a number in [0, 1] a row.

A row that is replaced moves such a mean of n rows by at most 1/n, whatever it holds.
"""

import math
from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier, is_regressor

from dpsk._parameters import check_real

__all__ = ["SCORERS", "Scorer", "chosen_scorer"]

#: A probability of a hundredth for the right class.
_LOG_LOSS = -math.log(0.01)


@dataclass(frozen=True)
class Scorer:
    """A score, of which larger is better.

    Attributes
    ----------
    name : str
    bound : float
        The loss of a row is cut off at it.
    """

    name: str
    bound: float

    def losses(self, model, X, targets):
        """Return the loss of every row over the bound, in [0, 1]; 1 where there is none.

        Parameters
        ----------
        model : fitted estimator
        X : array-like or table of n rows
        targets : ndarray of shape (n,)
            Labels or numbers.
        """
        with np.errstate(all="ignore"):
            losses = np.asarray(SCORERS[self.name](model, X, targets), dtype=np.float64)
            losses = losses.reshape(len(targets)) / self.bound
        return np.clip(np.where(np.isnan(losses), 1.0, losses), 0.0, 1.0)

    def of_mean(self, mean):
        """Return the score for a mean of losses over the bound."""
        return 1.0 - mean if self.name == "accuracy" else -self.bound * mean


    @property
    def range(self):
        """(float, float) : what the score can be."""
        return (0.0, 1.0) if self.name == "accuracy" else (-self.bound, 0.0)


def _misses(model, X, labels):
    return model.predict(X) != labels


def _brier(model, X, labels):
    chances = model.predict_proba(X)
    right = np.asarray(labels)[:, None] == model.classes_
    # Half of what several classes are charged, as of two each counts twice.
    return ((chances - right) ** 2).sum(axis=1) / 2


def _log_loss(model, X, labels):
    chances = model.predict_proba(X)
    right = np.asarray(labels)[:, None] == model.classes_
    return -np.log((chances * right).sum(axis=1))


def _absolute(model, X, targets):
    return np.abs(model.predict(X) - targets)


def _squared(model, X, targets):
    return (model.predict(X) - targets) ** 2


SCORERS = {"accuracy": _misses, "neg_brier_score": _brier, "neg_log_loss": _log_loss,
           "neg_mean_absolute_error": _absolute, "neg_mean_squared_error": _squared}
_OF_CLASSES = ("accuracy", "neg_brier_score", "neg_log_loss")


def chosen_scorer(scoring, score_bound, estimator):
    """Return the `Scorer` for what was asked; a ValueError where its sensitivity is not known.

    Parameters
    ----------
    scoring : str or None
    score_bound : float or None
    estimator : estimator
    """
    offered = _OF_CLASSES if is_classifier(estimator) else tuple(
        name for name in SCORERS if name not in _OF_CLASSES)
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(f"estimator={type(estimator).__name__}: neither classifier nor "
                         "regressor, so there is no score for it; use one of these.")
    name = offered[0] if scoring is None and is_classifier(estimator) else scoring
    if name is None:
        name = "neg_mean_squared_error"
    if not isinstance(name, str) or name not in offered:
        shown = repr(name) if isinstance(name, str) else type(name).__name__
        raise ValueError(
            f"scoring={shown}: the noise that hides a row in it is not known here; for "
            f"{type(estimator).__name__} it must be one of {', '.join(map(repr, offered))}.")
    if name in ("accuracy", "neg_brier_score"):
        if score_bound is not None:
            raise ValueError(f"score_bound={score_bound!r}: scoring={name!r} has no use for it; "
                             "leave score_bound=None.")
        return Scorer(name, 1.0)
    if score_bound is not None:
        return Scorer(name, check_real(
            "score_bound", score_bound, low=1e-100, high=1e100,
            remedy="a number > 0, at which the loss of a row is cut off"))
    return Scorer(name, _LOG_LOSS if name == "neg_log_loss" else _of_range(name, estimator))


def _of_range(name, estimator):
    """Return the largest error within the declared bounds of targets."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    bounds = getattr(last, "target_bounds", None)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise ValueError(f"score_bound=None: scoring={name!r} needs a public bound on the loss of "
                         "a row, as the estimator declares no target_bounds; give score_bound, "
                         "or target_bounds=(low, high).")
    width = float(bounds[1]) - float(bounds[0])
    return width**2 if name == "neg_mean_squared_error" else width
