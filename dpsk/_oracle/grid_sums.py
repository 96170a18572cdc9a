r"""Sums that are exact: every bit is the same in any order, on any number of threads.

Rows are truncated toward zero to multiples of ``2^-a`` and derivatives to multiples of
``2^-b``, which makes neither any longer. With ``n C 2^(a+b) < 2^53`` every partial sum of the
products is then an integer multiple of ``2^-(a+b)`` that a double holds exactly. Noise rounded
to the same grid commutes with adding it: rounding the noise is rounding the noisy sum, a
function of the continuous mechanism's answer.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_blocks, row_blocks
from dpsk._models.linear import LinearModel, absolute_sums, row_norms
from dpsk._oracle.row_sums import RowSums

__all__ = ["GridSums", "WhitenedGridSums"]


class GridSums(RowSums):
    """Row sums on a grid of public resolution, exact whatever the order; `bits` of `grid_bits`.

    Holds one float64 copy of the rows, scaled and truncated.
    """

    arithmetic = "grid"

    def __init__(self, model, loss, rows, clip_norm, bits, order=2):
        self.resolution = self._units(model, clip_norm, bits)
        super().__init__(model, loss, rows, clip_norm, order)

    def _units(self, model, clip_norm, bits):
        """Set the units of rows and of derivatives, and return that of their products."""
        self._row_unit = 2.0 ** -_row_bits(model, clip_norm, bits)
        self._weight_unit = 2.0**-bits / self._row_unit
        return 2.0**-bits

    def _enter(self):
        norms = np.empty(self.n_samples)

        def measure(part, X):
            norms[part] = row_norms(X) if self._order == 2 else absolute_sums(X)

        self._rows = self._rows.mapped(Truncation(self.model, self._row_unit), measure)
        return None, self.model.entering_norms(norms, self._order)

    def _point(self, theta):
        """Truncate theta so that products with rows are exact as well."""
        return self._truncated(theta, self.model.radius)

    def _truncated(self, point, radius):
        length = float(np.linalg.norm(point)) * radius
        if not math.isfinite(length) or not length:
            return point
        unit = 2.0 ** (math.ceil(math.log2(length / self._row_unit)) - 52)
        return np.trunc(point / unit) * unit

    def _clipped(self, dz, limits, weights):
        dz = super()._clipped(dz, limits, weights)
        _truncate_in_place(dz, self._weight_unit)
        return dz


class WhitenedGridSums(GridSums):
    """Grid sums of a `WhitenedModel`: exact over the rows as they are, then mapped once.

    The total before its map has the same bits in any order and container, and so has what a
    public matrix makes of it. Rounding in that product is priced like that of a float sum.
    """

    # What is rounded is no multiple of a unit.
    resolution = None

    def __init__(self, model, loss, rows, clip_norm):
        self._plain = model.rows
        # A derivative times a row that is not mapped may be longer than the clip norm.
        reach = clip_norm * float(np.linalg.norm(np.linalg.inv(model.matrix), 2))
        bits = 51 - math.ceil(math.log2(len(rows) * reach))
        self._units(self._plain, reach, bits)
        RowSums.__init__(self, model, loss, rows, clip_norm)

    def rounding_terms(self, n_rows):
        # Only the map of a total rounds.
        return math.ceil(math.sqrt(2.0 * self.model.dimension * n_rows * self.model.spread))

    def gradient(self, theta, rows=None):
        total = np.zeros(self.model.shape)
        point, p = self._point(theta), self._plain.n_features
        for block in self._blocks(rows):
            part = self._take(block)
            dz = self._derivatives(point, part)
            dz *= self._factors[block][(slice(None), None)[:dz.ndim]]
            _truncate_in_place(dz, self._weight_unit)
            # The sum that is exact is over the rows as they are.
            total[:p] += part[0].T @ dz
            if self._plain.fit_intercept:
                total[-1] += self._constants[block] @ dz
        return self.model.matrix.T @ total

    def _enter(self):
        n_samples, plain = self.n_samples, self._plain
        self._constants, self._factors, norms = np.ones(n_samples), np.empty(n_samples), \
            np.empty(n_samples)
        if plain.homogeneous:
            for part in self._rows.blocks(self._block):
                scale, _ = plain.row_scales(self._rows.take(part).X)
                self._constants[part] = plain.constants(scale)
            _truncate_in_place(self._constants, self._row_unit)

        def measure(part, X):
            for inside in row_blocks(X.shape[0], self.model.shape[0]):
                at, block = slice(part.start + inside.start, part.start + inside.stop), X[inside]
                self._factors[at], norms[at] = self.model.factors(
                    block, row_norms(block), self._constants[at])

        self._rows = self._rows.mapped(Truncation(plain, self._row_unit), measure)
        return np.column_stack([self._factors, self._factors * self._constants]), norms

    def _point(self, theta):
        return self._truncated(self.model.mapped_point(theta), self._plain.radius)

    def _predict(self, point, X, scale):
        return self.model.predict_entering(point, X, scale)

    def _clipped(self, dz, limits, weights):
        # What is truncated is the product with a row's factor.
        return RowSums._clipped(self, dz, limits, weights)


def _row_bits(model, clip_norm, bits):
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


@dataclass(frozen=True)
class Truncation:
    """Rows scaled into the model's ball and cut toward zero to multiples of `unit`."""

    model: LinearModel
    unit: float
    dtype = np.float64

    @property
    def width(self):
        """int : number of columns."""
        return self.model.n_features

    def dense(self, X, out):
        """Write the rows of a block to `out`."""
        scale, _ = self.model.row_scales(X)
        # Scaling by a power of two besides adds no rounding.
        np.multiply(X, scale[:, None] / self.unit, out=out, dtype=np.float64)
        np.trunc(out, out=out)
        out *= self.unit

    def csr(self, X, owned):
        """Return the rows of a CSR matrix, in its own entries where they are `owned`."""
        # The scales are held no longer than needed: sparse rows are hardly more.
        scale, _ = self.model.row_scales(X)
        data = X.data.astype(np.float64, copy=not owned)
        for part, entries, counts in csr_blocks(X):
            data[entries] *= np.repeat(scale[part], counts)
            _truncate_in_place(data[entries], self.unit)
        return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=False)


def _truncate_in_place(values, unit):
    # The inverse of a power of two is exact.
    values *= 1.0 / unit
    np.trunc(values, out=values)
    values *= unit
