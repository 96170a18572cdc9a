"""Root search: the smallest positive number that passes a monotone test."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["smallest_passing"]

_LARGEST_STEP = math.log(8.0)


def smallest_passing(excess: Callable[[float], float], guess: float, *, slope: float = -1.0,
                     rtol: float = 1e-6, low: float = 0.0,
                     high: float = math.inf) -> tuple[float, float]:
    """Return the smallest x with ``excess(x) <= 0``, from above, and the slope there.

    The secant method in ``log x`` starts at `guess` > 0 and stays inside the bracket. It bisects
    the bracket whenever it stalls. The result has been evaluated and passed, and exceeds the
    smallest passing point by at most the fraction `rtol`. `excess` decreases; it may be infinite,
    and NaN counts as not passing. `slope` is its expected derivative in ``log x``. The search
    stops beyond `low` and `high`.

    Returns
    -------
    x : float
        Passing point; any one found up to `low`, and infinite if nothing up to `high` passes.
    slope : float
        Last estimate of the derivative of `excess` with respect to ``log x``.
    """
    failing = passing = previous = None
    at, least = math.log(guess), rtol / 3
    widths = [math.inf] * 3
    while True:
        x = math.exp(at)
        value = excess(x)
        if value <= 0:
            passing = (at, value, x)
        else:
            failing = (at, value)
        slope = _secant(previous, (at, value), slope)
        previous = (at, value)
        if passing is not None and (x <= low or _close(failing, passing, slope, rtol)):
            return passing[2], slope
        if passing is None and x >= high:
            return math.inf, slope
        move = _newton(value, slope) + rtol / 3
        if failing is None:
            at += max(-_LARGEST_STEP, min(move, -least))
        elif passing is None:
            at += min(_LARGEST_STEP, max(move, least))
        else:
            widths = [*widths[1:], passing[0] - failing[0]]
            stalled = widths[2] > widths[0] / 2
            inside = failing[0] < at + move < passing[0] and not stalled
            at = at + move if inside else (failing[0] + passing[0]) / 2
        # without a bracket the steps grow, so that a wrong slope cannot slow the search
        least *= 4


def _close(failing: tuple[float, float] | None, passing: tuple[float, float, float], slope: float,
           rtol: float) -> bool:
    near_root = -passing[1] <= rtol * abs(slope)
    return near_root or (failing is not None and passing[0] - failing[0] <= rtol)


def _secant(previous: tuple[float, float] | None, current: tuple[float, float],
            slope: float) -> float:
    if previous is None or previous[0] == current[0]:
        return slope
    estimate = (current[1] - previous[1]) / (current[0] - previous[0])
    return estimate if -math.inf < estimate < 0 else slope


def _newton(value: float, slope: float) -> float:
    if not math.isfinite(value):
        return -math.inf if value < 0 else math.inf
    return value / abs(slope)
