r"""The smallest mu whose Gaussian release dominates another event.

Let an event have the privacy profile :math:`\delta(\varepsilon)`, and set a disclosure of
probability d aside. A pair with the profile :math:`v = (\delta - d)_+ / (1 - d)` that also reveals
everything with probability d has a profile at least as high. Profiles are convex functions of
:math:`a = e^\varepsilon`. Between two points where v is known it is therefore below their chord, a
line :math:`T - t a`. The Gaussian profile of mu is the largest of the lines
:math:`\Phi(\Phi^{-1}(s) + \mu) - s a`, so it is above the chord everywhere if

.. math:: \mu \ge \Phi^{-1}(T) - \Phi^{-1}(t) .

The interval is also covered if the Gaussian profile at its right end is at least v at its left
end, since profiles do not increase. The interval that needs the largest mu is bisected until that
gains little. A profile holds for both orders of any two neighbors, so negative epsilons follow. By
Blackwell's theorem the event can then be simulated from the Gaussian release.
"""

from __future__ import annotations

import math
from functools import lru_cache
from heapq import heapify, heappush, heapreplace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dpsk._privacy import accountant
from dpsk._privacy.closed_forms import ROUNDING, bounded_range_mu, gaussian_mu
from dpsk._privacy.events import Pure

if TYPE_CHECKING:
    from dpsk._privacy.elementary import Event

__all__ = ["covering_mu", "is_covered"]

#: First number of chords, most bisections after that, and the factor of mu that may be lost.
_FIRST_CHORDS, _MOST_CHORDS, _CLOSE = 8, 64, 1.001
#: Covers the rounding of quantiles.
_ROUNDING = 1 + 1e-9


@lru_cache(maxsize=256)
def covering_mu(event: Event, chance: float, enough: float = 0.0) -> float:
    """Return a mu that dominates an event, with a disclosure; infinite if none does.

    Parameters
    ----------
    event : Event
    chance : float
        The disclosure probability.
    enough : float
        A mu of at most this is not refined further.
    """
    end = accountant.epsilon(event, chance)
    if not math.isfinite(end):
        return math.inf

    def curve(epsilon: float) -> float:
        return max(0.0, (accountant.delta(event, epsilon) * ROUNDING - chance) / (1.0 - chance))

    if not end:
        # The disclosure covers the whole event, up to rounding.
        return _least_mu(0.0, curve(0.0))

    def chord(low: float, high: float, at_low: float, at_high: float) -> tuple[float, ...]:
        # The heap is ordered by negative mu, so the chord that needs the largest mu is first.
        return -_mu_above(low, high, at_low, at_high), low, high, at_low, at_high

    ends = np.linspace(0.0, end, _FIRST_CHORDS + 1).tolist()
    values = [*map(curve, ends[:-1]), 0.0]
    chords = [chord(*each, *both) for each, both in zip(pairwise(ends), pairwise(values),
                                                        strict=True)]
    heapify(chords)
    known = max(map(_least_mu, ends[:-1], values))
    for _ in range(_MOST_CHORDS):
        bound, low, high, at_low, at_high = chords[0]
        if -bound <= max(known * _CLOSE, enough):
            break
        middle = 0.5 * (low + high)
        value = curve(middle)
        known = max(known, _least_mu(middle, value))
        heapreplace(chords, chord(low, middle, at_low, value))
        heappush(chords, chord(middle, high, value, at_high))
    return -chords[0][0]


def is_covered(event: Event, mu: float, chance: float) -> bool:
    """Return whether a mu-GDP release with a disclosure dominates an event."""
    releases = accountant.merge(event)
    left = chance * ROUNDING - releases.chance
    if left < 0 or not releases.is_private:
        return False
    rest = releases.rest
    if rest.is_gaussian:
        return rest.mu <= mu
    if all(isinstance(each, Pure) for each, _ in rest.parts):
        squares = (count * bounded_range_mu(2.0 * each.pure_epsilon)**2
                   for each, count in rest.parts)
        if math.sqrt(math.fsum(squares)) * ROUNDING <= mu:
            return True
    return 0 < left < 1 and covering_mu(rest.as_event(), left, mu) <= mu


def _mu_above(low: float, high: float, at_low: float, at_high: float) -> float:
    """Return a mu whose profile covers every profile through two points, between them."""
    flat = _least_mu(high, at_low)
    width = math.exp(low) * math.expm1(high - low) if high < 700 else math.inf
    level = (at_low - at_high) / width if width < math.inf else 0.0
    power = at_low + level * math.exp(low) if level > 0 else 1.0
    if not 0 < level < power < 1:
        return flat
    return min(flat, float(ndtri(power) - ndtri(level)) * _ROUNDING)


def _least_mu(epsilon: float, delta: float) -> float:
    """Return the smallest mu whose delta at `epsilon` is at least `delta`, rounded up."""
    if delta >= 1.0:
        return math.inf
    return gaussian_mu(epsilon, delta) * _ROUNDING if delta > 0 else 0.0
