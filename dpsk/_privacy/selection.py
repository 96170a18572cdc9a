r"""Privacy cost of private selection, the best of a random number of runs.

See ``docs/theory/selection.md``. Let phi be the probability generating function of the number of
runs and :math:`w(t) = \varphi'(1 - t)`. Let T(t) be the largest power of a test of one run at
level t, and G its inverse. Then

.. math:: \delta(\varepsilon) = \int_0^1 \max_{0 \le C \le 1 - A}
          \left[w(A + C) - e^\varepsilon G'(A)\, w(G(A) + T(C))\right]_+ dA

bounds the delta of the best of the runs, whatever their scores are. As long as the maximizing C
grows with A, some scores reach the bound.

T is replaced by a polygon above it, the minimum of finitely many of its tangents, and G by the
inverse of the polygon. A rectangle is the product of one edge for A and one for C. On it all
arguments of w are linear. Let :math:`\kappa` be the largest :math:`A + C - G - T` there. Second
derivatives along an edge of slope s are at least :math:`w''(A + C) (1 - e^\varepsilon G' s^2
\rho)`. Here :math:`\rho = w''(A + C - \kappa) / w''(A + C)` is largest at the lower corner if
:math:`\kappa > 0`, and else at the upper one. A function exceeds its chord by at most an eighth of
the squared length times the negative of such a bound. So the values at the corners plus this
excess bound the integrand on the rectangle.

References
----------
Papernot and Steinke, "Hyperparameter tuning with Renyi differential privacy", ICLR 2022.
Koskela, Redberg and Wang, "Privacy profiles for private selection", ICML 2024.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from dpsk._privacy.closed_forms import ROUNDING, gaussian_deltas
from dpsk._privacy.pld.curves import LONGEST, convex_points

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["Run", "failure_rate", "gaussian_run", "selection_deltas"]

#: Cover the rounding of vertices, of differences at corners, and of the sum over them.
_VERTEX_ROUNDING, _CORNER_ROUNDING, _SUM_ROUNDING = 1 + 1e-10, 1 + 1e-14, 1 + 1e-9
#: Normal deviates of extra levels for the chords of w, which need no corner nearer than `_CLOSE`.
_DEVIATES, _CLOSE = np.linspace(-11.0, 9.0, 401), 0.03
#: Tangents of a Gaussian run: reach in deviates, least and most number, largest step of losses.
_REACH, _TANGENTS, _MOST_TANGENTS, _LOSS_STEP = 11.0, 220, 600, 0.25
_ONE_RUN = -1e-12


class Run:
    """One run, given by upper bounds on its privacy profile in both directions.

    Parameters
    ----------
    losses : ndarray
        Increasing from 0.
    deltas : ndarray
        Upper bounds on delta at these losses.
    """

    def __init__(self, losses: FloatArray, deltas: FloatArray) -> None:
        self._a, self._curve = convex_points(losses, deltas)

    @cached_property
    def vertices(self) -> tuple[FloatArray, FloatArray]:
        """(ndarray, ndarray) : levels and powers of a polygon above the power of tests."""
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.diff(self._curve) / np.diff(self._a)
        # Neighboring tangents meet at these levels; each level in between is on one of the two.
        corners = np.clip(-slopes[::-1], 0.0, 1.0)
        # Extra levels only refine the chords of w where corners are far apart.
        near = [np.searchsorted(corners, ndtr(_DEVIATES + side)) for side in (-_CLOSE, _CLOSE)]
        levels = np.unique(np.concatenate([[0.0, 1.0], corners,
                                           ndtr(_DEVIATES[near[0] == near[1]])]))
        line = np.searchsorted(slopes, -levels)
        powers = (self._a[line] * levels + self._curve[line]) * _VERTEX_ROUNDING
        powers[-1] = 1.0
        return levels, np.maximum.accumulate(np.minimum(powers, 1.0))


@lru_cache(maxsize=8)
def gaussian_run(mu: float) -> Run:
    """Return the `Run` of a mu-GDP release."""
    reach = _REACH + min(mu, 30.0)
    count = min(_MOST_TANGENTS, math.ceil(max(_TANGENTS, mu * reach / _LOSS_STEP)))
    losses = mu * (reach + 0.5 * mu) * np.linspace(0.0, 1.0, count)
    return Run(losses, gaussian_deltas(mu, losses) * ROUNDING)


def selection_deltas(run: Run, mean_runs: float, shape: float, losses: FloatArray) -> FloatArray:
    """Return upper bounds, in [0, 1], on delta of the best run at losses >= 0."""
    with np.errstate(all="ignore"):
        rectangles = _rectangles(run, float(mean_runs), float(shape))
        sums = np.array([rectangles.integral(math.exp(min(loss, LONGEST)))
                         for loss in losses.tolist()])
    return np.where(np.isfinite(sums), np.minimum(sums * _SUM_ROUNDING, 1.0), 1.0)


class _Rectangles:
    """Bounds on the integrand over rectangles, for every loss.

    Parameters
    ----------
    levels, powers : ndarray of shape (k,)
        Vertices of a polygon above the power of tests of one run.
    mean_runs, shape : float
        Parameters of the distribution of the number of runs.
    """

    def __init__(self, levels: FloatArray, powers: FloatArray, mean_runs: float,
                 shape: float) -> None:
        gamma = failure_rate(mean_runs, shape)
        # A is a power, and G(A) the level that has it; C is a level, and T(C) its power.
        self._widths, rises = np.diff(powers), np.diff(levels)
        # An edge of constant power has width 0 in A and contributes nothing.
        self._slopes = np.where(self._widths > 0, rises / self._widths, 0.0)[:, None]
        lower = powers[:-1, None] + levels[:-1]
        gaps = powers - levels
        ahead = (np.maximum(gaps[:-1], gaps[1:])[:, None] - np.minimum(gaps[:-1], gaps[1:]))
        at = gamma + (1.0 - gamma) * lower
        # The ratio decreases in A + C where kappa is positive, and else increases.
        there = np.where(ahead > 0, lower, powers[1:, None] + levels[1:])
        ratio = (gamma + (1.0 - gamma) * there) / (
            gamma + (1.0 - gamma) * np.maximum(there - ahead, 0.0))
        bend = (mean_runs * (shape + 1.0) * (shape + 2.0) * ((1.0 - gamma) / gamma) ** 2
                * (gamma / at) ** (shape + 3.0))
        self._ratio = ratio ** (shape + 3.0)
        # Where A + C - kappa may be 0, the ratio increases with A + C, and the 1 is left out.
        self._one = np.where(lower >= ahead, 1.0, 0.0)
        self._bends = [(bend * rises**2 / 8.0, self._slopes * (self._widths / rises)**2),
                       (bend * self._widths[:, None]**2 / 8.0, self._slopes**3)]
        self._outside = lower > 1.0

        def law(levels: FloatArray) -> FloatArray:
            return mean_runs * (gamma / (gamma + (1.0 - gamma) * levels)) ** (shape + 1.0)

        self._first = law(powers[:, None] + levels) * _CORNER_ROUNDING
        self._second = law(levels[:, None] + powers)
        #: Bound for the powers that are reached at level 0: they count with their full weight.
        self._alone = mean_runs * float(powers[0])

    def integral(self, a: float) -> float:
        """Return an upper bound on the integral at a loss of ``log a``."""
        added = sum(part * np.maximum(a * squares * self._ratio - self._one, 0.0)
                    for part, squares in self._bends)
        added[self._outside] = -np.inf
        total = self._alone
        for rows in (slice(None, -1), slice(1, None)):
            values = self._first[rows] - a * self._slopes * self._second[rows]
            most = (np.maximum(values[:, :-1], values[:, 1:]) + added).max(axis=1)
            total += 0.5 * float(self._widths @ np.maximum(most, 0.0))
        return total


@lru_cache(maxsize=4)
def _rectangles(run: Run, mean_runs: float, shape: float) -> _Rectangles:
    return _Rectangles(*run.vertices, mean_runs, shape)


@lru_cache(maxsize=256)
def failure_rate(mean_runs: float, shape: float) -> float:
    """Return the gamma of the number of runs: 1 / mean for a geometric distribution."""
    if shape == 1 or mean_runs == 1:
        return 1.0 / mean_runs

    def excess(log_gamma: float) -> float:
        ratio = shape * math.expm1(log_gamma) / math.expm1(shape * log_gamma)
        return math.log(ratio) - log_gamma - math.log(mean_runs)

    # Gamma is so close to 1 that there is one run.
    if excess(_ONE_RUN) >= 0:
        return 1.0
    return math.exp(brentq(excess, -60.0, _ONE_RUN, xtol=1e-15))
