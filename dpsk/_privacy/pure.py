r"""Releases whose privacy loss is bounded: basic and optimal composition.

Of `count` releases with loss at most :math:`\varepsilon_0`, the tightest bound that knows
nothing else is that of randomised response:

.. math:: \delta(\varepsilon) = \sum_k \binom{T}{k}
          \frac{[e^{(T-k)\varepsilon_0} - e^{\varepsilon + k \varepsilon_0}]_+}
               {(1 + e^{\varepsilon_0})^T} .

References
----------
Kairouz, Oh and Viswanath, "The composition theorem for differential privacy",
ICML 2015, Theorem 3.3.
"""

import math

import numpy as np

__all__ = ["basic_epsilon", "optimal_delta"]


def basic_epsilon(counts):
    """Sum of the losses, a bound with delta = 0.

    Parameters
    ----------
    counts : iterable of (Pure, int)
        Releases and how often each is made.

    Returns
    -------
    float
        ``sum(count * epsilon)``.
    """
    return math.fsum(event.epsilon * count for event, count in counts)


def optimal_delta(epsilon0, count, epsilon):
    """Upper bound on delta for `count` releases of loss at most `epsilon0`.

    Parameters
    ----------
    epsilon0 : float
        Loss of one release, >= 0.
    count : int
        Number of releases, >= 0.
    epsilon : float
        Privacy loss of the whole, >= 0.

    Returns
    -------
    float
        The formula of the module, times a factor that covers rounding.
    """
    if count * epsilon0 <= epsilon:
        return 0.0
    flips = np.arange(count + 1)
    losses = (count - 2 * flips) * epsilon0
    above = losses > epsilon
    total = _binomial(count, epsilon0)[above] @ -np.expm1(epsilon - losses[above])
    return min(1.0, float(total) * (1 + 1e-10 + 2.0**-49 * count))


def _binomial(count, epsilon0):
    # P(k flips), flip probability 1/(1 + e^epsilon0); log-ratios summed away from the
    # mode keep the relative error of every term at rounding level, then the sum is one
    k = np.arange(count)
    ratios = np.log((count - k) / (k + 1.0)) - epsilon0
    mode = int(np.searchsorted(-ratios, 0.0))
    logs = np.concatenate([-np.cumsum(ratios[:mode][::-1])[::-1], [0.0],
                           np.cumsum(ratios[mode:])])
    masses = np.exp(logs)
    return masses / masses.sum()
