"""Bounds about a noisy mean of targets, with too few rows for a median."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.targets import centered, clipped_targets, middle_of
from dpsk._defaults.budgets import (
    ABOUT_MEAN_REACH,
    ABOUT_MEAN_SHARES,
    ABOUT_MEAN_TAIL,
    mu_of_share,
)
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Gaussian
from dpsk._privacy.plans import choice_event
from dpsk._stages.bounds import TargetBounds, target_rule, targets_above
from dpsk._stages.target_place import leaves_rest
from dpsk._statistics.moments import noisy_target_mean
from dpsk._statistics.quantiles import noisy_quantile

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Elementary, Event
    from dpsk._problem import Problem
    from dpsk._typing import AnyArray

__all__ = ["BoundsAboutMean"]

#: Candidates for a distance over half the bounds, a quarter of an octave apart.
_STEPS = 2.0 ** (0.25 * np.arange(-12, 1))


class BoundsAboutMean(TargetBounds):
    """Bounds like `TargetBounds`, but about a noisy mean where those are a window of few targets.

    Targets are clipped to the window, and their noisy mean is released. A quantile of distances
    from the mean, chosen among steps of a quarter
    of an octave, gives the bounds on both sides. The window
    stays where it costs so much that too little budget remains.
    """

    def event(self, problem: Problem) -> Event:
        found = super().event(problem)
        if not self._are_few(problem):
            return found
        return Composed((found, Gaussian(_mean_mu(problem)), _distance_event(problem)))

    def _found(self, problem: Problem, rows: RowSource,
               session: Session) -> tuple[float, float]:
        low, high = super()._found(problem, rows, session)
        if not self._are_few(problem):
            return low, high
        within = rows.with_targets(partial(clipped_targets, centered, (low, high), np.float64))
        mean, _ = noisy_target_mean(within, _mean_mu(problem), session)
        middle, end = middle_of(low, high)
        middle += end * float(np.clip(mean, -1.0, 1.0))
        away = noisy_quantile(rows, partial(_distances, middle), 1.0 - ABOUT_MEAN_TAIL,
                              end * _STEPS, _distance_event(problem), session)
        reach = ABOUT_MEAN_REACH * away
        return middle - reach, middle + reach

    def _are_few(self, problem: Problem) -> bool:
        """Return whether bounds are a window and a mean is affordable, from public facts."""
        return (self._lowest is None and problem.delta > 0 and target_rule(problem) is None
                and not self._median_and_octaves(problem)
                and leaves_rest(problem))


def _mean_mu(problem: Problem) -> float:
    return mu_of_share(problem, ABOUT_MEAN_SHARES[0])


def _distance_event(problem: Problem) -> Elementary:
    width = bounded_range_epsilon(mu_of_share(problem, ABOUT_MEAN_SHARES[1]))
    return choice_event(width, pure=False)


def _distances(middle: float, rows: RowSource, part: Any) -> AnyArray:
    return np.abs(targets_above(middle, rows, part))
