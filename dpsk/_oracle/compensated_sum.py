"""A sum of any number of arrays that rounds as one of a few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray, Shape

__all__ = ["CompensatedSum"]


class CompensatedSum:
    """A sum of finite arrays with what its additions lost.

    Of N arrays it is off by ``(1 + N^2 u) u`` of the sum of their norms: by ``2 u`` up to
    ``N = 2^26`` (Knuth's two-sum; Ogita, Rump, Oishi, 2005, Proposition 4.5).
    """

    def __init__(self, shape: Shape) -> None:
        self._total, self._lost = np.zeros((2, *shape))

    def add(self, part: Any) -> None:
        """Add an array."""
        total = self._total + part
        kept = total - self._total
        self._lost += (self._total - (total - kept)) + (part - kept)
        self._total = total

    def value(self) -> FloatArray:
        """Return the sum."""
        return self._total + self._lost
