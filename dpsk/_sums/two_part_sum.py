"""Exact sums that need more bits than a double has, stored in two parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray, Shape

__all__ = ["MOST_ROWS", "TwoPartSum", "joined"]

#: Most rows whose integers are summed in one double; no block has more rows.
MOST_ROWS = 1 << 14
#: Splits the bits of such a sum into two halves; sums of 2^26 halves are exact.
_CARRY = 2.0**26


class TwoPartSum:
    """An exact sum of integers in a high and a low part.

    Up to `MOST_ROWS` rows are first summed in one double; the total does not depend on the split.
    """

    def __init__(self, shape: Shape) -> None:
        self._parts, self._total, self._rows = np.zeros((2, *shape)), np.zeros(shape), 0

    def room(self, n_rows: int) -> FloatArray:
        """Return the array to which the sum over a block of `n_rows` rows may be added."""
        if self._rows + n_rows > MOST_ROWS:
            self._carry()
        self._rows += n_rows
        return self._total

    def parts(self) -> FloatArray:
        """Return the two parts, shape (2, ...), whose sums over locations are exact."""
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
