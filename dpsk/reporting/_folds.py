"""Folds that follow from the labels of all rows."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

__all__ = ["LISTED", "STRATIFIED", "are_listed", "are_stratified"]

LISTED = ("folds were handed over as they are, and how they were chosen is not known: one label "
          "may move many rows; use cv=KFold(...).")

STRATIFIED = ("folds are stratified: which rows are in one follows from the labels of all, so "
              "that one label moves many rows; use cv=KFold(...).")
_STRATIFIED = (StratifiedKFold, StratifiedShuffleSplit, StratifiedGroupKFold,
               RepeatedStratifiedKFold)


def are_listed(cv):
    """Return whether folds are a list, or another iterable, and follow from no known rule."""
    by_number = cv is None or isinstance(cv, (str, int, float, np.number))
    return not (by_number or hasattr(cv, "split"))


def are_stratified(cv, estimator):
    """Return whether an estimator that splits by `cv` stratifies by labels.

    Parameters
    ----------
    cv : object
        As scikit-learn takes it.
    estimator : estimator
        A classifier has stratified folds unless it is told otherwise.
    """
    if isinstance(cv, _STRATIFIED):
        return True
    by_number = cv is None or isinstance(cv, (int, float, np.number))
    return by_number and is_classifier(estimator)
