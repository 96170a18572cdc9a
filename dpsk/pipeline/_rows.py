"""Transformation of rows by the steps of a pipeline."""

from contextlib import nullcontext
from functools import partial
from itertools import chain

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples

from dpsk._data.cells import as_cells, as_numbers
from dpsk._data.entries import with_entries
from dpsk._data.errors import discreetly
from dpsk._data.structure import refuse_masked
from dpsk._data.validation import is_dask
from dpsk._warnings import behind_private_step, follows_private_step
from dpsk.pipeline._known import NOTHING, is_private, seed_draws
from dpsk.pipeline._parts import called, columns_of_parts, every_part, fit_parts, has_parts

__all__ = ["behind", "check_count", "in_memory", "made", "mapped", "settled", "transformed"]

#: The root of the largest number over the largest one that is left, so that sums are finite.
_ROOM = 64.0


def made(step, X):
    """Return what a step that learns nothing from rows makes of them."""
    if step in NOTHING:
        return X
    if has_parts(step):
        return called(fit_parts("", step, X, None, None), "transform", X)
    seed_draws(step)
    step = called(step, "fit", X, None)
    # The last step may be a frozen model.
    return called(step, "transform", X) if hasattr(step, "transform") else X


def mapped(step, X, n_samples):
    """Return rows after a step that learns nothing from them."""
    X = made(step, X)
    check_count(step, X, n_samples)
    return X


def transformed(step, X, n_samples):
    """Return training rows after a fitted step."""
    X = called(step, "transform", X)
    check_count(step, X, n_samples)
    return X


def check_count(step, X, n_samples):
    """Raise a ValueError unless a step has kept the number of rows."""
    if discreetly("X", _num_samples, X) != n_samples:
        raise ValueError(f"{type(step).__name__} changes the number of rows; every row has to be "
                         "mapped by itself to one.")


def behind(steps, place):
    """Return a context in which the step at `place` refuses nothing that private steps mapped."""
    return behind_private_step() if _private_before(steps, place) else nullcontext()


def settled(steps, place, X):
    """Return rows as the step at `place` takes them, where they follow from a private step.

    A refusal would compare a row exactly with what the private step has learned. So each number
    counts as one that is taken: negative ones as the least where these are refused. After a
    step without a budget, numbers are cut to those with finite squares, and cells that are none
    or missing count as 0 unless missing ones are taken. If a step has parts, that holds for the
    columns of each. Steps that take words read such cells by themselves.
    """
    before = [each for _, each in steps[:place] if each not in NOTHING]
    if before and (follows_private_step() or _private_before(steps, place)):
        is_made, taking = not all(map(is_private, before)), _taking(steps[place][1], X)
        X = in_memory(X) if taking else X
        for step, places in taking:
            taken = get_tags(step).input_tags
            if (is_made or taken.positive_only or hasattr(step, "skewedness")) and not (
                    taken.categorical or taken.string):
                X = discreetly("X", with_entries, X, partial(_taken, step, is_made), places)
    return X


def _private_before(steps, place):
    return any(is_private(each) for _, each in every_part(steps[:place]))


def in_memory(X):
    """Return a table in memory; lists of rows become arrays whose cells may be lists."""
    refuse_masked("X", X)
    if is_dask(X):
        return discreetly("X", X.compute)
    widths = {-1} if hasattr(X, "shape") else {
        len(row) if isinstance(row, (list, tuple)) else -1 for row in X}
    if len(widths) != 1 or -1 in widths:
        return X
    return as_cells([*chain.from_iterable(X)]).reshape(len(X), *widths)


def _taking(step, X):
    """Return the estimators that take rows in a step, and their columns, or None for all."""
    if step in NOTHING or isinstance(step, str) or get_tags(step).no_validation:
        return []
    if has_parts(step):
        return [(each, places) for part, places in columns_of_parts(step, X)
                for each, _ in _taking(part, X)]
    # Of a pipeline or search within the pipeline, it is the first step.
    inner = getattr(step, "steps", None) or [("", getattr(step, "estimator", None))]
    first = next((each for _, each in inner if each not in NOTHING), None)
    return [(step, None)] if first is None else _taking(first, X)


def _taken(step, is_made, values):
    """Return numbers, with those that a step refuses replaced by some that it takes."""
    is_skewed, taken = hasattr(step, "skewedness"), get_tags(step).input_tags
    if values.dtype.kind == "O":
        values = as_numbers(values)
    if is_skewed or values.dtype.itemsize > 8:
        # Steps take integers as these, and longer numbers.
        values = values.astype(np.float64)
    is_float = values.dtype.kind == "f"
    if is_float and is_made:
        # Squares of numbers of half precision are computed in single precision.
        most = np.sqrt(np.finfo(np.result_type(values, np.float32)).max) / _ROOM
        values = np.clip(values, -most, most)
        if not taken.allow_nan:
            values = np.where(np.isnan(values), values.dtype.type(0), values)
    if taken.positive_only:
        values = np.maximum(values, 0)
    if is_skewed:
        # SkewedChi2Sampler takes numbers above this only.
        values = np.maximum(values, np.nextafter(-step.skewedness, np.inf))
    return values
