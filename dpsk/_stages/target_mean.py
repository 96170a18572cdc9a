"""Targets of a network, centered at their noisy mean."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.budgets import kept_of_mean, mu_of_share, target_mean_share
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import Gaussian
from dpsk._stages.base import Stage
from dpsk._statistics.moments import noisy_target_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["TargetMean", "raised"]


class TargetMean(Stage):
    """Release a noisy mean of targets in [-1, 1], and fit the targets less that mean.

    A network starts from 0, which may be far from all targets where their bounds are wide. The
    few steps that noise allows would then be used up to fit the constant.
    """

    takes_groups: ClassVar[bool] = True

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        return problem.delta > 0

    def event(self, problem: Problem) -> Any:
        """Return the event of the release."""
        return Gaussian(mu_of_share(problem, target_mean_share(problem)))

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("target_size", 1.0, "derived", "size of a target as it enters their "
                         "noisy mean, in the unit of the fit")]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the unchanged problem, and the rows with centered targets."""
        mean, noise_std = noisy_target_mean(rows, self.event(problem).mu, session)
        self._mean = np.float32(np.clip(kept_of_mean(noise_std) * mean, -1.0, 1.0))
        return problem, rows.with_targets(partial(_less, self._mean))

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return raised(model, theta, self._mean)


def raised(model: Any, theta: FloatArray, constant: float) -> FloatArray:
    """Return the parameters of the network with a constant added to its raw predictions."""
    theta = theta.copy()
    _, biases = model.layers(theta[:model.dimension])[-1]
    biases += constant
    return theta


def _less(center: float, y: FloatArray) -> FloatArray:
    return y - center
