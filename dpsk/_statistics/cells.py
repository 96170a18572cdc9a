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

**Parts of the rows**, such as towns, have a quantile each, and one query selects all of them.
Their points follow one another, part by part. Let a unit, a row or a group, have the weights w_j
in the parts, which sum to at most 1, and the weights w'_j once it is replaced. By the previous
paragraph a score of part j moves by at most

    a_j = max(q w'_j + (1 - q) w_j, (1 - q) w'_j + q w_j) <= 1,

so the privacy loss of its selection lies in an interval of length ``2 a_j / s``, s the noise
scale. The a_j sum to at most ``A = max(q, 1 - q) * 2``. In pure epsilon the lengths add up, to
``2 A / s``. In Gaussian mu the squares add up, to ``sum h(2 a_j / s)^2 <= A h(2 / s)^2``, because
``h(y)^2 / y`` does not decrease: with ``y = 2 L(x)``, ``h(y) = 2 x`` and ``L = log Phi(x) -
log Phi(-x)``, this says ``x L' <= 2 L``. Both sides are 0 at x = 0, and ``L' - x L'' = L' (1 -
x (m(x) - m(-x) - x))``, m(x) = phi(x) / Phi(-x), is positive as ``m(x) < x + 1 / x`` (Gordon
1941). So s is the scale of one selection at ``mu / sqrt(A)``: medians cost no more than one.

**Offsets.** A public number of rows is added to the target of every quantile. All tables have the
same, so differences of scores stay as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._privacy.closed_forms import bounded_range_width
from dpsk._privacy.events import Gaussian
from dpsk._statistics.decimals import decimal_points, has_multiples, multiple_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._statistics.decimals import Points
    from dpsk._typing import BoolArray, FloatArray, IntArray

__all__ = ["noisy_decimal", "noisy_decimals", "noisy_knots", "rank_noise"]

#: Rows whose numbers are read at once.
_PART = 1 << 16
#: Factor on the sensitivity of selections from cells, and its increase per unit of noise scale.
#: Log-weights are multiplied by the noise scale, so their rounding errors grow with it.
_MARGIN, _MORE_MARGIN = 1.0 + 2.0**-20, 2.0**-43
#: The largest increase of one score relative to another, as each moves by at most 1.
_MOVED = 2.0
#: Clips the distance of a point from its rank, in rows and scales of the noise. A clipped point
#: has 1e-43 of the probability of a point at its rank, and rows between them need not be read.
_NEAR, _FAR = 2.0, 100.0


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
        The selected points of every level, each increasing; the median, then points about it.
    """
    choices, points = _Choices(rows, numbers, event, session), []
    parted = choices.outside(bounds)
    for _ in range(levels):
        # Query every level even if no point remains: the number of queries is public.
        chosen = choices.quantiles([(left + 1, right - 1) for left, right in
                                    pairwise(parted) if right - left > 1])
        points.append(np.array([choices.points.point(place) for place in chosen]))
        if len(points) == 1 and chosen:
            # Rows of a slice may not outweigh all points between 0 and a column far from it.
            chosen, parted = choices.moved(*chosen), choices.outside(bounds)
        parted = sorted([*parted, *chosen])
    return points


def noisy_decimal(rows: RowSource, numbers: Callable[..., FloatArray], q: float,
                  event: Elementary, session: Session, upward: bool = True,
                  bounds: tuple[float, float] | None = None, weighted: bool = False) -> float:
    """Return a decimal of nine digits near a quantile of numbers of any magnitude.

    Parameters and privacy cost are those of `noisy_quantile`. Numbers and points are clipped to
    public `bounds`, if given. Groups are represented by one row each or, if `weighted`, by all
    rows with their shares.
    """
    (found,) = noisy_decimals(rows, numbers, q, np.zeros(1), event, session, upward, bounds,
                              weighted=weighted)
    return float(found)


def noisy_decimals(rows: RowSource, numbers: Callable[..., FloatArray], q: float,
                   offsets: FloatArray, event: Elementary, session: Session, upward: bool = True,
                   bounds: tuple[float, float] | None = None, *, weighted: bool = True,
                   step: float = 0.0, parted: bool = False) -> FloatArray:
    """Return a decimal near a quantile for every part of the rows.

    Parameters are those of `noisy_decimal`. The target of a quantile is at `offsets`, an array
    with an entry for each part, from its rank. The targets of rows are their parts, -1 for none,
    if the rows are `parted`; otherwise all rows are in one part. With a `step` and close bounds,
    points are its multiples.
    """
    if not upward:
        return -noisy_decimals(
            rows, lambda *part: -numbers(*part), 1.0 - q, -offsets, event, session,
            bounds=None if bounds is None else (-bounds[1], -bounds[0]), weighted=weighted,
            step=step, parted=parted)
    clipped = numbers if bounds is None else lambda *part: np.clip(numbers(*part), *bounds)
    choices = _Choices(rows, clipped, event, session, q, weighted, offsets, parted)
    if step and bounds is not None and has_multiples(bounds, step):
        choices.points = multiple_points(bounds, step)
    first, last = (0, len(choices.points) - 1) if bounds is None else map(
        int, choices.points.places(np.array(bounds)))
    starts = range(0, len(offsets) * choices.points.span, choices.points.span)
    places = choices.quantiles([(start + first, start + last) for start in starts])
    found = np.array([choices.points.point(place - start)
                      for place, start in zip(places, starts, strict=True)])
    return found if bounds is None else np.clip(found, *bounds)


class _Choices:
    """Selections from one column; keeps its sorted places (indices of points).

    In every part of the rows, places are `points.span` higher than in the part before. Points
    between two numbers have the same score. In each cell or group, one score represents
    all of them, increased by the logarithm of their total weight.
    """

    def __init__(self, rows: RowSource, numbers: Callable[..., FloatArray], event: Elementary,
                 session: Session, q: float = 0.5, weighted: bool = False,
                 offsets: FloatArray | None = None, parted: bool = False) -> None:
        self.points, self._q, self._parted = decimal_points(), q, parted
        self._offsets = np.zeros(1) if offsets is None else offsets
        self._rows, self._numbers, self._session = rows, numbers, session
        self._event = event
        # Slack for rounding errors of a few units in the last place in logarithms of sums.
        margin = _MARGIN + _MORE_MARGIN * rank_noise(event)
        moved = _moved(event, q if parted else None)
        self._moved = Sensitivity(moved * margin, "gumbel", unit=0.5, rounded=False)
        self._scale = derived_scale(self._event, self._moved.moved, "gumbel")
        self._reach = _NEAR + _FAR * self._scale
        self._places: Any = None
        # Cumulative weights of the sorted rows; None if every row has weight 1.
        self._ranks: Any = None
        self._weighted = weighted and rows.groups is not None

    def outside(self, bounds: tuple[float, float] | None) -> list[int]:
        """Return the places of the last point <= low and of the first point >= high."""
        if bounds is None:
            return [-1, len(self.points)]
        (low, high), (left, right) = bounds, map(int, self.points.after(np.array(bounds)))
        return [left - (self.points.point(left) > low), right + (self.points.point(right) < high)]

    def moved(self, middle: int) -> list[int]:
        """Move the points from 0 to near the one at a released place; return its new place."""
        given, self.points = self.points, self.points.about(middle)
        self._places = self._places if given is self.points else None
        return [int(self.points.places(np.array([given.point(middle)]))[0])]

    def quantiles(self, slices: Sequence[tuple[int, int]]) -> list[int]:
        """Return a place near the quantile of every slice; slices include both ends."""
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
                                 select=_Only(tuple(slices), [lambda found: [*map(int, found)]]))
        return self._session(self._event, scores, self._moved, select=_Only(tuple(slices), [best]))

    def _exact(self, slices: Sequence[tuple[int, int]], batch: Batch) -> FloatArray:
        """Return the first point with the best score of every slice."""
        self._read()
        begins, ends = np.searchsorted(
            self._places, np.array(slices, dtype=int).reshape(-1, 2) + np.array([0, 1])).T
        firsts = np.array([low for low, _ in slices], dtype=int)
        target = self._target(firsts, self._rank(begins), self._rank(ends))
        ranks = np.minimum(self._up_to(target), ends)
        found = np.where(ranks > begins, np.append(self._places, -1)[ranks - 1], firsts)
        return found.astype(float)

    def _target(self, low: Any, begin: Any, end: Any) -> Any:
        """Return the target of the slice from `low` on, whose rows have these ranks."""
        return begin + self._q * (end - begin) + self._offsets[low // self.points.span]

    def _read(self) -> None:
        """Sort the places of all numbers that are not missing."""
        given = self._numbers, self.points, self._parted
        if self._places is None and self._weighted:
            ((places, shares),) = self._rows.each(_shared, *given)
            order = np.argsort(places, kind="stable")
            self._places = places[order]
            self._ranks = np.append(0.0, np.cumsum(shares[order]))
        elif self._places is None:
            self._places = np.sort(np.concatenate(self._rows.each(_placed, *given)))

    def _rank(self, index: Any) -> Any:
        """Return the total weight of the rows before an index."""
        return index if self._ranks is None else self._ranks[index]

    def _up_to(self, rank: Any) -> Any:
        """Return the least index before which rows have a total weight of at least `rank`."""
        if self._ranks is not None:
            return np.searchsorted(self._ranks, rank)
        return np.ceil(rank).astype(int)

    def _near(self, low: int, high: int) -> tuple[float, float, float, slice]:
        """Return the first, the target and the last rank of a slice, and the rows near it."""
        first, last = map(int, np.searchsorted(self._places, [low, high + 1]))
        begin, end = self._rank(first), self._rank(last)
        target = self._target(low, begin, end)
        start, stop = int(self._up_to(target - self._reach)) - 1, self._up_to(target + self._reach)
        return begin, target, end, slice(max(first, start), max(first, min(last, int(stop))))

    def _of_cells(self, low: int, high: int) -> FloatArray:
        """Return the scores of the cells of a slice."""
        width = self.points.n_each
        cells = np.arange(low // width, high // width + 1)
        begin, target, end, near = self._near(low, high)
        numbers = self._places[near]
        # Score cells in batches of about _PART rows.
        firsts = np.unique(numbers[::_PART] // width)
        # All points below the near numbers have one score; all points above have another.
        left, right = -np.minimum(self._reach, np.abs([target - begin, end - target]))
        found = np.where(cells < min(firsts, default=0), left, right)
        edges = np.clip(np.append(cells, cells[-1] + 1) * width, low, high + 1)
        found += self._scale * np.log(np.diff(self.points.weights_before(edges)))
        for first, after in pairwise([*firsts, *numbers[-1:] // width + 1]):
            names, own = self._together(max(low, first * width), min(high, after * width - 1),
                                        width, low, high)
            found[names - cells[0]] = own
        return found + self._scale * np.log(
            self.points.cell_weights[cells % len(self.points.first)])

    def _together(self, first: int, last: int, width: int, low: int,
                  high: int) -> tuple[IntArray, FloatArray]:
        """Return the parts of `width` points from `first` to `last`, and their scores.

        The score of a part is ``s log sum w exp(u / s)`` over its points.
        """
        begin, target, _, near = self._near(low, high)
        own, after = map(int, np.searchsorted(self._places, [first, last + 1]))
        # Beyond the near numbers all scores are clipped, however many numbers are there.
        start = max(own, near.start)
        numbers = self._places[start:max(start, min(after, near.stop))]
        ends = np.flatnonzero(np.diff(numbers, append=-1))
        odd = 2 * numbers[ends] + 1
        parts = np.arange(first // width, last // width + 1)
        edges = np.maximum(first, parts * width)
        # Runs of points with one score, as twice their first point; a point with numbers is a run
        # of its own, and odd.
        runs = np.concatenate([2 * edges, odd, odd + 1])
        runs.sort(kind="stable")
        runs = runs[:np.searchsorted(runs, 2 * last + 2)]
        starts = runs // 2
        own_run = np.diff(starts, append=-1) != 0
        starts, runs = starts[own_run], runs[own_run]
        up_to = self._rank(start + np.append(0, ends + 1)[np.cumsum(runs & 1)]) - begin
        below = np.append(self._rank(start) - begin, up_to[:-1])
        rank = target - begin
        scores = -np.clip(np.maximum(below - rank, rank - up_to), 0.0, self._reach)
        firsts = np.searchsorted(starts, edges)
        found = np.maximum.reduceat(scores, firsts)
        weights = np.diff(self.points.weights_before(np.append(starts, last + 1)))
        weights *= np.exp((scores - np.repeat(found, np.diff(firsts, append=len(starts))))
                          / self._scale)
        found += self._scale * np.log(np.add.reduceat(weights, firsts))
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


def rank_noise(event: Elementary, q: float | None = None) -> float:
    """Return the scale of the noise on ranks in a selection that costs an event.

    `q` is the level of quantiles of parts of the rows, and None for a single selection.
    """
    return derived_scale(event, _moved(event, q), "gumbel")


def _moved(event: Elementary, q: float | None) -> float:
    """Return the increase of one score relative to another that sets the scale of the noise."""
    share = 1.0 if q is None else 2.0 * max(q, 1.0 - q)
    if isinstance(event, Gaussian) and event.mu > 0.0:
        # All selections cost at most sqrt(share) times the mu of one whose score moves by 1.
        return _MOVED * (bounded_range_width(event.mu)
                         / bounded_range_width(event.mu / math.sqrt(share)))
    return _MOVED * share


@dataclass(frozen=True)
class _Only:
    """Selects the best place of every slice; compares equal if the slices are equal."""

    slices: tuple[tuple[int, int], ...]
    #: Computes the places from noisy scores; can be called once.
    best: list[Callable[[FloatArray], list[int]]] = field(compare=False)

    def __call__(self, noisy: FloatArray) -> list[int]:
        return self.best.pop()(noisy)


def _placed(rows: RowSource, numbers: Callable[..., FloatArray], points: Points,
            parted: bool) -> IntArray:
    """Return the place of every number that is not missing."""
    places = []
    for part in rows.shown(_PART):
        own = numbers(rows, part)
        if not parted:
            # Sorted numbers are located several times faster; NaN is sorted last.
            own = np.sort(own)
        places.append(_located(rows, own, points, part, parted)[1])
    return np.concatenate([np.zeros(0, np.int64), *places])


def _shared(rows: RowSource, numbers: Callable[..., FloatArray], points: Points,
            parted: bool) -> tuple[IntArray, FloatArray]:
    """Return the place of every number that is not missing, and the share of its row."""
    # Every sum of shares on this grid is exact.
    unit = 2.0 ** (rows.n_units.bit_length() - 52)
    places, shares = [], []
    for part in rows.blocks(_PART):
        there, own = _located(rows, numbers(rows, part), points, part, parted)
        places.append(own)
        shares.append(np.trunc(1.0 / rows.groups.sizes[part][there] / unit) * unit)
    return np.concatenate(places), np.concatenate(shares)


def _located(rows: RowSource, own: FloatArray, points: Points, part: Any,
             parted: bool) -> tuple[BoolArray, IntArray]:
    """Return which numbers are in a part and not missing, and their places."""
    there = ~np.isnan(own)
    if not parted:
        return there, points.places(own[there])
    codes = rows.take(part).y
    there &= codes >= 0
    return there, points.places(own[there]) + points.span * codes[there].astype(np.int64)
