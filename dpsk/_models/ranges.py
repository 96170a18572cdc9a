"""Map rows to public ranges, minus a center, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["RangedRows"]

#: Larger entries would overflow in single precision.
_LARGEST = 1e30


@dataclass(frozen=True, eq=False)
class RangedRows:
    """Clip entries to public ranges, map these to [-1, 1], and subtract a center.

    Each entry is mapped by itself, so neighboring tables stay neighbors.

    Parameters
    ----------
    center : ndarray of shape (n_features,)
        Center on the mapped scale; released, or 0.
    low, high : ndarray of shape (n_features,), or None
        Ends of the ranges; None: entries stay on their own scale.
    dtype : dtype
        Dtype of mapped rows.
    """

    center: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    dtype: np.dtype

    @property
    def width(self) -> int:
        """int : number of columns."""
        return len(self.center)

    @property
    def ends(self) -> FloatArray | None:
        """ndarray of shape (2, n_features) : lower and upper ends, if there are any."""
        return None if self.low is None else np.array([self.low, self.high])

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the rows of a block to `out`."""
        if self.low is None:
            np.clip(X, -_LARGEST, _LARGEST, out=out)
            np.subtract(out, self.center, out=out, casting="same_kind")
            return
        middle, half = self._scale()
        np.clip(X, self.low, self.high, out=out, casting="same_kind")
        np.subtract(out, middle, out=out, casting="same_kind")
        np.divide(out, half, out=out, casting="same_kind")
        np.subtract(out, self.center, out=out, casting="same_kind")

    def undone(self, rows: FloatArray) -> FloatArray:
        """Map float64 rows back to their own scale, within their ranges, in place."""
        rows += self.center
        if self.low is not None:
            middle, half = self._scale()
            rows *= half
            rows += middle
            np.clip(rows, self.low, self.high, out=rows)
        return rows

    def _scale(self) -> tuple[FloatArray, FloatArray]:
        low: Any = self.low
        high: Any = self.high
        return 0.5 * (low + high), 0.5 * (high - low)
