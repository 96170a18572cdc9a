"""Splits of rows, or of groups of rows, by their index."""

import numpy as np
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from dpsk._parameters import check_integer
from dpsk._privacy.noise.seeds import public_seed
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning

__all__ = ["is_by_index", "splits_of"]

#: Splitters that read no rows; their subclasses may.
_SPLITTERS = (KFold, RepeatedKFold, ShuffleSplit)


def is_by_index(cv):
    """Return whether folds come from `splits_of` or a splitter that reads no rows."""
    return _sees_no_row(cv) or not hasattr(cv, "__iter__")


def _sees_no_row(cv):
    """Return whether a splitter is of a known class, without replaced methods."""
    return (type(cv) in _SPLITTERS and getattr(cv, "cv", KFold) is KFold
            and not any(hasattr(type(cv), name) for name in vars(cv)))


def splits_of(cv, n_samples, random_state):
    """Return (train, test) indices; raise a ValueError if a row is held out twice."""
    if _sees_no_row(cv):
        splits = cv.split(np.zeros(n_samples))
    elif isinstance(cv, str) or not hasattr(cv, "__iter__"):
        if hasattr(cv, "split"):
            raise TypeError(f"cv of type {type(cv).__name__}: must split by index alone, as KFold "
                            "does; a split by labels or groups lets one changed row move others.")
        n_splits = check_integer("cv", cv, low=2, high=n_samples,
                                 remedy=f"an int in [2, {n_samples}], or KFold")
        seed = public_seed(random_state)
        seed = None if seed is None else seed.seed % 2**32
        splits = KFold(n_splits, shuffle=True, random_state=seed).split(np.zeros(n_samples))
    else:
        warn("cv: folds that are handed over are taken to follow from no label and no "
             "other value of a row, which cannot be checked; use an int or KFold.",
             PrivacyWarning, stacklevel=3)
        splits = cv
    found = [tuple(np.asarray(part) for part in split) for split in splits]
    held = np.zeros(n_samples, int)
    for train, test in found:
        counts = np.zeros((2, n_samples), int)
        for place, part in enumerate((train, test)):
            whole = part.ndim == 1 and part.dtype.kind in "iu" and len(part) > 0
            if not whole or part.min() < 0 or part.max() >= n_samples:
                raise ValueError(f"cv: must give indices of rows in [0, {n_samples}), some for "
                                 "training and some to hold out.")
            np.add.at(counts[place], part, 1)
        if counts.sum(axis=0).max() > 1:
            raise ValueError("cv: a split has a row twice; it must be for training or held out.")
        held += counts[1]
    if not found or held.max() > 1:
        raise ValueError("cv: a row is held out more than once, or none is; use KFold, or "
                         "ShuffleSplit with n_splits=1.")
    return found
