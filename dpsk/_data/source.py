"""Sources of the rows of one fit, from which oracles read.

A source holds its rows in one place, and `take` reads parts of them. Or it holds them in several
places (`PartedRows`), and functions are sent to them: `each`, `added` and `hold` work for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from scipy import sparse

from dpsk._data.blocks import CSR_WIDTH, block_length, csr_rows, row_blocks
from dpsk._data.chained import Chained
from dpsk._data.groups import Groups
from dpsk._data.held import Held, added
from dpsk._data.norms import row_norms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dpsk._typing import AnyArray, Features, FloatArray, IntArray

__all__ = ["Block", "LocalRows", "RowSource", "Rows"]


class Block(NamedTuple):
    """Some rows in memory: features, targets, and clipped weights or None."""

    X: Features
    y: AnyArray
    weights: FloatArray | None


class RowSource(ABC):
    """Rows that are read in parts; sensitive, and never stored on an estimator.

    Oracles access rows through this interface only. `n_units`, `n_features` and `dtype` are
    public; `n` is public unless rows are in groups.

    Attributes
    ----------
    n, n_features : int
    dtype : dtype
    is_sparse : bool
        Whether parts are CSR matrices.
    is_parted : bool
        Whether rows are in several places, so that `take` cannot read them.
    is_weighted : bool
    weight_bound : float
        Public bound; larger weights are clipped to it.
    holdout : RowSource or None
        Public rows, which the privacy guarantee does not cover.
    groups : Groups or None
        Groups of rows, if the unit of privacy is a group and not a row.
    cache_bytes : int
        Bytes that sums may cache of rows that every pass reads again.
    """

    if TYPE_CHECKING:
        # Subclasses define these as fields, constants or properties.
        @property
        def n(self) -> int: ...
        @property
        def n_features(self) -> int: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...
        @property
        def is_sparse(self) -> bool: ...
        @property
        def is_weighted(self) -> bool: ...
        @property
        def weight_bound(self) -> float: ...
        @property
        def holdout(self) -> RowSource | None: ...
        @property
        def groups(self) -> Any: ...
        @property
        def is_parted(self) -> bool: ...
        @property
        def cache_bytes(self) -> int: ...
    else:
        holdout = None
        groups = None
        is_parted = False
        cache_bytes = 0

    def __len__(self) -> int:
        return self.n

    @property
    def n_units(self) -> int:
        """int : the public number of privacy units, which are groups or rows."""
        return self.n if self.groups is None else self.groups.count

    def place_of(self, index: int) -> int:
        """Return the index in the whole table of the row at an index of this source."""
        return index

    def blocks(self, length: int) -> Iterator[slice]:
        """Yield slices of at most `length` rows, in order, that cover the rows."""
        for start in range(0, self.n, length):
            yield slice(start, min(self.n, start + length))

    def shown(self, length: int) -> Iterator[Any]:
        """Yield parts like `blocks`; with groups, indices of one publicly drawn row each."""
        if self.groups is None:
            yield from self.blocks(length)
            return
        length = min(length, block_length(self.n_features))
        for start in range(0, self.n_units, length):
            yield self.groups.shown[start:start + length]

    def parts(self, length: int, chosen: Any = None) -> Iterator[Any]:
        """Yield slices of all rows, or row indices of units `chosen`, by `length` rows."""
        if chosen is None:
            yield from self.blocks(length)
        else:
            if self.groups is not None:
                chosen = self.groups.rows_of(chosen)
            for start in range(0, len(chosen), length):
                yield chosen[start:start + length]

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return the list of results of ``function(rows, *args)`` in every place."""
        return [function(self, *args)]

    def added(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of ``function(rows, *args)`` over places, for arrays or tuples."""
        return added(self.each(function, *args))

    def hold(self, make: Callable[..., Any], *args: Any) -> Any:
        """Call ``make(rows, *args)`` in every place, and keep its results there."""
        return Held(make(self, *args))

    @abstractmethod
    def take(self, part: Any) -> Block:
        """Return the `Block` of a slice, as views if possible, or of an index array."""

    def features_of(self, part: slice) -> AnyArray:
        """Return the features of a slice of dense rows, whichever places they are in."""
        return self.take(part).X

    def beside(self, part: Any) -> tuple[AnyArray, FloatArray | None]:
        """Return targets and weights of a slice or of an index array."""
        block = self.take(part)
        return block.y, block.weights

    def write(self, part: Any, out: FloatArray) -> None:
        """Write the dense rows of a slice to `out`, float64."""
        out[...] = self.take(part).X

    def norms(self, part: Any) -> FloatArray:
        """Return the l2 norms of the rows of a slice."""
        return row_norms(self.take(part).X)

    @abstractmethod
    def subset(self, indices: IntArray) -> RowSource:
        """Return a source of the rows at an array of indices, without the public holdout."""

    @abstractmethod
    def with_features(self, X: Any) -> RowSource:
        """Return a source with features X, which may be overwritten, in place of its own."""

    @abstractmethod
    def with_targets(self, target_map: Callable[..., Any]) -> RowSource:
        """Return the rows and the public holdout with mapped targets.

        `target_map` maps an array of targets elementwise to an array of the same length.
        """

    @abstractmethod
    def with_more_targets(self, others: RowSource) -> RowSource:
        """Return the rows with the targets of `others`, the same rows, as added columns."""

    @abstractmethod
    def with_weights(self, weigh: Callable[..., Any], bound: float) -> RowSource:
        """Return the rows with weights ``weigh(targets, weights)`` and a bound on them."""

    @abstractmethod
    def with_weight_bound(self, bound: float) -> RowSource:
        """Return the rows with another bound on their weights."""

    @abstractmethod
    def clipped_by(self, model: Any) -> Any:
        """Return the rows with entries clipped to the model's bound on coordinates."""

    def viewed(self, row_map: Any) -> Any:
        """Return a source of mapped rows for sums, computed at every read if possible."""
        return self.mapped(row_map)

    @abstractmethod
    def mapped(self, row_map: Any) -> Any:
        """Return a source of dense rows, each row mapped independently.

        Parameters
        ----------
        row_map : object with width, dtype and dense(X, out)
            Maps a block of features X to `out`, which has `width` columns.
        """


class LocalRows(RowSource):
    """Base of dataclasses of rows in one place, with targets and weights in memory.

    Attributes
    ----------
    y : ndarray of shape (n,) or (n, n_targets)
    weights : ndarray of shape (n,) or None
        Factors of the losses of the rows. They are part of the data, so they come before clipping.
    """

    if TYPE_CHECKING:
        @property
        def y(self) -> AnyArray: ...
        @property
        def weights(self) -> FloatArray | None: ...

    def with_targets(self, target_map: Callable[..., Any]) -> RowSource:
        holdout = None if self.holdout is None else self.holdout.with_targets(target_map)
        return replace(cast("Any", self), y=target_map(self.y), holdout=holdout)

    def with_more_targets(self, others: RowSource) -> RowSource:
        return replace(cast("Any", self), y=np.column_stack(
            [self.y, cast("Any", others).y]))

    def with_weights(self, weigh: Callable[..., Any], bound: float) -> Any:
        return replace(cast("Any", self), weights=weigh(self.y, self.weights), weight_bound=bound)

    def with_weight_bound(self, bound: float) -> RowSource:
        return replace(cast("Any", self), weight_bound=bound)

    def beside(self, part: Any) -> tuple[AnyArray, FloatArray | None]:
        # Do not read the features.
        _, y, weights = self._block(None, part)
        return y, weights

    def _block(self, X: Any, part: Any) -> Block:
        """Return features with the targets and weights of the same part of the rows.

        Weights are clipped to their bound. With groups, they are divided by the group size.
        """
        weights = None
        if self.weights is not None:
            # Use double precision, as single precision could round the bound up.
            weights = np.minimum(self.weights[part], self.weight_bound, dtype=np.float64)
        if self.groups is not None:
            weights = (1.0 if weights is None else weights) / self.groups.sizes[part]
        return Block(X, self.y[part], weights)


@dataclass(frozen=True, eq=False, repr=False)
class Rows(LocalRows):
    """Rows in memory.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,) or None
        Factors of the losses of the rows. They are part of the data, so they come before clipping.
    weight_bound : float
        Public bound; larger weights are clipped to it.
    owned : bool
        Whether the entries of X are float64 and may be overwritten.
    holdout : Rows or None
        Public rows, which the privacy guarantee does not cover.
    groups : Groups or None
    made : bool
        Whether X was made for the fit, so that sums may also cache its entries in grid units.
    """

    X: Features
    y: np.ndarray
    weights: np.ndarray | None = None
    weight_bound: float = 1.0
    owned: bool = False
    holdout: Rows | None = None
    groups: Groups | None = None
    made: bool = False

    def __post_init__(self) -> None:
        # Every step reads these, so they are plain attributes and not properties.
        for name, value in (("n", self.X.shape[0]), ("n_features", self.X.shape[1]),
                            ("dtype", self.X.dtype), ("is_sparse", sparse.issparse(self.X)),
                            ("is_weighted", self.weights is not None)):
            object.__setattr__(self, name, value)

    @property
    def n_entries(self) -> int:
        """int : the number of entries of X, assumed for sparse rows, where it is private."""
        return self.n * (min(self.n_features, CSR_WIDTH) if self.is_sparse else self.n_features)

    def split(self, count: int) -> list[RowSource]:
        """Split the rows into `count` sources of about equal size, with features as views."""
        ends = [self.n * place // count for place in range(count + 1)]
        return [replace(self, X=csr_rows(self.X, part) if self.is_sparse else self.X[part],
                        y=self.y[part], owned=False, holdout=None,
                        weights=None if self.weights is None else self.weights[part],
                        groups=None if self.groups is None else self.groups.piece(part))
                for part in map(slice, ends[:-1], ends[1:])]

    def take(self, part: Any) -> Block:
        if not isinstance(part, slice):
            X = self.X[part] if self.is_sparse else self.X.take(part, axis=0)
        elif part.start == 0 and part.stop >= self.n:
            X = self.X
        else:
            X = csr_rows(self.X, part) if self.is_sparse else self.X[part]
        return self._block(X, part)

    def subset(self, indices: IntArray) -> RowSource:
        if self.groups is not None:
            raise NotImplementedError("Rows in groups are not read without the others of theirs.")
        X, y, weights = self.X[indices], self.y[indices], self.weights
        # Indexing with an array has made a copy, which may be overwritten.
        return Rows(X, y, None if weights is None else weights[indices], self.weight_bound,
                    X.dtype == np.float64)

    def mapped(self, row_map: Any) -> RowSource:
        reused = self.owned and self.n_features == row_map.width and not self.is_sparse
        out = self.X if reused else np.empty((self.n, row_map.width), row_map.dtype)
        for part in row_blocks(self.n, row_map.width):
            row_map.dense(self.X[part], out[part])
        return replace(self, X=out, owned=out.dtype == np.float64)

    def with_features(self, X: Any) -> RowSource:
        return replace(self, X=X, owned=True)

    def clipped_by(self, model: Any) -> RowSource:
        X = model.bounded(self.X)
        if X is self.X:
            return self
        return replace(self, X=X, owned=not sparse.issparse(X) and X.dtype == np.float64)

    def viewed(self, row_map: Any) -> RowSource:
        return ViewedRows(self.X, self.y, self.weights, self.weight_bound, groups=self.groups,
                          row_map=row_map)


@dataclass(frozen=True, eq=False, repr=False)
class ViewedRows(Rows):
    """Rows in memory that are mapped at every read; the mapped rows are not stored.

    Parameters
    ----------
    row_map : object with width, dtype and dense(X, out)
        Maps a block of features X to `out`. The other parameters are those of `Rows`.
    """

    row_map: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_features", self.row_map.width)
        object.__setattr__(self, "dtype", np.dtype(self.row_map.dtype))
        object.__setattr__(self, "is_sparse", False)

    def take(self, part: Any) -> Block:
        X, y, weights = super().take(part)
        out = np.empty((X.shape[0], self.row_map.width), self.row_map.dtype)
        for rows in row_blocks(X.shape[0], self.row_map.width):
            self.row_map.dense(X[rows], out[rows])
        return Block(out, y, weights)

    def write(self, part: Any, out: FloatArray) -> None:
        if out.dtype != self.dtype:
            super().write(part, out)
            return
        # Mapped in place, because a new block of memory takes as long as the map.
        for rows in row_blocks(len(out), self.row_map.width):
            self.row_map.dense(self.X[part][rows], out[rows])

    def subset(self, indices: IntArray) -> RowSource:
        return super().subset(indices).mapped(self.row_map)

    def mapped(self, row_map: Any) -> RowSource:
        out = np.empty((self.n, row_map.width), row_map.dtype)
        for part in row_blocks(self.n, max(self.n_features, row_map.width)):
            row_map.dense(self.take(part).X, out[part])
        return replace(self._unmapped(), X=out, owned=out.dtype == np.float64)

    def viewed(self, row_map: Any) -> RowSource:
        return replace(self, row_map=Chained(self.row_map, row_map))

    def clipped_by(self, model: Any) -> RowSource:
        if not model.clips_entries:
            return self
        return self._unmapped().mapped(self.row_map).clipped_by(model)

    def with_features(self, X: Any) -> RowSource:
        return self._unmapped().with_features(X)

    def _unmapped(self) -> Rows:
        return Rows(self.X, self.y, self.weights, self.weight_bound, groups=self.groups,
                    holdout=self.holdout)
