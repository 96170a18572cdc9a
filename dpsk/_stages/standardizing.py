"""Rows of a network whose features have mean 0 and one size, where there is no noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import block_length
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

#: Deviations below this share of a mean are what single precision leaves of a constant.
_CONSTANT = 1e-6


class Standardizing(Stage):
    """Subtract the exact means of features and divide by their deviations, without a budget.

    Steps of one length serve no features of unlike sizes. The map is part of the layers, which
    therefore predict for rows as they are. Constant features are left out.
    """

    attribute = "center_"
    without_noise = True
    takes_groups = True

    @staticmethod
    def pays(problem: Problem) -> bool:
        """Return whether rows are standardized by default: as many columns as are whitened."""
        return not (problem.is_private or are_many(problem.model.n_features + 1))

    def event(self, problem: Problem) -> Event:
        """Return no event: only fits that are not private have it."""
        return Composed(())

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem of rows that are bounded already, and the standardized rows."""
        network, center = problem.model, np.zeros(rows.n_features)
        mean = rows.added(_powers, network, center)[0] / len(rows)
        center = mean.astype(np.float32)
        deviations = np.sqrt(rows.added(_powers, network, center)[1] / len(rows))
        varied = deviations > _CONSTANT * np.abs(mean)
        factors = np.divide(whitened_length(len(mean)) / np.sqrt(len(mean)), deviations,
                            out=np.zeros(len(mean)), where=varied)
        self.value, self._matrix = center, np.diag(factors).astype(np.float32)
        rows = rows.mapped(WhitenedRows(network, center, self._matrix))
        return replace(problem, model=replace(network, data_norm=None)), rows

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return model.before_map(theta, self.value, self._matrix)


def _powers(rows: RowSource, network: Any, center: FloatArray) -> FloatArray:
    """Return the sums of bounded features less a center, and of their squares, shape (2, d)."""
    sums = np.zeros((2, rows.n_features))
    for part in rows.blocks(block_length(rows.n_features)):
        block = network.bounded(rows.take(part).X).astype(np.float64) - center
        sums += block.sum(axis=0), np.square(block).sum(axis=0)
    return sums
