"""What a mechanism releases, stated as frozen facts.

An event says how much one release can tell about one row, under the replace-one
relation and with ``n`` public. Events are never redefined: a better bound for a
release is a new event. Those of one release are elementary; those here hold other events. Only
the accountant turns several into (epsilon, delta).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from dpsk._privacy.disclosures import Disclosure, NotPrivate, gaussian
from dpsk._privacy.elementary import (
    Dominated,
    Elementary,
    Event,
    Gaussian,
    Pure,
    SampledGaussian,
    finite,
    require,
)

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.elementary import Counts, Parts
    from dpsk._privacy.pld.distributions import LossLaw

__all__ = ["ELEMENTARY", "BestOf", "Composed", "Disclosure", "Dominated", "Elementary", "Event",
           "Gaussian", "NotPrivate", "Pure", "Repeated", "SampledGaussian", "event_from_dict",
           "gaussian", "tally"]


@dataclass(frozen=True)
class Repeated(Event):
    """The same kind of release, `count` times, each free to depend on the earlier ones.

    Only their kind, numbers and noise are fixed beforehand.

    Parameters
    ----------
    event : Event
        What is released each time.
    count : int
        How often, >= 0.

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
    """Several releases on the same rows, each free to depend on the earlier ones.

    Only their kinds, numbers and noise are fixed beforehand.

    Parameters
    ----------
    events : tuple of Event
        What is released, in any order.

    See Also
    --------
    compose : Makes one of events and certificates.
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
        return _selection().pure_epsilon(self)

    def simplified(self) -> Elementary | None:
        # With its run in normal form.
        return _selection().simplified(self)

    @classmethod
    def merged(cls, counts: Counts) -> Parts:
        # Chances to tell all stand beside the best of what else runs release.
        return _selection().apart(counts)

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        # The bound for one; none for several.
        return (_selection().delta(self, epsilon), "selection") if count == 1 else None

    def loss_law(self) -> LossLaw:
        # The law whose curve runs through points of the bound.
        return _selection().loss_law(self)

    @property
    def loss_variance(self) -> float:
        """float : that of a run, and more the more runs there are."""
        run = sum(count * event.loss_variance for event, count in tally(self.event).items())
        return run * (1.0 + 0.25 * math.log(self.mean_runs)) ** 2


def _selection() -> Any:
    # What a run costs the accountant says, which prices this event too.
    from dpsk._privacy import selection
    return selection


#: The kinds of elementary events with a price, in the order in which the accountant takes them.
ELEMENTARY = tuple(kind for kind in Elementary.__subclasses__()
                   if kind.protects)  # type: ignore[truthy-function]  # a constant of most
_EVENTS = {cls.__name__: cls for cls in (*ELEMENTARY, NotPrivate, Repeated, Composed)}


def tally(event: Event) -> Counter[Elementary]:
    """Count the elementary releases in `event`, as a `collections.Counter`."""
    counts: Counter[Elementary] = Counter()
    _tally(event, 1, counts)
    return counts


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
        raise TypeError(f"{type(event).__name__} is not an event the accountant knows; "
                        f"it knows {', '.join(_EVENTS)}.")


def event_from_dict(data: dict[str, Any]) -> Event:
    """Rebuild an event from the dictionary its `to_dict` made.

    Raises
    ------
    ValueError
        If it has another kind, other fields, or values out of range.
    """
    require(isinstance(data, dict), "event", data, "a dictionary")
    kwargs = dict(data)
    kind = kwargs.pop("kind", None)
    require(isinstance(kind, str) and kind in _EVENTS, "kind of event", kind,
             f"one of {', '.join(_EVENTS)}")
    names = [f.name for f in fields(_EVENTS[kind])]
    require(set(kwargs) == set(names), f"fields of {kind}", sorted(map(str, kwargs)),
             ", ".join(names))
    if "event" in kwargs:
        kwargs["event"] = event_from_dict(kwargs["event"])
    if "events" in kwargs:
        require(isinstance(kwargs["events"], list), "events", kwargs["events"], "a list")
        kwargs["events"] = tuple(event_from_dict(e) for e in kwargs["events"])
    return _EVENTS[kind](**kwargs)
