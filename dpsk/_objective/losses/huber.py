"""Huber's loss."""

from dataclasses import dataclass

import numpy as np

from dpsk._objective.losses.base import Loss


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
    def lipschitz(self):
        return self.threshold

    def at_zero(self, n_outputs):
        return float(self.value(1.0, 0.0))

    def value(self, y, z):
        r = np.abs(z - y)
        inside = np.minimum(r, self.threshold)
        return inside * (r - 0.5 * inside)

    def gradient(self, y, z):
        z -= y
        np.clip(z, -self.threshold, self.threshold, out=z)
        return z

    def hessian(self, y, z):
        return (np.abs(z - y) < self.threshold).astype(np.float64)
