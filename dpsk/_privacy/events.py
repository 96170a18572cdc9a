"""Events: frozen descriptions of the releases of a mechanism.

An event says how much one release can reveal about one row, under the replace-one
relation and with ``n`` public. Events are never redefined: a better bound for a
release is a new event. Elementary events describe one release; the events here hold other
events. Only the accountant converts events to (epsilon, delta).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._privacy.disclosures import Disclosure, NotPrivate, gaussian
from dpsk._privacy.elementary import (
    Dominated,
    Elementary,
    Event,
    Gaussian,
    Pure,
    SampledGaussian,
    require,
)

if TYPE_CHECKING:

    pass

__all__ = ["Composed", "Disclosure", "Dominated", "Elementary", "Event", "Gaussian", "NotPrivate",
           "Pure", "Repeated", "SampledGaussian", "elementary_kinds", "gaussian", "tally",
           "written"]

#: A number with digits after the point, or an exponent.
_FRACTION = re.compile(r"\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+")


@dataclass(frozen=True)
class Repeated(Event):
    """`count` releases of one kind, chosen adaptively.

    Only their kind, count and noise are fixed in advance.

    Parameters
    ----------
    event : Event
        The event of each release.
    count : int
        Number of releases, >= 0.

    See Also
    --------
    Composed : Releases of several kinds.

    Examples
    --------
    >>> from dpsk.accounting import Gaussian, Repeated, epsilon
    >>> ten = epsilon(Repeated(Gaussian(mu=0.1), 10), 1e-5)
    >>> round(ten, 3) == round(epsilon(Gaussian(mu=0.1 * 10**0.5), 1e-5), 3)
    True
    """

    event: Event
    count: int

    def __post_init__(self) -> None:
        whole = isinstance(self.count, int) and not isinstance(self.count, bool)
        require(whole and self.count >= 0, "count", self.count, "an int >= 0")
        require(isinstance(self.event, Event), "event", self.event, "an Event")


@dataclass(frozen=True)
class Composed(Event):
    """Several releases on the same rows, each of which may depend on the earlier ones.

    Only their kinds, counts and noise are fixed in advance.

    Parameters
    ----------
    events : tuple of Event
        The events of the releases, in any order.

    See Also
    --------
    compose : Combine events and certificates into one event.
    Repeated : Releases of one kind.

    Examples
    --------
    >>> from dpsk.accounting import Composed, Gaussian, Pure, delta
    >>> both = Composed((Gaussian(mu=0.5), Pure(0.1)))
    >>> delta(both, 1.0) > delta(Gaussian(mu=0.5), 1.0)
    True
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        ok = isinstance(self.events, tuple) and all(isinstance(e, Event) for e in self.events)
        require(ok, "events", self.events, "a tuple of Event")


def tally(event: Event) -> Counter[Elementary]:
    """Count the elementary releases in `event`, as a `collections.Counter`."""
    counts: Counter[Elementary] = Counter()
    _tally(event, 1, counts)
    return counts


def written(event: Event) -> str:
    """Return `event` as text: the number of releases of each kind, with four digits."""
    plain = " + ".join(f"{count} x {each!r}" for each, count in tally(event).items())
    return _FRACTION.sub(lambda number: f"{float(number[0]):.4g}", plain)


def _tally(event: Event, times: int, counts: Counter[Elementary]) -> None:
    if isinstance(event, Repeated):
        _tally(event.event, times * event.count, counts)
    elif isinstance(event, Composed):
        for part in event.events:
            _tally(part, times, counts)
    elif isinstance(event, Elementary):
        if times:
            counts[event] += times
    else:
        known = (*elementary_kinds(), NotPrivate, Repeated, Composed)
        raise TypeError(f"{type(event).__name__} is not an event the accountant knows; "
                        f"it knows {', '.join(cls.__name__ for cls in known)}.")


def elementary_kinds() -> tuple[type[Elementary], ...]:
    """Return the kinds of elementary events with noise, in the order of merging."""
    return tuple(kind for kind in Elementary.__subclasses__()
                 if kind.protects)  # type: ignore[truthy-function]  # a constant of most
