"""Noisy steps along temporal differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dpsk._objective.requirements import FINITE_CLIP, POSITIVE_DELTA
from dpsk._parameters import check_real
from dpsk._privacy.batches import batch_plan
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Queries, SemiGradients
from dpsk._solvers.base import Solver
from dpsk._solvers.steps import check_iterate, train

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._solvers.base import Result
    from dpsk._typing import FloatArray

__all__ = ["SemiGradientDescent"]

#: Found on CartPole: docs/results/temporal_differences.md.
_STEPS, _BATCH, _CLIP, _GAIN = 400, 2048, 4.0, 8.0


@dataclass(frozen=True)
class SemiGradientDescent(Solver):
    r"""Steps along ``(r + gamma V(s') - V(s)) grad V(s)``, which fall linearly to 0.

    The value ``V(s')`` is held constant, so the direction is not the gradient of any function.
    For linear values, the fixed point is that of "lstd".

    Privacy: T releases ``SampledGaussian(q, z)`` of clipped sums over Poisson batches.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: 400.
    learning_rate : float or None
        The first step. None: 8 divided by the clip norm.
    clip_norm : float or None
        Clip norm of a row's direction. None: 4, because at the end of an episode the difference
        is as large as the value before it.
    batch_size : int or None
        Expected batch size. None: 2048, at most n.
    iterate : {"tail", "half", "last", "average", "random"}
        Iterates to average: the last quarter ("tail"), the last half, or all. "random": return
        one iterate, whose index is drawn before the noise is calibrated.
    momentum : float in [0, 1)
        The m of ``v = m v + (1 - m) g``, the direction of a step.

    References
    ----------
    Sutton (1988); Abadi et al. (2016), Algorithm 1, for the noise.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    batch_size: int | None = None
    iterate: str = "half"
    momentum: float = 0.0

    asks: ClassVar[type[Queries]] = SemiGradients
    requires: ClassVar[tuple] = (POSITIVE_DELTA, FINITE_CLIP)
    without_noise: ClassVar[bool] = True
    takes_unit = True

    def configured(self, problem: Problem) -> Self:
        check_iterate(self.iterate)
        momentum = check_real("solver_options: momentum", self.momentum, low=0, high=1,
                              open_high=True, remedy="a number in [0, 1)")
        clip_norm = float(self.clip_norm or _CLIP)
        return replace(self, momentum=momentum, clip_norm=clip_norm,
                       max_iter=self.max_iter or _STEPS,
                       batch_size=min(problem.n_samples, self.batch_size or _BATCH),
                       learning_rate=self.learning_rate or _GAIN / clip_norm)

    def queries(self, problem: Problem) -> SemiGradients:
        answers = NoisySums(batch_plan(problem.n_samples, self.batch_size), self.max_iter)
        return SemiGradients(answers, self.clip_norm)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        return train(oracle, penalty, theta, step=self.learning_rate, n_steps=self.max_iter,
                     iterate=self.iterate, momentum=self.momentum, decay=True, adaptive=False)
