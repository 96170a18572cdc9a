"""Spread of targets about their median, in octaves, for targets that often are the median.

Where many targets are equal (integers, ratings), most candidate points for a quantile lie between
two target values, and the candidates next to the median outweigh all others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dpsk._statistics.quantiles import noisy_octaves, sizes_above

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import FloatArray

__all__ = ["DOUBLE", "SAME", "apart", "away_from", "released_spread"]

#: The least half width of bounds that are used in double precision only, over their middle.
DOUBLE = 1e-12
#: Relative distance within which a target equals the median, which has nine digits.
SAME = 2e-8
#: Bounds closer to the median than this share of the spread hold no other target; they are then
#: moved to this many spreads from it.
_NARROW, _REACH = 0.5, 2.0


def released_spread(rows: RowSource, away: Callable[..., FloatArray], median: float,
                    on_median: tuple[int, float], event: Elementary, session: Session) -> float:
    """Return the end of the octave that holds most distances of targets from their median.

    `away` gives the distances for a part of the rows. `on_median` is the index of the end for
    which targets equal to the median count, and their weight.
    """
    return noisy_octaves(rows, away_from(median, away), 1, on_median, event, session)


def away_from(median: float, away: Callable[..., FloatArray]) -> Callable[..., FloatArray]:
    """Return a function for distances from a median, 0 for targets equal to the median."""
    return partial(sizes_above, SAME * abs(median), away)


def apart(median: float, spread: float, low: float, high: float) -> tuple[float, float]:
    """Return bounds on targets, widened where only targets equal to the median lie within."""
    if max(high - median, median - low) < _NARROW * spread:
        return median - _REACH * spread, median + _REACH * spread
    return low, high
