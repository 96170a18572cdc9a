"""Bounds on targets that are learnt within declared bounds, which are often far wider."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import ndtri

from dpsk._defaults.budgets import (
    TARGET_REACH,
    TIGHTER_CLEARANCE,
    TIGHTER_OFF,
    TIGHTER_SHARES,
    TIGHTER_SIGNAL,
    TIGHTER_TAILS,
    mu_of_share,
)
from dpsk._privacy.events import Composed
from dpsk._stages.bounds import TargetBounds, quantile_rule, targets_above
from dpsk._statistics.quantiles import bounded_grid, noisy_quantile, noisy_tails

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._privacy.elementary import Elementary, Event
    from dpsk._problem import Budget, Problem

__all__ = ["BoundsWithin", "tighter_pays"]

#: Number of candidates for a distance below the declared bounds, half an octave apart.
_STEPS = 24


class BoundsWithin(TargetBounds):
    """Release bounds on targets within declared bounds, because noise grows with their width.

    If ``n mu`` is large enough, they are learnt as by `TargetBounds`. Otherwise they lie equally
    far on both sides of a noisy median between the declared bounds. Their distance follows from a
    quantile of distances from the median, by a normal distribution. The declared bounds stay
    where that quantile is next to the median, on which most targets then lie.

    Parameters
    ----------
    target_map, dtype
        As for `TargetBounds`.
    within : (float, float)
        Public bounds on the targets.
    """

    _median_end: ClassVar[int] = -1

    def __init__(self, target_map: Callable[..., Any], dtype: Any,
                 within: tuple[float, float]) -> None:
        super().__init__(target_map, dtype)
        self._within = within

    def event(self, problem: Problem) -> Event:
        if _takes_quantiles(problem):
            return super().event(problem)
        return Composed((_few_rows_rule(problem, TIGHTER_OFF)[0], _few_rows_rule(problem)[0]))

    def _found(self, problem, rows, session):
        found = (super()._found if _takes_quantiles(problem) else self._about_median)(
            problem, rows, session)
        low, high = (float(np.clip(end, *self._within)) for end in found)
        return (low, high) if low < high else self._within

    def _about_median(self, problem, rows, session):
        (off, _), (event, tail) = _few_rows_rule(problem, TIGHTER_OFF), _few_rows_rule(problem)
        grid = bounded_grid(*map(np.float64, self._within))
        median = noisy_quantile(rows, partial(targets_above, 0.0), 0.5, grid, off, session)
        farthest = max(median - grid[0], grid[-1] - median)
        (away,) = noisy_tails(rows, partial(_distances, median), tail,
                              farthest * 2.0 ** (0.5 * np.arange(-_STEPS, 1)), event, session,
                              ends=(1,))
        if away <= _step(grid, median):
            return self._within
        reach = away * float(ndtri(TARGET_REACH) / ndtri(0.5 * tail))
        return median - reach, median + reach


def _distances(median, rows, part):
    return np.abs(targets_above(median, rows, part))


def _step(grid, point):
    """Return the larger spacing of a grid next to one of its points, which bounds its error."""
    place = int(np.searchsorted(grid, point))
    return float(np.diff(grid[max(0, place - 1):place + 2]).max())


def tighter_pays(budget: Budget, is_gaussian: bool) -> bool:
    """Return whether bounds are learnt within declared ones, from public facts.

    With few rows this needs a solver that `is_gaussian`: only shares of its budget add up with
    shares of other releases.
    """
    if not budget.is_private or budget.delta == 0:
        return False
    if _takes_quantiles(budget):
        return True
    if not is_gaussian:
        return False
    try:
        _few_rows_rule(budget)
    except ValueError:
        return False
    return True


def _takes_quantiles(problem: Problem | Budget) -> bool:
    return problem.n_samples * mu_of_share(problem, 1.0) >= TIGHTER_SIGNAL


def _few_rows_rule(problem: Problem | Budget, tails: tuple[float, float] = TIGHTER_TAILS,
                   ) -> tuple[Elementary, float]:
    """Return event and tail of a quantile of few rows; raise ValueError with too few."""
    return quantile_rule("target_bounds", problem, tails, TIGHTER_SHARES, TIGHTER_CLEARANCE)
