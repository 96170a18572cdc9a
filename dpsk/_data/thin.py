"""Dense rows that are nearly all zeros, as sparse ones: for fits that hide nothing of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import row_blocks
from dpsk._data.source import Rows

if TYPE_CHECKING:
    from dpsk._data.source import RowSource

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
    blocks = list(row_blocks(rows.n, rows.n_features))
    filled = sum(np.count_nonzero(rows.X[part]) for part in blocks)
    if filled > _SHARE * rows.n_entries:
        return rows
    X = sparse.vstack([sparse.csr_matrix(rows.X[part], dtype=np.float64) for part in blocks],
                      format="csr")
    return replace(rows, X=X, owned=False)
