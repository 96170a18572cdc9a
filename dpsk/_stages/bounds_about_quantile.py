"""Bounds on targets, and a correction of the intercept, for an extreme quantile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.budgets import RESIDUAL_SHARE, mu_of_share
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.plans import choice_event
from dpsk._stages.base import Stage
from dpsk._stages.bounds import TargetBounds, widened
from dpsk._stages.target_spread import DOUBLE

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["BoundsAboutQuantile", "ResidualQuantile"]

#: Share of the targets beyond the wanted quantile that may lie beyond the bounds.
_BEYOND = 0.25
#: Quantiles with less on either side are corrected, if that is at least so many scales of noise.
_EXTREME, _CLEAR = 0.2, 2.0
#: Sizes of corrections, where targets are in [-1, 1].
_SIZES = 2.0 ** (0.5 * np.arange(-20, 1))


class BoundsAboutQuantile(TargetBounds):
    """Bounds like `TargetBounds`, but farther out on the side of an extreme quantile.

    There the released quantile is extrapolated from the median to a quarter of the tail beyond
    the wanted quantile, as for an exponential distribution, whose tail is longer than a normal
    one.

    Parameters
    ----------
    quantile : float
        The wanted quantile.
    target_map, dtype
        As for `TargetBounds`.
    """

    def __init__(self, quantile: float, target_map: Any, dtype: Any) -> None:
        super().__init__(target_map, dtype)
        self._quantile = quantile

    def _widened(self, low: float, high: float, tail: float,
                 median: float) -> tuple[float, float]:
        least, most = widened(low, high, tail, DOUBLE)
        q = self._quantile
        return (min(least, median + (low - median) * _farther(tail, q)),
                max(most, median + (high - median) * _farther(tail, 1.0 - q)))


def _farther(tail, share):
    """Return by how much a quantile is moved, from one tail to a quarter of a share."""
    return max(1.0, math.log(2.0 * _BEYOND * share) / math.log(min(2.0 * tail, 0.9)))


class ResidualQuantile(Stage):
    """Release the wanted quantile of the residuals after the fit, to be added to the intercept.

    Few rows are beyond an extreme quantile, so a solver comes close to its intercept slowly. The
    choice is among few sizes of both signs, and 0, so that few rows suffice for it.

    Parameters
    ----------
    quantile : float
        The wanted quantile.
    """

    comes_last: ClassVar[bool] = True

    def __init__(self, quantile: float) -> None:
        self._quantile, self.value = quantile, 0.0

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        """Return whether the quantile is extreme and rows suffice, from public facts."""
        share = min(self._quantile, 1.0 - self._quantile)
        return (share < _EXTREME and problem.delta > 0 and not problem.grouped
                and solver.takes_temperature
                and 0.5 * _range(problem) * share * problem.n_samples >= _CLEAR)

    def event(self, problem: Problem) -> Event:
        return choice_event(_range(problem))

    def release(self, problem: Problem, oracle: Any, theta: FloatArray) -> Any:
        """Return the parameters as they are."""
        grid = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])
        end = oracle.residual_quantile(theta, self._quantile, grid, self.event(problem))
        # The quantile lies between the point and the one below.
        place = int(np.searchsorted(grid, end))
        self.value = float(grid[max(0, place - 1):place + 1].mean())
        return theta


def _range(problem):
    return bounded_range_epsilon(mu_of_share(problem, RESIDUAL_SHARE))
