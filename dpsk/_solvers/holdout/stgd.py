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
    r"""Proximal descent on noisy gradients, each checked against a hold-out (StGD).

    Half of the rows are for training, the other half is a hold-out. Coordinates of the noisy
    gradient come from the training half if they differ from the hold-out's by clearly more than
    the noise, and from the hold-out half otherwise. The answers then stay close to the gradients
    of the population. For privacy alone, `gd` is better: it uses all rows, without comparisons.

    Privacy: T comparisons, each ``Gaussian(1/(2 z))``, and T answers, each ``Gaussian(2/z)``.
    With Laplace noise they are ``Pure`` with the same arguments. With ``holdout="public"``, the
    guarantee covers only the training rows.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: 20.
    learning_rate : float or None
        Length of a step. None: see `default_step`.
    clip_norm : float or None
        C, the clip norm of a row's gradient, in l2 norm, or in l1 norm with Laplace noise. None:
        see `default_clip_norm`; with Laplace noise, times the largest ratio of the two norms.
    noise : {"gaussian", "laplace"} or None
        None: "gaussian" for delta > 0, "laplace" at ``delta=0``.
    holdout : {"private", "public"}
        Hold-out: half of the rows ("private"), or ``public_X`` and ``public_y`` of `fit`
        ("public").
    iterate : {"tail", "half", "last", "average", "random"}
        Iterates to average: the last quarter ("tail"), the last half, or all. "random": return
        one iterate, whose index is drawn before the noise is calibrated.

    References
    ----------
    Zhou, Chen, Banerjee (2018), stable gradient descent. There, the hold-out answer has no
    noise, and the noise covers one coordinate and added rows. Here noise covers both halves and
    all coordinates, under replacement.
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
