"""The squared loss."""

from dataclasses import dataclass

import numpy as np

from dpsk._objective.losses.base import Loss


@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared residual, ``(z - y)^2 / 2``.

    The derivative ``z - y`` is unbounded, so gradients must be clipped; its slope is 1.
    """

    lipschitz = float("inf")
    smoothness = 1.0

    def at_zero(self, n_outputs):
        return 0.5

    def value(self, y, z):
        return 0.5 * np.square(z - y)

    def gradient(self, y, z):
        z -= y
        return z

    def hessian(self, y, z):
        return np.ones(len(z))
