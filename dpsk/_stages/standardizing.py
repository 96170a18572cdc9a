"""Standardization of rows, in a fit without noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import block_length
from dpsk._data.longest import beyond_longest
from dpsk._defaults.budgets import are_many
from dpsk._defaults.networks import whitened_length
from dpsk._privacy.events import Composed
from dpsk._stages.base import Stage
from dpsk._stages.network_whitening import WhitenedRows

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["Standardizing"]

#: A feature is constant if its deviation is below this share of its mean (single precision).
_CONSTANT = 1e-6


class Standardizing(Stage):
    """Subtract the exact means of features and divide by their deviations, without a budget.

    No single learning rate suits features of very different scales. The map becomes part of the
    layers or coefficients, which therefore predict for the original rows. Constant features are
    left out.
    """

    attribute = "center_"
    without_noise = True
    takes_groups = True

    @staticmethod
    def pays(problem: Problem) -> bool:
        """Return whether rows are standardized by default; the limit is that for whitening."""
        return not (problem.is_private or are_many(problem.model.n_features + 1))

    def event(self, problem: Problem) -> Event:
        """Return an empty event: only fits without privacy use this stage."""
        return Composed(())

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem, whose rows need no bound any more, and the standardized rows."""
        model, center = problem.model, np.zeros(rows.n_features)
        mean = rows.added(_powers, model, center)[0] / len(rows)
        center = mean.astype(np.float32)
        deviations = np.sqrt(rows.added(_powers, model, center)[1] / len(rows))
        varied = deviations > _CONSTANT * np.abs(mean)
        factors = np.divide(whitened_length(len(mean)) / np.sqrt(len(mean)), deviations,
                            out=np.zeros(len(mean)), where=varied)
        self.value, self._matrix = center, np.diag(factors).astype(np.float32)
        rows = rows.mapped(WhitenedRows(model, center, self._matrix))
        norm = beyond_longest(rows) if model.is_linear else None
        return replace(problem, model=replace(model, data_norm=norm)), rows

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return model.before_map(theta, self.value, self._matrix)


def _powers(rows: RowSource, model: Any, center: FloatArray) -> FloatArray:
    """Return the sums of bounded features less a center, and of their squares, shape (2, d)."""
    sums = np.zeros((2, rows.n_features))
    for part in rows.blocks(block_length(rows.n_features)):
        block = model.bounded(rows.take(part).X).astype(np.float64) - center
        sums += block.sum(axis=0), np.square(block).sum(axis=0)
    return sums
