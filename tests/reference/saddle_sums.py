"""Sums of clipped gradients of both blocks of a saddle loss: sensitive, for oracles only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._models.clipping import HEADROOM
from tests.reference.network_sums import SHORT_BLOCK, SINGLE_HEADROOM, bounded_factors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import Block, RowSource
    from dpsk._models.linear_pass import LinearPass
    from dpsk._models.mlp import Change, Pass
    from dpsk._typing import Chosen, FloatArray, IntArray

__all__ = ["SaddleSums"]

#: Entries of a block of dense rows; how many sparse rows a block has at least.
_ENTRIES, _CSR_ROWS = 1 << 18, 1 << 14


class SaddleSums:
    """Rows and the sums of their clipped gradients in the primal and in the dual block.

    The primal vector holds the model's coordinates, then the loss's extra ones; its gradient
    is clipped as one vector, and the dual one as another. Rows of a network are dense; those of a
    linear model enter scaled into its ball. `n_samples` is the public number of rows of the whole
    sum, where `rows` are some of them.
    """

    def __init__(self, model: Any, loss: Any, rows: RowSource, primal_clip: float,
                 dual_clip: float, n_samples: int | None = None) -> None:
        self.model, self.loss = model, loss
        self.n_samples = n_samples or len(rows)
        self.primal_size = model.dimension + loss.n_extra
        self._rows = rows.clipped_by(model) if model.is_linear else rows
        self._length = self._block_length()
        self._bounds = self._row_scales() if model.is_linear else None
        self.primal_clip, self.dual_clip = primal_clip, dual_clip
        self._headroom = HEADROOM if model.is_linear else SINGLE_HEADROOM

    def gradients(self, primal: FloatArray, dual: FloatArray,
                  rows: Chosen = None) -> tuple[FloatArray, FloatArray]:
        """Return the sums of clipped primal and dual gradients, float64, over `rows` or all.

        `primal` has shape (primal_size,) and `dual` (loss.dual_set.size,), and so have the sums.
        """
        sums = np.zeros(self.primal_size), np.zeros(self.loss.dual_set.size)
        for block in self._blocks(rows):
            forward, d_extra, d_dual = self._differentiated(primal, dual, *block)
            factors = self._factors(forward, d_extra, self._limits(dual, block))
            self._add(forward, d_extra, factors, sums[0])
            sums[1][:] += _clipped_sum(d_dual, self.dual_clip)
        return sums

    def dual_gradient(self, primal: FloatArray, dual: FloatArray,
                      rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped dual gradients, like `dual`."""
        total = np.zeros(self.loss.dual_set.size)
        for block in self._blocks(rows):
            raw = self._forward(primal, *block).raw.astype(np.float64)
            d_dual = self._loss_gradients(primal, dual, raw, block[1])[2]
            total += _clipped_sum(d_dual, self.dual_clip)
        return total

    def differences(self, new: tuple[FloatArray, FloatArray], old: tuple[FloatArray, FloatArray],
                    clip: float, rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped differences of clipped primal gradients on the same rows.

        Of shape (primal_size,), float64. `new` and `old` are (primal, dual) points.
        """
        total = np.zeros(self.primal_size)
        for block in self._blocks(rows):
            there, there_extra, _ = self._differentiated(*new, *block)
            here, here_extra, _ = self._differentiated(*old, *block)
            there_factors = self._factors(there, there_extra, self._limits(new[1], block))
            here_factors = self._factors(here, here_extra, self._limits(old[1], block))
            # Norm and sum are of one change a row: two sums would round as their terms do.
            change = there.less(here, there_factors, here_factors)
            extra = there_factors[:, None] * there_extra - here_factors[:, None] * here_extra
            self._add(change, extra, self._factors(change, extra, clip), total)
        return total

    def _block_length(self) -> int:
        if not self.model.is_linear:
            return SHORT_BLOCK
        # Sums of a linear model are of double precision, which bears blocks of any length.
        width = self._rows.n_features
        return max(_CSR_ROWS, width) if self._rows.is_sparse else max(1, _ENTRIES // width)

    def _row_scales(self) -> tuple[FloatArray, FloatArray]:
        """Return the factor by which every row is scaled, and the norm it then has."""
        found = [self.model.row_scales(self._rows.take(part).X)
                 for part in self._rows.blocks(self._length)]
        # A place may have no rows.
        scales, norms = zip(*found, strict=True) if found else ([np.empty(0)],) * 2
        return np.concatenate(scales), np.concatenate(norms)

    def _blocks(self, chosen: Any) -> Iterator[tuple[slice | IntArray, Block]]:
        """Yield where the rows of each block are, and the rows."""
        for part in self._rows.parts(self._length, chosen):
            yield part, self._rows.take(part)

    def _forward(self, primal: FloatArray, part: Any, rows: Block) -> Any:
        theta = primal[:self.model.dimension]
        if self._bounds is None:
            return self.model.forward(theta, rows.X)
        scale, norms = self._bounds
        return self.model.forward(theta, rows.X.astype(np.float64, copy=False), scale[part],
                                  norms[part])

    def _loss_gradients(self, primal: FloatArray, dual: FloatArray, raw: FloatArray,
                        rows: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the rows' weighted derivatives in the prediction, extra and dual numbers."""
        extra = primal[self.model.dimension:]
        derivatives = self.loss.gradients(rows.y, raw, extra, dual)
        weights = rows.weights
        if weights is None:
            return derivatives
        return tuple(derivative * (weights if derivative.ndim == 1 else weights[:, None])
                     for derivative in derivatives)

    def _differentiated(self, primal: FloatArray, dual: FloatArray, part: Any,
                        rows: Block) -> tuple[Any, FloatArray, FloatArray]:
        """Return a pass carried back, and the rows' derivatives in extra and dual numbers."""
        forward = self._forward(primal, part, rows)
        raw = forward.raw.astype(np.float64)
        dz, d_extra, d_dual = self._loss_gradients(primal, dual, raw, rows)
        forward.backward(dz)
        return forward, d_extra, d_dual

    def _add(self, forward: LinearPass | Pass | Change, d_extra: FloatArray, factors: FloatArray,
             total: FloatArray) -> None:
        forward.add_gradient(factors, total[:self.model.dimension])
        total[self.model.dimension:] += factors @ d_extra

    def _limits(self, dual: FloatArray, block: Any) -> FloatArray | float:
        """Return the clip of a row's gradient, which is the clip of its loss times its weight."""
        weights = self.loss.row_weights(block[1].y, dual)
        return self.primal_clip if weights is None else self.primal_clip * weights

    def _factors(self, change: LinearPass | Pass | Change, extra: FloatArray,
                 clip: FloatArray | float) -> FloatArray:
        """Return what clips rows to a norm, and drop those that are not finite.

        `change` is the part of the model's coordinates, a pass, and `extra` that of the others.
        """
        squares = change.square_norms() + np.einsum("ij,ij->i", extra, extra)
        factors = bounded_factors(squares, clip, self._headroom)
        lost = factors == 0.0
        if lost.any():
            change.drop(lost)
            extra[lost] = 0.0
        return factors


def _clipped_sum(vectors: FloatArray, clip_norm: float) -> FloatArray:
    """Return the sum of rows clipped to a norm; rows that are not finite are left out."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    factors = bounded_factors(squares, clip_norm, HEADROOM)
    vectors[factors == 0.0] = 0.0
    return factors @ vectors
