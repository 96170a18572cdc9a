"""Rows whose columns are brought to bins with public or released edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import Features, FloatArray

__all__ = ["BinnedRows"]


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Map numbers to the bins that hold them, by column; positions of categories stay.

    A map of each entry by itself: neighboring tables stay neighbors. Numbers beyond the ends
    count as in the bins there.

    Parameters
    ----------
    edges : list of ndarray or None
        None for a column of categories.
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
