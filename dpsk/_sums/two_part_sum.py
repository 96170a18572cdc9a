"""Exact sums of more bits than a double has, in two parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray, Shape

__all__ = ["MOST_ROWS", "TwoPartSum", "joined"]

#: So many whole numbers, of a row each, are added up in doubles; no block has more rows.
MOST_ROWS = 1 << 14
#: Half of the bits of such a sum; 2^26 of them have exact sums of either half.
_CARRY = 2.0**26


class TwoPartSum:
    """An exact sum of whole numbers, high and low, of blocks that are added up in doubles first.

    As many rows as a block may have are added up so; what they stand for does not depend on it.
    """

    def __init__(self, shape: Shape) -> None:
        self._parts, self._total, self._rows = np.zeros((2, *shape)), np.zeros(shape), 0

    def room(self, n_rows: int) -> FloatArray:
        """Return what the sum over so many rows, of a block, may be added to."""
        if self._rows + n_rows > MOST_ROWS:
            self._carry()
        self._rows += n_rows
        return self._total

    def parts(self) -> FloatArray:
        """Return the two parts, shape (2, ...), which stay exact when they are added to others."""
        self._carry()
        return self._parts

    def _carry(self) -> None:
        high = np.floor(self._total * (1.0 / _CARRY))
        self._parts[0] += high
        self._parts[1] += self._total - high * _CARRY
        self._total[...], self._rows = 0.0, 0


def joined(parts: FloatArray) -> FloatArray:
    """Return the sum of two parts, rounded once."""
    return parts[0] * _CARRY + parts[1]
