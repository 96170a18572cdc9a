r"""Noisy counts, sums and sums of squares of all columns, of numbers within public ranges.

A number that is brought to z in [-1, 1] by its column's range stands for the vector ``v = (1, z,
sqrt(2) z^2)``, one that is missing for 0. Any two of these are at most 2 apart: from 0,

    1 + z^2 + 2 z^4 <= 4,

and with ``d = |z - z'|``, so that ``|z + z'| <= 2 - d``,

    |v - v'|^2 = d^2 (1 + 2 (z + z')^2) <= d^2 (1 + 2 (2 - d)^2) = g(d),  0 <= d <= 2,

where ``g'(d) = 2 d (1 + 4 (2 - d) (1 - d)) >= 0``, as ``(2 - d) (1 - d) >= -1/4``: at most g(2) =
4. So counts and squares come at the price of the sums alone. Replacing a row moves the vectors of
all p columns by at most ``2 sqrt(p)`` together; sums are exact.
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
    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import FloatArray

__all__ = ["moment_noise", "noisy_column_sums"]

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
        NaN where a number is missing.
    low, high : ndarray of shape (n_columns,)
        Public ends of the ranges, ``low < high``; they are -1 and 1 of what is summed. Numbers
        beyond count as the ends.
    mu : float
        What the answer may cost; infinite without noise.
    session : Session
    """
    moved = 2.0 * math.sqrt(len(low))
    unit = 2.0 ** -(exact_bits(len(rows), moved / mu) // 2)

    def totals(batch: Batch) -> tuple[FloatArray, FloatArray]:
        counts, sums, squares = rows.added(_sums, low, high, unit)
        # Beside noise that is coarser than a row a count is none, rounded like all numbers.
        return np.array([counts * (unit <= 1.0), unit * sums]), unit**2 * squares

    (counts, sums), squares = session(
        gaussian(mu), totals, Sensitivity(moved, unit=unit),
        Sensitivity(moved / math.sqrt(2.0), unit=unit**2))
    return counts, sums, squares


def _sums(rows: RowSource, low: FloatArray, high: FloatArray,
          unit: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts, and sums and sums of squares in whole units."""
    counts, sums, squares = np.zeros((3, len(low)))
    middle, half = middle_of(low, high)
    for part in rows.blocks(_PART):
        block = rows.take(part).X
        present = ~np.isnan(block)
        z = np.clip((np.clip(block, low, high) - middle) / half, -1.0, 1.0)
        # On this grid, which the ends are on, every sum is exact, so no rounding shows the rows.
        z = np.rint(np.where(present, z, 0.0) / unit)
        counts += present.sum(axis=0)
        sums += z.sum(axis=0)
        squares += np.square(z).sum(axis=0)
    return counts, sums, squares
