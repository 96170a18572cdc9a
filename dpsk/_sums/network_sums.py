"""Sums of clipped per-sample gradients of a network: sensitive, and for oracles only."""

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

#: Rows of one pass: float32 sums over more would lose more than the head-room.
SHORT_BLOCK = 512
#: Groups whose rows are added up apart from others', which do not change with a group's size. In
#: single precision a sum is off by at most ``512 2^-24`` of the sum of norms: of two tables' sums
#: over so many groups that is 2^-9 of the clip norm, within the margin.
_GROUPS_APART = 32
#: Rows of one pass where their number is secret, neither more nor fewer, and in products that are
#: alike for all of them: in others, or where groups before it are longer, a row may round
#: otherwise, and a slope or a sign beside zero be another one.
_GROUPED_ROWS = 128


class NetworkSums(ClippedSums):
    """Rows, targets and the clipped gradient sums over them.

    A row's norm follows from its activations and errors, and the clip scales its errors before
    they meet the activations in one product. Of a group of k rows every gradient is clipped to
    the norm and enters over k.

    Parameters
    ----------
    model : MLP
    loss : Loss
    rows : RowSource
        Dense.
    clip_norm : float
    n_samples : int or None
        The public number of rows, or of groups, of the whole sum, where `rows` are some of them.
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
            # Rows that fill a pass up add nothing.
            weights[len(part):] = 0.0
            yield Block(X, y, weights), groups.sizes[filled]
