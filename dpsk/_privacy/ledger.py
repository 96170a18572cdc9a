"""Ledger of a fit: its releases, checked against the plan declared before them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dpsk._privacy.events import Composed, Repeated, tally

if TYPE_CHECKING:
    from dpsk._privacy.elementary import Elementary, Event

__all__ = ["GroupLedger", "Ledger"]


class Ledger:
    """Charges of a fit against its plan, the most that any one row may be charged."""

    def __init__(self, plan: Event) -> None:
        self.plan = plan
        self._left = tally(plan)
        self._groups: list[GroupLedger] = []

    def charge(self, event: Elementary, count: int = 1) -> None:
        """Record `count` releases of the elementary `event`, before they are drawn.

        It raises a RuntimeError, and records nothing, if the plan has fewer of them left.
        """
        # Hashing an event is the slowest step, so there are as few lookups as possible.
        left = self._left[event] - count
        if left < 0 and not event.protects and event in self._left:
            # A release without noise may be repeated, as there is no privacy cost to add up.
            left = 0
        if left < 0 or (self._groups and left < self._most_in_a_group(event)):
            raise _not_declared(event)
        self._left[event] = left

    def groups(self, count: int) -> list[GroupLedger]:
        """Return a ledger for each of `count` disjoint groups of rows.

        A row is in at most one group. It is charged for queries on all rows and for queries on its
        own group, but not for those on other groups (parallel composition). So each group may use
        the whole remaining plan. The oracle must ensure that groups are disjoint, and that a query
        charged to a group reads no other rows. Splitting rows that are in groups already raises a
        RuntimeError, as a row would be charged in a group of each split.
        """
        if self._groups:
            raise RuntimeError("The rows are in groups already, which others may overlap; a fit "
                               "may split its rows once.")
        self._groups = [GroupLedger(self._left) for _ in range(count)]
        return list(self._groups)

    @property
    def spent(self) -> Composed:
        """Event : the largest charge to any one row, event by event."""
        charged = tally(self.plan)
        charged.subtract(self._left)
        for event in charged:
            charged[event] += self._most_in_a_group(event)
        return Composed(tuple(Repeated(event, count) for event, count in charged.items() if count))

    def _most_in_a_group(self, event: Elementary) -> int:
        return max((group.spent[event] for group in self._groups), default=0)


class GroupLedger:
    """Charges of one disjoint group of rows; `left` is the remaining plan of the fit."""

    def __init__(self, left: Counter[Elementary]) -> None:
        self._left = left
        self.spent: Counter[Elementary] = Counter()

    def charge(self, event: Elementary, count: int = 1) -> None:
        """Record releases that read only rows of this group, as `Ledger.charge` does."""
        if self.spent[event] + count > self._left[event]:
            raise _not_declared(event)
        self.spent[event] += count


def _not_declared(event: Event) -> RuntimeError:
    return RuntimeError(f"The release {event!r} is not in the declared plan, or is used up; a "
                        "solver may only ask for what its queries() declare.")
