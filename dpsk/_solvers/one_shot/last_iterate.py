"""Noisy gradient descent of which only the last iterate is released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.risks import FORGOTTEN, MOST_LAST_STEPS, ridge_outweighs_noise, signal
from dpsk._objective.requirements import (
    BOUNDED_CURVATURE,
    BOUNDED_SLOPE,
    CONVEX_LOSS,
    POSITIVE_DELTA,
    RIDGE,
)
from dpsk._problem import full_clip_norm
from dpsk._queries import LastIterate, Queries
from dpsk._solvers.base import Result, Solver, bounded_step, check_monotone

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["LastIterateDescent"]


@dataclass(frozen=True)
class LastIterateDescent(Solver):
    r"""Descent on noisy full-batch gradients that releases only the last iterate.

    With an l2 penalty of strength alpha on every coordinate, each step contracts by
    ``c = 1 - step alpha``, so that earlier steps matter less. T steps have the privacy cost of
    ``T_eff = (1 - c^T)(1 + c) / ((1 + c^T)(1 - c)) <= 2 / (step alpha)`` released gradients.

    Privacy: one release, ``Gaussian(2 sqrt(T_eff) / z)``. This cost holds for the last iterate
    alone, so there is no momentum, averaging, early stopping or trace. The penalty includes the
    intercept. Vector-valued predictions must not be clipped.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: the number after which ``c^T`` is a thousandth, within
        [10, 2000]. If the ridge is weak for the budget, so that "auto" would not choose this
        solver, it is at most the T that balances the bias ``smoothness B^2 / (2 T)`` against the
        noise, with ``B = 5 / radius``.
    learning_rate : float or None
        Length of a step. None: ``1 / (smoothness + 2 alpha)``, half the longest step that is
        proved to contract.
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: the bound that loss and row norms imply, so
        that nothing is clipped.

    References
    ----------
    Bok, Su, Altschuler (2024), "Shifted interpolation for differential privacy", Theorem 4.2.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None

    asks: ClassVar[type[Queries]] = LastIterate
    is_gaussian: ClassVar[bool] = True
    requires: ClassVar[tuple] = (POSITIVE_DELTA, CONVEX_LOSS, BOUNDED_SLOPE, BOUNDED_CURVATURE,
                                 RIDGE)
    whitens: ClassVar[bool] = False

    def configured(self, problem: Problem) -> Self:
        full = full_clip_norm(problem)
        clip_norm = full if self.clip_norm is None else min(self.clip_norm, full)
        check_monotone(problem, clip_norm)
        alpha = problem.penalty.strong_convexity
        step = self.learning_rate
        if step is None:
            step = 1.0 / (problem.smoothness + 2.0 * alpha)
        else:
            step = bounded_step(step, problem.smoothness + 2.0 * alpha, "2 over (smoothness + 2 "
                                "alpha), or earlier steps do not fade")
        max_iter = self.max_iter
        if max_iter is None:
            rate = step * alpha
            wanted = np.ceil(-np.log(FORGOTTEN) / rate) if rate else MOST_LAST_STEPS
            if not ridge_outweighs_noise(problem):
                wanted = min(wanted, _balanced_steps(problem, clip_norm))
            max_iter = int(np.clip(wanted, 10, MOST_LAST_STEPS))
        return replace(self, clip_norm=clip_norm, learning_rate=step, max_iter=max_iter)

    def queries(self, problem: Problem) -> LastIterate:
        alpha = problem.penalty.strong_convexity
        return LastIterate(self.clip_norm, self.max_iter, self.learning_rate, alpha)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        return Result(oracle.descend(theta, penalty), self.max_iter)


def _balanced_steps(problem, clip_norm):
    """Return the T that balances bias against noise where earlier steps do not fade."""
    norm = 5.0 / problem.model.radius
    return np.round(norm * problem.smoothness * signal(problem) / (2.8 * clip_norm))
