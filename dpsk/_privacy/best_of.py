"""The best of a random number of runs as an event, which the accountant prices by its run."""

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
#: The mu of a run from which on its law is found as it is.
_LEAST_MU = 1e-8
#: Points of the profile of a run: where one takes long, and where there is a closed form.
_FEW_POINTS, _POINTS = 64, 400


@dataclass(frozen=True)
class BestOf(Elementary):
    """The best of a random number of runs of an event, of which nothing else is shown.

    The runs are independent and alike; how many there are is secret and at least 1, with mean
    `mean_runs` and a negative binomial law cut off at 0: of `shape` 1 a geometric one. Each
    run gives all it releases and a score, which the event covers too.

    Parameters
    ----------
    event : Event
        What a run releases, its score included.
    mean_runs : float in [1, 1e6]
        The mean of the number of runs.
    shape : float in (0, 100]
        Of the law of the number of runs; 1 is geometric.

    See Also
    --------
    dpsk.DPGridSearchCV : A search that is released so.

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
        """bool : whether the runs have noise."""
        return all(event.protects for event in tally(self.event))

    @property
    def pure_epsilon(self) -> float:
        """float : infinite, unless that of a run is finite."""
        return _pure_epsilon(self)

    def simplified(self) -> Elementary | None:
        # With its run in normal form.
        return _simplified(self)

    @classmethod
    def merged(cls, counts: Counts) -> Parts:
        # Chances to tell all stand beside the best of what else runs release.
        return _apart(counts)

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        # The bound for one; none for several.
        if count > 1:
            return None
        (bound,) = _deltas(self, np.array([epsilon]))
        return float(bound), "selection"

    def loss_law(self) -> LossLaw:
        # The law whose curve runs through points of the bound.
        return CurveLaw(_Curve(self))

    @property
    def loss_variance(self) -> float:
        """float : that of a run, and more the more runs there are."""
        run = sum(count * event.loss_variance for event, count in tally(self.event).items())
        return run * (1.0 + 0.25 * math.log(self.mean_runs)) ** 2


def _deltas(event: BestOf, losses: FloatArray) -> FloatArray:
    """Return upper bounds on the delta of a `BestOf` at losses >= 0."""
    bounds = selection_deltas(_run(event.event), event.mean_runs, event.shape, losses)
    return np.where(losses < event.pure_epsilon, bounds, 0.0)


@dataclass(frozen=True)
class _Curve:
    """The bound of an event at arrays of epsilons."""

    event: BestOf

    def __call__(self, losses: FloatArray) -> FloatArray:
        return _deltas(self.event, losses)


def _pure_epsilon(event: BestOf) -> float:
    """Return the loss that the best of runs never exceeds; infinite unless a run has one."""
    run = accountant.merge(event.event).pure_epsilon
    return run if not run < math.inf else run + _added(event, run)


def _added(event: BestOf, run: float) -> float:
    """Return what the selection adds to a loss that no run exceeds."""
    gamma = failure_rate(event.mean_runs, event.shape)
    # Where the power of a test grows most: at randomized response.
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
    """Return simplified pairs: the best of what runs release but by chance, and the chances.

    If no run tells all, of which the chance is at most its own times the mean number of runs, the
    number of runs has the same kind of law with a smaller mean.
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
    """Return what tells runs of an event apart."""
    releases = accountant.merge(event)
    if releases.is_gaussian:
        # Below, digits end; a run that is easier to tell has the larger bound.
        return gaussian_run(max(releases.mu, _LEAST_MU))

    def one(epsilon: float) -> float:
        return accountant.account_merged(releases, epsilon).delta

    end = releases.pure_epsilon
    if not end < LONGEST:
        end = reach(one, _LEAST_DELTA)
    closed = accountant.account_merged(releases, end / 2).grid_step == 0
    # Denser where deltas that matter are.
    losses = end * np.linspace(0.0, 1.0, _POINTS if closed else _FEW_POINTS) ** 1.5
    return Run(losses, np.array([one(loss) for loss in losses]))
