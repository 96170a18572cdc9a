"""Dense rows that are nearly all zeros, as sparse ones: for fits that hide nothing of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_of, row_blocks
from dpsk._data.source import Rows

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._typing import FloatArray

__all__ = ["thinned"]

#: Where products of sparse rows take less time and little memory: this many columns at least,
#: and at most this share of entries that are not zero.
_COLUMNS, _SHARE = 200, 0.1


def thinned(rows: RowSource) -> RowSource:
    """Return dense rows in memory as CSR ones of double precision where few entries are not zero.

    How many they are decides, which is no public fact: only where there is no budget.
    """
    if not isinstance(rows, Rows) or rows.is_sparse or rows.n_features < _COLUMNS:
        return rows
    parts, kept = [], 0
    for part in row_blocks(rows.n, rows.n_features):
        parts.append(_sparse(rows.X[part]))
        kept += parts[-1].nnz
        if kept > _SHARE * rows.n_entries:
            return rows
    return replace(rows, X=sparse.vstack(parts, format="csr"), owned=False)


def _sparse(X: FloatArray) -> Any:
    """Return a block of rows as CSR of double precision; in less time than by its constructor."""
    width = X.shape[1]
    places = np.flatnonzero(X)
    pointers = np.searchsorted(places, np.arange(len(X) + 1) * width)
    return csr_of(X.ravel()[places].astype(np.float64), (places % width).astype(np.int32),
                  pointers.astype(np.int32), width)
