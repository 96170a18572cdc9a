r"""Private quantiles of numbers of any magnitude, and knots, selected in cells.

Scores and privacy cost are those of `quantiles`.

**Medians of several slices.** Slices lie between points that were selected before, and the target
of a slice is half its count. One query selects the medians of all slices. A row that is replaced
within a slice moves the slice's scores by at most 1. A row that moves to another slice changes
both counts and both targets: every score of the two slices moves by at most 1/2 up or down, so
each of the two selections has a privacy loss in an interval of half the length. Two of these cost
no more than a whole one, in pure epsilon and in Gaussian mu: ``h(2 y) >= sqrt(2) h(y)`` for the
`h` of `closed_forms`, y > 0. Points selected before belong to no slice, so a number that many
rows share takes one point, and the slices next to it select other points.

**Cells.** A cell is selected by the total weight of its points, ``log sum w exp(u / s)``; then a
group of its points in the same way, and then one point of the group. All use independent Gumbel
noise, so every point has the same probability as in one selection from all points. Scores are
clipped below at ``-r``, where r is a multiple of the noise scale: ``max(-r, u)`` moves by no more
than u, and in the same direction.

**Groups.** Rows may be weighted by their shares of their group. Ranks are then sums of weights,
and the weights of a group sum to w <= 1. A group adds b to the weight below a point and w to the
total, so ``b - q w`` is in [-q, 1 - q]. Replacing a group or a row moves a score by at most 1.
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

#: Rows whose numbers are read at once; the largest number of integers that serve as points.
_PART, _MOST_WHOLE = 1 << 16, 1 << 14
#: Factor on the sensitivity of selections from cells, and its increase per unit of noise scale.
#: Log-weights are multiplied by the noise scale, so their rounding errors grow with it.
_MARGIN, _MORE_MARGIN = 1.0 + 2.0**-20, 2.0**-43
#: The largest increase of one score relative to another, as each moves by at most 1.
_MOVED = 2.0
#: Clips the distance of a point from its rank, in scales of the noise. A clipped point has 1e-43
#: of the probability of a point at its rank, and the rows between them need not be read.
_FAR = 100.0


def noisy_knots(rows: RowSource, numbers: Callable[..., FloatArray], levels: int,
                bounds: tuple[float, float] | None, event: Elementary,
                session: Session) -> list[FloatArray]:
    """Return private knots: a median, then the medians of both halves, and so on.

    Parameters
    ----------
    rows, numbers
        As for `noisy_quantile`; NaN is ignored.
    levels : int
        The number of queries, at least one, which select at most ``2**levels - 1`` points.
    bounds : (float, float) or None
        Public bounds; points are strictly between them.
    event : Event
        Privacy cost of the selections of one level.
    session : Session

    Returns
    -------
    points : list of ndarray of float64
        The selected points of every level, each increasing.
    """
    choices = _Choices(rows, numbers, event, session)
    parted = [-1, len(choices.points)] if bounds is None else choices.outside(*bounds)
    points = []
    for _ in range(levels):
        # Query every level even if no point remains: the number of queries is public.
        chosen = choices.quantiles([(left + 1, right - 1) for left, right in
                                    pairwise(parted) if right - left > 1])
        points.append(np.array([choices.points.point(place) for place in chosen]))
        parted = sorted([*parted, *chosen])
    return points


def noisy_decimal(rows: RowSource, numbers: Callable[..., FloatArray], q: float,
                  event: Elementary, session: Session, upward: bool = True,
                  bounds: tuple[float, float] | None = None, weighted: bool = False,
                  whole: bool = False) -> float:
    """Return a decimal of nine digits near a quantile of numbers of any magnitude.

    Parameters and privacy cost are those of `noisy_quantile`. Numbers and points are clipped to
    public `bounds`, if given. Groups are represented by one row each or, if `weighted`, by all
    rows with their shares. If numbers are `whole` and bounds are close, points are integers.
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
    """Selections from one column; keeps its sorted places (indices of points).

    Points between two numbers have the same score. In each cell or group, one score represents
    all of them, increased by the logarithm of their total weight.
    """

    def __init__(self, rows: RowSource, numbers: Callable[..., FloatArray], event: Elementary,
                 session: Session, q: float = 0.5, weighted: bool = False) -> None:
        self.points, self._q = decimal_points(), q
        self._rows, self._numbers, self._session = rows, numbers, session
        self._event = event
        # Slack for rounding errors of a few units in the last place in logarithms of sums.
        margin = _MARGIN + _MORE_MARGIN * rank_noise(event)
        self._moved = Sensitivity(_MOVED * margin, "gumbel", unit=0.5, rounded=False)
        self._scale = derived_scale(self._event, self._moved.moved, "gumbel")
        self._reach = 1.0 + _FAR * self._scale
        self._places: Any = None
        # Cumulative weights of the sorted rows; None if every row has weight 1.
        self._ranks: Any = None
        self._weighted = weighted and rows.groups is not None

    def outside(self, low: float, high: float) -> list[int]:
        """Return the places of the last point <= `low` and of the first point >= `high`."""
        ends = self.points.places(np.array([low, high]))
        points = list(map(self.points.point, ends))
        return [int(ends[0]) - (points[0] > low), int(ends[1]) + (points[1] < high)]

    def quantiles(self, slices: Sequence[tuple[int, int]]) -> list[int]:
        """Return a place near the quantile of every slice; slices include both ends.
        """
        n_each, parts = self.points.n_each, sum(self.points.parts)
        # A slice has the scores of its cells, then zeros whose noise selects within a cell.
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
            # Without noise, the best point is the place of a number, so no scores are needed.
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
            self._places.sort()

    def _rank(self, index: Any) -> Any:
        """Return the total weight of the rows before an index."""
        return index if self._ranks is None else self._ranks[index]

    def _up_to(self, rank: Any) -> Any:
        """Return the least index before which rows have a total weight of at least `rank`."""
        if self._ranks is not None:
            return np.searchsorted(self._ranks, rank)
        return np.ceil(rank).astype(int)

    def _near(self, low: int, high: int) -> tuple[float, float, slice]:
        """Return the first and last rank of a slice, and the rows near its quantile."""
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
        # Score cells in batches of about _PART rows.
        firsts = _distinct(numbers[::_PART] // width)
        # All points below the near numbers have one score; all points above have another.
        left, right = -np.minimum(self._reach, (end - begin) * np.array([self._q, 1.0 - self._q]))
        found = np.where(cells < min(firsts, default=0), left, right)
        found += self._scale * np.log(self.points.weights_of(
            np.maximum(low, cells * width), np.minimum(high + 1, (cells + 1) * width)))
        for first, after in pairwise([*firsts, *numbers[-1:] // width + 1]):
            names, own = self._together(max(low, first * width), min(high, after * width - 1),
                                        width, low, high)
            found[names - cells[0]] = own
        return found + self._scale * np.log(self.points.cell_weights[cells])

    def _together(self, first: int, last: int, width: int, low: int,
                  high: int) -> tuple[IntArray, FloatArray]:
        """Return the parts of `width` points from `first` to `last`, and their scores.

        The score of a part is ``s log sum w exp(u / s)`` over its points.
        """
        begin, end, near = self._near(low, high)
        own, after = map(int, np.searchsorted(self._places, [first, last + 1]))
        start = max(own, near.start)
        numbers = self._places[start:min(after, near.stop)]
        # Each distinct number, after the points without numbers since the one before.
        ends = np.flatnonzero(np.diff(numbers, append=len(self.points)))
        numbers, rank = numbers[ends], self._q * (end - begin)
        # Far from the quantile, scores are clipped, whatever numbers are left out here.
        up_to = self._rank(start + np.append(0, ends + 1)) - begin
        apart = -np.minimum(self._reach, np.abs(up_to - rank))
        scores = -np.minimum(self._reach, np.maximum(0.0, np.maximum(
            up_to[:-1] - rank, rank - up_to[1:])))
        parts = np.arange(first // width, last // width + 1)
        of_number = numbers // width - parts[0]
        last_of = np.searchsorted(of_number, np.arange(len(parts)), "right")
        begins, stops = np.maximum(first, parts * width), np.minimum(last + 1, (parts + 1) * width)
        tails = np.maximum(begins, np.append(begins[:1], numbers + 1)[last_of])
        # No point has a better score than the numbers next to it.
        found, firsts = apart[last_of], np.flatnonzero(np.diff(of_number, prepend=-1))
        if len(numbers):
            found[of_number[firsts]] = np.maximum.reduceat(scores, firsts)
        sums = self.points.weights_of(tails, stops) * np.exp((apart[last_of] - found)
                                                             / self._scale)
        if len(numbers):
            own_weights, up_to = self.points.weights_at(numbers, begins // self.points.n_each,
                                                        of_number)
            gaps = np.diff(up_to, prepend=0) - own_weights
            gaps[firsts] = self.points.weights_of(begins[of_number[firsts]], numbers[firsts])
            best = found[of_number]
            weights = gaps * np.exp((apart[:-1] - best) / self._scale)
            weights += own_weights * np.exp((scores - best) / self._scale)
            sums[of_number[firsts]] += np.add.reduceat(weights, firsts)
        found += self._scale * np.log(sums)
        return parts, found

    def _best(self, low: int, high: int, noisy: FloatArray) -> int:
        """Return the place selected by noisy scores of cells, then of their parts."""
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
    """Return the scale of the noise on ranks in a selection that costs an event."""
    return derived_scale(event, _MOVED, "gumbel")


def _whole_numbers(places: FloatArray) -> list[int]:
    return [int(place) for place in places]


@dataclass(frozen=True)
class _Only:
    """Selects the best place of every slice; compares equal if the slices are equal."""

    slices: tuple[tuple[int, int], ...]
    #: Computes the places from noisy scores; can be called once.
    best: list[Callable[[FloatArray], list[int]]] = field(compare=False)

    def __call__(self, noisy: FloatArray) -> list[int]:
        return self.best.pop()(noisy)


def _placed(rows: RowSource, numbers: Callable[..., FloatArray], points: Points) -> IntArray:
    """Return the place of every number that is not missing."""
    places = []
    for part in rows.shown(_PART):
        # Sorted numbers are located several times faster; NaN is sorted last.
        own = np.sort(numbers(rows, part))
        places.append(points.places(own[:len(own) - np.count_nonzero(np.isnan(own))]))
    return np.concatenate([np.zeros(0, np.int64), *places])


def _shared(rows: RowSource, numbers: Callable[..., FloatArray],
            points: Points) -> tuple[IntArray, FloatArray]:
    """Return the place of every number that is not missing, and the share of its row."""
    # Every sum of shares on this grid is exact.
    unit = 2.0 ** (rows.n_units.bit_length() - 52)
    places, shares = [], []
    for part in rows.blocks(_PART):
        own = numbers(rows, part)
        there = ~np.isnan(own)
        places.append(points.places(own[there]))
        shares.append(np.trunc(1.0 / rows.groups.sizes[part][there] / unit) * unit)
    return np.concatenate(places), np.concatenate(shares)


def _distinct(ordered: IntArray) -> IntArray:
    """Return the distinct values of increasing nonnegative integers."""
    return ordered[np.diff(ordered, prepend=-1) > 0]
