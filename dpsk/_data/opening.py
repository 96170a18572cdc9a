"""Sources of rows that a caller hands over, checked in one pass."""

from functools import partial

import numpy as np
from scipy import sparse
from sklearn.utils import check_X_y

from dpsk._data.chunked import ChunkedRows, ReadChunks, checksum
from dpsk._data.errors import discreetly
from dpsk._data.norms import row_norms
from dpsk._data.validation import check_block, check_part
from dpsk._data.weights import check_weights

__all__ = ["check_targets", "is_source", "opened"]


def is_source(X):
    """Return whether rows come in blocks: from an object with `n`, `n_features` and `blocks()`."""
    kind = type(X)
    return callable(getattr(kind, "blocks", None)) and hasattr(X, "n_features") and hasattr(X, "n")


def opened(estimator, source, y, sample_weight, weight_dtype, checks, target_checks):
    """Return the rows of a source, read once and checked, with their targets as they came.

    The estimator's number and names of features are set. Targets and weights come with the blocks,
    or all together.

    Parameters
    ----------
    estimator : DPEstimator
    source : object
        As `is_source` knows them; see `dpsk.sources`.
    y, sample_weight : array-like of shape (n,) or None
    weight_dtype : callable, (object with dtype) -> dtype
    checks, target_checks : dict
        Of scikit-learn's ``check_array`` and ``check_X_y``.
    """
    reader = _Reader(estimator, checks)
    for place, block in enumerate(_guarded(source)):
        reader.read(place, block)
    reader.check_all(source)
    sizes = tuple(size for size, _ in reader.shapes)
    y = check_targets(estimator, _given("y", y, reader.targets), sum(sizes), target_checks)
    start = partial(_features, source, type(estimator).__name__,
                    {**checks, "dtype": reader.dtype})
    rows = ChunkedRows(
        ReadChunks(start, reader.shapes, reader.checksums), sizes, reader.shapes[0][1],
        reader.dtype, reader.is_sparse, y,
        known_norms=np.concatenate(reader.norms),
        cache_bytes=int(getattr(source, "cache_bytes", 0)))
    weights = _given("sample_weight", sample_weight, reader.weights)
    if weights is None:
        return rows
    weights = check_weights(weights, y, weight_dtype(rows))
    return rows.with_weights(lambda targets, before: weights, rows.weight_bound)


def check_targets(estimator, y, n_samples, target_checks):
    """Return targets of so many rows as scikit-learn takes them, without a data value in errors.
    """
    if y is None:
        name = estimator if isinstance(estimator, str) else type(estimator).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is "
                         "None.")
    # One column stands for rows that are checked apart.
    column = np.broadcast_to(np.int8(0), (n_samples, 1))
    checks = {"ensure_min_samples": 2, **target_checks}
    return discreetly("y", check_X_y, column, y, dtype=None, estimator=estimator, **checks)[1]


class _Reader:
    """What one pass over the blocks of a source finds."""

    def __init__(self, estimator, checks):
        self._estimator, self._checks = estimator, checks
        self.dtype = self.is_sparse = None
        self.shapes, self.checksums, self.norms = [], [], []
        self.targets, self.weights = [], []

    def read(self, place, block):
        """Check a block and keep what is beside its features."""
        X, y, weights = _parts(block)
        first = place == 0
        checks = self._checks if first else {**self._checks, "dtype": self.dtype}
        # What is too little is seen at the end.
        X = check_block(self._estimator, X, reset=first, ensure_min_samples=0, **checks)
        if first:
            self.dtype, self.is_sparse = X.dtype, sparse.issparse(X)
        elif sparse.issparse(X) != self.is_sparse:
            raise ValueError(f"X: block {place} is {'dense' if self.is_sparse else 'sparse'} and "
                             "the first is not; let all blocks be of one kind.")
        self.shapes.append(X.shape)
        self.checksums.append(checksum(X))
        self.norms.append(row_norms(X))
        for kept, values, name in ((self.targets, y, "y"), (self.weights, weights,
                                                            "sample_weight")):
            if values is None:
                continue
            values = discreetly(name, np.asarray, values)
            if values.ndim != 1 or len(values) != X.shape[0]:
                raise ValueError(f"{name}: block {place} has a shape of {values.shape} beside "
                                 f"{X.shape[0]} rows; give one value a row.")
            kept.append(values)

    def check_all(self, source):
        """Raise a ValueError unless the blocks were what the source says of itself."""
        n = sum(size for size, _ in self.shapes)
        width = self._estimator.n_features_in_ if self.shapes else 0
        if (n, width) != (n if source.n is None else source.n, source.n_features):
            raise ValueError(f"X says n={source.n!r}, n_features={source.n_features!r}, and its "
                             f"blocks have {n} rows and {width} columns; make them agree.")
        for name, found in (("y", self.targets), ("sample_weight", self.weights)):
            if found and len(found) != len(self.shapes):
                raise ValueError(f"{name}: some blocks of X have it and some do not; let all "
                                 "have it, or none.")
            if len({values.dtype.kind for values in found} - {"b"}) > 1:
                raise ValueError(f"{name}: the blocks of X have it in several types; let all have "
                                 "one.")


def _given(name, whole, blocks):
    """Return what was given as a whole or in blocks, None for neither."""
    if whole is not None and blocks:
        raise ValueError(f"{name} is given to fit, and comes with the blocks of X too; leave one "
                         "of them out.")
    return np.concatenate(blocks) if blocks else whole


def _parts(block):
    """Return features, targets and weights of a block; the last two are None where missing."""
    if not isinstance(block, tuple):
        return block, None, None
    if not 1 <= len(block) <= 3:
        raise ValueError(f"X: a block is a tuple of {len(block)}; must be features, or (features, "
                         "targets), or (features, targets, weights).")
    return (*block, None, None)[:3]


def _guarded(source):
    """Yield the blocks of a source; an error of its own is replaced, as it may quote data."""
    blocks, place = None, 0
    while True:
        kind = None
        try:
            blocks = iter(source.blocks()) if blocks is None else blocks
            block = next(blocks)
        except StopIteration:
            break
        except Exception as error:
            kind = type(error).__name__
        if kind is not None:
            raise ValueError(f"X could not be read: block {place} raised {kind}; the details are "
                             "withheld, as they may quote data.")
        yield block
        place += 1
    if _next_pass(source) is blocks:
        raise ValueError("X: blocks() returned an iterator that was read already; it must start "
                         "a new pass every time, as a generator function does.")


def _next_pass(source):
    """Return an iterator over the blocks of a source that is not read, None if there is none."""
    try:
        return iter(source.blocks())
    except Exception:  # as if a block could not be read
        return None


def _features(source, name, checks):
    """Yield the features of the blocks of a source, once more."""
    for block in source.blocks():
        yield check_part(name, _parts(block)[0], **checks)
