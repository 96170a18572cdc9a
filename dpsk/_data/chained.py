"""Two maps of rows, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["Chained"]


@dataclass(frozen=True, eq=False)
class Chained:
    """Map rows by one map, and the results by another.

    Parameters
    ----------
    first, then : object with width, dtype and dense(X, out)
    """

    first: Any
    then: Any

    @property
    def width(self) -> int:
        """int : number of columns."""
        return int(self.then.width)

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype : dtype of the mapped rows."""
        return np.dtype(self.then.dtype)

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the rows of a block to `out`."""
        inner = np.empty((X.shape[0], self.first.width), self.first.dtype)
        self.first.dense(X, inner)
        self.then.dense(inner, out)
