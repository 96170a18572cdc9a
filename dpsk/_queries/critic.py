"""Noisy gradients of a critic's scores, and what generated rows say, which costs nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.source import Rows
from dpsk._privacy.noise.public import PublicDraws
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk._queries.gradients import GradientOracle, Gradients
from dpsk._sums.network_sums import NetworkSums

if TYPE_CHECKING:
    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._models.mlp import MLP
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray, IntArray

__all__ = ["CriticGradients", "CriticOracle"]


@dataclass(frozen=True)
class CriticGradients(Gradients):
    """Noisy mean gradients of a critic's scores of the rows of the table."""

    minimax: ClassVar[bool] = True

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> CriticOracle:
        """Return the oracle over rows."""
        problem, rows = data
        sums = NetworkSums(problem.model, problem.loss, rows, self.clip_norm)
        return CriticOracle(sums, self.answers, noise_multiplier, session)


class CriticOracle(GradientOracle):
    """Answer with noisy gradients of the mean score of rows of the table, and public ones.

    Generated rows follow from answers and from public draws, so that gradients on them are
    post-processing. They are clipped like those of the table's rows: at a saddle point the two
    are alike.
    """

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
