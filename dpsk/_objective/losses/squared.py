"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.losses.base import Loss

if TYPE_CHECKING:
    from dpsk._typing import AnyArray, FloatArray


@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared residual, ``(z - y)^2 / 2``.

    The derivative ``z - y`` is unbounded, so gradients must be clipped; its slope is 1.
    """

    lipschitz = float("inf")
    smoothness = 1.0

    def at_zero(self, n_outputs: int | None) -> float:
        return 0.5

    def value(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return 0.5 * np.square(z - y)

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z -= y
        return z

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return np.ones(len(z))
