"""PrivateDiff: descent on a primal gradient that is updated by differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dpsk._defaults.saddle import configured_differences
from dpsk._objective.requirements import FINITE_CLIP, POSITIVE_DELTA
from dpsk._parameters import check_integer, check_real
from dpsk._privacy.batches import batch_plan
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Queries, SaddleDifferences
from dpsk._solvers.base import Result, Solver
from dpsk._solvers.saddle.path import TailMean, check_saddle, dual_bound
from dpsk._solvers.steps import falling_step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["PrivateDiff"]

_SLOPES = (1.0, 1.0)


@dataclass(frozen=True)
class PrivateDiff(Solver):
    r"""Descent ascent on a private primal gradient, updated by private differences.

    A round first takes `inner_steps` noisy ascent steps in the dual block. Every `period` rounds,
    it then asks for the primal gradient. In other rounds it asks for the gradient's change since
    the last round and adds it to the estimate. It ends with a descent step along the estimate.

    Privacy: ``R inner_steps`` dual sums, ``ceil(R / period)`` primal sums, and one difference in
    each other round. Each uses its own Poisson batch, and each kind its own noise multiplier.
    Gradients are only evaluated at points computed from earlier private outputs. The plan also
    charges for differences that are not asked for because the parameters did not move.

    Parameters
    ----------
    max_iter : int or None
        R, the number of rounds. None: the steps of `configured_saddle` divided by
        ``4 inner_steps + 1``, and fewer for few rows; see `configured_differences`, which also
        sets the next five.
    learning_rate : float or None
        The first primal step; steps fall linearly to 0.
    clip_norm : float or None
        Clip norm of a row's primal gradient.
    batch_size : int or None
        Expected number of rows of a Poisson batch.
    dual_clip_norm : float or None
        Clip norm of a row's dual gradient.
    dual_learning_rate : float or None
        The dual step.
    period : int
        Number of rounds after which the whole gradient is queried again.
    inner_steps : int
        Number of ascent steps per round.
    slopes : (float, float)
        C2 and C3. The change of a row's primal gradient is clipped at
        ``C2 ||x - x'|| + C3 ||y - y'||``.
    difference_ratio : float
        Noise multiplier of differences divided by that of whole gradients.
    iterate : {"tail", "half", "last", "average", "random"}
        Iterates to average: the last quarter ("tail"), the last half, or all. "random": return
        one iterate, whose index is drawn before the noise is calibrated.

    References
    ----------
    Zhang, Lei, Ding, Xiang, Xu, Wang (2025), Algorithm 3, with two corrections: the dual
    variable is noised before it is used, and a difference uses the same rows at both points.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    batch_size: int | None = None
    dual_clip_norm: float | None = None
    dual_learning_rate: float | None = None
    period: int = 2
    inner_steps: int = 1
    slopes: tuple = _SLOPES
    difference_ratio: float = 1.0
    iterate: str = "half"

    asks: ClassVar[type[Queries]] = SaddleDifferences
    requires: ClassVar[tuple] = (POSITIVE_DELTA, FINITE_CLIP)

    def configured(self, problem: Problem) -> Self:
        check_saddle(self)
        period, inner_steps = (
            check_integer(f"solver_options: {name}", getattr(self, name), low=1,
                          remedy="an int >= 1") for name in ("period", "inner_steps"))
        ratio = check_real("solver_options: difference_ratio", self.difference_ratio, low=1e-3,
                           high=1e3, remedy="a number in [0.001, 1000]")
        # Every round adds queries.
        solver = configured_differences(self, problem, work=4 * inner_steps + 1)
        return replace(solver, slopes=_checked_slopes(self.slopes), period=period,
                       inner_steps=inner_steps, difference_ratio=ratio,
                       dual_clip_norm=float(solver.dual_clip_norm))

    def enforced_bounds(self) -> Sequence[Enforced]:
        """Return the bounds besides the clip norm of the primal gradient, as Enforced."""
        return (dual_bound(self.dual_clip_norm),
                Enforced("slopes", list(self.slopes), "declared" if self.slopes != _SLOPES
                         else "default", "a row's clipped gradient enters a difference clipped "
                         "to the first times the movement of the parameters plus the second "
                         "times that of the dual variable"))

    def queries(self, problem: Problem) -> SaddleDifferences:
        batches = batch_plan(problem.n_samples, self.batch_size)
        whole = -(-self.max_iter // self.period)
        return SaddleDifferences(
            NoisySums(batches, self.max_iter * self.inner_steps), NoisySums(batches, whole),
            NoisySums(batches, self.max_iter - whole, self.difference_ratio),
            self.clip_norm, self.dual_clip_norm, self.slopes)

    def minimize(self, oracle: Any, penalty: Penalty, primal: FloatArray) -> Result:
        dual, estimate, last = oracle.dual_set.start, None, None
        tail = TailMean(self.max_iter, self.iterate)
        for t in range(self.max_iter):
            for _ in range(self.inner_steps):
                dual = self._ascended(oracle, primal, dual)
            point = (primal, dual)
            if t % self.period == 0:
                estimate = oracle.gradient(*point)
            else:
                estimate = estimate + oracle.difference(point, last)
            last = point
            step = falling_step(self.learning_rate, t, self.max_iter)
            primal = penalty.prox(primal - step * (estimate + penalty.gradient(primal)), step)
            tail.add(primal, dual)
        return Result(tail.mean(), self.max_iter)

    def _ascended(self, oracle, primal, dual):
        """Return the dual point after one noisy, projected ascent step."""
        ascent = oracle.dual_gradient(primal, dual) + oracle.dual_set.gradient(dual)
        return oracle.dual_set.project(dual + self.dual_learning_rate * ascent)


def _checked_slopes(slopes):
    """Return C2 and C3 as floats, or raise a ValueError."""
    if not isinstance(slopes, (tuple, list)) or len(slopes) != 2:
        raise ValueError(f"solver_options: slopes={slopes!r}: must be two numbers, C2 and C3.")
    return tuple(check_real("solver_options: slopes", slope, low=1e-10, high=1e10,
                            remedy="two numbers in [1e-10, 1e10]") for slope in slopes)
