"""Sums of clipped per-sample gradients of a network; sensitive, for oracles only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.source import Block
from dpsk._sums.clip import Clip
from dpsk._sums.clipped_sums import ClippedSums
from dpsk._sums.terms import PassTerms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._typing import Chosen, FloatArray

__all__ = ["SHORT_BLOCK", "NetworkSums"]

#: Rows of one pass: float32 sums over more rows would lose more than the rounding slack.
SHORT_BLOCK = 512
#: Groups whose rows are summed together; the partition does not depend on the sizes of groups. A
#: float32 sum is off by at most ``512 2^-24`` of the sum of norms. For the sums of two tables over
#: so many groups, that is 2^-9 of the clip norm, within the rounding slack.
_GROUPS_APART = 32
#: Rows of every pass over groups, whose number of rows is secret: passes are filled up to it, and
#: their products round each row alike. Otherwise the rounding of a row, and so a slope or a sign
#: near zero, could depend on other groups.
_GROUPED_ROWS = 128


class NetworkSums(ClippedSums):
    """Sums of clipped gradients of a network over rows.

    The norm of a row's gradient follows from its activations and errors. The clip scales the
    errors before one product with the activations. In a group of k rows, every gradient is
    clipped to the norm and divided by k.

    Parameters
    ----------
    model : MLP
    loss : Loss
    rows : RowSource
        Dense rows.
    clip_norm : float
    n_samples : int or None
        The public number of rows, or of groups, in the whole sum, where `rows` is a part of it.
    """

    def __init__(self, model: Any, loss: Any, rows: RowSource, clip_norm: float,
                 n_samples: int | None = None) -> None:
        super().__init__(model, loss, n_samples or rows.n_units, Clip(clip_norm, single=True))
        self._rows = rows

    def partial(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        theta = theta.astype(np.float32)
        if self._rows.groups is None:
            return super().partial(theta, rows)
        total = self.zeros()
        units: Any = np.arange(self.n_samples) if rows is None else rows
        for start in range(0, len(units), _GROUPS_APART):
            total += super().partial(theta, units[start:start + _GROUPS_APART])
        return total

    def terms(self, theta: FloatArray, rows: Chosen) -> Iterator[PassTerms]:
        return (self._gradients(theta, *block) for block in self._blocks(rows))

    def _gradients(self, theta: FloatArray, block: Block, sizes: Any) -> PassTerms:
        """Return the gradients of the rows of one pass."""
        alike = {} if self._rows.groups is None else {"alike": True}
        forward = self.model.forward(theta, block.X, **alike)
        dz = self.loss.gradient(block.y, forward.raw.copy())
        if block.weights is not None:
            dz *= block.weights if dz.ndim == 1 else block.weights[:, None]
        forward.backward(dz)
        return PassTerms(forward, sizes)

    def _blocks(self, rows: Chosen) -> Iterator[tuple[Block, Any]]:
        """Yield the rows of one pass, and the sizes of their groups."""
        groups = self._rows.groups
        if groups is None:
            for part in self._rows.parts(SHORT_BLOCK, rows):
                yield self._rows.take(part), 1.0
            return
        for part in self._rows.parts(_GROUPED_ROWS, rows):
            filled = np.resize(part, _GROUPED_ROWS)
            block: Any = self._rows.take(filled)
            X, y, weights = block
            # Rows that only fill the pass have weight 0.
            weights[len(part):] = 0.0
            yield Block(X, y, weights), groups.sizes[filled]
