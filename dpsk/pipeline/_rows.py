"""Transformation of rows by the steps of a pipeline."""

from functools import partial

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples

from dpsk._data.entries import with_entries
from dpsk._data.errors import discreetly
from dpsk._warnings import follows_private_step
from dpsk.pipeline._known import NOTHING, is_private, seed_draws
from dpsk.pipeline._parts import fit_parts, has_parts, named_parts

__all__ = ["mapped", "settled", "transformed"]

#: The root of the largest number over the largest one that is left, so that sums are finite.
_ROOM = 64.0


def mapped(step, X, n_samples):
    """Return rows after a step that learns nothing from them."""
    if step in NOTHING:
        return X
    if has_parts(step):
        return transformed(fit_parts("", step, X, None, None), X, n_samples)
    seed_draws(step)
    step = discreetly("X", step.fit, X, None)
    if not hasattr(step, "transform"):
        # The last step is a frozen model.
        return X
    return transformed(step, X, n_samples)


def transformed(step, X, n_samples):
    """Return training rows after a fitted step, which must keep their number."""
    X = discreetly("X", step.transform, X)
    if _num_samples(X) != n_samples:
        raise ValueError(f"{type(step).__name__} changes the number of rows; every row has to be "
                         "mapped by itself to one.")
    return X


def settled(steps, place, X):
    """Return rows as the step at `place` takes them, where they follow from a private step.

    A refusal would compare a row exactly with what the private step has learned. So each number
    counts as one that is taken: negative ones as the least where these are refused. What a step
    without a budget returned is cut to numbers whose squares are finite, and missing ones count
    as 0 unless they are taken.
    """
    step = steps[place][1]
    before = [each for _, each in steps[:place] if each not in NOTHING]
    if not before or step in NOTHING or get_tags(step).no_validation or not (
            follows_private_step() or any(map(_has_private, before))):
        return X
    return with_entries(X, partial(_taken, step, not is_private(before[-1])))


def _has_private(step):
    """Return whether a step, or one of its parts, is private."""
    return any(map(is_private, dict(named_parts(step)).values() if has_parts(step) else [step]))


def _taken(step, made, values):
    """Return numbers, with those that a step refuses replaced by some that it takes."""
    is_float, taken = values.dtype.kind == "f", get_tags(step).input_tags
    if is_float and made:
        most = np.sqrt(np.finfo(values.dtype).max) / _ROOM
        values = np.clip(values, -most, most)
        if not (taken.allow_nan or has_parts(step)):
            values = np.where(np.isnan(values), values.dtype.type(0), values)
    if taken.positive_only:
        values = np.maximum(values, 0)
    if is_float and hasattr(step, "skewedness"):
        # SkewedChi2Sampler takes numbers above this only.
        values = np.maximum(values, np.nextafter(values.dtype.type(-step.skewedness),
                                                 values.dtype.type(np.inf)))
    return values
