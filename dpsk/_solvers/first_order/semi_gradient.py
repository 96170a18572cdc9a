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
    r"""Steps along ``(r + gamma V(s') - V(s)) grad V(s)``, which fall linearly to nothing.

    The next value is taken as given, so that this is the gradient of no function; its fixed
    point is that of "lstd" where values are linear.

    Privacy: T releases ``SampledGaussian(q, z)`` of clipped sums over Poisson batches.

    Parameters
    ----------
    max_iter : int or None
        T. None: 400.
    learning_rate : float or None
        The first step. None: 8 over the clip norm.
    clip_norm : float or None
        None: 4, as where an episode ends a difference is as large as the value before it.
    batch_size : int or None
        Expected batch size. None: 2048, at most n.
    iterate : {"tail", "half", "last", "average", "random"}
        "tail" averages the last quarter of the iterates, "half" their last half, "average" all of
        them. "random": one of the planned ones, its index drawn before the noise is calibrated.
    momentum : float in [0, 1)
        What a direction keeps of the steps before.

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
