r"""Mechanisms: randomized maps of rows whose price is declared, and how they are put together.

A mechanism is a frozen dataclass of public numbers. Its `event` says what it costs at a noise
multiplier z, and `run` releases exactly that; the ledger holds it to it. One z serves for a whole
fit: it is found once, so that the events of all parts fit the budget.

For what is released once, z is the scale of the noise over the sensitivity, hence the price is
``Gaussian(1 / z)``; for sums of clipped rows it is the scale over the clip norm, as the public
`noise_multiplier` of certificates is. 0 stands for no noise.

How a budget is shared is said by position, around a mechanism and never inside it. In a
`Composite` the prices of all parts follow from fields, so that no part can be priced by what an
earlier one released; on which rows and at which points a part runs may depend on it.
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
    """Return the mu of a release of noise `noise_multiplier` times its sensitivity."""
    return 1.0 / noise_multiplier if noise_multiplier else math.inf


class Mechanism(ABC):
    """A randomized map of rows whose price is declared; a frozen dataclass of public numbers."""

    @abstractmethod
    def event(self, noise_multiplier: float) -> Event:
        """Return what all of it costs at a noise multiplier, an Event."""

    @abstractmethod
    def run(self, data: Any, session: Session, noise_multiplier: float) -> Any:
        """Release what `event` declares of `data`, which is sensitive; return what follows.

        That may be a number, a problem and rows that know more, or an object that goes on to
        answer questions through the session.
        """

    def forewarn(self, rows: Any, noise_multiplier: float) -> None:  # noqa: B027  # few do
        """Warn of what is known from public facts of rows, before anything is charged."""

    def __call__(self, noise_multiplier: float) -> Event:
        """Return `event`, which is what calibration asks for."""
        return self.event(noise_multiplier)


@dataclass(frozen=True)
class Statistic(Mechanism):
    """One Gaussian release by a function of its data, of mu and of the session.

    Parameters
    ----------
    ask : callable, (*data, float, Session) -> object
        Makes one release that costs `Gaussian(mu)`; data are its arguments before mu.
    """

    ask: Callable[..., Any]

    def event(self, noise_multiplier: float) -> Event:
        """Return what it costs."""
        return gaussian(mu_of(noise_multiplier))

    def run(self, data: tuple[Any, ...], session: Session, noise_multiplier: float) -> Any:
        """Return the answer."""
        return self.ask(*data, mu_of(noise_multiplier), session)


@dataclass(frozen=True)
class Choices(Mechanism):
    """Gaussian releases of one price by a function of its data, of that price and of the session.

    Parameters
    ----------
    ask : callable, (*data, Event, Session) -> object
        Makes them, or returns what goes on to make them.
    count : int
    """

    ask: Callable[..., Any]
    count: int

    def event(self, noise_multiplier: float) -> Event:
        """Return what all of them cost."""
        return Repeated(self.each(noise_multiplier), self.count) if self.count else Composed(())

    def each(self, noise_multiplier: float) -> Elementary:
        """Return what one of them costs."""
        return gaussian(math.sqrt(1.0 / self.count) * mu_of(noise_multiplier))

    def run(self, data: tuple[Any, ...], session: Session, noise_multiplier: float) -> Any:
        """Return the answers."""
        return self.ask(*data, self.each(noise_multiplier), session)


@dataclass(frozen=True)
class Priced(Mechanism):
    """Releases at a price by a rule of public facts, whatever the noise multiplier.

    Parameters
    ----------
    price : Event
    ask : callable, (*data, Session) -> object
    """

    price: Event
    ask: Callable[..., Any]

    def event(self, noise_multiplier: float) -> Event:
        """Return the price."""
        return self.price

    def run(self, data: tuple[Any, ...], session: Session, noise_multiplier: float) -> Any:
        """Return the answers."""
        return self.ask(*data, session)


@dataclass(frozen=True)
class Fixed(Mechanism):
    """A mechanism at a noise multiplier of its own, whatever that of the fit is."""

    mechanism: Mechanism
    noise_multiplier: float

    def event(self, noise_multiplier: float) -> Event:
        """Return what it costs."""
        return self.mechanism.event(self.noise_multiplier)

    def run(self, data: Any, session: Session, noise_multiplier: float) -> Any:
        """Return what the mechanism makes of data."""
        return self.mechanism.run(data, session, self.noise_multiplier)


@dataclass(frozen=True)
class Share(Mechanism):
    """A mechanism at a share of mu^2 of all that the fit costs; one of share 0 releases nothing.
    """

    mechanism: Mechanism
    share: float

    def own(self, noise_multiplier: float) -> float:
        """Return the noise multiplier of the mechanism itself."""
        return noise_multiplier / math.sqrt(self.share) if self.share else math.inf

    def event(self, noise_multiplier: float) -> Event:
        """Return what it costs."""
        return self.mechanism.event(self.own(noise_multiplier)) if self.share else Composed(())

    def forewarn(self, rows: Any, noise_multiplier: float) -> None:
        """Warn as the mechanism does."""
        if self.share:
            self.mechanism.forewarn(rows, self.own(noise_multiplier))

    def run(self, data: Any, session: Session, noise_multiplier: float) -> Any:
        """Return what the mechanism makes of data."""
        return self.mechanism.run(data, session, self.own(noise_multiplier))


class Composite(Mechanism):
    """Base of mechanisms that are made of others, whose prices it adds up.

    Subclasses say what the `parts` are, by fields alone, and `run` each at most once.
    """

    @property
    @abstractmethod
    def parts(self) -> tuple[Mechanism, ...]:
        """tuple of Mechanism : all that is released."""

    def event(self, noise_multiplier: float) -> Event:
        """Return what all parts cost; those that release nothing are left out."""
        events = (part.event(noise_multiplier) for part in self.parts)
        return Composed(tuple(event for event in events if event != Composed(())))

    def forewarn(self, rows: Any, noise_multiplier: float) -> None:
        """Warn as all parts do."""
        for part in self.parts:
            part.forewarn(rows, noise_multiplier)
