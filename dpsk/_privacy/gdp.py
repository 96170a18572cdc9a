r"""Closed forms for the Gaussian mechanism.

A release that is :math:`\mu`-GDP satisfies, exactly and tightly,

.. math:: \delta(\varepsilon) = \Phi(a) - e^{\varepsilon} \Phi(b), \qquad
          a = -\varepsilon/\mu + \mu/2, \quad b = -\varepsilon/\mu - \mu/2 .

Since :math:`e^{\varepsilon} \varphi(b) = \varphi(a)`, both terms share the factor
:math:`\varphi(a)` and the difference is one of Mills ratios: nothing overflows, and the
logarithm stays exact far below the smallest double.

References
----------
Balle and Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018,
Theorem 8. Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022, Corollary 1.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

__all__ = ["delta", "epsilon", "log_delta", "mu"]

_SQRT2 = math.sqrt(2.0)
_SQRT_HALF_PI = math.sqrt(math.pi / 2)
_LOG_SQRT_2PI = math.log(2 * math.pi) / 2
_SMALL_MU = 0.01
_UNDERFLOW = -40.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2


def log_delta(mu, epsilon):
    r"""Natural logarithm of the smallest delta of a mu-GDP release.

    Parameters
    ----------
    mu : float
        Separation of the two unit normals, >= 0.
    epsilon : float
        Privacy loss, >= 0.

    Returns
    -------
    float
        :math:`\log(\Phi(a) - e^\varepsilon \Phi(b))`; ``-inf`` at ``mu = 0``. The relative
        error of delta is below 1e-11; where delta is below the smallest double, an upper
        bound.
    """
    if mu == 0:
        return -math.inf
    ratio = epsilon / mu
    a, b = mu / 2 - ratio, -mu / 2 - ratio
    if math.isinf(a) and a > 0:
        return 0.0
    if a < _UNDERFLOW:
        return -a * a / 2 - math.log(2)
    if mu < _SMALL_MU:
        # a difference of nearby Mills ratios R, as the integral of -R' = 1 - x R > 0
        x = -a + mu * _NODES
        drop = mu * float(_WEIGHTS @ (1 - x * _SQRT_HALF_PI * erfcx(x / _SQRT2)))
        return -a * a / 2 - _LOG_SQRT_2PI + math.log(drop)
    if a <= 0:
        gap = float(erfcx(-a / _SQRT2)) - float(erfcx(-b / _SQRT2))
        return -a * a / 2 + math.log(gap / 2)
    value = math.exp(log_ndtr(a)) - math.exp(epsilon + float(log_ndtr(b)))
    return math.log(value)


def delta(mu, epsilon):
    """Smallest delta at `epsilon` of a release that is mu-GDP.

    Parameters
    ----------
    mu : float
        Separation of the two unit normals, >= 0.
    epsilon : float
        Privacy loss, >= 0.

    Returns
    -------
    float
        In [0, 1].
    """
    return min(1.0, math.exp(log_delta(mu, epsilon)))


def epsilon(mu, delta):
    """Smallest epsilon at `delta` of a release that is mu-GDP, rounded up.

    Parameters
    ----------
    mu : float
        Separation of the two unit normals, >= 0.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        Relative excess at most about 1e-12; ``inf`` for ``delta = 0`` unless ``mu = 0``.
    """
    if mu == 0 or delta >= 1:
        return 0.0
    if delta <= 0:
        return math.inf
    target = math.log(delta)
    if log_delta(mu, 0.0) <= target:
        return 0.0
    # the normal tail is below exp(-x^2/2), so this end satisfies delta
    high = mu * mu / 2 + mu * math.sqrt(-2 * target)
    if math.isinf(high):
        return high
    root = brentq(lambda e: log_delta(mu, e) - target, 0.0, high, xtol=1e-13 * mu, rtol=1e-13)
    return _pushed(root, lambda e: log_delta(mu, e) <= target, 1e-13 * max(root, mu))


def mu(epsilon, delta):
    """Largest mu whose release satisfies (`epsilon`, `delta`), rounded down.

    Parameters
    ----------
    epsilon : float
        Privacy loss, >= 0.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        Relative shortfall at most about 1e-12.
    """
    target = math.log(delta)
    tail = math.sqrt(-2 * target)
    # both are private: by the normal tail, and by delta(epsilon) <= delta(0)
    low = max(2 * epsilon / (math.sqrt(tail**2 + 2 * epsilon) + tail),
              math.sqrt(2 * math.pi) * delta * (1 - 1e-12))
    high = 2 * low
    while log_delta(high, epsilon) <= target:
        low, high = high, 2 * high
    root = low * math.exp(brentq(lambda s: log_delta(low * math.exp(s), epsilon) - target,
                                 0.0, math.log(high / low), xtol=1e-14, rtol=1e-13))
    return _pushed(root, lambda m: log_delta(m, epsilon) <= target, -1e-13 * root)


def _pushed(root, passes, step):
    value = root
    while not passes(value):
        value = root + step
        step *= 2
    return value
