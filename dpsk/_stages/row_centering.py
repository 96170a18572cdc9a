"""Centering of rows at released means, in rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from dpsk._defaults.budgets import FAR_CENTER, FAR_NOISE
from dpsk._models import LessCenter
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk._stages.base import Stage
from dpsk._stages.center_rounds import left_by_round, released_center, rounds_event, rounds_pay
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["RowCentering"]


class RowCentering(Stage):
    """Subtract a released center from the rows of a linear model or of a network.

    A bound on norms about 0 is as large as rows are far from 0, and so is the noise on their
    second moment. About their mean it is as large as rows vary. The intercept, or the biases of
    the first layer, take the center up.
    """

    attribute: ClassVar[str | None] = "center_"
    takes_groups: ClassVar[bool] = True

    @classmethod
    def stages(cls, problem: Problem, rows: RowSource) -> list[RowCentering]:
        """Return a list of one such stage if it is worth its cost, else of none.

        Rows of a sparse table stay as they are, since centered rows would be dense.
        """
        return [cls()] if not rows.is_sparse and rounds_pay(_budget(problem)) else []

    def event(self, problem: Problem) -> Event:
        """Return the event of all rounds."""
        return rounds_event(_budget(problem))

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("center_norms", self._norms, "released", "each round of "
                         "centering scales rows down to this l2 norm, releases their mean and "
                         "subtracts it. Training subtracts the sum of these means, center_, "
                         "before data_norm applies")]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem and the centered rows."""
        self.value, self._norms = released_center(
            rows, _budget(problem), session, lambda center: rows.viewed(LessCenter(center)))
        given, rows = rows, self._centered(rows)
        holdout = None if given.holdout is None else self._centered(given.holdout)
        return problem, replace(cast("Any", rows), holdout=holdout)

    def warn_if_far(self, problem: Problem, norm: float) -> None:
        """Warn if a released bound on centered rows is about what rounds leave of their distance.

        Noise of the last mean alone is then as large as the bound. Rows that vary by more than it
        have a larger bound, and rows near 0 have no long center.
        """
        noise = left_by_round(_budget(problem)) * self._norms[-1]
        if norm < FAR_NOISE * noise and FAR_CENTER * norm < np.linalg.norm(self.value):
            warn("features lie far from 0, compared with how much they vary, and rows are too few "
                 "to center them, so noise may hide them: subtract a public constant from each, "
                 "or put DPStandardScaler before the model.", PrivacyWarning)

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return model.before_map(theta, self.value)

    def _centered(self, rows):
        return rows.viewed(LessCenter(self.value.copy()))


def _budget(problem):
    return Budget(problem.n_samples, problem.model.n_features, problem.epsilon, problem.delta)
