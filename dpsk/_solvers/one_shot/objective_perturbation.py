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
    r"""The minimizer of ``sum_i l_i(theta) + (lam / 2) ||theta||^2 + <b, theta>``, b noise.

    For two data sets that differ in a row the minimizer's densities differ by a shift of b of at
    most ``2 C`` and by determinants whose ratio is at most ``1 + beta / lam``. Noise in the
    objective is shrunk where the loss is curved, which noise on the result is not.

    A point of certified gradient norm is found and gets a second noise, of ``mu / 10`` or
    ``epsilon / 100``, which hides how the exact minimizer was missed.

    Privacy: two releases. ``delta = 0``: b of density proportional to ``exp(-||b|| / s)``,
    ``Pure(2 C / s + log(1 + beta / lam))``, and another ``Pure``. ``delta > 0``: b normal of
    standard deviation s, ``Dominated(log(1 + beta / lam) + c^2 / 2, c)``, ``c = 2 C / s``, and a
    ``Gaussian``. The penalty includes the intercept; predictions must be scalar.

    Parameters
    ----------
    clip_norm : float or None
        C. None: with alpha > 0 the bound that loss and row norms imply, else, or where they
        imply none, see `default_clip_norm`.
    ridge : float or None
        Least curvature of the l2 term beside the mean loss, ``lam / n``. It is alpha where that
        is more, and raised to ``beta / (n (e^(epsilon / 2) - 1))``, below which determinants
        would take more than half of epsilon, or to what rounding asks for; the certificate
        states it. None: with
        ``p = ||b|| / n``, the pull of b, and R the norm of the rows, ``p (1 / B + p R / C)``:
        coefficients then reach the norm B, which is ``30 / R`` (10 for whitened rows) or
        ``sqrt(C / (4 R alpha))``, and less under noise that outweighs rows; 0: no more than
        needed.
    tolerance : float or None
        Norm of the gradient of the mean objective to certify, or a bound on the rounding in it
        where that is more. None: such that the second noise moves the risk by far less than
        the first.

    References
    ----------
    Chaudhuri, Monteleoni, Sarwate (2011), Algorithm 2; Kifer, Smith, Thakurta (2012); Iyengar
    et al. (2019), Algorithm 1 (approximate minima), with bounds for a replaced row.
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
