"""Scaling of small features by released powers of two."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from dpsk._defaults.budgets import (
    COLUMN_CLEARANCE,
    COLUMN_OCTAVES,
    COLUMN_SHARES,
    COLUMN_TAILS,
    mu_of_share,
)
from dpsk._models import ScaledColumns
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Repeated
from dpsk._privacy.plans import choice_event
from dpsk._stages.base import Stage
from dpsk._statistics.column_octaves import MOST_ROWS, N_CANDIDATES, noisy_column_octaves

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Elementary, Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["ColumnScaling"]


class ColumnScaling(Stage):
    """Multiply small features of a linear model or of a network by powers of two.

    One bound on norms holds for all features, and noise is as large as that bound. Without this
    stage, noise hides features that are small beside the others.

    The size of a feature is an octave: that of a high quantile of its differences between two
    rows. It does not depend on where the feature lies. Nearly constant features have no such
    octave. They and features up to a few octaves below the largest one stay as they are. Smaller
    ones are raised to that, as noise hides no more of them then.
    """

    attribute: ClassVar[str | None] = "feature_scales_"

    @classmethod
    def stages(cls, problem: Problem, rows: RowSource, row_stage: Any = None) -> list[Any]:
        """Return a list of one such stage if rows suffice for all octaves, else of none.

        Rows of a sparse table stay as they are, and so do groups of rows. `row_stage` maps the
        rows later.
        """
        width = rows.n_features
        in_groups = problem.grouped or rows.groups is not None
        if rows.is_sparse or in_groups or problem.delta == 0 or width < 2:
            return []
        least = _tail(problem, width, COLUMN_SHARES[1])
        return [cls(width, row_stage)] if least <= COLUMN_TAILS[1] else []

    def __init__(self, n_features: int, row_stage: Any = None) -> None:
        self._n_features, self._row_stage = n_features, row_stage

    def event(self, problem: Problem) -> Event:
        """Return the event of one choice per feature."""
        return Repeated(self._choice(problem)[0], self._n_features)

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("feature_scales", [float(self.value.min()), float(self.value.max())],
                         "released", "least and largest divisor: training divides small "
                         "features by 1/2, 1/4, ... to raise them, before norms of rows are "
                         "bounded")]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem and the scaled rows."""
        choice, tail = self._choice(problem)
        found = noisy_column_octaves(rows, tail, choice, session)
        known, below = np.isfinite(found), np.zeros(self._n_features)
        below[known] = found.max() - found[known]
        self.value = 2.0**-np.maximum(below - COLUMN_OCTAVES, 0.0)
        if (self.value == 1.0).all():
            return problem, rows
        if self._row_stage is not None:
            self._row_stage.take_scales(self.value)
        row_map = ScaledColumns(self.value.astype(rows.dtype))
        holdout = None if rows.holdout is None else rows.holdout.viewed(row_map)
        return problem, replace(cast("Any", rows.viewed(row_map)), holdout=holdout)

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        """Return parameters, or a preconditioner, for the original rows; an intercept stays."""
        return model.before_map(theta, np.zeros(self._n_features), 1.0 / self.value)

    def _choice(self, problem: Problem) -> tuple[Elementary, float]:
        """Return the event of one choice, and the share of pairs in an octave or above."""
        usual = _tail(problem, self._n_features, COLUMN_SHARES[0])
        tail = min(max(usual, COLUMN_TAILS[0]), COLUMN_TAILS[1])
        return choice_event(_range(problem, self._n_features, tail)), tail


def _range(problem, n_features, tail):
    """Return the loss range at which an octave without pairs is unlikely for any feature."""
    clearance = COLUMN_CLEARANCE + math.log(N_CANDIDATES * n_features)
    return 4.0 * clearance / (tail * min(problem.n_samples, MOST_ROWS))


def _tail(problem, n_features, share):
    """Return the share of pairs in an octave or above at this share of mu^2."""
    width = bounded_range_epsilon(mu_of_share(problem, share / n_features))
    return _range(problem, n_features, 1.0) / width
