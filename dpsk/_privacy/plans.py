"""Declarations: from a noise multiplier to everything that a fit will release.

A declaration is a frozen dataclass of public numbers. The accountant prices it, the ledger holds
the fit to it. Neighboring tables differ by one row that is replaced: a term of a sum moves
inside a ball of radius C, from one point to another, hence by at most ``REPLACE_ONE * C``.
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


#: What a fit will release, as a function of its noise multiplier.
Declaration: TypeAlias = "Callable[[float], Event]"


@dataclass(frozen=True)
class NoisySums:
    """The declaration of noisy sums of clipped rows of one kind.

    Parameters
    ----------
    batches : FullBatch or PoissonBatches
        Which rows a sum is over.
    count : int
        How many sums there are at most.
    ratio : float
        Their noise multiplier over that of the fit.
    """

    batches: FullBatch | PoissonBatches
    count: int
    ratio: float = 1.0

    def __call__(self, noise_multiplier: float) -> Event:
        return Repeated(self.release(noise_multiplier), self.count)

    def release(self, noise_multiplier: float) -> Elementary:
        """Return what one sum costs."""
        return self.batches.release(self.ratio * noise_multiplier)


def choice_event(width: float, pure: bool = False) -> Elementary:
    """Event of one choice, whose loss is in an interval of a `width`: pure, or as Gaussian.

    It is both.
    """
    return Pure(width) if pure else Gaussian(bounded_range_mu(width))


@dataclass(frozen=True)
class ExponentialChoices:
    """The declaration of `count` choices by the exponential mechanism.

    The noise multiplier is the scale of the Gumbel noise on a score over half of what it moves.

    Parameters
    ----------
    count : int
    pure : bool
        Whether a choice counts as pure epsilon or as Gaussian; it is both.
    """

    count: int
    pure: bool

    def __call__(self, noise_multiplier: float) -> Event:
        return Repeated(self.release(noise_multiplier), self.count)

    def release(self, noise_multiplier: float) -> Elementary:
        """Return what one choice costs."""
        return choice_event(2.0 * REPLACE_ONE / noise_multiplier, self.pure)


@dataclass(frozen=True)
class BestRuns:
    """The declaration of the best of a geometric number of runs.

    Parameters
    ----------
    mean_runs : float
        1 is a run for sure, of which none is chosen.
    chance : float
        That a run tells all of a row beside its mu, which is the inverse of the noise multiplier.
    """

    mean_runs: float
    chance: float

    def run(self, noise_multiplier: float) -> Event:
        """Return what one run costs."""
        event = Gaussian(1.0 / noise_multiplier)
        return Composed((event, Disclosure(self.chance))) if self.chance else event

    def __call__(self, noise_multiplier: float) -> Event:
        run = self.run(noise_multiplier)
        return run if self.mean_runs == 1 else BestOf(run, self.mean_runs)


@dataclass(frozen=True)
class Framed:
    """The declaration of `first` events, then of the solver's plan, then of `last` events."""

    first: tuple[Event, ...]
    plan: Declaration
    last: tuple[Event, ...]

    def __call__(self, noise_multiplier: float) -> Event:
        return Composed((*self.first, self.plan(noise_multiplier), *self.last))
