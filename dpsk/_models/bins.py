"""Map columns of rows to bins with public or released edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import Features, FloatArray, IntArray

__all__ = ["BinnedRows", "places_among"]

#: Up to this many edges, comparing all numbers with each is faster than a search.
_FEW = 48


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Map numbers to their bins, column by column; category positions stay.

    Each entry is mapped by itself, so neighboring tables stay neighbors. Numbers beyond the ends
    go to the first or last bin.

    Parameters
    ----------
    edges : list of ndarray or None
        Bin edges of every column; None for a categorical column.
    """

    edges: list

    dtype = np.int64

    @property
    def width(self) -> int:
        """int : number of columns."""
        return len(self.edges)

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the rows of a block to `out`."""
        for column, edges in enumerate(self.edges):
            values = X[:, column]
            out[:, column] = values if edges is None else np.searchsorted(
                edges[1:-1], values, "right")


def places_among(edges: FloatArray, numbers: FloatArray) -> IntArray:
    """Return how many of the increasing edges are at or below every number; any for NaN."""
    if len(edges) > _FEW:
        return np.searchsorted(edges, numbers, "right")
    numbers, found = np.ascontiguousarray(numbers), np.zeros(len(numbers), np.uint8)
    for edge in edges.tolist():
        found += (numbers >= edge).view(np.uint8)
    return found.astype(np.intp)
