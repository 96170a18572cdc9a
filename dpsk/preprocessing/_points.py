"""Where curves bend: points that follow from what was released of a column of numbers."""

import math

import numpy as np

from dpsk._defaults.columns import ATOM_DEVIATIONS, ATOMS, MOST_SKEW, range_points
from dpsk._models.shifted_log import ShiftedLog
from dpsk._models.table_code import LinearSplineBasis

__all__ = ["atoms_of", "edges_of", "ends_beyond", "evened"]


def ends_beyond(points, reach):
    """Return ends beyond the outer ones of medians of several levels."""
    (root,), every = points[0], np.concatenate(points)
    low, high = every.min(), every.max()
    return low - reach * (root - low), high + reach * (high - root)


def evened(points, inner, bounds, reach, error):
    """Return the hat functions of a skewed column, None of one that shows no skew.

    Of medians of several levels, some of which are knots; `error` is that of their skew.
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
    # Rounded, knots that lie far closer together than the quartiles may be one.
    apart = np.isfinite(knots).all() and (np.diff(scale(knots)) > 0.0).all()
    return LinearSplineBasis(knots, scale=scale) if apart else None


def atoms_of(counts, n_rows, noise):
    """Return the places of the atoms that all rows of a column stand on, as far as noise tells.

    None where they stand elsewhere as well. Those that few rows have are not seen: where there is
    one of them at most, the column is taken for one of 0 and 1.
    """
    own, (of_atoms, of_rest) = counts[1::2], ATOM_DEVIATIONS
    seen = own > of_atoms * noise
    if seen.sum() < 2:
        seen |= np.isin(ATOMS, (0.0, 1.0))
    rest = n_rows - own[seen].sum()
    error = of_rest * noise * math.sqrt(seen.sum())
    return np.flatnonzero(seen) if rest < min(0.5 * n_rows, error + 1.0) else None


def edges_of(cells):
    """Return the points at both ends of some of the ranges between public ones."""
    points = range_points()
    return points[np.unique(np.clip(np.concatenate([cells - 1, cells]), 0, len(points) - 1))]
