r"""Private selection of column pairs whose products explain a model's residuals.

A row has features :math:`z_a, z_b` of norm at most 1 in two columns and a residual r of norm at
most C. Replacing a row moves the table :math:`T_{ab} = \sum_i r_i \otimes z_{a,i} z_{b,i}^\top`
by at most 2 C. Its projection orthogonal to public or released directions moves no more, as a
projection lengthens nothing. The score of a pair is the norm of this projection over 2 C, and it
moves by at most 1. The output is the best pair under Gumbel noise, or none if a public score is
better.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import csr_rows, row_blocks
from dpsk._mechanism.sensitivity import Sensitivity, rounding_margin
from dpsk._models.clipping import shortened

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import FloatArray

__all__ = ["clipped_residuals", "noisy_pairs"]

#: Scores are multiples of this.
_UNIT = 2.0**-20


def noisy_pairs(rows: RowSource, slices: Any, directions: Any, candidates: FloatArray, clip: float,
                count: int, event: Elementary, session: Session) -> Any:
    """Return up to `count` pairs of columns, in the order in which they were selected.

    Parameters
    ----------
    rows : Rows
        Features of norm at most 1 per column; targets are residuals of norm at most `clip`, shape
        (n, n_outputs).
    slices : list of slice
        The features of every column.
    directions : list of ndarray
        One direction per column, which scores ignore; public or released.
    candidates : list of (int, int)
        Pairs to select from; public or released.
    clip : float
    count : int
    event : Event
        Privacy cost of one selection.
    session : Session

    Returns
    -------
    pairs : list of (int, int)
    """
    moved = Sensitivity(2.0, "gumbel", unit=_UNIT, rounded=False)
    # Tables of residuals without a pattern have about this score.
    none = math.sqrt(len(rows)) / 2.0
    scores: list[FloatArray] = []
    chosen: list[int] = []

    def left(batch: Batch) -> Any:
        if not scores:
            scores.append(_scores(rows, slices, directions, candidates, clip))
        # Every candidate gets noise, so the number of draws is public.
        taken = np.isin(np.arange(len(candidates)), chosen)
        return np.append(np.where(taken, -np.inf, scores[0]), none)

    for _ in range(count):
        best = int(session(event, left, moved, select=np.argmax))
        if best < len(candidates):
            chosen.append(best)
    return [candidates[place] for place in chosen]


def clipped_residuals(residuals: FloatArray, weights: FloatArray | None, clip: float) -> Any:
    """Return a copy of residuals times weights, with rows scaled down to norm `clip`."""
    return shortened(residuals.copy() if weights is None else residuals * weights[:, None], clip)


def _scores(rows: RowSource, slices: Any, directions: Any, candidates: FloatArray,
            clip: float) -> FloatArray:
    """Return the norms of projected tables, divided by how far a row moves them."""
    block = rows.take(slice(0, len(rows)))
    tables = np.zeros((block.y.shape[1], slices[-1].stop, slices[-1].stop))
    for part in row_blocks(len(rows), slices[-1].stop):
        features = csr_rows(block.X, part).toarray() if rows.is_sparse else block.X[part]
        features = features.astype(np.float64)
        for table, residuals in zip(tables, block.y[part].T, strict=True):
            table += features.T @ (features * residuals[:, None])
    beside = [_beside(direction) for direction in directions]
    found = [np.linalg.norm(beside[one] @ tables[:, slices[one], slices[other]] @ beside[other])
             for one, other in candidates]
    moved = 2.0 * clip * rounding_margin(len(rows))
    return np.rint(np.array(found) / (moved * _UNIT)) * _UNIT


def _beside(direction: FloatArray) -> Any:
    """Return the projection onto the orthogonal complement of a direction."""
    length = np.linalg.norm(direction)
    unit = direction / length if length > 0 else direction
    return np.eye(len(unit)) - np.outer(unit, unit)
