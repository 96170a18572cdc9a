"""Where the rows of one fit come from, on their way to an oracle.

A source is in one place, whose rows are read in parts by `take`, or in several (`PartedRows`),
where functions go to the rows. What is asked by `each`, `added` and `hold` suits both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

import numpy as np
from scipy import sparse

from dpsk._data.blocks import block_length, csr_rows, row_blocks
from dpsk._data.groups import Groups
from dpsk._data.norms import row_norms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dpsk._typing import AnyArray, Features, FloatArray, IntArray

__all__ = ["Block", "Held", "LocalRows", "RowSource", "Rows", "added"]


class Block(NamedTuple):
    """Some rows in memory: features, targets, and weights within their bound, or None."""

    X: Features
    y: AnyArray
    weights: FloatArray | None


class RowSource(ABC):
    """Rows that are read in parts; sensitive, and never kept on an estimator.

    Oracles know no more of rows than this. `n_units`, `n_features` and `dtype` are public; so is
    `n`, unless rows are in groups.

    Attributes
    ----------
    n, n_features : int
    dtype : dtype
    is_sparse : bool
        Whether parts are CSR matrices.
    is_parted : bool
        Whether rows are in several places, so that `take` has none.
    is_weighted : bool
    weight_bound : float
        Public; larger weights are lowered to it.
    holdout : RowSource or None
        Public rows, which no guarantee covers.
    groups : Groups or None
        Who is protected, where that is a group of rows and not a row.
    cache_bytes : int
        What sums may keep of rows that are read again in every pass.
    """

    if TYPE_CHECKING:
        # Fields, constants or properties.
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
        """int : the number of those who are protected, groups or rows; public."""
        return self.n if self.groups is None else self.groups.count

    def place_of(self, index: int) -> int:
        """Return where the row at an index is in the whole table."""
        return index

    def blocks(self, length: int) -> Iterator[slice]:
        """Yield slices of at most `length` rows, in order, that cover the rows."""
        for start in range(0, self.n, length):
            yield slice(start, min(self.n, start + length))

    def shown(self, length: int) -> Iterator[Any]:
        """Yield parts as `blocks` does; of groups the indices of one row of each, publicly drawn.
        """
        if self.groups is None:
            yield from self.blocks(length)
            return
        length = min(length, block_length(self.n_features))
        for start in range(0, self.n_units, length):
            yield self.groups.shown[start:start + length]

    def parts(self, length: int, chosen: Any = None) -> Iterator[Any]:
        """Yield slices, or parts of the indices of the units `chosen`, of at most `length` rows.
        """
        if chosen is None:
            yield from self.blocks(length)
        else:
            if self.groups is not None:
                chosen = self.groups.rows_of(chosen)
            for start in range(0, len(chosen), length):
                yield chosen[start:start + length]

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return what ``function(rows, *args)`` makes of the rows of every place, a list."""
        return [function(self, *args)]

    def added(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum over places of ``function(rows, *args)``, an array or a tuple of them."""
        return added(self.each(function, *args))

    def hold(self, make: Callable[..., Any], *args: Any) -> Any:
        """Return what ``make(rows, *args)`` makes of the rows of every place, kept there."""
        return Held(make(self, *args))

    @abstractmethod
    def take(self, part: Any) -> Block:
        """Return the rows of a slice, as views where they can be, or of indices: a `Block`."""

    def beside(self, part: Any) -> tuple[AnyArray, FloatArray | None]:
        """Return targets and weights of a slice or of indices."""
        block = self.take(part)
        return block.y, block.weights

    def norms(self, part: Any) -> FloatArray:
        """Return the l2 norms of the rows of a slice."""
        return row_norms(self.take(part).X)

    @abstractmethod
    def subset(self, indices: IntArray) -> RowSource:
        """Return a source of the rows at an array of indices, without the public ones."""

    @abstractmethod
    def with_features(self, X: Any) -> RowSource:
        """Return other features, which may be overwritten, with these targets and weights."""

    @abstractmethod
    def with_targets(self, target_map: Callable[..., Any]) -> RowSource:
        """Return the rows, and the public ones, with targets mapped one by one.

        `target_map` goes from an array of targets to another of the same length.
        """

    @abstractmethod
    def with_more_targets(self, others: RowSource) -> RowSource:
        """Return the rows with the targets of `others`, the same rows, beside their own."""

    @abstractmethod
    def with_weights(self, weigh: Callable[..., Any], bound: float) -> RowSource:
        """Return the rows with the weights ``weigh(targets, weights)``, and a bound on them."""

    @abstractmethod
    def with_weight_bound(self, bound: float) -> RowSource:
        """Return the rows with another bound on their weights."""

    @abstractmethod
    def clipped_by(self, model: Any) -> Any:
        """Return the rows with entries within the model's bound on coordinates."""

    def viewed(self, row_map: Any) -> Any:
        """Return a source of dense rows as `mapped` does, for sums; held where they have to be."""
        return self.mapped(row_map)

    @abstractmethod
    def mapped(self, row_map: Any) -> Any:
        """Return a source of dense rows that are mapped one by one, and held.

        Parameters
        ----------
        row_map : object with width, dtype and dense(X, out)
            Of a block of features; `width` is the number of columns that come out.
        """


class Held:
    """Result of the rows of one place.

    Parameters
    ----------
    made : object
    """

    def __init__(self, made: Any) -> None:
        self._made = made

    def added(self, method: Any, *args: Any, rows: Any = None) -> Any:
        """Return the sum over places of what a method returns.

        `rows` are indices of rows to read, which the method takes last; None for all of them.
        """
        chosen = () if rows is None else (rows,)
        return getattr(self._made, method)(*args, *chosen)

    def rows(self, method: Any, *args: Any, width: Any) -> Any:
        """Return a source of the rows of so many columns that a method returns."""
        return getattr(self._made, method)(*args)


def added(answers: list[FloatArray | IntArray | tuple[FloatArray, ...]]) -> Any:
    """Return the sum of arrays, or of tuples of them."""
    total, *others = answers
    for answer in others:
        if isinstance(total, tuple):
            total = tuple(map(np.add, total, answer))
        else:
            total = total + answer
    return total


class LocalRows(RowSource):
    """Rows of one place, whose targets and weights are in memory; a dataclass.

    Attributes
    ----------
    y : ndarray of shape (n,) or (n, n_targets)
    weights : ndarray of shape (n,) or None
        Factors of the rows' losses. They belong to the rows, so they come before any clip.
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

    def _block(self, X: Any, part: Any) -> Block:
        """Return features beside the targets and weights of their part of the rows.

        The weights of rows in groups are those within their bound over the size of the group.
        """
        weights = None
        if self.weights is not None:
            # In single precision the bound itself could be rounded up.
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
        Factors of the rows' losses. They belong to the rows, so they come before any clip.
    weight_bound : float
        Public; larger weights are lowered to it.
    owned : bool
        Whether the entries of X are float64 and may be overwritten.
    holdout : Rows or None
        Public rows, which no guarantee covers.
    groups : Groups or None
    made : bool
        Whether X was made for the fit, so that sums may keep its whole units as well.
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
        # Looked at in every step.
        for name, value in (("n", self.X.shape[0]), ("n_features", self.X.shape[1]),
                            ("dtype", self.X.dtype), ("is_sparse", sparse.issparse(self.X)),
                            ("is_weighted", self.weights is not None)):
            object.__setattr__(self, name, value)

    @property
    def n_entries(self) -> int:
        """int : how many numbers are stored of features."""
        return self.X.nnz if self.is_sparse else self.n * self.n_features

    def split(self, count: int) -> list[RowSource]:
        """Return the rows in so many sources of about as many rows, whose features are views."""
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
        # Indexing with an array has made a copy.
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
    """Rows in memory that are mapped one by one whenever they are read, and not held.

    Parameters
    ----------
    row_map : object with width, dtype and dense(X, out)
        Of a block of features; other parameters are those of `Rows`.
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

    def _refused(self, _: Any) -> Any:
        raise NotImplementedError("Rows that are not held are read in sums alone.")

    subset: ClassVar[Any] = _refused
    mapped: ClassVar[Any] = _refused
    viewed: ClassVar[Any] = _refused
    clipped_by: ClassVar[Any] = _refused
    with_features: ClassVar[Any] = _refused
