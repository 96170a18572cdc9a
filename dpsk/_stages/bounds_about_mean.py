"""Bounds about a noisy mean of targets, with too few rows for a median."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.targets import centered, clipped_targets
from dpsk._defaults.budgets import (
    ABOUT_MEAN_MOST,
    ABOUT_MEAN_REACH,
    ABOUT_MEAN_SHARES,
    ABOUT_MEAN_TAIL,
    OCTAVES_REACH,
    mu_of_share,
)
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Gaussian
from dpsk._privacy.plans import choice_event
from dpsk._stages.bounds import TargetBounds, median_rule, target_rule, targets_above
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

#: Number of candidates for a distance below the end of the octave, half an octave apart.
_STEPS = 12


class BoundsAboutMean(TargetBounds):
    """Bounds like `TargetBounds`, but about a noisy mean instead of about 0.

    Bounds by octaves about 0 are as wide as targets are far from 0, and the noise on a constant
    grows with that width. Therefore targets are clipped to the end of their octave, and their
    noisy mean is released. A quantile of distances from the mean, chosen among steps of half an
    octave, gives the bounds on both sides. The bounds stay about 0 where octaves cost so much
    that too little budget remains.
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
        end = high / OCTAVES_REACH
        within = rows.with_targets(partial(clipped_targets, centered, (-end, end), np.float64))
        mean, _ = noisy_target_mean(within, _mean_mu(problem), session)
        middle = end * float(np.clip(mean, -1.0, 1.0))
        away = noisy_quantile(rows, partial(_distances, middle), 1.0 - ABOUT_MEAN_TAIL,
                              end * 2.0 ** (0.5 * np.arange(-_STEPS, 1)),
                              _distance_event(problem), session)
        reach = ABOUT_MEAN_REACH * away
        return middle - reach, middle + reach

    def _are_few(self, problem: Problem) -> bool:
        """Return whether bounds would be about 0 and a mean is affordable, from public facts."""
        if self._lowest is not None or median_rule(problem) is not None:
            return False
        event, tail = target_rule(problem)
        return (tail is None and isinstance(event, Gaussian)
                and event.mu <= mu_of_share(problem, ABOUT_MEAN_MOST))


def _mean_mu(problem: Problem) -> float:
    return mu_of_share(problem, ABOUT_MEAN_SHARES[0])


def _distance_event(problem: Problem) -> Elementary:
    width = bounded_range_epsilon(mu_of_share(problem, ABOUT_MEAN_SHARES[1]))
    return choice_event(width, pure=False)


def _distances(middle: float, rows: RowSource, part: Any) -> AnyArray:
    return np.abs(targets_above(middle, rows, part))
