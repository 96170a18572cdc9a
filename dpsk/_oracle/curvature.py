r"""Noisy gradients and Hessians of the mean loss."""

import math

import numpy as np

from dpsk._oracle.base import Oracle
from dpsk._oracle.gradients import open_sums
from dpsk._oracle.release import Part
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.events import gaussian
from dpsk._privacy.plans import NoisySums
from dpsk._privacy.sensitivity import REPLACE_ONE

__all__ = ["CurvatureOracle"]


class CurvatureOracle(Oracle):
    @classmethod
    def open(cls, context):
        problem, (clip, curvature) = context.problem, context.clip
        prices = context.declared.prices(context.noise_multiplier)
        sums = open_sums(problem.model, problem.loss, NoisySums(FullBatch(), 1), clip,
                         context.rows, REPLACE_ONE / max(prices))
        geometry = problem.geometry
        self = cls(sums, curvature, prices, context.releases)
        self.mean = 1.0 / geometry.effective_rank if geometry else problem.model.radius**2/problem.model.dimension
        self.start_hessian = problem.loss.smoothness * problem.usual_weight * self.mean*np.eye(problem.model.dimension)
        return self

    def __init__(self, sums, curvature, prices, releases):
        self._sums, self._curvature, self._releases = sums, curvature, releases
        self._prices = iter(prices)

    @property
    def arithmetic(self):
        return self._sums.arithmetic

    def gradient(self, theta):
        mu, sums = next(self._prices), self._sums
        part = Part(REPLACE_ONE / mu, sums.clip_norm, unit=sums.resolution,
                    terms=sums.rounding_terms(sums.n_samples), size=theta.size)
        return self._releases(gaussian(mu), lambda inside: sums.gradient(theta), part,
                              divisor=sums.n_samples)

    def hessian(self, theta):
        mu, sums = next(self._prices), self._sums
        bound = math.sqrt(2.0) * self._curvature
        self.hessian_edge = bound / mu / sums.n_samples * math.sqrt(2.0 * len(theta))
        part = Part(1.0 / mu, bound, "symmetric_normal", terms=sums.n_samples,
                    size=len(theta)**2)
        return self._releases(gaussian(mu), lambda inside: sums.bounded(theta, self._curvature),
                              part, divisor=sums.n_samples)
