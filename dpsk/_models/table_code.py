"""Features of table columns, of norm at most 1: linear splines and indicators."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_of, row_blocks
from dpsk._models.bins import places_among

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dpsk._models.shifted_log import ShiftedLog
    from dpsk._typing import AnyArray, Features, FloatArray, IntArray

__all__ = ["Indicators", "LinearSplineBasis", "TableCode"]

#: Blocks have this many times the rows whose features fill a megabyte as doubles.
_MORE_ROWS = 8
#: Sparse rows are faster from this ratio of all features to possibly nonzero ones on.
_SPARSE = 4


@dataclass(frozen=True, eq=False)
class LinearSplineBasis:
    """Linear B-spline basis: a number becomes weights of the two nearest knots.

    A number on a knot has weight 1 there. Between two knots it has their linear interpolation
    weights on `scale`, and beyond the ends it counts as the end knot. Weights are not negative
    and sum to 1, so their norm is at most 1. A missing value has weight 0 at every knot, and 1 in
    the indicator if there is one.

    Parameters
    ----------
    knots : ndarray of float64
        Increasing, at least one.
    has_indicator : bool
        Whether the last feature is 1 where the number is missing, else 0.
    scale : ShiftedLog or None
        Scale of the interpolation, increasing at the knots; None: numbers as they are.
    """

    knots: np.ndarray
    has_indicator: bool = False
    scale: ShiftedLog | None = None

    @property
    def width(self) -> int:
        """int : number of features."""
        return len(self.knots) + self.has_indicator

    @property
    def narrow(self) -> int:
        """int : number of features that enter products."""
        return self.width

    @property
    def n_named(self) -> int:
        """int : number of features before the indicator of missing values."""
        return len(self.knots)

    @property
    def n_entries(self) -> int:
        """int : number of features that may be nonzero for one number."""
        return min(len(self.knots), 2) + self.has_indicator

    def entries(self, numbers: FloatArray, dtype: Any) -> tuple[IntArray, FloatArray]:
        """Return the places of these features and their weights, shape (n_entries, n)."""
        missing = np.isnan(numbers)
        inside, knots = np.clip(numbers, self.knots[0], self.knots[-1]), self.knots
        if self.scale is not None:
            inside, knots = self.scale(inside), self.scale(knots)
            np.clip(inside, knots[0], knots[-1], out=inside)
        # A gap that is not positive, as with one knot, becomes infinite: its share is 0.
        left = places_among(knots[1:-1], inside)
        gaps = np.diff(knots, append=knots[-1:])
        gaps[~(gaps > 0)] = np.inf
        inside -= knots.take(left)
        inside /= gaps.take(left)
        share = inside.astype(dtype)
        # Where one weight rounds to 1 the other must be 0, or the norm would exceed 1.
        np.copyto(share, 0, where=~(1 - share < 1))
        rest = 1 - share
        rest[missing] = 0
        # A single knot has no right neighbor.
        places = [left, left + 1][:len(knots)]
        weights = [rest, share][:len(knots)]
        if self.has_indicator:
            places.append(np.full(len(left), len(knots)))
            weights.append(missing.astype(dtype))
        return np.array(places), np.array(weights)

    def write(self, numbers: FloatArray, out: FloatArray) -> None:
        """Write the features of a column to `out`, shape (n, width), which is zero."""
        own = np.zeros(out.shape, out.dtype)
        places, weights = self.entries(numbers, out.dtype)
        # Indexing a flat array is much faster than indexing with two arrays.
        own.reshape(-1)[places + np.arange(0, own.size, self.width)] = weights
        out[...] = own

    def names(self, column: str) -> list[str]:
        """Return a name for every feature."""
        short = [f"{knot:.6g}" for knot in self.knots]
        shown = short if len(set(short)) == len(short) else map(repr, self.knots.tolist())
        return [f"{column}[{knot}]" for knot in [*shown, *["missing"] * self.has_indicator]]


@dataclass(frozen=True, eq=False)
class Indicators:
    """One-hot indicators of categories, the last one for any other category.

    Parameters
    ----------
    categories : list
    kept : ndarray of int or None
        The positions of these categories in training rows, increasing; sensitive. None: rows
        hold positions in `categories`.
    others : callable or None
        Returns the index here of the category at every position in training rows, for those not
        in `kept`; sensitive. None: they count as any other category.
    buckets : int
        Number of hash buckets at the end of `categories`. Products merge them with any other
        category into one feature, unless all are buckets.
    """

    categories: list
    kept: IntArray | None = None
    others: Callable[[], IntArray] | None = None
    buckets: int = 0

    @property
    def width(self) -> int:
        """int : number of features."""
        return len(self.categories) + 1

    @property
    def narrow(self) -> int:
        """int : number of features that enter products."""
        return self.n_named + 1 if self.n_named else self.width

    @property
    def n_named(self) -> int:
        """int : number of categories before the buckets."""
        return len(self.categories) - self.buckets

    @property
    def n_entries(self) -> int:
        """int : number of features that may be nonzero for one position."""
        return 1

    def entries(self, positions: FloatArray, dtype: Any) -> tuple[IntArray, FloatArray]:
        """Return the place of each row's feature and its weight 1, each of shape (1, n)."""
        places = positions.astype(np.intp)
        if self.kept is not None:
            nearest = np.searchsorted(self.kept, places)
            known = np.append(self.kept, -2)[nearest] == places
            rest = -1 if self.others is None else np.append(self.others(), -1)[places]
            places = np.where(known, nearest, rest)
        places = np.where(places < 0, self.width - 1, places)
        return places[None], np.ones((1, len(places)), dtype)

    def write(self, positions: FloatArray, out: FloatArray) -> None:
        """Write the features of a column to `out`, shape (n, width), which is zero."""
        (places,), _ = self.entries(positions, out.dtype)
        out[np.arange(len(places)), places] = 1

    def names(self, column: str) -> list[str]:
        """Return a name for every feature."""
        known, other = [str(category) for category in self.categories], "other"
        while other in known:
            other += "_"
        return [f"{column}_{category}" for category in [*known, other]]


@dataclass(frozen=True, eq=False)
class TableCode:
    """Map each table row to features by itself, so neighboring tables stay neighbors.

    Parameters
    ----------
    parts : tuple of LinearSplineBasis or Indicators
        One for each column.
    pairs : tuple of (int, int)
        Columns whose features are multiplied, each feature of one with each of the other. Blocks
        of these products have norm at most 1, and follow the columns' blocks.
    log_odds: float
        Released log-odds of the second of two classes; 0 if none were released.
    """

    parts: tuple
    pairs: tuple = ()
    log_odds: float = 0.0
    dtype: ClassVar[type] = np.float32

    def for_next_rows(self) -> TableCode:
        """Return the map for new rows, whose positions index `categories` directly."""
        return replace(self, parts=tuple(
            replace(part, kept=None, others=None) if isinstance(part, Indicators) else part
            for part in self.parts))

    @property
    def norm(self) -> float:
        """float : bound on the norm of a row."""
        return math.sqrt(len(self.parts) + len(self.pairs))

    @property
    def width(self) -> int:
        """int : number of features."""
        return self.slices[-1].stop

    @property
    def narrow(self) -> list[int]:
        """list of int : number of features of every column that enter products."""
        return [part.narrow for part in self.parts]

    @property
    def slices(self) -> list[slice]:
        """list of slice : the features of every column, then of every pair."""
        widths = [part.width for part in self.parts]
        narrow = self.narrow
        widths += [narrow[first] * narrow[second] for first, second in self.pairs]
        return [slice(*ends) for ends in pairwise(np.cumsum([0, *widths]).tolist())]

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the features of rows to `out`, shape (n, width)."""
        out[:] = 0
        for part, where, column in zip(self.parts, self.slices, np.ascontiguousarray(X.T),
                                       strict=False):
            part.write(column, out[:, where])
        self._multiply(out)

    def features(self, X: Features, known: FloatArray | None = None) -> FloatArray:
        """Return the features of rows, float32, shape (n, width).

        `known` holds the columns' features, if they were computed before pairs were chosen.
        """
        out: FloatArray = np.empty((len(X), self.width), self.dtype)
        for part in self.blocks(len(X)):
            if known is None:
                self.dense(X[part], out[part])
            else:
                out[part, :known.shape[1]] = known[part]
                self._multiply(out[part])
        return out

    def compact(self, X: Features, known: Any = None) -> Any:
        """Return the features of rows, as a CSR matrix where most of them are 0.

        Some stored entries may be 0 as well. `known` may be dense or CSR.
        """
        parts, pairs = self.parts, self.pairs
        counts = [part.n_entries for part in parts]
        own = sum(counts)
        count = own + sum(counts[one] * counts[other] for one, other in pairs)
        is_known = sparse.issparse(known)
        if self.width < _SPARSE * count:
            return self.features(X, None if is_known else known)
        size = len(X) * count
        kind = np.int32 if size <= np.iinfo(np.int32).max else np.int64
        places, weights = np.empty((len(X), count), kind), np.empty((len(X), count), self.dtype)
        if is_known:
            places[:, :own] = known.indices.reshape(-1, own)
            weights[:, :own] = known.data.reshape(-1, own)
        ends, slices = np.cumsum([0, *counts]).tolist(), self.slices
        for rows in row_blocks(len(X), max(1, count // _MORE_ROWS)):
            if not is_known:
                found = [part.entries(column, self.dtype) for part, column in
                         zip(parts, np.ascontiguousarray(X[rows].T), strict=True)]
                np.concatenate([where.start + some for where, (some, _) in
                                zip(slices, found, strict=False)], out=places[rows, :own].T)
                np.concatenate([some for _, some in found], out=weights[rows, :own].T)
            crossed = [_crossed(*((places[rows, ends[place]:ends[place + 1]].T
                                   - slices[place].start,
                                   weights[rows, ends[place]:ends[place + 1]].T,
                                   parts[place].narrow) for place in pair)) for pair in pairs]
            at = own
            for where, (some, others) in zip(slices[len(parts):], crossed, strict=True):
                places[rows, at:at + len(some)] = where.start + some.T
                weights[rows, at:at + len(some)] = others.T
                at += len(some)
        starts = np.arange(0, size + 1, count, dtype=kind)
        return csr_of(weights.reshape(-1), places.reshape(-1), starts, self.width)

    def blocks(self, n_rows: int) -> Iterator[slice]:
        """Yield slices of rows of a few megabytes: calls cost more than cache misses."""
        return row_blocks(n_rows, max(1, self.width // _MORE_ROWS))

    def _multiply(self, out: FloatArray) -> None:
        """Write the products of pairs after the features of columns."""
        slices = self.slices
        for (first, second), where in zip(self.pairs, slices[len(self.parts):], strict=True):
            one, other = (_narrowed(out[:, slices[place]], self.parts[place].narrow)
                          for place in (first, second))
            out[:, where] = (one[:, :, None] * other[:, None, :]).reshape(len(out), -1)

    def names(self, columns: AnyArray) -> list[str]:
        """Return a name for every feature."""
        names = [part.names(column) for part, column in zip(self.parts, columns, strict=True)]
        short = [[*each[:width - 1], each[-1]]
                 for each, width in zip(names, self.narrow, strict=True)]
        crossed = [f"{one} x {other}" for first, second in self.pairs
                   for one in short[first] for other in short[second]]
        return [*(name for each in names for name in each), *crossed]


def _crossed(one: Any, other: Any) -> tuple[IntArray, FloatArray]:
    """Return places and weights of products; arguments are (places, weights, width)."""
    (first, weights, width), (second, factors, narrow) = one, other
    places = np.minimum(first, width - 1)[:, None] * narrow + np.minimum(second, narrow - 1)
    shape = len(first) * len(second), first.shape[1]
    return places.reshape(shape), (weights[:, None] * factors).reshape(shape)


def _narrowed(features: Any, width: Any) -> Any:
    """Return `width` features, the last one the sum of the rest, itself an indicator."""
    if features.shape[1] == width:
        return features
    return np.column_stack([features[:, :width - 1], features[:, width - 1:].sum(axis=1)])
