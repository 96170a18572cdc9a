"""Cross-validation folds, and whether they depend on all labels or groups."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from dpsk._kinds import is_one_of

__all__ = ["GROUPED", "LISTED", "STRATIFIED", "are_grouped", "are_listed", "are_stratified",
           "are_whole_groups"]

LISTED = ("folds were handed over as they are, and how they were chosen is not known: one label "
          "may move many rows; use cv=KFold(...).")

STRATIFIED = ("folds are stratified: which rows are in one follows from the labels of all, so "
              "that one label moves many rows; use cv=KFold(...).")
GROUPED = ("folds follow from the groups of all rows, so that one row of another group moves "
           "others; use cv=KFold(...), or fit with groups=.")
_STRATIFIED = (StratifiedKFold, StratifiedShuffleSplit, StratifiedGroupKFold,
               RepeatedStratifiedKFold)
_GROUPED = (GroupShuffleSplit, LeaveOneGroupOut, LeavePGroupsOut, GroupKFold, StratifiedGroupKFold)
#: Splitters with a known rule.
_BY_RULE = (KFold, RepeatedKFold, ShuffleSplit, LeaveOneOut, LeavePOut, TimeSeriesSplit,
            *_STRATIFIED, *_GROUPED)


def are_listed(cv):
    """Return whether folds are given as a list or by a splitter without a known rule."""
    return not (_by_number(cv) or is_one_of(type(cv), _BY_RULE))


def are_grouped(cv):
    """Return whether folds depend on the groups of rows."""
    return isinstance(cv, _GROUPED)


def are_whole_groups(cv):
    """Return whether folds are of whole groups that are drawn anew, so that none moves others.

    Splitters sort the labels of groups. A seed shuffles places, so that a group of another label
    moves all groups between.
    """
    return getattr(cv, "random_state", 0) is None and (
        isinstance(cv, GroupShuffleSplit)
        or (isinstance(cv, GroupKFold) and bool(getattr(cv, "shuffle", False))))


def are_stratified(cv, estimator):
    """Return whether an estimator that splits by `cv` stratifies by labels.

    Parameters
    ----------
    cv : object
        As in scikit-learn.
    estimator : estimator
        Folds of a classifier are stratified by default.
    """
    if isinstance(cv, _STRATIFIED):
        return True
    return _by_number(cv) and is_classifier(estimator)


def _by_number(cv):
    return cv is None or isinstance(cv, (int, float, np.number))
