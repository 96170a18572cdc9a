"""The minimizer itself, where there is no budget and so no noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._objective.requirements import NO_BUDGET
from dpsk._queries import ExactAnswers, Queries
from dpsk._solvers.base import Result, Solver
from dpsk._solvers.one_shot.minimizers import Objective, accelerated, newton, quasi_newton

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["ExactMinimizer"]

#: The most coordinates for which a Hessian is worth its time.
_MOST_COORDINATES = 1000


@dataclass(frozen=True)
class ExactMinimizer(Solver):
    """The minimizer of the objective: what the other solvers tend to as epsilon grows.

    Newton's method, on the penalty's own terms where it is no smooth function; beyond 1000
    coordinates, or for a loss that is not convex, L-BFGS and accelerated proximal gradients.

    Privacy: none. Values, gradients and Hessians leave as they are, as `NotPrivate`. "auto" stands
    for it at an infinite epsilon, and nothing else does.

    Parameters
    ----------
    max_iter : int or None
        The most steps. None: 1000; first-order methods take up to a hundred times as many.
    uses_hessian : bool or None
        Set by the rule above, whatever was given.

    References
    ----------
    Lee, Sun, Saunders (2014), "Proximal Newton-type methods for minimizing composite functions";
    Beck, Teboulle (2009), with the restarts of O'Donoghue, Candes (2015).
    """

    max_iter: int | None = None
    uses_hessian: bool | None = None

    asks: ClassVar[type[Queries]] = ExactAnswers
    requires: ClassVar[tuple] = (NO_BUDGET,)
    whitens: ClassVar[bool] = False
    without_noise: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True

    def configured(self, problem: Problem) -> Self:
        small = problem.model.dimension <= _MOST_COORDINATES
        return replace(self, max_iter=self.max_iter or 1000,
                       uses_hessian=small and problem.loss.convex)

    def queries(self, problem: Problem) -> ExactAnswers:
        return ExactAnswers()

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        objective = Objective(oracle, penalty)
        if self.uses_hessian:
            point, n_iter = newton(objective, theta, self.max_iter)
        elif penalty.is_smooth:
            point, n_iter = quasi_newton(objective, theta, 100 * self.max_iter)
        else:
            point, n_iter = accelerated(objective, penalty.prox, theta, 100 * self.max_iter)
        return Result(np.asarray(point), n_iter)
