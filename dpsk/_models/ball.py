"""Scale rows down into a ball, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._models.linear import LinearModel

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["RowsInBall"]


@dataclass(frozen=True, eq=False)
class RowsInBall:
    """Scale rows down to the norm bound of a LinearModel, in single precision."""

    model: LinearModel

    dtype: ClassVar[type] = np.float32

    @property
    def width(self) -> Any:
        """int : number of columns."""
        return self.model.n_features

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the mapped rows of a block to `out`."""
        scale, _ = self.model.row_scales(X)
        out[...] = np.multiply(X, scale[:, None], dtype=np.float64)

    def bounded(self, X: Features) -> Any:
        """Return the mapped rows of a block."""
        out = np.empty(X.shape, self.dtype)
        self.dense(X, out)
        return out
