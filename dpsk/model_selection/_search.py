"""The private search: independent runs, of which the best is shown and nothing else."""

import hashlib
import re
from abc import ABC, abstractmethod
from typing import ClassVar

import joblib
import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from dpsk._charging import CarriesBudgets, covered
from dpsk._data.dask import is_dask
from dpsk._data.errors import discreetly, quietly, without_warnings
from dpsk._data.labels import encode_labels, labels_fact
from dpsk._data.opening import check_targets
from dpsk._data.source import Rows
from dpsk._data.targets import numeric_targets
from dpsk._data.validation import count_rows, is_source
from dpsk._delegation import Delegates
from dpsk._estimator import warn_of_weak_budget
from dpsk._fit import Method, certify, opened_stream
from dpsk._oracle.release import Part
from dpsk._parameters import GAUSSIAN_DELTA, PARAMETER_CONSTRAINTS, check_real, number
from dpsk._privacy.certificate import Certificate, Enforced
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk._problem import Budget
from dpsk._progress import watching
from dpsk.model_selection._plan import charged, score_multiplier, search_plan
from dpsk.model_selection._scoring import chosen_scorer
from dpsk.model_selection._split import holdout_size, split_rows

__all__ = ["BaseSearch"]

#: Parameters of candidates that are the search's to set.
_OWN = ("epsilon", "delta", "random_state", "verbose")
_TIES = 1 << 53
_SEEDS = 1 << 63


class BaseSearch(Delegates, CarriesBudgets, BaseEstimator, ABC):
    """Base of the searches: a prior over settings is what they add."""

    _constraints: ClassVar[dict] = {
        "epsilon": number("a finite number > 0, such as 1.0; for fits without noise use a search "
                          "of scikit-learn's", low=0, open_low=True),
        "delta": GAUSSIAN_DELTA,
        "test_size": number("a number in (0, 1), the share of rows that are held out", low=0,
                            open_low=True, high=1, open_high=True),
        **{name: PARAMETER_CONSTRAINTS[name] for name in ("random_state", "verbose")}}

    @abstractmethod
    def _probes(self):
        """Return settings that stand for all there are, drawn apart from everything secret."""

    @abstractmethod
    def _drawn(self, releases):
        """Return a setting, drawn in secret from the prior."""

    @property
    @abstractmethod
    def _mean_runs(self):
        """float : the number of runs to expect, checked."""

    def plan(self, n_samples):
        """Return what a search of so many rows would spend, before it looks at any.

        Parameters
        ----------
        n_samples : int
            Number of rows, which is public.

        Returns
        -------
        plan : SearchPlan
            Its text says it in a sentence; nothing in it depends on rows.
        """
        self._check_params()
        delta = 1.0 / n_samples**2 if self.delta is None else self.delta
        held_out = holdout_size(n_samples, float(self.test_size))
        probes = [self._candidate(params) for params in self._probes()]
        return search_plan(
            float(self.epsilon), float(delta), self._mean_runs, n_samples - held_out, held_out,
            gaussian=all(model._is_gaussian for model in probes),
            disclosed=max(model._disclosed_share for model in probes))

    @quietly
    def fit(self, X, y=None):
        """Search, under the declared budget.

        Parameters
        ----------
        X : array-like, CSR matrix or table of shape (n, n_features)
            As the estimator takes it.
        y : array-like of shape (n,)
            Labels or targets.

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        X, y, n_samples = self._opened(X, y)
        self._check_params()
        y, classes = self._checked_targets(y, n_samples)
        scorer = chosen_scorer(self.scoring, self.score_bound, self.estimator)
        plan = self.plan(n_samples)
        warn_of_weak_budget(Budget(n_samples, 1, plan.epsilon, plan.delta))
        # Distributions say where in memory they are, which is no setting.
        settings = repr(sorted(self.get_params().items(), key=str))
        settings = re.sub(r" at 0x[0-9a-fA-F]+", "", settings)
        method = Method(type(self).__name__, f"{type(self).__module__}.{type(self).__qualname__}",
                        settings, None, self._budgets)
        releases, stream = opened_stream(
            method, (plan, f"search, {plan}"), _key_rows(self.random_state, X, y), plan.event,
            random_state=self.random_state, verbose=self.verbose)
        # All of them are drawn, and checked, before any is trained; warnings would count them.
        runs = [(asks, without_warnings(self._configured, releases, classes, plan))
                for asks in releases.runs(plan.event)]
        parts = split_rows(n_samples, plan.n_holdout, self.random_state)
        parts = [(_safe_indexing(X, part), y[part]) for part in parts]
        best = None
        # Budgets have paid for all runs, and neither they nor callbacks may learn how many.
        with covered(releases.paid), watching(None):
            while runs:
                # What has lost is dropped at once.
                asks, (params, model) = runs.pop()
                score = without_warnings(_run, model, plan, scorer, asks, parts)
                # Ties are broken at random: equal scores of unequal chance are a choice too.
                place = score, asks.index(_TIES)
                if best is None or place > best[0]:
                    best = place, params, model
        (score, _), params, model = best
        certificate = self._certificate(method, plan, scorer, stream, model.privacy_, classes)
        # Its own tells what a run costs, and not that this one was chosen.
        model.privacy_ = certificate
        self.best_estimator_, self.best_params_ = model, params
        self.best_score_ = scorer.of_mean(score_mean(score))
        self.privacy_, self.plan_, self.scorer_ = certificate, plan, scorer
        return self

    def _check_params(self):
        """Raise a ValueError for a parameter out of range, before any row is looked at."""
        for name, check in self._constraints.items():
            check(name, getattr(self, name))
        estimator, name = self.estimator, type(self.estimator).__name__
        known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
        if not ({"epsilon", "delta"} <= set(known) and hasattr(estimator, "_is_gaussian")
                and hasattr(estimator, "predict")):
            raise ValueError(f"estimator={name}: its price is not known here; use a classifier "
                             "or a regressor of dpsk, or a DPPipeline.")
        if hasattr(estimator, "group_labels"):
            raise ValueError(f"estimator={name}: it is fitted with groups, which a search does "
                             "not pass on; use one that is fitted to rows.")
        seeds = [value for key, value in estimator.get_params().items()
                 if key.split("__")[-1] == "random_state" and isinstance(value, NoiseSeed)]
        if seeds:
            raise ValueError(f"estimator={name}: with random_state={seeds[0]!r} runs would not be "
                             "independent; give the seed to the search instead.")
        chosen_scorer(self.scoring, self.score_bound, estimator)

    def _candidate(self, params):
        """Return the estimator with a setting; a ValueError where it may not have that."""
        own = [key for key in params if key.split("__")[-1] in _OWN]
        if own:
            raise ValueError(f"{own[0]!r} cannot be searched: the search sets {', '.join(_OWN)} "
                             "of every run; leave it out.")
        model = clone(self.estimator).set_params(
            **{key: clone(value, safe=False) for key, value in params.items()})
        if hasattr(model, "_check_params"):
            model._check_params()
        last = _last_step(model)
        if getattr(last, "solver", "auto") != "auto" and hasattr(last, "_build_solver"):
            last._build_solver(last.solver)
        return model

    def _configured(self, releases, classes, plan):
        """Return a setting, drawn, and a model at the budget of a run that can be trained."""
        params = self._drawn(releases)
        model = self._candidate(params)
        model.set_params(epsilon=plan.run_epsilon, delta=plan.run_delta)
        for key in model.get_params():
            if key.split("__")[-1] == "verbose":
                model.set_params(**{key: 0})
        if isinstance(self.random_state, NoiseSeed):
            model.set_params(random_state=NoiseSeed(releases.index(_SEEDS)))
        last = _last_step(model)
        # Labels are public as in any fit: all of them, as the training part may lack some.
        if classes is not None and getattr(last, "classes", classes) is None:
            last.set_params(classes=classes.tolist())
        return params, model

    def _opened(self, X, y):
        """Return rows that can be split, and their number."""
        name = type(self).__name__
        if is_source(X) or is_dask(X):
            raise ValueError(f"X of type {type(X).__name__}: {name} splits rows by their index, "
                             "so it takes arrays, tables and CSR matrices in memory only.")
        n_samples = count_rows(name, X)
        (X,) = discreetly("X", indexable, X)
        return X, y, n_samples

    def _checked_targets(self, y, n_samples):
        """Return targets as an array, and the classes of a classifier, or None."""
        name = type(self).__name__
        last = _last_step(self.estimator)
        y = check_targets(name, y, n_samples, getattr(last, "_target_checks", {}))
        if not is_classifier(self.estimator):
            return numeric_targets(y), None
        return y, encode_labels(y, last.classes, name)[0]

    def _certificate(self, method, plan, scorer, stream, own, classes):
        """Return the certificate of the search; what a run enforced is that of the best."""
        public = own.public
        if classes is not None and _last_step(self.estimator).classes is None:
            # Runs were told what was taken from all rows.
            public = [fact.replace(labels_fact(classes, classes), labels_fact(classes, None))
                      for fact in public]
        score_bound = Enforced(
            "score_bound", float(scorer.bound), "declared", f"loss of one row in scoring="
            f"{scorer.name!r}; larger ones, and those that are no number, are set to it")
        budget = Budget(plan.n_train + plan.n_holdout, 1, plan.epsilon, plan.delta)
        return certify(
            method, f"{plan}; the best: {own.estimator}, {own.solver}", budget, event=plan.event,
            noise_multiplier=own.noise_multiplier,
            source=(stream.description, stream.reproducible),
            enforced=(score_bound, *own.enforced),
            public=("number of rows", "all parameters", "split of rows, by their index",
                    *public),
            released=("best_estimator_", "best_params_", "best_score_"),
            arithmetic="float" if own.arithmetic == "float" else "snapped").verify()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            inner = get_tags(self.estimator)
        except (TypeError, ValueError, AttributeError):
            # Whatever is no estimator is refused by `fit`.
            return tags
        for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags",
                     "input_tags"):
            setattr(tags, name, getattr(inner, name))
        tags.non_deterministic = not isinstance(self.random_state, NoiseSeed)
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "privacy_")

    @property
    def _inner(self):
        return getattr(self, "best_estimator_", self.estimator)

    def _delegated(self, method, X):
        check_is_fitted(self)
        return getattr(self.best_estimator_, method)(X)

    def score(self, X, y=None):
        """Return the exact score of rows, which is a release if they are sensitive.

        Parameters
        ----------
        X : array-like, CSR matrix or table of shape (n, n_features)
            As the estimator takes it.
        y : array-like of shape (n,)
            Labels or targets.

        Returns
        -------
        score : float
            Of `scorer_`, larger is better.
        """
        check_is_fitted(self)
        targets, _ = self._checked_targets(y, _num_samples(X))
        return float(self.scorer_.of_mean(self.scorer_.losses(
            self.best_estimator_, X, targets).mean()))

    @property
    def classes_(self):
        """ndarray of shape (n_classes,) : the classes of the best estimator."""
        return self._attribute("classes_")

    @property
    def n_features_in_(self):
        """int : the number of features that the best estimator has seen."""
        return self._attribute("n_features_in_")

    @property
    def feature_names_in_(self):
        """ndarray of str : the names of the features that the best estimator has seen."""
        return self._attribute("feature_names_in_")

    def _attribute(self, name):
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} is not fitted, and has no {name}")
        return getattr(self.best_estimator_, name)


def _run(model, plan, scorer, asks, parts):
    """Train a run, and return its noisy score, of which larger is better, about zero."""
    (X, y), (held_X, held_y) = parts
    model.fit(X, y)
    certificate = model.privacy_
    if not (certificate.relation == Certificate.relation and plan.covers(certificate.event)):
        raise RuntimeError(f"A run of {type(model).__name__} costs more than its budget, or its "
                           "guarantee is not for single rows; nothing of it was shown.")

    def read(_):
        # About the middle of [0, 1], so that one row moves the sum inside a ball of radius 1/2.
        return np.array([(0.5 - scorer.losses(model, held_X, held_y)).sum()])

    part = Part(score_multiplier(plan), 0.5, terms=plan.n_holdout, size=1)
    return float(asks(charged(plan), read, part, divisor=plan.n_holdout)[0])


def _last_step(estimator):
    """Return what predicts: the estimator, or the last step of a pipeline."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def score_mean(score):
    """Return the mean loss that a noisy score about zero stands for."""
    return 0.5 - score


def _key_rows(random_state, X, y):
    """Return what keys noise that repeats: a row that digests all rows, if any does."""
    digest = np.zeros(32)
    if isinstance(random_state, NoiseSeed):
        # Whatever holds the same numbers keys the same noise.
        plain = X if hasattr(X, "tocsr") else np.ascontiguousarray(X)
        text = joblib.hash((plain, np.ascontiguousarray(y))).encode()
        digest = np.frombuffer(hashlib.sha256(text).digest(), dtype=np.uint8).astype(np.float64)
    return Rows(digest[None], np.zeros(1))


def checked_mean(name, value):
    """Return the number of runs to expect as a float; a ValueError if it is none."""
    return check_real(name, value, low=1, high=1e4,
                      remedy="a number in [1, 10**4], how many runs to expect")
