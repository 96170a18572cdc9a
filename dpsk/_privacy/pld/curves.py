r"""Privacy profiles through points, and the loss distributions that have them.

In :math:`a = e^\varepsilon \ge 0` the profile :math:`H_a(P \| Q)` is convex and 1 at 0. For a
release that is accounted in both directions, :math:`H_a = 1 - a + a H_{1/a}`. So the lower convex
hull of points that bound the profile also bounds it between them. The corners of the hull are the
losses of a pair with this profile. At a corner `a` the mass of Q is the increase of the slope
there, and the mass of P is `a` times that. The value at the last point is the mass of an infinite
loss ("connect the dots").

References
----------
Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, "Connect the dots: tighter discrete approximations
of privacy loss distributions", PETS 2022.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpsk._privacy.pld.distributions import LossGrid

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._typing import FloatArray

__all__ = ["LONGEST", "CurveLaw", "convex_points", "reach"]

#: Largest loss at which a profile is evaluated.
LONGEST = 600.0
#: Mass of losses that count as infinite in a total variation distance.
_FAR = 1e-15
_POINTS = 320
#: Covers the rounding of differences of slopes.
_ROUNDING = 1 + 1e-9


def reach(delta: Callable[[float], float], tail: float) -> float:
    """Return an epsilon, at most 600, where ``delta(epsilon)`` is at most `tail`.

    If delta never falls to `tail`, it is an epsilon where delta is near its smallest value.
    """
    floor = delta(LONGEST)
    target = max(tail, floor * (1 + 1e-6))
    low, high = 0.0, 1e-6
    while delta(high) > target and high < LONGEST:
        low, high = high, min(2 * high, LONGEST)
    for _ in range(6):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(middle) <= target else (middle, high)
    return high


def convex_points(losses: FloatArray, deltas: FloatArray) -> FloatArray:
    """Return corners (a, delta), from a = 0, of the hull of points and mirror images.

    Parameters
    ----------
    losses : ndarray
        Increasing from 0.
    deltas : ndarray
    """
    a = np.exp(losses)
    below = np.exp(-losses[:0:-1])
    a = np.concatenate([[0.0], below, a])
    deltas = np.minimum(deltas, 1.0)
    mirrored = -np.expm1(-losses[:0:-1]) + below * deltas[:0:-1]
    return _hull(a, np.concatenate([[1.0], mirrored, deltas]))


def _hull(x: FloatArray, y: FloatArray) -> FloatArray:
    corners: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while len(corners) > 1 and _above(corners[-2], corners[-1], point):
            corners.pop()
        # A profile never increases, but rounding may make it.
        corners.append((point[0], min(point[1], corners[-1][1] if corners else 1.0)))
    return np.array(corners).T


def _above(first: tuple[float, float], middle: tuple[float, float],
           last: tuple[float, float]) -> bool:
    # whether the middle point is on the chord or above it
    return ((middle[1] - first[1]) * (last[0] - middle[0])
            >= (last[1] - middle[1]) * (middle[0] - first[0]))


@dataclass(frozen=True)
class CurveLaw:
    """Loss distribution whose privacy profile runs through points of `curve`."""

    curve: Callable[[FloatArray], FloatArray]

    def total_variation(self) -> float:
        """Total variation distance of the pair: delta at an epsilon of 0."""
        losses, masses, infinite = _atoms(self.curve, _FAR)
        return float(masses @ -np.expm1(-np.maximum(losses, 0.0))) + infinite

    def largest_loss(self, tail: float) -> float:
        """Largest finite loss; above it there is only an infinite one."""
        return float(_atoms(self.curve, tail)[0][-1])

    def mass_above(self, tail: float) -> float:
        """Mass of the infinite loss: more than `tail` where the profile does not fall to it."""
        return max(tail, _atoms(self.curve, tail)[2])

    def nodes(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Masses and losses, without the infinite loss."""
        losses, masses, _ = _atoms(self.curve, tail)
        return masses, losses

    def grid(self, step: float, tail: float) -> LossGrid:
        """Discretize on multiples of `step`; see `NormalMixture.grid`."""
        losses, atoms, infinite = _atoms(self.curve, tail)
        cells = np.floor(losses / step).astype(int)
        size = int(max(abs(cells[0]), abs(cells[-1]))) + 1
        share = np.expm1(cells * step - losses) / math.expm1(-step)
        share = np.clip(share, 0.0, 1.0)
        masses = np.zeros(2 * size + 1)
        np.add.at(masses, size + cells, atoms * (1 - share))
        np.add.at(masses, size + cells + 1, atoms * share)
        return LossGrid(step, masses, infinite)


@lru_cache(maxsize=64)
def _atoms(bound: Callable[[FloatArray], FloatArray],
           tail: float) -> tuple[FloatArray, FloatArray, float]:
    """Return the losses, their masses under P, and the mass of an infinite loss."""
    losses = np.linspace(0.0, reach(lambda loss: bound(np.array([loss]))[0], tail), _POINTS)
    a, curve = convex_points(losses, bound(losses))
    slopes = np.append(np.diff(curve) / np.diff(a), 0.0)
    masses = np.maximum(a[1:] * np.diff(slopes), 0.0) * _ROUNDING
    return np.log(a[1:]), masses, min(1.0, float(curve[-1]) * _ROUNDING)
