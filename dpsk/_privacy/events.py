"""What a mechanism releases, stated as frozen facts.

An event says how much one release can tell about one row, under the replace-one
relation and with ``n`` public. Events are never redefined: a better bound for a
release is a new event. Only the accountant turns events into (epsilon, delta).
"""

import math
from collections import Counter
from dataclasses import dataclass, fields

__all__ = ["Composed", "Dominated", "Event", "Gaussian", "Pure", "Repeated", "SampledGaussian",
           "event_from_dict", "tally"]


class Event:
    """A release, or several; subclasses are frozen dataclasses of public numbers."""

    def to_dict(self):
        """Return a dictionary of plain JSON types, undone by `event_from_dict`."""
        values = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return {"kind": type(self).__name__, **values}


@dataclass(frozen=True)
class Gaussian(Event):
    """A release that is mu-GDP: no easier to tell apart than N(0, 1) from N(mu, 1)."""

    mu: float

    def __post_init__(self):
        _require(_finite(self.mu) and self.mu >= 0, "mu", self.mu, "a finite number >= 0")


@dataclass(frozen=True)
class SampledGaussian(Event):
    """The noisy sum of a Poisson sample.

    Every row enters independently with probability `sampling_rate`; the clipped sum
    gets noise of standard deviation `noise_multiplier` times the clip norm.
    Dominated by ``(1-q) N(0, z^2) + q N(1, z^2)`` against its mirror image.
    """

    sampling_rate: float
    noise_multiplier: float

    def __post_init__(self):
        _require(_finite(self.sampling_rate) and 0 <= self.sampling_rate <= 1,
                 "sampling_rate", self.sampling_rate, "a number in [0, 1]")
        _require(_finite(self.noise_multiplier) and self.noise_multiplier > 0,
                 "noise_multiplier", self.noise_multiplier, "a finite number > 0")


@dataclass(frozen=True)
class Pure(Event):
    """A release whose privacy loss never exceeds `epsilon`.

    Covers a Laplace vector (l1 sensitivity over scale) and the density
    proportional to ``exp(-epsilon ||z|| / sensitivity)``.
    """

    epsilon: float

    def __post_init__(self):
        _require(_finite(self.epsilon) and self.epsilon >= 0,
                 "epsilon", self.epsilon, "a finite number >= 0")


@dataclass(frozen=True)
class Dominated(Event):
    """A release whose privacy loss is at most ``offset + slope Rho``, in both directions.

    `Rho` is the length of a standard normal vector in a plane, a Rayleigh variable, under the
    data set that the loss is taken of. Bounds the minimiser of an objective with a random
    linear term, which is not a Gaussian mechanism.
    """

    offset: float
    slope: float

    def __post_init__(self):
        for name in ("offset", "slope"):
            value = getattr(self, name)
            _require(_finite(value) and value >= 0, name, value, "a finite number >= 0")


@dataclass(frozen=True)
class Repeated(Event):
    """The same kind of release, `count` times, each free to depend on the earlier ones."""

    event: Event
    count: int

    def __post_init__(self):
        whole = isinstance(self.count, int) and not isinstance(self.count, bool)
        _require(whole and self.count >= 0, "count", self.count, "an int >= 0")
        _require(isinstance(self.event, Event), "event", self.event, "an Event")


@dataclass(frozen=True)
class Composed(Event):
    """Several releases on the same rows, each free to depend on the earlier ones."""

    events: tuple

    def __post_init__(self):
        ok = isinstance(self.events, tuple) and all(isinstance(e, Event) for e in self.events)
        _require(ok, "events", self.events, "a tuple of Event")


_ELEMENTARY = (Gaussian, SampledGaussian, Pure, Dominated)
_EVENTS = {cls.__name__: cls for cls in (*_ELEMENTARY, Repeated, Composed)}


def tally(event):
    """Count the elementary releases in `event`, as a `collections.Counter`."""
    counts = Counter()
    _tally(event, 1, counts)
    return counts


def _tally(event, times, counts):
    if isinstance(event, Repeated):
        _tally(event.event, times * event.count, counts)
    elif isinstance(event, Composed):
        for part in event.events:
            _tally(part, times, counts)
    elif isinstance(event, _ELEMENTARY):
        if times:
            counts[event] += times
    else:
        raise TypeError(f"{type(event).__name__} is not an event the accountant knows; "
                        f"it knows {', '.join(_EVENTS)}.")


def event_from_dict(data):
    """Rebuild an event from the dictionary its `to_dict` made."""
    kwargs = dict(data)
    cls = _EVENTS[kwargs.pop("kind")]
    if "event" in kwargs:
        kwargs["event"] = event_from_dict(kwargs["event"])
    if "events" in kwargs:
        kwargs["events"] = tuple(event_from_dict(e) for e in kwargs["events"])
    return cls(**kwargs)


def _plain(value):
    if isinstance(value, Event):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def _finite(value):
    return isinstance(value, (int, float)) and math.isfinite(value)


def _require(ok, name, value, rule):
    if not ok:
        raise ValueError(f"{name}={value!r}: must be {rule}.")
