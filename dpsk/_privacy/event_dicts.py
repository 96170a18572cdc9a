"""Reading of events from dictionaries of plain types."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from dpsk._privacy import best_of  # noqa: F401  # one of the kinds
from dpsk._privacy.elementary import require
from dpsk._privacy.events import Composed, NotPrivate, Repeated, elementary_kinds

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.elementary import Event

__all__ = ["ELEMENTARY", "event_from_dict"]

#: The kinds of elementary events with noise.
ELEMENTARY = elementary_kinds()
_EVENTS: dict[str, Any] = {cls.__name__: cls for cls in (*ELEMENTARY, NotPrivate, Repeated,
                                                         Composed)}


def event_from_dict(data: dict[str, Any]) -> Event:
    """Rebuild an event from the dictionary that its `to_dict` returned.

    Raises
    ------
    ValueError
        If the kind is unknown, fields differ, or values are out of range.
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
