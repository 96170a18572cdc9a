"""Losses of the margin ``y z`` with `y` in {-1, 1}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.losses.base import Loss

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import AnyArray, FloatArray


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """Squared hinge, ``max(0, 1 - y z)^2``.

    The derivative is unbounded, so gradients must be clipped; its slope is 2 or 0.
    """

    lipschitz = float("inf")
    smoothness = 2.0
    piecewise = True
    # Given y the derivative has one sign.
    gradient_diameter = 1.0

    def value(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return np.square(np.maximum(1.0 - y * z, 0.0))

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z *= y
        np.subtract(1.0, z, out=z)
        np.maximum(z, 0.0, out=z)
        z *= y
        z *= -2.0
        return z

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return np.where(y * z < 1.0, 2.0, 0.0)


@dataclass(frozen=True)
class HuberizedHinge(Loss):
    r"""Hinge with its corner rounded over a width `h`.

    With ``m = 1 - y z``: 0 for ``m <= 0``, ``m^2 / (2 h)`` for ``m <= h``, ``m - h / 2``
    beyond. The derivative in `m` is ``min(max(m, 0) / h, 1)``, at most 1 with slope at most
    ``1 / h``.

    Parameters
    ----------
    width : float
    """

    width: float = 1.0
    lipschitz = 1.0
    piecewise = True
    # Given y the derivative has one sign.
    gradient_diameter = 1.0

    @property
    def smoothness(self) -> float:
        return 1.0 / self.width

    def at_zero(self, n_outputs: int | None) -> float:
        return float(self.value(1.0, 0.0))

    def value(self, y: Any, z: Any) -> Any:
        m = np.maximum(1.0 - y * z, 0.0)
        inside = np.minimum(m, self.width)
        return inside * (m - 0.5 * inside) / self.width

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z *= y
        np.subtract(1.0, z, out=z)
        z /= self.width
        np.clip(z, 0.0, 1.0, out=z)
        z *= -y
        return z

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        m = 1.0 - y * z
        return np.where((m > 0.0) & (m < self.width), 1.0 / self.width, 0.0)
