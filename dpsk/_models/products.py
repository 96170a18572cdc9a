"""Products that round every row as they would anywhere else among others."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from dpsk._typing import Features, FloatArray

__all__ = ["product_by_row"]

#: Every kernel of BLAS that was tried makes products of so many rows without an edge.
_TILE = 8


def product_by_row(rows: Features, weights: FloatArray) -> FloatArray:
    """Return ``rows @ weights``, every row rounded by itself, wherever it stands.

    Products of many rows are made in tiles, and on the edge of one a row may round otherwise. The
    size of a group of rows, which is secret, would then show in all rows behind it.
    """
    if sparse.issparse(rows):
        return cast("FloatArray", rows @ weights)
    if weights.shape[1] == 1:
        return np.einsum("ij,jk->ik", rows, weights)
    n_rows, n_columns = rows.shape
    missing = -n_rows % _TILE
    if missing:
        rows = np.concatenate([rows, np.zeros((missing, n_columns), rows.dtype)])
    tiles = np.ascontiguousarray(rows).reshape(-1, _TILE, n_columns)
    return np.matmul(tiles, weights).reshape(-1, weights.shape[1])[:n_rows]
