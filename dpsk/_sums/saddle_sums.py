"""Sums of clipped primal and dual gradients; sensitive, for oracles only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._sums.block_sums import BlockSums
from dpsk._sums.clip import Clip
from dpsk._sums.network_sums import SHORT_BLOCK
from dpsk._sums.terms import JoinedTerms, PassTerms, ScaledTerms, WeightedTerms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import Block, RowSource
    from dpsk._typing import Chosen, FloatArray, IntArray

__all__ = ["SaddleSums"]

#: Entries of a block of dense rows, and the least number of sparse rows in a block.
_ENTRIES, _CSR_ROWS = 1 << 18, 1 << 14
_LEAST_WEIGHT = 1e-100


class SaddleSums(BlockSums):
    """Sums of the rows' clipped gradients in the primal and in the dual block.

    The primal vector holds the coordinates of the model, then the extra ones of the loss. The
    rows of a network are dense; the rows of a linear model are scaled into its ball. `n_samples`
    is the public number of rows in the whole sum, where `rows` is a part of it.
    """

    def __init__(self, model: Any, loss: Any, rows: RowSource, primal_clip: float,
                 dual_clip: float, n_samples: int | None = None) -> None:
        clips = Clip(primal_clip, single=not model.is_linear), Clip(dual_clip)
        super().__init__(model, loss, n_samples or len(rows), model.dimension + loss.n_extra,
                         clips)
        self._rows = rows.clipped_by(model) if model.is_linear else rows
        self._length = self._block_length()
        self._bounds = self._row_scales() if model.is_linear else None

    def blocks(self, rows: Chosen) -> Iterator[tuple[slice | IntArray, Block]]:
        """Yield the positions of the rows of each block, and the rows."""
        for part in self._rows.parts(self._length, rows):
            yield part, self._rows.take(part)

    def terms(self, block: Any, primal: FloatArray, dual: FloatArray) -> Iterator[ScaledTerms]:
        forward = self._forward(primal, *block)
        dz, d_extra, d_dual = self._loss_gradients(primal, dual, forward.raw, block[1])
        forward.backward(dz)
        joined, weights = JoinedTerms(PassTerms(forward), WeightedTerms(d_extra)), (
            self.loss.row_weights(block[1].y, dual))
        if weights is not None:
            # The clip is that of the gradient before its weight. Rows of weight 0 add nothing.
            joined.sizes = 1.0 / np.maximum(np.abs(weights), _LEAST_WEIGHT)
        yield joined
        yield WeightedTerms(d_dual)

    def primal_bound(self, dual: FloatArray) -> float:
        return self.primal_clip * self.loss.largest_weight(dual)

    def dual_terms(self, block: Any, primal: FloatArray, dual: FloatArray) -> WeightedTerms:
        raw = self._forward(primal, *block).raw
        return WeightedTerms(self._loss_gradients(primal, dual, raw, block[1])[2])

    def _block_length(self) -> int:
        if not self.model.is_linear:
            return SHORT_BLOCK
        # Sums of a linear model have double precision, so blocks may have any length.
        width = self._rows.n_features
        return max(_CSR_ROWS, width) if self._rows.is_sparse else max(1, _ENTRIES // width)

    def _row_scales(self) -> tuple[FloatArray, FloatArray]:
        """Return the scale of every row, and the norm of the scaled row."""
        found = [self.model.row_scales(self._rows.take(part).X)
                 for part in self._rows.blocks(self._length)]
        # A location may have no rows.
        scales, norms = zip(*found, strict=True) if found else ([np.empty(0)],) * 2
        return np.concatenate(scales), np.concatenate(norms)

    def _forward(self, primal: FloatArray, part: Any, rows: Block) -> Any:
        theta = primal[:self.model.dimension]
        if self._bounds is None:
            return self.model.forward(theta, rows.X)
        scale, norms = self._bounds
        return self.model.forward(theta, rows.X.astype(np.float64, copy=False), scale[part],
                                  norms[part])

    def _loss_gradients(self, primal: FloatArray, dual: FloatArray, raw: FloatArray,
                        rows: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return weighted derivatives in predictions, extra variables and dual variables."""
        extra = primal[self.model.dimension:]
        derivatives = self.loss.gradients(rows.y, raw.astype(np.float64), extra, dual)
        weights = rows.weights
        if weights is None:
            return derivatives
        return tuple(derivative * (weights if derivative.ndim == 1 else weights[:, None])
                     for derivative in derivatives)
