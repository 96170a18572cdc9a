"""Rows in chunks, either held in memory or read again in every pass.

Privacy bounds computed in one pass must hold in every later pass, so all passes must give the same
rows. A checksum of every chunk is compared before the chunk is used.
"""

import threading
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_rows, row_blocks
from dpsk._data.source import LocalRows, Rows, RowSource

__all__ = ["ChunkedRows", "Chunks", "HeldChunks", "ReadChunks", "checksum"]


class Chunks(ABC):
    """The features of rows in chunks; every pass calls `get` in order.

    Attributes
    ----------
    stays : bool
        Whether chunks are in memory; mapped and clipped chunks are then in memory as well.
    """

    stays = False

    @abstractmethod
    def get(self, place):
        """Return the features of the chunk at an index, ndarray or CSR matrix."""

    def mapped(self, row_map):
        """Return chunks of dense rows, each row mapped by `row_map`."""
        return MappedChunks(self, partial(_dense, row_map))

    def clipped_by(self, model):
        """Return chunks with entries clipped to the model's bound on coordinates."""
        return MappedChunks(self, model.bounded)


class HeldChunks(Chunks):
    """Chunks in memory.

    Parameters
    ----------
    parts : list of ndarray or CSR matrix
    """

    stays = True

    def __init__(self, parts):
        self._parts = parts

    def get(self, place):
        return self._parts[place]

    def mapped(self, row_map):
        return HeldChunks([_dense(row_map, X) for X in self._parts])

    def clipped_by(self, model):
        return HeldChunks([model.bounded(X) for X in self._parts])


class _Latest(threading.local):
    """The latest chunk of a thread, its index, and the pass that it was read in."""

    at = pass_ = X = None


class _LatestChunks(Chunks):
    """Chunks that keep the latest one in memory, separately for each reading thread.

    Tasks in several threads may read the same rows. The latest chunk is not pickled.
    """

    def __init__(self):
        self._latest = _Latest()

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_latest"}

    def __setstate__(self, state):
        vars(self).update(state, _latest=_Latest())


class ReadChunks(_LatestChunks):
    """Chunks that are read in order, and compared with those of the first pass.

    Parameters
    ----------
    start : callable, () -> iterator of ndarray or CSR matrix
        Starts a pass, which must yield the same chunks each time.
    shapes : sequence of (int, int)
    checksums : sequence of int
        Checksums of the validated chunks of the first pass.
    """

    def __init__(self, start, shapes, checksums):
        super().__init__()
        self._start, self._shapes, self._checksums = start, shapes, checksums

    def get(self, place):
        latest = self._latest
        if latest.at is None or place < latest.at:
            latest.pass_, latest.at = self._start(), -1
        while latest.at < place:
            # Release the old chunk before reading the next one.
            latest.X = None
            latest.X, latest.at = self._next(latest.at + 1), latest.at + 1
        return latest.X

    def _next(self, place):
        try:
            X = next(self._latest.pass_)
            shape, same = X.shape, checksum(X) == self._checksums[place]
        except Exception as error:
            kind = type(error).__name__
        else:
            if same and shape == self._shapes[place]:
                return X
            kind = "other rows" if shape == self._shapes[place] else f"a shape of {shape}"
        self._latest.at = None
        raise RuntimeError(f"X could not be read again: block {place} gave {kind}; a source must "
                           "give the same blocks in every pass. What was charged stays charged.")


class MappedChunks(_LatestChunks):
    """Chunks that are mapped lazily, when `get` is called.

    Parameters
    ----------
    chunks : Chunks
    function : callable, ndarray or CSR matrix -> ndarray or CSR matrix
        Maps each row independently of the others.
    """

    def __init__(self, chunks, function):
        super().__init__()
        self._chunks, self._function = chunks, function

    def get(self, place):
        latest = self._latest
        if place != latest.at:
            latest.X = None
            latest.X, latest.at = self._function(self._chunks.get(place)), place
        return latest.X


@dataclass(frozen=True, eq=False, repr=False)
class ChunkedRows(LocalRows):
    """Rows of one place, in chunks.

    Parameters
    ----------
    chunks : Chunks
    sizes : tuple of int
        The number of rows in every chunk.
    n_features : int
    dtype : dtype
    is_sparse : bool
    y : ndarray of shape (n,)
        Targets of all chunks, concatenated; likewise `weights` and `known_norms`.
    weights : ndarray of shape (n,) or None
    weight_bound : float
    known_norms : ndarray of shape (n,) or None
        The l2 norms of the rows, if they are known already.
    cache_bytes : int
    offsets : tuple of int or None
        Index of the first row of every chunk in the whole table; None for consecutive chunks.
    holdout : RowSource or None
    """

    chunks: Chunks
    sizes: tuple
    n_features: int
    dtype: np.dtype
    is_sparse: bool
    y: np.ndarray
    weights: np.ndarray | None = None
    weight_bound: float = 1.0
    known_norms: np.ndarray | None = None
    cache_bytes: int = 0
    offsets: tuple | None = None
    holdout: RowSource | None = field(default=None)

    @property
    def n(self):
        """int : the number of rows."""
        return len(self.y)

    @property
    def is_weighted(self):
        """bool : whether rows have weights."""
        return self.weights is not None

    @cached_property
    def ends(self):
        """ndarray of int : the index after the last row of every chunk."""
        return np.cumsum(self.sizes)

    def place_of(self, index):
        if self.offsets is None:
            return index
        place = int(np.searchsorted(self.ends, index, "right"))
        return self.offsets[place] + index - int(self.ends[place] - self.sizes[place])

    def blocks(self, length):
        for end, size in zip(self.ends, self.sizes, strict=True):
            for start in range(end - size, end, length):
                yield slice(start, min(end, start + length))

    def take(self, part):
        if isinstance(part, slice):
            place = int(np.searchsorted(self.ends, part.start, "right"))
            first = self.ends[place] - self.sizes[place]
            if part.stop <= self.ends[place]:
                inside = slice(part.start - first, part.stop - first)
                X = self.chunks.get(place)
                X = csr_rows(X, inside) if self.is_sparse else X[inside]
                return self._block(X, part)
            part = np.arange(part.start, min(part.stop, self.n))
        return self._block(self._gathered(part), part)

    def norms(self, part):
        return super().norms(part) if self.known_norms is None else self.known_norms[part]

    def subset(self, indices):
        X, y, weights = self._gathered(indices), self.y[indices], self.weights
        return Rows(X, y, None if weights is None else weights[indices], self.weight_bound)

    def with_features(self, X):
        return Rows(X, self.y, self.weights, self.weight_bound, owned=True)

    def clipped_by(self, model):
        if not model.clips_entries:
            return self
        return replace(self, chunks=self.chunks.clipped_by(model), known_norms=None)

    def mapped(self, row_map):
        return replace(self, chunks=self.chunks.mapped(row_map), n_features=row_map.width,
                       dtype=np.dtype(row_map.dtype), is_sparse=False, known_norms=None)

    def _gathered(self, indices):
        """Return the features of the rows at `indices`, in the order of `indices`."""
        order = np.argsort(indices, kind="stable")
        ordered = indices[order]
        cuts = np.searchsorted(ordered, self.ends[:-1])
        pieces = [self.chunks.get(place)[piece - (self.ends[place] - self.sizes[place])]
                  for place, piece in enumerate(np.split(ordered, cuts)) if len(piece)]
        if not pieces:
            pieces = [self.chunks.get(0)[:0]]
        X = sparse.vstack(pieces, format="csr") if self.is_sparse else np.concatenate(pieces)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return X[back]


def checksum(X):
    """Return a checksum of the entries of a chunk and, if sparse, of their indices."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    found = 0
    for part in parts:
        found = zlib.crc32(np.ascontiguousarray(part), found)
    return found


def _dense(row_map, X):
    out = np.empty((X.shape[0], row_map.width), row_map.dtype)
    for part in row_blocks(X.shape[0], row_map.width):
        row_map.dense(X[part], out[part])
    return out
