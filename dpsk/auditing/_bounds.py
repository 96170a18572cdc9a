r"""Lower bounds on privacy parameters from counts of an event.

Run a mechanism many times on a data set and on a neighbor, and count how often its output
falls in an event that was **fixed before the runs**. The event has probability `P` on the
data set and `Q` on the neighbor. With confidence both lie within one-sided Clopper-Pearson
limits, :math:`P \ge \underline P` and :math:`Q \le \overline Q`. A guarantee that these
limits contradict is refuted. Runs must be independent and use fresh noise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scipy.special import betaincinv, ndtri

from dpsk._docs import documented
from dpsk._parameters import check_integer, check_real

if TYPE_CHECKING:
    pass

__all__ = ["delta_lower_bound", "epsilon_lower_bound", "mu_lower_bound"]


@documented
def epsilon_lower_bound(hits: int, runs: int, neighbor_hits: int, neighbor_runs: int, *,
                        delta: float = 0.0, level: float = 0.025) -> float:
    r"""Lower bound on epsilon at a given delta.

    .. math:: \varepsilon \ge \log \frac{\underline P - \delta}{\overline Q},

    since :math:`P \le e^\varepsilon Q + \delta` for every event.

    Parameters
    ----------
    %(hits)s %(runs)s %(neighbor_hits)s
    delta : float, default=0.0
        The delta of the guarantee, in [0, 1).
    %(level)s

    Returns
    -------
    epsilon : float
        At least 0; 0 where the counts prove nothing.

    Raises
    ------
    ValueError
        If a count, `delta` or `level` is out of range.

    References
    ----------
    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 1934. Jagielski, Ullman and Oprea, "Auditing differentially
    private machine learning", NeurIPS 2020.

    Examples
    --------
    >>> from dpsk.auditing import epsilon_lower_bound
    >>> round(epsilon_lower_bound(1000, 1000, 0, 1000), 3)
    5.601
    >>> epsilon_lower_bound(500, 1000, 500, 1000)
    0.0
    """
    low, high = _limits(hits, runs, neighbor_hits, neighbor_runs, level)
    delta = check_real("delta", delta, low=0, high=1, open_high=True, remedy="a number in [0, 1)")
    return math.log((low - delta) / high) if low - delta > high else 0.0


@documented
def delta_lower_bound(hits: int, runs: int, neighbor_hits: int, neighbor_runs: int, *,
                      epsilon: float, level: float = 0.025) -> float:
    r"""Lower bound on delta at a given epsilon.

    .. math:: \delta \ge \underline P - e^\varepsilon \, \overline Q .

    Parameters
    ----------
    %(hits)s %(runs)s %(neighbor_hits)s
    epsilon : float
        The epsilon of the guarantee, finite and >= 0.
    %(level)s

    Returns
    -------
    delta : float
        At least 0.

    Raises
    ------
    ValueError
        If a count, `epsilon` or `level` is out of range.

    References
    ----------
    Clopper and Pearson, Biometrika 1934; see `epsilon_lower_bound`.

    Examples
    --------
    >>> from dpsk.auditing import delta_lower_bound
    >>> round(delta_lower_bound(900, 1000, 100, 1000, epsilon=1.0), 3)
    0.553
    """
    low, high = _limits(hits, runs, neighbor_hits, neighbor_runs, level)
    epsilon = check_real("epsilon", epsilon, low=0, remedy="a finite number >= 0")
    # The cap is far beyond where any bound can be positive, and keeps exp finite.
    return max(0.0, low - math.exp(min(epsilon, 700.0)) * high)


@documented
def mu_lower_bound(hits: int, runs: int, neighbor_hits: int, neighbor_runs: int, *,
                   level: float = 0.025) -> float:
    r"""Lower bound on the mu of Gaussian differential privacy.

    .. math:: \mu \ge \Phi^{-1}(\underline P) - \Phi^{-1}(\overline Q),

    since no test of mu-GDP outputs is more powerful than the best test of N(0, 1) against
    N(mu, 1). `P` is the true positive rate of the test and `Q` its false positive rate.

    Parameters
    ----------
    %(hits)s %(runs)s %(neighbor_hits)s %(level)s

    Returns
    -------
    mu : float
        At least 0.

    Raises
    ------
    ValueError
        If a count or `level` is out of range.

    References
    ----------
    Nasr et al., "Tight auditing of differentially private machine learning", USENIX
    Security 2023. Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022.

    Examples
    --------
    >>> from dpsk.auditing import mu_lower_bound
    >>> round(mu_lower_bound(841, 1000, 500, 1000), 2)
    0.82
    """
    low, high = _limits(hits, runs, neighbor_hits, neighbor_runs, level)
    return max(0.0, float(ndtri(low) - ndtri(high))) if low > high else 0.0


def _limits(hits, runs, neighbor_hits, neighbor_runs, level):
    """Return the lower limit on P and the upper limit on Q."""
    level = check_real("level", level, low=0, high=0.5, open_low=True, open_high=True,
                       remedy="a number in (0, 0.5), such as 0.025")
    hits, runs = _counts("hits", hits, "runs", runs)
    neighbor_hits, neighbor_runs = _counts("neighbor_hits", neighbor_hits,
                                             "neighbor_runs", neighbor_runs)
    # The upper limit on the hit rate is one minus the lower limit on the miss rate.
    return (_lower_limit(hits, runs, level),
            1.0 - _lower_limit(neighbor_runs - neighbor_hits, neighbor_runs, level))


def _counts(hits_name, hits, runs_name, runs):
    runs = check_integer(runs_name, runs, low=1, remedy="an int >= 1")
    hits = check_integer(hits_name, hits, low=0, high=runs,
                         remedy=f"an int between 0 and {runs_name}={runs}")
    return hits, runs


def _lower_limit(hits, runs, level):
    """Return the one-sided Clopper-Pearson lower limit on a probability."""
    return float(betaincinv(hits, runs - hits + 1, level)) if hits else 0.0
