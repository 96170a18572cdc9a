"""Norms of rows, in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_blocks, row_blocks

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["absolute_sums", "row_norms"]

#: Buffer size of einsum: sums of longer rows would depend on whether the row stands alone.
_WIDTH = 1 << 13


def row_norms(X: Any) -> FloatArray:
    """Return l2 norms of rows in float64, also if squares of entries overflow."""
    dense = not sparse.issparse(X)
    with np.errstate(over="ignore"):
        # The order of summation depends on memory layout, so make rows contiguous.
        X = np.ascontiguousarray(X) if dense else X
        norms = square_sums(X) if dense else _csr_square_sums(X)
        np.sqrt(norms, out=norms)
    for row in np.flatnonzero(~np.isfinite(norms)):
        entries = X[row] if dense else X.data[X.indptr[row]:X.indptr[row + 1]]
        largest = float(np.abs(entries).max())
        norms[row] = largest * np.sqrt(np.square(entries / largest).sum())
    return norms


def absolute_sums(X: Any, scale: FloatArray | None = None) -> FloatArray:
    """Return the l1 norms of rows times their `scale`, in float64.

    Entries are scaled before they are added, to avoid overflow.
    """
    sums = np.empty(X.shape[0])
    if sparse.issparse(X):
        for part, entries, counts in csr_blocks(X):
            lengths = np.abs(X.data[entries], dtype=np.float64)
            if scale is not None:
                lengths *= np.repeat(scale[part], counts)
            owners = np.repeat(np.arange(len(counts)), counts)
            sums[part] = np.bincount(owners, lengths, minlength=len(counts))
        return sums
    for part in row_blocks(*X.shape):
        block = np.abs(X[part], dtype=np.float64)
        if scale is not None:
            block *= scale[part, None]
        sums[part] = block.sum(axis=1)
    return sums


def square_sums(X: Any) -> FloatArray:
    """Return the sums of squares of contiguous rows, independent of the other rows."""
    sums = np.zeros(X.shape[0])
    for start in range(0, X.shape[1], _WIDTH):
        part = X[:, start:start + _WIDTH]
        sums += np.einsum("ij,ij->i", part, part, dtype=np.float64)
    return sums


def _csr_square_sums(X: Any) -> FloatArray:
    """Return the sums of squares of the rows of a CSR matrix without duplicates."""
    sums = np.empty(X.shape[0])
    for rows, entries, counts in csr_blocks(X):
        squares = np.square(X.data[entries], dtype=np.float64)
        owners = np.repeat(np.arange(len(counts)), counts)
        sums[rows] = np.bincount(owners, squares, len(counts))
    return sums
