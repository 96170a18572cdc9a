"""Knots and atoms of numeric columns, computed from released points and counts."""

import math

import numpy as np

from dpsk._defaults.columns import ATOM_DEVIATIONS, ATOMS, END_REACH, MOST_SKEW, range_points
from dpsk._models.shifted_log import ShiftedLog
from dpsk._models.table_code import LinearSplineBasis

__all__ = ["about_median", "atoms_of", "edges_of", "ends_beyond", "evened", "without_far"]

#: Level of medians from which far ones are left out, because at most an eighth of the rows lie
#: beyond the outer ones before; and how many times as far as these a median may be. The outer
#: medians of a Pareto distribution with exponent 1/2 are 4 times as far at every level.
_CHECKED, _FARTHER = 3, 4.0


def ends_beyond(points, reach):
    """Return the ends of a column, beyond its outermost medians of several levels."""
    (root,), every = points[0], np.concatenate(points)
    low, high = every.min(), every.max()
    return low - reach * (root - low), high + reach * (high - root)


def without_far(points):
    """Return medians of several levels, without the far ones of slices that hold no row.

    Next to numbers that many rows share, such as whole ones, a slice may hold no row, and any
    point in it may be chosen.
    """
    (root,), found = points[0], points[:_CHECKED]
    before, growth = np.concatenate(found), np.array([_FARTHER, _FARTHER])
    for own in points[_CHECKED:]:
        ends = np.array([before.min() - root, before.max() - root])
        low, high = root + growth * ends
        # Beyond a median that is left out, deeper ones are left out too.
        growth = np.where([(own < low).any(), (own > high).any()], 1.0, growth)
        own = own[(low <= own) & (own <= high)]
        found, before = [*found, own], np.concatenate([before, own])
    return found


def evened(points, inner, bounds, reach, error):
    """Return the basis of a skewed column on a logarithmic scale; None without skew.

    `points` are medians of several levels, of which `inner` are knots. `error` is the error of
    their skew.
    """
    if len(points) < 2 or len(points[1]) < 2:
        return None
    (median,), (low, high) = points[:2]
    scale = ShiftedLog.of_quartiles(low, median, high, error, MOST_SKEW)
    if scale is None:
        return None
    ends = scale.inverse(ends_beyond(list(map(scale, points)), reach))
    if bounds is not None:
        ends = np.clip(ends, *bounds)
    knots = np.unique(np.concatenate([inner, ends]))
    # After rounding, knots that lie far closer together than the quartiles may coincide.
    apart = np.isfinite(knots).all() and (np.diff(scale(knots)) > 0.0).all()
    return LinearSplineBasis(knots, scale=scale) if apart else None


def about_median(median, spread, has_middle):
    """Return the basis of a column whose ends are equally far from a median, by its spread."""
    # Where most numbers are the median, as in flags and counts, the others are 1 away and more.
    reach = max(END_REACH[0] * spread or 1.0, 2.0 * float(np.spacing(abs(median))))
    middle = [median] * bool(has_middle or not spread)
    return LinearSplineBasis(np.unique([median - reach, *middle, median + reach]))


def atoms_of(counts, n_rows, noise):
    """Return the indices of the atoms that hold all rows of a column, up to noise.

    None if other numbers hold rows too. Atoms of few rows are not seen: if at most one atom is
    seen, the column is assumed to hold 0 and 1.
    """
    own, (of_atoms, of_rest) = counts[1::2], ATOM_DEVIATIONS
    seen = own > of_atoms * noise
    if seen.sum() < 2:
        seen |= np.isin(ATOMS, (0.0, 1.0))
    rest = n_rows - own[seen].sum()
    error = of_rest * noise * math.sqrt(seen.sum())
    return np.flatnonzero(seen) if rest < min(0.5 * n_rows, error + 1.0) else None


def edges_of(cells):
    """Return the public points at both ends of the given ranges between them."""
    points = range_points()
    return points[np.unique(np.clip(np.concatenate([cells - 1, cells]), 0, len(points) - 1))]
