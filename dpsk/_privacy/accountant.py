"""Convert events to (epsilon, delta): the only module that multiplies by counts.

Events of one kind are merged first, and some kinds then have a closed form. All others are
composed as privacy loss distributions. The event classes hold what is specific to a kind. Every
result is an upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpsk._privacy.bracket import smallest_passing
from dpsk._privacy.closed_forms import ROUNDING, gaussian_epsilon, gaussian_mu, rounded_up
from dpsk._privacy.events import (
    Composed,
    Disclosure,
    Gaussian,
    NotPrivate,
    Repeated,
    elementary_kinds,
    tally,
)
from dpsk._privacy.pld.composition import loss_bound

if TYPE_CHECKING:
    from dpsk._privacy.elementary import Elementary, Event, Parts

__all__ = ["Account", "Releases", "account", "delta", "epsilon",
           "left_beside", "merge", "mu_beside"]

_LEAST = math.ulp(0.0)
#: Upper end of the search for epsilon.
_MOST = 1e30
#: Tail masses of evaluations, tried in turn; the least of their bounds counts.
_TAILS = (1e-15, 1e-20, 1e-25, 1e-30, 1e-40, 1e-55, 1e-75, 1e-100, 1e-140, 1e-200, 1e-290)
#: A bound is final at this multiple of its tail ...
_ABOVE_TAIL = 100.0
#: ... if it is not tiny, or if at most this share of it covers the transform's error.
_TINY = 1e-13
_SMALL_SHARE = 1e-3
#: Covers the rounding of sums of losses.
_LOSS_ROUNDING = 1 - 1e-14


@dataclass(frozen=True)
class Account:
    """Upper bound on delta at one epsilon, and how it was computed.

    Attributes
    ----------
    epsilon, delta : float
        The release is (epsilon, delta)-differentially private under replace-one.
    method : {"closed form", "optimal composition", "loss distribution", "no noise"}
        How `delta` was bounded.
    fft_share : float
        Fraction of `delta`, without disclosures, that only covers rounding in the FFT.
    grid_step : float
        Spacing of the loss grid; 0 if no grid was used.
    """

    epsilon: float
    delta: float
    method: str
    fft_share: float = 0.0
    grid_step: float = 0.0


@dataclass(frozen=True)
class Releases:
    """An event in normal form.

    Attributes
    ----------
    parts : tuple of (Event, int)
        Simplified elementary events, merged within a kind, and the count of each.
    """

    parts: Parts

    @property
    def pure_epsilon(self) -> float:
        """Upper bound on the privacy loss; infinite with Gaussian noise."""
        if any(math.isinf(event.pure_epsilon) for event, _ in self.parts):
            return math.inf
        return rounded_up(sum(Fraction(event.pure_epsilon) * count for event, count in self.parts))

    @property
    def is_private(self) -> bool:
        """Whether every release has noise."""
        return all(event.protects for event, _ in self.parts)

    @property
    def is_gaussian(self) -> bool:
        """Whether every release is full-batch Gaussian noise."""
        return all(isinstance(event, Gaussian) for event, _ in self.parts)

    @property
    def chance(self) -> float:
        """Probability of a full disclosure, which no noise reduces."""
        return sum(event.delta for event, _ in self.parts if isinstance(event, Disclosure))

    @property
    def rest(self) -> Releases:
        """All releases except the disclosures."""
        return Releases(tuple(part for part in self.parts if not isinstance(part[0], Disclosure)))

    def as_event(self) -> Event:
        """Return one event that holds all releases."""
        events = [event if count == 1 else Repeated(event, count) for event, count in self.parts]
        return events[0] if len(events) == 1 else Composed(tuple(events))

    @property
    def mu(self) -> float:
        """The mu of all full-batch Gaussian releases together."""
        return sum(event.mu for event, _ in self.parts if isinstance(event, Gaussian))


def merge(event: Event) -> Releases:
    """Return an event in normal form, with one Gaussian for all full-batch releases.

    If any release has no noise, the result is a single `NotPrivate`.
    """
    kinds: dict[type[Elementary], list[tuple[Elementary, int]]] = {
        kind: [] for kind in elementary_kinds()}
    for part, count in tally(event).items():
        simple = part.simplified()
        if simple is not None:
            kinds.setdefault(type(simple), []).append((simple, count))
    if NotPrivate in kinds:
        return Releases(((NotPrivate(), 1),))
    return Releases(tuple(part for kind, counts in kinds.items() for part in kind.merged(counts)))


def account(event: Event, epsilon: float) -> Account:
    """Return an `Account` with a bound on delta at a finite `epsilon` >= 0."""
    releases = merge(event)
    result = account_merged(releases, epsilon)
    if result.delta == 0 and releases.pure_epsilon > result.epsilon:
        # The delta underflowed to 0, but the loss can exceed epsilon.
        return replace(result, delta=_LEAST)
    return result


def account_merged(releases: Releases, epsilon: float, coarsen: float = 1.0) -> Account:
    """Return the `Account` of merged releases, on a loss grid coarser by a factor."""
    epsilon = float(epsilon)
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon={epsilon!r}: must be a finite number >= 0.")
    if not releases.parts:
        return Account(epsilon, 0.0, "closed form")
    if len(releases.parts) == 1:
        (event, count), = releases.parts
        exact = event.closed_form(count, epsilon)
        if exact is not None:
            return Account(epsilon, *exact)
    if releases.chance:
        account = account_merged(releases.rest, epsilon, coarsen)
        both = releases.chance + (1.0 - releases.chance) * account.delta
        return replace(account, delta=min(1.0, both * ROUNDING))
    if releases.pure_epsilon <= epsilon:
        return Account(epsilon, 0.0, "optimal composition")
    return _account_loss(releases, epsilon, coarsen)


def _account_loss(releases: Releases, epsilon: float, coarsen: float) -> Account:
    # Where losses are bounded, rounding may hide that the largest one exceeds epsilon.
    least_loss = epsilon * (_LOSS_ROUNDING if math.isfinite(releases.pure_epsilon) else 1.0)
    bounds = []
    for tail in _TAILS:
        bound = loss_bound(releases.parts, least_loss, tail=tail, coarsen=coarsen)
        bounds.append(bound)
        resolved = bound.delta >= _TINY or bound.fft <= _SMALL_SHARE * bound.delta
        if resolved and bound.delta >= _ABOVE_TAIL * tail:
            break
    # Rare large losses beside many small ones are resolved only where the tail lies between them.
    least = min(bounds, key=lambda bound: bound.delta)
    share = least.fft / least.delta if least.delta > 0 else 0.0
    return Account(epsilon, least.delta, "loss distribution", share, least.step)


def delta(event: Event, epsilon: float) -> float:
    """Upper bound, in [0, 1], on the delta of a release at a finite `epsilon` >= 0.

    The result is 0 exactly if the loss never exceeds `epsilon`, for example if nothing is
    released. A positive delta below the smallest positive double is rounded up to it.

    Examples
    --------
    >>> from dpsk._privacy.events import Gaussian
    >>> round(delta(Gaussian(1.0), 1.0), 6)
    0.126937
    """
    return account(event, epsilon).delta


def epsilon(event: Event, delta: float) -> float:
    """Upper bound on the epsilon of a release at `delta` in [0, 1].

    The delta of `account` at the result is at most `delta`. The result exceeds the smallest such
    epsilon by at most a fraction 1e-6, or is at most 1e-9. It is infinite for ``delta = 0`` unless
    the loss of every release is bounded.

    Examples
    --------
    >>> from dpsk._privacy.events import Pure, Repeated
    >>> epsilon(Repeated(Pure(0.5), 4), 0.0)
    2.0
    """
    delta = float(delta)
    if not 0 <= delta <= 1:
        raise ValueError(f"delta={delta!r}: must be in [0, 1].")
    return _epsilon(merge(event), delta)


def _epsilon(releases: Releases, delta: float) -> float:
    if delta == 0:
        return releases.pure_epsilon
    if delta == 1:
        return 0.0
    if not releases.is_private:
        return math.inf
    if releases.chance:
        left = left_beside(delta, releases.chance)
        return _epsilon(releases.rest, left) if left > 0 else math.inf
    if releases.is_gaussian:
        # Twice the rounding slack, so that delta evaluated at the result stays below its target.
        return gaussian_epsilon(releases.mu, delta / ROUNDING**2)
    return _solve_epsilon(releases, delta)


def left_beside(delta: float, chance: float) -> float:
    """Return the delta left after a disclosure of probability `chance`; at least 0."""
    return max(0.0, (delta / ROUNDING**2 - chance) / (1.0 - chance)) if chance < 1 else 0.0


def mu_beside(epsilon: float, delta: float, chance: float) -> float:
    """Return the largest mu within a budget that also has a disclosure probability."""
    return gaussian_mu(epsilon, left_beside(delta, chance) if chance else delta)


def _solve_epsilon(releases: Releases, delta: float) -> float:
    def excess(epsilon: float, coarsen: float = 1.0) -> float:
        return log_ratio(account_merged(releases, epsilon, coarsen).delta, delta)

    if excess(0.0) <= 0:
        return 0.0
    most = releases.pure_epsilon
    guess, slope = min(most, 1.0), -5.0
    if len(releases.parts) > 1 or releases.parts[0][0].closed_form(1, guess) is None:
        guess, slope = smallest_passing(lambda e: excess(e, 8.0), guess, slope=slope,
                                        rtol=1e-3, low=1e-9, high=_MOST)
        if guess == math.inf:
            # The bound of a search may never fall to a tiny delta.
            return most
    result, _ = smallest_passing(excess, guess, slope=slope, rtol=1e-6, low=1e-9,
                                 high=_MOST)
    return min(result, most)


def log_ratio(value: float, target: float) -> float:
    """``log(value / target)``, minus infinity at ``value = 0``."""
    return math.log(value) - math.log(target) if value > 0 else -math.inf
