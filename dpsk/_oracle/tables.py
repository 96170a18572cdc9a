r"""Noisy tables of counts: of one column, or of two, by class.

A row stands in one cell of every table. Replacing it takes 1 from one cell and adds 1 to another,
so T tables together move by at most ``sqrt(2 T)``, and do where all of them change.

How far a table is from one that is public is the sum of the distances of its cells. Two cells
move by 1, so one such number moves by at most 2, and P of them by at most ``2 sqrt(P)``.
"""

import math

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._oracle.release import Part
from dpsk._privacy.events import gaussian

__all__ = ["distance_noise", "noisy_distances", "noisy_tables", "table_noise"]

#: Counts, distances and noise are rounded to multiples of this: sums show no finer bits.
_UNIT = 2.0**-20


def table_noise(n_tables, mu):
    """Return the standard deviation of the noise on a cell of so many tables; public."""
    return math.sqrt(2.0 * n_tables) / mu


def distance_noise(n_tables, mu):
    """Return the standard deviation of the noise on the distances of so many tables; public."""
    return 2.0 * math.sqrt(n_tables) / mu


def noisy_tables(rows, sizes, n_classes, columns, mu, releases):
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
    releases : Releases

    Returns
    -------
    tables : list of ndarray of float64
        Class, then one axis a column.
    """
    shapes = [_shape(sizes, n_classes, each) for each in columns]

    def counted(inside):
        return np.concatenate([table.ravel() for table in _counts(rows, shapes, columns)])

    moved = math.sqrt(2.0 * len(columns))
    noisy = releases(gaussian(mu), counted, Part(1.0 / mu, moved, unit=_UNIT))
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in
            zip(np.split(noisy, ends[:-1]), shapes, strict=True)]


def noisy_distances(rows, sizes, n_classes, columns, expected, mu, releases):
    """Return the noisy distances of tables of counts from public ones, shape (n_tables,).

    `expected(pair)` returns the public table of one of `columns`; else as `noisy_tables`.
    """
    shapes = [_shape(sizes, n_classes, each) for each in columns]

    def distances(inside):
        found = np.empty(len(columns))
        for place, each in enumerate(columns):
            (table,) = _counts(rows, [shapes[place]], [each])
            # On a grid every sum is exact.
            public = np.rint(expected(each) / _UNIT) * _UNIT
            found[place] = np.abs(table - public).sum()
        return found

    return releases(gaussian(mu), distances,
                    Part(1.0 / mu, 2.0 * math.sqrt(len(columns)), unit=_UNIT))


def _shape(sizes, n_classes, columns):
    return n_classes, *(sizes[column] for column in columns)


def _counts(rows, shapes, columns):
    """Return the exact tables of counts, float64."""
    tables = [np.zeros(math.prod(shape)) for shape in shapes]
    for part in row_blocks(len(rows), rows.n_features):
        block = rows.take(part)
        for table, shape, each in zip(tables, shapes, columns, strict=True):
            cells = np.ravel_multi_index((block.y, *(block.X[:, column] for column in each)),
                                         shape)
            table += np.bincount(cells, minlength=len(table))
    return [table.reshape(shape) for table, shape in zip(tables, shapes, strict=True)]
