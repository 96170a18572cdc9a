"""Private hyperparameter search: independent runs, of which only the best is shown."""

from __future__ import annotations

import math
from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_is_fitted

from dpsk._budgeted import asked
from dpsk._charging import in_secret, paying
from dpsk._context import may_start_threads
from dpsk._data.errors import quietly, without_warnings
from dpsk._parameters import check_integer, check_real
from dpsk._privacy.certificate_fields import HANDED_OVER
from dpsk._progress import watching
from dpsk._warnings import warn, whole_fit
from dpsk._whole import state_as_whole
from dpsk.model_selection._candidates import Alphas, post_candidates
from dpsk.model_selection._holdout import HoldoutModel, last_step
from dpsk.model_selection._inside import holds_objects, runs_foreign_code
from dpsk.model_selection._part import Part
from dpsk.model_selection._plan import search_plan
from dpsk.model_selection._runs import (
    enforced_bounds,
    noises_of,
    scored,
    shares_of,
    told,
    trained_run,
    trusted_facts,
)
from dpsk.model_selection._scoring import Scorer, chosen_scorers

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._typing import Table
    from dpsk.model_selection._plan import SearchPlan

__all__ = ["BaseSearch"]

#: Parameters of candidates that the search sets.
_OWN = ("epsilon", "delta", "random_state", "verbose")
_TIES = 1 << 53
_JOBS = "None, or an int in [-1024, 1024] other than 0"


class BaseSearch(HoldoutModel):
    """Base of hyperparameter searches; subclasses add a prior over settings."""

    _chosen = "best_estimator_"
    _kind = "search"
    #: Whether invalid settings may be left out, which requires that all settings are known.
    _may_leave_out: ClassVar[bool] = False

    @abstractmethod
    def _probes(self):
        """Return settings that represent all settings, independent of secret draws."""

    @abstractmethod
    def _drawn(self, session):
        """Draw a setting from the prior in secret; return its index and the setting."""

    @abstractmethod
    def _public_settings(self, best):
        """Return the settings that may be published, the best one included."""

    @property
    @abstractmethod
    def _mean_runs(self):
        """float : the expected number of runs, validated."""

    def plan(self, n_samples: int) -> SearchPlan:
        """Return the privacy cost of a search of `n_samples` rows, without any rows.

        Parameters
        ----------
        n_samples : int
            Number of rows, or of groups if `fit` gets groups; public.

        Returns
        -------
        plan : SearchPlan
            Printed, it states the plan in a sentence. Nothing in it depends on rows.
        """
        self._check_params()
        name, after = self._after()
        probes = self._probed(name)
        for value in after.values if name == "alpha" else ():
            self._candidate({name: value})
        return search_plan(
            *self._allowed(n_samples), self._mean_runs, *self._sizes(n_samples),
            gaussian=all(model._is_gaussian for model in probes),
            disclosed=max(model._disclosed_share for model in probes),
            choices=1 if after is None else len(after.values), most_chance=self._most_chance(),
            score_shares=shares_of(self._scorers()))

    def _probed(self, name):
        """Return models of the settings that represent all; refuse invalid ones."""
        settings = list(self._probes())
        if any(name in params for params in settings):
            raise ValueError(f"post_params has {name!r}, and so have the settings that are drawn; "
                             "leave one of the two out.")
        models = [model for model in map(self._fitting, settings) if model is not None]
        if not models:
            raise ValueError("param_grid: all settings are refused by their values; set "
                             "error_score='raise' to see why.")
        if len(models) < len(settings):
            warn(f"{len(settings) - len(models)} of {len(settings)} settings are refused "
                 "by their values, and left out.", FitFailedWarning, stacklevel=3)
        return models

    def _representatives(self):
        return without_warnings(self._probed, self._after()[0])

    def _fitting(self, params):
        """Return the estimator with a setting, or None if invalid ones are left out."""
        try:
            model = self._candidate(params)
            # A setting may change the solver, on which `post_params` depend.
            self._after(estimator=model)
        except ValueError:
            if self.error_score == "raise":
                raise
            return None
        return model

    @quietly
    @partial(whole_fit, is_fit=False)
    def fit(self, X: Table, y: Any = None, groups: ArrayLike | None = None, *,
            sample_weight: ArrayLike | None = None) -> Self:
        """Search, under the declared budget.

        Parameters
        ----------
        X : array-like, CSR matrix or table of shape (n, n_features)
            As the estimator takes it.
        y : array-like of shape (n,)
            Labels or targets.
        groups : array-like of shape (n,) or None, default=None
            The group, such as the person, of each row, for user-level privacy. Each group is in
            one part only. The estimator is fitted with groups, and losses are group averages.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the rows in training, protected like the rest of a row. Scores
            count rows alike.

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        X, n_samples = self._opened(X)
        self._check_params()
        y, classes = self._checked_targets(y, n_samples)
        scorers = self._scorers(classes)
        name, after = self._after(classes)
        table = Part.of(X, y, groups, sample_weight, n_samples, self.random_state)
        if table.members is not None and self._is_handed_over:
            raise ValueError("cv: a given split could separate rows of one group; with "
                             "groups leave cv=None, or use ShuffleSplit, which splits groups.")
        plan = replace(self.plan(table.n_units(n_samples)), grouped=table.members is not None)
        # `plan` has already warned about settings that are left out.
        probes = self._representatives()
        plan = self._checked_plan(probes, plan, table)
        parts = self._parts(plan, table)
        method, session, stream = self._opened_session(
            plan, table, probes, () if self.cv is None else parts)
        best: Any = None
        # Open budgets have paid for all runs. They and callbacks must not learn the number.
        with ExitStack() as stack:
            stack.enter_context(watching(None))
            codes = any(map(runs_foreign_code, (self, *probes)))
            if codes or any(map(holds_objects, (X, y))):
                stack.enter_context(in_secret(f"a {type(self).__name__}"))
            # All are drawn and checked before any training; warnings would reveal the number.
            runs: Any = [(asks, without_warnings(self._configured, session, classes, plan))
                         for asks in session.runs(plan.event, plan.holdout_event)]
            train, held = parts
            made = self._trained(plan, session.admission, after, train, [
                model for _, (_, model) in runs])
            # Charges for fits that a scorer makes would reveal the number too.
            nothing = session.admission.pays_for(lambda event: False)
            for (asks, (drawn, _)), models in zip(runs, made, strict=True):
                with paying(nothing):
                    score, model, place, means = without_warnings(
                        scored, models, plan, scorers, after, asks, held)
                # Ties are broken at random, so that the order of runs does not decide.
                rank = score, asks.index(_TIES)
                # A run that has lost is dropped at once.
                if best is None or rank > best[0]:
                    chosen = {} if after is None else {name: after.values[place]}
                    best = rank, drawn, chosen, model, means
        _, (place, params), chosen, model, means = best
        inner = model if hasattr(model, "privacy_") else model.estimator
        certificate = self._certificate(
            method, plan, stream, inner.privacy_, classes,
            enforced=enforced_bounds(scorers, self.score_bound), trusted=self._trusted_of(probes),
            released=(*(() if self.refit is False else ("best_estimator_",)), "best_params_",
                      "best_index_", "best_score_"))
        # The model's own certificate covers one run, but not the choice of the best.
        state_as_whole(model, certificate, self)
        model.privacy_ = certificate
        self.best_params_ = {**params, **chosen}
        if self.refit is not False:
            self.best_estimator_ = model
        self.privacy_, self.plan_ = certificate, plan
        self.scorer_ = scorers if self.multimetric_ else next(iter(scorers.values()))
        self._tell(scorers, plan, means, place, self._public_settings(params))
        return self

    def _trained(self, plan, admission, after, part, models):
        """Yield the models of every run, trained in `n_jobs` processes."""
        # An alpha path replays recorded outputs, which stay in this process. A search that is a
        # candidate of another one starts no workers.
        n_jobs = (1 if isinstance(after, Alphas) or not may_start_threads()
                  else effective_n_jobs(self.n_jobs))
        given = plan, admission, after, part
        models = models[::-1]
        if n_jobs == 1:
            while models:
                yield trained_run(*given, models.pop())
            return
        # Messages of joblib would reveal the number of runs.
        with Parallel(n_jobs=n_jobs, verbose=0) as parallel:
            while models:
                some = [models.pop() for _ in range(min(n_jobs, len(models)))]
                yield from without_warnings(parallel, [
                    delayed(trained_run)(*given, model) for model in some])

    def _split(self, n_units):
        """Return the (train, test) indices that `cv` gives; a ValueError unless it gives one pair.
        """
        # Imported late, because the package imports all metrics.
        from dpsk.metrics._splits import splits_of

        several = isinstance(self.cv, Integral)
        found = [] if several else splits_of(self.cv, n_units, self.random_state)
        if len(found) != 1:
            raise ValueError(f"cv={self.cv!r}: must be one split into two parts, because K folds "
                             "would divide the budget of each candidate among K - 1 trainings; "
                             "leave cv=None and set test_size, or pass "
                             "ShuffleSplit(n_splits=1, test_size=0.2).")
        return found[0]

    def _sizes(self, n_samples):
        if self.cv is None:
            return super()._sizes(n_samples)
        train, test = self._split(n_samples)
        return len(train), len(test)

    def _parts(self, plan, table):
        if self.cv is None:
            return super()._parts(plan, table)
        n_units = len(table.y) if table.members is None else table.members.count
        return [table.units(each) for each in without_warnings(self._split, n_units)]

    @property
    def _is_handed_over(self):
        from dpsk.metrics._splits import is_by_index

        return self.cv is not None and not is_by_index(self.cv)

    def _split_fact(self, plan):
        return HANDED_OVER if self._is_handed_over else super()._split_fact(plan)

    @property
    def multimetric_(self) -> bool:
        """bool : whether there are several scorers."""
        return isinstance(self.scoring, (list, tuple, set, dict))

    def _scorers(self, classes=None):
        """Return the scores by name; the score that chooses comes first."""
        found = chosen_scorers(self.scoring, self.score_bound, self.estimator, self.refit)
        binary = [each.name for each in found.values() if each.binary]
        if binary and classes is not None and len(classes) != 2:
            raise ValueError(f"scoring={binary[0]!r}: is of two classes, and there are "
                             f"{len(classes)}; use 'balanced_accuracy' or 'neg_log_loss'.")
        return found

    def _trusted_of(self, models):
        return [*trusted_facts(self._scorers()), *super()._trusted_of(models)]

    def _tell(self, scorers, plan, means, place, params):
        """Publish the scores of the best run; those of other runs are NaN."""
        self.cv_results_, first = {"params": params}, next(iter(scorers))
        self.best_index_, self.n_splits_, self.best_score_ = place, 1, math.nan
        events = iter(plan.score_events)
        for name, mean in zip(scorers, means, strict=True):
            noises = noises_of(scorers[name], [next(events) for _ in scorers[name].shares],
                               plan.n_holdout)
            score, noise = told(scorers[name], noises, mean, plan.n_holdout)
            self.cv_results_ |= {
                f"{key}_{name}": np.where(np.arange(len(params)) == place, float(value), np.nan)
                for key, value in (("mean_test", score), ("std_test", noise))}
            if name == first:
                self.best_score_, self.best_score_standard_error_ = score, noise
                self.cv_results_[f"rank_test_{name}"] = np.where(
                    np.arange(len(params)) == place, 1.0, np.nan)

    def _check_params(self):
        super()._check_params()
        if self.return_train_score is not False:
            raise ValueError(f"return_train_score={self.return_train_score!r}: scores of rows "
                             "that were trained on would be another release of every run; leave "
                             "it False.")
        if not (isinstance(self.error_score, str) and self.error_score == "raise") and not (
                self._may_leave_out and isinstance(self.error_score, float)
                and math.isnan(self.error_score)):
            raise ValueError(f"error_score={self.error_score!r}: must be 'raise'"
                             f"{' or nan' if self._may_leave_out else ''}; a number would rank "
                             "runs by what rows made fail.")
        if self.n_jobs is not None and not check_integer(
                "n_jobs", self.n_jobs, low=-1024, high=1024, remedy=_JOBS):
            raise ValueError(f"n_jobs={self.n_jobs!r}: must be {_JOBS}.")
        if not isinstance(self.refit, (bool, str)):
            raise ValueError(f"refit={self.refit!r}: must be True, False or the name of a score; "
                             "a function would choose by the scores of all runs, which stay "
                             "secret.")
        self._after()

    def _after(self, classes=None, estimator=None):
        """Return the parameter of `post_params` and its `Candidates`, or two Nones."""
        scorers = self._scorers(classes)
        scorer = next(iter(scorers.values()))
        if self.post_params is not None and (len(scorers) > 1 or not isinstance(scorer, Scorer)):
            raise ValueError(f"post_params: scoring={self.scoring!r} is no mean of losses, by "
                             "which they are chosen; use DPTunedThresholdClassifier for "
                             "thresholds, or another score.")
        estimator = self.estimator if estimator is None else estimator
        return post_candidates(self.post_params, estimator, scorer, classes)

    def _candidate(self, params):
        """Return the estimator with a setting; raise ValueError if that is invalid."""
        own = [key for key in params if key.split("__")[-1] in _OWN]
        if own:
            raise ValueError(f"{own[0]!r} cannot be searched: the search sets {', '.join(_OWN)} "
                             "of every run; leave it out.")
        model = clone(self.estimator).set_params(
            **{key: clone(value, safe=False) for key, value in params.items()})
        last = last_step(model)
        asked(last)._check_params()
        asked(last)._named_solver()
        return model

    def _configured(self, session, classes, plan):
        """Draw a setting; return it and its model, with the budget of one run."""
        drawn, params = self._drawn(session)
        return (drawn, params), self._at_budget(self._candidate(params), session, classes, plan)

    def score(self, X: Table, y: Table | None = None) -> float:
        """Return the exact score of rows; it is not private if the rows are sensitive.

        Parameters
        ----------
        X : array-like, CSR matrix or table of shape (n, n_features)
            As the estimator takes it.
        y : array-like of shape (n,)
            Labels or targets.

        Returns
        -------
        score : float
            The score by `scorer_`; larger is better.
        """
        check_is_fitted(self)
        targets, _ = self._checked_targets(y, _num_samples(X))
        scorer = self.scorer_[self.refit] if self.multimetric_ else self.scorer_
        return scorer.exact(self._inner, X, targets)


def checked_mean(name, value):
    """Return the expected number of runs as a float; raise ValueError if invalid."""
    return check_real(name, value, low=1, high=1e4,
                      remedy="a number in [1, 10**4], how many runs to expect")
