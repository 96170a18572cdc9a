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

from dataclasses import dataclass, field
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
#: What the noise of choices from points in cells grows by, and how much more with a unit of it:
#: weights are added to scores in its unit, so that what is rounded off grows with it.
_MARGIN, _MORE_MARGIN = 1.0 + 2.0**-20, 2.0**-44
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
    """Choices from one column, whose places are held from the first to the last.

    Points between two numbers have the same score, so that one stands for all of them in a part,
    by the logarithm of what they weigh.
    """

    def __init__(self, rows: RowSource, numbers: Callable[..., FloatArray], declared: Any,
                 noise_multiplier: float, releases: Releases, q: float = 0.5) -> None:
        self.points, self._q = decimal_points(), q
        self._rows, self._numbers, self._releases = rows, numbers, releases
        self._event = declared.release(noise_multiplier)
        # Logarithms of sums are off by a few units in the last place.
        noise_multiplier *= _MARGIN + _MORE_MARGIN * noise_multiplier
        self._part = Part(noise_multiplier, 0.5, "gumbel", unit=0.5, rounded=False)
        self._scale = 0.5 * noise_multiplier
        self._places: Any = None

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

        def scores(inside: Inside) -> FloatArray:
            self._read()
            found: list[FloatArray] = [np.zeros(0)]
            for each in slices:
                found += [self._of_cells(*each), np.zeros(parts)]
            return np.concatenate(found)

        def best(noisy: FloatArray) -> list[int]:
            return [self._best(*each, own) for each, own in
                    zip(slices, np.split(noisy, np.cumsum(sizes, dtype=int))[:-1], strict=True)]

        return self._releases(self._event, scores, self._part, only=_Only(tuple(slices), [best]))

    def _read(self) -> None:
        """Sort the places of all numbers that are not missing."""
        if self._places is None:
            self._places = np.concatenate(self._rows.each(_placed, self._numbers, self.points))
            # What is sorted in parts is quick to merge.
            self._places.sort(kind="stable")

    def _of_cells(self, low: int, high: int) -> FloatArray:
        """Return the scores of the cells of a slice."""
        width = self.points.n_each
        cells = np.arange(low // width, high // width + 1)
        # As many cells at once as have few rows.
        rows = np.searchsorted(self._places, cells * width) // _PART
        firsts = cells[np.flatnonzero(np.diff(rows, prepend=-1))] * width
        ends = [*firsts[1:] - 1, high]
        found = np.concatenate([self._together(max(low, first), last, width, low, high)[1]
                                for first, last in zip(firsts, ends, strict=True)])
        if self._scale:
            found += self._scale * np.log(self.points.cell_weights[cells])
        return found

    def _together(self, first: int, last: int, width: int, low: int,
                  high: int) -> tuple[IntArray, FloatArray]:
        """Return the parts of so many points that some places of a slice are in, and their scores.

        Such a score is the best of its points, and the logarithm of what they weigh by theirs.
        """
        own = slice(*np.searchsorted(self._places, [first, last + 1]))
        outside, end = np.searchsorted(self._places, [low, high + 1])
        places = _distinct(self._places[own])
        edges = np.arange(first // width + 1, last // width + 1) * width
        # Runs of points with one score: those of a number are alone.
        starts = np.concatenate([[first], edges, places, places + 1])
        starts.sort(kind="stable")
        starts = _distinct(starts)
        starts = starts[starts <= last]
        below = np.searchsorted(self._places[own], starts) + (own.start - outside)
        # A run holds the numbers at its start, and no others.
        up_to = np.append(below[1:], own.stop - outside)
        rank = self._q * (end - outside)
        scores = -np.maximum(0.0, np.maximum(below - rank, rank - up_to))
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


@dataclass(frozen=True)
class _Only:
    """What leaves of a choice: the best place of every slice. It is the same for the same slices.
    """

    slices: tuple[tuple[int, int], ...]
    #: What calculates it from rows, once.
    best: list[Callable[[FloatArray], list[int]]] = field(compare=False)

    def __call__(self, noisy: FloatArray) -> list[int]:
        return self.best.pop()(noisy)


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
