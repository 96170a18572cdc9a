"""Releases that may tell all of a row: rarely, or always."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpsk._privacy.closed_forms import ROUNDING
from dpsk._privacy.elementary import Counts, Elementary, Gaussian, Parts, finite, require

__all__ = ["Disclosure", "NotPrivate", "gaussian"]


@dataclass(frozen=True)
class Disclosure(Elementary):
    """A release that reveals a row with probability at most `delta`, else nothing.

    Beside other releases it adds to their delta: of what they and it release together
    ``delta + (1 - delta) d`` is the delta, with d that of the others.

    Parameters
    ----------
    delta : float in [0, 1]
        The probability.

    See Also
    --------
    NotPrivate : A release that may tell all, always.

    Examples
    --------
    >>> from dpsk.accounting import Disclosure, Gaussian, delta
    >>> both = delta([Gaussian(mu=0.1), Disclosure(1e-6)], 1.0)
    >>> 1e-6 <= both < 1.1e-6
    True
    """

    delta: float

    def __post_init__(self) -> None:
        require(finite(self.delta) and 0 <= self.delta <= 1, "delta", self.delta,
                 "a number in [0, 1]")

    @property
    def pure_epsilon(self) -> float:
        """float : infinite, unless it never happens."""
        return math.inf if self.delta > 0 else 0.0

    def simplified(self) -> Elementary | None:
        return self if self.delta > 0 else None

    @classmethod
    def merged(cls, counts: Counts) -> Parts:
        # One for all: that one of them happens.
        counts = list(counts)
        if len(counts) == 1 and counts[0][1] == 1:
            return tuple(counts)
        never = sum(count * (math.log1p(-event.delta) if event.delta < 1 else -math.inf)
                    for event, count in counts)
        return ((cls(min(1.0, -math.expm1(never) * ROUNDING)), 1),) if counts else ()

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        # Whatever the epsilon.
        ((event, _),) = self.merged([(self, count)])
        return event.delta, "closed form"  # type: ignore[attr-defined]  # it is one of these

    @property
    def loss_variance(self) -> float:
        """float : none, where it does not happen."""
        return 0.0


@dataclass(frozen=True)
class NotPrivate(Elementary):
    """A release without noise, which may tell all of a row.

    No budget holds it: its delta is 1 at every finite epsilon.

    See Also
    --------
    Disclosure : A release that rarely tells all.

    Examples
    --------
    >>> from dpsk.accounting import NotPrivate, epsilon
    >>> epsilon(NotPrivate(), 1e-5)
    inf
    """

    protects = False

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        # Whatever the epsilon.
        return 1.0, "no noise"


def gaussian(mu: float) -> Elementary:
    """Return the event of Gaussian noise that costs `mu`; infinite where there is none."""
    return Gaussian(mu) if mu < math.inf else NotPrivate()
