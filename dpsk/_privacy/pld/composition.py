r"""Composition of privacy loss distributions by a tilted Fourier transform.

Write M for the moment generating function of the total loss under P. Under the tilted law
:math:`r(l) \propto P(l) e^{\theta l}`

.. math:: \delta(\varepsilon) = M(\theta) e^{-\theta\varepsilon} \sum_{l > \varepsilon}
          r(l) e^{-\theta (l - \varepsilon)} (1 - e^{\varepsilon - l})

holds for every :math:`\theta \ge 0`. At the minimizer of the factor in front, r is centered
at :math:`\varepsilon` and the error of the transform, absolute in r, becomes relative to
delta. Errors are never subtracted: the transform's error, the mass above its window and the
mass of infinite losses are added, and aliasing only adds mass to the window. The error of r is
known in the l2 norm, so its part of delta is at most that norm times the l2 norm of the weights
that multiply r (Cauchy-Schwarz).

References
----------
Koskela, Jalko and Honkela, "Computing tight differential privacy guarantees using FFT",
AISTATS 2020. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., Theorem 24.2
(error of the transform).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from dpsk._privacy.pld.tilt import Sketch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsk._privacy.elementary import Parts
    from dpsk._privacy.pld.distributions import LossGrid, LossLaw
    from dpsk._typing import FloatArray

__all__ = ["LossBound", "loss_bound"]

_UNIT = 2.0**-53
_MOST_CELLS = 400_000
_LONGEST_TRANSFORM = 2**23


@dataclass(frozen=True)
class LossBound:
    """Upper bound on delta from discretized loss distributions.

    Attributes
    ----------
    delta : float
        The bound; 1 if an intermediate result was not finite.
    fft : float
        Part of it that covers the transform's error.
    step : float
        Grid spacing; 0 if no grid was needed.
    """

    delta: float
    fft: float
    step: float


_NOTHING_SHOWN = LossBound(1.0, 0.0, 0.0)
#: Covers the rounding of a sum of total variation distances.
_SUMMED = 1.0 + 1e-9


def loss_bound(counts: Parts, epsilon: float, *, tail: float, coarsen: float = 1.0) -> LossBound:
    """Bound the delta of several releases at one epsilon >= 0, as a `LossBound`.

    `counts` are pairs (Event, int) of elementary events. A mass of at most `tail` is moved to an
    infinite loss. `coarsen` multiplies the grid spacing; the result is still a bound. It is at
    most the sum of the total variation distances of all pairs, which bounds delta at any epsilon.
    That sum is used at tiny sampling rates, where a grid fine enough for most losses cannot reach
    the largest.
    """
    laws = [(event.loss_law(), count) for event, count in counts]
    releases = sum(count for _, count in counts)
    apart = min(1.0, _SUMMED * sum(count * law.total_variation() for law, count in laws))
    least = LossBound(apart, 0.0, 0.0)
    try:
        with np.errstate(all="ignore"):
            bound = _bound(laws, releases, epsilon, tail / releases, coarsen)
    except ArithmeticError:
        return least
    return bound if bound.delta < apart else least


def _bound(laws: Sequence[tuple[LossLaw, int]], releases: int, epsilon: float, tail: float,
           coarsen: float) -> LossBound:
    largest = [law.largest_loss(tail) for law, _ in laws]
    reach = sum(loss * count for loss, (_, count) in zip(largest, laws, strict=True))
    if reach <= epsilon:
        # the total exceeds epsilon only if one loss exceeds its own largest value
        above = sum(count * law.mass_above(tail) for law, count in laws)
        return LossBound(min(1.0, _SUMMED * above), 0.0, 0.0)
    sketch = Sketch(laws, tail)
    theta = sketch.tilt(epsilon)
    mean, deviation = sketch.moments(theta)
    deviation = max(deviation, 1e-15 * reach)
    if not (math.isfinite(mean) and deviation < math.inf):
        return _NOTHING_SHOWN
    if theta == 0 and mean - 8 * deviation > epsilon:
        return _NOTHING_SHOWN
    step = max(sketch.step(epsilon, theta, deviation), max(largest) / _MOST_CELLS) * coarsen
    step = _aligned(step, epsilon)
    grids = tuple((law.grid(step, tail), n) for law, n in laws)
    if releases == 1:
        return LossBound(_delta_of_one(grids[0][0], epsilon), 0.0, step)
    total = _Total(step, releases, grids)
    delta, fft = total.delta(epsilon, theta, *sketch.window(theta, deviation))
    return LossBound(delta, fft, step)


def _delta_of_one(grid: LossGrid, epsilon: float) -> float:
    # all terms are positive, so that no tail is too small to be resolved
    size = len(grid.masses) // 2
    excess = grid.step * np.arange(-size, size + 1) - epsilon
    inside = float(grid.masses @ -np.expm1(-np.maximum(excess, 0.0)))
    return (inside + grid.infinite) * _SUMMED


def _aligned(step: float, epsilon: float) -> float:
    # chords touch the curve at grid points, so make epsilon a grid point where that costs little
    return epsilon / math.ceil(epsilon / step) if epsilon > step / 8 else step


@dataclass(frozen=True)
class _Total:
    """Releases on one grid: its spacing, their number, and (grid, count) per kind."""

    step: float
    releases: int
    grids: tuple[tuple[LossGrid, int], ...]

    def delta(self, epsilon: float, theta: float, bottom: float, top: float,
              theta_top: float) -> tuple[float, float]:
        """Return a bound on delta under tilt `theta`, and its part for the transform."""
        # Without any finite loss on the grid, only a delta of 1 is shown.
        if not all(grid.infinite < 1 for grid, _ in self.grids):
            return 1.0, 0.0
        infinite = -math.expm1(sum(count * math.log1p(-grid.infinite)
                                   for grid, count in self.grids))
        last = sum(count * (len(grid.masses) // 2) for grid, count in self.grids)
        first = max(-last, math.floor(bottom / self.step))
        if theta > 0:
            # else mass between epsilon and a window above it would wrap to a smaller weight
            first = min(first, math.floor(epsilon / self.step))
        stop = min(last, math.ceil(top / self.step))
        length = min(next_fast_len(max(stop - first + 1, 2), real=True), _LONGEST_TRANSFORM)
        stop = first + length - 1
        law, log_base = self._tilted_law(theta, first, length)
        base = float(np.exp(log_base - theta * epsilon))
        start = max(first, math.floor(epsilon / self.step))
        excess = self.step * np.arange(start, stop + 1) - epsilon
        weight = np.where(excess > 0, np.exp(-theta * excess) * -np.expm1(-excess), 0.0)
        inside = base * float(law[start - first:] @ weight)
        fft = base * self._transform_error(length) * float(np.linalg.norm(weight))
        above = 0.0
        if stop < last:
            above = float(np.exp(self._log_moment(theta_top) - theta_top * self.step * stop))
        return (inside + fft + above + infinite) * self._rounding(), fft

    def _rounding(self) -> float:
        return 1 + 1e-9 + 16 * _UNIT * self.releases

    def _transform_error(self, length: int) -> float:
        # l2 error of the law: the error of one transform times the number of factors
        return 8 * _UNIT * self.releases * math.log2(length + 1)

    def _log_moment(self, theta: float) -> float:
        return sum(count * _tilted(grid, theta)[1] for grid, count in self.grids)

    def _tilted_law(self, theta: float, first: int, length: int) -> tuple[FloatArray, float]:
        # distribution of the total loss at step * (first, ..., first + length - 1), aliased
        log_abs = np.zeros(length // 2 + 1)
        log_base, factors = 0.0, []
        for grid, count in self.grids:
            weights, log_sum = _tilted(grid, theta)
            log_base += count * log_sum
            transform = rfft(_wrapped(weights, length))
            log_one = np.log(np.abs(transform))
            log_abs += count * log_one
            factors.append((transform, log_one, count))
        total = np.zeros(length // 2 + 1, dtype=complex)
        # frequencies below e^-90 are negligible compared with the error that is added
        alive = ~(log_abs <= -90)
        phase = sum(count * np.angle(transform[alive]) for transform, _, count in factors)
        total[alive] = np.exp(log_abs[alive] + 1j * phase)
        law = np.roll(irfft(total, length), -(first % length))
        return np.maximum(law, 0.0), log_base


def _tilted(grid: LossGrid, theta: float) -> tuple[FloatArray, float]:
    size = len(grid.masses) // 2
    loss = grid.step * np.arange(-size, size + 1)
    peak = theta * loss[-1]
    weights = grid.masses * np.exp(theta * loss - peak)
    if not weights.any():
        return np.full_like(weights, np.nan), math.nan
    total = float(weights.sum())
    return weights / total, math.log(total) + peak


def _wrapped(weights: FloatArray, length: int) -> FloatArray:
    # index 0 of the result is a loss of 0; index j also holds the losses j + k * length
    size = len(weights) // 2
    start = -size % length
    padded = np.zeros(-(-(start + len(weights)) // length) * length)
    padded[start:start + len(weights)] = weights
    return padded.reshape(-1, length).sum(axis=0)
