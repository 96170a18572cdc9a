"""Stochastic gradient descent ascent on joint noisy gradients (DP-SGDA)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpsk._oracle import JointSums, SaddleOracle
from dpsk._privacy.batch_plans import batch_plan
from dpsk._solvers.base import Result, Solver
from dpsk._solvers.descent import ITERATES, check_iterate
from dpsk._solvers.saddle_defaults import configured_saddle

__all__ = ["GradientDescentAscent"]


@dataclass(frozen=True)
class GradientDescentAscent(Solver):
    r"""Descend in the primal and ascend in the dual block, on one noisy answer a step.

    ``v = m v + (1 - m) g_x``, ``x = x - s_t v``, ``y = project(y + r (g_y + public term))``
    where ``g_x, g_y`` are noisy means over the same Poisson batch of gradients clipped block
    by block, and ``s_t`` falls linearly to 0.

    Privacy: T joint releases, each one ``SampledGaussian(q, z)`` with
    ``1/z^2 = 1/z_x^2 + 1/z_y^2``. The batch is shared, so the two blocks are one event and
    never two.

    Parameters
    ----------
    max_iter : int or None
        T. None: see `configured_saddle`, as for the next four.
    learning_rate : float or None
    clip_norm : float or None
        Of a row's primal gradient.
    batch_size : int or None
    dual_clip_norm : float or None
        Of a row's dual gradient.
    dual_learning_rate : float
    dual_share : float in (0, 1)
        Share of ``1/z^2`` spent on the dual gradient.
    momentum : float in [0, 1)
    iterate : {"tail", "half", "last", "average", "random"}

    References
    ----------
    Zhang, Lei, Ding, Xiang, Xu, Wang (2025), Algorithm 1, accounted for Poisson batches and
    the replace-one relation.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    batch_size: int | None = None
    dual_clip_norm: float | None = None
    dual_learning_rate: float | None = None
    dual_share: float = 0.1
    momentum: float = 0.9
    iterate: str = "tail"

    oracle: ClassVar[type] = SaddleOracle
    minimax: ClassVar[bool] = True
    requires: ClassVar[tuple] = ("delta > 0",)

    def configured(self, problem):
        check_iterate(self.iterate)
        return configured_saddle(self, problem)

    @property
    def clip_bounds(self):
        """tuple of float : the clips of the two blocks."""
        return self.clip_norm, self.dual_clip_norm

    def plan(self, problem):
        return JointSums(batch_plan(problem.n_samples, self.batch_size), self.max_iter,
                         self.dual_share)

    def minimize(self, oracle, penalty, primal):
        share = ITERATES[self.iterate]
        stop = self.max_iter if share is not None else 1 + oracle.public_index(self.max_iter)
        first_kept = min(stop - 1, int(np.ceil(stop * (1.0 - (share or 0.0)))))
        dual_set = oracle.dual_set
        dual, velocity, kept = dual_set.start, np.zeros_like(primal), np.zeros_like(primal)
        for t in range(stop):
            gradient, ascent = oracle.gradients(primal, dual)
            velocity *= self.momentum
            velocity += (1.0 - self.momentum) * gradient
            step = self.learning_rate * (1.0 - t / self.max_iter)
            primal = penalty.prox(primal - step * (velocity + penalty.gradient(primal)), step)
            ascent += dual_set.gradient(dual)
            dual = dual_set.project(dual + self.dual_learning_rate * ascent)
            if t >= first_kept:
                kept += primal
        return Result(kept / (stop - first_kept), self.max_iter)
