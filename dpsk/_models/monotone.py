"""Monotonic constraints on columns, and shape functions and trees that keep them.

Everything is computed from released values.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray, IntArray

__all__ = ["check_monotonic", "constrained", "isotonic", "monotone_curves", "monotone_leaves",
           "place_of", "refuse_several"]

#: Least weight of a knot, relative to its weight if all knots had equal shares.
_LEAST_SHARE = 0.1


def check_monotonic(name: str, value: Any) -> None:
    """Raise a ValueError unless `value` is None, or a dict or sequence of -1, 0 and 1."""
    if value is None:
        return
    given = list(value.values()) if isinstance(value, dict) else (
        value.tolist() if isinstance(value, np.ndarray) else value)
    if not (isinstance(given, (list, tuple)) and all(
            isinstance(each, Integral) and not isinstance(each, bool) and int(each) in (-1, 0, 1)
            for each in given)):
        raise ValueError(f"{name}={value!r}: must be None, one of -1, 0 and 1 for every column, "
                         "or a dict of these by column, such as {'age': 1}.")


def constrained(given: Any, columns: Any) -> IntArray:
    """Return every column's constraint: 1 increasing, -1 decreasing, 0 none.

    Unknown columns and constrained categorical columns raise a ValueError.
    """
    signs = np.zeros(len(columns), int)
    if isinstance(given, dict):
        for name, sign in given.items():
            signs[place_of("monotonic_cst", columns, name)] = sign
    elif given is not None:
        if len(given) != len(columns):
            raise ValueError(f"monotonic_cst of length {len(given)}: must have one entry for "
                             f"every column, of which X has {len(columns)}.")
        signs[:] = given
    for column, sign in zip(columns, signs, strict=True):
        if sign and column.categories is not None:
            raise ValueError(f"monotonic_cst has {column.name!r}, a column of categories, which "
                             "have no order; use 0 for it, or convert it to numbers.")
    return signs


def refuse_several(given: Any, n_classes: int) -> None:
    """Raise a ValueError if constraints are given with more than two classes."""
    if given is not None and n_classes > 2:
        raise ValueError("monotonic_cst: monotonic constraints are not supported for more than "
                         "two classes; use monotonic_cst=None.")


def place_of(parameter: str, columns: Any, name: Any) -> int:
    """Return the position of a column, given its name or position."""
    names = [column.name for column in columns]
    if name in names:
        return names.index(name)
    is_whole = isinstance(name, Integral) and not isinstance(name, bool)
    if is_whole and int(name) in range(len(names)):
        return int(name)
    raise ValueError(f"{parameter} has {name!r}, which is no column; use the names of a "
                     "DataFrame, or positions.")


def isotonic(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the nearest values, in weighted squares, that never fall along axis 0.

    Each value is the maximum, over starts up to it, of the minimum, over ends from it on, of the
    weighted mean between. Every step preserves order even when rounded. So results never fall,
    and inputs that are nowhere less than others give results that are nowhere less.
    """
    found = np.full_like(values, -np.inf)
    shares = weights.reshape(-1, *[1] * (values.ndim - 1))
    for start in range(len(values)):
        sums = np.cumsum(values[start:] * shares[start:], axis=0)
        means = sums / np.cumsum(shares[start:], axis=0)
        least = np.minimum.accumulate(means[::-1], axis=0)[::-1]
        np.maximum(found[start:], least, out=found[start:])
    return found


def monotone_curves(coef: FloatArray, code: Any, shares: Any, signs: IntArray) -> FloatArray:
    """Return coefficients of a `TableCode`, (width,), that satisfy constraints.

    `shares` are the released shares of rows at the levels of every column.
    """
    found = coef.copy()
    for place in np.flatnonzero(signs):
        # Missing values have a coefficient of their own, after the knots.
        start, count = code.slices[place].start, len(code.parts[place].knots)
        own = slice(start, start + count)
        weights = np.maximum(shares[place][:count], _LEAST_SHARE / count)
        found[own] = signs[place] * isotonic(signs[place] * coef[own], weights)
    return found


def monotone_leaves(values: FloatArray, weights: FloatArray, cuts: IntArray,
                    signs: IntArray) -> FloatArray:
    """Return leaf values of a `Tree`, (2**depth, k), that satisfy constraints.

    The cuts of a column, in order, part it into intervals. Leaf values along these intervals are
    replaced by their isotonic regression. The weight of an interval is the sum over all its
    leaves, which preserves the order along other columns.
    """
    n_levels = len(cuts)
    found = values.reshape(*[2] * n_levels, -1).copy()
    sizes = weights.reshape(found.shape)
    for column in np.unique(cuts[:, 0][signs[cuts[:, 0]] != 0]):
        levels = np.flatnonzero(cuts[:, 0] == column)
        edges = np.unique(cuts[levels, 1])
        ranks = np.searchsorted(edges, cuts[levels, 1])
        answers = tuple((ranks[:, None] < np.arange(len(edges) + 1)).astype(int))
        chain = np.moveaxis(found, levels, range(len(levels)))
        share = np.moveaxis(sizes, levels, range(len(levels)))[answers]
        share = share.reshape(len(share), -1).sum(axis=1)
        chain[answers] = signs[column] * isotonic(signs[column] * chain[answers], share)
    return found.reshape(values.shape)
