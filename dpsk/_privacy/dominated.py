r"""Releases whose privacy loss is at most ``K + c Rho`` with a Rayleigh variable Rho.

With the loss bounded by :math:`U = K + c \rho` under the data set that it is taken of,
:math:`\delta(\varepsilon) \le E (1 - e^{\varepsilon - U})_+`. The density of Rho is
:math:`\rho e^{-\rho^2/2}`; by parts, with :math:`r = (\varepsilon - K)/c \ge 0`,

.. math:: E (1 - e^{\varepsilon - U})_+ = c \int_r^\infty e^{c (r - \rho) - \rho^2/2} d\rho
          = c \sqrt{2\pi}\, e^{c r + c^2/2}\, \Phi(-(r + c)) .
"""

import math

from scipy.special import erfcx

__all__ = ["delta"]

_ROUNDING = 1 + 1e-11


def delta(offset, slope, epsilon):
    """Upper bound on delta for one release of loss at most ``offset + slope Rho``.

    Parameters
    ----------
    offset : float
        K, >= 0.
    slope : float
        c, > 0.
    epsilon : float
        Privacy loss, >= 0.

    Returns
    -------
    float
        The formula of the module, times a factor that covers rounding.
    """
    from_edge = (epsilon - offset) / slope
    start = max(from_edge, 0.0)
    above = slope * _mills(start + slope) * math.exp(-0.5 * start**2)
    if from_edge < 0:
        # Every loss exceeds epsilon: 1 - e^(epsilon - K) E e^(-c Rho).
        gap = epsilon - offset
        above = -math.expm1(gap) + math.exp(gap) * above
    return min(1.0, above * _ROUNDING)


def _mills(x):
    """``sqrt(2 pi) e^(x^2/2) Phi(-x)``."""
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))
