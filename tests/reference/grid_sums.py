r"""Sums that are exact: every bit is the same in any order, on any number of threads.

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

from dpsk._data.norms import absolute_sums, row_norms
from dpsk._data.source import Rows
from dpsk._privacy.noise.grids import exact_bits
from dpsk._sums.truncation import Shares, add_products, whole_units
from dpsk._sums.two_part_sum import MOST_ROWS, TwoPartSum, joined
from tests.reference.row_sums import RowSums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._typing import AnyArray, Chosen, Features, FloatArray

__all__ = ["GridSums", "WhitenedGridSums"]

# A block and its truncated copy, which a cache keeps until the gradient has been added.
_BLOCK_BYTES = 1 << 20
_CSR_ROWS = 1 << 12
#: Whole units of smaller tables in memory are kept.
_SMALL_BYTES = 1 << 23
#: Larger limits would be infinite in single precision, and a product with 0 no number.
_MOST_LIMIT = float(np.finfo(np.float32).max)
#: Sign, exponent and the bits of a double that single precision has as well.
_SINGLE_BITS = np.int64(-(1 << 29))
#: The binary logarithm of an ordinary unit or limit: beside it single precision has all bits.
_ORDINARY = 60
#: Rows that are longer than 1 over this are scaled first: the grid has no bits for them.
_LEAST_LATE = 2.0**-2


class GridSums(RowSums):
    """Row sums on a grid of public resolution, exact whatever the order; `bits` of `grid_bits`.

    A block of rows is truncated when it is read, to whole units, and what scales its rows
    multiplies predictions and derivatives. A row costs two numbers, its scale and its limit.
    """

    arithmetic = "grid"

    if TYPE_CHECKING:
        def _add_gradient(self, dz: FloatArray, part: Any, sums: TwoPartSum) -> None: ...

    _buffer: Any = None
    _cache: Any = None

    def __init__(self, model: Any, loss: Any, rows: RowSource, clip_norm: float, bits: int,
                 order: int = 2, n_samples: int | None = None) -> None:
        self.resolution = self._units(model, clip_norm, bits)
        super().__init__(model, loss, rows, clip_norm, order, n_samples)

    def _units(self, model: Any, clip_norm: float, bits: int) -> float:
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
        rows = self._rows
        if rows.is_sparse:
            return _CSR_ROWS
        return min(MOST_ROWS, max(1, _BLOCK_BYTES // (8 * rows.n_features)))

    def gradient(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        total, products = np.zeros((2, *self.model.shape))
        point, unit = self._point(theta), self._weight_unit * self._row_unit
        for block in self._blocks(rows):
            X, _, scale, _, _ = part = self._take(block)
            dz = self._derivatives(point, part)
            if self.model.fit_intercept:
                total[-1] += self._weight_unit * _whole(dz, self._weight_unit).sum(axis=0)
            dz *= scale if dz.ndim == 1 else scale[:, None]
            # Rows are in whole units, so these carry the unit of both.
            self.model.features_sum(_whole(dz, unit, dz), X, products)
        total += unit * products
        return total

    def curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        return self.from_whole_curvature(self.whole_curvature(theta, bound), bound)

    def whole_curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        """Return the sum of the rows' outer products in whole units, exact, in two parts."""
        return self._whole_curvature(theta, bound)

    def _whole_curvature(self, theta: FloatArray, bound: float,
                         gradients: TwoPartSum | None = None) -> FloatArray:
        """Return the same; the sum of gradients is added to `gradients`, where there is one."""
        unit, size = self._curvature_unit(bound), len(theta)
        sums, point = TwoPartSum((size, size)), self._point(theta)
        for part in map(self._take, self._blocks(None)):
            roots, slopes = self._curvatures(point, part, bound)
            if gradients is not None:
                self._add_gradient(self._clipped(slopes, part[3], None), part, gradients)
            np.sqrt(roots, out=roots)
            roots /= unit
            # In whole units every sum of products is exact.
            self._add_products(part[0], roots, part[2], sums.room(len(roots)))
        return sums.parts()

    def from_whole_curvature(self, parts: FloatArray, bound: float) -> FloatArray:
        """Return the `curvature` that two parts of its whole units stand for."""
        return joined(parts) * self._curvature_unit(bound)**2

    def curvature_bound(self, bound: float) -> tuple[float, int]:
        # Cut toward zero; a total of more bits than a double has is rounded once, by n u bounds.
        return bound, math.ceil(math.sqrt(1.5 * self.n_samples))

    def _curvature_unit(self, bound: float) -> float:
        return 2.0 ** -(exact_bits(min(self.n_samples, MOST_ROWS) * bound, 0.0) // 2)

    def _add_products(self, X: Features, roots: FloatArray, scale: Any, total: FloatArray) -> None:
        """Add outer products of rows times `roots` of their weights, in whole units."""
        add_products(X, roots * scale, roots if self._plain.fit_intercept else None, total)

    def _enter(self) -> tuple[FloatArray, FloatArray]:
        limits = self._open_rows()
        for part in self._rows.blocks(self._block):
            rows, _ = self._enter_block(part, self.model)
            norms = row_norms(rows) if self._order == 2 else absolute_sums(rows)
            norms *= self._late[part]
            norms *= self._row_unit
            limits[part] = self._limit(self.model.entering_norms(norms, self._order), part)
        # A power of two, so that nothing is rounded.
        self._late *= self._row_unit
        return self._late, limits

    def _open_rows(self) -> FloatArray:
        """Set room for what every row costs beside its entries, and return that for limits.

        In single precision, unless its range could be too small for limits or for the unit.
        """
        fits = all(abs(math.log2(scale)) <= _ORDINARY
                   for scale in (self.clip_norm / self.model.radius, self._row_unit))
        self._late, limits = np.empty((2, len(self._rows)), np.float32 if fits else np.float64)
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

    def _enter_block(self, part: Any, model: Any) -> tuple[Any, FloatArray]:
        """Return the rows of a slice in whole units, and their scales over that of short rows.

        The scales are split into what comes before the grid and what after products.
        """
        X = self._rows.take(part).X
        shares = model.row_scales(X)[0] / (1.0 / model.unit)
        late = shares >= _LEAST_LATE
        shares = np.where(late, self._factors(shares), shares)
        self._late[part] = np.where(late, shares, 1.0)
        self._first[part.start] = Shares(X, np.where(late, 1.0, shares))
        rows = self._cut(X, part)
        if self._caches():
            self._cache = {} if self._cache is None else self._cache
            self._cache[part.start] = rows.astype(self._cached_dtype)
            del self._first[part.start]
        return rows, shares

    def _caches(self) -> bool:
        """Return whether whole units are kept, of rows that are read again, from public facts."""
        rows, dtype = self._rows, self._cached_dtype
        room = _SMALL_BYTES if isinstance(rows, Rows) else rows.cache_bytes
        return not (dtype is None or rows.is_sparse) and (
            len(rows) * rows.n_features * dtype.itemsize <= room)

    def _cut(self, X: Features, part: Any) -> Any:
        """Return the rows of a slice in whole units; what was returned before is overwritten."""
        if self._buffer is None and not self._rows.is_sparse:
            self._buffer = np.empty((min(self._block, len(self._rows)), self._rows.n_features))
        out = None if self._buffer is None else self._buffer[:X.shape[0]]
        return whole_units(X, self._usual, self._first[part.start], out)

    def _take(self, block: Any) -> tuple[Any, ...]:
        if self._cache is None:
            X, y, weights = self._rows.take(block)
            X = self._cut(X, block)
        else:
            y, weights = self._rows.beside(block)
            X = self._buffer[:block.stop - block.start]
            X[...] = self._cache[block.start]
        return X, y, self._scale[block], self._limits[block], weights

    def _point(self, theta: FloatArray) -> FloatArray:
        """Truncate theta so that products with rows are exact as well."""
        return self._truncated(theta, self.model.radius)

    def _truncated(self, point: AnyArray, radius: float) -> FloatArray:
        length = float(np.linalg.norm(point)) * radius / _LEAST_LATE
        if not math.isfinite(length) or not length:
            return point
        unit = 2.0 ** (math.ceil(math.log2(length / self._row_unit)) - 52)
        return np.trunc(point / unit) * unit


class WhitenedGridSums(GridSums):
    """Grid sums of a `WhitenedModel`: exact over the rows as they are, then mapped once.

    The total before its map has the same bits in any order and blocks, and so has what a public
    matrix makes of it. Rounding in that product is priced like that of a float sum. So the total
    need not be a double: its bits are those of a block, however many rows there are.
    """

    # What is rounded is no multiple of a unit.
    resolution = None
    #: The point of the last curvature, and the sum of gradients there.
    _beside_curvature = None

    def __init__(self, model: Any, loss: Any, rows: RowSource, clip_norm: float,
                 n_samples: int | None = None) -> None:
        self._constants: dict[int, Any] = {}
        # A derivative times a row that is not mapped may be longer than the clip norm.
        self._stretch = model.inverse_norm
        reach = clip_norm * self._stretch
        most = min(n_samples or rows.n_units, MOST_ROWS)
        bits = 51 - math.ceil(math.log2(most * reach))
        self._units(model.rows, reach, bits)
        RowSums.__init__(self, model, loss, rows, clip_norm, n_samples=n_samples)

    def from_whole_curvature(self, parts: FloatArray, bound: float) -> FloatArray:
        total = super().from_whole_curvature(parts, bound)
        return self.model.matrix.T @ total @ self.model.matrix

    def curvature_bound(self, bound: float) -> tuple[float, int]:
        # Entries that are cut by less than a unit are mapped afterwards.
        cut = self._curvature_unit(bound) * math.sqrt(self.model.dimension / bound)
        cut *= float(np.linalg.norm(self.model.matrix, 2))
        terms = math.ceil(math.sqrt(3.0 * self.model.dimension * self.n_samples)
                          * self.model.spread)
        return bound * (1.0 + cut)**2, terms

    def _curvature_unit(self, bound: float) -> float:
        return super()._curvature_unit(bound * self._stretch**2)

    def rounding_terms(self, n_rows: float) -> int:
        # Only the map of a total rounds.
        return math.ceil(math.sqrt(2.0 * self.model.dimension * n_rows * self.model.spread))

    def gradient(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        return self.from_whole_gradient(self.whole_gradient(theta, rows))

    def from_whole_gradient(self, parts: FloatArray) -> FloatArray:
        """Return the gradient that two parts of its whole units stand for."""
        unit = self._weight_unit * self._row_unit
        return self.model.matrix.T @ (joined(parts) * unit)

    def whole_gradient(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        """Return the sum over the rows as they are in whole units, exact, in two parts."""
        if self._beside_curvature is not None:
            at, parts = self._beside_curvature
            self._beside_curvature = None
            if rows is None and np.array_equal(at, theta):
                return parts
        point, sums = self._point(theta), TwoPartSum(self.model.shape)
        for part in map(self._take, self._blocks(rows)):
            self._add_gradient(self._derivatives(point, part), part, sums)
        return sums.parts()

    def _add_gradient(self, dz: FloatArray, part: Any, sums: Any) -> None:
        """Add the sum of rows in `part`, times their clipped derivatives, to a `TwoPartSum`."""
        X, (own, constants) = part[0], part[2]
        dz *= own if dz.ndim == 1 else own[:, None]
        _whole(dz, self._weight_unit * self._row_unit, dz)
        total = sums.room(len(dz))
        # The sum that is exact is over the rows as they are.
        total[:self._plain.n_features] += X.T @ dz
        if self._plain.fit_intercept:
            total[-1] += _products_sum(constants, dz)

    def whole_curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        gradients = TwoPartSum(self.model.shape)
        parts = self._whole_curvature(theta, bound, gradients)
        # A step asks for the gradient at the same point.
        self._beside_curvature = theta.copy(), gradients.parts()
        return parts

    def _enter(self) -> tuple[FloatArray, FloatArray]:
        limits = self._open_rows()
        for part in self._rows.blocks(self._block):
            rows, shares = self._enter_block(part, self._plain)
            constants = self._beside(shares, self._late[part])
            # Often they are alike, and one number says so.
            same = np.all(constants == constants[0])
            self._constants[part.start] = constants[0] if same else constants
            late, constants = self._late[part], self._constants[part.start]
            scale = late * self._row_unit
            lengths = row_norms(rows)
            lengths *= scale
            factors, norms = self.model.factors_of_multiples(rows, lengths, constants, scale)
            self._late[part] = self._factors(late * factors)
            limits[part] = self._limit(norms, part)
        self._late *= self._row_unit
        return self._late, limits

    def _beside(self, shares: FloatArray, late: FloatArray) -> FloatArray:
        """Return what stands for the intercept's 1 beside rows, in whole units."""
        # Where rows are scaled after products their own quotient is 1.
        own = shares if self._plain.homogeneous else np.ones(len(shares))
        return _whole(own / late, self._row_unit)

    def _take(self, block: Any) -> tuple[Any, ...]:
        """Return the same as other sums, but for scales: those of rows, and constants over them.

        The latter are one number where all are alike.
        """
        X, y, factors, limits, weights = super()._take(block)
        return X, y, (factors, self._constants[block.start]), limits, weights

    def _point(self, theta: FloatArray) -> FloatArray:
        return self._truncated(self.model.mapped_point(theta), self._plain.radius)

    def _predict(self, point: AnyArray, X: Features, scale: Any) -> FloatArray:
        own, constants = scale
        # Whole units are finite, so that rows that are dropped have products to multiply by 0.
        z = X @ point[:self._plain.n_features]
        if self._plain.fit_intercept:
            z += (constants * point[-1] if z.ndim == 1
                  else np.multiply.outer(constants, point[-1]))
        z *= own if z.ndim == 1 else own[:, None]
        return z

    def _wholes(self, scale: Any) -> FloatArray:
        own, constants = scale
        return own * constants

    def _add_products(self, X: Features, roots: FloatArray, scale: Any, total: FloatArray) -> None:
        own, constants = scale
        roots *= own
        add_products(X, roots, roots * constants if self._plain.fit_intercept else None, total)


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


def _products_sum(constants: Any, dz: FloatArray) -> float | FloatArray:
    """Return the sum of constants, or of one that all rows have, times whole derivatives."""
    return constants @ dz if np.ndim(constants) else constants * dz.sum(axis=0)


def rounded_down(values: FloatArray) -> FloatArray:
    """Return positive numbers in single precision, none of them larger; 0 for the smallest."""
    # Without the bits that single precision has no room for.
    single = (values.view(np.int64) & _SINGLE_BITS).view(np.float64).astype(np.float32)
    single[values < 2.0**-_ORDINARY] = 0.0
    return single


def _cached_dtype(data_norm: float, row_bits: int) -> Any:
    """Return the smallest type that holds entries of rows in whole units, None for none."""
    for dtype, bits in ((np.int16, 15), (np.float32, 24)):
        # Rows that are scaled after products may be that much longer.
        if data_norm * 2.0**row_bits / _LEAST_LATE < 2.0**bits:
            return np.dtype(dtype)
    return None


def _whole(values: FloatArray, unit: float, out: FloatArray | None = None) -> FloatArray:
    """Return values cut toward zero, in whole units."""
    # The inverse of a power of two is exact.
    out = np.multiply(values, 1.0 / unit, out=out)
    return np.trunc(out, out=out)
