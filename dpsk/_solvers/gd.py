"""Gradient descent with noisy full-batch gradients."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpsk._oracle import GradientOracle, NoisyGradients
from dpsk._privacy import gdp
from dpsk._privacy.batch_plans import FullBatch
from dpsk._solvers.base import Solver
from dpsk._solvers.descent import check_iterate, default_clip_norm, default_step, descend
from dpsk._utils.parameters import check_flag

__all__ = ["GradientDescent"]


@dataclass(frozen=True)
class GradientDescent(Solver):
    r"""Proximal gradient descent on noisy full-batch gradients, accelerated by default.

    ``theta = prox(point - step (g + penalty gradient))`` with
    ``g = (1/n) [sum of clipped gradients + N(0, (z C)^2 I)]``, then Nesterov's momentum.

    Privacy: T releases ``Gaussian(2 / z)``, hence exactly ``2 sqrt(T) / z``-GDP. Everything
    computed from the answers is post-processing.

    Parameters
    ----------
    max_iter : int or None
        T. None: ``2 sqrt(n mu / sqrt(dimension))`` rounded, within [5, 1000], where mu is
        the budget as Gaussian differential privacy.
    learning_rate : float or None
        None: see `default_step`.
    clip_norm : float or None
        C. None: half the bound that loss and row norms imply.
    accelerate : bool
    iterate : {"tail", "last", "average", "random"}
        "tail" averages the last quarter of the iterates.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; its unspecified constants are replaced by the exact
    composition.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    accelerate: bool = True
    iterate: str = "tail"

    requires: ClassVar[tuple] = ("delta > 0", "finite clip")
    ignores: ClassVar[tuple] = ("batch_size",)

    def configured(self, problem):
        check_iterate(self.iterate)
        check_flag("solver_options: accelerate", self.accelerate)
        clip_norm = default_clip_norm(problem, self.clip_norm)
        learning_rate = self.learning_rate
        if learning_rate is None:
            learning_rate = default_step(problem, clip_norm)
        max_iter = self.max_iter
        if max_iter is None and problem.delta > 0:
            mu = gdp.mu(problem.epsilon, problem.delta)
            signal = problem.n_samples * mu / np.sqrt(problem.model.dimension)
            max_iter = int(np.clip(round(2.0 * np.sqrt(signal)), 5, 1000))
        return replace(self, clip_norm=clip_norm, learning_rate=learning_rate, max_iter=max_iter)

    def plan(self, problem):
        return NoisyGradients(FullBatch(), self.max_iter)

    def oracle(self, problem, sums, noise_multiplier, stream, ledger):
        return GradientOracle(sums, self.plan(problem), noise_multiplier, stream, ledger)

    def minimize(self, oracle, penalty, theta):
        return descend(oracle, penalty, theta, step=self.learning_rate, n_steps=self.max_iter,
                       iterate=self.iterate, momentum=self._momentum(penalty))

    def _momentum(self, penalty):
        if not self.accelerate:
            return lambda t: 0.0
        root = np.sqrt(min(1.0, self.learning_rate * penalty.strong_convexity))
        # With strong convexity the constant momentum of its rate is the better, later on.
        ceiling = (1.0 - root) / (1.0 + root)
        return lambda t: min(t / (t + 3.0), ceiling)
