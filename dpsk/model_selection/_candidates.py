"""Candidates computed from one training run, without training again."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from dpsk._budgeted import asked
from dpsk._data.errors import quietly
from dpsk._mechanism.replay import Recording, Replay
from dpsk._parameters import check_real
from dpsk.model_selection._holdout import trained

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._typing import AnyArray, FloatArray, Table

__all__ = ["Alphas", "TemperedClassifier", "post_candidates", "responses"]

_MOST = 10_000


@dataclass(frozen=True)
class Candidates(ABC):
    """Values of one parameter that is set after the training.

    Attributes
    ----------
    values : tuple of float
    """

    values: tuple

    def trained(self, model, plan, admission, part):
        """Return the trained models of one run, from which candidates are made."""
        return [trained(model, plan, admission, part)]

    @abstractmethod
    def losses(self, models, scorer, X, targets):
        """Yield, for every candidate, the losses of the rows in [0, 1], shape (n,)."""

    @abstractmethod
    def made(self, models, place):
        """Return the candidate at index `place`, as a fitted estimator."""


@dataclass(frozen=True)
class Thresholds(Candidates):
    """Decision thresholds on the probability, or score, of the second class."""

    def losses(self, models, scorer, X, targets):
        (model,) = models
        # FixedThresholdClassifier makes the same choice.
        method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        scores = responses(model, X, method)
        positive = np.asarray(targets) == model.classes_[1]
        for value in self.values:
            yield (scores >= value) != positive

    def made(self, models, place):
        # Imported late, because the package imports all metrics.
        from sklearn.model_selection import FixedThresholdClassifier

        (model,) = models
        made = FixedThresholdClassifier(model, threshold=self.values[place])
        # Set the attributes that its own fit would set.
        made.estimator_ = model
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(made, name, getattr(model, name))
        return made


@dataclass(frozen=True)
class Temperatures(Candidates):
    """Temperatures by which log-probabilities are divided."""

    def losses(self, models, scorer, X, targets):
        (model,) = models
        logs = _Logs(model.classes_, model.predict_log_proba(X))
        for value in self.values:
            yield scorer.losses(TemperedClassifier(logs, value), None, targets)

    def made(self, models, place):
        return TemperedClassifier(models[0], self.values[place])


@dataclass(frozen=True)
class Alphas(Candidates):
    """Penalty strengths that are set after the release; refits replay its outputs."""

    def trained(self, model, plan, admission, part):
        first, *others = self.values
        answers = Recording()
        models = [trained(model.set_params(alpha=first), plan, admission, part, answers)]
        for value in others:
            models.append(trained(clone(model).set_params(alpha=value), plan, admission, part,
                                  Replay(answers)))
        return models

    def losses(self, models, scorer, X, targets):
        for model in models:
            yield scorer.losses(model, X, targets)

    def made(self, models, place):
        return models[place]


class TemperedClassifier(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose log-probabilities are divided by a temperature.

    Parameters
    ----------
    estimator : classifier
        A classifier with `predict_log_proba`. If it is already fitted, `fit` is not needed.
    temperature : float
        Above 1, probabilities are less confident; below 1, more. The order of classes stays.

    Attributes
    ----------
    estimator_ : fitted classifier
        The clone that `fit` has trained.
    privacy_ : Certificate
        The certificate of the classifier.
    """

    def __init__(self, estimator: Any, temperature: float = 1.0) -> None:
        self.estimator = estimator
        self.temperature = temperature

    def fit(self, X: Table, y: Any = None, **params: Any) -> Self:
        """Fit a clone of the estimator, at its own privacy cost.

        Parameters
        ----------
        X, y
            Passed to `fit` of the estimator.
        **params : dict
            Further parameters of `fit` of the estimator.

        Returns
        -------
        self : object
            Fitted.
        """
        fitted = clone(self.estimator).fit(X, y, **params)
        self.estimator_, self.privacy_ = fitted, fitted.privacy_
        return self

    @property
    def _inner(self):
        return getattr(self, "estimator_", self.estimator)

    def __sklearn_is_fitted__(self) -> bool:
        try:
            check_is_fitted(self._inner)
        except ValueError:
            return False
        return True

    @property
    def classes_(self) -> AnyArray:
        """ndarray of shape (n_classes,) : the classes of the estimator."""
        return self._inner.classes_

    @property
    def n_features_in_(self) -> int:
        """int : the number of features of the estimator."""
        return self._inner.n_features_in_

    @property
    def feature_names_in_(self) -> AnyArray:
        """ndarray of str : the feature names of the estimator."""
        return self._inner.feature_names_in_

    def predict(self, X: Table) -> AnyArray:
        """Return what the estimator predicts."""
        return self._inner.predict(X)

    def predict_proba(self, X: Table) -> FloatArray:
        """Return probabilities of classes."""
        return np.exp(self.predict_log_proba(X))

    @quietly
    def predict_log_proba(self, X: Table) -> FloatArray:
        """Return logarithms of probabilities of classes."""
        from scipy.special import log_softmax

        logs = np.asarray(self._inner.predict_log_proba(X), dtype=np.float64)
        return log_softmax(logs / self.temperature, axis=1)


@dataclass(frozen=True, eq=False)
class _Logs:
    """Precomputed log-probabilities that stand in for a classifier."""

    classes_: np.ndarray
    logs: np.ndarray

    def predict_log_proba(self, X):
        return self.logs


def responses(model, X, method):
    """Return the probability or score of the second of two classes, shape (n,)."""
    found = getattr(model, method)(X)
    return np.asarray(found[:, 1] if method == "predict_proba" else found)


def _check_thresholds(estimator, scorer, classes, values):
    _check_scoring("threshold", scorer, ("accuracy",))
    if classes is not None and len(classes) != 2:
        raise ValueError(f"post_params: a threshold is of two classes, and there are "
                         f"{len(classes)}; leave it out.")
    if hasattr(estimator, "predict_proba") and not all(0 <= value <= 1 for value in values):
        raise ValueError("post_params: a threshold is of a probability, and must be in [0, 1].")


def _check_temperatures(estimator, scorer, classes, values):
    _check_scoring("temperature", scorer, ("neg_brier_score", "neg_log_loss"))
    if not hasattr(estimator, "predict_log_proba"):
        raise ValueError(f"post_params: {type(estimator).__name__} has no probabilities, so there "
                         "is no temperature to choose; leave it out.")
    for value in values:
        check_real("post_params['temperature']", value, low=1e-3, high=1e3,
                   remedy="numbers in [0.001, 1000]")


def _check_alphas(estimator, scorer, classes, values):
    solver = getattr(estimator, "solver", None)
    known = asked(estimator)._solvers
    if not (isinstance(solver, str) and solver in known and known[solver].penalizes_after):
        raise ValueError("post_params: what is released follows from alpha, unless "
                         "solver='sufficient_statistics' is set; name that, or search alpha as "
                         "any other parameter.")


def _check_scoring(name, scorer, useful):
    if scorer.name not in useful:
        raise ValueError(f"post_params: {name!r} changes nothing in scoring={scorer.name!r}; use "
                         f"{' or '.join(map(repr, useful))}.")


_KINDS = {"threshold": (Thresholds, _check_thresholds),
          "temperature": (Temperatures, _check_temperatures),
          "alpha": (Alphas, _check_alphas)}


def post_candidates(post_params, estimator, scorer, classes=None):
    """Return the name of a parameter and its `Candidates`, or two Nones.

    Parameters
    ----------
    post_params : dict or None
    estimator : estimator
    scorer : Scorer
    classes : ndarray or None
        The label set, once it is known.

    Raises
    ------
    ValueError
        If candidates cannot be computed from one training run, or do not change the score.
    """
    if post_params is None:
        return None, None
    if not isinstance(post_params, dict) or len(post_params) != 1 or set(post_params) - set(
            _KINDS):
        shown = (sorted(map(str, post_params)) if isinstance(post_params, dict)
                 else type(post_params).__name__)
        raise ValueError(f"post_params={shown}: must be None, or a dict of one of "
                         f"{', '.join(map(repr, _KINDS))} with a list of values.")
    ((name, given),) = post_params.items()
    check = partial(check_real, f"post_params[{name!r}]", remedy="a list of finite numbers")
    if isinstance(given, str) or np.ndim(given) != 1 or not 1 <= len(given) <= _MOST:
        check(math.nan)
    values = tuple(map(check, list(given)))
    kind, checked = _KINDS[name]
    checked(estimator, scorer, classes, values)
    return name, kind(values)
