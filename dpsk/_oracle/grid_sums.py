r"""Sums that are exact: every bit is the same in any order, on any number of threads.

Rows are truncated toward zero to multiples of ``2^-a`` and derivatives to multiples of
``2^-b``, which makes neither any longer. With ``n C 2^(a+b) < 2^53`` every partial sum of the
products is then an integer multiple of ``2^-(a+b)`` that a double holds exactly. Noise rounded
to the same grid commutes with adding it: rounding the noise is rounding the noisy sum, a
function of the continuous mechanism's answer.
"""

import math

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_blocks, row_blocks
from dpsk._models.linear import absolute_sums, row_norms
from dpsk._oracle.row_sums import RowSums

__all__ = ["GridSums", "grid_bits"]


def grid_bits(n_samples, clip_norm, noise_std):
    """Return ``a + b``: the grid of sums is ``2^-(a+b)``, from public numbers only.

    As fine as keeps sums and noise within 52 bits and the noise within 2^40 grid units.

    Parameters
    ----------
    n_samples : int
    clip_norm : float
    noise_std : float
        Standard deviation of the noise on the sum.

    Returns
    -------
    bits : int or None
        None where the noise would be under 2^10 units: exact sums do not apply.
    """
    bits = exact_bits(n_samples * clip_norm, noise_std)
    return bits if noise_std * 2.0**bits >= 2.0**10 else None


def exact_bits(largest, noise_std):
    """Return the bits after the point of a grid that holds sums up to `largest`, and noise.

    As fine as keeps both within 52 bits and the noise within 2^40 grid units.
    """
    sums = 52 - math.ceil(math.log2(largest + 10.0 * noise_std))
    return min(sums, 40 - math.ceil(math.log2(noise_std)))


class GridSums(RowSums):
    """Row sums on a grid of public resolution, exact whatever the order.

    Holds one float64 copy of the rows, scaled and truncated.

    Parameters
    ----------
    model, loss, rows, clip_norm, order
        As for RowSums.
    bits : int
        What `grid_bits` returned.
    """

    arithmetic = "grid"

    def __init__(self, model, loss, rows, clip_norm, bits, order=2):
        self.resolution = 2.0**-bits
        self._row_unit = 2.0 ** -_row_bits(model, clip_norm, bits)
        self._weight_unit = self.resolution / self._row_unit
        super().__init__(model, loss, rows, clip_norm, order)

    def _enter(self, rows):
        measure = row_norms if self._order == 2 else absolute_sums
        self._X, norms = _truncated_rows(rows, self.model, self._row_unit, measure)
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


def _truncated_rows(rows, model, unit, measure):
    """Return the scaled rows, truncated toward zero to multiples of `unit`, and their norms."""
    X = rows.X
    if sparse.issparse(X):
        # The scales are held no longer than needed: sparse rows are hardly more.
        scale, _ = model.row_scales(X)
        data = X.data.astype(np.float64, copy=not rows.owned)
        for part, entries, counts in csr_blocks(X):
            data[entries] *= np.repeat(scale[part], counts)
            _truncate_in_place(data[entries], unit)
        del scale
        X = sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=False)
        return X, measure(X)
    out, norms = X if rows.owned else np.empty(X.shape), np.empty(len(X))
    # All that is done to a block is done while the cache holds it.
    for part in row_blocks(len(X), X.shape[1]):
        scale, _ = model.row_scales(X[part])
        # Scaling by a power of two besides adds no rounding.
        np.multiply(X[part], scale[:, None] / unit, out=out[part], dtype=np.float64)
        np.trunc(out[part], out=out[part])
        out[part] *= unit
        norms[part] = measure(out[part])
    return out, norms


def _truncate_in_place(values, unit):
    # The inverse of a power of two is exact.
    values *= 1.0 / unit
    np.trunc(values, out=values)
    values *= unit
