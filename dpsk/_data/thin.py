"""Conversion of mostly zero dense rows to CSR, for fits without privacy."""

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

#: Least number of columns, and largest fraction of nonzero entries, for which products of sparse
#: rows are faster and take little memory.
_COLUMNS, _SHARE = 200, 0.1


def thinned(rows: RowSource) -> RowSource:
    """Return dense rows in memory as float64 CSR rows if few entries are nonzero.

    The decision depends on the number of nonzero entries, which is private. So call this only for
    fits without a privacy budget.
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
    """Return a block of rows as float64 CSR, faster than the constructor does."""
    width = X.shape[1]
    places = np.flatnonzero(X)
    pointers = np.searchsorted(places, np.arange(len(X) + 1) * width)
    return csr_of(X.ravel()[places].astype(np.float64), (places % width).astype(np.int32),
                  pointers.astype(np.int32), width)
