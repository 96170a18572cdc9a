"""Columns of a table as blocks of features of norm at most 1: hat functions, indicators."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_of, row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._models.shifted_log import ShiftedLog
    from dpsk._typing import AnyArray, Features, FloatArray, IntArray

__all__ = ["Indicators", "LinearSplineBasis", "TableCode"]

#: Rows of a block over those of which features are a megabyte as doubles.
_MORE_ROWS = 8
#: From so many times the features that may not be 0 on, sparse rows take less time.
_SPARSE = 4


@dataclass(frozen=True, eq=False)
class LinearSplineBasis:
    """Numbers between knots as weights of the two nearest ones.

    A number on a knot has weight 1 there, one between two knots weights in proportion to its
    distances from them on a scale, and one beyond the ends counts as the end. Weights are not
    negative and sum to 1, so that their norm is at most 1. What is missing has none, but for an
    indicator of its own.

    Parameters
    ----------
    knots : ndarray of float64
        Increasing, at least one.
    has_indicator : bool
        Whether the last feature is 1 where the number is missing, else 0.
    scale : ShiftedLog or None
        Increasing at the knots; None: numbers as they are.
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
        """int : number of features in products."""
        return self.width

    @property
    def n_entries(self) -> int:
        """int : number of features that a number may have a weight in."""
        return min(len(self.knots), 2) + self.has_indicator

    def entries(self, numbers: FloatArray, dtype: Any) -> tuple[IntArray, FloatArray]:
        """Return the places of these features of a column, and the weights, (n_entries, n)."""
        missing = np.isnan(numbers)
        inside, knots = np.clip(numbers, self.knots[0], self.knots[-1]), self.knots
        if self.scale is not None:
            inside, knots = self.scale(inside), self.scale(knots)
            np.clip(inside, knots[0], knots[-1], out=inside)
        # Of one knot there is a gap as well, of no share.
        left = np.searchsorted(knots[1:-1], inside, "right")
        gaps = np.diff(knots, append=knots[-1:])
        gaps[~(gaps > 0)] = np.inf
        inside -= knots.take(left)
        inside /= gaps.take(left)
        share = inside.astype(dtype)
        # Beside a weight that is rounded to 1 another would make the row longer than that.
        np.copyto(share, 0, where=~(1 - share < 1))
        rest = 1 - share
        rest[missing] = 0
        # One knot has no other beside it.
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
        # One index is much faster than two.
        own.reshape(-1)[places + np.arange(0, own.size, self.width)] = weights
        out[...] = own

    def names(self, column: str) -> list[str]:
        """Return a name for every feature."""
        short = [f"{knot:.6g}" for knot in self.knots]
        shown = short if len(set(short)) == len(short) else map(repr, self.knots.tolist())
        return [f"{column}[{knot}]" for knot in [*shown, *["missing"] * self.has_indicator]]


@dataclass(frozen=True, eq=False)
class Indicators:
    """Positions of categories as indicators, the last one of any other.

    Parameters
    ----------
    categories : list
    kept : ndarray of int or None
        The positions of these categories in rows to fit on, increasing and sensitive; None: in
        their order here.
    others : ndarray of int or None
        Where the category at every position in rows to fit on is here that is not kept, sensitive;
        None: any other.
    named : int
        If not 0, the number of categories at the front that are no buckets of several; products
        tell no others apart.
    """

    categories: list
    kept: IntArray | None = None
    others: IntArray | None = None
    named: int = 0

    @property
    def width(self) -> int:
        """int : number of features."""
        return len(self.categories) + 1

    @property
    def narrow(self) -> int:
        """int : number of features in products."""
        return self.named + 1 if self.named else self.width

    @property
    def n_entries(self) -> int:
        """int : number of features that a position may have a weight in."""
        return 1

    def entries(self, positions: FloatArray, dtype: Any) -> tuple[IntArray, FloatArray]:
        """Return the place of this feature of a column, and the weight 1, (1, n)."""
        places = positions.astype(np.intp)
        if self.kept is not None:
            nearest = np.searchsorted(self.kept, places)
            known = np.append(self.kept, -2)[nearest] == places
            rest = -1 if self.others is None else np.append(self.others, -1)[places]
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
    """A map of rows of a table, each by itself: neighboring tables stay neighbors.

    Parameters
    ----------
    parts : tuple of LinearSplineBasis or Indicators
        Of the columns.
    pairs : tuple of (int, int)
        Columns whose features are multiplied, each of one with each of the other; that makes
        blocks of norm at most 1, after those of the columns.
    log_odds: float
        Released ones of the second of two classes; 0 where none were.
    """

    parts: tuple
    pairs: tuple = ()
    log_odds: float = 0.0
    dtype: ClassVar[type] = np.float32

    def for_next_rows(self) -> TableCode:
        """Return the map of rows in which positions are those among the categories themselves."""
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
        """list of int : number of features of every column in products."""
        return [part.narrow for part in self.parts]

    @property
    def slices(self) -> list[slice]:
        """list of slice : where the features of every column and every pair are."""
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

        `known` are those of the columns, where they were made before there were pairs.
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
        """Return the same, a CSR matrix where most features are 0; some entries may be, too.

        `known` may be either.
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
        for rows in row_blocks(len(X), count):
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
        """Yield slices of rows whose features are some megabytes: calls cost more than a cache."""
        return row_blocks(n_rows, max(1, self.width // _MORE_ROWS))

    def _multiply(self, out: FloatArray) -> None:
        """Write the products of pairs beside the features of columns."""
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
    """Return places and weights of the products of those of two columns of some widths."""
    (first, weights, width), (second, factors, narrow) = one, other
    places = np.minimum(first, width - 1)[:, None] * narrow + np.minimum(second, narrow - 1)
    shape = len(first) * len(second), first.shape[1]
    return places.reshape(shape), (weights[:, None] * factors).reshape(shape)


def _narrowed(features: Any, width: Any) -> Any:
    """Return so many features, the last of them the sum of all that follow, which is an indicator.
    """
    if features.shape[1] == width:
        return features
    return np.column_stack([features[:, :width - 1], features[:, width - 1:].sum(axis=1)])
