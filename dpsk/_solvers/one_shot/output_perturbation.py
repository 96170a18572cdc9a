"""Output perturbation: noiseless gradient descent, with noise on its result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._objective.penalties import ConstraintSet
from dpsk._objective.requirements import BOUNDED_CURVATURE, BOUNDED_SLOPE, CONVEX_LOSS
from dpsk._parameters import check_real
from dpsk._problem import full_clip_norm
from dpsk._queries import Output, Queries, steps_to_certify
from dpsk._solvers.base import Result, Solver, bounded_step, check_monotone

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["OutputPerturbation"]

#: The most steps that are taken by default to certify a minimizer.
_MOST_STEPS = 20_000


@dataclass(frozen=True)
class OutputPerturbation(Solver):
    r"""Proximal descent without noise inside an oracle; only the result is noised.

    Every step is nonexpansive. For ``step <= 2 / (smoothness + 2 alpha)`` it is a contraction by
    ``c = 1 - step alpha``. Replacing one row therefore moves the last iterate by at most
    ``(2 C step / n)(1 - c^T) / (1 - c)``, which is ``2 C T step / n`` for alpha = 0.

    Privacy: one release, with sensitivity Delta. With ``delta > 0`` it is ``Gaussian(mu)``, with
    noise ``N(0, (Delta / mu)^2 I)``. With ``delta = 0`` it is ``Pure(epsilon)``, with noise
    density proportional to ``exp(-epsilon ||z|| / Delta)``. If the intercept is not penalized,
    alpha is 0. If the penalty is a set, the noisy result is projected onto it.

    With an l2 penalty and ``max_iter=None``, descent continues to a certified gradient norm of at
    most ``C / (1000 n)``. Delta is then the distance between minimizers, ``2 C / (n alpha)``,
    plus a thousandth.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: with an l2 penalty, the number that certifies the minimizer
        on any data, if at most 20000. Else, with alpha > 0, the number that brings the distance
        to the optimum to a thousandth of ``C / alpha``, at most 5000. Else the T that balances
        bias against noise, in [5, 2000].
    learning_rate : float or None
        Length of a step. None: ``1 / smoothness``, or ``2 / (smoothness + 2 alpha)`` with
        alpha > 0.
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: the bound that loss and row norms imply.
    tolerance : float or None
        Gradient norm to certify; 0: do not certify. None: ``C / (1000 n)`` if certification
        applies. A tolerance that needs more than `max_iter` steps (20000 if None) is an error.

    References
    ----------
    Zhang, Zheng, Mou, Wang (2017), Algorithm 1 and Theorems 1 to 4, with tight sensitivities
    and the exact Gaussian calibration in place of the printed ones.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    tolerance: float | None = None

    asks: ClassVar[type[Queries]] = Output
    is_gaussian: ClassVar[bool] = True
    requires: ClassVar[tuple] = (CONVEX_LOSS, BOUNDED_SLOPE, BOUNDED_CURVATURE)

    def configured(self, problem: Problem) -> Self:
        if self.tolerance is not None:
            check_real("solver_options: tolerance", self.tolerance, low=0, remedy="None, or a "
                       "finite number >= 0, which is 0 not to certify")
        full = full_clip_norm(problem)
        clip_norm = full if self.clip_norm is None else min(self.clip_norm, full)
        check_monotone(problem, clip_norm)
        alpha, smoothness = problem.penalty.strong_convexity, problem.smoothness
        step = self.learning_rate
        if step is None:
            step = 2.0 / (smoothness + 2.0 * alpha) if alpha else 1.0 / smoothness
        else:
            step = bounded_step(step, smoothness + alpha, "2 over (smoothness + alpha), so as "
                                "not to expand distances")
        tolerance, max_iter = self._certified(problem, clip_norm, step)
        if max_iter is None and alpha:
            max_iter = int(np.clip(np.ceil(np.log(1e3) / (step * alpha)), 1, 5000))
        elif max_iter is None:
            max_iter = _balanced_steps(problem, clip_norm)
        return replace(self, clip_norm=clip_norm, learning_rate=step, max_iter=max_iter,
                       tolerance=tolerance)

    def _certified(self, problem, clip_norm, step):
        """Return tolerance and number of steps; a tolerance of 0 means no certification."""
        penalty = problem.penalty
        alpha = penalty.strong_convexity
        longest = 2.0 / (problem.smoothness + 2.0 * alpha)
        applies = penalty.is_smooth and alpha > 0 and step <= longest * (1.0 + 1e-12)
        given = self.tolerance
        if given and not applies:
            raise ValueError(f"solver_options: tolerance={given!r}: only with an l2 "
                             "penalty, alpha > 0, can the minimizer be certified, and with steps "
                             f"of at most {longest!r}; leave it out.")
        if not applies or given == 0 or (given is None and self.max_iter is not None):
            return 0.0, self.max_iter
        tolerance = given or 1e-3 * clip_norm / problem.n_samples
        steps = steps_to_certify(problem.smoothness, alpha, clip_norm, tolerance)
        if given and steps > (_MOST_STEPS if self.max_iter is None else self.max_iter):
            raise ValueError(f"solver_options: tolerance={given!r}: max_iter={self.max_iter!r} "
                             f"allows fewer than the {steps} steps that certify it on any data; "
                             f"set max_iter={steps} or more, or a greater tolerance.")
        if self.max_iter is not None:
            return tolerance, self.max_iter
        return (tolerance, steps) if steps <= _MOST_STEPS else (0.0, None)

    def queries(self, problem: Problem) -> Output:
        return Output(problem.delta == 0, self.clip_norm)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        if self.tolerance:
            theta = oracle.minimize(theta, penalty, self.tolerance, self.max_iter)
        else:
            theta = oracle.descend(theta, penalty, self.learning_rate, self.max_iter)
        if isinstance(penalty, ConstraintSet):
            # The noise may move the point out of the set.
            theta = penalty.prox(theta, self.learning_rate)
        return Result(theta, self.max_iter)


def _balanced_steps(problem, clip_norm):
    """Return the T at which ``beta B^2 / (2 T)`` balances noise that grows as T^2.

    The norm B of the optimum is taken to be 5 over the radius of the rows.
    """
    radius, dimension = problem.model.radius, problem.model.dimension
    if problem.delta > 0:
        spread = np.sqrt(dimension) / problem.mu
    else:
        spread = dimension / problem.epsilon
    scale = problem.smoothness * problem.n_samples * (5.0 / radius) / (2.8 * clip_norm * spread)
    return int(np.clip(round(scale ** (2.0 / 3.0)), 5, 2000))
