"""The exact minimizer, for non-private fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.parted import one_blas_thread
from dpsk._objective.losses import Squared
from dpsk._objective.requirements import NO_BUDGET
from dpsk._queries import ExactAnswers, Queries
from dpsk._solvers.base import Result, Solver
from dpsk._solvers.one_shot.minimizers import (
    Objective,
    accelerated,
    newton,
    quasi_newton,
    shortest,
)

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["ExactMinimizer"]

#: The most coordinates for which Hessians are used.
_MOST_COORDINATES = 1000
#: The most coordinates for Newton steps after L-BFGS, where rows outnumber coordinates.
_FEW_COORDINATES = 300
#: The most steps of L-BFGS if Hessians are used.
_FIRST_STEPS = 300
#: Relative decrease that ends L-BFGS: if Newton steps follow, if only bounds on Hessians are
#: used, and if neither is. The first was chosen on tables of four shapes, judged on four others.
_ROUGH, _FINE, _FINEST = 1e-7, 1e-10, 1e-14


@dataclass(frozen=True)
class ExactMinimizer(Solver):
    """The exact minimizer of the objective, without noise and without privacy.

    With at most 1000 coordinates and a convex loss:

    - squared losses and non-smooth penalties use (proximal) Newton steps;
    - other objectives use L-BFGS, in coordinates where Hessians are at most about the identity,
      and end with Newton steps if these are cheap or L-BFGS reaches its step limit.

    Otherwise, smooth objectives use plain L-BFGS, and others accelerated proximal gradients.

    Privacy: none. Values, gradients and Hessians are exact and charged as `NotPrivate`. Only
    ``solver="auto"`` at an infinite epsilon selects this solver.

    Parameters
    ----------
    max_iter : int or None
        Largest number of Newton steps. None: 1000. First-order methods take up to 100 times as
        many.
    uses_hessian, is_square, is_small : bool or None
        Always set from the problem, whatever was given.

    References
    ----------
    Lee, Sun, Saunders (2014), "Proximal Newton-type methods for minimizing composite functions";
    Beck, Teboulle (2009), with the restarts of O'Donoghue, Candes (2015).
    """

    max_iter: int | None = None
    uses_hessian: bool | None = None
    is_square: bool | None = None
    is_small: bool | None = None

    asks: ClassVar[type[Queries]] = ExactAnswers
    requires: ClassVar[tuple] = (NO_BUDGET,)
    whitens: ClassVar[bool] = False
    without_noise: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True

    def configured(self, problem: Problem) -> Self:
        size = problem.model.dimension
        small = size <= _MOST_COORDINATES
        return replace(self, max_iter=self.max_iter or 1000,
                       uses_hessian=small and problem.loss.convex,
                       is_square=small and isinstance(problem.loss, Squared),
                       is_small=size <= _FEW_COORDINATES or problem.n_samples <= size)

    def queries(self, problem: Problem) -> ExactAnswers:
        return ExactAnswers()

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        objective = Objective(oracle, penalty, self.is_square)
        # Products are small, so several BLAS threads would only wait for each other.
        with one_blas_thread():
            point, n_iter = self._minimum(objective, theta)
            if len(theta) <= _MOST_COORDINATES:
                point = shortest(objective, point)
        return Result(np.asarray(point), n_iter)

    def _minimum(self, objective: Objective, theta: FloatArray) -> tuple[FloatArray, int]:
        """Return a minimizer and the number of steps."""
        smooth, done, limit = objective.penalty.is_smooth, 0, self.max_iter or 0
        few, hessian = bool(self.is_small), bool(self.uses_hessian)
        first = objective.value(objective.penalty.prox(theta, 1.0))
        if smooth and not self.is_square:
            share = (_ROUGH if few else _FINE) if hessian else _FINEST
            most = _FIRST_STEPS if hessian else 100 * limit
            theta, done = quasi_newton(objective, theta, most, share=share, scales=hessian,
                                       ends=few)
            few |= done >= most
        if not smooth and not hessian:
            return accelerated(objective, objective.penalty.prox, theta, 100 * limit)
        if hessian and (self.is_square or not smooth or few):
            theta, more = newton(objective, theta, limit, first)
            done += more
        return theta, done
