"""Newton's method with noisy gradients and noisy Hessians."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.newton import (
    HESSIAN_SHARE,
    curvature_clip,
    first_step,
    hessians_are_sharp,
    longest_step,
    newton_clip_norm,
    newton_steps,
)
from dpsk._objective.requirements import (
    BOUNDED_CURVATURE,
    CONVEX_LOSS,
    FEW_COLUMNS,
    FINITE_CLIP,
    NOT_PIECEWISE,
    POSITIVE_DELTA,
    RIDGE_OR_NONE,
    SCALAR_PREDICTION,
)
from dpsk._parameters import check_flag, check_real
from dpsk._privacy.certificate import Enforced
from dpsk._queries import Curvatures, Queries
from dpsk._solvers.base import Result, Solver

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["NewtonDescent"]

#: Ratio of mu^2 between a gradient and the one before; the last gradients matter most.
_GROWTH = 2.0
#: Largest ratio of mu^2 between the last and the first gradient, so that the first is useful.
_MOST_GROWTH = 2.0**10
#: Smallest share of mu^2 for gradients and for Hessians.
_LEAST_SHARE = 1e-3
#: Floor for the eigenvalues of a Hessian, over the spectral edge of its noise.
_FLOOR = 0.5
#: Multiple of the identity added before solving, over the largest entry, against rounding.
_ROUNDING = 2.0**-42


@dataclass(frozen=True)
class NewtonDescent(Solver):
    r"""Newton's method on noisy gradients and Hessians, for tables with many rows.

    Every step is ``theta = theta - (H + R)^-1 (g + R theta)``, where R is the penalty's Hessian.
    Step 0 has ``H = I / learning_rate``. Later steps have
    ``H = (1/n) [sum of w x x' + symmetric noise]``, computed anew for every step or only for
    steps 1, 2, 4, 8, ... Its eigenvalues are raised to at least half the spectral edge of the
    noise. If a row's gradient is clipped, its curvature w is scaled by the same factor; w is
    also clipped at ``curvature_clip / ||x||^2``. No step is longer than `longest_step`.

    Privacy: T gradients and fewer Hessians. Each is a ``Gaussian(mu_t)``, and the squares of
    mu_t add up exactly. For up to 11 gradients, mu_t^2 doubles from each to the next; for more
    it grows more slowly. All Hessians have the same mu_t. Replacing a row moves a sum of Hessians
    by at most ``sqrt(2) curvature_clip`` in the Frobenius norm, because the removed and the added
    term both have rank one and no negative eigenvalue.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: 6 to 12, more for a larger signal-to-noise ratio.
    learning_rate : float or None
        Length of the first step. None: the inverse curvature at typical rows.
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: see `newton_clip_norm`.
    curvature_clip : float or None
        Bound on ``w ||x||^2``. None: four times the largest curvature of a typical row, or more
        with a wide clip norm, and at most the bound that the loss implies.
    hessian_share : float or None
        Fraction of mu^2 for all Hessians together, in [0.001, 0.999]. None: 0.2.
    keep_hessians : bool or None
        Whether to compute a new Hessian before steps 1, 2, 4, 8, ... only. None: only if
        Hessians have little noise.
    longest_step : float or None
        Bound on the norm of a step. None: the norm that changes scores of typical rows by 2.

    References
    ----------
    Ganesh, Haghifam, Steinke, Thakurta (2023), "Faster differentially private convex
    optimization via second-order methods"; docs/theory/newton.md lists the differences.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    curvature_clip: float | None = None
    hessian_share: float | None = None
    keep_hessians: bool | None = None
    longest_step: float | None = None

    asks: ClassVar[type[Queries]] = Curvatures
    is_gaussian: ClassVar[bool] = True
    requires: ClassVar[tuple] = (POSITIVE_DELTA, SCALAR_PREDICTION, CONVEX_LOSS,
                                 NOT_PIECEWISE, BOUNDED_CURVATURE, FINITE_CLIP, RIDGE_OR_NONE,
                                 FEW_COLUMNS)
    takes_unit = True

    def configured(self, problem: Problem) -> Self:
        if self.curvature_clip is not None:
            check_real("solver_options: curvature_clip", self.curvature_clip, low=1e-10,
                       high=1e100, remedy="None, or a number in [1e-10, 1e100]")
        if self.longest_step is not None:
            check_real("solver_options: longest_step", self.longest_step, low=0, open_low=True,
                       remedy="None, or a finite number > 0")
        if self.keep_hessians is not None:
            check_flag("solver_options: keep_hessians", self.keep_hessians, ", or None")
        share = HESSIAN_SHARE if self.hessian_share is None else check_real(
            "solver_options: hessian_share", self.hessian_share, low=_LEAST_SHARE,
            high=1.0 - _LEAST_SHARE,
            remedy=f"None, or a number from {_LEAST_SHARE} to {1.0 - _LEAST_SHARE}")
        return replace(
            self, max_iter=self.max_iter or newton_steps(problem), hessian_share=float(share),
            keep_hessians=hessians_are_sharp(problem) if self.keep_hessians is None
            else self.keep_hessians,
            learning_rate=self.learning_rate or first_step(problem),
            clip_norm=newton_clip_norm(problem, self.clip_norm),
            curvature_clip=curvature_clip(problem, self.curvature_clip),
            longest_step=self.longest_step or longest_step(problem))

    @property
    def _renewals(self):
        """list of int : the steps that compute a new Hessian."""
        steps = range(1, self.max_iter)
        return [t for t in steps if t & (t - 1) == 0] if self.keep_hessians else list(steps)

    def queries(self, problem: Problem) -> Curvatures:
        further, renewals = self.max_iter - 1, self._renewals
        growth = min(_GROWTH, _MOST_GROWTH ** (1.0 / max(further, 1)))
        gradients = growth ** np.arange(self.max_iter)
        gradients *= (1.0 - (self.hessian_share if renewals else 0.0)) / gradients.sum()
        shares = []
        for t, gradient in enumerate(gradients):
            if t in renewals:
                shares.append(self.hessian_share / len(renewals))
            shares.append(gradient)
        return Curvatures(tuple(map(float, shares)), self.clip_norm, self.curvature_clip)

    def enforced_bounds(self) -> Sequence[Enforced]:
        return [Enforced("curvature_clip", self.curvature_clip, "derived",
                         "largest eigenvalue of one row's Hessian; larger ones are scaled down")]

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        size = len(theta)
        ridge = penalty.slope(np.eye(size))
        hessian, renewals = np.eye(size) / self.learning_rate, self._renewals
        for t in range(self.max_iter):
            if t in renewals:
                hessian = _raised(oracle.hessian(theta), _FLOOR * oracle.hessian_edge)
            gradient = oracle.gradient(theta) + penalty.slope(theta)
            step = np.linalg.solve(_regular(hessian + ridge), gradient)
            length = float(np.linalg.norm(step))
            theta = theta - min(1.0, self.longest_step / max(length, 1e-300)) * step
        return Result(theta, self.max_iter)


def _raised(matrix, floor):
    """Return a symmetric matrix with its eigenvalues raised to at least `floor`."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, floor)) @ vectors.T


def _regular(matrix):
    """Return a positive semidefinite matrix made numerically nonsingular."""
    return matrix + _ROUNDING * np.abs(matrix).max() * np.eye(len(matrix))
