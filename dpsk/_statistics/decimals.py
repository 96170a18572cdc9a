r"""Public points for quantiles: decimal numbers of nine digits, grouped into cells.

The points of a cell share the first three digits; the points of a group share three more, and the
last three identify a point. Points with fewer digits weigh more: six tenths of a cell's weight
are spread evenly, and one tenth each is on its numbers of three, four, five and six digits. In
most tables, the values that many rows share have few digits, so they are likely to be selected.
Other values are still resolved to a hundred-millionth, as time stamps require. The weight of a
cell is its width under the inverse hyperbolic sine, and less beyond ten thousand, so that a slice
with few rows gets a point of common magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:

    from dpsk._typing import FloatArray, IntArray

__all__ = ["Points", "PointsAbout", "decimal_points", "even_points", "has_multiples",
           "multiple_points", "multiples_about"]

#: Exponents of ten between which cells have three digits; the second is the end of the points.
_DECADES = (-3, 12)
#: Scale of the inverse hyperbolic sine: weights are even below it, logarithmic above it.
_UNIT = 0.1
#: Points of a cell, and of a group of them.
_EACH, _GROUP = 1_000_000, 1000
#: Tenths of a cell's weight, by the step between the points that share them.
_STEP_TENTHS = {1: 6, 1000: 1, 10_000: 1, 100_000: 1, 1_000_000: 1}
#: A cell that begins at x > _USUAL weighs less by the factor ``(x / _USUAL)**-_FALL``.
_USUAL, _FALL = 1e4, 0.3
#: A number up to this far above a point, in steps, counts as that point.
_CLOSE = 1e-2
#: Rounding errors of a multiple, in steps, and so many steps from 0 multiples are distinct floats.
_ROUNDING, _DISTINCT = 1e-6, 2.0**48
#: Fewer multiples than this serve as points.
_MOST_MULTIPLES = 1 << 14


@dataclass(frozen=True, eq=False)
class Points:
    """Increasing points in cells of equal numbers of points, with public weights.

    Attributes
    ----------
    first : ndarray of float64, shape (n_cells + 1,)
        The first point of every cell, and the end of the last cell, which is a point as well.
    cell_weights : ndarray, shape (n_cells + 1,)
    weights : ndarray, shape (n_each,)
        Weights of the points of a cell: integers, so that sums of them are exact, and the same
        for all points of a group but its first.
    group : int
        The number of points in a group, which divides the number of points in a cell.
    """

    first: np.ndarray
    cell_weights: np.ndarray
    weights: np.ndarray
    group: int = 1

    @property
    def n_each(self) -> int:
        """int : number of points in a cell."""
        return len(self.weights)

    @property
    def parts(self) -> tuple[int, ...]:
        """tuple of int : numbers of options in the successive selections within a cell."""
        if self.n_each == 1:
            return ()
        return (self.n_each,) if self.group == 1 else (self.n_each // self.group, self.group)

    def __len__(self) -> int:
        # The last cell has only its first point.
        return (len(self.first) - 1) * self.n_each + 1

    @property
    def span(self) -> int:
        """int : distance of a point from the same point for the next part of the rows."""
        return len(self.first) * self.n_each

    @cached_property
    def _extra(self) -> FloatArray:
        # A small table stays in the processor's cache.
        return np.append(0.0, np.cumsum(self.weights[::self.group] - self.weights[-1]))

    def weights_before(self, places: IntArray) -> FloatArray:
        """Return total weights of the points before places, as if all cells weighed the same."""
        cells, groups = places // self.n_each, -(-places // self.group)
        extra = self._extra[groups - cells * (self.n_each // self.group)]
        return self.weights[-1] * places + self._extra[-1] * cells + extra

    def places(self, numbers: FloatArray) -> IntArray:
        """Return the place of the first point at or above every number."""
        cells = np.searchsorted(self.first, numbers, "right") - 1
        cells = np.clip(cells, 0, len(self.first) - 2)
        first = self.first[cells]
        beyond = np.clip((numbers - first) / (self.first[cells + 1] - first), 0.0, 1.0)
        return cells * self.n_each + np.ceil(beyond * self.n_each - _CLOSE).astype(np.int64)

    def point(self, place: int) -> float:
        """Return the point at a place, a float."""
        cell, step = divmod(int(place), self.n_each)
        if not step:
            return float(self.first[cell])
        low, high = self.first[cell], self.first[cell + 1]
        # Round to the decimal, not to a float next to it.
        return float(f"{low + (high - low) * (step / self.n_each):.12g}")

    def after(self, numbers: FloatArray) -> IntArray:
        """Return the place of the first point at or above every bound."""
        return self.places(numbers)

    def about(self, place: int) -> Points:
        """Return the points moved from 0 to the whole number nearest to the point at a place."""
        if round(self.point(place)) == 0:
            return self
        return PointsAbout(self.first, self.cell_weights, self.weights, self.group, self, place)


@dataclass(frozen=True, eq=False)
class PointsAbout(Points):
    """Points at the distances `of` from a whole number, the nearest to the one at `middle`.

    Near it they are as dense, and weigh as much, as the others near 0. Whole numbers are still
    points of few digits.
    """

    of: Points = None  # type: ignore[assignment]
    middle: int = 0

    @cached_property
    def origin(self) -> float:
        """float : the whole number."""
        return float(round(self.of.point(self.middle)))

    @cached_property
    def moved(self) -> int:
        """int : the place of the point that was at `middle`."""
        away = float(f"{self.of.point(self.middle) - self.origin:.9g}")
        return int(super().places(np.array([away]))[0])

    def places(self, numbers: FloatArray) -> IntArray:
        """Return the place of the first point at or above every number.

        Numbers that counted as the point at `middle` still do.
        """
        return np.where(self.of.places(numbers) == self.middle, self.moved, self.after(numbers))

    def after(self, numbers: FloatArray) -> IntArray:
        """Return the place of the first point at or above every bound."""
        return super().places(np.asarray(numbers, np.float64) - self.origin)

    def point(self, place: int) -> float:
        """Return the point at a place, a float."""
        if place == self.moved:
            return self.of.point(self.middle)
        return float(f"{self.origin + super().point(place):.15g}")


@lru_cache(maxsize=1)
def decimal_points() -> Points:
    """Return decimals of nine digits in [-1e12, 1e12]; in [-1e-3, 1e-3], 1e-11 apart."""
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
    """Return the given points as cells of one point each, with equal weights."""
    return Points(np.asarray(points, float), np.ones(len(points)), np.ones(1))


def has_multiples(bounds: tuple[float, float], step: float) -> bool:
    """Return whether the multiples of a step within bounds are few, and distinct floats."""
    return bounds[1] - bounds[0] < _MOST_MULTIPLES * step and (
        max(map(abs, bounds)) < _DISTINCT * step)


def multiple_points(bounds: tuple[float, float], step: float) -> Points:
    """Return the multiples of a step within bounds, and next to them, with equal weights."""
    low, high = (multiples_about(np.array([end]), step, bool(above))[0]
                 for above, end in enumerate(bounds))
    places = np.arange(round((high - low) / step) + 1)
    return even_points(np.round(low + step * places, 9))


def multiples_about(numbers: FloatArray, step: float, above: bool) -> FloatArray:
    """Return the multiples of a step that are nearest to numbers, from above or from below.

    Numbers so large that multiples are no distinct floats stay.
    """
    away = numbers / step
    away = np.ceil(away - _ROUNDING) if above else np.floor(away + _ROUNDING)
    # The decimal itself, not a float beside it.
    return np.where(np.abs(numbers) < _DISTINCT * step, np.round(away * step, 9), numbers)
