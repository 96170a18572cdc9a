r"""Privacy loss distributions of single releases, on a grid, as upper bounds.

For a pair :math:`(P, Q)` the loss is :math:`L = \log(P/Q)`. In a grid cell
:math:`[l_i, l_i + h]` holding mass :math:`p` of P and :math:`m` of Q, the mass

.. math:: (p - m e^{l_i}) / (1 - e^{-h})

moves to the upper end and the rest of :math:`p` to the lower. This preserves both masses and
replaces the convex curve :math:`a \mapsto H_a(P \| Q)` by its chords, which lie above it.
`NormalMixture` and `TwoPoint` are their own mirror images, so their cells below zero are those
above it with P and Q exchanged. `RayleighBound` bounds both directions by one distribution.

References
----------
Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, "Connect the dots: tighter discrete
approximations of privacy loss distributions", PETS 2022, Algorithm 1. Zhu, Dong and Wang,
"Optimal accounting of differential privacy via characteristic function", AISTATS 2022,
Definition 7 (dominating pairs).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    from dpsk._typing import AnyArray, FloatArray, IntArray

__all__ = ["LossGrid", "LossLaw", "NormalMixture", "RayleighBound", "TwoPoint"]

# Gauss-Legendre rules (widest cell in noise units, nodes); beyond: differences of ndtr
_RULES = ((0.02, np.polynomial.legendre.leggauss(4)),
          (0.25, np.polynomial.legendre.leggauss(8)))


@dataclass(frozen=True)
class LossGrid:
    """Masses of P, shape (2 K + 1,), on ``step * (-K, ..., K)``, and at infinity."""

    step: float
    masses: FloatArray
    infinite: float


class LossLaw(Protocol):
    """Privacy loss distribution of one release, which an accountant composes."""

    def total_variation(self) -> float:
        """Total variation distance of the pair (delta at epsilon 0), or a bound on it."""

    def largest_loss(self, tail: float) -> float:
        """Largest loss of the law where a mass of at most `tail` may be left out."""

    def mass_above(self, tail: float) -> float:
        """Bound on the mass of losses above ``largest_loss(tail)``."""

    def nodes(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Masses and losses of a quadrature rule that omits a mass of at most `tail`."""

    def grid(self, step: float, tail: float) -> LossGrid:
        """Discretize on multiples of `step`."""


class Resolved:
    """A law that has at most the asked mass above its largest loss."""

    def mass_above(self, tail: float) -> float:
        """Bound on the mass of losses above ``largest_loss(tail)``."""
        return tail


@dataclass(frozen=True)
class NormalMixture(Resolved):
    """The pair ``(1-q) N(0, z^2) + q N(1, z^2)`` against its mirror image.

    The weight q is in (0, 1]; at 1 the pair is 2/z-GDP.
    """

    q: float
    z: float

    def total_variation(self) -> float:
        """Total variation distance of the pair, which differs in the part of weight q."""
        return self.q * math.erf(math.sqrt(0.5) / self.z)

    def largest_loss(self, tail: float) -> float:
        """Loss above which a mass of at most `tail` lies."""
        return float(self._loss(np.array(1 + self.z * math.sqrt(-2 * math.log(tail)))))

    def nodes(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Masses and losses of a trapezoidal rule that omits a mass of at most `tail`."""
        reach = 1 + self.z * math.sqrt(-2 * math.log(tail))
        x = np.linspace(-reach, reach, int(min(20_000, 3 + 10 * reach / self.z)))
        loss = np.copysign(self._loss(np.abs(x)), x)
        return self._density(x) * (x[1] - x[0]), loss

    def grid(self, step: float, tail: float) -> LossGrid:
        """Discretize on multiples of `step`, up to a loss exceeded with mass `tail`."""
        size = max(1, math.ceil(self.largest_loss(tail) / step))
        edges = self._inverse(step * np.arange(size + 1))
        upper, lower, rise, fall = self._cells(edges, step)
        rise = np.clip(rise / -math.expm1(-step), 0, upper)
        fall = np.clip(fall / -math.expm1(-step), 0, lower)
        masses = np.zeros(2 * size + 1)
        mirrored = masses[::-1]
        masses[size + 1:] += rise
        masses[size:-1] += upper - rise
        mirrored[size:-1] += fall
        mirrored[size + 1:] += lower - fall
        above, below = self._upper_masses(edges[-1])
        infinite = min(max(above - below * math.exp(min(700.0, size * step)), 0.0), above)
        masses[-1] += above - infinite
        masses[0] += below
        return LossGrid(step, masses, infinite)

    def _cells(self, edges: FloatArray, step: float) -> FloatArray:
        # masses of P and Q per cell, and the integrals of P - Q e^{l} and of Q - P e^{-l-h}
        widths = np.diff(edges) / self.z
        out = np.empty((4, len(widths)))
        pending = np.ones(len(widths), dtype=bool)
        for widest, rule in _RULES:
            chosen = pending & (widths <= widest)
            out[:, chosen] = self._quadrature(edges, np.flatnonzero(chosen), step, rule)
            pending &= ~chosen
        out[:, pending] = self._differences(edges, np.flatnonzero(pending), step)
        return out

    def _quadrature(self, edges: FloatArray, cells: IntArray, step: float,
                    rule: tuple[FloatArray, FloatArray]) -> FloatArray:
        # all terms are positive: the relative error is a few units of rounding
        left, half = edges[cells], np.diff(edges)[cells] / 2
        low = step * cells
        out = np.zeros((4, len(cells)))
        for node, weight in zip(*rule, strict=True):
            x = left + half * (1 + node)
            density = weight * half * self._density(x)
            loss = self._loss(x)
            mirrored = density * np.exp(-loss)
            out += (density, mirrored, density * -np.expm1(low - loss),
                    mirrored * -np.expm1(loss - low - step))
        return out

    def _differences(self, edges: FloatArray, cells: IntArray, step: float) -> FloatArray:
        # P - Q = q (A - B) with A, B the masses of N(1, z^2), N(-1, z^2): the large
        # common part is never subtracted
        left, right = edges[cells], edges[cells + 1]
        low = step * cells
        common = (1 - self.q) * self._normal_mass(left, right, 0.0)
        plus = self.q * self._normal_mass(left, right, 1.0)
        minus = self.q * self._normal_mass(left, right, -1.0)
        upper, lower = common + plus, common + minus
        return np.array([upper, lower, plus - minus - lower * np.expm1(low),
                         minus - plus - upper * np.expm1(-low - step)])

    def _normal_mass(self, left: FloatArray, right: FloatArray, mean: float) -> FloatArray:
        a, b = (left - mean) / self.z, (right - mean) / self.z
        flip = a > 0
        return ndtr(np.where(flip, -a, b)) - ndtr(np.where(flip, -b, a))

    def _upper_masses(self, x: float) -> tuple[float, float]:
        common = (1 - self.q) * ndtr(-x / self.z)
        return (float(common + self.q * ndtr((1 - x) / self.z)),
                float(common + self.q * ndtr((-1 - x) / self.z)))

    def _density(self, x: FloatArray) -> FloatArray:
        scale = 1 / (self.z * math.sqrt(2 * math.pi))
        common = (1 - self.q) * np.exp(-0.5 * (x / self.z) ** 2) if self.q < 1 else 0.0
        return scale * (common + self.q * np.exp(-0.5 * ((x - 1) / self.z) ** 2))

    def _loss(self, x: FloatArray) -> FloatArray:
        # for x >= 0; the exponent is split where it would overflow
        if self.q == 1:
            return 2 * x / self.z**2
        up = (2 * x - 1) / (2 * self.z**2)
        down = (-2 * x - 1) / (2 * self.z**2)
        return (np.log1p(self.q * np.expm1(np.minimum(up, 600.0))) + np.maximum(up - 600.0, 0)
                - self._log_lower(down))

    def _log_lower(self, down: FloatArray) -> FloatArray:
        # log(1 - q + q e^down), without cancellation for q close to 1
        if self.q < 0.5:
            return np.log1p(self.q * np.expm1(down))
        return np.logaddexp(math.log1p(-self.q), math.log(self.q) + down)

    def _inverse(self, loss: AnyArray) -> FloatArray:
        # for loss[0] = 0 < loss[1] < ...
        if self.q == 1:
            return self.z**2 * loss / 2
        half = loss[1:] / 2
        # log of the argument of asinh: no factor of it can overflow
        log_arg = (math.log1p(-self.q) - math.log(self.q) + 0.5 / self.z**2
                   + half + np.log(-np.expm1(-2 * half)) - math.log(2))
        root = np.where(log_arg > 20, log_arg + math.log(2),
                        np.arcsinh(np.exp(np.minimum(log_arg, 20))))
        return np.concatenate([[0.0], self.z**2 * (half + root)])


@dataclass(frozen=True)
class TwoPoint(Resolved):
    """Randomized response: losses ``+-epsilon``, > 0, with odds ``exp(epsilon)``."""

    epsilon: float

    def total_variation(self) -> float:
        """Total variation distance of the pair."""
        return math.tanh(0.5 * self.epsilon)

    def largest_loss(self, tail: float) -> float:
        """Loss above which nothing lies, whatever the `tail`."""
        return self.epsilon

    def nodes(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Masses and losses of the two points."""
        loss = np.array([-self.epsilon, self.epsilon])
        return 1 / (1 + np.exp(-loss)), loss

    def grid(self, step: float, tail: float) -> LossGrid:
        """Discretize on multiples of `step`; see `NormalMixture.grid`."""
        cell = math.floor(self.epsilon / step)
        size = cell + 1
        masses = np.zeros(2 * size + 1)
        odds = math.exp(-self.epsilon)
        self._place(masses, size + cell, 1 / (1 + odds), self.epsilon - cell * step, step)
        self._place(masses, size - cell - 1, odds / (1 + odds),
                    (cell + 1) * step - self.epsilon, step)
        return LossGrid(step, masses, 0.0)

    @staticmethod
    def _place(masses: FloatArray, index: int, mass: float, offset: float, step: float) -> None:
        share = min(1.0, max(0.0, math.expm1(-offset) / math.expm1(-step)))
        masses[index] += mass * (1 - share)
        masses[index + 1] += mass * share


@dataclass(frozen=True)
class RayleighBound(Resolved):
    """The loss ``offset + slope Rho``, where Rho has density ``r exp(-r^2 / 2)``.

    It bounds the loss under P in either direction. Let Q have density ``exp(-loss)`` relative to
    P, and the rest of its mass where P has none. Then P and Q are a dominating pair.
    """

    offset: float
    slope: float

    def total_variation(self) -> float:
        """Bound on the total variation distance: the mean of the positive loss."""
        return min(1.0, max(self.offset, 0.0) + self.slope * math.sqrt(0.5 * math.pi))

    def largest_loss(self, tail: float) -> float:
        """Loss above which a mass of at most `tail` lies."""
        return self.offset + self.slope * math.sqrt(-2 * math.log(tail))

    def nodes(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Masses and losses of a trapezoidal rule that omits a mass of at most `tail`."""
        r = np.linspace(0.0, math.sqrt(-2 * math.log(tail)), 400)
        return r * np.exp(-0.5 * r**2) * (r[1] - r[0]), self.offset + self.slope * r

    def grid(self, step: float, tail: float) -> LossGrid:
        """Discretize on multiples of `step`; see `NormalMixture.grid`."""
        size = max(1, math.ceil(self.largest_loss(tail) / step))
        edges = np.maximum(step * np.arange(size + 1) - self.offset, 0.0) / self.slope
        survival = np.exp(-0.5 * edges**2)
        # Differences of the exponents lose no relative accuracy in the far tail.
        mass = survival[:-1] * -np.expm1(-0.5 * np.diff(edges) * (edges[:-1] + edges[1:]))
        rise = self._rise(edges, mass, step)
        masses = np.zeros(2 * size + 1)
        masses[size + 1:] += rise
        masses[size:-1] += mass - rise
        return LossGrid(step, masses, float(survival[-1]))

    def _rise(self, edges: FloatArray, mass: FloatArray, step: float) -> FloatArray:
        # the chord in cells narrow enough for the quadrature, all terms positive; else all mass
        widest, rule = _RULES[-1]
        left, half = edges[:-1], np.diff(edges) / 2
        low = step * np.arange(len(mass))
        rise = np.zeros(len(mass))
        for node, weight in zip(*rule, strict=True):
            r = left + half * (1 + node)
            above = self.offset + self.slope * r - low
            rise += weight * half * r * np.exp(-0.5 * r**2) * -np.expm1(-above)
        rise = np.minimum(rise / -math.expm1(-step), mass)
        return np.where(2 * half <= widest, rise, mass)
