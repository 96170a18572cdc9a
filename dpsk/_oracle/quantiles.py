r"""Quantiles of numbers, chosen under noise from a public grid.

With k the rank ``round(q m)`` among the m numbers that are not missing a point z of the grid has
the score

    u(z) = -max(0, #{x < z} - k, k - #{x <= z}),

0 at the k-th smallest number and everywhere up to the next, and less by 1 with every number that
lies between. Replacing a number moves each of the two counts by at most 1, hence each score by
at most 1; one that comes or goes moves counts and rank the same way, by at most 1 each, and so
no difference of them by more. The largest of the scores with Gumbel noise of scale ``z / 2``, z
the noise multiplier, is the exponential mechanism with exponent ``2 / z``: its loss lies in an
interval of length ``4 / z``, as that of a vertex chosen with scores that move by 2 clip norms.
Only the point leaves.

Medians of slices between points that were chosen before, half the count of a slice being its
target, are one choice for all slices together. A row that is replaced within a slice moves its
scores as above. One that moves to another slice changes both counts and both targets: every score
of the two slices moves by at most 1/2 up or down, so that each choice has a loss in an interval
of half that length. Two of these cost no more than one whole, as pure epsilon or as Gaussian:
``h(2 y) >= sqrt(2) h(y)`` for the `h` of `closed_forms`, y > 0. The points chosen before belong to
no slice. So many rows that stand on one number take one point, and slices beside it have the
others.

The octaves in which most numbers lie are chosen in the same way: with c of them a number adds 1 to
the score of a point z if it lies above ``z / 2^c`` and up to z, half or less if it is up to four
octaves off, and else nothing. Replacing a number moves every score by at most 1. Windows far from
the numbers are empty, where a point far from their median is wrong by half of them, so that fewer
rows are enough. Numbers of many sizes fill no window, and count by what is near.

Numbers are brought to the grid first, each by itself, so that one on which many of them stand is
a point like any other. Every point gets its noise: how much is drawn tells nothing of the rows.

Knots, and quantiles of numbers of any size, are points of `decimals`, many and in cells. A cell is
chosen by what all of its points weigh together, ``log sum w exp(2 u / z)``, then a group of its
points in the same way, and then one of these: by independent Gumbel noise all, so that a point
has the chance that it would have of one choice from all of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpsk._oracle.decimals import decimal_points
from dpsk._oracle.release import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._oracle.decimals import Points
    from dpsk._oracle.release import Inside, Releases
    from dpsk._typing import FloatArray, IntArray

__all__ = ["N_OCTAVES", "bounded_grid", "distance_grid", "noisy_decimal", "noisy_knots",
           "noisy_octaves", "noisy_quantile", "positive_grid", "real_grid"]

#: Rows whose numbers are taken at once.
_PART = 1 << 16
#: What the noise of choices from points in cells grows by.
_MARGIN = 1.0 + 2.0**-20
#: Least and largest point of the positive grid, as powers of two, and points to an octave.
_LEAST, _MOST, _OCTAVE = -32, 40, 64
#: Ends of octaves that are chosen from, to an octave, and how many these are.
_ENDS = 4
N_OCTAVES = _ENDS * (_MOST - _LEAST) + 1
#: So many ends from its octaves a number adds nothing to a score.
_NEAR = 16
#: Unit and end of the grid of both signs, and its points of one sign.
_UNIT, _END, _SIDE = 1e-3, 1e12, 1 << 13
#: Even steps of a grid between bounds.
_STEPS = 1 << 12


def positive_grid() -> FloatArray:
    """Return public points from 2^-32 to 2^40, each about 1.1 % above the one before."""
    return 2.0 ** (np.arange(_LEAST * _OCTAVE, _MOST * _OCTAVE + 1) / _OCTAVE)


def distance_grid() -> FloatArray:
    """Return the positive grid, 0 and the negative one: distances on either side of a point."""
    side = positive_grid()
    return np.concatenate([-side[::-1], [0.0], side])


def real_grid() -> FloatArray:
    """Return public points in [-1e12, 1e12], 0 among them, evenly spaced in ``asinh(1000 z)``.

    Beside 0 they are 4e-6 apart, far from it 0.4 %.
    """
    side = _UNIT * np.sinh(np.arange(1, _SIDE + 1) * (np.arcsinh(_END / _UNIT) / _SIDE))
    return np.concatenate([-side[::-1], [0.0], side])


def bounded_grid(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return public points from `low` to `high`: even ones, and those of the real grid."""
    points = real_grid()
    inside = points[(low < points) & (points < high)]
    even = np.linspace(low, high, _STEPS + 1)
    # Rounded ends of even points would not be the bounds.
    return np.unique(np.concatenate([[low, high], inside, even[1:-1].clip(low, high)]))


def noisy_quantile(rows: RowSource, numbers: Callable[..., FloatArray], q: float, grid: FloatArray,
                   declared: Any, noise_multiplier: float, releases: Releases,
                   upward: bool = True) -> float:
    """Return a point of a public grid near the quantile of numbers, a float.

    Parameters
    ----------
    rows : RowSource
    numbers : callable, (RowSource, slice) -> ndarray
        The number of every row of a part, sensitive, NaN where it is missing; asked for once,
        inside of the release.
    q : float
        In [0, 1].
    grid : ndarray
        Increasing.
    declared : Selections
    noise_multiplier : float
        Twice the scale of the Gumbel noise on a score.
    releases : Releases
    upward : bool
        Whether numbers between two points count as the one above, else as the one below. Beyond
        the ends they count as those.
    """
    def scores(inside: Inside) -> FloatArray:
        counts = rows.added(_counts, numbers, grid, upward)
        up_to = np.cumsum(counts)
        rank = round(q * int(up_to[-1]))
        return -np.maximum(0, np.maximum(up_to - counts - rank, rank - up_to)).astype(np.float64)

    return _best_point(scores, grid, declared, noise_multiplier, releases)


def noisy_octaves(rows: RowSource, numbers: Callable[..., FloatArray], width: int,
                  missing: tuple[int, float], declared: Any, noise_multiplier: float,
                  releases: Releases) -> float:
    """Return the upper end of so many octaves in which many of some positive numbers lie, a float.

    Ends are points of the positive grid, four to an octave. Other parameters are those of
    `noisy_quantile`.

    Parameters
    ----------
    missing : (int, float)
        The end that has what is missing, -1 or 0, and for how much of a number that counts, at
        most 1: where hardly any number is there, the one that does less harm.
    """
    ends = positive_grid()[::_OCTAVE // _ENDS]
    place, share = missing

    def scores(inside: Inside) -> FloatArray:
        counts = rows.added(_counts, numbers, ends, True)
        found = _nearness(width * _ENDS) @ counts
        found[place] += share * (len(rows) - counts.sum())
        return found

    return _best_point(scores, ends, declared, noise_multiplier, releases)


def _best_point(scores: Callable[[Inside], FloatArray], grid: FloatArray, declared: Any,
                noise_multiplier: float, releases: Releases) -> float:
    """Return the point of a grid with the largest noisy score, each of which moves by at most 1.
    """
    # Scores have few bits, so nothing is rounded.
    part = Part(noise_multiplier, 0.5, "gumbel", unit=1.0, rounded=False)
    chosen = releases(declared.release(noise_multiplier), scores, part, only=np.argmax)
    return float(grid[chosen])


def _nearness(width: int) -> FloatArray:
    """Return what a number at each end, a column, adds to the score of each end, a row."""
    above = np.subtract.outer(np.arange(N_OCTAVES), np.arange(N_OCTAVES))
    off = np.maximum(-above, above - (width - 1))
    return np.where(off <= 0, 1.0, 0.5 * np.maximum(0.0, 1.0 - off / _NEAR))


def noisy_knots(rows: RowSource, numbers: Callable[..., FloatArray], levels: int,
                bounds: tuple[float, float] | None, declared: Any, noise_multiplier: float,
                releases: Releases) -> list[FloatArray]:
    """Return increasing points: a median, medians of what it parts, and so on.

    Parameters
    ----------
    rows, numbers
        As for `noisy_quantile`; NaN counts nowhere.
    levels : int
        So many choices are made, at least one, of at most ``2**levels - 1`` points together.
    bounds : (float, float) or None
        Public; points are strictly between them.
    declared : Selections, or WithoutNoise
    noise_multiplier : float
        As for `noisy_quantile`; 0 without noise.
    releases : Releases

    Returns
    -------
    points : list of ndarray of float64
        Those of every level.
    """
    choices = _Choices(rows, numbers, declared, noise_multiplier, releases)
    parted = [-1, len(choices.points)] if bounds is None else choices.outside(*bounds)
    points = []
    for _ in range(levels):
        # A level is asked for even where no point is left: what is asked for is public.
        chosen = choices.quantiles([(left + 1, right - 1) for left, right in
                                    pairwise(parted) if right - left > 1])
        points.append(np.array([choices.points.point(place) for place in chosen]))
        parted = sorted([*parted, *chosen])
    return points


def noisy_decimal(rows: RowSource, numbers: Callable[..., FloatArray], q: float, declared: Any,
                  noise_multiplier: float, releases: Releases, upward: bool = True) -> float:
    """Return a decimal of nine digits near the quantile of numbers of any size, a float.

    Parameters and price are those of `noisy_quantile`.
    """
    if not upward:
        return -noisy_decimal(rows, lambda *part: -numbers(*part), 1.0 - q, declared,
                              noise_multiplier, releases)
    choices = _Choices(rows, numbers, declared, noise_multiplier, releases, q)
    (place,) = choices.quantiles([(0, len(choices.points) - 1)])
    return choices.points.point(place)


class _Choices:
    """Choices from one column, whose counts are held from the first to the last.

    Points between two numbers have the same score, so that one stands for all of them in a cell,
    by the logarithm of what they weigh.
    """

    def __init__(self, rows: RowSource, numbers: Callable[..., FloatArray], declared: Any,
                 noise_multiplier: float, releases: Releases, q: float = 0.5) -> None:
        self.points, self._q = decimal_points(), q
        self._rows, self._numbers, self._releases = rows, numbers, releases
        self._event = declared.release(noise_multiplier)
        # Logarithms of sums are off by a few units in the last place.
        self._part = Part(noise_multiplier * _MARGIN, 0.5, "gumbel", unit=0.5, rounded=False)
        self._scale = 0.5 * noise_multiplier * _MARGIN
        self._starts: Any = None

    def outside(self, low: float, high: float) -> list[int]:
        """Return the places of the last point up to `low` and of the first from `high` on."""
        ends = self.points.places(np.array([low, high]))
        points = list(map(self.points.point, ends))
        return [int(ends[0]) - (points[0] > low), int(ends[1]) + (points[1] < high)]

    def quantiles(self, slices: Sequence[tuple[int, int]]) -> list[int]:
        """Return the point of every slice, ends included, nearest to its quantile, a list of int.
        """
        n_each, parts = self.points.n_each, sum(self.points.parts)
        cells = [(low // n_each, high // n_each) for low, high in slices]
        # A cell is chosen by all of its points, then one of these: together as from all points.
        sizes = [last - first + 1 + parts for first, last in cells]
        starts = np.cumsum([0, *sizes])
        found: list[tuple[IntArray, IntArray, FloatArray]] = []

        def scores(inside: Inside) -> FloatArray:
            self._read()
            found.extend(self._in_slice(*each) for each in slices)
            return np.concatenate([np.zeros(0), *(self._of_cells(*each, size) for each, size in
                                                  zip(found, sizes, strict=True))])

        def best(noisy: FloatArray) -> list[int]:
            return [self._best(*each, noisy[start:end]) for each, start, end in
                    zip(found, starts[:-1], starts[1:], strict=True)]

        return self._releases(self._event, scores, self._part, only=best)

    def _read(self) -> None:
        """Part the places into runs of one score, those of a number by themselves."""
        if self._starts is not None:
            return
        every = np.sort(np.concatenate(self._rows.each(_placed, self._numbers, self.points)),
                        kind="stable")
        places = _distinct(every)
        cells = np.arange(len(self.points.first)) * self.points.n_each
        # What is sorted in parts is quick to merge.
        starts = _distinct(np.sort(np.concatenate([cells, places, places + 1]), kind="stable"))
        self._starts = starts[starts < len(self.points)]
        self._below = np.searchsorted(every, self._starts)
        # A run holds the numbers at its start, and no others.
        self._up_to = np.append(self._below[1:], len(every))

    def _in_slice(self, low: int, high: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the runs of a slice: their starts and ends, and their scores."""
        run = slice(np.searchsorted(self._starts, low, "right") - 1,
                    np.searchsorted(self._starts, high, "right"))
        starts = self._starts[run].copy()
        # A run that begins before is one between numbers.
        starts[0] = low
        ends = np.append(starts[1:], high + 1)
        outside = self._below[run.start]
        below, up_to = self._below[run] - outside, self._up_to[run] - outside
        rank = self._q * up_to[-1]
        return starts, ends, -np.maximum(0.0, np.maximum(below - rank, rank - up_to))

    def _of_cells(self, starts: IntArray, ends: IntArray, scores: FloatArray,
                  size: int) -> FloatArray:
        """Return the scores of the cells of a slice, and zeros for what a cell is parted into."""
        cells, found = self._together(starts, ends, scores, self.points.n_each)
        answer = np.zeros(size)
        answer[:len(cells)] = found
        if self._scale:
            answer[:len(cells)] += self._scale * np.log(self.points.cell_weights[cells])
        return answer

    def _together(self, starts: IntArray, ends: IntArray, scores: FloatArray,
                  width: int) -> tuple[IntArray, FloatArray]:
        """Return the parts of so many points that runs are of, and the score of each.

        That is the best of its points, and the logarithm of what they weigh together by theirs.
        """
        parts = starts // width
        firsts = np.flatnonzero(np.diff(parts, prepend=-1))
        found = np.maximum.reduceat(scores, firsts)
        if self._scale:
            up_to, steps = self.points.up_to, starts % self.points.n_each
            weights = up_to[steps + ends - starts] - up_to[steps]
            more = np.exp((scores - np.repeat(found, np.diff(firsts, append=len(parts))))
                          / self._scale)
            found = found + self._scale * np.log(np.add.reduceat(weights * more, firsts))
        return parts[firsts], found

    def _best(self, starts: IntArray, ends: IntArray, scores: FloatArray,
              noisy: FloatArray) -> int:
        """Return the place with the largest noisy score: of its cell, and within that."""
        parts = self.points.parts
        width, cells = self.points.n_each, noisy[:len(noisy) - sum(parts)]
        chosen, noisy = int(starts[0]) // width + int(np.argmax(cells)), noisy[len(cells):]
        for size in parts:
            own = starts // width == chosen
            width //= size
            runs = _cut(starts[own], ends[own], scores[own], width)
            names, found = self._together(*runs, width)
            chosen = int(names[np.argmax(found + noisy[names % size])])
            starts, ends, scores = runs
            noisy = noisy[size:]
        return chosen


def _cut(starts: IntArray, ends: IntArray, scores: FloatArray,
         width: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return runs that end where a part of so many points does."""
    edges = np.arange(starts[0] // width + 1, -(-ends[-1] // width)) * width
    cut = _distinct(np.sort(np.concatenate([starts, edges]), kind="stable"))
    return cut, np.append(cut[1:], ends[-1]), scores[np.searchsorted(starts, cut, "right") - 1]


def _placed(rows: RowSource, numbers: Callable[..., FloatArray], points: Points) -> IntArray:
    """Return the place of every number that is not missing."""
    places = []
    for part in rows.blocks(_PART):
        # Sorted numbers are placed several times as quickly; what is missing is behind them.
        own = np.sort(numbers(rows, part))
        places.append(points.places(own[:len(own) - np.count_nonzero(np.isnan(own))]))
    return np.concatenate([np.zeros(0, np.int64), *places])


def _distinct(ordered: IntArray) -> IntArray:
    """Return the distinct ones of increasing numbers."""
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _counts(rows: RowSource, numbers: Callable[..., FloatArray], grid: FloatArray,
            upward: bool) -> IntArray:
    """Return how many numbers each point of the grid stands for."""
    up_to = np.zeros(len(grid), np.int64)
    for part in rows.blocks(_PART):
        # What is missing counts nowhere, and is behind all others when sorted.
        own = np.sort(numbers(rows, part))
        own = own[:len(own) - np.count_nonzero(np.isnan(own))]
        # Points are found among numbers, of which there are more.
        up_to[:-1] += (np.searchsorted(own, grid[:-1], "right") if upward
                       else np.searchsorted(own, grid[1:], "left"))
        up_to[-1] += len(own)
    return np.diff(up_to, prepend=0)
