"""A digest of a table, independent of how it is stored, chunked or distributed."""

import hashlib

import numpy as np
from scipy import sparse

from dpsk._data.blocks import CSR_WIDTH, block_length

__all__ = ["table_digest"]

_SIZE = 32


def table_digest(rows):
    """Return a digest of the ordered rows of a source with their targets and weights.

    Memory order, strides, the sign of zero, the container, chunks and places make no difference.
    A CSR matrix must have no duplicates. Weights of 1 give the same digest as no weights.

    The digest hashes the sum of one digest per row. A row's digest includes the index of the row,
    so the order of summation does not matter.
    """
    # Use the given weights, before they are clipped to their bound.
    total = sum(rows.with_weight_bound(np.inf).each(_digests_sum)) % (1 << 8 * _SIZE)
    facts = repr((len(rows), rows.n_features, total))
    return hashlib.sha256(facts.encode()).digest()


def _digests_sum(rows):
    """Return the sum of the digests of the rows of one place, an int."""
    total = 0
    for part in rows.blocks(block_length(CSR_WIDTH)):
        block, first = rows.take(part), rows.place_of(part.start)
        ends, columns, values = _entries(block.X)
        beside = _beside(block)
        width = len(beside) // len(ends)
        start = 0
        for row, end in enumerate(ends.tolist()):
            text = b"".join(((first + row).to_bytes(8, "little"), columns[start:end],
                             values[start:end], beside[row * width:(row + 1) * width]))
            digest = hashlib.blake2b(text, digest_size=_SIZE).digest()
            total += int.from_bytes(digest, "little")
            start = end
    return total


def _entries(X):
    """Return byte offsets of row ends, and bytes of column indices and nonzero values."""
    if sparse.issparse(X):
        kept = X.data != 0
        owners = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[kept]
        columns, values = X.indices[kept], X.data[kept]
    else:
        places = np.flatnonzero(X != 0)
        owners, columns = np.divmod(places, X.shape[1])
        values = np.take(X, places)
    ends = 8 * np.cumsum(np.bincount(owners, minlength=X.shape[0]))
    return ends, columns.astype("<i8").tobytes(), values.astype("<f8").tobytes()


def _beside(block):
    """Return the targets and weights of a block as bytes, equally many for every row."""
    n = block.X.shape[0]
    weights = np.ones(n) if block.weights is None else block.weights
    columns = np.column_stack([block.y.reshape(n, -1), weights])
    # Adding 0.0 turns -0.0 into 0.0.
    return (columns.astype("<f8") + 0.0).tobytes()
