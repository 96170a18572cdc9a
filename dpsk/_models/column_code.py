"""Table rows as network rows: numbers in [-1, 1], one-hot groups for categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._typing import AnyArray, Features, FloatArray, IntArray

__all__ = ["ColumnCode"]


@dataclass(frozen=True)
class ColumnCode:
    """Map numbers from public bounds to [-1, 1], and categories to one-hot groups.

    Entries of a group are 1 at the category's position, else -1. Each row is mapped by itself.

    Parameters
    ----------
    bounds : tuple of (float, float), or of None
        Bounds of every column; None for a column of category positions.
    sizes : tuple of int
        Number of network columns that each column becomes.
    """

    bounds: tuple
    sizes: tuple

    dtype = np.float32

    @property
    def width(self) -> int:
        """int : number of network columns."""
        return sum(self.sizes)

    @property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """tuple of (int, int) : where the one-hot groups start and stop."""
        return tuple((start, stop) for bounds, start, stop in self._places() if bounds is None)

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the rows of a block to `out`."""
        own, places, low, half = self._numbers()
        # Clip in double precision: numbers far outside would overflow in single precision.
        scaled = (np.clip(X[:, own], low, low + 2.0 * half) - low) / half - 1.0
        out[:, places] = scaled
        rows = np.arange(len(X))
        for column, (bounds, start, stop) in enumerate(self._places()):
            if bounds is None:
                out[:, start:stop] = -1.0
                out[rows, start + X[:, column].astype(np.intp)] = 1.0

    def undone(self, rows: FloatArray, draws: Any) -> list[AnyArray]:
        """Return the table columns that network rows stand for, a list of arrays.

        Category positions are drawn in proportion to the shares in a group.
        """
        result = []
        for bounds, start, stop in self._places():
            if bounds is None:
                shares = np.maximum(0.5 * (rows[:, start:stop].astype(np.float64) + 1.0), 1e-30)
                result.append(draws.choices(shares, np.arange(len(rows))))
            else:
                low, high = bounds
                share = 0.5 * (rows[:, start].astype(np.float64) + 1.0)
                result.append(np.clip(low + (high - low) * share, low, high))
        return result

    def _places(self) -> Iterator[tuple[tuple[float, float] | None, int, int]]:
        """Yield (bounds, start, stop) of every column."""
        start = 0
        for bounds, size in zip(self.bounds, self.sizes, strict=True):
            yield bounds, start, start + size
            start += size

    def _numbers(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Return numeric columns, their network columns, lower bounds and half widths."""
        found = [(column, start, *bounds)
                 for column, (bounds, start, _) in enumerate(self._places()) if bounds is not None]
        own, places, low, high = (np.array(part) for part in zip(*found, strict=True)) if found \
            else (np.zeros(0, int), np.zeros(0, int), np.zeros(0), np.zeros(0))
        return own, places, low, 0.5 * (high - low)
