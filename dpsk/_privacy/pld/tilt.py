"""Approximate total privacy loss, to choose the tilt, the grid and the window.

Any tilt, grid and window give a valid bound, so nothing here has to be exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsk._privacy.pld.distributions import LossLaw
    from dpsk._typing import FloatArray

__all__ = ["Sketch"]

_WINDOW_LOG = 30.0
_LARGEST_TILT = 1e5
_DELTA_EXCESS = 1e-3
_COARSEST_STEP = 2e-3
_EPSILON_FRACTION = 1 / 512
_FINEST_CAP = 2e-5


class Sketch:
    """Moments of the total loss under an exponential tilt, from quadrature nodes.

    `laws` are pairs of a loss distribution and its count; the nodes may omit a mass of `tail`.
    """

    def __init__(self, laws: Sequence[tuple[LossLaw, int]], tail: float) -> None:
        with np.errstate(divide="ignore"):
            self._parts = [(np.log(mass), loss, count)
                           for (mass, loss), count in ((law.nodes(tail), n) for law, n in laws)]

    def log_moment(self, theta: float) -> float:
        """Log of the mean of ``exp(theta * total loss)``."""
        return sum(count * _tilted(log_mass, loss, theta)[1]
                   for log_mass, loss, count in self._parts)

    def moments(self, theta: float) -> tuple[float, float]:
        """Mean and standard deviation of the total loss under the tilt."""
        mean = variance = 0.0
        for log_mass, loss, count in self._parts:
            weight, _ = _tilted(log_mass, loss, theta)
            one = float(weight @ loss)
            mean += count * one
            variance += count * float(weight @ (loss - one) ** 2)
        return mean, math.sqrt(variance)

    def tilt(self, epsilon: float) -> float:
        """Minimizer of ``log_moment(theta) - theta * epsilon`` over theta >= 0."""
        if self.moments(0.0)[0] >= epsilon:
            return 0.0
        low, high = 0.0, 1.0
        while self.moments(high)[0] < epsilon and high < _LARGEST_TILT:
            low, high = high, 2 * high
        theta = (low + high) / 2
        for _ in range(30):
            mean, deviation = self.moments(theta)
            low, high = (theta, high) if mean < epsilon else (low, theta)
            move = (epsilon - mean) / deviation**2 if deviation > 0 else math.inf
            if abs(move) < 1e-3 * theta:
                break
            theta = theta + move if low < theta + move < high else (low + high) / 2
        return theta

    def step(self, epsilon: float, theta: float, deviation: float) -> float:
        """Grid spacing whose chords raise delta by a fraction of at most about 1e-3.

        A chord over a cell of width h turns a loss at distance x from a grid point into
        two, adding a variance below ``min(h^2 / 4, h x)``; under the tilt a variance v
        raises the logarithm of delta by about ``theta^2 v / 2``. If few losses are large, the tail
        is steeper than theta suggests; a fraction of epsilon then limits the spacing.
        """
        coarsest = min(_COARSEST_STEP, max(epsilon * _EPSILON_FRACTION, _FINEST_CAP))
        allowed = _DELTA_EXCESS / (theta**2 + deviation**-2)
        tilted = [(_tilted(log_mass, loss, theta)[0], np.abs(loss), count)
                  for log_mass, loss, count in self._parts]
        step = 2.0 * _COARSEST_STEP
        added = math.inf
        while added > allowed and step > 1e-12:
            # discrete values, so that the step does not move with every small change of the noise
            step /= math.sqrt(2)
            added = sum(count * float(weight @ np.minimum(step**2 / 4, step * distance))
                        for weight, distance, count in tilted)
        return min(step, coarsest)

    def window(self, theta: float, deviation: float) -> tuple[float, float, float]:
        """Ends beyond which the tilted law has mass about e^-30, and the upper tilt."""
        at = self.log_moment(theta)
        unit = math.sqrt(2 * _WINDOW_LOG) / deviation
        shifts = unit * 2.0 ** np.arange(-14, 2.25, 0.5)
        ups = [(self.log_moment(theta + s) - at + _WINDOW_LOG) / s for s in shifts]
        downs = [(at - self.log_moment(theta - s) - _WINDOW_LOG) / s for s in shifts]
        best = int(np.argmin(ups))
        return max(downs), ups[best], theta + float(shifts[best])


def _tilted(log_mass: FloatArray, loss: FloatArray, theta: float) -> tuple[FloatArray, float]:
    exponent = log_mass + theta * loss
    peak = float(exponent.max())
    weight = np.exp(exponent - peak)
    total = float(weight.sum())
    return weight / total, math.log(total) + peak
