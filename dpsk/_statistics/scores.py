r"""Noisy statistics of scores by label: counts at several widths, and counts with a sum of losses.

Counts at L widths: cells, neighbors of them together, and so on. A row stands in one cell at each
width, so replacing it takes 1 from a cell and adds 1 to another L times, ``sqrt(2 L)`` at most.

A loss in an interval of length r is summed at a weight w / r beside a table of counts. Replacing
a row moves the table by sqrt(2) and the weighted sum by w at most, together with k such sums by

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

#: Counts, losses and their noise are multiples of this: sums show no finer bits.
_UNIT = 2.0**-20
#: Of products that are rounded, so that those of a group sum to no more than the reach.
_DOWN = 1.0 - 2.0**-40


def widths_noise(n_widths: int, mu: float) -> float:
    """Return the standard deviation of the noise on a count at any of the widths; public."""
    return math.sqrt(2.0 * n_widths) / mu


def counts_noise(weight: float, mu: float, n_losses: int = 1) -> float:
    """Return the standard deviation of the noise on a count beside sums of losses; public."""
    return math.sqrt(2.0 + n_losses * weight**2) / mu


def loss_noise(weight: float, reach: float, mu: float) -> float:
    """Return the standard deviation of the noise on a sum of losses in [-reach, reach]; public."""
    return 2.0 * reach / weight * counts_noise(weight, mu)


def noisy_widths(rows: RowSource, n_joined: int, n_widths: int, mu: float,
                 session: Session) -> list[FloatArray]:
    """Return noisy counts by label and cell, at each width, the widest first.

    Parameters
    ----------
    rows : RowSource
        The first feature is the row's cell, one of ``n_joined**n_widths``; targets are 0 or 1.
    n_joined : int
        So many cells are one of the next width.
    n_widths : int
    mu : float
        What the answer may cost; infinite without noise.
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
    """Return a noisy table of counts (label, bin), and noisy sums of some losses of the rows.

    Parameters
    ----------
    rows : RowSource
        Features are the row's cell, and then its losses; targets are the indices of labels.
    bins : ndarray of int, shape (n_cells,)
        The bin of every cell, rising; public, or released before.
    expected : ndarray of shape (n_losses, n_labels, n_bins)
        Losses by label and bin, which are taken off a row's loss; as public as the bins.
    reaches : ndarray of shape (n_losses,)
        What is left of a loss is clipped to [-reach, reach]; as public as the bins.
    weight : float
        Of each loss that is left beside the counts, > 0; public.
    mu : float
        What all may cost together; infinite without noise.
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
                # In whole units every sum is exact, and no loss is beyond the reach.
                left = left / _UNIT if shares is None else left * (_DOWN / _UNIT) * shares
                losses[each] += np.trunc(left).sum()
        return (table, *(losses[:, None] * _UNIT)) if n_losses else table

    moved = math.sqrt(2.0 + n_losses * weight**2)
    found = session(gaussian(mu), summed, Sensitivity(moved, unit=_UNIT),
                    *(Sensitivity(moved * 2.0 * reach / weight, unit=_UNIT)
                      for reach in reaches))
    table, *losses = found if n_losses else (found,)
    return table.reshape(n_labels, n_bins), np.array([float(each[0]) for each in losses])
