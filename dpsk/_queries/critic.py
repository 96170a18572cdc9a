"""Noisy gradients of a critic's scores, and free gradients on generated rows."""

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
    """Noisy mean gradients of a critic's scores of the table's rows."""

    minimax: ClassVar[bool] = True

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> CriticOracle:
        """Return the oracle over rows."""
        problem, rows = data
        sums = NetworkSums(problem.model, problem.loss, rows, self.clip_norm)
        return CriticOracle(sums, self.answers, noise_multiplier, session)


class CriticOracle(GradientOracle):
    """Answer with noisy gradients on the table's rows, and exact ones on generated rows.

    Generated rows depend only on noisy answers and public randomness, so gradients on them are
    post-processing. They are clipped in the same way as gradients on the table's rows, because
    the two agree at a saddle point.
    """

    @property
    def critic(self) -> MLP:
        """MLP : the critic."""
        return self._sums.model

    @staticmethod
    def public_draws(key: int) -> PublicDraws:
        """Return a separate random stream seeded by `key`; it does not depend on the rows."""
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
        """Return the gradient of minus the mean score with respect to the generated rows."""
        forward = self.critic.forward(theta, rows)
        forward.backward(self._sums.loss.gradient(classes, forward.raw.copy()))
        return forward.input_gradient() / np.float32(len(rows))
