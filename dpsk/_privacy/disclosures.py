"""Events that may reveal a row completely: with small probability, or always."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpsk._privacy.closed_forms import ROUNDING
from dpsk._privacy.elementary import Counts, Elementary, Gaussian, Parts, finite, require

__all__ = ["Disclosure", "NotPrivate", "gaussian"]


@dataclass(frozen=True)
class Disclosure(Elementary):
    """A release that reveals a row with probability at most `delta`, else nothing.

    Composed with other releases of delta d, the total delta is ``delta + (1 - delta) d``.

    Parameters
    ----------
    delta : float in [0, 1]
        The disclosure probability.

    See Also
    --------
    NotPrivate : A release without noise.

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
        """float : infinite, or 0 if `delta` is 0."""
        return math.inf if self.delta > 0 else 0.0

    def simplified(self) -> Elementary | None:
        return self if self.delta > 0 else None

    @classmethod
    def merged(cls, counts: Counts) -> Parts:
        # One event for all: the probability that at least one of them happens.
        counts = list(counts)
        if len(counts) == 1 and counts[0][1] == 1:
            return tuple(counts)
        never = sum(count * (math.log1p(-event.delta) if event.delta < 1 else -math.inf)
                    for event, count in counts)
        return ((cls(min(1.0, -math.expm1(never) * ROUNDING)), 1),) if counts else ()

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        # The bound is the same at every epsilon.
        ((event, _),) = self.merged([(self, count)])
        return event.delta, "closed form"  # type: ignore[attr-defined]  # it is one of these

    @property
    def loss_variance(self) -> float:
        """float : 0, the variance of the loss without a disclosure."""
        return 0.0


@dataclass(frozen=True)
class NotPrivate(Elementary):
    """A release without noise, which may reveal a row completely.

    No budget admits it: its delta is 1 at every finite epsilon.

    See Also
    --------
    Disclosure : A release that reveals a row with small probability.

    Examples
    --------
    >>> from dpsk.accounting import NotPrivate, epsilon
    >>> epsilon(NotPrivate(), 1e-5)
    inf
    """

    protects = False

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        return 1.0, "no noise"


def gaussian(mu: float) -> Elementary:
    """Return the event of a mu-GDP release; an infinite `mu` means no noise."""
    return Gaussian(mu) if mu < math.inf else NotPrivate()
