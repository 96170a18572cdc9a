"""Huber's loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.losses.base import Loss

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import AnyArray, FloatArray


@dataclass(frozen=True)
class Huber(Loss):
    r"""Huber's loss of the residual ``r = z - y``.

    ``r^2 / 2`` for ``|r| <= threshold`` and ``threshold (|r| - threshold / 2)`` beyond. The
    derivative is ``r`` clipped to ``[-threshold, threshold]``, which has slope at most 1.

    Parameters
    ----------
    threshold : float
    """

    threshold: float
    smoothness = 1.0
    piecewise = True

    @property
    def lipschitz(self) -> float:
        return self.threshold

    def at_zero(self, n_outputs: int | None) -> float:
        return float(self.value(1.0, 0.0))

    def value(self, y: Any, z: Any) -> Any:
        r = np.abs(z - y)
        inside = np.minimum(r, self.threshold)
        return inside * (r - 0.5 * inside)

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z -= y
        np.clip(z, -self.threshold, self.threshold, out=z)
        return z

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return (np.abs(z - y) < self.threshold).astype(np.float64)
