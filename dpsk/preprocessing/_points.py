"""Where curves bend: points that follow from what was released of a column of numbers."""

import math

import numpy as np

from dpsk._defaults.columns import ATOM_DEVIATIONS, ATOMS, range_points

__all__ = ["atoms_of", "edges_of", "ends_beyond"]


def ends_beyond(points, reach):
    """Return ends beyond the outer ones of medians of several levels."""
    (root,), every = points[0], np.concatenate(points)
    low, high = every.min(), every.max()
    return low - reach * (root - low), high + reach * (high - root)


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
