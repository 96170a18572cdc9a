"""Scaling of the targets of a network by their noisy median and spread."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dpsk._defaults.budgets import SCALE_DEVIATIONS, SCALE_TAILS
from dpsk._objective.losses import Huber
from dpsk._privacy.events import Composed, Repeated
from dpsk._stages.base import Stage
from dpsk._stages.bounds import quantile_rule, spread_rule
from dpsk._stages.target_mean import raised
from dpsk._stages.target_spread import apart, released_spread
from dpsk._statistics.cells import noisy_decimal
from dpsk._statistics.quantiles import noisy_quantile, positive_grid

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import AnyArray, FloatArray

__all__ = ["TargetScaling"]

#: Least unit, so that scaled targets do not overflow single precision.
_LEAST = 2.0**-30


class TargetScaling(Stage):
    """Release the median of targets, their spread about it, and a quantile of their distances.

    The median is subtracted from the targets of a network, and the rest is divided by a unit of
    four standard deviations, estimated from that quantile. The unit is at most half the width of
    the bounds. A clip norm is in the unit of residuals, so with bounds far wider than the targets,
    noise would be as large as the targets. Where the quantile is next to the median, on which many
    targets lie, the unit is two spreads.
    """

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        """Return whether there are enough rows for quantiles, from public facts."""
        try:
            _rule(problem)
        except ValueError:
            return False
        return problem.delta > 0

    def event(self, problem: Problem) -> Event:
        """Return the event of the releases."""
        return Composed((Repeated(_rule(problem)[0], 2), spread_rule(problem)[0]))

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem in the new unit of targets, and the rows with scaled targets."""
        event, tail = _rule(problem)
        median = noisy_decimal(rows, _targets, 0.5, event, session)
        self._median = float(np.clip(median, -1.0, 1.0))
        distances = partial(_distances, self._median)
        # An octave that is too large does no harm: the unit is at most that of the bounds.
        of_spread, clear = spread_rule(problem)
        spread = released_spread(rows, distances, self._median, (-1, clear), of_spread, session)
        away = noisy_quantile(rows, distances, 1.0 - tail, positive_grid(), event, session)
        # For normal targets the unit does not depend on the tail.
        reach = SCALE_DEVIATIONS / -float(ndtri(0.5 * tail))
        _, unit = apart(0.0, spread, 0.0, reach * away)
        self._unit = float(np.clip(unit, _LEAST, 1.0))
        if isinstance(problem.loss, Huber):
            problem = replace(problem, loss=Huber(problem.loss.threshold / self._unit))
        return problem, rows.with_targets(partial(_in_unit, self._median, self._unit))

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return raised(model, model.rescaled(theta, self._unit), self._median)


def _rule(problem):
    return quantile_rule("target_bounds", problem, SCALE_TAILS)


def _targets(rows: RowSource, part: Any) -> AnyArray:
    return rows.beside(part)[0].astype(np.float64)


def _distances(center: float, rows: RowSource, part: Any) -> AnyArray:
    return np.abs(_targets(rows, part) - center)


def _in_unit(center: float, unit: float, y: AnyArray) -> AnyArray:
    return ((y.astype(np.float64) - center) / unit).astype(y.dtype)
