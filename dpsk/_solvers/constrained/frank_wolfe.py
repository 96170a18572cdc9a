"""Frank-Wolfe over the l1 ball with privately chosen vertices."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._models.clipping import HEADROOM
from dpsk._objective.requirements import FINITE_CLIP, IN_AN_L1_BALL
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.plans import ExponentialChoices
from dpsk._queries import Queries, Vertices
from dpsk._solvers.base import Result, Solver

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["FrankWolfe"]

_FEWEST_STEPS, _MOST_STEPS = 5, 1000


@dataclass(frozen=True)
class FrankWolfe(Solver):
    r"""Conditional gradient: steps ``2 / (t + 2)`` towards vertices ``+-radius e_j``.

    Each step chooses the vertex with the largest score ``-<vertex, gradient>`` plus Gumbel noise
    of scale ``radius z C / n``. After T steps at most T coefficients are nonzero. The ball also
    constrains the intercept.

    Privacy: T choices, each with a privacy loss of range ``4 / z``. A choice is ``Pure(4 / z)``,
    and also Gaussian with mu of about ``2.51 / z``. The plan uses whichever needs less noise. Only
    the chosen vertices are released.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: ``(0.7 S mu)^(2/3)``, or ``sqrt(S epsilon)`` with delta = 0,
        within [5, 1000]. Here ``S = beta X^2 radius n / (C log 2p)``, with the loss's smoothness
        beta and the bound X on coordinates of rows.
    clip_norm : float or None
        C, the clip norm of the largest absolute entry of a row's gradient. None: the bound that
        the loss implies, or the bound for a slope of 1 if it implies none.

    References
    ----------
    Talwar, Thakurta, Zhang (2015), Algorithm 2, with Gumbel in place of Laplace noise. Dong,
    Durfee, Rogers (2020) for the privacy cost of a choice.
    """

    max_iter: int | None = None
    clip_norm: float | None = None

    asks: ClassVar[type[Queries]] = Vertices
    requires: ClassVar[tuple] = (IN_AN_L1_BALL, FINITE_CLIP)
    whitens: ClassVar[bool] = False
    clip_measure = "largest absolute entry"

    def configured(self, problem: Problem) -> Self:
        clip_norm = self._clip_norm(problem)
        return replace(self, clip_norm=clip_norm,
                       max_iter=self.max_iter or _balanced_steps(problem, clip_norm))

    def queries(self, problem: Problem) -> Vertices:
        pure = _pure_is_cheaper(problem, self.max_iter)
        return Vertices(ExponentialChoices(self.max_iter, pure), self.clip_norm)

    def minimize(self, oracle: Any, penalty: Any, theta: FloatArray) -> Result:
        theta = theta.copy()
        for t in range(self.max_iter):
            place, sign = oracle.descent_vertex(theta)
            share = 2.0 / (t + 2.0)
            theta *= 1.0 - share
            theta.flat[place] += share * sign * penalty.radius
        return Result(theta, self.max_iter)

    def _clip_norm(self, problem):
        longest = problem.model.coordinate_bound / HEADROOM
        if self.clip_norm is not None:
            return min(self.clip_norm, problem.loss.lipschitz * problem.weight_bound * longest)
        slope = problem.loss.lipschitz * problem.usual_weight
        return (slope if np.isfinite(slope) else 1.0) * longest


def _pure_is_cheaper(problem, steps):
    """Return whether pure composition of the choices needs less noise than Gaussian."""
    if problem.delta == 0:
        return True
    return problem.epsilon / steps >= bounded_range_epsilon(problem.mu / math.sqrt(steps))


def _balanced_steps(problem, clip_norm):
    """Return the T at which the risk by curvature, ``1 / T``, balances the noise.

    The noise grows with the square root of T for Gaussian choices, and with T for pure ones.
    """
    curvature = problem.loss.smoothness * problem.usual_weight * problem.model.coordinate_bound**2
    spread = clip_norm * np.log(2.0 * problem.model.dimension) / problem.n_samples
    ratio = curvature * problem.penalty.radius / spread
    if problem.delta > 0:
        wanted = (0.7 * ratio * problem.mu) ** (2.0 / 3.0)
    else:
        wanted = np.sqrt(ratio * problem.epsilon)
    return int(np.clip(round(float(wanted)), _FEWEST_STEPS, _MOST_STEPS))
