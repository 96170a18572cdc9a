r"""Privacy filters: budgets for releases that depend on earlier results.

A filter fixes the quantities that it counts before the first release. The price of an event is
its privacy cost: a number >= 0 for each quantity. The filter admits an event while sums of prices
stay within its limits.

**Gaussian.** Admit while :math:`\sum \mu_i^2 \le \mu_B^2` and :math:`\sum \delta_i \le \delta_D`,
where :math:`\mu_B` is the largest mu that satisfies :math:`(\varepsilon_B, \delta_B)` with a
disclosure of probability :math:`\delta_D` (Smith and Thakurta 2022; Koskela, Tobaben and Honkela
2023). A pure release is dominated by randomized response, of :math:`\mu = 2
\Phi^{-1}(e^\varepsilon / (1 + e^\varepsilon))`. Any other event costs a disclosure probability,
and the smallest mu that dominates it together with that disclosure (see `domination`).

**Renyi.** At one order :math:`\alpha`, admit while the sum of Renyi divergences is at most
:math:`r`, with

.. math:: \varepsilon_B = r + \log\frac{\alpha - 1}{\alpha}
          - \frac{\log \delta_B + \log \alpha}{\alpha - 1}

(Feldman and Zrnic 2021, for the filter; Canonne, Kamath and Steinke 2020, Proposition 12, for the
conversion). The order is the best one for Gaussian releases.

**Pure.** Admit while the sum of epsilons is at most :math:`\varepsilon_B`.

Privacy loss distributions of adaptively chosen plans are never composed, since that is not a valid
filter in general.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from dpsk._privacy import accountant
from dpsk._privacy.closed_forms import ROUNDING, bounded_range_mu
from dpsk._privacy.domination import covering_mu
from dpsk._privacy.events import Disclosure, Gaussian, Pure, Repeated, SampledGaussian

if TYPE_CHECKING:
    from dpsk._privacy.elementary import Elementary, Event

__all__ = ["KINDS", "RUNS_CHANCE", "SEARCH_CHANCE", "Filter", "GaussianFilter", "Price",
           "PureFilter", "RenyiFilter", "open_filter"]

#: A release that is neither Gaussian nor pure takes 1 / `_ONE_OF` of the disclosure limit.
_ONE_OF = 16
#: Fractions of the limit for the runs of one hyperparameter search, and for all of the search.
RUNS_CHANCE = 1 / 64
SEARCH_CHANCE = 1 / _ONE_OF + RUNS_CHANCE
#: Relative slack for sums in floating point, which `ROUNDING` covers, and for epsilons that are
#: solved for, which is taken off the remaining budget.
_SLACK, _SOLVED = 1e-15, 1e-11
_ORDERS = (1.0 + 1e-3, 1e6)
_MOST_NODES = 2_000_000
#: Bound on the rounding of logarithms near 0, which a division by (order - 1) enlarges.
_LOGARITHM = 1e-14


#: One number per unit of the filter.
Price: TypeAlias = tuple[float, ...]


class Filter:
    """Base class of filters: adds prices and compares the sums with limits."""

    #: The names of the numbers in a price.
    units: ClassVar[tuple[str, ...]] = ()
    #: Relative slack taken off the limits in `left`, as its epsilon is solved for.
    solved: ClassVar[float] = _SOLVED

    if TYPE_CHECKING:
        # Subclasses define a string or a property.
        @property
        def remedy(self) -> str: ...
        def as_one(self, price: Price, delta: float) -> float: ...

    def left(self, spent: Price, delta: float) -> float:
        """Return the largest epsilon at `delta` of one more Gaussian release.

        For a pure budget, it is that of one more pure release.
        """
        return self.as_one(tuple(max(0.0, limit * (1.0 - self.solved) - one) for limit, one in zip(
            self.limits, spent, strict=True)), delta)

    @property
    def limits(self) -> Price:
        """Return the limits on the sums of prices, a tuple of floats."""
        raise NotImplementedError

    def _part(self, event: Elementary, count: int) -> Price:
        """Return the price of `count` releases of one kind, in normal form."""
        raise NotImplementedError

    def price(self, event: Event) -> Price:
        """Return the price of an event, a tuple of floats >= 0, infinite if it has none."""
        return _price(self, event)

    def admits(self, spent: Price, price: Price) -> bool:
        """Return whether a price is within the budget that remains after `spent`."""
        return all(one + other <= limit * (1.0 + _SLACK)
                   for one, other, limit in zip(spent, price, self.limits, strict=True))

    def refusal(self, event: Event) -> str:
        """Return why the filter cannot price an event, with a remedy."""
        if not accountant.merge(event).is_private:
            return ("it has no noise (NotPrivate), as with epsilon=inf, so it is not private and "
                    "no budget can hold it; give a finite epsilon, or fit to public rows outside "
                    "of the block")
        kinds = sorted({type(part).__name__ for part, _ in accountant.merge(event).parts
                        if not math.isfinite(sum(self._part(part, 1)))})
        return f"its {', '.join(kinds)} releases cannot be counted by {self.remedy}"


@dataclass(frozen=True)
class GaussianFilter(Filter):
    """Filter on sums of squared mu and of disclosure probabilities.

    Parameters
    ----------
    epsilon, delta : float
        The budget.
    disclosure : float
        The part of delta for disclosure probabilities.
    """

    epsilon: float
    delta: float
    disclosure: float

    units: ClassVar[tuple[str, ...]] = ("mu^2", "delta")

    @property
    def limits(self) -> Price:
        """Return mu^2 and the disclosure probability of the budget."""
        mu = accountant.mu_beside(self.epsilon, self.delta, self.disclosure)
        return mu**2, self.disclosure

    @property
    def remedy(self) -> str:
        """Return which budget admits other releases."""
        return ("kind='gaussian' with disclosure=0; open the budget with disclosure=0.1 * delta, "
                "or with kind='renyi'")

    def as_one(self, price: Price, delta: float) -> float:
        """Return the epsilon at `delta` of one Gaussian release of this price."""
        return accountant.epsilon(Gaussian(math.sqrt(price[0])), delta) if price[0] > 0 else 0.0

    def _part(self, event: Elementary, count: int) -> Price:
        if isinstance(event, Gaussian):
            # ``mu**2`` would raise an error on overflow.
            return count * (event.mu * event.mu), 0.0
        if isinstance(event, Disclosure):
            # A budget with disclosure=0 cannot admit it.
            return 0.0, count * event.delta if self.disclosure else math.inf
        if isinstance(event, Pure):
            return count * bounded_range_mu(2.0 * event.epsilon)**2, 0.0
        if not (event.protects and self.disclosure):
            return math.inf, math.inf
        chance = self.disclosure / _ONE_OF
        return covering_mu(Repeated(event, count), chance)**2, chance


@dataclass(frozen=True)
class RenyiFilter(Filter):
    """Filter on the sum of Renyi divergences at one order.

    Parameters
    ----------
    epsilon, delta : float
        The budget.
    order : float > 1
    """

    epsilon: float
    delta: float
    order: float

    units: ClassVar[tuple[str, ...]] = ("Renyi divergence",)

    @classmethod
    def best(cls, epsilon: float, delta: float) -> RenyiFilter:
        """Return the filter at the order that admits the most Gaussian releases."""
        low, high = (math.log(order - 1.0) for order in _ORDERS)
        found = minimize_scalar(lambda x: -_renyi_limit(epsilon, delta, 1.0 + math.exp(x))
                                / (1.0 + math.exp(x)), bounds=(low, high), method="bounded")
        # Rounded, so that every version of the search finds the same order.
        return cls(epsilon, delta, float(f"{1.0 + math.exp(found.x):.4g}"))

    @property
    def limits(self) -> Price:
        """Return the limit on the sum of divergences."""
        return (max(0.0, _renyi_limit(self.epsilon, self.delta, self.order)),)

    @property
    def remedy(self) -> str:
        """Return which budget admits other releases."""
        return ("kind='renyi'; open the budget with kind='gaussian' and disclosure=0.1 * delta")

    def as_one(self, price: Price, delta: float) -> float:
        """Return the epsilon at `delta` of one Gaussian release of this price."""
        mu = math.sqrt(2.0 * price[0] / self.order)
        return accountant.epsilon(Gaussian(mu), delta) if mu else 0.0

    def _part(self, event: Elementary, count: int) -> Price:
        if isinstance(event, Gaussian):
            return (count * self.order * (event.mu * event.mu) / 2.0,)
        if isinstance(event, Pure):
            return (count * _response_divergence(event.epsilon, self.order) * ROUNDING,)
        if isinstance(event, SampledGaussian):
            return (count * _sampled_divergence(event, self.order),)
        return (math.inf,)


@dataclass(frozen=True)
class PureFilter(Filter):
    """Filter on the sum of pure epsilons, for a budget of delta 0.

    Parameters
    ----------
    epsilon : float
    """

    epsilon: float

    units: ClassVar[tuple[str, ...]] = ("epsilon",)
    solved = 0.0
    delta = 0.0
    remedy = "a budget of delta=0; open it with delta > 0, or fit with delta=0"

    @property
    def limits(self) -> Price:
        """Return the epsilon of the budget."""
        return (self.epsilon,)

    def as_one(self, price: Price, delta: float) -> float:
        """Return the epsilon of one release of this price, at any delta."""
        return price[0]

    def _part(self, event: Elementary, count: int) -> Price:
        return (count * event.pure_epsilon,)


#: The filters by name.
KINDS = {"gaussian": GaussianFilter, "renyi": RenyiFilter, "pure": PureFilter}


def open_filter(kind: str, epsilon: float, delta: float, disclosure: float) -> Filter:
    """Return the filter of that kind."""
    if kind == "pure":
        return PureFilter(epsilon)
    if kind == "renyi":
        return RenyiFilter.best(epsilon, delta)
    return GaussianFilter(epsilon, delta, disclosure)


@lru_cache(maxsize=1024)
def _price(of: Filter, event: Event) -> Price:
    """Return the price of an event under a filter."""
    total = tuple(0.0 for _ in of.units)
    for part, count in accountant.merge(event).parts:
        total = tuple(map(math.fsum, zip(total, of._part(part, count), strict=True)))
    return total


def _renyi_limit(epsilon: float, delta: float, order: float) -> float:
    """Return the largest divergence at an order that implies (epsilon, delta)."""
    return (epsilon - math.log1p(-1.0 / order)
            + (math.log(delta) + math.log(order)) / (order - 1.0))


def _response_divergence(epsilon: float, order: float) -> float:
    """Return a bound on the Renyi divergence of randomized response.

    It is the divergence and the rounding of its logarithms, and for small epsilons the bound of
    Bun and Steinke (2016), in which nothing cancels.
    """
    terms = [order * epsilon, (1.0 - order) * epsilon]
    exact = float(logsumexp(terms) - np.logaddexp(0.0, epsilon)) / (order - 1.0)
    return min(exact + _LOGARITHM / (order - 1.0), order * epsilon * epsilon / 2.0)


def _sampled_divergence(event: SampledGaussian, order: float) -> float:
    r"""Return a bound on the Renyi divergence of a noisy sum of a Poisson sample.

    It is that of :math:`(1-q) N(0, z^2) + q N(1, z^2)` from its mirror image, which is the same in
    both directions. The integrand is a sum of normal densities times a bounded analytic factor, so
    the trapezoidal rule has an error below the slack that is added.
    """
    q, z = event.sampling_rate, event.noise_multiplier
    if q == 0:
        return 0.0
    # The integrand is largest between 0 and 2 order - 1, the mean of P^order / Q^(order-1).
    width = 2.0 * order + 24.0 * z + 2.0
    # Complex zeros of the mixtures are pi z^2 off the real line, which the step must resolve too.
    nodes = math.ceil(40.0 * width / min(z, z * z))
    if nodes > _MOST_NODES:
        return math.inf
    x, step = np.linspace(-12.0 * z - 1.0, width - 12.0 * z - 1.0, nodes, retstep=True)
    base = -0.5 * (x / z) ** 2 - math.log(z * math.sqrt(2.0 * math.pi))
    stay, move = math.log1p(-q) if q < 1 else -math.inf, math.log(q)
    above = np.logaddexp(stay, move + (2.0 * x - 1.0) / (2.0 * z**2))
    below = np.logaddexp(stay, move - (2.0 * x + 1.0) / (2.0 * z**2))
    values = base + order * above + (1.0 - order) * below
    integral = float(logsumexp(values)) + math.log(step) + _LOGARITHM
    return max(0.0, integral / (order - 1.0)) * (1.0 + 1e-9) + 1e-12
