r"""Public points for quantiles: decimal numbers of nine digits, in cells of three.

A cell is all that shares its first three digits; a group of its points shares three more, and the
last three tell a point. Points of fewer digits weigh more: six tenths of what a cell weighs are
spread evenly, and a tenth each stands on its numbers of three, four, five and six digits. So
numbers on which many rows stand, which have few digits in most tables, are likely to be hit, and
others are still told apart to within a hundred-millionth, as time stamps need it. Cells weigh as
the inverse hyperbolic sine makes them wide, and beyond ten thousand less, so that a slice with
few rows takes a point of a usual size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:

    from dpsk._typing import FloatArray, IntArray

__all__ = ["Points", "decimal_points", "even_points"]

#: Decades of cells of three digits, from the least power of ten to the end.
_DECADES = (-3, 12)
#: Numbers are told apart on a scale of this: even below, by ratio above.
_UNIT = 0.1
#: Points of a cell, and of a group of them.
_EACH, _GROUP = 1_000_000, 1000
#: Tenths of the weight of a cell, by steps of its points.
_STEP_TENTHS = {1: 6, 1000: 1, 10_000: 1, 100_000: 1, 1_000_000: 1}
#: Beyond the first of these a cell weighs less by this power of its ratio to that.
_USUAL, _FALL = 1e4, 0.3
#: So close above a point, in steps, a number counts as that point.
_CLOSE = 1e-2


@dataclass(frozen=True, eq=False)
class Points:
    """Increasing points in cells of as many each, with public weights.

    Attributes
    ----------
    first : ndarray of float64, shape (n_cells + 1,)
        The first point of every cell, and the end of the last one, which is a point as well.
    cell_weights : ndarray, shape (n_cells + 1,)
    weights : ndarray, shape (n_each,)
        Of the points of a cell: whole numbers, so that sums of them are exact.
    group : int
        So many points are a group; cells have whole ones.
    """

    first: np.ndarray
    cell_weights: np.ndarray
    weights: np.ndarray
    group: int = 1

    @property
    def n_each(self) -> int:
        """int : so many points has a cell."""
        return len(self.weights)

    @property
    def parts(self) -> tuple[int, ...]:
        """tuple of int : of how many each of a cell, a group and so on is chosen from."""
        if self.n_each == 1:
            return ()
        return (self.n_each,) if self.group == 1 else (self.n_each // self.group, self.group)

    def __len__(self) -> int:
        # Of the last cell there is only its first point.
        return (len(self.first) - 1) * self.n_each + 1

    @cached_property
    def _up_to(self) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(self.weights)])

    def weights_of(self, starts: IntArray, ends: IntArray) -> FloatArray:
        """Return what points from places to others, that are not among them, weigh in their cell.
        """
        steps = starts % self.n_each
        return self._up_to[steps + ends - starts] - self._up_to[steps]

    def places(self, numbers: FloatArray) -> IntArray:
        """Return the place of the next point at or above every number."""
        cells = np.searchsorted(self.first, numbers, "right") - 1
        cells = np.clip(cells, 0, len(self.first) - 2)
        width = self.first[cells + 1] - self.first[cells]
        beyond = np.clip((numbers - self.first[cells]) / width, 0.0, 1.0)
        return cells * self.n_each + np.ceil(beyond * self.n_each - _CLOSE).astype(np.int64)

    def point(self, place: int) -> float:
        """Return the point at a place, a float."""
        cell, step = divmod(int(place), self.n_each)
        if not step:
            return float(self.first[cell])
        low, high = self.first[cell], self.first[cell + 1]
        # A decimal of few digits, not a neighbor of it.
        return float(f"{low + (high - low) * (step / self.n_each):.12g}")


@lru_cache(maxsize=1)
def decimal_points() -> Points:
    """Return decimals of nine digits in [-1e12, 1e12]; below 1e-3 they are 1e-11 apart."""
    low, high = _DECADES
    sides = [np.arange(100) * 1e-5]
    digits = np.arange(100, 1000)
    sides += [digits * 10.0**(power - 2) if power >= 2 else digits / 10.0**(2 - power)
              for power in range(low, high)]
    side = np.concatenate([*sides, [10.0**high]])
    first = np.concatenate([-side[:0:-1], side])
    widths = np.diff(np.arcsinh(first / _UNIT))
    widths *= np.maximum(1.0, np.abs(first[:-1]) / _USUAL) ** -_FALL
    weights = np.zeros(_EACH)
    for step, tenths in _STEP_TENTHS.items():
        weights[::step] += tenths * step
    return Points(first, np.append(widths, widths[-1]) / weights.sum(), weights, _GROUP)


def even_points(points: FloatArray) -> Points:
    """Return some points, each a cell of its own, of one weight."""
    return Points(np.asarray(points, float), np.ones(len(points)), np.ones(1))
