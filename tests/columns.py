"""Columns of numbers as sources of rows, for tests of what is released of them."""

import numpy as np

from dpsk._data.parted import PartedRows, Threads
from dpsk._data.source import Rows

__all__ = ["column", "first", "in_places", "members_of"]


def column(numbers):
    """Return a source of rows of one number."""
    numbers = np.asarray(numbers, dtype=np.float64)
    return Rows(numbers[:, None], np.zeros(len(numbers)))


def first(block):
    """Return the numbers of a block of such rows."""
    return block.X[:, 0]


def members_of(groups):
    """Return a source of rows whose target is their group."""
    return Rows(np.zeros((len(groups), 1)), np.asarray(groups))


def in_places(rows, count):
    """Return rows in memory in so many places."""
    parts = rows.split(count)
    return PartedRows(Threads(2), parts, tuple(map(len, parts)), rows.n_features, rows.dtype,
                      rows.is_sparse, rows.is_weighted, rows.weight_bound, rows.holdout)
