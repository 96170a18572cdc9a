"""Rows cut toward zero to whole units, which makes none of them longer; block by block."""

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_of

__all__ = ["whole_units"]

#: Up to this share of rows, one product for all of them and another for these is cheaper.
_FEW = 0.25


def whole_units(X, factor, shares=None, out=None):
    """Return rows times a factor cut toward zero, float64, in the container of X.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, p)
        A block of rows.
    factor : float
        One over the unit.
    shares : ndarray of shape (n,) or None
        What every row is multiplied by besides; None for 1.
    out : ndarray of shape (n, p) or None
        Where dense rows go.
    """
    # What overflows has a share of its own.
    with np.errstate(over="ignore"):
        if sparse.issparse(X):
            factors = factor if shares is None else np.repeat(factor * shares, np.diff(X.indptr))
            entries = np.multiply(X.data, factors, dtype=np.float64)
            np.trunc(entries, out=entries)
            return csr_of(entries, X.indices, X.indptr, X.shape[1])
        others = () if shares is None else np.flatnonzero(shares != 1.0)
        if len(others) > _FEW * len(X):
            out = np.multiply(X, (factor * shares)[:, None], out=out, dtype=np.float64)
        else:
            out = np.multiply(X, factor, out=out, dtype=np.float64)
            if len(others):
                out[others] = np.multiply(X[others], (factor * shares[others])[:, None],
                                          dtype=np.float64)
    return np.trunc(out, out=out)
