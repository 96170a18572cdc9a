"""Read and validate a caller's source of rows in one pass."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.utils import check_X_y

from dpsk._data.chunked import ChunkedRows, HeldChunks, ReadChunks, checksum
from dpsk._data.errors import discreetly
from dpsk._data.norms import row_norms
from dpsk._data.structure import check_cells
from dpsk._data.targets import numeric_targets
from dpsk._data.validation import check_block, check_part
from dpsk._data.weights import check_weights

__all__ = ["Reader", "check_targets", "features_again", "guarded", "opened", "parts_of"]


def opened(estimator, source, y, sample_weight, weight_dtype, checks, target_checks):
    """Return the validated rows of a source after one pass, with validated targets.

    Sets the number and names of features of the estimator. Targets and weights come either with
    the blocks or as the arguments `y` and `sample_weight`.

    Parameters
    ----------
    estimator : DPEstimator
    source : object
        Object that `is_source` accepts; see `dpsk.sources`.
    y, sample_weight : array-like of shape (n,) or None
    weight_dtype : callable, (object with dtype) -> dtype
    checks, target_checks : dict
        Parameters of scikit-learn's ``check_array`` and ``check_X_y``.
    """
    name, reader = type(estimator).__name__, Reader(held=False)
    for block in guarded(source.blocks):
        X, *beside = parts_of(block)
        first = reader.dtype is None
        if not first:
            checks = {**checks, "dtype": reader.dtype}
        # The number of rows is checked at the end.
        X = check_block(estimator, X, reset=first, ensure_min_samples=0, **checks)
        reader.add(X, *beside)
    if _is_read_once(source):
        raise ValueError("X: blocks() returned an iterator that was read already; it must start "
                         "a new pass every time, as a generator function does.")
    _check_said(source, reader)
    targets, weights = reader.beside()
    y = check_targets(name, _given("y", y, targets), reader.n, target_checks)
    rows = reader.rows(y, partial(features_again, source.blocks, name, checks),
                       int(getattr(source, "cache_bytes", 0)))
    weights = _given("sample_weight", sample_weight, weights)
    return replace(rows, weights=check_weights(weights, y, weight_dtype(rows)))


def check_targets(name, y, n_samples, target_checks):
    """Return targets of `n_samples` rows, validated by scikit-learn.

    `name` is the name of the estimator. Errors carry no data value.
    """
    if y is None:
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is "
                         "None.")
    check_cells("y", y, target_checks.get("y_numeric", False))
    # A constant column takes the place of the features, which are validated separately.
    column = np.broadcast_to(np.int8(0), (n_samples, 1))
    checks = {"ensure_min_samples": 2, **target_checks}
    y = discreetly("y", check_X_y, column, y, dtype=None, estimator=name, **checks)[1]
    return numeric_targets(y) if checks.get("y_numeric") else y


class Reader:
    """Collector of the results of one pass over blocks of validated features.

    Parameters
    ----------
    held : bool
        Whether blocks stay in memory; if not, later passes read them again and compare checksums.
    """

    def __init__(self, held):
        self.dtype = None
        self.shapes = []
        self._held, self._checksums = [] if held else None, []
        self._norms, self._beside = [], {"y": [], "sample_weight": []}

    @property
    def n(self):
        """int : the number of rows so far."""
        return sum(size for size, _ in self.shapes)

    def add(self, X, y=None, weights=None):
        """Add a block of validated features, with its targets and weights."""
        place = len(self.shapes)
        if self.dtype is None:
            self.dtype, self._is_sparse = X.dtype, sparse.issparse(X)
        elif sparse.issparse(X) != self._is_sparse:
            raise ValueError(f"X: block {place} is {'dense' if self._is_sparse else 'sparse'} and "
                             "the first is not; let all blocks be of one kind.")
        self.shapes.append(X.shape)
        self._norms.append(row_norms(X))
        if self._held is None:
            self._checksums.append(checksum(X))
        else:
            self._held.append(X)
        for name, values in (("y", y), ("sample_weight", weights)):
            if values is None:
                continue
            values = discreetly(name, np.asarray, values)
            if values.ndim != 1 or len(values) != X.shape[0]:
                raise ValueError(f"{name}: block {place} has a shape of {values.shape} beside "
                                 f"{X.shape[0]} rows; give one value a row.")
            self._beside[name].append(values)

    def beside(self):
        """Return the targets and the weights of all blocks, None if no block has them."""
        for name, found in self._beside.items():
            if found and len(found) != len(self.shapes):
                raise ValueError(f"{name}: some blocks of X have it and some do not; let all "
                                 "have it, or none.")
            if len({values.dtype.kind for values in found} - {"b"}) > 1:
                raise ValueError(f"{name}: the blocks of X have it in several types; let all have "
                                 "one.")
        return [np.concatenate(found) if found else None for found in self._beside.values()]

    def rows(self, y, start=None, cache_bytes=0):
        """Return the rows with targets `y`; ``start()`` begins a pass if none are held."""
        chunks = ReadChunks(start, self.shapes, self._checksums) if self._held is None else (
            HeldChunks(self._held))
        return ChunkedRows(chunks, tuple(size for size, _ in self.shapes), self.shapes[0][1],
                           self.dtype, self._is_sparse, y, known_norms=np.concatenate(self._norms),
                           cache_bytes=cache_bytes)


def guarded(start):
    """Yield the blocks of ``start()``; replace its errors, as they may quote data."""
    blocks, place = None, 0
    while True:
        kind = None
        try:
            blocks = iter(start()) if blocks is None else blocks
            block = next(blocks)
        except StopIteration:
            return
        except Exception as error:
            kind = type(error).__name__
        if kind is not None:
            raise ValueError(f"X could not be read: block {place} raised {kind}; the details are "
                             "withheld, as they may quote data.")
        yield block
        # Release the block before the next one is read.
        del block
        place += 1


def parts_of(block):
    """Return features, targets and weights of a block; the last two may be None."""
    if not isinstance(block, tuple):
        return block, None, None
    if not 1 <= len(block) <= 3:
        raise ValueError(f"X: a block is a tuple of {len(block)}; must be features, or (features, "
                         "targets), or (features, targets, weights).")
    return (*block, None, None)[:3]


def features_again(start, name, checks):
    """Yield the features of the blocks of ``start()``, validated again."""
    for block in start():
        yield check_part(name, parts_of(block)[0], **checks)


def _check_said(source, reader):
    """Raise a ValueError unless the blocks have the shape that the source declares."""
    n, width = reader.n, reader.shapes[0][1] if reader.shapes else 0
    if (n, width) != (n if source.n is None else source.n, source.n_features):
        raise ValueError(f"X says n={source.n!r}, n_features={source.n_features!r}, and its "
                         f"blocks have {n} rows and {width} columns; make them agree.")


def _given(name, whole, blocks):
    """Return the values passed to fit or those of the blocks, None if there are none."""
    if whole is not None and blocks is not None:
        raise ValueError(f"{name} is given to fit, and comes with the blocks of X too; leave one "
                         "of them out.")
    return whole if blocks is None else blocks


def _is_read_once(source):
    """Return whether `blocks` returns the same iterator every time."""
    first, second = _next_pass(source), _next_pass(source)
    return first is not None and first is second


def _next_pass(source):
    """Return a new iterator over the blocks of a source, or None if that raises."""
    try:
        return iter(source.blocks())
    except Exception:  # as if a block could not be read
        return None
