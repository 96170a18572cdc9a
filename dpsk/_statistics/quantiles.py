r"""Quantiles of numbers, chosen under noise from a public grid.

With k the rank ``round(q m)`` among the m numbers that are not missing a point z of the grid has
the score

    u(z) = -max(0, #{x < z} - k, k - #{x <= z}),

0 at the k-th smallest number and everywhere up to the next, and less by 1 with every number that
lies between. Replacing a number moves each of the two counts by at most 1, hence each score by
at most 1; one that comes or goes moves counts and rank the same way, by at most 1 each, and so
no difference of them by more. The largest of the scores with Gumbel noise of scale ``s`` is the
exponential mechanism with exponent ``1 / s``: its loss lies in an interval of length ``2 / s``.
Only the point leaves.

The octaves in which most numbers lie are chosen in the same way: with c of them a number adds 1 to
the score of a point z if it lies above ``z / 2^c`` and up to z, half or less if it is up to four
octaves off, and else nothing. Replacing a number moves every score by at most 1. Windows far from
the numbers are empty, where a point far from their median is wrong by half of them, so that fewer
rows are enough. Numbers of many sizes fill no window, and count by what is near.

Of groups of rows one row each counts, which is drawn by public randomness. With the draws given,
tables that differ in one group show rows that differ in one row, so that the same holds of groups.

Numbers are brought to the grid first, each by itself, so that one on which many of them stand is
a point like any other. Every point gets its noise: how much is drawn tells nothing of the rows.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import FloatArray, IntArray

__all__ = ["N_OCTAVES", "bounded_grid", "distance_grid", "noisy_octaves", "noisy_quantile",
           "positive_grid", "real_grid", "sizes_above"]

#: Rows whose numbers are taken at once.
_PART = 1 << 16
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


@cache
def positive_grid() -> FloatArray:
    """Return public points from 2^-32 to 2^40, each about 1.1 % above the one before."""
    points = 2.0 ** (np.arange(_LEAST * _OCTAVE, _MOST * _OCTAVE + 1) / _OCTAVE)
    points.flags.writeable = False
    return points


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
                   event: Elementary, session: Session, upward: bool = True) -> float:
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
    event : Event
        What the choice costs.
    session : Session
    upward : bool
        Whether numbers between two points count as the one above, else as the one below. Beyond
        the ends they count as those.
    """
    def scores(inside: Batch) -> FloatArray:
        counts = rows.added(_counts, numbers, grid, upward)
        up_to = np.cumsum(counts)
        rank = round(q * int(up_to[-1]))
        return -np.maximum(0, np.maximum(up_to - counts - rank, rank - up_to)).astype(np.float64)

    return _best_point(scores, grid, event, session)


def noisy_octaves(rows: RowSource, numbers: Callable[..., FloatArray], width: int,
                  missing: tuple[int, float], event: Elementary,
                  session: Session) -> float:
    """Return the upper end of so many octaves in which many of some positive numbers lie, a float.

    Ends are points of the positive grid, four to an octave. Other parameters are those of
    `noisy_quantile`.

    Parameters
    ----------
    missing : (int, float)
        The end that has what is missing, -1 or 0, and for how much of a number that counts, at
        most 1: where hardly any number is there, the one that does less harm.
    """
    ends, near = positive_grid()[::_OCTAVE // _ENDS], _nearness(width * _ENDS)
    place, share = missing
    # In as few bits as what is near, so that sums are exact.
    share = math.ceil(2 * _NEAR * share) / (2 * _NEAR)

    def scores(inside: Batch) -> FloatArray:
        counts = rows.added(_counts, numbers, ends, True)
        # Ends further apart than that many add nothing to each other.
        found = np.convolve(counts, near)[_NEAR - 1:][:N_OCTAVES]
        found[place] += share * (rows.n_units - counts.sum())
        return found

    return _best_point(scores, ends, event, session)


def sizes_above(least: float, numbers: Callable[..., FloatArray], rows: RowSource,
                part: slice) -> FloatArray:
    """Return the sizes of numbers; those up to the least are missing, as they are in no octave."""
    sizes = np.abs(numbers(rows, part))
    return np.where(sizes > least, sizes, np.nan)


def _best_point(scores: Callable[[Batch], FloatArray], grid: FloatArray, event: Elementary,
                session: Session) -> float:
    """Return the point of a grid with the largest noisy score, each of which moves by at most 1.
    """
    # Scores have few bits, so nothing is rounded.
    moved = Sensitivity(2.0, "gumbel", unit=1.0, rounded=False)
    return float(grid[session(event, scores, moved, select=np.argmax)])


def _nearness(width: int) -> FloatArray:
    """Return what a number adds to the scores of the ends from `_NEAR` - 1 below its own on."""
    above = np.arange(1 - _NEAR, width - 1 + _NEAR)
    off = np.maximum(-above, above - (width - 1))
    return np.where(off <= 0, 1.0, 0.5 * np.maximum(0.0, 1.0 - off / _NEAR))


def _counts(rows: RowSource, numbers: Callable[..., FloatArray], grid: FloatArray,
            upward: bool) -> IntArray:
    """Return how many numbers each point of the grid stands for."""
    up_to = np.zeros(len(grid), np.int64)
    for part in rows.shown(_PART):
        # What is missing counts nowhere, and is behind all others when sorted.
        own = np.sort(numbers(rows, part))
        own = own[:len(own) - np.count_nonzero(np.isnan(own))]
        # Points are found among numbers, of which there are more.
        up_to[:-1] += (np.searchsorted(own, grid[:-1], "right") if upward
                       else np.searchsorted(own, grid[1:], "left"))
        up_to[-1] += len(own)
    return np.diff(up_to, prepend=0)
