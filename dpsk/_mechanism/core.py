r"""Mechanisms: randomized maps of rows that declare their privacy cost, and their composition.

A mechanism is a frozen dataclass of public numbers. Its `event` is its privacy cost at a noise
multiplier z, and `run` releases exactly what this event declares, which the ledger enforces. One z
serves a whole fit: calibration finds it once, so that the events of all parts fit the budget.

For a single release z is the noise scale divided by the sensitivity, so the cost is
``Gaussian(1 / z)``. For sums of clipped rows it is the scale divided by the clip norm, like the
public `noise_multiplier` of certificates. z = 0 means no noise.

Budget allocation wraps a mechanism and is never part of it. In a `Composite` the costs of all
parts follow from its fields, so no cost can depend on an earlier release. The rows and the points
on which a part runs may depend on one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._privacy.events import Composed, Repeated, gaussian

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Elementary, Event

__all__ = ["Choices", "Composite", "Fixed", "Mechanism", "Priced", "Share", "Statistic",
           "mu_of"]


def mu_of(noise_multiplier: float) -> float:
    """Return the mu of a release whose noise is `noise_multiplier` times its sensitivity."""
    return 1.0 / noise_multiplier if noise_multiplier else math.inf


class Mechanism(ABC):
    """A randomized map of rows with a declared cost; a frozen dataclass of public numbers."""

    @abstractmethod
    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost at a noise multiplier, an Event."""

    @abstractmethod
    def run(self, data: Any, session: Session, noise_multiplier: float) -> Any:
        """Make the releases that `event` declares from the sensitive `data`; return the result.

        The result may be a number, an updated problem with its rows, or an object that makes
        further releases through the session.
        """

    def forewarn(self, rows: Any, noise_multiplier: float) -> None:  # noqa: B027  # few do
        """Issue warnings that follow from public facts of rows, before anything is charged."""

    def __call__(self, noise_multiplier: float) -> Event:
        """Return `event`; calibration calls a mechanism as a plan."""
        return self.event(noise_multiplier)


@dataclass(frozen=True)
class Statistic(Mechanism):
    """One Gaussian release, made by a function of data, mu and session.

    Parameters
    ----------
    ask : callable, (*data, float, Session) -> object
        Makes one release of cost `Gaussian(mu)`; its arguments before mu are the data.
    """

    ask: Callable[..., Any]

    def event(self, noise_multiplier: float) -> Event:
        """Return its privacy cost."""
        return gaussian(mu_of(noise_multiplier))

    def run(self, data: tuple[Any, ...], session: Session, noise_multiplier: float) -> Any:
        """Return the result of the release."""
        return self.ask(*data, mu_of(noise_multiplier), session)


@dataclass(frozen=True)
class Choices(Mechanism):
    """Gaussian releases of equal cost, made by a function of data, that cost and session.

    Parameters
    ----------
    ask : callable, (*data, Event, Session) -> object
        Makes the releases, or returns an object that makes them later.
    count : int
        Number of releases.
    """

    ask: Callable[..., Any]
    count: int

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost of all releases together."""
        return Repeated(self.each(noise_multiplier), self.count) if self.count else Composed(())

    def each(self, noise_multiplier: float) -> Elementary:
        """Return the privacy cost of one release."""
        return gaussian(math.sqrt(1.0 / self.count) * mu_of(noise_multiplier))

    def run(self, data: tuple[Any, ...], session: Session, noise_multiplier: float) -> Any:
        """Return the results of the releases."""
        return self.ask(*data, self.each(noise_multiplier), session)


@dataclass(frozen=True)
class Priced(Mechanism):
    """Releases with a cost set by a rule, independent of the noise multiplier.

    Parameters
    ----------
    price : Event
    ask : callable, (*data, Session) -> object
    """

    price: Event
    ask: Callable[..., Any]

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost."""
        return self.price

    def run(self, data: tuple[Any, ...], session: Session, noise_multiplier: float) -> Any:
        """Return the results of the releases."""
        return self.ask(*data, session)


@dataclass(frozen=True)
class Fixed(Mechanism):
    """A mechanism with its own noise multiplier, independent of the one of the fit."""

    mechanism: Mechanism
    noise_multiplier: float

    def event(self, noise_multiplier: float) -> Event:
        """Return its privacy cost."""
        return self.mechanism.event(self.noise_multiplier)

    def run(self, data: Any, session: Session, noise_multiplier: float) -> Any:
        """Return the result of the mechanism."""
        return self.mechanism.run(data, session, self.noise_multiplier)


@dataclass(frozen=True)
class Share(Mechanism):
    """A mechanism with a share of the fit's mu^2; with share 0 it releases nothing."""

    mechanism: Mechanism
    share: float

    def own(self, noise_multiplier: float) -> float:
        """Return the noise multiplier of the mechanism itself."""
        return noise_multiplier / math.sqrt(self.share) if self.share else math.inf

    def event(self, noise_multiplier: float) -> Event:
        """Return its privacy cost."""
        return self.mechanism.event(self.own(noise_multiplier)) if self.share else Composed(())

    def forewarn(self, rows: Any, noise_multiplier: float) -> None:
        """Issue the warnings of the mechanism."""
        if self.share:
            self.mechanism.forewarn(rows, self.own(noise_multiplier))

    def run(self, data: Any, session: Session, noise_multiplier: float) -> Any:
        """Return the result of the mechanism."""
        return self.mechanism.run(data, session, self.own(noise_multiplier))


class Composite(Mechanism):
    """Base of mechanisms that are composed of others; their costs add up.

    Subclasses define `parts` from fields alone, and run each part at most once.
    """

    @property
    @abstractmethod
    def parts(self) -> tuple[Mechanism, ...]:
        """tuple of Mechanism : all releases."""

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost of all parts that release something."""
        events = (part.event(noise_multiplier) for part in self.parts)
        return Composed(tuple(event for event in events if event != Composed(())))

    def forewarn(self, rows: Any, noise_multiplier: float) -> None:
        """Issue the warnings of all parts."""
        for part in self.parts:
            part.forewarn(rows, noise_multiplier)
