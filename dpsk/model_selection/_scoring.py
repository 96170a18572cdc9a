"""Scores of searches by name, each with a known sensitivity."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import _safe_indexing

from dpsk._parameters import check_real
from dpsk.model_selection._score_kinds import R2, LabelScore, RankScore, Score

if TYPE_CHECKING:
    from typing import Any

__all__ = ["SCORERS", "RowScore", "Scorer", "chosen_scorers"]

#: Log loss at a probability of .01 for the correct class.
_LOG_LOSS = -math.log(0.01)
#: Alternatives to scores whose sensitivity is unknown or too large.
_INSTEAD = {
    **dict.fromkeys(("precision", "recall"), "use 'f1'"),
    **dict.fromkeys(("max_error", "neg_median_absolute_error"),
                    "one row may decide it; use 'neg_mean_absolute_error'"),
    **dict.fromkeys(("f1_macro", "f1_weighted", "f1_micro", "recall_macro"),
                    "use 'balanced_accuracy'"),
    **dict.fromkeys(("roc_auc_ovr", "roc_auc_ovo"), "use 'neg_log_loss'"),
    "neg_root_mean_squared_error": "'neg_mean_squared_error' orders alike"}


@dataclass(frozen=True)
class Scorer(Score):
    """A score that follows from the mean loss of rows; larger is better.

    Attributes
    ----------
    name : str
    bound : float
        The value at which the loss of a row is clipped.
    """

    bound: float

    def losses(self, model, X, targets):
        """Return the loss of every row divided by the bound, in [0, 1]; NaN becomes 1.

        Parameters
        ----------
        model : fitted estimator
        X : array-like or table of n rows
        targets : ndarray of shape (n,)
            Labels or numbers.
        """
        with np.errstate(all="ignore"):
            losses = np.asarray(self._losses(model, X, targets), dtype=np.float64)
            losses = losses.reshape(len(targets)) / self.bound
        return np.clip(np.where(np.isnan(losses), 1.0, losses), 0.0, 1.0)

    def _losses(self, model, X, targets):
        return SCORERS[self.name](model, X, targets)

    def of_mean(self, mean):
        """Return the score for a mean of losses that are divided by the bound."""
        return 1.0 - mean if self.name == "accuracy" else -self.bound * mean

    @property
    def range(self):
        return (0.0, 1.0) if self.name == "accuracy" else (-self.bound, 0.0)

    def released(self, ask, model, X, targets, n_rows, noises):
        # Losses are centered on 1/2, so that the bound on each is as small as possible.
        return [ask(0, (0.5 - self.losses(model, X, targets),))]

    def value(self, means, n_rows):
        return float(self.of_mean(0.5 - means[0][0]))

    def order(self, means, n_rows):
        return float(means[0][0])

    def error(self, means, noises, n_rows):
        return self.bound * noises[0]


@dataclass(frozen=True)
class RowScore(Scorer):
    """The mean of a user's scorer, called on one row at a time and clipped to bounds."""

    scorer: Any
    high: float

    def _losses(self, model, X, targets):
        # Copies, because neither may keep a row: the model is published, the scorer a parameter.
        model, scorer = copy.deepcopy((model, self.scorer))
        return [self.high - _score_of_row(scorer, model, _safe_indexing(X, [place]),
                                          targets[place:place + 1])
                for place in range(len(targets))]

    def of_mean(self, mean):
        return self.high - self.bound * mean

    @property
    def range(self):
        return self.high - self.bound, self.high


def _score_of_row(scorer, model, X, targets):
    try:
        return float(scorer(model, X, targets))
    # An exception would reveal something about the row.
    except Exception:
        return math.nan


def _misses(model, X, labels):
    return model.predict(X) != labels


def _brier(model, X, labels):
    chances = model.predict_proba(X)
    right = np.asarray(labels)[:, None] == model.classes_
    # Halved, because with two classes each error counts twice.
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
_OF_CLASSES = ("accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision",
               "neg_brier_score", "neg_log_loss")
_OF_CHANCES = ("neg_brier_score", "neg_log_loss")
_OF_NUMBERS = ("neg_mean_squared_error", "neg_mean_absolute_error", "r2")
_OTHERS = {"balanced_accuracy": LabelScore, "f1": LabelScore, "roc_auc": RankScore,
           "average_precision": RankScore}


def chosen_scorers(scoring, score_bound, estimator, refit=True):
    """Return the requested scores by name; the score that chooses comes first.

    Parameters
    ----------
    scoring : str, callable, list, dict or None
    score_bound : float, (float, float) or None
    estimator : estimator
    refit : bool or str

    Raises
    ------
    ValueError
        If the sensitivity of a score is unknown.
    """
    if not isinstance(scoring, (list, tuple, set, dict)):
        scorer = _chosen(scoring, score_bound, estimator)
        if isinstance(refit, str):
            raise ValueError(f"refit={refit!r}: there is one score; leave refit=True.")
        return {"score": scorer}
    named = dict(scoring) if isinstance(scoring, dict) else {each: each for each in scoring}
    if not named or not all(isinstance(name, str) for name in named):
        raise ValueError("scoring: must be names of scores, or a dict from names to scores.")
    if refit not in named:
        raise ValueError(f"refit={refit!r}: with several scores one of them chooses; name it, "
                         f"such as refit={next(iter(named))!r}.")
    first = {refit: named[refit], **named}
    return {name: _chosen(each, score_bound, estimator, several=True)
            for name, each in first.items()}


def _chosen(scoring, score_bound, estimator, several=False):
    """Return the score for one name or callable."""
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(f"estimator={type(estimator).__name__}: neither classifier nor "
                         "regressor, so there is no score for it; use one of these.")
    if _is_private(scoring):
        raise ValueError(f"scoring of type {type(scoring).__name__}: is a private score, whose "
                         "calls would each be charged; a search adds its own noise, so give the "
                         "name of a score, such as 'accuracy', or a scorer without noise.")
    offered = _OF_CLASSES if is_classifier(estimator) else _OF_NUMBERS
    name = offered[0] if scoring is None else _named(scoring, offered)
    if not isinstance(name, str) and callable(name) and isinstance(score_bound, (tuple, list)):
        low, high = _pair(score_bound)
        return RowScore("callable", high - low, name, high)
    if not isinstance(name, str) or name not in offered:
        shown = repr(name) if isinstance(name, str) else type(name).__name__
        instead = _INSTEAD.get(name) if isinstance(name, str) else (
            callable(name) and "give score_bound=(low, high), to call it on one row at a time")
        raise ValueError(
            f"scoring={shown}: how much one row moves it (its sensitivity) is unknown"
            f"{f' ({instead})' if instead else ''}; for {type(estimator).__name__} it must be one "
            f"of {', '.join(map(repr, offered))}.")
    if name in _OF_CHANCES and not hasattr(estimator, "predict_proba"):
        raise ValueError(f"scoring={name!r}: {type(estimator).__name__} has no probabilities; use "
                         "'accuracy', 'f1' or 'roc_auc'.")
    if name in _OTHERS or name in ("accuracy", "neg_brier_score"):
        if score_bound is not None and not several:
            raise ValueError(f"score_bound={score_bound!r}: scoring={name!r} has no use for it; "
                             "leave score_bound=None.")
        return _OTHERS[name](name) if name in _OTHERS else Scorer(name, 1.0)
    loss = "neg_mean_squared_error" if name == "r2" else name
    if score_bound is not None:
        bound = check_real("score_bound", score_bound, low=1e-100, high=1e100,
                           remedy="a number > 0, at which the loss of a row is cut off")
    else:
        bound = _LOG_LOSS if name == "neg_log_loss" else _of_range(loss, estimator)
    scorer = Scorer(loss, bound)
    return R2("r2", scorer, *_target_bounds("r2", estimator)) if name == "r2" else scorer


def _named(scoring, offered):
    """Return the name of a scikit-learn scorer if it is offered, else the scorer."""
    if isinstance(scoring, str) or not hasattr(scoring, "_score_func"):
        return scoring
    # Imported late, because the package imports all metrics.
    from sklearn.metrics import get_scorer

    requests = scoring.get_metadata_routing()._serialize() if hasattr(
        scoring, "get_metadata_routing") else {}
    if any(value is True for each in requests.values() for value in each.values()):
        raise ValueError("scoring: it asks for metadata, such as sample_weight, which searches do "
                         "not pass on; give one without.")
    for name in offered:
        known = get_scorer(name)
        if type(scoring) is type(known) and _settings(scoring) == _settings(known):
            return name
    return scoring


def _is_private(scoring):
    """Return whether a scorer is of this package, or calls a function of it."""
    function = getattr(scoring, "_score_func", scoring)
    # A partial of a function has it in `func`.
    function = getattr(function, "func", function)
    owner = function if isinstance(function, FunctionType) else type(function)
    return str(owner.__module__).partition(".")[0] == "dpsk"


def _settings(scorer):
    """Return the function, sign, parameters and response method of a scorer."""
    given = {**scorer._kwargs}
    # "binary" is the default.
    if given.get("average") == "binary":
        del given["average"]
    return scorer._score_func, scorer._sign, given, scorer._response_method


def _pair(bounds):
    low, high = (check_real("score_bound", each, remedy="a pair of numbers (low, high)")
                 for each in (bounds if len(bounds) == 2 else (math.nan, math.nan)))
    if not 0 < high - low < math.inf:
        raise ValueError(f"score_bound={tuple(bounds)!r}: must be (low, high), low below high.")
    return low, high


def _target_bounds(name, estimator):
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    bounds = getattr(last, "target_bounds", None)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise ValueError(f"score_bound=None: scoring={name!r} needs a public bound on the loss of "
                         "a row, as the estimator declares no target_bounds; give score_bound, "
                         "or target_bounds=(low, high).")
    return float(bounds[0]), float(bounds[1])


def _of_range(name, estimator):
    """Return the largest loss within the declared bounds of targets."""
    low, high = _target_bounds(name, estimator)
    return (high - low)**2 if name == "neg_mean_squared_error" else high - low
