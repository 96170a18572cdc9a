"""Descent on a running estimate of the primal gradient, updated by differences (PrivateDiff)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpsk._oracle import NoisyKind, SaddleDifferenceOracle, SaddleKinds
from dpsk._privacy.batch_plans import batch_plan
from dpsk._solvers.base import Result, Solver
from dpsk._solvers.descent import ITERATES, check_iterate
from dpsk._solvers.saddle_defaults import configured_saddle

__all__ = ["PrivateDiff"]


@dataclass(frozen=True)
class PrivateDiff(Solver):
    r"""Descent ascent whose primal gradient is a release and differences added to it.

    A round makes `inner_steps` noisy ascent steps in the dual block, then asks for the primal
    gradient at the start of every `period` rounds and for its change since the last round
    otherwise, and descends along the sum.

    Privacy: ``R inner_steps`` dual sums, ``ceil(R / period)`` primal sums and the other rounds'
    differences, each over a Poisson batch of its own and charged at its own noise multiplier.
    Every gradient is taken at points that were noised before. What a round without movement
    does not ask for is charged in the plan all the same.

    Parameters
    ----------
    max_iter : int or None
        Rounds R. None: see `configured_saddle`, as for the next four.
    learning_rate : float or None
    clip_norm : float or None
    batch_size : int or None
    dual_clip_norm : float or None
    dual_learning_rate : float
    period : int
        Rounds between two releases of the whole gradient.
    inner_steps : int
        Ascent steps a round.
    slopes : (float, float)
        C2 and C3: a row's primal gradient is taken to change by at most
        ``C2 ||x - x'|| + C3 ||y - y'||``; greater changes are clipped.
    difference_ratio : float
        Noise multiplier of differences over that of whole gradients.
    iterate : {"tail", "half", "last", "average", "random"}

    References
    ----------
    Zhang, Lei, Ding, Xiang, Xu, Wang (2025), Algorithm 3, repaired: the dual variable is noised
    before it is used, and a difference is over the same rows at both points.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    batch_size: int | None = None
    dual_clip_norm: float | None = None
    dual_learning_rate: float | None = None
    period: int = 2
    inner_steps: int = 3
    slopes: tuple = (1.0, 1.0)
    difference_ratio: float = 1.0
    iterate: str = "tail"

    oracle: ClassVar[type] = SaddleDifferenceOracle
    minimax: ClassVar[bool] = True
    requires: ClassVar[tuple] = ("delta > 0",)

    def configured(self, problem):
        check_iterate(self.iterate)
        return configured_saddle(self, problem)

    @property
    def clip_bounds(self):
        """tuple of float : the two clips, then C2 and C3."""
        return (self.clip_norm, self.dual_clip_norm, *self.slopes)

    def plan(self, problem):
        batches = batch_plan(problem.n_samples, self.batch_size)
        whole = -(-self.max_iter // self.period)
        return SaddleKinds(
            dual=NoisyKind(batches, self.max_iter * self.inner_steps),
            base=NoisyKind(batches, whole),
            difference=NoisyKind(batches, self.max_iter - whole, self.difference_ratio))

    def minimize(self, oracle, penalty, primal):
        share = ITERATES[self.iterate]
        stop = self.max_iter if share is not None else 1 + oracle.public_index(self.max_iter)
        first_kept = min(stop - 1, int(np.ceil(stop * (1.0 - (share or 0.0)))))
        dual, kept, estimate, last = oracle.dual_set.start, np.zeros_like(primal), None, None
        for t in range(stop):
            for _ in range(self.inner_steps):
                dual = self._ascended(oracle, primal, dual)
            point = (primal, dual)
            if t % self.period == 0:
                estimate = oracle.gradient(*point)
            else:
                estimate = estimate + oracle.difference(point, last)
            last = point
            step = self.learning_rate * (1.0 - t / self.max_iter)
            primal = penalty.prox(primal - step * (estimate + penalty.gradient(primal)), step)
            if t >= first_kept:
                kept += primal
        return Result(kept / (stop - first_kept), self.max_iter)

    def _ascended(self, oracle, primal, dual):
        """Return the dual point after one noisy, projected ascent step."""
        ascent = oracle.dual_gradient(primal, dual) + oracle.dual_set.gradient(dual)
        return oracle.dual_set.project(dual + self.dual_learning_rate * ascent)
