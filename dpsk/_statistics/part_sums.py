r"""Noisy sums of columns for every part of a table, such as every town, of numbers within ranges.

Every row is in at most one part. A row adds nothing to others, so that the noise does not grow
with their number: replacing a row moves sums of at most two parts.

*Sums.* Numbers z of a column in [-a, b], a and b >= 0, move sums by at most a + b in one part, and
by sqrt(2) max(a, b) out of a part and into another. The larger one is the unit of a column. All
columns of a row are in the same part, so that squares add up over columns for each case apart.

*Moments.* A row adds ``(1, z)``, or ``(1, z, sqrt(2) z^2)``, z in [-1, 1], of squared norm at most
k = 2, or 4. Two of these have an inner product >= 1 + z z' >= 0 in one part, and of 0 in two, so
that replacing a row moves p columns by at most sqrt(2 k p). In two parts it is reached.

A group of rows adds the average of what its rows add. Averages are in the convex hull of that,
where no two points are farther apart than two of these. Numbers, averages as well, are cut to the
grid toward 0: sums stay within the hull, as 0 is in it for every number, and moments keep norms of
at most k and ``|z| <= 1`` of every average, from which the inner product follows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import gaussian
from dpsk._privacy.noise.grids import exact_bits
from dpsk._statistics.class_moments import members
from dpsk._statistics.column_sums import in_range

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import FloatArray

__all__ = ["noisy_part_moments", "noisy_part_sums", "part_moment_noise", "part_sum_noise"]

#: Rows that are summed at once.
_PART = 1 << 14


def part_sum_noise(low: FloatArray, high: FloatArray, mu: float) -> FloatArray:
    """Return the standard deviations of the noise on sums of columns."""
    scale, moved = _moved(low, high)
    return moved / mu * scale


def part_moment_noise(n_columns: int, squares: bool, mu: float) -> float:
    """Return the standard deviation of the noise on a count and on a sum of numbers in [-1, 1].

    That on squares is sqrt(1/2) of it.
    """
    return math.sqrt(2.0 * (4.0 if squares else 2.0) * n_columns) / mu


def noisy_part_sums(rows: RowSource, low: FloatArray, high: FloatArray, mu: float,
                    session: Session, *, n_parts: int) -> FloatArray:
    """Return noisy sums of columns, shape (n_parts, n_columns).

    Parameters
    ----------
    rows : RowSource
        Its targets are the indices of rows' parts, -1 of none. Of rows in groups averages are
        summed. No number may be NaN.
    low, high : ndarray of shape (n_columns,)
        Public ends of the ranges, ``low <= 0 <= high``; numbers beyond count as the ends.
    mu : float
        What the answer may cost; infinite without noise.
    session : Session
    n_parts : int
    """
    scale, moved = _moved(low, high)
    unit = 2.0 ** -exact_bits(rows.n_units, moved / mu)

    def total(batch: Batch) -> FloatArray:
        return rows.added(_sums, n_parts, low, high, scale, unit) * unit

    return session(gaussian(mu), total, Sensitivity(moved, unit=unit)) * scale


def noisy_part_moments(rows: RowSource, low: FloatArray, high: FloatArray, mu: float,
                       session: Session, *, n_parts: int,
                       squares: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return noisy counts, sums and sums of squares, each of shape (n_parts, n_columns).

    Parameters are those of `noisy_part_sums`. But numbers may be NaN, where they are missing, and
    ranges are any, ``low < high``, which are -1 and 1 of what is summed. Without `squares` the
    noise is less, and sums of squares are 0.
    """
    moved = part_moment_noise(len(low), squares, 1.0)
    unit = 2.0 ** -(exact_bits(rows.n_units, moved / mu) // 2)
    units = (unit, unit, unit**2)[:2 + squares]

    def totals(batch: Batch) -> tuple[FloatArray, ...]:
        found = rows.added(_moments, n_parts, low, high, units)
        own = np.array(units)[:, None, None] * found
        return (own[:2], own[2]) if squares else own[:2]

    noisy = session(gaussian(mu), totals, *[
        Sensitivity(moved, unit=unit),
        Sensitivity(moved / math.sqrt(2.0), unit=unit**2)][:1 + squares])
    (counts, sums), found = noisy if squares else (noisy, np.zeros_like(noisy[0]))
    return counts, sums, found


def _moved(low: FloatArray, high: FloatArray) -> tuple[FloatArray, float]:
    """Return how far a row moves the sum of each column, and all of them in these units."""
    cases = np.array([high - low, math.sqrt(2.0) * np.maximum(-low, high)])
    scale = cases.max(axis=0)
    return scale, math.sqrt(np.square(cases / scale).sum(axis=1).max())


def _sums(rows: RowSource, n_parts: int, low: FloatArray, high: FloatArray, scale: FloatArray,
          unit: float) -> FloatArray:
    """Return sums in whole units."""
    found = np.zeros((n_parts, len(low)))
    for block, codes, groups in _blocks(rows):
        found += _added(np.clip(block, low, high) / scale, codes, n_parts, groups, unit)
    return found


def _moments(rows: RowSource, n_parts: int, low: FloatArray, high: FloatArray,
             units: tuple[float, ...]) -> FloatArray:
    """Return counts, sums and sums of squares in whole units."""
    found = np.zeros((len(units), n_parts, len(low)))
    for block, codes, groups in _blocks(rows):
        present, z = in_range(block, low, high)
        for own, each, unit in zip(found, (present.astype(float), z, z**2), units, strict=False):
            own += _added(each, codes, n_parts, groups, unit)
    return found


def _blocks(rows: RowSource) -> Any:
    """Yield numbers, the parts that they are in, and the groups of their rows, if any."""
    if rows.groups is not None:
        # An average is that of the rows of its own group, in their order.
        block = rows.take(slice(0, len(rows)))
        yield block.X, block.y.astype(np.intp), rows.groups
        return
    for part in rows.blocks(_PART):
        block = rows.take(part)
        yield block.X, block.y.astype(np.intp), None


def _added(numbers: FloatArray, codes: Any, n_parts: int, groups: Any, unit: float) -> FloatArray:
    """Return sums of numbers, or of averages of groups, by part, in whole units."""
    # Those of no part are added as well, and left out: time does not tell how many they are.
    codes = np.where(codes < 0, n_parts, codes)
    if groups is not None:
        lengths = np.bincount(groups.codes, minlength=groups.count)
        cells, places = np.unique(groups.codes * (n_parts + 1) + codes, return_inverse=True)
        numbers = np.column_stack([np.bincount(places, each) for each in numbers.T])
        owners, codes = np.divmod(cells, n_parts + 1)
        numbers = numbers / lengths[owners, None]
    # On this grid every sum is exact, so no rounding shows the rows.
    return (members(codes, n_parts + 1) @ np.trunc(numbers / unit))[:-1]
