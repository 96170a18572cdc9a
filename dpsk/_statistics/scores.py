r"""Noisy statistics of scores by label: counts at several widths, or with losses.

Counts at L widths are counts in cells, in blocks of adjacent cells, and so on. Replacing a row
takes 1 from a cell and adds 1 to another at every width, so counts move by at most ``sqrt(2 L)``.

A loss in an interval of length r is summed with the weight w / r, in one query with a table of
counts. Replacing a row moves the table by at most sqrt(2) and every weighted sum by at most w, and
the table and k sums together by at most

    sqrt(2 + k w^2).

A group adds the averages of its rows, which are no longer and no further apart: see `tables`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import gaussian
from dpsk._statistics.tables import shares_of

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import FloatArray, IntArray

__all__ = ["counts_noise", "loss_noise", "noisy_counts_and_losses", "noisy_widths", "widths_noise"]

#: Counts, losses and their noise are multiples of this, so noisy sums have no finer bits.
_UNIT = 2.0**-20
#: Factor on rounded products, so that those of a group sum to no more than the reach.
_DOWN = 1.0 - 2.0**-40


def widths_noise(n_widths: int, mu: float) -> float:
    """Return the public standard deviation of the noise on a count at any width."""
    return math.sqrt(2.0 * n_widths) / mu


def counts_noise(weight: float, mu: float, n_losses: int = 1) -> float:
    """Return the public standard deviation of the noise on counts queried with losses."""
    return math.sqrt(2.0 + n_losses * weight**2) / mu


def loss_noise(weight: float, reach: float, mu: float) -> float:
    """Return the public noise deviation of a sum of losses in [-reach, reach]."""
    return 2.0 * reach / weight * counts_noise(weight, mu)


def noisy_widths(rows: RowSource, n_joined: int, n_widths: int, mu: float,
                 session: Session) -> list[FloatArray]:
    """Return noisy counts by label and cell at each width, the widest cells first.

    Parameters
    ----------
    rows : RowSource
        The first feature is the row's cell, one of ``n_joined**n_widths``; targets are 0 or 1.
    n_joined : int
        The number of cells that form a cell of the next width.
    n_widths : int
    mu : float
        Privacy cost of the query; infinite without noise.
    session : Session
    """
    n_cells = n_joined**n_widths
    shapes = [(2, n_joined**(place + 1)) for place in range(n_widths)]

    def counted(batch: Batch) -> FloatArray:
        cells = np.zeros(2 * n_cells)
        for part in row_blocks(len(rows), rows.n_features):
            block = rows.take(part)
            own = block.X[:, 0].astype(np.int64) + n_cells * block.y.astype(np.int64)
            cells += np.bincount(own, shares_of(block, _UNIT), minlength=len(cells))
        return np.concatenate([cells.reshape(*shape, -1).sum(axis=-1).ravel()
                               for shape in shapes])

    moved = Sensitivity(math.sqrt(2.0 * n_widths), unit=_UNIT)
    noisy = session(gaussian(mu), counted, moved)
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in
            zip(np.split(noisy, ends[:-1]), shapes, strict=True)]


def noisy_counts_and_losses(rows: RowSource, bins: IntArray, expected: FloatArray,
                            reaches: FloatArray, weight: float, mu: float,
                            session: Session) -> tuple[FloatArray, FloatArray]:
    """Return a noisy table of counts (label, bin), and noisy sums of the rows' losses.

    Parameters
    ----------
    rows : RowSource
        Features are the row's cell, followed by its losses; targets are label indices.
    bins : ndarray of int, shape (n_cells,)
        The bin of every cell, nondecreasing; public, or released before.
    expected : ndarray of shape (n_losses, n_labels, n_bins)
        Losses by label and bin, subtracted from a row's loss; public, or released before.
    reaches : ndarray of shape (n_losses,)
        Differences are clipped to [-reach, reach]; public, or released before.
    weight : float
        Weight of each sum of differences relative to the counts, > 0; public.
    mu : float
        Privacy cost of the whole query; infinite without noise.
    session : Session
    """
    n_losses, n_labels, n_bins = expected.shape

    def summed(batch: Batch) -> Any:
        table, losses = np.zeros(n_labels * n_bins), np.zeros(n_losses)
        for part in row_blocks(len(rows), rows.n_features):
            block = rows.take(part)
            places = bins[block.X[:, 0].astype(np.int64)] + n_bins * block.y.astype(np.int64)
            shares = shares_of(block, _UNIT)
            table += np.bincount(places, shares, minlength=len(table))
            for each, reach in enumerate(reaches):
                left = np.clip(block.X[:, 1 + each] - expected[each].ravel()[places],
                               -reach, reach)
                # Sums of integer units are exact, and truncation keeps losses within reach.
                left = left / _UNIT if shares is None else left * (_DOWN / _UNIT) * shares
                losses[each] += np.trunc(left).sum()
        return (table, *(losses[:, None] * _UNIT)) if n_losses else table

    moved = math.sqrt(2.0 + n_losses * weight**2)
    found = session(gaussian(mu), summed, Sensitivity(moved, unit=_UNIT),
                    *(Sensitivity(moved * 2.0 * reach / weight, unit=_UNIT)
                      for reach in reaches))
    table, *losses = found if n_losses else (found,)
    return table.reshape(n_labels, n_bins), np.array([float(each[0]) for each in losses])
