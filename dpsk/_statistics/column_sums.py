r"""Noisy counts, sums and sums of squares of all columns, of numbers within public ranges.

A number that is brought to z in [-1, 1] by its column's range stands for the vector ``v = (1, z,
sqrt(2) z^2)``, one that is missing for 0. Any two of these are at most 2 apart: from 0,

    1 + z^2 + 2 z^4 <= 4,

and with ``d = |z - z'|``, so that ``|z + z'| <= 2 - d``,

    |v - v'|^2 = d^2 (1 + 2 (z + z')^2) <= d^2 (1 + 2 (2 - d)^2) = g(d),  0 <= d <= 2,

where ``g'(d) = 2 d (1 + 4 (2 - d) (1 - d)) >= 0``, as ``(2 - d) (1 - d) >= -1/4``: at most g(2) =
4. So counts and squares come at the price of the sums alone. Replacing a row moves the vectors of
all p columns by at most ``2 sqrt(p)`` together; sums are exact.

A group of rows adds the average of its rows' vectors. That is in the convex hull of such vectors,
in which no two points are farther apart than two of these: replacing a group moves the sums by as
much. Averages are rounded to the grid, each by half a unit u of a sum or half of u^2 of a square,
which moves the sums by less than ``2 sqrt(p) u (1 + u)``. From a unit of 2 on all of them are 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.targets import middle_of
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import gaussian
from dpsk._privacy.noise.grids import exact_bits

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import BoolArray, FloatArray

__all__ = ["in_range", "moment_noise", "noisy_column_sums", "noisy_flag_counts"]

#: Rows that are summed at once.
_PART = 1 << 14


def moment_noise(n_columns: int, mu: float) -> float:
    """Return the standard deviation of the noise on a sum; that on squares is sqrt(1/2) of it."""
    return 2.0 * math.sqrt(n_columns) / mu


def noisy_column_sums(rows: RowSource, low: FloatArray, high: FloatArray, mu: float,
                      session: Session) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return noisy counts, sums and sums of squares of columns, each of shape (n_columns,).

    Parameters
    ----------
    rows : RowSource
        NaN where a number is missing. Of rows in groups averages are summed.
    low, high : ndarray of shape (n_columns,)
        Public ends of the ranges, ``low < high``; they are -1 and 1 of what is summed. Numbers
        beyond count as the ends.
    mu : float
        What the answer may cost; infinite without noise.
    session : Session
    """
    moved = 2.0 * math.sqrt(len(low))
    unit = 2.0 ** -(exact_bits(rows.n_units, moved / mu) // 2)
    averaged = rows.groups is not None
    if averaged:
        moved *= 1.0 + min(unit * (1.0 + unit), 2.0)

    def totals(batch: Batch) -> tuple[FloatArray, FloatArray]:
        counts, sums, squares = rows.added(_group_sums if averaged else _sums, low, high, unit)
        # Beside noise that is coarser than a row a count is none, rounded like all numbers.
        return np.array([counts * (unit <= 1.0), unit * sums]), unit**2 * squares

    (counts, sums), squares = session(
        gaussian(mu), totals, Sensitivity(moved, unit=unit),
        Sensitivity(moved / math.sqrt(2.0), unit=unit**2))
    return counts, sums, squares


def noisy_flag_counts(rows: RowSource, mu: float,
                      session: Session) -> tuple[FloatArray, float]:
    """Return noisy counts of columns of flags, and the standard deviation of their noise.

    Parameters and price are those of `noisy_column_sums`.
    """
    width = rows.n_features
    sums = noisy_column_sums(rows, np.zeros(width), np.ones(width), mu, session)[1]
    return 0.5 * (sums + rows.n_units), 0.5 * moment_noise(width, mu)


def _sums(rows: RowSource, low: FloatArray, high: FloatArray,
          unit: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts, and sums and sums of squares in whole units."""
    counts, sums, squares = np.zeros((3, len(low)))
    for part in rows.blocks(_PART):
        block = rows.take(part).X
        present, z = in_range(block, low, high)
        # On this grid, which the ends are on, every sum is exact, so no rounding shows the rows.
        z = np.rint(z / unit)
        counts += present.sum(axis=0)
        sums += z.sum(axis=0)
        squares += np.square(z).sum(axis=0)
    return counts, sums, squares


def _group_sums(rows: RowSource, low: FloatArray, high: FloatArray,
                unit: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the same of the averages of groups, counts in rows."""
    codes, n_groups = rows.groups.codes, rows.groups.count
    lengths, found = np.bincount(codes, minlength=n_groups), np.zeros((3, len(low)))
    columns = rows.take(slice(0, len(rows))).X
    for place in range(len(low)):
        present, z = in_range(columns[:, place], low[place], high[place])
        # An average is that of the rows of its own group, in their order.
        for own, each, step in zip(found, (present, z, z**2), (unit, unit, unit**2), strict=True):
            own[place] = np.rint(np.bincount(codes, each, n_groups) / lengths / step).sum()
    return unit * found[0], found[1], found[2]


def in_range(numbers: FloatArray, low: Any, high: Any) -> tuple[BoolArray, FloatArray]:
    """Return which numbers are there, and all in [-1, 1], 0 where they are not."""
    middle, half = middle_of(low, high)
    present = ~np.isnan(numbers)
    z = np.clip((np.clip(numbers, low, high) - middle) / half, -1.0, 1.0)
    return present, np.where(present, z, 0.0)
