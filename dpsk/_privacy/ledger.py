"""The record of what a fit has released, held against what it declared."""

from collections import Counter

from dpsk._privacy.events import Composed, Repeated, tally

__all__ = ["Ledger"]


class Ledger:
    """Charge releases against a declared plan.

    Parameters
    ----------
    plan : Event
        Everything the fit declared before the first draw.
    """

    def __init__(self, plan):
        self.plan = plan
        self._left = tally(plan)
        self._spent = Counter()

    def charge(self, event, count=1):
        """Record `count` releases of the elementary `event`, before they are drawn.

        Raises
        ------
        RuntimeError
            If the plan holds fewer of them; nothing is recorded then.
        """
        if self._left[event] < count:
            raise RuntimeError(f"The release {event!r} is not in the declared plan, or is used "
                               "up; a solver may only ask for what its plan() declares.")
        self._left[event] -= count
        self._spent[event] += count

    @property
    def spent(self):
        """Event : everything charged so far."""
        return Composed(tuple(Repeated(event, count) for event, count in self._spent.items()))
