"""Clip the entries of rows to a bound, and find the largest entry of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_blocks, row_blocks

if TYPE_CHECKING:

    from dpsk._typing import Features, FloatArray

__all__ = ["clipped_entries", "row_maxima"]


def clipped_entries(X: Features, scale: FloatArray, bound: float) -> Features:
    """Return rows times `scale`, clipped to ``[-bound, bound]``, in a new array."""
    if not sparse.issparse(X):
        out = np.empty(X.shape, X.dtype)
        for part in row_blocks(len(X), X.shape[1]):
            scaled = np.multiply(X[part], scale[part, None], dtype=np.float64)
            out[part] = np.clip(scaled, -bound, bound, out=scaled)
        return out
    data = np.empty(len(X.data), X.data.dtype)
    for part, entries, counts in csr_blocks(X):
        scaled = X.data[entries] * np.repeat(scale[part], counts)
        data[entries] = np.clip(scaled, -bound, bound, out=scaled)
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=False)


def row_maxima(X: Features, scale: FloatArray) -> FloatArray:
    """Return every row's largest absolute entry times its scale (None: 1), (n,)."""
    scale = np.ones(X.shape[0]) if scale is None else scale
    maxima = np.zeros(X.shape[0])
    if not sparse.issparse(X):
        for part in row_blocks(len(X), X.shape[1]):
            maxima[part] = np.abs(X[part]).max(axis=1, initial=0.0)
        return maxima * scale
    filled = np.flatnonzero(np.diff(X.indptr))
    if filled.size:
        # Taking absolute values would copy all entries.
        maxima[filled] = np.maximum(np.maximum.reduceat(X.data, X.indptr[filled]),
                                    -np.minimum.reduceat(X.data, X.indptr[filled]))
    return maxima * scale
