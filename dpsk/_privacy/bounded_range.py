r"""What a choice with a privacy loss of bounded range costs.

The exponential mechanism at :math:`\varepsilon_0`, and equally the largest of scores with
Gumbel noise, has a loss in an interval :math:`[t - \varepsilon_0, t]` whose place t depends on
the pair of data sets. The worst loss takes the two ends only: an event has probability
:math:`a` on one data set and :math:`b` on the other, with :math:`\mathrm{logit}\, b =
\mathrm{logit}\, a - \varepsilon_0`. Its trade-off curve has one vertex, so it lies above that of
N(0, 1) against N(mu, 1) exactly if :math:`\mu \ge \Phi^{-1}(a) - \Phi^{-1}(b) = h(x) - h(x -
\varepsilon_0)` with :math:`x = \mathrm{logit}\, a` and :math:`h = \Phi^{-1} \circ
\mathrm{expit}`.

The right side is largest at :math:`x = \varepsilon_0 / 2`. As `h` is odd, it suffices that
:math:`h'` falls in :math:`|x|`. With :math:`y = h(x) > 0`, :math:`h' = \Phi (1 - \Phi) /
\varphi` falls exactly if :math:`G(y) = y \Phi (1 - \Phi) + \varphi (1 - 2 \Phi) < 0`. Now
:math:`G' = \Phi (1 - \Phi) - 2 \varphi^2` and :math:`G'' = \varphi (1 - 2 \Phi + 4 y
\varphi)`, whose bracket is 0 at 0, rises up to :math:`y = 1 / \sqrt 2` and falls to -1 beyond.
So :math:`G'` rises from :math:`1/4 - 1/\pi < 0`, then falls to its limit 0: it is negative,
then positive. Hence `G` falls from 0, then rises to its limit 0, and is negative.

References
----------
Durfee and Rogers, "Practical differentially private top-k selection with pay-what-you-get
composition", NeurIPS 2019. Dong, Durfee and Rogers, "Optimal differential privacy composition
for exponential mechanisms", ICML 2020.
"""

import math

from scipy.special import erfinv, expit, log_ndtr, ndtri

__all__ = ["bounded_range_epsilon", "bounded_range_mu"]

# Covers the rounding of the special functions.
_ROUNDING = 1.0 + 1e-11


def bounded_range_mu(epsilon):
    r"""Return the mu of one choice, :math:`2 \Phi^{-1}(1 / (1 + e^{-\varepsilon_0 / 2}))`.

    Parameters
    ----------
    epsilon : float
        Width of the range of the loss, > 0.

    Returns
    -------
    float
        About 0.627 of `epsilon` where that is small; rounded up.

    Examples
    --------
    >>> round(bounded_range_mu(0.1), 5)
    0.06266
    """
    if epsilon < 1.0:
        # Near one half the inverse distribution function would lose digits.
        half = math.sqrt(2.0) * erfinv(math.tanh(0.25 * epsilon))
    elif epsilon < 1000.0:
        half = -ndtri(expit(-0.5 * epsilon))
    else:
        # The Chernoff bound on the normal tail, where the tail itself underflows.
        half = math.sqrt(epsilon)
    return 2.0 * float(half) * _ROUNDING


def bounded_range_epsilon(mu):
    r"""Return the width of the range of a choice that is mu-GDP.

    Parameters
    ----------
    mu : float
        > 0.

    Returns
    -------
    float
        :math:`2 \log (\Phi(\mu / 2) / \Phi(-\mu / 2))`.
    """
    return 2.0 * float(log_ndtr(0.5 * mu) - log_ndtr(-0.5 * mu))
