"""How rows of a linear map enter sums in double precision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpsk._data.norms import absolute_sums

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._sums.clip import Clip
    from dpsk._typing import AnyArray, Chosen, Features, FloatArray

__all__ = ["FloatEntry", "Part"]

# Large enough for threaded matrix-vector products, small enough for a cache to keep a block from
# its predictions to its gradient.
_BLOCK_BYTES = 1 << 21
_CSR_ROWS = 1 << 14
#: Smaller numbers have fewer bits.
_LEAST = float(np.finfo(np.float64).tiny)


class Part(NamedTuple):
    """Rows of a block as they enter, as views where the block is a slice.

    `limits` bound the norms of the rows' derivatives, by the clip of the entry.
    """

    X: Features
    y: AnyArray
    scale: Any
    limits: FloatArray
    weights: FloatArray | None


class FloatEntry:
    """Rows as they enter, their predictions, and their products with derivatives, rounded.

    Rows of single precision are converted block by block: a float32 sum of many rows can lose
    more than a row's share. A row costs two numbers, its scale and its limit.

    Parameters
    ----------
    model : LinearModel
    rows : RowSource
    clip : Clip
        Of what a row adds; limits follow it. Of a group of k rows each has a k-th.
    n_samples : int or None
        The public number of rows, or of groups, of the whole sum, where `rows` are some of them.
    """

    resolution: float | None = None
    arithmetic = "float"
    #: Whether the pass of a curvature makes the gradient at its point as well.
    pairs = False

    def __init__(self, model: Any, rows: RowSource, clip: Clip,
                 n_samples: int | None = None) -> None:
        self.model, self.clip = model, clip
        self.n_samples = n_samples or rows.n_units
        self.rows = rows.clipped_by(model)
        self._block = self._block_size()
        self._scale, self._limits = self._enter()

    def rounding_terms(self, n_rows: float) -> Any:
        """Return the `terms` of a part of an answer that sums over `n_rows`."""
        return self.model.rounding_terms(n_rows)

    def blocks(self, chosen: Chosen = None) -> Iterator[Any]:
        """Yield slices of the table where all rows are read, else parts of the indices."""
        return self.rows.parts(self._block, chosen)

    def take(self, block: Any) -> Part:
        """Return the rows of a block."""
        X, y, weights = self.rows.take(block)
        X = X if X.dtype == np.float64 else X.astype(np.float64)
        return Part(X, y, self._scale[block], self._limits[block], weights)

    def placed(self) -> Iterator[tuple[Any, Part]]:
        """Yield all rows block by block, with the places where they stand."""
        return ((block, self.take(block)) for block in self.blocks())

    def point(self, theta: FloatArray) -> FloatArray:
        """Return the public point at which predictions are made."""
        return theta

    def predict(self, point: AnyArray, part: Part) -> FloatArray:
        """Return the raw predictions of rows at what `point` returned."""
        return self.model.predict_raw(point, part.X, part.scale)

    def targets(self, part: Part) -> AnyArray:
        """Return the targets of rows, as they meet predictions."""
        return part.y * self._wholes(part.scale) if self.model.scales_targets else part.y

    def zeros(self) -> Any:
        """Return a total of nothing, that `add` adds to."""
        return np.zeros(self.model.shape)

    def add(self, dz: FloatArray, part: Part, total: Any) -> None:
        """Add the sum of rows times their clipped derivatives, which are overwritten."""
        self.model.gradient_sum(dz, part.X, part.scale, total)

    def whole(self, total: Any) -> FloatArray:
        """Return the array of a total, which adds up over places."""
        return total

    def finish(self, whole: FloatArray) -> FloatArray:
        """Return the sum that an array stands for."""
        return whole

    def no_products(self) -> Any:
        """Return a total of no outer products."""
        size = self.model.shape[0]
        return np.zeros((size, size))

    def add_products(self, weights: FloatArray, part: Part, bound: float, total: Any) -> None:
        """Add outer products of rows times their weights, which are overwritten.

        No eigenvalue of what a row adds is above `bound`.
        """
        squares = (part.scale if part.scale.ndim == 1 else part.scale[:, 0])**2
        # Products of too few bits would not keep the bound.
        weights[np.minimum(squares, weights * squares) < _LEAST] = 0.0
        self.model.outer_sum(weights, part.X, part.scale, total)

    def finish_products(self, whole: FloatArray, bound: float) -> FloatArray:
        """Return the sum of outer products that an array stands for."""
        return whole

    def products_bound(self, bound: float) -> tuple[float, int]:
        """Return how large rounding makes a row's outer product, and the `terms` of a part."""
        # Two sums are off by as much as ever, beside a distance of sqrt(2) bounds and not 2.
        return bound, math.ceil(2.0**0.25 * self.n_samples)

    def _block_size(self) -> int:
        """Return how many rows are read at a time; it follows from public facts."""
        rows = self.rows
        if not rows.is_sparse:
            return max(1, _BLOCK_BYTES // (8 * rows.n_features))
        # Slices are copies, which pay only where blocks save as much elsewhere.
        copied = self.model.n_outputs is not None or rows.dtype != np.float64
        return max(_CSR_ROWS, rows.n_features) if copied else max(1, len(rows))

    def _enter(self) -> tuple[FloatArray, FloatArray]:
        """Return the scale of every row, and the limit on the norm of its derivatives."""
        scales, limits = [], np.empty(len(self.rows))
        for part in self.rows.blocks(self._block):
            X = self.rows.take(part).X
            scale, norms = self._row_scales(X)
            scales.append(scale)
            limits[part] = self._limit(self._entering(X, scale, norms), part)
        # A place may have no rows.
        return np.concatenate(scales) if scales else limits, limits

    def _row_scales(self, X: Features) -> tuple[FloatArray, FloatArray]:
        """Return the scales of rows, and the l2 norms they then have."""
        return self.model.row_scales(X)

    def _entering(self, X: Features, scale: FloatArray, norms: FloatArray) -> FloatArray:
        """Return the norms, by the measure of the clip, of scaled rows as they enter."""
        if self.clip.order == math.inf:
            return self.model.row_maxima(X, scale)
        if self.clip.order == 1:
            norms = absolute_sums(X, scale)
        return self.model.entering_norms(norms, self.clip.order)

    def _limit(self, norms: FloatArray, part: Any) -> FloatArray:
        """Return the limits on derivatives of the rows of a slice, which enter with some norms."""
        groups = self.rows.groups
        return self.clip.limits(norms, None if groups is None else groups.sizes[part])

    def _wholes(self, scale: Any) -> FloatArray:
        """Return what rows of some scales are multiplied by as a whole, the constant included."""
        return scale[:, 1]
