"""The sigmoid loss, a smooth and bounded stand-in for the error rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from dpsk._objective.losses.base import Loss

if TYPE_CHECKING:
    from dpsk._typing import AnyArray, FloatArray


@dataclass(frozen=True)
class Sigmoid(Loss):
    r"""The probability of an error, ``1 / (1 + exp(y z))`` with `y` in {-1, 1}; not convex.

    With ``p`` for its value, the derivative in the margin ``y z`` is ``-p (1 - p)``, of magnitude
    at most 1/4 (at 0). The second derivative is ``p (1 - p) (1 - 2 p)``; its magnitude is the
    value of ``u (1 - u) (1 - 2 u)`` at ``u = min(p, 1 - p)`` in [0, 1/2], whose own derivative
    ``1 - 6 u + 6 u^2`` vanishes at ``u = 1/2 - sqrt(3) / 6``, where it is ``sqrt(3) / 18``. Both
    suprema are attained.

    A row far on the wrong side has almost no pull, so outliers and flipped labels move the fit
    little.
    """

    lipschitz = 0.25
    smoothness = float(np.sqrt(3.0) / 18.0)
    convex = False

    def at_zero(self, n_outputs: int | None) -> float:
        return 0.5

    def value(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return expit(-y * z)

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z *= y
        expit(z, out=z)
        z *= 1.0 - z
        z *= -y
        return z

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        p = expit(-y * z)
        return p * (1.0 - p) * (1.0 - 2.0 * p)
