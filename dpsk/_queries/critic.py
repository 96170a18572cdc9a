"""Noisy gradients of a critic's scores, and what generated rows say, which costs nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.source import Rows
from dpsk._privacy.noise.public import PublicDraws
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk._queries.gradients import GradientOracle
from dpsk._sums.network_sums import NetworkSums

if TYPE_CHECKING:
    from typing_extensions import Self

    from dpsk._data.source import RowSource
    from dpsk._models.mlp import MLP
    from dpsk._queries.context import Context
    from dpsk._typing import FloatArray, IntArray

__all__ = ["CriticOracle"]


class CriticOracle(GradientOracle):
    """Answer with noisy gradients of the mean score of rows of the table, and public ones.

    Generated rows follow from answers and from public draws, so that gradients on them are
    post-processing. They are clipped like those of the table's rows: at a saddle point the two
    are alike.
    """

    minimax = True

    @classmethod
    def open(cls, context: Context) -> Self:
        """Return an oracle over the rows of a `Context`."""
        problem = context.problem
        sums = NetworkSums(problem.model, problem.loss, context.rows, context.clip)
        return cls(sums, context.declared, context.noise_multiplier, context.session)

    @property
    def critic(self) -> MLP:
        """MLP : the model of scores."""
        return self._sums.model

    @staticmethod
    def public_draws(key: int) -> PublicDraws:
        """Return draws that follow from an int: a stream of its own, which no row keys."""
        return PublicDraws(NoiseSeed(key), "rows generated during a fit")

    def opposed(self, theta: FloatArray, rows: RowSource, classes: IntArray) -> FloatArray:
        """Return the mean of clipped gradients of the scores of generated rows, float64."""
        loss = self._sums.loss
        against = NetworkSums(self.critic, replace(loss, sign=-loss.sign),
                              Rows(rows, classes), self._sums.clip_norm)
        found = against.gradient(theta)
        found /= len(rows)
        return found

    def pull(self, theta: FloatArray, rows: RowSource, classes: IntArray) -> FloatArray:
        """Return the gradient in generated rows of minus their mean score, like the rows."""
        forward = self.critic.forward(theta, rows)
        forward.backward(self._sums.loss.gradient(classes, forward.raw.copy()))
        return forward.input_gradient() / np.float32(len(rows))
