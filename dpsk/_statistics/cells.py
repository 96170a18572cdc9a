r"""Knots, and quantiles of numbers of any size, chosen under noise from decimals in cells.

Scores and price are those of `quantiles`.

Medians of slices between points that were chosen before, half the count of a slice being its
target, are one choice for all slices together. A row that is replaced within a slice moves its
scores by at most 1. One that moves to another slice changes both counts and both targets: every
score of the two slices moves by at most 1/2 up or down, so that each choice has a loss in an
interval of half that length. Two of these cost no more than one whole, as pure epsilon or as
Gaussian: ``h(2 y) >= sqrt(2) h(y)`` for the `h` of `closed_forms`, y > 0. The points chosen before
belong to no slice. So many rows that stand on one number take one point, and slices beside it have
the others.

A cell is chosen by what all of its points weigh together, ``log sum w exp(u / s)``, then a group
of its points in the same way, and then one of these: by independent Gumbel noise all, so that a
point has the chance that it would have of one choice from all of them. Their scores end at ``-r``,
r some scales of the noise: ``max(-r, u)`` moves by no more than u, and never the other way.

Of rows in groups each may have its share of its group as weight. Ranks are then sums of weights,
and those of a group sum to w <= 1. A group adds b to the weight below a point and w to all of it,
so that ``b - q w`` is in [-q, 1 - q]: replacing it moves a score by at most 1, as a row does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._statistics.decimals import decimal_points, even_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._statistics.decimals import Points
    from dpsk._typing import FloatArray, IntArray

__all__ = ["noisy_decimal", "noisy_knots", "rank_noise"]

#: Rows whose numbers are taken at once, and how many whole numbers are points at most.
_PART, _MOST_WHOLE = 1 << 16, 1 << 14
#: What the noise of choices from points in cells grows by, and how much more with a unit of it:
#: weights are added to scores in its unit, so that what is rounded off grows with it.
_MARGIN, _MORE_MARGIN = 1.0 + 2.0**-20, 2.0**-43
#: How much more a score may rise than another, as each moves by at most 1.
_MOVED = 2.0
#: A point that is further from its rank counts as one at this distance, in scales of the noise:
#: it has 1e-43 of the chance of one at its rank, and rows between them are not looked at.
_FAR = 100.0


def noisy_knots(rows: RowSource, numbers: Callable[..., FloatArray], levels: int,
                bounds: tuple[float, float] | None, event: Elementary,
                session: Session) -> list[FloatArray]:
    """Return increasing points: a median, medians of what it parts, and so on.

    Parameters
    ----------
    rows, numbers
        As for `noisy_quantile`; NaN counts nowhere.
    levels : int
        So many choices are made, at least one, of at most ``2**levels - 1`` points together.
    bounds : (float, float) or None
        Public; points are strictly between them.
    event : Event
        What the choices of one level cost.
    session : Session

    Returns
    -------
    points : list of ndarray of float64
        Those of every level.
    """
    choices = _Choices(rows, numbers, event, session)
    parted = [-1, len(choices.points)] if bounds is None else choices.outside(*bounds)
    points = []
    for _ in range(levels):
        # A level is asked for even where no point is left: what is asked for is public.
        chosen = choices.quantiles([(left + 1, right - 1) for left, right in
                                    pairwise(parted) if right - left > 1])
        points.append(np.array([choices.points.point(place) for place in chosen]))
        parted = sorted([*parted, *chosen])
    return points


def noisy_decimal(rows: RowSource, numbers: Callable[..., FloatArray], q: float,
                  event: Elementary, session: Session, upward: bool = True,
                  bounds: tuple[float, float] | None = None, weighted: bool = False,
                  whole: bool = False) -> float:
    """Return a decimal of nine digits near the quantile of numbers of any size, a float.

    Parameters and price are those of `noisy_quantile`. With public `bounds` numbers beyond count
    as these, and so do points. Of rows in groups one stands for each, or with `weighted` all count
    by their shares. Where all are `whole`, and bounds are near, points are whole numbers.
    """
    if not upward:
        return -noisy_decimal(rows, lambda *part: -numbers(*part), 1.0 - q, event, session,
                              bounds=None if bounds is None else (-bounds[1], -bounds[0]),
                              weighted=weighted, whole=whole)
    if bounds is None:
        choices = _Choices(rows, numbers, event, session, q, weighted)
        (place,) = choices.quantiles([(0, len(choices.points) - 1)])
        return choices.points.point(place)
    choices = _Choices(rows, lambda *part: np.clip(numbers(*part), *bounds), event, session, q,
                       weighted)
    if whole and bounds[1] - bounds[0] < _MOST_WHOLE:
        choices.points = even_points(np.arange(np.floor(bounds[0]), np.ceil(bounds[1]) + 1.0))
    first, last = (int(place) for place in choices.points.places(np.array(bounds)))
    (place,) = choices.quantiles([(first, last)])
    return float(np.clip(choices.points.point(place), *bounds))


class _Choices:
    """Choices from one column, whose places are held from the first to the last.

    Points between two numbers have the same score, so that one stands for all of them in a part,
    by the logarithm of what they weigh.
    """

    def __init__(self, rows: RowSource, numbers: Callable[..., FloatArray], event: Elementary,
                 session: Session, q: float = 0.5, weighted: bool = False) -> None:
        self.points, self._q = decimal_points(), q
        self._rows, self._numbers, self._session = rows, numbers, session
        self._event = event
        # Logarithms of sums are off by a few units in the last place.
        margin = _MARGIN + _MORE_MARGIN * rank_noise(event)
        self._moved = Sensitivity(_MOVED * margin, "gumbel", unit=0.5, rounded=False)
        self._scale = derived_scale(self._event, self._moved.moved, "gumbel")
        self._reach = 1.0 + _FAR * self._scale
        self._places: Any = None
        # What the first rows weigh together, where it is not their number.
        self._ranks: Any = None
        self._weighted = weighted and rows.groups is not None

    def outside(self, low: float, high: float) -> list[int]:
        """Return the places of the last point up to `low` and of the first from `high` on."""
        ends = self.points.places(np.array([low, high]))
        points = list(map(self.points.point, ends))
        return [int(ends[0]) - (points[0] > low), int(ends[1]) + (points[1] < high)]

    def quantiles(self, slices: Sequence[tuple[int, int]]) -> list[int]:
        """Return the point of every slice, ends included, nearest to its quantile, a list of int.
        """
        n_each, parts = self.points.n_each, sum(self.points.parts)
        # A cell is chosen by all of its points, then one of these: together as from all points.
        sizes = [high // n_each - low // n_each + 1 + parts for low, high in slices]

        def scores(batch: Batch) -> FloatArray:
            self._read()
            found: list[FloatArray] = [np.zeros(0)]
            for each in slices:
                found += [self._of_cells(*each), np.zeros(parts)]
            return np.concatenate(found)

        def best(noisy: FloatArray) -> list[int]:
            return [self._best(*each, own) for each, own in
                    zip(slices, np.split(noisy, np.cumsum(sizes, dtype=int))[:-1], strict=True)]

        if not self._scale:
            # Without noise the best point is one of the numbers, and no others need scores.
            return self._session(self._event, partial(self._exact, slices), self._moved,
                                 select=_Only(tuple(slices), [_whole_numbers]))
        return self._session(self._event, scores, self._moved, select=_Only(tuple(slices), [best]))

    def _exact(self, slices: Sequence[tuple[int, int]], batch: Batch) -> FloatArray:
        """Return the first point with the best score of every slice."""
        self._read()
        begins, ends = np.searchsorted(
            self._places, np.array(slices, dtype=int).reshape(-1, 2) + np.array([0, 1])).T
        first, last = self._rank(begins), self._rank(ends)
        ranks = self._up_to(first + self._q * (last - first))
        firsts = np.array([low for low, _ in slices], dtype=float)
        return np.where(ranks > begins, np.append(self._places, -1)[ranks - 1], firsts)

    def _read(self) -> None:
        """Sort the places of all numbers that are not missing."""
        if self._places is None and self._weighted:
            ((places, shares),) = self._rows.each(_shared, self._numbers, self.points)
            order = np.argsort(places, kind="stable")
            self._places = places[order]
            self._ranks = np.append(0.0, np.cumsum(shares[order]))
        elif self._places is None:
            self._places = np.concatenate(self._rows.each(_placed, self._numbers, self.points))
            # What is sorted in parts is quick to merge.
            self._places.sort(kind="stable")

    def _rank(self, index: Any) -> Any:
        """Return what rows before an index weigh."""
        return index if self._ranks is None else self._ranks[index]

    def _up_to(self, rank: Any) -> Any:
        """Return the index before which rows weigh so much, or the first one of more."""
        if self._ranks is not None:
            return np.searchsorted(self._ranks, rank)
        return np.ceil(rank).astype(int)

    def _near(self, low: int, high: int) -> tuple[float, float, slice]:
        """Return the ranks at which a slice begins and ends, and its rows near its quantile."""
        first, last = map(int, np.searchsorted(self._places, [low, high + 1]))
        begin, end = self._rank(first), self._rank(last)
        middle = begin + self._q * (end - begin)
        return begin, end, slice(max(first, int(self._up_to(middle - self._reach)) - 1),
                                 min(last, int(self._up_to(middle + self._reach))))

    def _of_cells(self, low: int, high: int) -> FloatArray:
        """Return the scores of the cells of a slice."""
        width = self.points.n_each
        cells = np.arange(low // width, high // width + 1)
        begin, end, near = self._near(low, high)
        numbers = self._places[near]
        # As many cells at once as have few rows.
        firsts = _distinct(numbers[::_PART] // width)
        # Points below all near numbers have one score, and so have those above.
        left, right = -np.minimum(self._reach, (end - begin) * np.array([self._q, 1.0 - self._q]))
        found = np.where(cells < min(firsts, default=0), left, right)
        if self._scale:
            weights = self.points.weights_of(np.maximum(low, cells * width),
                                             np.minimum(high + 1, (cells + 1) * width))
            found += self._scale * np.log(weights)
        for first, after in pairwise([*firsts, *numbers[-1:] // width + 1]):
            names, own = self._together(max(low, first * width), min(high, after * width - 1),
                                        width, low, high)
            found[names - cells[0]] = own
        if self._scale:
            found += self._scale * np.log(self.points.cell_weights[cells])
        return found

    def _together(self, first: int, last: int, width: int, low: int,
                  high: int) -> tuple[IntArray, FloatArray]:
        """Return the parts of so many points that some places of a slice are in, and their scores.

        Such a score is the best of its points, and the logarithm of what they weigh by theirs.
        """
        begin, end, near = self._near(low, high)
        own = slice(*np.searchsorted(self._places, [first, last + 1]))
        places = _distinct(self._places[max(own.start, near.start):min(own.stop, near.stop)])
        edges = np.arange(first // width + 1, last // width + 1) * width
        # Runs of points with one score: those of a number are alone.
        starts = np.concatenate([[first], edges, places, places + 1])
        starts.sort(kind="stable")
        starts = _distinct(starts)
        starts = starts[starts <= last]
        below = self._rank(np.searchsorted(self._places[own], starts) + own.start) - begin
        # A run holds the numbers at its start, and no others, or it is far from the quantile.
        up_to = np.append(below[1:], self._rank(own.stop) - begin)
        rank = self._q * (end - begin)
        scores = -np.minimum(self._reach, np.maximum(0.0, np.maximum(below - rank, rank - up_to)))
        parts = starts // width
        firsts = np.flatnonzero(np.diff(parts, prepend=-1))
        found = np.maximum.reduceat(scores, firsts)
        if self._scale:
            weights = self.points.weights_of(starts, np.append(starts[1:], last + 1))
            weights *= np.exp((scores - np.repeat(found, np.diff(firsts, append=len(parts))))
                              / self._scale)
            found += self._scale * np.log(np.add.reduceat(weights, firsts))
        return parts[firsts], found

    def _best(self, low: int, high: int, noisy: FloatArray) -> int:
        """Return the place with the largest noisy score: of its cell, and within that."""
        first, last, width, parts = low, high, self.points.n_each, self.points.parts
        cells, noisy = np.split(noisy, [len(noisy) - sum(parts)])
        chosen = low // width + int(np.argmax(cells))
        for size in parts:
            first, last = max(first, chosen * width), min(last, (chosen + 1) * width - 1)
            width //= size
            names, found = self._together(first, last, width, low, high)
            chosen = int(names[np.argmax(found + noisy[names % size])])
            noisy = noisy[size:]
        return chosen


def rank_noise(event: Elementary) -> float:
    """Return the scale of the noise on ranks, of which the chosen number has the best."""
    return derived_scale(event, _MOVED, "gumbel")


def _whole_numbers(places: FloatArray) -> list[int]:
    return [int(place) for place in places]


@dataclass(frozen=True)
class _Only:
    """Result of a choice: the best place of every slice, the same for the same slices."""

    slices: tuple[tuple[int, int], ...]
    #: What calculates it from rows, once.
    best: list[Callable[[FloatArray], list[int]]] = field(compare=False)

    def __call__(self, noisy: FloatArray) -> list[int]:
        return self.best.pop()(noisy)


def _placed(rows: RowSource, numbers: Callable[..., FloatArray], points: Points) -> IntArray:
    """Return the place of every number that is not missing."""
    places = []
    for part in rows.shown(_PART):
        # Sorted numbers are placed several times as quickly; what is missing is behind them.
        own = np.sort(numbers(rows, part))
        places.append(points.places(own[:len(own) - np.count_nonzero(np.isnan(own))]))
    return np.concatenate([np.zeros(0, np.int64), *places])


def _shared(rows: RowSource, numbers: Callable[..., FloatArray],
            points: Points) -> tuple[IntArray, FloatArray]:
    """Return the place of every number that is not missing, and the share of its row."""
    # On this grid every sum of shares is exact.
    unit = 2.0 ** (rows.n_units.bit_length() - 52)
    places, shares = [], []
    for part in rows.blocks(_PART):
        own = numbers(rows, part)
        there = ~np.isnan(own)
        places.append(points.places(own[there]))
        shares.append(np.trunc(1.0 / rows.groups.sizes[part][there] / unit) * unit)
    return np.concatenate(places), np.concatenate(shares)


def _distinct(ordered: IntArray) -> IntArray:
    """Return the distinct ones of increasing numbers."""
    return ordered[np.diff(ordered, prepend=-1) > 0]
