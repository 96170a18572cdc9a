"""Ends of a column of numbers: two private quantiles of distances from a released number."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._statistics.cells import noisy_decimal
from dpsk._statistics.decimals import decimal_points
from dpsk._statistics.quantiles import distance_grid, noisy_tails

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import FloatArray

__all__ = ["column_away", "noisy_ends"]

#: Largest distance of adjacent grid points, absolute and relative, and the largest relative
#: rounding error of a median of nine digits.
_NEAR, _NEAR_SHARE, _OFF = 2.0**-31, 0.011, 2e-8
#: With a larger tail, the many points next to the middle may outvote other rows. A distance below
#: the second number is then more likely in a gap of a flag than the unit of a column, if the
#: other end is nearer by the factor.
_MANY_BEYOND, _TINY, _NEARER = 0.25, 2.0**-10, 8.0


def noisy_ends(rows: RowSource, place: int, tail: float, event: Elementary,
               median: Elementary | None, session: Session,
               weighted: bool = False) -> tuple[float, float, float, bool]:
    """Return a middle, the distances of both ends from it, and whether a number hides the ends.

    The middle is the median, or 0 where its event is None; the ends are `noisy_tails` of
    distances from it. A number that many rows share hides the ends if both are that number, or
    lie in a gap between it and the median. They then say nothing of the other rows. Nor do they
    where most rows are beyond the ends, and one of these is the middle, or both are next to it.

    Parameters
    ----------
    rows : RowSource
    place : int
        Index of the column; NaN is ignored.
    tail : float
        Share of rows beyond each end.
    event, median : Event
        Privacy cost of the selection of each end, and of the median.
    session : Session
    weighted : bool
        Whether all rows of a group count in the median, with their shares.
    """
    middle = 0.0
    if median is not None:
        middle = noisy_decimal(rows, partial(column_away, place, 0.0), 0.5, median, session,
                               weighted=weighted)
    low, high = noisy_tails(rows, partial(column_away, place, middle), tail, distance_grid(),
                            event, session)
    off = _NEAR + _OFF * abs(middle)
    in_gap = median is not None and max(low, -high) > off
    if tail > _MANY_BEYOND:
        nearer, farther = sorted((abs(low), abs(high)))
        in_gap |= nearer <= off or low > high or _NEARER * nearer < farther < _TINY
    return middle, low, high, bool(in_gap or high - low <= off + _NEAR_SHARE * abs(low))


def column_away(place: int, middle: float, rows: RowSource, part: Any) -> FloatArray:
    """Return distances from the middle; numbers beyond all decimals count as the last of these."""
    last = decimal_points().first[-1]
    away: FloatArray = np.clip(rows.take(part).X[:, place].astype(np.float64), -last, last)
    return away - middle
