r"""Closed forms: privacy costs of common mechanisms.

**Gaussian.** A release that is :math:`\mu`-GDP satisfies, exactly and tightly,

.. math:: \delta(\varepsilon) = \Phi(a) - e^{\varepsilon} \Phi(b), \qquad
          a = -\varepsilon/\mu + \mu/2, \quad b = -\varepsilon/\mu - \mu/2 .

Since :math:`e^{\varepsilon} \varphi(b) = \varphi(a)`, both terms share the factor
:math:`\varphi(a)` and the difference is one of Mills ratios: nothing overflows, and the
logarithm stays accurate far below the smallest double (Balle and Wang 2018, Theorem 8; Dong, Roth
and Su 2022, Corollary 1).

**Pure.** For T releases with loss at most :math:`\varepsilon_0`, the tightest bound without
further knowledge is that of randomized response (Kairouz, Oh and Viswanath 2015, Theorem 3.3):

.. math:: \delta(\varepsilon) = \sum_k \binom{T}{k}
          \frac{[e^{(T-k)\varepsilon_0} - e^{\varepsilon + k \varepsilon_0}]_+}
               {(1 + e^{\varepsilon_0})^T} .

**Bounded range.** The exponential mechanism at :math:`\varepsilon_0` is the same as choosing the
largest score after adding Gumbel noise. Its loss is in an interval :math:`[t - \varepsilon_0, t]`,
whose position t depends on the pair of data sets (Durfee and Rogers 2019; Dong, Durfee and Rogers
2020). The worst-case loss takes only the two end points: an event has probability :math:`a` on one
data set and :math:`b` on the other, with :math:`\mathrm{logit}\, b = \mathrm{logit}\, a -
\varepsilon_0`. The trade-off curve of this pair has one vertex. It therefore lies above that of
N(0, 1) against N(mu, 1) exactly if :math:`\mu \ge \Phi^{-1}(a) - \Phi^{-1}(b) = h(x) - h(x -
\varepsilon_0)` with :math:`x = \mathrm{logit}\, a`, :math:`h = \Phi^{-1} \circ \mathrm{expit}`.

The right side is largest at :math:`x = \varepsilon_0 / 2`. Since `h` is odd, it suffices that
:math:`h'` decreases in :math:`|x|`. With :math:`y = h(x) > 0`, :math:`h' = \Phi (1 - \Phi) /
\varphi` decreases exactly if :math:`G(y) = y \Phi (1 - \Phi) + \varphi (1 - 2 \Phi) < 0`. Its
derivatives are :math:`G' = \Phi (1 - \Phi) - 2 \varphi^2` and :math:`G'' = \varphi (1 - 2 \Phi + 4
y \varphi)`. The bracket in :math:`G''` is 0 at 0, rises up to :math:`y = 1 / \sqrt 2` and falls to
-1 beyond. So :math:`G'` rises from :math:`1/4 - 1/\pi < 0`, then falls to its limit 0: it is
negative, then positive. Hence `G` falls from 0, then rises to its limit 0, and is negative.

**Dominated.** Let the loss be at most :math:`U = K + c \rho`, where rho is a Rayleigh variable of
density :math:`\rho e^{-\rho^2/2}` under the data set from which the output is drawn. Then
:math:`\delta(\varepsilon) \le E (1 - e^{\varepsilon - U})_+`. Integration by parts, with
:math:`r = (\varepsilon - K)/c \ge 0`, gives

.. math:: E (1 - e^{\varepsilon - U})_+ = c \int_r^\infty e^{c (r - \rho) - \rho^2/2} d\rho
          = c \sqrt{2\pi}\, e^{c r + c^2/2}\, \Phi(-(r + c)) .

**Rounding.** `ROUNDING` covers the error of the special functions and moves every bound to the
private side. Sums of many terms have a larger factor, which grows with their number.
`gaussian_delta` has no factor, since it is also solved for; its event applies the factor.

Here mu >= 0 is the distance of two unit normals, epsilon >= 0 is a loss, delta is a probability.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf, erfcx, erfinv, expit, log_ndtr, ndtr, ndtri

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["ROUNDING", "bounded_range_epsilon", "bounded_range_mu", "bounded_range_width",
           "dominated_delta", "gaussian_delta", "gaussian_deltas", "gaussian_epsilon",
           "gaussian_log_delta", "gaussian_mu", "pure_delta", "rounded_up"]

#: Covers the rounding of the special functions.
ROUNDING = 1 + 1e-11
_SUM_ROUNDING = 1 + 1e-10

_SQRT2 = math.sqrt(2.0)
_SQRT_HALF_PI = math.sqrt(math.pi / 2)
_LOG_SQRT_2PI = math.log(2 * math.pi) / 2
_SMALL_MU = 0.01
_UNDERFLOW = -40.0
#: Squares of a mu above this may overflow.
_LONG_MU = 1e100
#: Width of a loss range from which a bound replaces the exact mu.
_LONG_RANGE = 1000.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2


def gaussian_log_delta(mu: float, epsilon: float) -> float:
    """Return the log of the least delta of a mu-GDP release; ``-inf`` at ``mu = 0``.

    The relative error of delta is below 1e-11; below the smallest double it is an upper bound.
    """
    if mu == 0:
        return -math.inf
    a, b = _places(mu, epsilon)
    if math.isinf(a) and a > 0:
        return 0.0
    if a < _UNDERFLOW:
        return -a * a / 2 - math.log(2)
    if mu < _SMALL_MU:
        # The difference of nearby Mills ratios R is the integral of -R' = 1 - x R > 0.
        x = -a + mu * _NODES
        drop = mu * float(_WEIGHTS @ (1 - x * _SQRT_HALF_PI * erfcx(x / _SQRT2)))
        # If rounding makes the drop 0, mu bounds it, as the integrand is at most 1.
        return -a * a / 2 - _LOG_SQRT_2PI + math.log(drop or mu)
    if a <= 0:
        gap = float(erfcx(-a / _SQRT2)) - float(erfcx(-b / _SQRT2))
        return -a * a / 2 + math.log(gap / 2)
    return math.log(float(ndtr(a)) - math.exp(-a * a / 2) * float(erfcx(-b / _SQRT2)) / 2)


def _places(mu: float, epsilon: Any) -> tuple[Any, Any]:
    """Return a and b of the module docstring, with a accurate under cancellation."""
    ratio = epsilon / mu
    if not 1.0 < mu < _LONG_MU:
        return mu / 2 - ratio, -mu / 2 - ratio
    # a = (mu^2 - 2 epsilon) / (2 mu), with the square in two doubles (Dekker 1971).
    split = 134217729.0 * mu
    high = split - (split - mu)
    low, square = mu - high, mu * mu
    error = ((high * high - square) + 2.0 * high * low) + low * low
    return ((square - 2.0 * epsilon) + error) / (2.0 * mu), -mu / 2 - ratio


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the smallest delta at `epsilon` of a mu-GDP release, in [0, 1]."""
    return min(1.0, math.exp(gaussian_log_delta(mu, epsilon)))


def gaussian_deltas(mu: float, losses: FloatArray) -> FloatArray:
    """Return the smallest deltas of a mu-GDP release at losses of either sign, mu > 0.

    Relative errors are below 1e-11. Deltas at negative losses follow from the reversed pair.
    """
    epsilon = np.abs(losses)
    a, b = _places(mu, epsilon)
    if mu < _SMALL_MU:
        x = -a[:, None] + mu * _NODES
        tail = mu * ((1 - x * _SQRT_HALF_PI * erfcx(x / _SQRT2)) @ _WEIGHTS)
        above = np.exp(-a * a / 2 - _LOG_SQRT_2PI) * tail
    else:
        far = np.exp(-a * a / 2) * (erfcx(-a / _SQRT2) - erfcx(-b / _SQRT2)) / 2
        near = ndtr(a) - np.exp(-a * a / 2) * erfcx(-b / _SQRT2) / 2
        above = np.where(a <= 0, far, near)
    return np.where(losses >= 0, above, -np.expm1(-epsilon) + np.exp(-epsilon) * above)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon at `delta` of a mu-GDP release, rounded up by 1e-12.

    Infinite for ``delta = 0`` unless ``mu = 0``.
    """
    if mu == 0 or delta >= 1:
        return 0.0
    if delta <= 0:
        return math.inf
    target = math.log(delta)
    if gaussian_log_delta(mu, 0.0) <= target:
        return 0.0
    # the normal tail is below exp(-x^2/2), so this end satisfies delta
    high = mu * mu / 2 + mu * math.sqrt(-2 * target)
    if math.isinf(high):
        return high
    root = brentq(lambda e: gaussian_log_delta(mu, e) - target, 0.0, high, xtol=1e-13 * mu,
                  rtol=1e-13)
    return _pushed(root, lambda e: gaussian_log_delta(mu, e) <= target, 1e-13 * max(root, mu))


@lru_cache(maxsize=256)
def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu within (`epsilon`, `delta`), rounded down by about 1e-12.

    It is infinite at an infinite epsilon, which means no budget.
    """
    if epsilon == math.inf:
        return math.inf
    target = math.log(delta)
    tail = math.sqrt(-2 * target)
    # Both values are private: by the normal tail, and by delta(epsilon) <= delta(0).
    low = max(2 * epsilon / (math.sqrt(tail**2 + 2 * epsilon) + tail),
              math.sqrt(2 * math.pi) * delta * (1 - 1e-12))
    high = 2 * low
    while gaussian_log_delta(high, epsilon) <= target:
        low, high = high, 2 * high
    root = low * math.exp(brentq(lambda s: gaussian_log_delta(low * math.exp(s), epsilon) - target,
                                 0.0, math.log(high / low), xtol=1e-14, rtol=1e-13))
    return _pushed(root, lambda m: gaussian_log_delta(m, epsilon) <= target, -1e-13 * root)


def _pushed(root: float, passes: Callable[[float], bool], step: float) -> float:
    value = root
    while not passes(value):
        value = root + step
        step *= 2
    return value


def rounded_up(number: Fraction | int) -> float:
    """Return the smallest double that is at least a number >= 0; infinite beyond all."""
    if number > sys.float_info.max:
        return math.inf
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def pure_delta(epsilon0: float, count: int, epsilon: float) -> float:
    """Bound the delta of `count` releases of loss at most `epsilon0`; see the module."""
    if Fraction(epsilon0) * count <= epsilon:
        return 0.0
    flips = np.arange(count + 1)
    # Next to epsilon, the rounding of a loss may be all of its excess.
    losses = np.nextafter((count - 2 * flips) * epsilon0, np.inf)
    above = losses > epsilon
    total = _binomial(count, epsilon0)[above] @ -np.expm1(epsilon - losses[above])
    return min(1.0, float(total) * (_SUM_ROUNDING + 2.0**-49 * count))


def _binomial(count: int, epsilon0: float) -> FloatArray:
    # P(k flips), with flip probability 1/(1 + e^epsilon0). Summing log-ratios away from the
    # mode keeps the relative error of every term at rounding level; then normalize to one.
    k = np.arange(count)
    ratios = np.log((count - k) / (k + 1.0)) - epsilon0
    mode = int(np.searchsorted(-ratios, 0.0))
    logs = np.concatenate([-np.cumsum(ratios[:mode][::-1])[::-1], [0.0],
                           np.cumsum(ratios[mode:])])
    masses = np.exp(logs)
    return masses / masses.sum()


def bounded_range_mu(epsilon: float) -> float:
    r"""Return the mu of one bounded-range choice, rounded up.

    It is :math:`2 \Phi^{-1}(1 / (1 + e^{-\varepsilon_0 / 2}))`, where :math:`\varepsilon_0 > 0`
    (`epsilon`) is the width of the loss range: about 0.627 times `epsilon` if that is small.

    Examples
    --------
    >>> round(bounded_range_mu(0.1), 5)
    0.06266
    """
    if epsilon < 1.0:
        # Near one half the inverse distribution function would lose digits.
        half = math.sqrt(2.0) * erfinv(math.tanh(0.25 * epsilon))
    elif epsilon < _LONG_RANGE:
        half = -ndtri(expit(-0.5 * epsilon))
    else:
        # The Chernoff bound on the normal tail, where the tail itself underflows.
        half = math.sqrt(epsilon)
    return 2.0 * float(half) * ROUNDING


def bounded_range_epsilon(mu: float) -> float:
    r"""Return the width of the loss range that costs `mu`.

    It is :math:`2 \log (\Phi(\mu / 2) / \Phi(-\mu / 2))`. If this is large, it is the inverse of
    the bound in `bounded_range_mu`.
    """
    if mu < 1.0:
        # Near one half the logarithms would cancel.
        return 4.0 * math.atanh(erf(mu / math.sqrt(8.0)))
    exact = 2.0 * float(log_ndtr(0.5 * mu) - log_ndtr(-0.5 * mu))
    return exact if exact < _LONG_RANGE else max(_LONG_RANGE * (1.0 - 1e-12), 0.25 * mu * mu)


def bounded_range_width(mu: float) -> float:
    """Return the width of the loss range that costs `mu`, rounded down.

    Examples
    --------
    >>> bounded_range_mu(bounded_range_width(0.5)) <= 0.5
    True
    """
    return bounded_range_epsilon(mu / ROUNDING) / ROUNDING


def dominated_delta(offset: float, slope: float, epsilon: float) -> float:
    """Return a bound on delta for a loss of at most K (`offset`) + c (`slope`) rho."""
    from_edge = (epsilon - offset) / slope
    start = max(from_edge, 0.0)
    above = slope * _mills(start + slope) * math.exp(-0.5 * start * start)
    if from_edge < 0:
        # All values of K + c rho exceed epsilon: 1 - e^(epsilon - K) E e^(-c rho).
        gap = epsilon - offset
        above = -math.expm1(gap) + math.exp(gap) * above
    return min(1.0, above * ROUNDING)


def _mills(x: float) -> float:
    """``sqrt(2 pi) e^(x^2/2) Phi(-x)``."""
    return _SQRT_HALF_PI * float(erfcx(x / _SQRT2))
