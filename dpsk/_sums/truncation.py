"""Truncation of rows toward zero to integer units, which lengthens no row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_of

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["Shares", "add_products", "rounded_down", "whole_units", "whole_values"]

#: Up to this fraction of rows, one product for all rows and a second one for these is cheaper.
_FEW = 0.25
#: Mask of the sign, the exponent and the mantissa bits of a double that single precision has.
_SINGLE_BITS = np.int64(-(1 << 29))
#: Much smaller numbers have fewer bits in single precision, or none.
_LEAST_SINGLE = 2.0**-60


class Shares:
    """Additional factors of some rows of a block, besides one factor for all rows.

    There is always at least one such row, so that a single row that is too long does not change
    the running time: if no row needs a factor, the first row gets the factor 1.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, p)
    shares : ndarray of shape (n,)
    """

    def __init__(self, X: Features, shares: FloatArray) -> None:
        others = np.flatnonzero(shares != 1.0)
        self.whole = shares if len(others) > _FEW * len(shares) else None
        if self.whole is not None:
            return
        others = others if len(others) else np.zeros(1, np.intp)
        self.places, self.factors = others, shares[others]
        if sparse.issparse(X):
            starts, counts = X.indptr[others], np.diff(X.indptr)[others]
            # The positions of the entries of these rows, one row after another.
            offsets = np.repeat(starts - np.cumsum(counts) + counts, counts)
            self.places = offsets + np.arange(counts.sum(), dtype=offsets.dtype)
            self.factors = np.repeat(self.factors, counts)


def whole_units(X: Features, factor: Any, shares: Shares, out: FloatArray | None = None) -> Any:
    """Return rows times their factors, truncated to integers, in float64.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, p)
        A block of rows.
    factor : float
        One over the grid spacing.
    shares : Shares
        The additional factors of the same block.
    out : ndarray of shape (n, p) or None
        Output array for dense rows; it may be X itself.
    """
    # Rows that overflow have an additional factor, so they are overwritten.
    with np.errstate(over="ignore"):
        if sparse.issparse(X):
            entries = _scaled_entries(X, factor, shares)
            return csr_of(np.trunc(entries, out=entries), X.indices, X.indptr, X.shape[1])
        # Two passes are faster than one that converts in small chunks.
        out = np.empty(X.shape) if out is None else out
        if out is not X:
            out[...] = X
        if shares.whole is not None:
            out *= (factor * shares.whole)[:, None]
        else:
            own = out[shares.places] * (factor * shares.factors[:, None])
            out *= factor
            out[shares.places] = own
    return np.trunc(out, out=out)


def add_products(X: Features, factors: FloatArray, constants: FloatArray | None,
                 total: FloatArray) -> None:
    """Add the outer products of rows, multiplied by factors and truncated, to `total`.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, p)
        Rows in float64.
    factors : ndarray of shape (n,)
    constants : ndarray of shape (n,) or None
        Entries of the intercept column, with the factors applied; None without intercept.
    total : ndarray of shape (p, p) or (p + 1, p + 1)
    """
    p = X.shape[1]
    if sparse.issparse(X):
        entries = X.data * np.repeat(factors, np.diff(X.indptr))
        rows = csr_of(np.trunc(entries, out=entries), X.indices, X.indptr, p)
        total[:p, :p] += (rows.T @ rows).toarray()
    else:
        rows = X * factors[:, None]
        np.trunc(rows, out=rows)
        total[:p, :p] += rows.T @ rows
    if constants is not None:
        ones = np.trunc(constants)
        cross = rows.T @ ones
        total[:p, -1] += cross
        total[-1, :p] += cross
        total[-1, -1] += ones @ ones


def whole_values(values: FloatArray, unit: float, out: FloatArray | None = None) -> FloatArray:
    """Return values over `unit`, a power of two, truncated to integers."""
    # The inverse of a power of two is exact.
    out = np.multiply(values, 1.0 / unit, out=out)
    return np.trunc(out, out=out)


def rounded_down(values: FloatArray) -> FloatArray:
    """Return positive numbers rounded down to single precision; the smallest become 0."""
    # Clear the mantissa bits that single precision lacks.
    single = (values.view(np.int64) & _SINGLE_BITS).view(np.float64).astype(np.float32)
    single[values < _LEAST_SINGLE] = 0.0
    return single


def _scaled_entries(X: Features, factor: Any, shares: Shares) -> FloatArray:
    """Return the entries of a CSR matrix times the factors of their rows, float64."""
    if shares.whole is not None:
        return X.data * np.repeat(factor * shares.whole, np.diff(X.indptr))
    entries = np.multiply(X.data, factor, dtype=np.float64)
    entries[shares.places] = np.multiply(X.data[shares.places], factor * shares.factors,
                                         dtype=np.float64)
    return entries
