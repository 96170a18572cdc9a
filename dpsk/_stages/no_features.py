"""Models that fit only a constant, without features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.budgets import carries_slopes, kept_of_mean
from dpsk._models import LinearModel
from dpsk._objective.losses import Squared
from dpsk._privacy.events import Composed
from dpsk._problem import Geometry
from dpsk._stages.base import RowStage

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import Features, FloatArray

__all__ = ["NoFeatures"]

#: Norm bound on the column of zeros; negligible, so that the constant gets the whole row norm.
_LEAST_NORM = 1e-6


class NoFeatures(RowStage):
    """Leave out all features, where there are too few rows for useful coefficients.

    Nothing is released, so the whole budget goes to the constant. With squared loss, the fitted
    mean of targets is shrunk to the middle of their bounds, the more the larger its noise.
    """

    _kept = 1.0

    takes_groups = True
    words = "; then all features are left out"

    @classmethod
    def worthwhile(cls, problem: Problem, of_shares: bool = False) -> bool:
        """Return whether there are too few rows to fit coefficients without whitening.

        Not with a constraint set (a nonsmooth penalty): it keeps every coefficient small.
        """
        return (problem.is_private and problem.delta > 0
                and problem.penalty.is_smooth and not carries_slopes(problem))

    def prepared(self, problem: Problem) -> Problem:
        """Return the problem of the constant alone: one direction, equal in all rows."""
        model = LinearModel(1, self._model.n_outputs, True, _LEAST_NORM)
        return replace(problem, model=model, geometry=Geometry(1.0))

    def event(self, problem: Problem) -> Event:
        return Composed(())

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        if isinstance(problem.loss, Squared) and problem.delta > 0:
            self._kept = kept_of_mean(2.0 / (problem.n_samples * problem.mu))
        return problem, rows.mapped(_Nothing(self._dtype))

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        result = np.zeros(self._model.shape)
        result[-1] = self._kept * theta[-1]
        return result


@dataclass(frozen=True)
class _Nothing:
    """Map of rows to one column of zeros."""

    dtype: Any

    width: ClassVar[int] = 1

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the zeros of a block to `out`."""
        out[...] = 0.0
