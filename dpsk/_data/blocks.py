"""Iteration over rows in blocks that fit the CPU cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._typing import FloatArray, IntArray

__all__ = ["CSR_WIDTH", "block_length", "csr_blocks", "csr_of", "csr_parts", "csr_rows",
           "row_blocks"]

_ENTRIES = 1 << 17
#: Least rows of a block, so that reading the rows and not the matrix of the product dominates;
#: and the most entries that such a block of wide rows may have.
_FEW_ROWS, _MOST_ENTRIES = 1 << 8, 1 << 19
#: Number of entries that blocks assume per sparse row, whatever the row holds.
CSR_WIDTH = 1 << 5
#: Columns per group, and the density above which a dense product of a group is as fast as a
#: sparse one.
_COLUMNS, _FULL = 1 << 6, 0.1


def block_length(width: int) -> int:
    """Return the number of rows of `width` doubles in 1 MB; up to 4 MB for wide rows."""
    return max(1, _ENTRIES // width, min(_FEW_ROWS, _MOST_ENTRIES // width))


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield slices that cover ``range(n_rows)``, each of `block_length` rows."""
    size = block_length(width)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def csr_blocks(X: Any) -> Iterator[tuple[slice, slice, IntArray]]:
    """Yield blocks of rows of a CSR matrix.

    Each block is a slice of the rows, a slice of `data` and `indices`, and the number of entries
    of every row.
    """
    for rows in row_blocks(X.shape[0], CSR_WIDTH):
        pointers = X.indptr[rows.start:rows.stop + 1]
        yield rows, slice(pointers[0], pointers[-1]), np.diff(pointers)


def csr_of(data: FloatArray, indices: IntArray, pointers: IntArray, width: int) -> Any:
    """Return a CSR matrix of three arrays without a copy; SciPy would copy views."""
    X = sparse.csr_matrix((len(pointers) - 1, width))
    X.data, X.indices, X.indptr = data, indices, pointers
    return X


def csr_rows(X: Any, rows: slice) -> Any:
    """Return a slice of the rows of a CSR matrix, with its entries as views."""
    pointers = X.indptr[rows.start:rows.stop + 1]
    entries = slice(pointers[0], pointers[-1])
    return csr_of(X.data[entries], X.indices[entries], pointers - pointers[0], X.shape[1])


def csr_parts(X: Any) -> tuple[FloatArray, Any]:
    """Split a CSR matrix into its leading dense columns, as an array, and the others.

    For exact sums only, because the place of the split depends on the entries.
    """
    starts = np.arange(0, X.shape[1], _COLUMNS)
    counts = np.bincount(X.indices // _COLUMNS, minlength=len(starts))
    thin = counts < _FULL * X.shape[0] * np.minimum(X.shape[1] - starts, _COLUMNS)
    width = int(starts[np.argmax(thin)]) if thin.any() else X.shape[1]
    return X[:, :width].toarray(), X[:, width:]
