"""Matrix products in which a row's rounding does not depend on its position."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from dpsk._typing import Features, FloatArray

__all__ = ["product_by_row"]

#: Every BLAS kernel that was tried multiplies this many rows without an edge.
_TILE = 8


def product_by_row(rows: Features, weights: FloatArray) -> FloatArray:
    """Return ``rows @ weights``, with no row's rounding depending on its position.

    BLAS multiplies rows in tiles, and may round a row differently at the edge of a tile. The
    secret size of a group of rows would then show in all rows after it.
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
