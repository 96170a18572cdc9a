"""What a search or a cross-validation fitted, of which little is kept."""

import math
from dataclasses import replace

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.model_selection._search import BaseSearchCV

from dpsk._privacy.accountant import mu_beside
from dpsk._privacy.certificate import GROUP_RELATION
from dpsk._privacy.events import Composed, Disclosure, Gaussian, NotPrivate, Pure
from dpsk.reporting._parts import Exposed, Private, known, parts_of

__all__ = []

_STRATIFIED = (StratifiedKFold, StratifiedShuffleSplit, StratifiedGroupKFold,
               RepeatedStratifiedKFold)
#: Folds of as many rows as go, but for one.
_EVEN = (KFold, RepeatedKFold, StratifiedKFold, RepeatedStratifiedKFold)


@known
def _(search: BaseSearchCV, path):
    yield Exposed(path, "best_params_, best_score_ and cv_results_ are exact scores of rows, or "
                        "follow from them: they have no noise. Use DPGridSearchCV.")
    yield Exposed(path, "times of fits and of scores in cv_results_ depend on rows.")
    if _is_stratified(search.cv, search.estimator):
        yield Exposed(path, "folds are stratified: which rows are in one follows from the labels "
                            "of all, so that one label moves many rows; use cv=KFold(...).")
    best = getattr(search, "best_estimator_", None)
    if not _splits_groups(search.cv) and any(
            _protects_groups(fitted) for _, _, fitted in _private_ones(search.estimator, best)):
        yield Exposed(path, "folds follow from how many rows groups have, so that one group moves "
                            "others; use cv=GroupKFold(..., shuffle=True).")
    for place, params in enumerate(search.cv_results_["params"]):
        candidate = clone(search.estimator).set_params(**clone(params, safe=False))
        yield from _fits(candidate, best, search.cv, search.n_splits_,
                         f"{path}.candidate[{place}]", hasattr(search, "n_resources_"))
    if best is not None:
        yield from parts_of(best, f"{path}.best_estimator_")


@known
def _(results: dict, path):
    """Report on what `cross_validate` returned, or on fitted objects by name."""
    if "fit_time" not in results:
        for name, each in results.items():
            yield from parts_of(each, f"{path}[{name!r}]")
        return
    yield Exposed(path, "scores are exact ones of rows: they have no noise.")
    yield Exposed(path, "times of fits and of scores depend on rows.")
    if "estimator" not in results:
        yield Exposed(path, "the models were not kept, so what they cost is not known; use "
                            "return_estimator=True, or fit inside a PrivacyBudget.")
    for place, each in enumerate(results.get("estimator", ())):
        yield from parts_of(each, f"{path}['estimator'][{place}]")


def _fits(candidate, best, cv, n_splits, path, halving):
    """Yield what fits of a candidate to folds cost the row that is in most of them."""
    trainings, found = _trainings(cv, n_splits), False
    for name, leaf, fitted in _private_ones(candidate, best):
        # Halving fits to some of the rows, and does not say to how many.
        certificate = None
        if leaf.delta is not None or not halving:
            certificate = _bound(leaf, fitted, cv, n_splits)
        found = True
        if certificate is None:
            yield Exposed(f"{path}{name}", "what its fits cost does not follow from what was "
                                           "kept; declare delta, or fit inside a PrivacyBudget, "
                                           "which charges them.")
        else:
            # Folds of rows may all have some of a group.
            yield Private(f"{path}{name}", certificate,
                          n_splits if _protects_groups(fitted) else trainings)
    if not found:
        yield Exposed(path, f"{type(candidate).__name__} has no private part.")


def _private_ones(candidate, best):
    """Yield the private estimators in a candidate, by where they are, with fitted ones beside."""
    steps = getattr(best, "named_steps", {})
    everything = {"": candidate, **candidate.get_params(deep=True)}
    private = {name: part for name, part in everything.items()
               if hasattr(part, "epsilon") and hasattr(part, "delta")
               and not isinstance(part, type)}
    for name, part in private.items():
        # What is inside of a private whole is paid by it.
        if not any(outer != name and (outer == "" or name.startswith(f"{outer}__"))
                   for outer in private):
            # Parameters of a fitted object are not fitted, but steps of a pipeline are.
            yield (f".{name}" if name else ""), part, steps.get(name) if name else best


def _bound(leaf, twin, cv, n_splits):
    """Return a certificate of which a fit to a fold costs at most the event, or None."""
    certified = getattr(twin, "privacy_", None)
    if certified is None:
        return None
    epsilon, delta = float(leaf.epsilon), leaf.delta
    if delta is None:
        # The default of all rows tells how many there are, and so how many a fold trains on.
        if getattr(twin, "delta", 0.0) is not None:
            return None
        rows = _fold_rows(round(1.0 / math.sqrt(certified.delta)), cv, n_splits)
        if not rows:
            return None
        delta = 1.0 / rows**2
    event = _event(leaf, epsilon, float(delta))
    return replace(certified, epsilon=epsilon, delta=float(delta), event=event)


def _event(leaf, epsilon, delta):
    """Return an event that costs at least what a fit at a budget does."""
    if epsilon == math.inf:
        return NotPrivate()
    chance = getattr(leaf, "_disclosed_share", 0.0) * delta
    if getattr(leaf, "_is_gaussian", False) and delta:
        # Rows without categories to find leave all of delta to the rest.
        mu = mu_beside(epsilon, delta, 0.0)
        return Composed((Gaussian(mu), Disclosure(chance))) if chance else Gaussian(mu)
    # All that is known is its budget.
    return Composed((Pure(epsilon), Disclosure(delta))) if delta else Pure(epsilon)


def _is_stratified(cv, estimator):
    if isinstance(cv, _STRATIFIED):
        return True
    return (cv is None or isinstance(cv, (int, np.integer))) and is_classifier(estimator)


def _protects_groups(fitted):
    certificate = getattr(fitted, "privacy_", None)
    return certificate is not None and certificate.relation == GROUP_RELATION


def _splits_groups(cv):
    """Return whether folds are of whole groups, whatever the sizes of others."""
    return isinstance(cv, (GroupShuffleSplit, LeaveOneGroupOut, LeavePGroupsOut)) or (
        isinstance(cv, GroupKFold) and bool(getattr(cv, "shuffle", False)))


def _trainings(cv, n_splits):
    """Return in how many training sets of the folds a row is at most."""
    if cv is None or isinstance(cv, (int, np.integer)) or type(cv) is KFold:
        return n_splits - 1
    if type(cv) is RepeatedKFold:
        return n_splits - cv.n_repeats
    return n_splits


def _fold_rows(rows, cv, n_splits):
    """Return the least number of rows that a fold trains on; None where it is not known."""
    if not (cv is None or isinstance(cv, (int, np.integer)) or type(cv) in _EVEN):
        return None
    return rows - math.ceil(rows * getattr(cv, "n_repeats", 1) / n_splits)
