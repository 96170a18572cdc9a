"""Terms of a linear model's rows in sums in double precision."""

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

# Large enough for threaded matrix-vector products, small enough that a block stays in the cache
# between its predictions and its gradient.
_BLOCK_BYTES = 1 << 21
_CSR_ROWS = 1 << 14
#: Smaller numbers are subnormal and have fewer bits.
_LEAST = float(np.finfo(np.float64).tiny)


class Part(NamedTuple):
    """The rows of a block with their scales; views where the block is a slice.

    `limits` bound the norms of the rows' derivatives, so that the clip of the entry holds.
    """

    X: Features
    y: AnyArray
    scale: Any
    limits: FloatArray
    weights: FloatArray | None


class FloatEntry:
    """Scaled rows, their predictions and products with derivatives, rounded.

    Single-precision rows are converted block by block: a float32 sum of many rows can lose more
    than one row contributes. A scale and a limit are stored for every row.

    Parameters
    ----------
    model : LinearModel
    rows : RowSource
    clip : Clip
        The clip of what a row adds, from which limits are computed. In a group of k rows, each
        row gets a k-th of the bound.
    n_samples : int or None
        The public number of rows, or of groups, in the whole sum, where `rows` is a part of it.
    """

    resolution: float | None = None
    arithmetic = "float"
    #: Whether a pass that computes the curvature also computes the gradient at its point.
    pairs = False

    def __init__(self, model: Any, rows: RowSource, clip: Clip,
                 n_samples: int | None = None) -> None:
        self.model, self.clip = model, clip
        self.n_samples = n_samples or rows.n_units
        self.rows = rows.clipped_by(model)
        self._block = self._block_size()
        self._scale, self._limits = self._enter()

    def rounding_terms(self, n_rows: float) -> Any:
        """Return `Sensitivity.terms` for an array that sums over `n_rows`."""
        return self.model.rounding_terms(n_rows)

    def blocks(self, chosen: Chosen = None) -> Iterator[Any]:
        """Yield slices of the table if `chosen` is None, else parts of the row indices."""
        return self.rows.parts(self._block, chosen)

    def take(self, block: Any) -> Part:
        """Return the rows of a block."""
        X, y, weights = self.rows.take(block)
        X = X if X.dtype == np.float64 else X.astype(np.float64)
        return Part(X, y, self._scale[block], self._limits[block], weights)

    def placed(self) -> Iterator[tuple[Any, Part]]:
        """Yield all rows block by block, with their positions in the table."""
        return ((block, self.take(block)) for block in self.blocks())

    def point(self, theta: FloatArray) -> FloatArray:
        """Return the public point at which predictions are made."""
        return theta

    def predict(self, point: AnyArray, part: Part) -> FloatArray:
        """Return the raw predictions of rows at `point`, a result of the method `point`."""
        return self.model.predict_raw(point, part.X, part.scale)

    def full_length(self, raw: FloatArray, part: Part) -> FloatArray:
        """Return raw predictions on the scale of unscaled targets."""
        return raw / self._wholes(part.scale) if self.model.scales_targets else raw

    def targets(self, part: Part) -> AnyArray:
        """Return the targets of rows on the scale of their predictions."""
        return part.y * self._wholes(part.scale) if self.model.scales_targets else part.y

    def zeros(self) -> Any:
        """Return a zero total, which `add` adds to."""
        return np.zeros(self.model.shape)

    def add(self, dz: FloatArray, part: Part, total: Any) -> None:
        """Add the sum of rows times their clipped derivatives to `total`; overwrites `dz`."""
        self.model.gradient_sum(dz, part.X, part.scale, total)

    def whole(self, total: Any) -> FloatArray:
        """Return a total as an array, which the caller adds over locations."""
        return total

    def finish(self, whole: FloatArray) -> FloatArray:
        """Return the sum of rows from the added results of `whole`."""
        return whole

    def no_products(self) -> Any:
        """Return a zero total of outer products."""
        size = self.model.shape[0]
        return np.zeros((size, size))

    def add_products(self, weights: FloatArray, part: Part, bound: float, total: Any) -> None:
        """Add outer products of rows times their weights to `total`; overwrites `weights`.

        The largest eigenvalue of what a row adds is at most `bound`.
        """
        squares = (part.scale if part.scale.ndim == 1 else part.scale[:, 0])**2
        # Subnormal products have too few bits to keep the bound.
        weights[np.minimum(squares, weights * squares) < _LEAST] = 0.0
        self.model.outer_sum(weights, part.X, part.scale, total)

    def finish_products(self, whole: FloatArray, bound: float) -> FloatArray:
        """Return the sum of outer products from the added results of `whole`."""
        return whole

    def products_bound(self, bound: float) -> tuple[float, int]:
        """Return the bound on a row's rounded outer product, and `Sensitivity.terms`."""
        # The same rounding is compared with a distance of sqrt(2) bounds instead of 2.
        return bound, math.ceil(2.0**0.25 * self.n_samples)

    def _block_size(self) -> int:
        """Return how many rows are read at a time, from public facts only."""
        rows = self.rows
        if not rows.is_sparse:
            return max(1, _BLOCK_BYTES // (8 * rows.n_features))
        # A slice of a CSR matrix is a copy, which is worth its time only in these two cases.
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
        # A location may have no rows.
        return np.concatenate(scales) if scales else limits, limits

    def _row_scales(self, X: Features) -> tuple[FloatArray, FloatArray]:
        """Return the scales of rows, and the l2 norms of the scaled rows."""
        return self.model.row_scales(X)

    def _entering(self, X: Features, scale: FloatArray, norms: FloatArray) -> FloatArray:
        """Return the norms of scaled rows with the intercept's 1, in the norm of the clip."""
        if self.clip.order == math.inf:
            return self.model.row_maxima(X, scale)
        if self.clip.order == 1:
            norms = absolute_sums(X, scale)
        return self.model.entering_norms(norms, self.clip.order)

    def _limit(self, norms: FloatArray, part: Any) -> FloatArray:
        """Return the limits on derivatives of the rows of a slice, from the rows' norms."""
        groups = self.rows.groups
        return self.clip.limits(norms, None if groups is None else groups.sizes[part])

    def _wholes(self, scale: Any) -> FloatArray:
        """Return the factors that multiply the constant and the target of each row."""
        return scale[:, 1]
