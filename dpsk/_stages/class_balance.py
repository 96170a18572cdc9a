"""Balancing of class scores by released class shares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.budgets import balance_share, mu_of_share
from dpsk._privacy.events import gaussian
from dpsk._stages.base import Stage
from dpsk._stages.class_models import class_shares, smoothed
from dpsk._statistics.moments import noisy_counts

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["ClassBalance", "log_odds", "noisy_class_shares"]


class ClassBalance(Stage):
    """Release the class shares, and subtract their logarithms from the intercepts.

    The log-odds are then those of equally frequent classes (King, Zeng 2001). A weighted loss has
    the same optimal scores, but its noise grows with the largest weight.
    """

    attribute = "class_shares_"
    without_noise = True
    takes_groups: ClassVar[bool] = True

    def __init__(self, n_classes):
        self._n_classes = n_classes

    def event(self, problem: Problem) -> Event:
        """Return the event of the release; raise ValueError with delta = 0."""
        if problem.delta == 0:
            raise ValueError("class_weight='balanced': what it releases gets Gaussian noise, "
                             "which needs delta > 0; declare weights in a dict.")
        return gaussian(_mu(problem))

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem and the rows unchanged."""
        self.value = noisy_class_shares(rows, self._n_classes, _mu(problem), session)
        return problem, rows

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        result = np.array(theta)
        result[-1:] -= log_odds(self.value)
        return result


def noisy_class_shares(rows: RowSource, n_classes: int, mu: float,
                       session: Session) -> FloatArray:
    """Return shares of the classes, all above 0, from noisy counts of integer targets."""
    counts = noisy_counts(rows, n_classes, mu, session)
    noise = (1.0 if n_classes == 2 else math.sqrt(2.0)) / mu
    # Without noise a class may have no rows.
    return smoothed(class_shares(counts, rows.n_units), max(noise, 0.5) / rows.n_units)


def log_odds(shares: FloatArray) -> FloatArray:
    """Return the offsets that shares add to scores: one for two classes, else one per class."""
    logs = np.log(shares)
    return logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()


def _mu(problem: Problem) -> float:
    return mu_of_share(problem, balance_share(problem.model.shape[0]))
