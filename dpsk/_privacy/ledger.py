"""The record of what a fit has released, held against what it declared."""

from collections import Counter

from dpsk._privacy.events import Composed, Repeated, tally

__all__ = ["Ledger"]


class Ledger:
    """Charge releases against a declared plan.

    Parameters
    ----------
    plan : Event
        Everything that one row may pay for, declared before the first draw.
    """

    def __init__(self, plan):
        self.plan = plan
        self._declared = tally(plan)
        self._common = Counter()
        self._groups = []

    def charge(self, event, count=1):
        """Record `count` releases of the elementary `event`, before they are drawn.

        Raises
        ------
        RuntimeError
            If the plan holds fewer of them; nothing is recorded then.
        """
        self._require(event, count, self._paid_by_one_row(event))
        self._common[event] += count

    def groups(self, count):
        """Return a ledger for each of `count` disjoint groups of rows.

        A row is in one group at most. It pays for what all rows answered together and for the
        answers of its own group, not for those of others (parallel composition). So each group
        has what is left of the whole plan to itself. That groups are disjoint, and that an
        answer charged to a group reads the rows of no other, is for the oracle to see to.
        """
        opened = [_GroupLedger(self) for _ in range(count)]
        self._groups += opened
        return opened

    @property
    def spent(self):
        """Event : the most that any one row has paid, release by release."""
        events = dict.fromkeys(event for part in (self, *self._groups) for event in part._common)
        return Composed(tuple(Repeated(event, self._paid_by_one_row(event)) for event in events))

    def _paid_by_one_row(self, event):
        return self._common[event] + max((group._common[event] for group in self._groups),
                                         default=0)

    def _require(self, event, count, paid):
        if self._declared[event] - paid < count:
            raise RuntimeError(f"The release {event!r} is not in the declared plan, or is used "
                               "up; a solver may only ask for what its plan() declares.")


class _GroupLedger:
    """What one of several disjoint groups of rows has answered."""

    def __init__(self, whole):
        self._whole = whole
        self._common = Counter()

    def charge(self, event, count=1):
        """Record releases that read the rows of this group only; as `Ledger.charge`."""
        self._whole._require(event, count, self._whole._common[event] + self._common[event])
        self._common[event] += count
