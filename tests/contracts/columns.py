"""Columns of numbers as sources of rows, for tests of what is released of them."""

from dataclasses import replace

import numpy as np

from dpsk._data.parted import Threads, in_places
from dpsk._data.source import Rows

__all__ = ["column", "first", "members_of", "spread"]


def column(numbers):
    """Return a source of rows of one number."""
    numbers = np.asarray(numbers, dtype=np.float64)
    return Rows(numbers[:, None], np.zeros(len(numbers)))


def first(rows, part):
    """Return the numbers of a part of such rows."""
    return rows.take(part).X[:, 0]


def members_of(groups):
    """Return a source of rows whose target is their group."""
    return Rows(np.zeros((len(groups), 1)), np.asarray(groups))


def spread(rows, count):
    """Return rows in memory in so many places."""
    return replace(in_places(Threads(2), rows.split(count)), holdout=rows.holdout)
