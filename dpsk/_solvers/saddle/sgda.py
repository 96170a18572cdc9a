"""Stochastic gradient descent ascent on joint noisy gradients (DP-SGDA)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dpsk._defaults.losses import saddle_defaults
from dpsk._defaults.saddle import configured_saddle
from dpsk._objective.requirements import FINITE_CLIP, POSITIVE_DELTA
from dpsk._parameters import check_real
from dpsk._privacy.batches import batch_plan
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Queries, SaddleGradients
from dpsk._solvers.base import Result, Solver
from dpsk._solvers.saddle.path import TailMean, check_saddle, dual_bound
from dpsk._solvers.steps import Momentum, falling_step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._privacy.certificate_fields import Enforced
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["GradientDescentAscent"]


@dataclass(frozen=True)
class GradientDescentAscent(Solver):
    r"""Descend in the primal and ascend in the dual block, with one noisy query a step.

    ``v = m v + (1 - m) g_x``, ``x = x - s_t v``, ``y = project(y + r (g_y + public term))``.
    The noisy means ``g_x`` and ``g_y`` use the same Poisson batch, with gradients clipped in each
    block. The step ``s_t`` falls linearly to 0.

    Privacy: T joint releases, each one ``SampledGaussian(q, z)`` with
    ``1/z^2 = 1/z_x^2 + 1/z_y^2``. Both blocks are accounted as one event, because they share the
    batch.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: see `configured_saddle`, which also sets the next five.
    learning_rate : float or None
        The first primal step.
    clip_norm : float or None
        Clip norm of a row's primal gradient.
    batch_size : int or None
        Expected number of rows of a Poisson batch.
    dual_clip_norm : float or None
        Clip norm of a row's dual gradient.
    dual_learning_rate : float or None
        The dual step r.
    dual_share : float in (0, 1) or None
        Fraction of ``1/z^2`` for the dual gradient. None: the default of the loss.
    momentum : float in [0, 1)
        The m of ``v = m v + (1 - m) g_x``, the primal direction.
    iterate : {"tail", "half", "last", "average", "random"}
        Iterates to average: the last quarter ("tail"), the last half, or all. "random": return
        one iterate, whose index is drawn before the noise is calibrated.

    References
    ----------
    Zhang, Lei, Ding, Xiang, Xu, Wang (2025), Algorithm 1. Accounting here uses Poisson batches
    and the replace-one relation.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    batch_size: int | None = None
    dual_clip_norm: float | None = None
    dual_learning_rate: float | None = None
    dual_share: float | None = None
    momentum: float = 0.5
    iterate: str = "half"

    asks: ClassVar[type[Queries]] = SaddleGradients
    takes_unit = True
    requires: ClassVar[tuple] = (POSITIVE_DELTA, FINITE_CLIP)
    without_noise: ClassVar[bool] = True

    def configured(self, problem: Problem) -> Self:
        check_saddle(self)
        share = self.dual_share
        if share is None:
            share = saddle_defaults(problem.loss, problem.model.is_linear).dual_share
        check_real("solver_options: dual_share", share, low=0, high=1, open_low=True,
                   open_high=True, remedy="None, or a number in (0, 1)")
        check_real("solver_options: momentum", self.momentum, low=0, high=1, open_high=True,
                   remedy="a number in [0, 1)")
        solver = configured_saddle(self, problem)
        return replace(solver, dual_share=float(share), momentum=float(self.momentum),
                       dual_clip_norm=float(solver.dual_clip_norm))

    def enforced_bounds(self) -> Sequence[Enforced]:
        """Return the bounds besides the clip norm of the primal gradient, as Enforced."""
        return (dual_bound(self.dual_clip_norm),)

    def queries(self, problem: Problem) -> SaddleGradients:
        answers = NoisySums(batch_plan(problem.n_samples, self.batch_size), self.max_iter)
        return SaddleGradients(answers, self.dual_share, self.clip_norm, self.dual_clip_norm)

    def minimize(self, oracle: Any, penalty: Penalty, primal: FloatArray) -> Result:
        dual_set = oracle.dual_set
        dual, turn = dual_set.start, Momentum(self.momentum)
        tail = TailMean(self.max_iter, self.iterate)
        for t in range(self.max_iter):
            gradient, ascent = oracle.gradients(primal, dual)
            step = falling_step(self.learning_rate, t, self.max_iter)
            direction = turn(gradient) + penalty.gradient(primal)
            primal = penalty.prox(primal - step * direction, step)
            ascent += dual_set.gradient(dual)
            dual = dual_set.project(dual + self.dual_learning_rate * ascent)
            tail.add(primal, dual)
        return Result(tail.mean(), self.max_iter)
