"""Charges for fits, which are the lines of the ledger of a budget."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._privacy.certificate_fields import require
from dpsk._privacy.event_dicts import event_from_dict
from dpsk._privacy.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["Charge", "made_today", "today"]


@dataclass(frozen=True)
class Charge:
    """The charge for one fit.

    Attributes
    ----------
    name : str
        Name of the estimator.
    event : Event
        The event that the fit declared.
    date : str
        The day on which it was charged, in UTC, as ``"2026-01-31"``; empty if the ledger does
        not record it.
    public : tuple of str
        Public facts of the fit, as far as they are known before the first draw.
    of_groups : bool
        Whether the fit protects groups of rows.
    reproducible : bool
        Whether its noise repeats under a `dpsk.testing.NoiseSeed`.
    """

    name: str
    event: Event
    date: str = ""
    public: tuple[str, ...] = ()
    of_groups: bool = False
    reproducible: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the ledger record, which begins with the event."""
        return {"event": self.event.to_dict(), "name": self.name, "date": self.date,
                "public": list(self.public), "of_groups": self.of_groups,
                "reproducible": self.reproducible}

    @classmethod
    def from_dict(cls, data: Any, of_groups: bool = False) -> Charge:
        """Rebuild a charge from its record, or raise a ValueError.

        Only name and event are required, as a truncated record has no more. `of_groups` is used if
        the record does not state it: a budget for groups admits only fits with groups.
        """
        require(isinstance(data, dict) and "event" in data and "name" in data, "charge", data,
                "a dictionary with an event and a name")
        name, date, public = data["name"], data.get("date", ""), data.get("public", [])
        require(isinstance(public, list) and all(type(each) is str for each in public), "public",
                public, "a list of strings")
        # The ledger is read before every charge, so the checks have to be fast.
        require(type(name) is type(date) is str, "name and date", (name, date), "strings")
        flags = data.get("of_groups", of_groups), data.get("reproducible", False)
        require(type(flags[0]) is type(flags[1]) is bool, "of_groups and reproducible", flags,
                "True or False")
        return cls(name, event_from_dict(data["event"]), date, tuple(public), *flags)


def today() -> str:
    """Return the day in UTC.

    Times of day would be a leak. The time between two charges is the duration of a fit, and that
    of a search reveals how many candidates it ran, which is secret.
    """
    return time.strftime("%Y-%m-%d", time.gmtime())


def made_today(name: str, event: Event, public: Iterable[str] = (), *, of_groups: bool = False,
               reproducible: bool = False) -> Charge:
    """Return the charge for a fit that is made today."""
    return Charge(name, event, today(), tuple(public), of_groups, reproducible)
