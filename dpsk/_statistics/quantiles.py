r"""Private quantiles of numbers, selected from a public grid.

Let k be the rank ``round(q m)`` among the m numbers that are not missing. A point z of the grid
has the score

    u(z) = -max(0, #{x < z} - k, k - #{x <= z}).

It is 0 from the k-th smallest number up to the next one, and decreases by 1 with every number in
between. Replacing a number moves each of the two counts by at most 1, hence each score by at most
1. A number that becomes missing, or is no longer missing, moves counts and rank in the same
direction by at most 1 each, so their differences move by no more. Selecting the largest score
under Gumbel noise of scale ``s`` is the exponential mechanism with exponent ``1 / s``: its
privacy loss lies in an interval of length ``2 / s``. Only the point is released.

Ends of ranges lie at a high or low rank. Many points in a gap between two numbers score alike,
and together may outweigh either number. So u(z) of an end is at most ``h(z) - round(c m)``, with
a constant c and the count h(z) of numbers on points within a distance inward of z. Replacing a
number moves h by at most 1. A number that becomes missing moves h and the rounded term in the
same direction, by at most 1 each. So a score still moves by at most 1.

The octaves that hold most numbers are selected in the same way. For c octaves, a number adds 1 to
the score of a point z if it lies above ``z / 2^c`` and up to z, at most 1/2 if it is up to four
octaves away, and otherwise nothing. Replacing a number moves every score by at most 1. Windows far
from the numbers are empty, whereas a point far from their median still has a score of minus half
of them, so octaves need fewer rows. Numbers of many magnitudes fill no window; partial scores
count those nearby.

With groups, one row per group is counted, drawn by public randomness. Given these draws, tables
that differ in one group differ in one counted row, so the same bounds hold for groups.

Each number is first rounded to the grid on its own, so a value that many rows share is a point
like any other. Every point gets noise, so the number of draws reveals nothing about the rows.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import FloatArray, IntArray

__all__ = ["N_OCTAVES", "UNIT_END", "best_point", "bounded_grid", "distance_grid", "noisy_octaves",
           "noisy_quantile", "noisy_tails", "octaves_range", "positive_grid", "real_grid",
           "sizes_above"]

#: Rows whose numbers are read at once.
_PART = 1 << 16
#: Binary exponents of the least and largest point of the positive grid; points per octave.
_LEAST, _MOST, _OCTAVE = -32, 40, 64
#: Candidate ends of windows per octave, and their number in all.
_ENDS = 4
N_OCTAVES = _ENDS * (_MOST - _LEAST) + 1
#: A number at least this many ends away from a window adds nothing to its score.
_NEAR = 16
#: Index of the end 1.
UNIT_END = -_LEAST * _ENDS
#: Number of points, and the fraction of the tail, or of the numbers between it and the median:
#: fewer numbers on these points are a gap.
_GAP, _FILLED = 2 * _OCTAVE, 0.75
#: Scale and largest point of the grid of both signs, and its number of points of one sign.
_UNIT, _END, _SIDE = 1e-3, 1e12, 1 << 13
#: Number of even steps of a grid between bounds.
_STEPS = 1 << 12


@cache
def positive_grid() -> FloatArray:
    """Return public points from 2^-32 to 2^40, with steps of about 1.1 %."""
    points = 2.0 ** (np.arange(_LEAST * _OCTAVE, _MOST * _OCTAVE + 1) / _OCTAVE)
    points.flags.writeable = False
    return points


def distance_grid() -> FloatArray:
    """Return a grid of signed distances: the positive grid, 0 and the negative grid."""
    side = positive_grid()
    return np.concatenate([-side[::-1], [0.0], side])


def real_grid() -> FloatArray:
    """Return public points in [-1e12, 1e12], evenly spaced in ``asinh(1000 z)``.

    0 is a point. Near 0 the points are 4e-6 apart; far from 0, their spacing is 0.4 %.
    """
    side = _UNIT * np.sinh(np.arange(1, _SIDE + 1) * (np.arcsinh(_END / _UNIT) / _SIDE))
    return np.concatenate([-side[::-1], [0.0], side])


def bounded_grid(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return public points from `low` to `high`: evenly spaced ones and the real grid."""
    points = real_grid()
    inside = points[(low < points) & (points < high)]
    even = np.linspace(low, high, _STEPS + 1)
    # The bounds are added as given, as the ends of even points could be rounded.
    return np.unique(np.concatenate([[low, high], inside, even[1:-1].clip(low, high)]))


def noisy_quantile(rows: RowSource, numbers: Callable[..., FloatArray], q: float, grid: FloatArray,
                   event: Elementary, session: Session, upward: bool = True) -> float:
    """Return a point of a public grid near a quantile of numbers, a float.

    Parameters
    ----------
    rows : RowSource
    numbers : callable, (RowSource, slice) -> ndarray
        Returns the number of every row of a part, sensitive, NaN if missing; called once per
        part, inside the query.
    q : float
        The quantile, in [0, 1].
    grid : ndarray
        Increasing points.
    event : Event
        Privacy cost of the selection.
    session : Session
    upward : bool
        Whether numbers between two points are rounded up to the grid, else down. Numbers beyond
        the ends are rounded to the ends.
    """
    def scores(inside: Batch) -> FloatArray:
        return _scores(q, rows.added(_counts, numbers, grid)[int(upward)])

    return best_point(scores, grid, event, session)


def noisy_tails(rows: RowSource, numbers: Callable[..., FloatArray], tail: float,
                grid: FloatArray, event: Elementary, session: Session,
                ends: Sequence[int] = (0, 1)) -> list[float]:
    """Return points near the quantiles `tail` (end 0) and ``1 - tail`` (1), a query for each end.

    They are those of `noisy_quantile`, rounded outward, from one reading of the rows. Points in a
    gap have lower scores. Between such a point and 0, or `_GAP` points nearer, are few numbers.
    """
    counts = cache(lambda: rows.added(_counts, numbers, grid))
    share = _FILLED * max(0.0, min(tail, 0.5 - tail))

    def scores(end: int, inside: Batch) -> FloatArray:
        # Inward is down the grid, and at the low end up.
        own, inward = counts()[end], 2 * end - 1
        up_to = np.cumsum(own[::inward])
        near = up_to - np.where(start < 0, 0, up_to[start])
        return np.minimum(_scores((tail, 1.0 - tail)[end], own),
                          near[::inward] - round(share * int(up_to[-1])))

    # Grids of both signs are symmetric, so the place of 0 is the same from both ends.
    place, zero = np.arange(len(grid)), int(np.searchsorted(grid, 0.0))
    start = np.maximum(place - _GAP, np.where(place > zero, zero, -1))
    return [best_point(partial(scores, end), grid, event, session) for end in ends]


def _scores(q: float, counts: IntArray) -> FloatArray:
    """Return the scores of points, from the number of rows at each."""
    up_to = np.cumsum(counts)
    rank = round(q * int(up_to[-1]))
    return -np.maximum(0, np.maximum(up_to - counts - rank, rank - up_to)).astype(np.float64)


def octaves_range(n_units: int, filling: float, clearance: float) -> float:
    """Return the range of privacy loss at which empty octaves are unlikely by `clearance`.

    The chosen octave holds the share `filling` of the rows.
    """
    return 2.0 * (clearance + math.log(N_OCTAVES)) / (filling * n_units)


def noisy_octaves(rows: RowSource, numbers: Callable[..., FloatArray], width: int,
                  missing: tuple[int, float], event: Elementary,
                  session: Session) -> float:
    """Return the upper end of `width` octaves that hold many positive numbers.

    Ends are points of the positive grid, four per octave. Other parameters are those of
    `noisy_quantile`.

    Parameters
    ----------
    missing : (int, float)
        The index of the end to which missing numbers are added, and their weight, at most 1.
        Callers choose the end that does least harm if nearly all numbers are missing.
    """
    ends, near = positive_grid()[::_OCTAVE // _ENDS], _nearness(width * _ENDS)
    place, share = missing
    # A multiple of the grid spacing of `near`, so that sums are exact.
    share = math.ceil(2 * _NEAR * share) / (2 * _NEAR)

    def scores(inside: Batch) -> FloatArray:
        counts = rows.added(_counts, numbers, ends)[1]
        # Numbers at ends further than _NEAR from a window add nothing to its score.
        found = np.convolve(counts, near)[_NEAR - 1:][:N_OCTAVES]
        found[place] += share * (rows.n_units - counts.sum())
        return found

    return best_point(scores, ends, event, session)


def sizes_above(least: float, numbers: Callable[..., FloatArray], rows: RowSource,
                part: slice) -> FloatArray:
    """Return absolute values, or NaN where they are at most `least` (in no octave)."""
    sizes = np.abs(numbers(rows, part))
    return np.where(sizes > least, sizes, np.nan)


def best_point(scores: Callable[[Batch], FloatArray], grid: FloatArray, event: Elementary,
                session: Session) -> float:
    """Return the point with the largest noisy score; each moves by at most 1."""
    # Scores have few bits, so they are exact.
    moved = Sensitivity(2.0, "gumbel", unit=1.0, rounded=False)
    return float(grid[session(event, scores, moved, select=np.argmax)])


def _nearness(width: int) -> FloatArray:
    """Return a number's terms in scores, from the end `_NEAR` - 1 below it on."""
    above = np.arange(1 - _NEAR, width - 1 + _NEAR)
    off = np.maximum(-above, above - (width - 1))
    return np.where(off <= 0, 1.0, 0.5 * np.maximum(0.0, 1.0 - off / _NEAR))


def _counts(rows: RowSource, numbers: Callable[..., FloatArray], grid: FloatArray) -> IntArray:
    """Return how many numbers are rounded to each point of the grid, shape (2, n): down and up."""
    up_to = np.zeros((2, len(grid)), np.int64)
    for part in rows.shown(_PART):
        # Missing numbers do not count; NaN is sorted last.
        own = np.sort(numbers(rows, part))
        own = own[:len(own) - np.count_nonzero(np.isnan(own))]
        # Search for the points among the numbers, as there are fewer points.
        up_to[0, :-1] += np.searchsorted(own, grid[1:], "left")
        up_to[1, :-1] += np.searchsorted(own, grid[:-1], "right")
        up_to[:, -1] += len(own)
    return np.diff(up_to, prepend=0)
