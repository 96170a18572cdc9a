"""The minimizer of an objective with a random linear term."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dpsk._defaults.perturbation import (
    fine_tolerance,
    perturbation_clip,
    perturbation_ridge,
    second_noise,
)
from dpsk._objective.requirements import (
    BOUNDED_CURVATURE,
    CONVEX_LOSS,
    FINITE_CLIP,
    L2_PENALTY,
    SCALAR_PREDICTION,
)
from dpsk._parameters import check_real
from dpsk._privacy.certificate import Enforced
from dpsk._queries import PerturbedObjective, Queries, determinant_loss
from dpsk._solvers.base import Result, Solver

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["ObjectivePerturbation"]


@dataclass(frozen=True)
class ObjectivePerturbation(Solver):
    r"""The minimizer of the objective plus a random linear term.

    The objective is ``sum_i l_i(theta) + (lam / 2) ||theta||^2 + <b, theta>``, with noise b.

    Replacing one row changes the minimizer's density in two ways: b is shifted by at most
    ``2 C``, and the ratio of the Jacobian determinants is at most ``1 + beta / lam``. Curvature of
    the loss shrinks the effect of noise in the objective, unlike that of noise on the result.

    The solver finds a point with a certified gradient norm. A second noise, with privacy budget
    ``mu / 10`` or ``epsilon / 100``, hides its distance from the exact minimizer.

    Privacy: two releases. With ``delta = 0``, b has density proportional to ``exp(-||b|| / s)``;
    the releases are ``Pure(2 C / s + log(1 + beta / lam))`` and another ``Pure``. With
    ``delta > 0``, b is normal with standard deviation s; the releases are
    ``Dominated(log(1 + beta / lam) + c^2 / 2, c)``, where ``c = 2 C / s``, and a ``Gaussian``.
    The penalty includes the intercept. Predictions must be scalar.

    Parameters
    ----------
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: the bound that loss and row norms imply, if
        it is finite and alpha > 0; else see `default_clip_norm`.
    ridge : float or None
        Smallest curvature ``lam / n`` of the l2 term added to the mean loss. The solver uses at
        least alpha and at least ``beta / (n (e^(epsilon / 2) - 1))``, so that determinants take
        at most half of epsilon, and enough to outweigh rounding. The certificate states the
        value used. 0: the smallest value allowed. None: ``p (1 / B + p R / C)``, where
        ``p = ||b|| / n`` and R bounds the norms of rows. It limits the norm of coefficients to
        about B, the smaller of ``30 / R`` (``10 / R`` for whitened rows) and
        ``sqrt(C / (4 R alpha))``. The limit is lower if p is large relative to C.
    tolerance : float or None
        Gradient norm of the mean objective to certify, or the bound on its rounding if larger.
        None: chosen so that the second noise changes the risk far less than b does.

    References
    ----------
    Chaudhuri, Monteleoni, Sarwate (2011), Algorithm 2; Kifer, Smith, Thakurta (2012); Iyengar
    et al. (2019), Algorithm 1 (approximate minima). The bounds here are for replacing a row.
    """

    clip_norm: float | None = None
    ridge: float | None = None
    tolerance: float | None = None

    asks: ClassVar[type[Queries]] = PerturbedObjective
    requires: ClassVar[tuple] = (FINITE_CLIP, BOUNDED_CURVATURE, CONVEX_LOSS,
                                 SCALAR_PREDICTION, L2_PENALTY)

    def configured(self, problem: Problem) -> Self:
        if self.ridge is not None:
            check_real("solver_options: ridge", self.ridge, low=0,
                       remedy="None, or a finite number >= 0")
        if self.tolerance is not None:
            check_real("solver_options: tolerance", self.tolerance, low=0, open_low=True,
                       remedy="None, or a finite number > 0")
        clip_norm = perturbation_clip(problem, self.clip_norm)
        ridge = perturbation_ridge(problem, clip_norm, self.ridge)
        tolerance = self.tolerance
        if tolerance is None:
            tolerance = fine_tolerance(problem, clip_norm, ridge)
        return replace(self, clip_norm=clip_norm, ridge=ridge, tolerance=tolerance)

    def queries(self, problem: Problem) -> PerturbedObjective:
        determinant = determinant_loss(problem.smoothness, self.ridge, problem.n_samples)
        return PerturbedObjective(self.clip_norm, problem.delta == 0, self.ridge, determinant,
                                  second_noise(problem), self.tolerance)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        return Result(oracle.minimize(theta, penalty), 1)

    def enforced_bounds(self) -> Sequence[Enforced]:
        return [Enforced("ridge", self.ridge, "derived",
                         "curvature of the l2 term that was minimized, intercept included: "
                         "alpha, or more where noise and guarantee ask for it")]
