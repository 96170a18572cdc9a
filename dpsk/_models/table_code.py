"""Columns of a table as blocks of features of norm at most 1: hat functions, indicators."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Hats", "Indicators", "TableCode"]


@dataclass(frozen=True, eq=False)
class Hats:
    """Numbers between knots as weights of the two nearest ones.

    A number on a knot has weight 1 there, one between two knots weights in proportion, and one
    beyond the ends counts as the end. Weights are not negative and sum to 1, so that their norm is
    at most 1. What is missing has none.

    Parameters
    ----------
    knots : ndarray of float64
        Increasing, at least one.
    """

    knots: np.ndarray

    @property
    def width(self):
        """int : number of features."""
        return len(self.knots)

    def write(self, numbers, out):
        """Write the features of a column to `out`, shape (n, width), which is zero."""
        rows = np.flatnonzero(~np.isnan(numbers))
        inside = np.clip(numbers[rows], self.knots[0], self.knots[-1])
        left = np.clip(np.searchsorted(self.knots, inside, "right") - 1, 0,
                       max(0, len(self.knots) - 2))
        right = np.minimum(left + 1, len(self.knots) - 1)
        start, gap = self.knots[left], self.knots[right] - self.knots[left]
        share = np.divide(inside - start, gap, out=np.zeros(len(rows)), where=gap > 0)
        share = share.astype(out.dtype)
        # Beside a weight that is rounded to 1 another would make the row longer than that.
        share[1 - share == 1] = 0
        out[rows, right] = share
        out[rows, left] = 1 - share

    def names(self, column):
        """Return a name for every feature."""
        return [f"{column}[{knot:.6g}]" for knot in self.knots]


@dataclass(frozen=True, eq=False)
class Indicators:
    """Positions of categories as indicators, the last one of any other.

    Parameters
    ----------
    categories : list
    kept : ndarray of int or None
        The positions of these categories in rows to fit on, increasing and sensitive; None: in
        their order here.
    """

    categories: list
    kept: object = None

    @property
    def width(self):
        """int : number of features."""
        return len(self.categories) + 1

    def write(self, positions, out):
        """Write the features of a column to `out`, shape (n, width), which is zero."""
        places = positions.astype(np.intp)
        if self.kept is not None:
            nearest = np.searchsorted(self.kept, places)
            known = np.append(self.kept, -2)[nearest] == places
            places = np.where(known, nearest, -1)
        out[np.arange(len(places)), np.where(places < 0, self.width - 1, places)] = 1

    def names(self, column):
        """Return a name for every feature."""
        return [*(f"{column}_{category}" for category in self.categories), f"{column}_other"]


@dataclass(frozen=True, eq=False)
class TableCode:
    """A map of rows of a table, each by itself: neighboring tables stay neighbors.

    Parameters
    ----------
    parts : tuple of Hats or Indicators
        Of the columns.
    width : int
        Public; features beyond those of the parts are zero.
    dtype : dtype
    """

    parts: tuple
    width: int
    dtype: object = np.float32

    def for_next_rows(self):
        """Return the map of rows in which positions are those among the categories themselves."""
        return replace(self, parts=tuple(
            Indicators(part.categories) if isinstance(part, Indicators) else part
            for part in self.parts))

    @property
    def norm(self):
        """float : bound on the norm of a row."""
        return math.sqrt(len(self.parts))

    @property
    def n_used(self):
        """int : the number of features of the parts."""
        return sum(part.width for part in self.parts)

    @property
    def slices(self):
        """list of slice : where the features of every column are."""
        ends = np.cumsum([0, *(part.width for part in self.parts)]).tolist()
        return [slice(*each) for each in itertools.pairwise(ends)]

    def dense(self, X, out):
        """Write the features of rows to `out`, shape (n, width)."""
        out[:] = 0
        for place, (part, where) in enumerate(zip(self.parts, self.slices, strict=True)):
            part.write(X[:, place], out[:, where])

    def names(self, columns):
        """Return a name for every feature of the parts."""
        return [name for part, column in zip(self.parts, columns, strict=True)
                for name in part.names(column)]
