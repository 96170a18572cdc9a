"""The record of what a fit has released, held against what it declared."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dpsk._privacy.events import Composed, Repeated, tally

if TYPE_CHECKING:
    from dpsk._privacy.elementary import Elementary, Event

__all__ = ["GroupLedger", "Ledger"]


class Ledger:
    """Charge releases against a plan: all that one row may pay, declared before the first draw."""

    def __init__(self, plan: Event) -> None:
        self.plan = plan
        self._left = tally(plan)
        self._groups: list[GroupLedger] = []

    def charge(self, event: Elementary, count: int = 1) -> None:
        """Record `count` releases of the elementary `event`, before they are drawn.

        A RuntimeError if the plan holds fewer of them; nothing is recorded then.
        """
        # Hashing an event takes longer than the rest, so it is looked up as seldom as can be.
        left = self._left[event] - count
        if left < 0 and not event.protects and event in self._left:
            # What tells all may do so again: there is no price to add up.
            left = 0
        if left < 0 or (self._groups and left < self._most_in_a_group(event)):
            raise _not_declared(event)
        self._left[event] = left

    def groups(self, count: int) -> list[GroupLedger]:
        """Return a ledger for each of `count` disjoint groups of rows.

        A row is in one group at most. It pays for what all rows answered together and for the
        answers of its own group, not for those of others (parallel composition). So each group
        has what is left of the whole plan to itself. That groups are disjoint, and that an
        answer charged to a group reads the rows of no other, is for the oracle to see to. If there
        are groups already, a row is in one of each kind and pays for both: a RuntimeError.
        """
        if self._groups:
            raise RuntimeError("The rows are in groups already, which others may overlap; a fit "
                               "may split its rows once.")
        self._groups = [GroupLedger(self._left) for _ in range(count)]
        return list(self._groups)

    @property
    def spent(self) -> Composed:
        """Event : the most that any one row has paid, release by release."""
        charged = tally(self.plan)
        charged.subtract(self._left)
        for event in charged:
            charged[event] += self._most_in_a_group(event)
        return Composed(tuple(Repeated(event, count) for event, count in charged.items() if count))

    def _most_in_a_group(self, event: Elementary) -> int:
        return max((group.spent[event] for group in self._groups), default=0)


class GroupLedger:
    """Charges of one disjoint group of rows; `left` is what the whole ledger has left."""

    def __init__(self, left: Counter[Elementary]) -> None:
        self._left = left
        self.spent: Counter[Elementary] = Counter()

    def charge(self, event: Elementary, count: int = 1) -> None:
        """Record releases that read the rows of this group only; as `Ledger.charge`."""
        if self.spent[event] + count > self._left[event]:
            raise _not_declared(event)
        self.spent[event] += count


def _not_declared(event: Event) -> RuntimeError:
    return RuntimeError(f"The release {event!r} is not in the declared plan, or is used up; a "
                        "solver may only ask for what its queries() declare.")
