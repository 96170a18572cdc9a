"""Accelerated mirror descent with noisy gradients (DP-AccMD)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._models.clipping import HEADROOM
from dpsk._objective.requirements import FINITE_CLIP, IN_A_SET, POSITIVE_DELTA
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.plans import NoisySums
from dpsk._problem import full_clip_norm
from dpsk._queries import Gradients, Queries
from dpsk._solvers.base import Result, Solver
from dpsk._solvers.constrained.mirror import default_geometry, make_geometry

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["AcceleratedMirrorDescent"]

_FEWEST_STEPS, _MOST_STEPS = 5, 500


@dataclass(frozen=True)
class AcceleratedMirrorDescent(Solver):
    r"""Accelerated mirror descent inside a convex set, on noisy full-batch gradients.

    Let ``r = 2 / (k + 2)``, and g the noisy gradient at ``x = r z + (1 - r) y``. Then z takes a
    mirror step of length ``step (k + 2) / 4`` along g, and ``y = (1 - r) y + r z``. The set also
    constrains the intercept. No exact gradient is used.

    Privacy: T releases ``Gaussian(2 / z)``, hence exactly ``2 sqrt(T) / z``-GDP. Everything
    computed from the answers is post-processing.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: ``sqrt(c beta sqrt(B) n mu / (C G))``, within [5, 500],
        with the smoothness beta, and the distance B and the Gaussian width G of the set in its
        geometry. c is 1.4, or 25 with entropies, where noise matters far less than its bound.
    learning_rate : float or None
        Length of a step in the geometry's norm. None: ``1 / beta``.
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: the bound that the loss implies, or the bound
        for a slope of 1 if it implies none.
    geometry : {"entropy", "euclidean"} or None
        Mirror map. None: "entropy" on the l1 ball and the simplex, else "euclidean".

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 3. Its second step uses the exact gradient; this solver needs
    none, at the same rate.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    geometry: str | None = None

    asks: ClassVar[type[Queries]] = Gradients
    is_gaussian: ClassVar[bool] = True
    requires: ClassVar[tuple] = (IN_A_SET, POSITIVE_DELTA, FINITE_CLIP)
    whitens: ClassVar[bool] = False

    def configured(self, problem: Problem) -> Self:
        name = self.geometry or default_geometry(problem.penalty)
        geometry = make_geometry(problem.penalty, name, problem.model.shape)
        clip_norm = self._clip_norm(problem)
        smoothness = problem.usual_weight * problem.loss.smoothness
        smoothness *= geometry.row_bound(problem.model) ** 2
        max_iter = self.max_iter or _balanced_steps(problem, geometry, smoothness, clip_norm)
        return replace(self, geometry=name, clip_norm=clip_norm, max_iter=max_iter,
                       learning_rate=self.learning_rate or 1.0 / smoothness)

    def queries(self, problem: Problem) -> Gradients:
        return Gradients(NoisySums(FullBatch(), self.max_iter), self.clip_norm)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        geometry = make_geometry(penalty, self.geometry, theta.shape)
        state = geometry.start()
        mirrored = point = geometry.point(state)
        for k in range(self.max_iter):
            share = 2.0 / (k + 2.0)
            query = share * mirrored + (1.0 - share) * point
            gradient = oracle.gradient(query)
            state = geometry.moved(state, gradient, 0.25 * self.learning_rate * (k + 2.0))
            mirrored = geometry.point(state)
            point = share * mirrored + (1.0 - share) * point
        return Result(point, self.max_iter)

    def _clip_norm(self, problem):
        if self.clip_norm is not None:
            return min(self.clip_norm, full_clip_norm(problem))
        slope = problem.loss.lipschitz * problem.usual_weight
        return (slope if np.isfinite(slope) else 1.0) * problem.model.radius / HEADROOM


def _balanced_steps(problem, geometry, smoothness, clip_norm):
    """Return the T at which the bias ``8 beta B / T^2`` balances the noise."""
    signal = problem.n_samples * problem.mu
    spread = clip_norm * geometry.width
    gain = geometry.step_gain * smoothness * np.sqrt(geometry.divergence)
    wanted = np.sqrt(gain * signal / spread)
    return int(np.clip(round(float(wanted)), _FEWEST_STEPS, _MOST_STEPS))
