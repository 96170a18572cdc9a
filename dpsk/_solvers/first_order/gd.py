"""Gradient descent with noisy full-batch gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.descent import (
    accelerates,
    default_clip_norm,
    default_step,
    default_steps,
    stretch,
)
from dpsk._defaults.groups import default_group_clip, group_step
from dpsk._defaults.networks import network_step, network_steps
from dpsk._defaults.noiseless import noiseless_descent
from dpsk._objective.penalties import ElasticNet
from dpsk._objective.requirements import FINITE_CLIP, POSITIVE_DELTA
from dpsk._parameters import check_choice, check_flag, check_real
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Gradients, Queries
from dpsk._solvers.first_order.descent import GroupClipped, descend
from dpsk._solvers.first_order.schedules import ITERATE, check_schedule, scheduled_steps
from dpsk._solvers.steps import check_iterate

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._solvers.base import Result
    from dpsk._typing import FloatArray

__all__ = ["GradientDescent"]

#: The most answers for which `noise_weights` are computed; their time grows with their square.
_MOST_FOLLOWED = 1000


class _Impulses:
    """Gradients of a quadratic; answer t has unit noise in its own column t."""

    def __init__(self, curvatures):
        self._curvatures, self._answers = curvatures, 0

    def gradient(self, theta: FloatArray) -> FloatArray:
        gradient = self._curvatures * theta
        gradient[:, self._answers] += 1.0
        self._answers += 1
        return gradient


@dataclass(frozen=True)
class GradientDescent(GroupClipped):
    r"""Proximal gradient descent on noisy full-batch gradients, accelerated by default.

    ``theta = prox(point - step (g + penalty gradient))`` with
    ``g = (1/n) [sum of clipped gradients + N(0, (z C)^2 I)]``, then Nesterov's momentum.

    Privacy: T releases ``Gaussian(2 / z)``, hence exactly ``2 sqrt(T) / z``-GDP. Everything
    computed from the answers is post-processing.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: see `default_steps`.
    learning_rate : float or None
        Length of a step. None: see `default_step`.
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: see `default_clip_norm`.
    accelerate : bool or None
        Whether to use Nesterov's momentum. None: for linear models with ``schedule="default"``.
        On whitened rows, `accelerates` excludes some losses and starts from released odds.
    iterate : {"tail", "half", "last", "average", "random"} or None
        Iterates to average: the last quarter ("tail"), the last half, or all. "random": stop at
        one of the first `max_iter`, whose index is drawn before the noise is calibrated. None:
        "half" on whitened rows, else "tail". Other schedules have their own default.
    schedule : {"default", "convex", "strongly_convex", "pl", "nonconvex"}
        A schedule other than "default" sets every None by the theorem for such an objective; see
        `schedules`. It does not clip if the loss bounds the gradient, it steps by the inverse
        smoothness, and it is not accelerated.
    pl_constant : float or None
        The public m of ``||gradient||^2 >= 2 m (F - min F)`` for ``schedule="pl"``. None: the
        penalty's curvature.
    group_clip_norm : float or None
        Clip norm of a group's contribution, for linear models on grouped rows. None: see
        `default_group_clip`.

    Notes
    -----
    At an infinite epsilon, defaults follow `dpsk._defaults.noiseless`. For networks, the number
    of steps, clip norm and step length follow `dpsk._defaults.networks`.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4 and Theorems 6.2 and 6.3. Exact composition replaces their
    unspecified constants.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    accelerate: bool | None = None
    iterate: str | None = None
    schedule: str = "default"
    pl_constant: float | None = None

    asks: ClassVar[type[Queries]] = Gradients
    is_gaussian: ClassVar[bool] = True
    requires: ClassVar[tuple] = (POSITIVE_DELTA, FINITE_CLIP)
    takes_temperature: ClassVar[bool] = True
    without_noise: ClassVar[bool] = True

    @property
    def takes_unit(self) -> bool:
        """bool : whether the plan ignores the penalty; schedules by theorem use it."""
        return self.schedule == "default"

    def configured(self, problem: Problem) -> Self:
        if self.iterate is not None:
            check_iterate(self.iterate)
        if self.accelerate is not None:
            check_flag("solver_options: accelerate", self.accelerate)
        check_choice("solver_options: schedule", self.schedule, ["default", *ITERATE])
        pl_constant = problem.penalty.strong_convexity
        if self.pl_constant is not None:
            pl_constant = check_real("solver_options: pl_constant", self.pl_constant, low=0,
                                     remedy="None, or a finite number >= 0")
        own = replace(self, pl_constant=float(pl_constant))
        if self.schedule == "default":
            return (own._by_default(problem) if problem.model.is_linear
                    else own._on_networks(problem))
        check_schedule(self.schedule, problem, pl_constant)
        return own._by_theorem(problem)

    def _by_default(self, problem):
        if problem.is_private:
            clip_norm = default_clip_norm(problem, self.clip_norm)
            group_clip = default_group_clip(problem, clip_norm, self.group_clip_norm)
            learning_rate = self.learning_rate
            if learning_rate is None:
                learning_rate = default_step(problem, clip_norm)
                if self.max_iter is None:
                    learning_rate *= stretch(problem, clip_norm)
                learning_rate *= group_step(clip_norm, group_clip)
            max_iter = self.max_iter or default_steps(problem, clip_norm)
        else:
            clip_norm, learning_rate, max_iter = noiseless_descent(
                problem, self.clip_norm, self.learning_rate, self.max_iter)
            group_clip = default_group_clip(problem, clip_norm, self.group_clip_norm)
        iterate = self.iterate or ("tail" if problem.geometry is None else "half")
        return replace(self, clip_norm=clip_norm, learning_rate=learning_rate, max_iter=max_iter,
                       group_clip_norm=group_clip, iterate=iterate, accelerate=accelerates(problem)
                       if self.accelerate is None else self.accelerate)

    def _on_networks(self, problem):
        clip_norm = default_clip_norm(problem, self.clip_norm)
        default_group_clip(problem, clip_norm, self.group_clip_norm)
        max_iter = self.max_iter or network_steps(problem)
        # Constant steps must be shorter than steps that decay.
        learning_rate = self.learning_rate or 0.5 * network_step(problem, clip_norm, max_iter)
        return replace(self, clip_norm=clip_norm, learning_rate=learning_rate, max_iter=max_iter,
                       iterate=self.iterate or "tail", accelerate=bool(self.accelerate))

    def _by_theorem(self, problem):
        bounded = np.isfinite(problem.lipschitz)
        clip_norm = default_clip_norm(
            problem, np.inf if self.clip_norm is None and bounded else self.clip_norm)
        step = self.learning_rate
        if step is None:
            usual = replace(problem, weight_bound=problem.usual_weight)
            step = 1.0 / (usual.smoothness + problem.penalty.smoothness)
        max_iter = self.max_iter or scheduled_steps(self.schedule, problem, clip_norm, step,
                                                    self.pl_constant)
        group_clip = default_group_clip(problem, clip_norm, self.group_clip_norm)
        return replace(self, clip_norm=clip_norm, learning_rate=step, max_iter=max_iter,
                       group_clip_norm=group_clip, iterate=self.iterate or ITERATE[self.schedule],
                       accelerate=bool(self.accelerate))

    def queries(self, problem: Problem) -> Gradients:
        return Gradients(NoisySums(FullBatch(), self.max_iter), self.clip_norm,
                         self.group_clip_norm)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        return descend(oracle, penalty, theta, step=self.learning_rate, n_steps=self.max_iter,
                       iterate=self.iterate, momentum=self._momentum(penalty))

    def noise_weights(self, curvatures: FloatArray) -> FloatArray | None:
        if self.max_iter > _MOST_FOLLOWED:
            return None
        if not len(curvatures):
            return np.empty((0, 0))
        # Steps are linear in the noise of the answers, so each answer's noise has one column.
        penalty = ElasticNet(0.0, 0.0)
        answers = _Impulses(np.asarray(curvatures)[:, None])
        result = self.minimize(answers, penalty, np.zeros((len(curvatures), self.max_iter)))
        return -result.theta

    def _momentum(self, penalty):
        if not self.accelerate:
            return lambda t: 0.0
        root = np.sqrt(min(1.0, self.learning_rate * penalty.strong_convexity))
        # With strong convexity, the constant momentum for its rate is better in later steps.
        ceiling = (1.0 - root) / (1.0 + root)
        return lambda t: min(t / (t + 3.0), ceiling)
