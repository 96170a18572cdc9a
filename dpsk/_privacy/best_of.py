"""Event of private selection: the best of a random number of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpsk._privacy import accountant
from dpsk._privacy.closed_forms import ROUNDING
from dpsk._privacy.disclosures import Disclosure, NotPrivate
from dpsk._privacy.elementary import Elementary, Event, finite, require
from dpsk._privacy.events import tally
from dpsk._privacy.pld.curves import LONGEST, CurveLaw, reach
from dpsk._privacy.selection import Run, failure_rate, gaussian_run, selection_deltas

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpsk._privacy.elementary import Counts, Parts
    from dpsk._privacy.pld.distributions import LossLaw
    from dpsk._typing import FloatArray

__all__ = ["BestOf"]

_LEAST_DELTA = 1e-20
#: Smallest mu of a run; a smaller one is raised to it.
_LEAST_MU = 1e-8
#: Points of the privacy profile of a run: few if each is slow, more with a closed form.
_FEW_POINTS, _POINTS = 64, 400


@dataclass(frozen=True)
class BestOf(Elementary):
    """The best of a random number of runs of an event; the other runs stay secret.

    The runs are independent and identically distributed. Their number is secret and at least 1.
    It has mean `mean_runs` and a negative binomial distribution truncated at 0, which is geometric
    for `shape` 1. The event covers everything that a run outputs, its score included.

    Parameters
    ----------
    event : Event
        Everything that one run outputs, its score included.
    mean_runs : float in [1, 1e6]
        Mean number of runs.
    shape : float in (0, 100]
        Shape of the distribution of the number of runs; 1 is geometric.

    See Also
    --------
    dpsk.DPGridSearchCV : A hyperparameter search that is accounted this way.

    References
    ----------
    Papernot and Steinke, "Hyperparameter tuning with Renyi differential privacy", ICLR 2022.

    Examples
    --------
    >>> from dpsk.accounting import BestOf, Gaussian, epsilon
    >>> run = Gaussian(mu=0.2)
    >>> epsilon(run, 1e-5) < epsilon(BestOf(run, 10.0), 1e-5) < epsilon([run] * 10, 1e-5) * 2
    True
    """

    event: Event
    mean_runs: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        require(isinstance(self.event, Event), "event", self.event, "an Event")
        require(finite(self.mean_runs) and 1 <= self.mean_runs <= 1e6, "mean_runs",
                self.mean_runs, "a number in [1, 1e6]")
        require(finite(self.shape) and 0 < self.shape <= 100, "shape", self.shape,
                "a number in (0, 100]")

    @property
    def protects(self) -> bool:
        """bool : whether every release of a run has noise."""
        return all(event.protects for event in tally(self.event))

    @property
    def pure_epsilon(self) -> float:
        """float : infinite, unless the pure epsilon of a run is finite."""
        return _pure_epsilon(self)

    def simplified(self) -> Elementary | None:
        return _simplified(self)

    @classmethod
    def merged(cls, counts: Counts) -> Parts:
        # The disclosures of runs become an event of their own.
        return _apart(counts)

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        # A bound for one selection; none for several.
        if count > 1:
            return None
        (bound,) = _deltas(self, np.array([epsilon]))
        return float(bound), "selection"

    def loss_law(self) -> LossLaw:
        # The loss distribution whose privacy profile runs through points of the bound.
        return CurveLaw(_Curve(self))

    @property
    def loss_variance(self) -> float:
        """float : the variance of a run, increased with the mean number of runs."""
        run = sum(count * event.loss_variance for event, count in tally(self.event).items())
        return run * (1.0 + 0.25 * math.log(self.mean_runs)) ** 2


def _deltas(event: BestOf, losses: FloatArray) -> FloatArray:
    """Return upper bounds on the delta of a `BestOf` at losses >= 0."""
    bounds = selection_deltas(_run(event.event), event.mean_runs, event.shape, losses)
    return np.where(losses < event.pure_epsilon, bounds, 0.0)


@dataclass(frozen=True)
class _Curve:
    """Upper bounds on the delta of an event at arrays of epsilons."""

    event: BestOf

    def __call__(self, losses: FloatArray) -> FloatArray:
        return _deltas(self.event, losses)


def _pure_epsilon(event: BestOf) -> float:
    """Return a bound on the loss of the selected run; infinite unless a run has one."""
    run = accountant.merge(event.event).pure_epsilon
    return run if not run < math.inf else run + _added(event, run)


def _added(event: BestOf, run: float) -> float:
    """Return the increase that selection adds to the pure epsilon of a run."""
    gamma = failure_rate(event.mean_runs, event.shape)
    # The ratio is largest at this vertex of the trade-off curve of randomized response.
    level = 1.0 / (1.0 + math.exp(min(run, 700.0)))
    ratio = (gamma + (1 - gamma) * (1 - level)) / (gamma + (1 - gamma) * level)
    return (event.shape + 1) * math.log(ratio) * ROUNDING


def _simplified(event: BestOf) -> Elementary | None:
    """Return the event with a run in normal form; None if nothing is released."""
    releases = accountant.merge(event.event)
    if not releases.parts:
        return None
    if not releases.is_private:
        return NotPrivate()
    if len(releases.parts) == 1:
        return replace(event, event=releases.as_event())
    return event


def _apart(counts: Iterable[tuple[BestOf, int]]) -> Parts:
    """Return simplified pairs: selections without disclosures, and one disclosure.

    Some run discloses with probability at most the mean number of runs times that of one run. If
    none does, the number of runs has the same kind of distribution, with a smaller mean.
    """
    parts, chance = [], 0.0
    for event, count in counts:
        releases = accountant.merge(event.event)
        if not releases.chance:
            parts.append((event, count))
            continue
        chance += count * event.mean_runs * releases.chance * ROUNDING
        rest = releases.rest
        if rest.parts and chance < 1:
            parts.append((_without_chance(event, rest.as_event(), releases.chance), count))
    return (*parts, *([(Disclosure(min(1.0, chance)), 1)] if chance else []))


def _without_chance(event: BestOf, run: Event, chance: float) -> BestOf:
    gamma = failure_rate(event.mean_runs, event.shape)
    gamma = min(1.0, 1.0 - (1.0 - gamma) * (1.0 - chance))
    mean = 1.0
    if gamma < 1:
        shape = event.shape
        mean = shape * (1 - gamma) / gamma / -math.expm1(shape * math.log(gamma))
    return replace(event, event=run, mean_runs=min(event.mean_runs, max(1.0, mean)))


@lru_cache(maxsize=64)
def _run(event: Event) -> Run:
    """Return the `Run` of an event, with its privacy profile."""
    releases = accountant.merge(event)
    if releases.is_gaussian:
        # A smaller mu would lose all digits; a larger one only raises the bound.
        return gaussian_run(max(releases.mu, _LEAST_MU))

    def one(epsilon: float) -> float:
        return accountant.account_merged(releases, epsilon).delta

    end = releases.pure_epsilon
    if not end < LONGEST:
        end = reach(one, _LEAST_DELTA)
    closed = accountant.account_merged(releases, end / 2).grid_step == 0
    # Points are denser at small losses, where delta is largest.
    losses = end * np.linspace(0.0, 1.0, _POINTS if closed else _FEW_POINTS) ** 1.5
    return Run(losses, np.array([one(loss) for loss in losses]))
