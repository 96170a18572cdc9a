"""How far from their median targets lie that are not the median itself, in octaves.

Between the numbers of whole targets, ratings, or targets of which many are the same, lie most
points that a quantile may be, and those beside the median outweigh all others.
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

__all__ = ["apart", "released_spread"]

#: Of a median, what its nine digits and single precision leave of a target that is the median.
_SAME = 2.0**-22
#: Bounds within this share of the spread hold no target but the median, and how many spreads from
#: it they are then.
_NARROW, _REACH = 0.5, 2.0


def released_spread(rows: RowSource, away: Callable[..., FloatArray], median: float,
                    on_median: float, event: Elementary, session: Session) -> float:
    """Return the end of the octave with most distances of targets from their median, a float.

    `away` gives the distances of a part of the rows. A target that is the median counts for the
    least end, and so much.
    """
    return noisy_octaves(rows, away_from(median, away), 1, (0, on_median), event, session)


def away_from(median: float, away: Callable[..., FloatArray]) -> Callable[..., FloatArray]:
    """Return what gives sizes of distances from a median, which are 0 of targets that are it."""
    return partial(sizes_above, _SAME * abs(median), away)


def apart(median: float, spread: float, low: float, high: float) -> tuple[float, float]:
    """Return bounds on targets, or wider ones where they hold none but those on the median."""
    if max(high - median, median - low) < _NARROW * spread:
        return median - _REACH * spread, median + _REACH * spread
    return low, high
