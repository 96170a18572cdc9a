r"""How rows of a linear map enter sums that are exact, in any order and on any threads.

Rows are truncated toward zero to multiples of ``2^-a`` and derivatives to multiples of
``2^-b``, which makes neither any longer. With ``n C 2^(a+b) < 2^53`` every partial sum of the
products is then an integer multiple of ``2^-(a+b)`` that a double holds exactly. Noise rounded
to the same grid commutes with adding it: rounding the noise is rounding the noisy sum, a
function of the continuous mechanism's answer.
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

# A block and its truncated copy, which a cache keeps until the gradient has been added.
_BLOCK_BYTES = 1 << 21
_CSR_ROWS = 1 << 12
#: Whole units of smaller tables in memory are kept, and those of far smaller ones as doubles.
_SMALL_BYTES, _TINY_BYTES = 1 << 23, 1 << 18
#: Larger limits would be infinite in single precision, and a product with 0 no number.
_MOST_LIMIT = float(np.finfo(np.float32).max)
#: The binary logarithm of an ordinary unit or limit: beside it single precision has all bits.
_ORDINARY = 60
#: Rows that are longer than 1 over this are scaled first: the grid has no bits for them.
_LEAST_LATE = 2.0**-2


class GridEntry(FloatEntry):
    """Rows on a grid of public resolution, exact whatever the order; `bits` of `grid_bits`.

    A block of rows is truncated when it is read, to whole units, and what scales its rows
    multiplies predictions and derivatives.
    """

    arithmetic = "grid"

    _buffer: Any = None
    #: By start of a block, whole units and rows as they enter, where they are kept.
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
        """Return the rows of a block, in whole units that the next block may overwrite."""
        scale, limits = self._scale[block], self._limits[block]
        if self._cache is None:
            X, y, weights = self.rows.take(block)
            return Part(self._cut(X, block), y, scale, limits, weights)
        y, weights = self.rows.beside(block)
        X = self._cache[block.start]
        if self._parts is not None:
            # Where all is read again nothing is converted anew.
            return Part(X, y, scale.astype(np.float64), limits.astype(np.float64), weights)
        return Part(self._as_doubles(X), y, scale, limits, weights)

    def _as_doubles(self, X: Features) -> Features:
        """Return kept rows in float64; what was returned before is overwritten."""
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
        """Truncate theta so that products with rows are exact as well."""
        return self._truncated(theta, self.model.radius)

    def zeros(self) -> Any:
        """Return totals of constants and of products in whole units, both of nothing."""
        return np.zeros((2, *self.model.shape))

    def add(self, dz: FloatArray, part: Part, total: Any) -> None:
        constants, products = total
        if self.model.fit_intercept:
            units = whole_values(dz, self._weight_unit).sum(axis=0)
            constants[-1] += self._weight_unit * units
        dz *= part.scale if dz.ndim == 1 else part.scale[:, None]
        # Rows are in whole units, so these carry the unit of both.
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
        # In whole units every sum of products is exact.
        self._add_whole_products(roots, part, total.room(len(roots)))

    def whole(self, total: Any) -> FloatArray:
        return total.parts() if isinstance(total, TwoPartSum) else total

    def finish_products(self, whole: FloatArray, bound: float) -> FloatArray:
        return joined(whole) * self._products_unit(bound)**2

    def products_bound(self, bound: float) -> tuple[float, int]:
        # Cut toward zero; a total of more bits than a double has is rounded once, by n u bounds.
        return bound, math.ceil(math.sqrt(1.5 * self.n_samples))

    def _products_unit(self, bound: float) -> float:
        return 2.0 ** -(exact_bits(min(self.n_samples, MOST_ROWS) * bound, 0.0) // 2)

    def _add_whole_products(self, roots: FloatArray, part: Part, total: FloatArray) -> None:
        """Add outer products of rows times `roots` of their weights, in whole units."""
        add_products(part.X, roots * part.scale, roots if self._plain.fit_intercept else None,
                     total)

    def _set_units(self, model: Any, clip_norm: float, bits: int) -> float:
        """Set the units of rows and of derivatives, and return that of their products."""
        self._plain = model
        # By start of a block: what its rows are multiplied by before the grid, as Shares.
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
            # Where whole units are kept, calls cost more than a cache.
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
        # A power of two, so that nothing is rounded.
        self._late *= self._row_unit
        return self._late, limits

    def _open_rows(self) -> FloatArray:
        """Set room for what every row costs beside its entries, and return that for limits.

        In single precision, unless its range could be too small for limits or for the unit.
        """
        fits = all(abs(math.log2(scale)) <= _ORDINARY
                   for scale in (self.clip.norm / self.model.radius, self._row_unit))
        self._late, limits = np.empty((2, len(self.rows)), np.float32 if fits else np.float64)
        return limits

    def _limit(self, norms: FloatArray, part: Any) -> FloatArray:
        """Return the limits on derivatives of rows of some norms, none of them rounded up."""
        limits = super()._limit(norms, part)
        if self._late.dtype == np.float64:
            return limits
        return rounded_down(np.minimum(limits, _MOST_LIMIT))

    def _factors(self, factors: FloatArray) -> FloatArray:
        """Return what rows are multiplied by after products, none of it rounded up."""
        return factors if self._late.dtype == np.float64 else rounded_down(factors)

    def _enter_block(self, part: Any, model: Any) -> tuple[Any, FloatArray, FloatArray]:
        """Return the rows of a slice in whole units, their scales over that of short rows, and
        their norms after scaling.

        The scales are split into what comes before the grid and what after products.
        """
        X = self.rows.take(part).X
        scales, norms = model.row_scales(X)
        shares = scales / (1.0 / model.unit)
        late = shares >= _LEAST_LATE
        shares = np.where(late, self._factors(shares), shares)
        self._late[part] = np.where(late, shares, 1.0)
        self._first[part.start] = Shares(X, np.where(late, 1.0, shares))
        rows = self._cut(X, part)
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
        """bool : whether rows were made for the fit."""
        return isinstance(self.rows, Rows) and self.rows.made

    def _kept_dtype(self) -> Any:
        """Return in what whole units are kept, of rows that are read again, from public facts.

        None where they are not.
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

    def _cut(self, X: Features, part: Any) -> Any:
        """Return the rows of a slice in whole units; what was returned before is overwritten."""
        if self._buffer is None and not self.rows.is_sparse:
            self._buffer = np.empty((min(self._block, len(self.rows)), self.rows.n_features))
        out = None if self._buffer is None else self._buffer[:X.shape[0]]
        return whole_units(X, self._usual, self._first[part.start], out)

    def _truncated(self, point: AnyArray, radius: float) -> FloatArray:
        length = math.sqrt(np.vdot(point, point)) * radius / _LEAST_LATE
        if not math.isfinite(length) or not length:
            return point
        unit = 2.0 ** (math.ceil(math.log2(length / self._row_unit)) - 52)
        return np.trunc(point / unit) * unit


def _row_bits(model: Any, clip_norm: float, bits: int) -> int:
    """Return the part of `bits` that is for rows: so many that rows and derivatives lose alike.

    Entries of rows are at most data_norm, derivatives of the longest rows `clip_norm` over
    their norm.
    """
    longest = model.data_norm
    if model.fit_intercept:
        # Beside the constant, far shorter rows must not take the bits of its derivatives.
        longest = max(longest, 2.0**-8)
    share = math.floor(0.5 * (bits + math.log2(clip_norm / (longest * model.radius))))
    # The constant itself has to lie on the grid of the rows.
    return max(share, 0) if model.fit_intercept else share


def _cached_dtype(data_norm: float, row_bits: int) -> Any:
    """Return the smallest type that holds entries of rows in whole units, None for none."""
    for dtype, bits in ((np.int16, 15), (np.float32, 24)):
        # Rows that are scaled after products may be that much longer.
        if data_norm * 2.0**row_bits / _LEAST_LATE < 2.0**bits:
            return np.dtype(dtype)
    return None
