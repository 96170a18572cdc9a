"""Stable gradient descent: gradients checked against a hold-out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.descent import default_clip_norm, default_step
from dpsk._models.clipping import HEADROOM
from dpsk._objective.requirements import FINITE_CLIP
from dpsk._parameters import check_choice
from dpsk._queries import CheckedGradients, Queries
from dpsk._solvers.base import Solver
from dpsk._solvers.first_order.descent import descend
from dpsk._solvers.steps import check_iterate

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._solvers.base import Result
    from dpsk._typing import FloatArray

__all__ = ["StableGradientDescent"]

_STEPS = 20


@dataclass(frozen=True)
class StableGradientDescent(Solver):
    r"""Proximal gradient descent on noisy gradients, each checked against a hold-out (StGD).

    Half of the rows answer with a noisy gradient where it differs from that of the other half
    by clearly more than the noise, and the other half answers elsewhere: the answers keep close
    to the distribution that the rows come from. For privacy alone it is no better than `gd`,
    which has all rows answer and buys no comparisons.

    Privacy: T comparisons and T answers, ``Gaussian(1/(2 z))`` and ``Gaussian(2/z)`` each, or
    ``Pure`` of the same with Laplace noise. With ``holdout="public"`` the guarantee is for the
    training rows alone.

    Parameters
    ----------
    max_iter : int or None
        T. None: 20.
    learning_rate : float or None
        None: see `default_step`.
    clip_norm : float or None
        C, of l2 norms, of l1 norms with Laplace noise. None: see `default_clip_norm`, times the
        largest ratio of the norms of a row with Laplace noise.
    noise : {"gaussian", "laplace"} or None
        None: "gaussian" for delta > 0, "laplace" at ``delta=0``.
    holdout : {"private", "public"}
        "private": half of the rows. "public": ``public_X`` and ``public_y`` of `fit`.
    iterate : {"tail", "half", "last", "average", "random"}
        Iterates to average: the last quarter ("tail"), the last half, or all. "random": return
        one iterate, whose index is drawn before the noise is calibrated.

    References
    ----------
    Zhou, Chen, Banerjee (2018), stable gradient descent. The printed hold-out answer has no
    noise, and the printed noise covers one coordinate and added rows; here both halves and all
    coordinates are covered, under replacement.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    noise: str | None = None
    holdout: str = "private"
    iterate: str = "tail"

    asks: ClassVar[type[Queries]] = CheckedGradients
    requires: ClassVar[tuple] = (FINITE_CLIP,)
    whitens: ClassVar[bool] = False

    @property
    def clip_measure(self) -> str:
        return "l1 norm" if self.noise == "laplace" else "l2 norm"

    def configured(self, problem: Problem) -> Self:
        check_iterate(self.iterate)
        check_choice("solver_options: holdout", self.holdout, ["private", "public"])
        noise = self.noise
        if noise is None:
            noise = "gaussian" if problem.delta > 0 else "laplace"
        check_choice("solver_options: noise", noise, ["gaussian", "laplace"])
        if noise == "gaussian" and problem.delta == 0:
            raise ValueError("delta=0.0: Gaussian noise needs delta > 0; leave delta=None for "
                             "1/n**2, or set noise='laplace' in solver_options.")
        clip_norm = default_clip_norm(problem, self.clip_norm)
        if noise == "laplace":
            clip_norm = _absolute_clip(problem, self.clip_norm)
        learning_rate = self.learning_rate
        if learning_rate is None:
            learning_rate = default_step(problem, clip_norm)
        return replace(self, clip_norm=clip_norm, learning_rate=learning_rate, noise=noise,
                       max_iter=self.max_iter or _STEPS)

    def queries(self, problem: Problem) -> CheckedGradients:
        return CheckedGradients(self.clip_norm, self.max_iter, pure=self.noise == "laplace",
                                public_holdout=self.wants_holdout)

    def public_facts(self, problem: Problem) -> tuple[str, ...]:
        if not self.wants_holdout:
            return ("the split of the rows into training and hold-out half",)
        return ("the hold-out rows public_X and public_y, which are used without noise and are "
                "not protected: the guarantee is for the training rows alone",)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        return descend(oracle, penalty, theta, step=self.learning_rate, n_steps=self.max_iter,
                       iterate=self.iterate, momentum=lambda t: 0.0)


def _absolute_clip(problem, clip_norm):
    """Return the l1 clip norm: the l2 clip norm times the largest ratio of the norms.

    The ratio of the l1 to the l2 norm is at most the square root of the dimension.
    """
    ratio = float(np.sqrt(problem.model.dimension))
    if clip_norm is None:
        return default_clip_norm(problem, None) * ratio
    return min(clip_norm, ratio * problem.lipschitz / HEADROOM)
