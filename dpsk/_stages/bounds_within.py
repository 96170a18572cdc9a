"""Bounds on targets that are learnt within declared ones, which are often far wider."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.budgets import (
    OCTAVES_REACH,
    TARGET_OCTAVES,
    TIGHTER_SHARE,
    TIGHTER_SIGNAL,
    mu_of_share,
)
from dpsk._oracle.quantiles import bounded_grid, noisy_octaves, noisy_quantile, sizes_above
from dpsk._privacy.events import Repeated
from dpsk._stages.bounds import TargetBounds, octaves_rule, targets_above

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._privacy.elementary import Elementary, Event
    from dpsk._problem import Budget, Problem

__all__ = ["BoundsWithin", "tighter_pays"]

_NONE = (0, 0.0)


class BoundsWithin(TargetBounds):
    """Release bounds on targets that are not beyond declared ones, as noise follows their width.

    From some ``n mu`` on they are quantiles. Below, they are as far on both sides of a noisy
    median, a point between the declared bounds, as the octaves reach in which most distances from
    it lie: these cost less. An octave too far out does no harm.

    Parameters
    ----------
    target_map, dtype
        As of `TargetBounds`.
    within : (float, float)
        Public bounds that targets are in.
    """

    _counts_median: ClassVar[bool] = False

    def __init__(self, target_map: Callable[..., Any], dtype: Any,
                 within: tuple[float, float]) -> None:
        super().__init__(target_map, dtype)
        self._within = within

    def event(self, problem: Problem) -> Event:
        if _takes_quantiles(problem):
            return super().event(problem)
        return Repeated(_few_rows_rule(problem), 2)

    def _found(self, problem, rows, releases):
        found = (super()._found if _takes_quantiles(problem) else self._about_median)(
            problem, rows, releases)
        low, high = (float(np.clip(end, *self._within)) for end in found)
        return (low, high) if low < high else self._within

    def _about_median(self, problem, rows, releases):
        event = _few_rows_rule(problem)
        median = noisy_quantile(rows, partial(targets_above, 0.0), 0.5,
                                bounded_grid(*map(np.float64, self._within)), event, releases)
        distances = partial(sizes_above, 0.0, partial(targets_above, median))
        reach = OCTAVES_REACH * noisy_octaves(rows, distances, TARGET_OCTAVES[0], _NONE, event,
                                              releases)
        return median - reach, median + reach


def tighter_pays(budget: Budget, is_gaussian: bool) -> bool:
    """Return whether bounds are learnt within declared ones, from public facts.

    Those of few rows only beside a solver that `is_gaussian`: shares of other budgets do not add
    up.
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


def _few_rows_rule(problem: Problem | Budget) -> Elementary:
    """Return the event of a median, and of octaves, of few rows; a ValueError of too few."""
    return octaves_rule("target_bounds", problem, TARGET_OCTAVES[1], TIGHTER_SHARE)
