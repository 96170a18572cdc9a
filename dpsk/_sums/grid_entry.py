r"""Terms of a linear model's rows in sums that are exact in any order of addition.

Rows are truncated toward zero to multiples of ``2^-a`` and derivatives to multiples of
``2^-b``, which makes neither longer. If ``n C 2^(a+b) < 2^53``, every partial sum of the
products is an integer multiple of ``2^-(a+b)`` that a double holds exactly. Adding noise rounded
to the same grid equals rounding the noisy sum: post-processing of the continuous mechanism.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_of
from dpsk._data.norms import absolute_sums, row_norms
from dpsk._data.source import Rows
from dpsk._privacy.noise.grids import exact_bits
from dpsk._sums.float_entry import FloatEntry, Part
from dpsk._sums.truncation import Shares, add_products, rounded_down, whole_units, whole_values
from dpsk._sums.two_part_sum import MOST_ROWS, TwoPartSum, joined

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._sums.clip import Clip
    from dpsk._typing import AnyArray, Features, FloatArray

__all__ = ["GridEntry"]

# A block and its truncated copy stay in the cache until the gradient has been added.
_BLOCK_BYTES = 1 << 21
_CSR_ROWS = 1 << 12
#: Tables in memory up to these sizes keep their truncated rows, the smaller ones as doubles.
_SMALL_BYTES, _TINY_BYTES = 1 << 23, 1 << 18
#: Larger limits would be infinite in single precision, and their product with 0 would be NaN.
_MOST_LIMIT = float(np.finfo(np.float32).max)
#: Units and limits within 2^-60 and 2^60 keep all bits of single precision.
_ORDINARY = 60
#: Rows with a smaller relative scale are scaled first: the grid has too few bits for them.
_LEAST_LATE = 2.0**-2


class GridEntry(FloatEntry):
    """Rows on a grid of public resolution, with sums that are exact in any order.

    A block of rows is truncated when it is read, to integer multiples of the grid spacing. The
    scales of its rows multiply predictions and derivatives. `bits` is a result of `grid_bits`.
    """

    arithmetic = "grid"

    _buffer: Any = None
    #: From the start of a block to its truncated rows and to its `Part`, where these are kept.
    _cache: Any = None
    _parts: Any = None

    def __init__(self, model: Any, rows: RowSource, clip: Clip, bits: int,
                 n_samples: int | None = None) -> None:
        self.resolution = self._set_units(model, clip.norm, bits)
        super().__init__(model, rows, clip, n_samples)

    def take(self, block: Any) -> Part:
        if self._parts is None:
            return self._part(block)
        if block.start not in self._parts:
            self._parts[block.start] = self._part(block)
        return self._parts[block.start]

    def _part(self, block: Any) -> Part:
        """Return the truncated rows of a block; the next block may overwrite them."""
        scale, limits = self._scale[block], self._limits[block]
        y, weights = self.rows.beside(block)
        if self._cache is None:
            return Part(self._cut(block), y, scale, limits, weights)
        X = self._cache[block.start]
        if self._parts is not None:
            # The part is kept, so convert its scales and limits once.
            return Part(X, y, scale.astype(np.float64), limits.astype(np.float64), weights)
        return Part(self._as_doubles(X), y, scale, limits, weights)

    def _as_doubles(self, X: Features) -> Features:
        """Return kept rows in float64; overwrites the rows that the last call returned."""
        if not sparse.issparse(X):
            out = self._buffer[:len(X)]
            out[...] = X
            return out
        if self._buffer is None or len(self._buffer) < X.nnz:
            self._buffer = np.empty(X.nnz)
        entries = self._buffer[:X.nnz]
        entries[...] = X.data
        return csr_of(entries, X.indices, X.indptr, X.shape[1])

    def point(self, theta: FloatArray) -> FloatArray:
        """Return theta truncated, so that its products with rows are exact too."""
        return self._truncated(theta, self.model.radius)

    def zeros(self) -> Any:
        """Return zero totals of constants, and of products in integer units."""
        return np.zeros((2, *self.model.shape))

    def add(self, dz: FloatArray, part: Part, total: Any) -> None:
        constants, products = total
        if self.model.fit_intercept:
            units = whole_values(dz, self._weight_unit).sum(axis=0)
            constants[-1] += self._weight_unit * units
        dz *= part.scale if dz.ndim == 1 else part.scale[:, None]
        # Rows are integers, so these factors are divided by the units of both.
        dz = whole_values(dz, self._weight_unit * self._row_unit, dz)
        self.model.features_sum(dz, part.X, products)

    def finish(self, whole: FloatArray) -> FloatArray:
        constants, products = whole
        return constants + self._weight_unit * self._row_unit * products

    def no_products(self) -> TwoPartSum:
        return TwoPartSum((self.model.shape[0],) * 2)

    def add_products(self, weights: FloatArray, part: Part, bound: float, total: Any) -> None:
        roots = np.sqrt(weights, out=weights)
        roots /= self._products_unit(bound)
        # Sums of products of integers are exact.
        self._add_whole_products(roots, part, total.room(len(roots)))

    def whole(self, total: Any) -> FloatArray:
        return total.parts() if isinstance(total, TwoPartSum) else total

    def finish_products(self, whole: FloatArray, bound: float) -> FloatArray:
        return joined(whole) * self._products_unit(bound)**2

    def products_bound(self, bound: float) -> tuple[float, int]:
        # Truncation lengthens no row. A total with more bits than a double is rounded once, by
        # at most n u times the bound.
        return bound, math.ceil(math.sqrt(1.5 * self.n_samples))

    def _products_unit(self, bound: float) -> float:
        return 2.0 ** -(exact_bits(min(self.n_samples, MOST_ROWS) * bound, 0.0) // 2)

    def _add_whole_products(self, roots: FloatArray, part: Part, total: FloatArray) -> None:
        """Add outer products of rows times `roots` of their weights, in integer units."""
        add_products(part.X, roots * part.scale, roots if self._plain.fit_intercept else None,
                     total)

    def _set_units(self, model: Any, clip_norm: float, bits: int) -> float:
        """Set the spacings of rows and derivatives; return that of their products."""
        self._plain = model
        # From the start of a block to the factors of its rows before truncation, as Shares.
        self._first: dict[int, Any] = {}
        row_bits = _row_bits(model, clip_norm, bits)
        self._cached_dtype = _cached_dtype(model.data_norm, row_bits)
        self._row_unit = 2.0 ** -row_bits
        self._weight_unit = 2.0**-bits / self._row_unit
        self._usual = 1.0 / (model.unit * self._row_unit)
        return 2.0**-bits

    def _block_size(self) -> int:
        rows = self.rows
        if rows.is_sparse:
            # Where truncated rows are kept, calls take more time than cache misses.
            return MOST_ROWS if self._are_made else _CSR_ROWS
        return min(MOST_ROWS, max(1, _BLOCK_BYTES // (8 * rows.n_features)))

    def _enter(self) -> tuple[FloatArray, FloatArray]:
        limits = self._open_rows()
        for part in self.rows.blocks(self._block):
            rows, _, _ = self._enter_block(part, self.model)
            norms = row_norms(rows) if self.clip.order == 2 else absolute_sums(rows)
            norms *= self._late[part]
            norms *= self._row_unit
            limits[part] = self._limit(self.model.entering_norms(norms, self.clip.order), part)
        # The unit is a power of two, so nothing is rounded.
        self._late *= self._row_unit
        return self._late, limits

    def _open_rows(self) -> FloatArray:
        """Allocate the scales of rows, and return an empty array for their limits.

        Both have single precision, unless limits or units could be outside its range.
        """
        fits = all(abs(math.log2(scale)) <= _ORDINARY
                   for scale in (self.clip.norm / self.model.radius, self._row_unit))
        self._late, limits = np.empty((2, len(self.rows)), np.float32 if fits else np.float64)
        return limits

    def _limit(self, norms: FloatArray, part: Any) -> FloatArray:
        """Return the limits on derivatives from the rows' norms; no limit is rounded up."""
        limits = super()._limit(norms, part)
        if self._late.dtype == np.float64:
            return limits
        return rounded_down(np.minimum(limits, _MOST_LIMIT))

    def _factors(self, factors: FloatArray) -> FloatArray:
        """Return factors in the precision of the scales; no factor is rounded up."""
        return factors if self._late.dtype == np.float64 else rounded_down(factors)

    def _enter_block(self, part: Any, model: Any) -> tuple[Any, FloatArray, FloatArray]:
        """Return a slice's truncated rows, their relative scales and scaled norms.

        Relative scales are over the scale of short rows. Each scale is applied either before the
        truncation or after products.
        """
        X = self.rows.take(part).X
        scales, norms = model.row_scales(X)
        shares = scales / (1.0 / model.unit)
        late = shares >= _LEAST_LATE
        shares = np.where(late, self._factors(shares), shares)
        self._late[part] = np.where(late, shares, 1.0)
        self._first[part.start] = Shares(X, np.where(late, 1.0, shares))
        rows = self._cut(part, X)
        dtype = self._kept_dtype()
        if dtype is not None:
            if self._cache is None:
                self._cache, self._parts = {}, {} if dtype == np.float64 else None
            self._cache[part.start] = rows.astype(dtype) if not self.rows.is_sparse else csr_of(
                rows.data.astype(dtype), rows.indices, rows.indptr, rows.shape[1])
            del self._first[part.start]
        return rows, shares, norms

    @property
    def _are_made(self) -> bool:
        """bool : whether the rows were created for this fit."""
        return isinstance(self.rows, Rows) and self.rows.made

    def _kept_dtype(self) -> Any:
        """Return the dtype in which truncated rows are kept, None where they are not.

        It follows from public facts only.
        """
        rows, dtype = self.rows, self._cached_dtype
        room = _SMALL_BYTES if isinstance(rows, Rows) else rows.cache_bytes
        n_entries = len(rows) * rows.n_features
        if rows.is_sparse:
            return dtype if self._are_made else None
        if 8 * n_entries <= min(room, _TINY_BYTES):
            return np.dtype(np.float64)
        fits = self._are_made or (dtype is not None and n_entries * dtype.itemsize <= room)
        return dtype if fits else None

    def _cut(self, part: Any, X: Features = None) -> Any:
        """Return the truncated rows of a slice; overwrites the dense rows returned before.

        X holds the rows of the slice where they have been read already.
        """
        if self.rows.is_sparse:
            X = self.rows.take(part).X if X is None else X
            return whole_units(X, self._usual, self._first[part.start])
        if self._buffer is None:
            self._buffer = np.empty((min(self._block, len(self.rows)), self.rows.n_features))
        out = self._buffer[:part.stop - part.start]
        if X is None:
            self.rows.write(part, out)
        else:
            out[...] = X
        return whole_units(out, self._usual, self._first[part.start], out)

    def _truncated(self, point: AnyArray, radius: float) -> FloatArray:
        length = math.sqrt(np.vdot(point, point)) * radius / _LEAST_LATE
        if not math.isfinite(length) or not length:
            return point
        unit = 2.0 ** (math.ceil(math.log2(length / self._row_unit)) - 52)
        return np.trunc(point / unit) * unit


def _row_bits(model: Any, clip_norm: float, bits: int) -> int:
    """Return the bits for rows, so that rows and derivatives lose equally much.

    Entries of rows are at most data_norm. Derivatives of the longest rows are at most `clip_norm`
    over their norm.
    """
    longest = model.data_norm
    if model.fit_intercept:
        # Rows far shorter than the constant must not take bits from its derivatives.
        longest = max(longest, 2.0**-8)
    share = math.floor(0.5 * (bits + math.log2(clip_norm / (longest * model.radius))))
    # The constant 1 must lie on the grid of the rows.
    return max(share, 0) if model.fit_intercept else share


def _cached_dtype(data_norm: float, row_bits: int) -> Any:
    """Return the smallest dtype that holds truncated rows; None if none does."""
    for dtype, bits in ((np.int16, 15), (np.float32, 24)):
        # Rows that are scaled after products may be longer by 1 / _LEAST_LATE.
        if data_norm * 2.0**row_bits / _LEAST_LATE < 2.0**bits:
            return np.dtype(dtype)
    return None
