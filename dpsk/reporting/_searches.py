"""Reports on scikit-learn's searches, which keep few of the models that they fit."""

import math
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    check_cv,
)

from dpsk._budgeted import asked
from dpsk._kinds import OURS, is_one_of, kind_of
from dpsk._privacy.accountant import mu_beside
from dpsk._privacy.certificate import GROUP_RELATION
from dpsk._privacy.events import Composed, Disclosure, Gaussian, NotPrivate, Pure
from dpsk.reporting._confirmed import is_confirmed
from dpsk.reporting._findings import LEARNT, UNKEPT, UNKNOWN, Exposed, Member, Note, Private
from dpsk.reporting._folds import (
    GROUPED,
    LISTED,
    STRATIFIED,
    are_grouped,
    are_listed,
    are_stratified,
    are_whole_groups,
)
from dpsk.reporting._scores import are_private
from dpsk.reporting._values import inside, is_estimator
from dpsk.reporting._wrappers import wraps

__all__ = []

#: Stands for unknown folds, if the present cv has another number of splits than the fit.
_OTHER = object()
#: Splitters into folds whose sizes differ by at most one row.
_EVEN = (KFold, RepeatedKFold, StratifiedKFold, RepeatedStratifiedKFold)


@wraps("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
def _(search, path):
    # `scores` reports the cost of private scorers; one of several scorers may be exact.
    if isinstance(search.scoring, (dict, list, tuple, set)) or not are_private(search):
        yield Exposed(path, "best_params_, best_score_ and cv_results_ are exact scores of rows, "
                            "or follow from them: they have no noise. Use DPGridSearchCV.")
    yield Exposed(path, "times of fits and of scores in cv_results_ depend on rows.")
    if are_stratified(search.cv, search.estimator):
        yield Exposed(path, STRATIFIED)
    if are_listed(search.cv):
        yield Exposed(path, LISTED, UNKEPT)
    # User-defined scorers and splitters may fit models.
    for name in ("scorer_", "cv"):
        for where, each in inside(getattr(search, name, None), f"{path}.{name}", {}):
            # `scores` reports the scorers of this package.
            if not is_estimator(each) and kind_of(type(each)) != OURS:
                yield Member(where, each)
    best = getattr(search, "best_estimator_", None)
    of_groups = {_protects_groups(fitted)
                 for _, _, fitted in _private_ones(search.estimator, best)}
    if are_grouped(search.cv) and False in of_groups:
        yield Exposed(path, GROUPED)
    if True in of_groups:
        yield Note(path, "it is assumed that np.random.seed did not fix the folds.") if (
            are_whole_groups(search.cv)) else Exposed(
                path, "folds follow from labels or sizes of groups, so that one group moves "
                      "others; use cv=GroupKFold(..., shuffle=True) without random_state.")
    for place in range(len(search.cv_results_["params"])):
        yield from _fits(search, place, best, f"{path}.candidate[{place}]")
    if _trainings(search.cv, search.n_splits_) < search.n_splits_:
        yield Note(path, "folds are taken to have been those that cv says now.")
    if best is not None:
        yield Member(f"{path}.best_estimator_", best)


def _fits(search, place, best, path):
    """Yield the cost of a candidate's fits to the folds, for the row in most of them."""
    params = search.cv_results_["params"][place]
    candidate = clone(search.estimator).set_params(**clone(params, safe=False))
    best_params, n_splits = getattr(search, "best_params_", {}), search.n_splits_
    cv = search.cv if _splits(search.cv) == n_splits else _OTHER
    found = False
    for name, leaf, fitted in _private_ones(candidate, best):
        # Halving fits to a subset of rows of unknown size.
        certificate, halving = None, hasattr(search, "n_resources_")
        if is_confirmed(name, leaf, fitted, params, best_params) and not (
                halving and leaf.delta is None):
            certificate = _bound(leaf, fitted, cv, n_splits)
        found, where = True, f"{path}.{name}" if name else path
        if certificate is None:
            yield Exposed(where, "what its fits cost does not follow from what was kept; declare "
                                 "delta, change no parameters after the fit, or fit inside a "
                                 "PrivacyBudget, which charges them.", UNKEPT)
        else:
            # Every fold may contain rows of the same group.
            yield Private(where, certificate, n_splits if _protects_groups(fitted) else
                          _trainings(cv, n_splits))
    if not found:
        yield Exposed(path, f"{type(candidate).__name__} has no private part.",
                      LEARNT if kind_of(type(candidate)) else UNKNOWN)


def _private_ones(candidate, best):
    """Yield (name, estimator, fitted) for the private estimators in a candidate."""
    steps = getattr(best, "named_steps", {})
    everything = {"": candidate, **candidate.get_params(deep=True)}
    private = {name: part for name, part in everything.items()
               if kind_of(type(part)) == OURS and hasattr(part, "epsilon")
               and hasattr(part, "delta")}
    for name, part in private.items():
        # A private estimator pays for the private estimators inside it.
        if not any(outer != name and (outer == "" or name.startswith(f"{outer}__"))
                   for outer in private):
            # Pipeline steps are fitted in place; other parameters are not fitted.
            yield name, part, steps.get(name) if name else best


def _bound(leaf, twin, cv, n_splits):
    """Return a certificate that bounds the cost of a fit to a fold, or None."""
    certified = getattr(twin, "privacy_", None)
    if certified is None:
        return None
    epsilon, delta = float(leaf.epsilon), leaf.delta
    if delta is None:
        # The default delta of the whole table gives the number of rows, and so that of a fold.
        # For groups it gives the number of groups, but a fold may have very few of them.
        if getattr(twin, "delta", 0.0) is not None or _protects_groups(twin):
            return None
        rows = _fold_rows(round(1.0 / math.sqrt(certified.delta)), cv, n_splits)
        if not rows:
            return None
        delta = 1.0 / rows**2
    event = _event(leaf, epsilon, float(delta))
    return replace(certified, epsilon=epsilon, delta=float(delta), event=event)


def _event(leaf, epsilon, delta):
    """Return an event that costs at least as much as a fit with a given budget."""
    if epsilon == math.inf:
        return NotPrivate()
    chance = asked(leaf)._disclosed_share * delta
    if asked(leaf)._is_gaussian and delta:
        # A fit that finds no categories may spend all of delta on the Gaussian part.
        mu = mu_beside(epsilon, delta, 0.0)
        return Composed((Gaussian(mu), Disclosure(chance))) if chance else Gaussian(mu)
    # Only the budget is known.
    return Composed((Pure(epsilon), Disclosure(delta))) if delta else Pure(epsilon)


def _protects_groups(fitted):
    certificate = getattr(fitted, "privacy_", None)
    return certificate is not None and certificate.relation == GROUP_RELATION


def _splits(cv):
    """Return the number of splits of the present cv; None if unknown."""
    known = cv is None or isinstance(cv, (int, np.integer)) or is_one_of(type(cv), _EVEN)
    return check_cv(cv).get_n_splits() if known else None


def _trainings(cv, n_splits):
    """Return the maximum number of training sets that contain one row."""
    if cv is None or isinstance(cv, (int, np.integer)) or type(cv) is KFold:
        return n_splits - 1
    if type(cv) is RepeatedKFold:
        return n_splits - cv.n_repeats
    return n_splits


def _fold_rows(rows, cv, n_splits):
    """Return the least number of training rows of a split; None if unknown."""
    if not (cv is None or isinstance(cv, (int, np.integer)) or is_one_of(type(cv), _EVEN)):
        return None
    return rows - math.ceil(rows * getattr(cv, "n_repeats", 1) / n_splits)
