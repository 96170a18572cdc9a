r"""Noisy contingency tables, by class: of one column or of several.

A row is in one cell of every table. Replacing it takes 1 from one cell and adds 1 to another, so T
tables together move by at most ``sqrt(2 T)``, and by exactly that if all of them change. A row
with a weight of at most 1 adds no more.

The rows of a group add their shares, which are nonnegative and sum to at most 1. Let p and q be
the terms of a group and of its replacement in a table. Then ``p . q >= 0``, and so
``|p - q|^2 <= |p|^2 + |q|^2 <= 2``: tables of groups move no further than tables of rows.

The distance of a table from a public table is the l1 norm of their difference. Two cells move by
1, so a distance moves by at most 2. Scores are distances minus public numbers. Selecting the best
one under Gumbel noise of scale z has a privacy loss in an interval of length ``4 / z``. Only the
selected pair is released.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import block_length
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import gaussian

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dpsk._data.source import Block, RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import BoolArray, FloatArray

__all__ = ["PairChoices", "noisy_tables", "shares_of", "table_noise"]

#: Counts, scores and their noise are multiples of this, so noisy sums have no finer bits.
_UNIT = 2.0**-20


def table_noise(n_tables: int, mu: float) -> float:
    """Return the public standard deviation of the noise on cells of `n_tables` tables."""
    return math.sqrt(2.0 * n_tables) / mu


def noisy_tables(rows: RowSource, sizes: Sequence[int], n_classes: int,
                 columns: Sequence[tuple[int, ...]], mu: float,
                 session: Session) -> list[FloatArray]:
    """Return a noisy table of counts for every tuple in `columns`.

    Parameters
    ----------
    rows : RowSource
        Features are the bins of every column; targets are the indices of the rows' classes.
    sizes : sequence of int
        The number of bins of every column.
    n_classes : int
    columns : sequence of tuple of int
    mu : float
        Privacy cost of the query; infinite without noise.
    session : Session

    Returns
    -------
    tables : list of ndarray of float64
        The first axis is the class, followed by one axis per column.
    """
    shapes = [_shape(sizes, n_classes, each) for each in columns]

    def counted(batch: Batch) -> FloatArray:
        return rows.added(_all_counts, shapes, columns)

    moved = math.sqrt(2.0 * len(columns))
    noisy = session(gaussian(mu), counted, Sensitivity(moved, unit=_UNIT))
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in
            zip(np.split(noisy, ends[:-1]), shapes, strict=True)]


class PairChoices:
    """Selects pairs of columns whose tables are far from public tables.

    Parameters
    ----------
    rows, sizes, n_classes
        As for `noisy_tables`.
    pairs : sequence of (int, int)
    expected : callable, (int, int) -> ndarray
        The public table of a pair.
    least : ndarray of shape (n_pairs,)
        Public distances, subtracted from the pairs' distances in the scores.
    event : Event
        Privacy cost of a selection.
    session : Session
    """

    def __init__(self, rows: RowSource, sizes: Sequence[int], n_classes: int, pairs: list[Any],
                 expected: Callable[..., Any], least: FloatArray, event: Elementary,
                 session: Session) -> None:
        self._rows, self._sizes, self._n_classes = rows, sizes, n_classes
        self._pairs, self._expected, self._session = pairs, expected, session
        self._least = np.rint(least / _UNIT) * _UNIT
        self._event = event
        # Scores are exact and only the selected index is released, so nothing needs rounding.
        self._moved = Sensitivity(4.0, "gumbel", unit=_UNIT, rounded=False)
        self._scores: Any = None

    def best(self, chosen: BoolArray) -> int | None:
        """Return the index of a pair for which `chosen` is True, or None.

        None has the score of a pair at the distance `least`.
        """
        def scores(batch: Batch) -> FloatArray:
            if self._scores is None:
                self._scores = self._read()
            # Every pair gets noise, so the number of draws is public.
            return np.append(np.where(chosen, self._scores, -np.inf), 0.0)

        place = int(self._session(self._event, scores, self._moved, select=np.argmax))
        return place if place < len(self._pairs) else None

    def _read(self) -> FloatArray:
        found = np.empty(len(self._pairs))
        for place, pair in enumerate(self._pairs):
            (table,) = _counts(self._rows, [_shape(self._sizes, self._n_classes, pair)], [pair])
            # Every sum on a grid is exact.
            public = np.rint(self._expected(pair) / _UNIT) * _UNIT
            found[place] = np.abs(table - public).sum()
        return found - self._least


def _shape(sizes: Sequence[int], n_classes: int, columns: tuple[int, ...]) -> tuple[int, ...]:
    return n_classes, *(sizes[column] for column in columns)


def _all_counts(rows: RowSource, shapes: list[tuple[int, ...]],
                columns: Sequence[tuple[int, ...]]) -> FloatArray:
    """Return the exact tables of counts, concatenated."""
    return np.concatenate([table.ravel() for table in _counts(rows, shapes, columns)])


def shares_of(block: Block, unit: float) -> FloatArray | None:
    """Return the weights of rows, truncated to multiples of `unit`; None for all 1.

    The weights of a group's rows are divided by the size of the group, so they sum to at most 1.
    """
    return None if block.weights is None else np.trunc(block.weights / unit) * unit


def _counts(rows: RowSource, shapes: list[tuple[int, ...]],
            columns: Sequence[tuple[int, ...]]) -> list[FloatArray]:
    """Return the exact tables of counts, float64."""
    tables = [np.zeros(math.prod(shape)) for shape in shapes]
    for part in rows.blocks(block_length(rows.n_features)):
        block = rows.take(part)
        shares = shares_of(block, _UNIT)
        for table, shape, each in zip(tables, shapes, columns, strict=True):
            cells = np.ravel_multi_index((block.y, *(block.X[:, column] for column in each)),
                                         shape)
            table += np.bincount(cells, shares, minlength=len(table))
    return [table.reshape(shape) for table, shape in zip(tables, shapes, strict=True)]
