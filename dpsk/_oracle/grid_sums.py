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

from dpsk._data.blocks import csr_blocks
from dpsk._models.linear import LinearModel, absolute_sums, row_norms
from dpsk._oracle.row_sums import RowSums

__all__ = ["GridSums"]


class GridSums(RowSums):
    """Row sums on a grid of public resolution, exact whatever the order; `bits` of `grid_bits`.

    Holds one float64 copy of the rows, scaled and truncated.
    """

    arithmetic = "grid"

    def __init__(self, model, loss, rows, clip_norm, bits, order=2):
        self.resolution = 2.0**-bits
        self._row_unit = 2.0 ** -_row_bits(model, clip_norm, bits)
        self._weight_unit = self.resolution / self._row_unit
        super().__init__(model, loss, rows, clip_norm, order)

    def _enter(self):
        norms = np.empty(self.n_samples)

        def measure(part, X):
            norms[part] = row_norms(X) if self._order == 2 else absolute_sums(X)

        self._rows = self._rows.mapped(Truncation(self.model, self._row_unit), measure)
        return None, self.model.entering_norms(norms, self._order)

    def _point(self, theta):
        """Truncate theta so that products with rows are exact as well."""
        length = float(np.linalg.norm(theta)) * self.model.radius
        if not math.isfinite(length) or not length:
            return theta
        unit = 2.0 ** (math.ceil(math.log2(length / self._row_unit)) - 52)
        return np.trunc(theta / unit) * unit

    def _clipped(self, dz, limits, weights):
        dz = super()._clipped(dz, limits, weights)
        _truncate_in_place(dz, self._weight_unit)
        return dz


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
