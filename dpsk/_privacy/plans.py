"""Declarations: from a noise multiplier to the event of everything in a fit.

A declaration is a frozen dataclass of public numbers. The accountant computes its privacy cost,
and the ledger enforces it during the fit. Neighboring tables differ by one row that is replaced.
A clipped term of a sum then moves between two points of a ball of radius C, hence by at most
``REPLACE_ONE * C``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import (
    Composed,
    Disclosure,
    Gaussian,
    Pure,
    Repeated,
)
from dpsk._privacy.sensitivity import REPLACE_ONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._privacy.elementary import Elementary, Event

__all__ = ["BestRuns", "Declaration", "ExponentialChoices", "Framed", "NoisySums", "choice_event"]


#: The event of everything that a fit releases, as a function of its noise multiplier.
Declaration: TypeAlias = "Callable[[float], Event]"


@dataclass(frozen=True)
class NoisySums:
    """Declaration of noisy sums of clipped rows, all of one kind.

    Parameters
    ----------
    batches : FullBatch or PoissonBatches
        Plan of the rows that each sum reads.
    count : int
        Largest number of sums.
    ratio : float
        Noise multiplier of the sums divided by that of the fit.
    """

    batches: FullBatch | PoissonBatches
    count: int
    ratio: float = 1.0

    def __call__(self, noise_multiplier: float) -> Event:
        return Repeated(self.release(noise_multiplier), self.count)

    def release(self, noise_multiplier: float) -> Elementary:
        """Return the event of one sum."""
        return self.batches.release(self.ratio * noise_multiplier)


def choice_event(width: float, pure: bool = False) -> Elementary:
    """Return the event of one choice whose loss range has a `width`.

    The choice is both pure and mu-GDP; `pure` selects how it is counted.
    """
    return Pure(width) if pure else Gaussian(bounded_range_mu(width))


@dataclass(frozen=True)
class ExponentialChoices:
    """Declaration of `count` choices by the exponential mechanism.

    The noise multiplier is the scale of the Gumbel noise over half the sensitivity of a score.

    Parameters
    ----------
    count : int
    pure : bool
        Whether a choice is counted as pure epsilon or as Gaussian; it satisfies both.
    """

    count: int
    pure: bool

    def __call__(self, noise_multiplier: float) -> Event:
        return Repeated(self.release(noise_multiplier), self.count)

    def release(self, noise_multiplier: float) -> Elementary:
        """Return the event of one choice."""
        return choice_event(2.0 * REPLACE_ONE / noise_multiplier, self.pure)


@dataclass(frozen=True)
class BestRuns:
    """Declaration of the best of a geometric number of runs.

    Parameters
    ----------
    mean_runs : float
        Mean number of runs; 1 is a single run without selection.
    chance : float
        Disclosure probability of a run. Its mu is the inverse of the noise multiplier.
    """

    mean_runs: float
    chance: float

    def run(self, noise_multiplier: float) -> Event:
        """Return the event of one run."""
        event = Gaussian(1.0 / noise_multiplier)
        return Composed((event, Disclosure(self.chance))) if self.chance else event

    def __call__(self, noise_multiplier: float) -> Event:
        run = self.run(noise_multiplier)
        return run if self.mean_runs == 1 else BestOf(run, self.mean_runs)


@dataclass(frozen=True)
class Framed:
    """Declaration of `first` events, then the solver's plan, then `last` events."""

    first: tuple[Event, ...]
    plan: Declaration
    last: tuple[Event, ...]

    def __call__(self, noise_multiplier: float) -> Event:
        return Composed((*self.first, self.plan(noise_multiplier), *self.last))
