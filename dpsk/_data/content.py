"""A digest of an array's content that does not depend on how it is stored."""

import hashlib

import numpy as np
from scipy import sparse

from dpsk._data.blocks import CSR_WIDTH, csr_blocks, row_blocks

__all__ = ["content_digest"]


def content_digest(array):
    """Return the SHA-256 digest of shape and non-zero entries, row by row.

    Memory order, strides, the sign of zero and the container make no difference. A CSR matrix has
    no duplicates.
    """
    digest = hashlib.sha256(repr(array.shape).encode())
    for counts, columns, values in _entries(array):
        digest.update(counts.astype("<i8").tobytes())
        digest.update(columns.astype("<i8").tobytes())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.digest()


def _entries(array):
    """Yield by blocks the number of non-zeros of every row, their columns and their values."""
    if sparse.issparse(array):
        for _, entries, counts in csr_blocks(array):
            kept = array.data[entries] != 0
            owners = np.repeat(np.arange(len(counts)), counts)[kept]
            yield (np.bincount(owners, minlength=len(counts)), array.indices[entries][kept],
                   array.data[entries][kept])
        return
    rows = array.reshape(len(array), -1)
    # The blocks of sparse rows, as what they hold is hashed block by block.
    for part in row_blocks(len(rows), CSR_WIDTH):
        block = rows[part]
        places = np.flatnonzero(block != 0)
        owners, columns = np.divmod(places, rows.shape[1])
        counts = np.bincount(owners, minlength=len(block))
        yield counts, columns, np.take(block, places)
