"""Apply methods such as predict block by block to data larger than memory."""

from functools import partial, wraps

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples, check_is_fitted

from dpsk._data.dask import delayed_chunks, like_rows, whole_rows
from dpsk._data.opening import guarded, parts_of
from dpsk._data.validation import is_dask, is_source

__all__ = ["blockwise"]


def blockwise(method):
    """Decorate a method of X to accept sources and Dask collections as well.

    The result is one array in memory for a source, and a lazy Dask array for a Dask collection.
    """
    @wraps(method)
    def wrapped(self, X):
        if is_dask(X):
            return _lazily(method, self, X)
        return _of_source(method, self, X) if is_source(X) else method(self, X)
    return wrapped


def _of_source(method, model, source):
    check_is_fitted(model, "privacy_")
    answers = [_of_block(method.__name__, model, parts_of(block)[0])
               for block in guarded(source.blocks)]
    # Without rows, call the method to raise its usual error.
    return np.concatenate(answers) if answers else method(
        model, np.zeros((0, source.n_features)))


def _lazily(method, model, X):
    from dask import array, delayed
    check_is_fitted(model, "privacy_")
    # Find the shape and dtype of the result with rows that hold no entries of the collection.
    like, X = method(model, like_rows(X)), whole_rows(X)
    sizes = X.chunks[0] if getattr(X, "chunks", None) else (np.nan,) * X.npartitions
    run = delayed(partial(_of_block, method.__name__), pure=False)
    parts = [array.from_delayed(run(model, part), (size, *like.shape[1:]), like.dtype)
             for part, size in zip(delayed_chunks(X), sizes, strict=True)]
    return array.concatenate(parts, allow_unknown_chunksizes=True)


def _of_block(name, model, X):
    # A block may have no rows, which scikit-learn refuses.
    if not _num_samples(X):
        return _of_block(name, model, _padded(X))[:0]
    return getattr(model, name)(X)


def _padded(X):
    """Return one row of zeros with the columns and dtype of an empty block."""
    if hasattr(X, "columns"):
        return X.reindex([0], fill_value=0)
    row = np.zeros((1, X.shape[1]), X.dtype)
    return sparse.csr_matrix(row) if sparse.issparse(X) else row
