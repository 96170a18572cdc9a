"""A digest of an array's content that does not depend on how it is stored."""

import hashlib

import numpy as np
from scipy import sparse

__all__ = ["content_digest"]

_BLOCK = 1 << 12


def content_digest(array):
    """Return the SHA-256 digest of shape and non-zero entries, row by row.

    Memory order, strides, the sign of zero and the container make no difference.

    Parameters
    ----------
    array : ndarray of shape (n,) or (n, d), or CSR matrix without duplicates

    Returns
    -------
    digest : bytes of length 32
    """
    digest = hashlib.sha256(repr(array.shape).encode())
    rows = array if sparse.issparse(array) else array.reshape(len(array), -1)
    for start in range(0, rows.shape[0], _BLOCK):
        counts, columns, values = _entries(rows[start:start + _BLOCK])
        digest.update(counts.astype("<i8").tobytes())
        digest.update(columns.astype("<i8").tobytes())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.digest()


def _entries(block):
    """Return the number of non-zeros of every row, their columns and their values."""
    if sparse.issparse(block):
        kept = block.data != 0
        row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))[kept]
        column, values = block.indices[kept], block.data[kept]
    else:
        places = np.flatnonzero(block != 0)
        row, column = np.divmod(places, block.shape[1])
        values = np.take(block, places)
    return np.bincount(row, minlength=block.shape[0]), column, values
