"""Trees that ask one question a level, on released bins of the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import row_blocks

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray, IntArray

__all__ = ["TableBins", "Tree", "along", "blended", "leaves_after"]


@dataclass(frozen=True, eq=False)
class TableBins:
    """A map of the columns of a table, each by itself, to bins in an order.

    Parameters
    ----------
    parts : tuple of ndarray
        Of a column of numbers its knots, which part it into bins; what is missing counts as less
        than all of them. Of one of categories the bin of each, that of any other last.
    numeric : tuple of bool
        Which of the two it is.
    """

    parts: tuple
    numeric: tuple

    @classmethod
    def of(cls, code: Any, order: Any) -> TableBins:
        """Return the bins of a released `TableCode`, categories in the order of some numbers.

        `order` has one array a column.
        """
        numeric = tuple(hasattr(part, "knots") for part in code.parts)
        return cls(tuple(
            np.asarray(part.knots) if known else np.argsort(np.argsort(own, kind="stable"))
            for part, known, own in zip(code.parts, numeric, order, strict=True)), numeric)

    @property
    def sizes(self) -> IntArray:
        """ndarray of int : the number of bins of every column."""
        return np.array([len(part) + known for part, known in
                         zip(self.parts, self.numeric, strict=True)])

    def dense(self, values: FloatArray) -> IntArray:
        """Return the bins of rows of numbers and positions, shape (n_columns, n)."""
        small = self.sizes.max() <= np.iinfo(np.uint8).max + 1
        bins = np.empty(values.shape[::-1], np.uint8 if small else np.uint16)
        for block in row_blocks(len(values), len(bins)):
            for place, (part, known) in enumerate(zip(self.parts, self.numeric, strict=True)):
                own = values[block, place]
                if known:
                    found = np.searchsorted(part, own, "right")
                    found[np.isnan(own)] = 0
                else:
                    # -1 is any other, which is last.
                    found = part[own.astype(np.intp)]
                bins[place, block] = found
        return bins


@dataclass(frozen=True, eq=False)
class Tree:
    """One value a leaf; a leaf is numbered by its answers, the first level's the highest bit.

    Parameters
    ----------
    cuts : ndarray of int, shape (depth, 2)
        The column of every level, and the least bin that is above its cut.
    values : ndarray of shape (2**depth, n_outputs)
    """

    cuts: np.ndarray
    values: np.ndarray

    def add(self, bins: IntArray, raw: FloatArray) -> None:
        """Add the values of rows to raw predictions, shape (n, n_outputs)."""
        for part in row_blocks(len(raw), 8):
            raw[part] += self.values[leaves_after(bins[:, part], self.cuts)]


def leaves_after(bins: IntArray, cuts: IntArray, before: IntArray | None = None) -> IntArray:
    """Return the leaf of every row after some cuts, uint8, of leaves `before` or of the root."""
    leaves: IntArray = np.zeros(bins.shape[1], np.uint8) if before is None else before.copy()
    for column, cut in cuts:
        leaves <<= 1
        leaves |= bins[column] >= cut
    return leaves


def blended(sums: FloatArray, likeness: float) -> FloatArray:
    """Return sums of leaves, shape (2**depth, k), with those of others at ``likeness**d`` added.

    d is the number of cuts that leaves differ in.
    """
    for bits in along(sums):
        low, high = bits[:, 0].copy(), bits[:, 1].copy()
        bits[:, 0] += likeness * high
        bits[:, 1] += likeness * low
    return sums


def along(values: FloatArray) -> Any:
    """Yield views of values of leaves, shape (2**depth, k), each with a level's answer second."""
    depth = len(values).bit_length() - 1
    for level in range(depth):
        yield values.reshape(2**level, 2, -1)

