r"""Privacy cost of the best of a random number of runs: see ``docs/theory/selection.md``.

With phi the generating function of the number K of runs, `T` the largest power of a test of one
run at level t, and (P, Q) a pair that dominates a run in both orders,

.. math:: \delta(\varepsilon) \le E_Q\, a\, H(l / a), \qquad
          H(r) = \max_t [r\, \varphi'(1 - t) - \varphi'(1 - T(t))]_+

where :math:`a = e^\varepsilon` and :math:`l = dP/dQ`. In a cell of t the first term is taken at
its left end and `T` at its right, so that `H` is the largest of finitely many lines, convex and
piecewise linear. Written by its corners :math:`r_k`, where its slope grows by :math:`c_k`,

.. math:: E_Q\, a\, H(l / a) = \sum_k c_k E_Q (l - a r_k)_+
          = \sum_k c_k\, \delta_{run}(\varepsilon + \log r_k) :

only the profile of one run is asked for, and no law of its loss.

References
----------
Papernot and Steinke, "Hyperparameter tuning with Renyi differential privacy", ICLR 2022.
Koskela, Redberg and Wang, "Privacy profiles for private selection", ICML 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from dpsk._privacy.closed_forms import ROUNDING, gaussian_deltas
from dpsk._privacy.pld.curves import LONGEST, convex_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._typing import FloatArray

__all__ = ["GaussianRun", "ProfileRun", "Run", "corners_of", "failure_rate", "selection_delta",
           "summed"]

#: Covers the rounding of corners and of the sum over them.
_ROUNDING = 1 + 1e-8
_REACH = 9.0
_FINENESS, _CORNER_FINENESS = 150, 50
_MOST_CELLS, _MOST_CORNERS = 60_000, 2000
_ONE_RUN = -1e-12
#: Above it the bound need not be convex in ``exp(epsilon)``, and chords may be below.
_LARGE_DELTA = 1e-3
_CHORDS = np.concatenate([[0.0], np.geomspace(1e-3, 12.0, 64)])


class Run(Protocol):
    """Difference between two runs."""

    @property
    def scale(self) -> float:
        """About the mu of a run."""

    def power(self, levels: FloatArray, deviates: FloatArray) -> FloatArray:
        """Upper bounds on the power of tests of these levels."""

    def deltas(self, losses: FloatArray) -> FloatArray:
        """Upper bounds on delta at losses of either sign."""

    def __hash__(self) -> int:
        """Return the key of results that are kept."""


@dataclass(frozen=True)
class GaussianRun:
    """A run that is mu-GDP."""

    mu: float

    @property
    def scale(self) -> float:
        """float : the mu, as a unit of levels in deviates."""
        return self.mu

    def power(self, levels: FloatArray, deviates: FloatArray) -> FloatArray:
        """Upper bounds on the power of tests of these levels, normal deviates as well."""
        return ndtr(deviates + self.mu)

    def deltas(self, losses: FloatArray) -> FloatArray:
        """Upper bounds on delta at losses of either sign."""
        return gaussian_deltas(self.mu, losses) * ROUNDING


class ProfileRun:
    """A run known by upper bounds on its profile, both directions together.

    Parameters
    ----------
    losses : ndarray
        Increasing from 0.
    deltas : ndarray
    """

    def __init__(self, losses: FloatArray, deltas: FloatArray) -> None:
        self._a, self._curve = convex_points(losses, deltas)
        with np.errstate(divide="ignore", invalid="ignore"):
            self._slopes = np.diff(self._curve) / np.diff(self._a)

    @cached_property
    def scale(self) -> float:
        """float : about the mu of a run that is as hard to tell apart at epsilon 0."""
        return 2.5 * float(self.deltas(np.zeros(1))[0])

    def power(self, levels: FloatArray, deviates: FloatArray) -> FloatArray:
        """Return the smallest of the lines ``a t + delta(a)``: that of the corner there."""
        corner = np.searchsorted(self._slopes, -levels)
        return np.minimum(1.0, (self._a[corner] * levels + self._curve[corner]) * ROUNDING)

    def deltas(self, losses: FloatArray) -> FloatArray:
        """Upper bounds on delta at losses of either sign: chords."""
        return np.interp(np.exp(losses), self._a, self._curve) * ROUNDING


def selection_delta(run: Run, mean_runs: float, shape: float, epsilon: float) -> float:
    """Upper bound on the delta at `epsilon` >= 0 of the best of runs, never above 1."""
    corners = corners_of(run, float(mean_runs), float(shape))
    with np.errstate(all="ignore"):
        (total,) = summed(run, *corners, np.array([epsilon]))
        if total > _LARGE_DELTA and epsilon < LONGEST:
            total = _least_chord(epsilon, epsilon + min(run.scale, 5.0) * _CHORDS,
                                 partial(summed, run, *corners))
    return min(1.0, float(total)) if math.isfinite(total) else 1.0


def summed(run: Run, shifts: FloatArray, weights: FloatArray, losses: FloatArray) -> FloatArray:
    """Return the sum over corners at every loss, rounded up, at most 1."""
    sums = run.deltas((losses[:, None] + shifts).ravel()).reshape(len(losses), -1) @ weights
    return np.where(np.isfinite(sums), np.minimum(sums * _ROUNDING, 1.0), 1.0)


def _least_chord(epsilon: float, losses: FloatArray,
                 curve: Callable[[FloatArray], FloatArray]) -> float:
    """Return the least at `epsilon` of chords from points of a curve to their mirror images."""
    losses = losses[losses < LONGEST]
    a, x, y = math.exp(epsilon), np.exp(losses), curve(losses)
    left = np.exp(-losses)
    mirrored = 1 - left * (1 - y)
    chords = mirrored + (a - left) / (x - left) * (y - mirrored)
    return np.nanmin(np.append(chords, 1.0)) * ROUNDING


@lru_cache(maxsize=512)
def corners_of(run: Run, mean_runs: float, shape: float) -> tuple[FloatArray, FloatArray]:
    """Return log r_k and c_k for a law of the number of runs."""
    gamma = failure_rate(mean_runs, shape)
    scale = min(1.0, max(run.scale, 1e-6))
    low, high = -(_REACH + min(run.scale, 30.0)), _REACH
    cells = min(_MOST_CELLS, math.ceil((high - low) * _FINENESS / scale))
    deviates = np.linspace(low, high, cells + 1)
    levels = ndtr(deviates)

    def derivative(level: FloatArray) -> FloatArray:
        # phi' at one less
        return mean_runs * (gamma / (gamma + (1 - gamma) * level)) ** (shape + 1)

    with np.errstate(all="ignore"):
        power = np.append(run.power(levels, deviates) * ROUNDING, 1.0)
        lines = (derivative(np.append(0.0, levels) / ROUNDING),
                 derivative(np.minimum(power, 1.0)))
    return _corners(*lines, scale)


def _corners(rises: FloatArray, falls: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """Return the corners of the largest of 0 and the lines ``rises r - falls``."""
    slopes, starts, at = [0.0], [0.0], [0.0]
    # From the flattest line to the steepest: an upper envelope.
    for rise, fall in zip(rises[::-1].tolist(), falls[::-1].tolist(), strict=True):
        if rise <= slopes[-1]:
            # No steeper: the smaller fall wins.
            if fall >= starts[-1]:
                continue
            slopes.pop(), starts.pop(), at.pop()
        crossing = (fall - starts[-1]) / (rise - slopes[-1])
        while len(slopes) > 1 and crossing <= at[-1]:
            slopes.pop(), starts.pop(), at.pop()
            crossing = (fall - starts[-1]) / (rise - slopes[-1])
        slopes.append(rise)
        starts.append(fall)
        at.append(crossing)
    steepness, depth, corners = map(np.array, (slopes, starts, at))
    first, last = corners[1], max(corners[-1], corners[1] * (1 + 1e-9))
    count = min(_MOST_CORNERS, 2 + math.ceil(math.log(last / first) * _CORNER_FINENESS / scale))
    # Chords between nodes lie above, and the first corner stays where it is.
    nodes = first * np.exp(np.linspace(0.0, math.log(last / first), count))
    line = np.searchsorted(corners, nodes, "right") - 1
    values = steepness[line] * nodes - depth[line]
    values[0] = 0.0
    chords = np.append(np.diff(np.maximum(values, 0.0)) / np.diff(nodes), slopes[-1])
    return np.log(nodes), np.maximum(np.diff(chords, prepend=0.0), 0.0)


@lru_cache(maxsize=256)
def failure_rate(mean_runs: float, shape: float) -> float:
    """Return the gamma of the law of the number of runs: that of a geometric one is 1 / mean."""
    if shape == 1 or mean_runs == 1:
        return 1.0 / mean_runs

    def excess(log_gamma: float) -> float:
        ratio = shape * math.expm1(log_gamma) / math.expm1(shape * log_gamma)
        return math.log(ratio) - log_gamma - math.log(mean_runs)

    # So close to 1 that there is one run.
    if excess(_ONE_RUN) >= 0:
        return 1.0
    return math.exp(brentq(excess, -60.0, _ONE_RUN, xtol=1e-15))
