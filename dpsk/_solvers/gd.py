"""Gradient descent with noisy full-batch gradients."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpsk._oracle import GradientOracle
from dpsk._privacy.batch_plans import FullBatch, NoisySums
from dpsk._solvers.base import Solver
from dpsk._solvers.descent import (
    check_iterate,
    default_clip_norm,
    default_step,
    default_steps,
    descend,
)
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
        T. None: see `default_steps`.
    learning_rate : float or None
        None: see `default_step`.
    clip_norm : float or None
        C. None: see `default_clip_norm`.
    accelerate : bool
        Whether to use Nesterov's momentum.
    iterate : {"tail", "half", "last", "average", "random"} or None
        "tail" averages the last quarter of the iterates, "half" their last half. None: "half"
        on whitened rows, else "tail".

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; its unspecified constants are replaced by the exact
    composition.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    accelerate: bool = True
    iterate: str | None = None

    oracle: ClassVar[type] = GradientOracle
    requires: ClassVar[tuple] = ("delta > 0", "finite clip")
    ignores: ClassVar[tuple] = ("batch_size",)

    def configured(self, problem):
        if self.iterate is not None:
            check_iterate(self.iterate)
        check_flag("solver_options: accelerate", self.accelerate)
        clip_norm = default_clip_norm(problem, self.clip_norm)
        learning_rate = self.learning_rate
        if learning_rate is None:
            learning_rate = default_step(problem, clip_norm)
        max_iter = self.max_iter or default_steps(problem)
        iterate = self.iterate or ("tail" if problem.directions is None else "half")
        return replace(self, clip_norm=clip_norm, learning_rate=learning_rate, max_iter=max_iter,
                       iterate=iterate)

    def plan(self, problem):
        return NoisySums(FullBatch(), self.max_iter)

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
