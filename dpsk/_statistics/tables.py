r"""Noisy tables of counts: of one column, or of two, by class.

A row stands in one cell of every table. Replacing it takes 1 from one cell and adds 1 to another,
so T tables together move by at most ``sqrt(2 T)``, and do where all of them change. A row of
weight at most 1 adds no more.

A group of rows is in cells by its rows' shares, none negative, that sum to at most 1. Where p and
q are what a group and the one in its place add to a table, ``p . q >= 0`` and so
``|p - q|^2 <= |p|^2 + |q|^2 <= 2``: tables of groups move no further than those of rows.

How far a table is from one that is public is the sum of the distances of its cells. Two cells
move by 1, so one such number moves by at most 2. Less a public number each they are scores; the
best of them under Gumbel noise of scale z has a loss in an interval of length ``4 / z``, as that
of a vertex chosen with scores that move by 2 clip norms. Only which it is leaves.
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

#: Counts, scores and their noise are multiples of this: sums show no finer bits.
_UNIT = 2.0**-20


def table_noise(n_tables: int, mu: float) -> float:
    """Return the standard deviation of the noise on a cell of so many tables; public."""
    return math.sqrt(2.0 * n_tables) / mu


def noisy_tables(rows: RowSource, sizes: Sequence[int], n_classes: int,
                 columns: Sequence[tuple[int, ...]], mu: float,
                 session: Session) -> list[FloatArray]:
    """Return a noisy table of counts for each of some tuples of columns.

    Parameters
    ----------
    rows : RowSource
        Features are bins of every column, targets the indices of the rows' classes.
    sizes : sequence of int
        The number of bins of every column.
    n_classes : int
    columns : sequence of tuple of int
    mu : float
        What the answer may cost; infinite without noise.
    session : Session

    Returns
    -------
    tables : list of ndarray of float64
        Class, then one axis a column.
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
    """Chooses pairs of columns whose tables are far from public ones.

    Parameters
    ----------
    rows, sizes, n_classes
        As for `noisy_tables`.
    pairs : sequence of (int, int)
    expected : callable, (int, int) -> ndarray
        The public table of a pair.
    least : ndarray of shape (n_pairs,)
        Public distances that are worth nothing.
    event : Event
        What a choice costs.
    session : Session
    """

    def __init__(self, rows: RowSource, sizes: Sequence[int], n_classes: int, pairs: list[Any],
                 expected: Callable[..., Any], least: FloatArray, event: Elementary,
                 session: Session) -> None:
        self._rows, self._sizes, self._n_classes = rows, sizes, n_classes
        self._pairs, self._expected, self._session = pairs, expected, session
        self._least = np.rint(least / _UNIT) * _UNIT
        self._event = event
        # Nothing is rounded but the noise, of which only a choice leaves.
        self._moved = Sensitivity(4.0, "gumbel", unit=_UNIT, rounded=False)
        self._scores: Any = None

    def best(self, chosen: BoolArray) -> int | None:
        """Return the place of a pair, among those that `chosen` is True of; None for none of them.

        A pair whose table is no farther than `least` is worth less than none.
        """
        def scores(batch: Batch) -> FloatArray:
            if self._scores is None:
                self._scores = self._read()
            # Every pair gets its noise: how much is drawn is public.
            return np.append(np.where(chosen, self._scores, -np.inf), 0.0)

        place = int(self._session(self._event, scores, self._moved, select=np.argmax))
        return place if place < len(self._pairs) else None

    def _read(self) -> FloatArray:
        found = np.empty(len(self._pairs))
        for place, pair in enumerate(self._pairs):
            (table,) = _counts(self._rows, [_shape(self._sizes, self._n_classes, pair)], [pair])
            # On a grid every sum is exact.
            public = np.rint(self._expected(pair) / _UNIT) * _UNIT
            found[place] = np.abs(table - public).sum()
        return found - self._least


def _shape(sizes: Sequence[int], n_classes: int, columns: tuple[int, ...]) -> tuple[int, ...]:
    return n_classes, *(sizes[column] for column in columns)


def _all_counts(rows: RowSource, shapes: list[tuple[int, ...]],
                columns: Sequence[tuple[int, ...]]) -> FloatArray:
    """Return the exact tables of counts, one after another."""
    return np.concatenate([table.ravel() for table in _counts(rows, shapes, columns)])


def shares_of(block: Block, unit: float) -> FloatArray | None:
    """Return how much rows of a block count for, cut to whole units; None: as 1.

    The weights of a group's rows, each over their number, sum to at most 1.
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
