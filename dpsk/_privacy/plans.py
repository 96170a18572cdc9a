"""Declarations: from a noise multiplier to everything that a fit will release.

A declaration is a frozen dataclass of public numbers. The accountant prices it, the ledger holds
the fit to it. Neighboring tables differ by one row that is replaced: a term of a sum moves
inside a ball of radius C, from one point to another, hence by at most ``REPLACE_ONE * C``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import (
    Composed,
    Disclosure,
    Dominated,
    Gaussian,
    NotPrivate,
    Pure,
    Repeated,
    gaussian,
)
from dpsk._privacy.sensitivity import REPLACE_ONE, effective_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._privacy.elementary import Elementary, Event

__all__ = ["COMPARISON", "AnchoredSums", "BestRuns", "Declaration", "Framed", "JointSums",
           "LastIterate", "NoisyKind", "NoisyKinds", "NoisySums", "OneRelease",
           "PerturbedObjective", "Selections", "SharedBudget", "ThresholdRounds", "WithoutNoise",
           "choice_event"]


#: The noise of a comparison with a hold-out over that of an answer.
COMPARISON = 4.0


#: What a fit will release, as a function of its noise multiplier.
Declaration: TypeAlias = "Callable[[float], Event]"


@dataclass(frozen=True)
class NoisySums:
    """The declaration of `count` noisy sums of clipped rows at one noise multiplier."""

    batches: FullBatch | PoissonBatches
    count: int

    def __call__(self, noise_multiplier: float) -> Event:
        return Repeated(self.batches.release(noise_multiplier), self.count)


@dataclass(frozen=True)
class AnchoredSums:
    """The declaration of noisy sums at anchors and of noisy sums of differences.

    Parameters
    ----------
    batches : FullBatch or PoissonBatches
        Which rows the differences are summed over; anchors read all.
    anchors, differences : int
        How many of each are asked for at most.
    ratio : float
        The noise multiplier of anchors over that of differences.
    """

    batches: FullBatch | PoissonBatches
    anchors: int
    differences: int
    ratio: float

    def __call__(self, noise_multiplier: float) -> Event:
        return Composed((
            Repeated(self.anchor_release(noise_multiplier), self.anchors),
            Repeated(self.batches.release(noise_multiplier), self.differences)))

    def anchor_release(self, noise_multiplier: float) -> Elementary:
        """Event of one noisy sum over all rows."""
        return FullBatch().release(self.ratio * noise_multiplier)


def choice_event(width: float, pure: bool = False) -> Elementary:
    """Event of one choice, whose loss is in an interval of a `width`: pure, or as Gaussian.

    It is both.
    """
    return Pure(width) if pure else Gaussian(bounded_range_mu(width))


@dataclass(frozen=True)
class ThresholdRounds:
    """The declaration of what one row pays: `rounds` of comparison and answer.

    Parameters
    ----------
    rounds : int
        Answers asked of each batch.
    batches : int
        Number of disjoint batches. A row is in one, so they are not multiplied.
    pure : bool
        Laplace noise and an l1 clip, else Gaussian noise and an l2 clip.
    public_holdout : bool
    """

    rounds: int
    batches: int = 1
    pure: bool = False
    public_holdout: bool = False

    def __call__(self, noise_multiplier: float) -> Event:
        return Composed(tuple(Repeated(event, self.rounds)
                              for event in self.releases(noise_multiplier)))

    def releases(self, noise_multiplier: float) -> tuple[Elementary, Elementary]:
        """Return the events of one comparison and of one answer."""
        kind = Pure if self.pure else Gaussian
        answer = REPLACE_ONE / noise_multiplier
        return kind(answer / COMPARISON), kind(answer)


@dataclass(frozen=True)
class Selections:
    """The declaration of `count` choices.

    The noise multiplier is the scale of the Gumbel noise on a score over the clip norm.

    Parameters
    ----------
    count : int
    pure : bool
        Whether a choice counts as pure epsilon or as Gaussian; it is both.
    """

    count: int
    pure: bool

    def release(self, noise_multiplier: float) -> Elementary:
        """Event of one choice."""
        return choice_event(4.0 / noise_multiplier, self.pure)

    def __call__(self, noise_multiplier: float) -> Event:
        return Repeated(self.release(noise_multiplier), self.count)


@dataclass(frozen=True)
class OneRelease:
    """The declaration of one noisy output: Pure or Gaussian.

    The noise multiplier is the noise's scale over the sensitivity.
    """

    pure: bool

    def __call__(self, noise_multiplier: float) -> Event:
        return (Pure if self.pure else Gaussian)(1.0 / noise_multiplier)


@dataclass(frozen=True)
class SharedBudget:
    """The declaration of Gaussian releases whose squared prices stand in fixed proportions.

    The noise multiplier is the noise's scale over the sensitivity of one release that would cost
    as much as all of them; 0 is without noise.

    Parameters
    ----------
    shares : tuple of float
        Of mu^2, one a release; they sum to 1.
    """

    shares: tuple[float, ...]

    def __call__(self, noise_multiplier: float) -> Event:
        return Composed(tuple(map(gaussian, self.prices(noise_multiplier))))

    def prices(self, noise_multiplier: float) -> tuple[float, ...]:
        """Return the mu of every release; infinite without noise."""
        total = 1.0 / noise_multiplier if noise_multiplier else math.inf
        return tuple(math.sqrt(share) * total for share in self.shares)


@dataclass(frozen=True)
class WithoutNoise:
    """The declaration of answers without noise, whatever the noise multiplier."""

    def __call__(self, noise_multiplier: float) -> Event:
        return NotPrivate()


@dataclass(frozen=True)
class LastIterate:
    """The declaration of the last of `steps` noisy iterates.

    Parameters
    ----------
    steps : int
    step : float
    strong_convexity : float
        Smallest curvature of the penalty over all coordinates.
    """

    steps: int
    step: float
    strong_convexity: float

    def __call__(self, noise_multiplier: float) -> Event:
        return Gaussian(REPLACE_ONE * math.sqrt(self.effective_steps) / noise_multiplier)

    @property
    def effective_steps(self) -> float:
        """float : T_eff."""
        return effective_steps(1.0 - self.step * self.strong_convexity, self.steps)


@dataclass(frozen=True)
class PerturbedObjective:
    """The declaration of one minimizer: that of the noisy objective, and its tolerance's.

    The noise multiplier is the scale of b over the clip norm, so that b moves by at most
    ``2 / noise_multiplier`` of its scale.

    Parameters
    ----------
    pure : bool
    ridge : float
        Curvature of the l2 term beside the mean loss, on every coordinate; ``lam / n``.
    determinant : float
        Bound on what the determinants can add to the loss.
    tail : float
        Price of the second noise: an epsilon if `pure`, else a mu.
    tolerance : float
        Norm of the gradient of ``J / n`` to certify; what rounding hides of it, where that is
        more.
    """

    pure: bool
    ridge: float
    determinant: float
    tail: float
    tolerance: float

    def __call__(self, noise_multiplier: float) -> Event:
        return Composed(self.releases(noise_multiplier))

    def releases(self, noise_multiplier: float) -> tuple[Elementary, Elementary]:
        """Return the event of the exact minimizer and that of the second noise."""
        shift = REPLACE_ONE / noise_multiplier
        if self.pure:
            return Pure(self.determinant + shift), Pure(self.tail)
        return Dominated(self.determinant + 0.5 * shift**2, shift), Gaussian(self.tail)


@dataclass(frozen=True)
class JointSums:
    """The declaration of `count` joint releases of a primal and a dual sum.

    Replacing one row moves the pair of sums, each in the unit of its noise, as one vector. With
    noise multipliers ``z / sqrt(1 - dual_share)`` and ``z / sqrt(dual_share)`` of the two
    blocks that is one noisy sum at multiplier z.
    """

    batches: FullBatch | PoissonBatches
    count: int
    dual_share: float

    def __call__(self, noise_multiplier: float) -> Event:
        return Repeated(self.batches.release(noise_multiplier), self.count)


@dataclass(frozen=True)
class NoisyKind:
    """`count` noisy sums of one kind, at `ratio` times the common noise multiplier."""

    batches: FullBatch | PoissonBatches
    count: int
    ratio: float = 1.0


@dataclass(frozen=True)
class NoisyKinds:
    """The declaration of noisy sums of several kinds, on separate batches, in this order."""

    kinds: tuple[NoisyKind, ...]

    def __call__(self, noise_multiplier: float) -> Event:
        return Composed(tuple(
            Repeated(kind.batches.release(kind.ratio * noise_multiplier), kind.count)
            for kind in self.kinds if kind.count))


@dataclass(frozen=True)
class BestRuns:
    """The declaration of the best of a geometric number of runs.

    Parameters
    ----------
    mean_runs : float
        1 is a run for sure, of which none is chosen.
    pure : bool
        Whether a run costs a loss that is the inverse of the noise multiplier, else that mu.
    chance : float
        That a run tells all of a row beside that.
    """

    mean_runs: float
    pure: bool
    chance: float

    def run(self, noise_multiplier: float) -> Event:
        """Return what one run costs."""
        event = OneRelease(self.pure)(noise_multiplier)
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
