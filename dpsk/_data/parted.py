"""Rows in several places, to which functions are sent and whose results are added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from operator import methodcaller
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

from dpsk._context import may_start_threads
from dpsk._data.held import added
from dpsk._data.source import Rows, RowSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._typing import AnyArray, Chosen, IntArray

__all__ = ["PartedRows", "Places", "Threads", "in_places", "on_threads",
           "one_blas_thread"]

#: Number of entries per thread from which on another thread saves time.
_WORTH_A_THREAD = 1 << 19


class Places(ABC):
    """Runs one function per place, on objects that are kept there."""

    @abstractmethod
    def keep(self, functions: list[Any], *kept: list[Any]) -> list[Any]:
        """Call each function on its place's kept objects; return handles of the results."""

    @abstractmethod
    def fetch(self, functions: list[Any], *kept: list[Any]) -> list[Any]:
        """Call each function on its place's kept objects; return the list of results."""


class Threads(Places):
    """Places that are threads of this process, or one that is the calling thread."""

    def __init__(self, count: int) -> None:
        self._map: Any = map if count == 1 else ThreadPoolExecutor(count, "dpsk").map

    def keep(self, functions: list[Any], *kept: list[Any]) -> list[Any]:
        return self.fetch(functions, *kept)

    def fetch(self, functions: list[Any], *kept: list[Any]) -> list[Any]:
        # BLAS threads would compete with the threads of the pool.
        with one_blas_thread():
            return list(self._map(_silent, functions, *kept))


@dataclass(frozen=True, eq=False, repr=False)
class PartedRows(RowSource):
    """Rows that are distributed over several places.

    Parameters
    ----------
    places : Places
    kept : list
        Handles of the RowSource of every place.
    sizes : tuple of int
        The number of rows in every place.
    runs : tuple of (int, int, int)
        Runs of consecutive rows, in the order of the table: the index of the first row in the
        table, its place, and its index in that place.
    n_features : int
    dtype : dtype
    is_sparse, is_weighted : bool
    weight_bound : float
    holdout : RowSource or None
        Public rows, in this process.
    n_groups : int or None
        The number of groups of rows; None without groups.
    """

    places: Places
    kept: list
    sizes: tuple
    runs: tuple
    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool = False
    is_weighted: bool = False
    weight_bound: float = 1.0
    holdout: RowSource | None = None
    n_groups: int | None = None

    is_parted = True

    @property
    def n(self) -> int:
        """int : the number of rows in all places."""
        return sum(self.sizes)

    @property
    def n_units(self) -> int:
        return self.n if self.n_groups is None else self.n_groups

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return self.places.fetch(self._alike(function, *args), self.kept)

    def hold(self, make: Callable[..., Any], *args: Any) -> PartedHeld:
        return PartedHeld(self, self.places.keep(self._alike(make, *args), self.kept))

    def take(self, part: Chosen) -> Any:
        raise NotImplementedError("Rows in several places are not read in one; ask for what a "
                                  "function makes of them.")

    def features_of(self, part: slice) -> AnyArray:
        inside, place = self._located(np.arange(part.start, part.stop))
        where = [place == each for each in range(len(self.kept))]
        blocks = self.places.fetch([methodcaller("take", inside[mine]) for mine in where],
                                   self.kept)
        found = np.empty((len(inside), self.n_features), self.dtype)
        for mine, block in zip(where, blocks, strict=True):
            found[mine] = block.X
        return found

    def split(self, indices: IntArray) -> list[IntArray]:
        """Convert indices of the table to a list of sorted index arrays, one per place."""
        inside, place = self._located(np.sort(indices))
        return [inside[place == each] for each in range(len(self.kept))]

    def _located(self, indices: IntArray) -> tuple[IntArray, IntArray]:
        """Return the index of each row in its place, and the place."""
        starts, places, first = np.array(self.runs, dtype=np.intp).T
        run = np.searchsorted(starts, indices, "right") - 1
        return indices - starts[run] + first[run], places[run]

    def subset(self, indices: IntArray) -> RowSource:
        parts = self.split(indices)
        kept = self.places.keep([methodcaller("subset", part) for part in parts], self.kept)
        sizes = tuple(map(len, parts))
        return replace(self, kept=kept, sizes=sizes, runs=runs_of(sizes), holdout=None)

    def with_features(self, X: Any) -> Any:
        raise NotImplementedError("Rows in several places take no features from one.")

    def with_targets(self, target_map: Callable[..., Any]) -> RowSource:
        holdout = None if self.holdout is None else self.holdout.with_targets(target_map)
        return replace(self, kept=self._changed("with_targets", target_map), holdout=holdout)

    def with_more_targets(self, others: Any) -> RowSource:
        return replace(self, kept=self.places.keep(
            [_with_more_targets] * len(self.kept), self.kept, others.kept))

    def with_weights(self, weigh: Callable[..., Any], bound: float) -> Any:
        return replace(self, kept=self._changed("with_weights", weigh, bound), is_weighted=True,
                       weight_bound=bound)

    def with_weight_bound(self, bound: float) -> RowSource:
        return replace(self, kept=self._changed("with_weight_bound", bound), weight_bound=bound)

    def clipped_by(self, model: Any) -> Any:
        return replace(self, kept=self._changed("clipped_by", model))

    def mapped(self, row_map: Any) -> RowSource:
        return self._with_map("mapped", row_map)

    def viewed(self, row_map: Any) -> RowSource:
        return self._with_map("viewed", row_map)

    def _with_map(self, method: str, row_map: Any) -> RowSource:
        return replace(self, kept=self._changed(method, row_map), n_features=row_map.width,
                       dtype=np.dtype(row_map.dtype), is_sparse=False)

    def _alike(self, function: Callable[..., Any], *args: Any) -> list[Callable[..., Any]]:
        return [partial(_of_rows, function, args)] * len(self.kept)

    def _changed(self, method: str, *args: Any) -> list[Any]:
        return self.places.keep([methodcaller(method, *args)] * len(self.kept), self.kept)


class PartedHeld:
    """Objects made of the rows of every place, which stay there; like `Held`.

    Parameters
    ----------
    source : PartedRows
    kept : list
    """

    def __init__(self, source: PartedRows, kept: list[Any]) -> None:
        self._source, self._kept = source, kept

    def added(self, method: str, *args: Any, rows: IntArray | None = None) -> Any:
        """Return the sum over places of the results of a method.

        `rows` are indices of rows, passed as the last argument of the method; None means all rows.
        """
        if rows is None:
            calls = [methodcaller(method, *args)] * len(self._kept)
        else:
            calls = [methodcaller(method, *args, part) for part in self._source.split(rows)]
        return added(self._source.places.fetch(calls, self._kept))

    def rows(self, method: str, *args: Any, width: int) -> RowSource:
        """Return a source of the rows that a method returns, with `width` columns."""
        kept = self._source.places.keep([methodcaller(method, *args)] * len(self._kept),
                                        self._kept)
        return replace(self._source, kept=kept, n_features=width, dtype=np.dtype(np.float64),
                       is_sparse=False)


def on_threads(rows: RowSource) -> RowSource:
    """Distribute rows in memory over threads if that saves time; for exact sums only."""
    # With groups the number of rows is secret, and other programs can count threads.
    if not isinstance(rows, Rows) or rows.groups is not None:
        return rows
    count = rows.n_entries // _WORTH_A_THREAD
    if count < 2:
        return rows
    # The first count of processors starts another process, so avoid it for few rows. One place
    # is the calling thread, with a single BLAS thread.
    count = min(count, _openmp_effective_n_threads()) if may_start_threads() else 1
    parts = rows.split(count)
    return in_places(Threads(count), parts)


def in_places(places: Threads, parts: list[RowSource]) -> RowSource:
    """Return consecutive sources of this process as `PartedRows`, one per place."""
    rows, sizes = parts[0], tuple(map(len, parts))
    return PartedRows(places, parts, sizes, runs_of(sizes), rows.n_features, rows.dtype,
                      rows.is_sparse, rows.is_weighted, rows.weight_bound,
                      n_groups=None if rows.groups is None else rows.groups.count)


def runs_of(sizes: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """Return the runs of places that hold consecutive rows, given their sizes."""
    starts = accumulate((0, *sizes[:-1]))
    return tuple((start, place, 0) for place, start in enumerate(starts) if sizes[place])


def _with_more_targets(rows: Any, others: Any) -> Any:
    return rows.with_more_targets(others)


def _of_rows(function: Callable[..., Any], args: tuple[Any, ...], rows: Any) -> Any:
    return function(rows, *args)


def one_blas_thread() -> Any:
    """Return a context in which matrix products use a single BLAS thread."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    return ThreadpoolController()


def _silent(function: Callable[..., Any], *kept: Any) -> Any:
    """Return ``function(*kept)``; hide floating-point warnings, which depend on rows."""
    # NumPy's error state of the calling thread does not apply to this thread.
    with np.errstate(all="ignore"):
        return function(*kept)
