"""Newton's method with noisy gradients and noisy Hessians."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpsk._defaults.newton import newton_clip_norm, newton_curvature, newton_shares, newton_steps
from dpsk._objective.requirements import (
    BOUNDED_CURVATURE,
    CONVEX_LOSS,
    FINITE_CLIP,
    POSITIVE_DELTA,
    RIDGE_OR_NONE,
    SCALAR_PREDICTION,
)
from dpsk._oracle import CurvatureOracle
from dpsk._parameters import check_real
from dpsk._privacy.plans import SharedBudget
from dpsk._solvers.base import Result, Solver

__all__ = ["NewtonDescent"]

#: No step changes the scores of usual rows by more.
_MOST_CHANGE = 2.0
#: The floor under eigenvalues over the edge of those of the noise.
_FLOOR = 0.5


@dataclass(frozen=True)
class NewtonDescent(Solver):
    max_iter: int | None = None
    clip_norm: float | None = None
    curvature_clip: float | None = None
    hessian_share: float | None = None
    growth: float = 2.0

    oracle: ClassVar[type] = CurvatureOracle
    requires: ClassVar[tuple] = (POSITIVE_DELTA, SCALAR_PREDICTION, CONVEX_LOSS,
                                 BOUNDED_CURVATURE, FINITE_CLIP, RIDGE_OR_NONE)
    takes_temperature: ClassVar[bool] = True
    takes_unit = True

    def configured(self, problem):
        max_iter = self.max_iter or newton_steps(problem)
        share = self.hessian_share
        if share is None:
            share = newton_shares(problem)
        return replace(self, max_iter=max_iter, hessian_share=share,
                       clip_norm=newton_clip_norm(problem, self.clip_norm),
                       curvature_clip=newton_curvature(problem, self.curvature_clip))

    @property
    def clip_bounds(self):
        return self.clip_norm, self.curvature_clip

    def plan(self, problem):
        gradients = self.growth ** np.arange(self.max_iter)
        gradients *= (1.0 - self.hessian_share) / gradients.sum()
        hessians = [self.hessian_share / max(1, self.max_iter - 1)] * (self.max_iter - 1)
        if self.max_iter == 1:
            gradients /= gradients.sum()
        shares = [gradients[0]]
        for pair in zip(hessians, gradients[1:]):
            shares += pair
        return SharedBudget(tuple(map(float, shares)))

    def minimize(self, oracle, penalty, theta):
        ridge = penalty.slope(np.eye(len(theta)))
        hessian, floor = oracle.start_hessian, 0.0
        total, weight, kept = np.zeros_like(theta), 0.0, 0
        for t in range(self.max_iter):
            if t:
                hessian = oracle.hessian(theta)
                floor = _FLOOR * oracle.hessian_edge
            gradient = oracle.gradient(theta) + penalty.slope(theta)
            values, vectors = np.linalg.eigh(hessian)
            raised = (vectors * np.maximum(values, floor)) @ vectors.T
            step = -np.linalg.solve(raised + ridge, gradient)
            change = np.sqrt(step @ step*oracle.mean)
            theta = theta + step * min(1.0, _MOST_CHANGE / change)
            if t >= self.max_iter - KEEP:
                w = self.growth ** t
                total += w * theta
                weight += w
        return Result(total / weight, self.max_iter)


KEEP = 1
