"""Least-squares temporal differences from noisy moments, in one release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._objective.requirements import POSITIVE_DELTA
from dpsk._parameters import check_real
from dpsk._privacy.certificate import Enforced
from dpsk._queries import Queries, TransitionMoments
from dpsk._solvers.base import Result, Solver

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["LeastSquaresTD", "projected_values"]

#: Eigenvalues are kept above this multiple of the noise's approximate operator norm.
_KEPT = 1.4
#: Kept directions are damped by this fraction of ``noise sqrt(p)`` over their eigenvalue.
_DAMPED = 0.2
#: Eigenvalues below this fraction of the largest one are dropped, also without noise.
_RELATIVE = 1e-13


@dataclass(frozen=True)
class LeastSquaresTD(Solver):
    r"""The fixed point ``(C - gamma X) theta = b`` of projected temporal differences.

    The solver keeps only the eigenvectors of the noisy C whose eigenvalues exceed the noise, and
    whitens these directions. Without noise, the whitened ``X`` is a contraction by the
    Cauchy-Schwarz inequality. Singular values above 1 are therefore lowered towards 1, by at
    most what noise explains. Kept directions are damped in proportion to the noise. Without
    noise this is LSTD.

    Privacy: one joint release of the three sums, ``Gaussian(mu)``. Everything else is
    post-processing. For grouped rows, the sums of a group are clipped as one vector.

    Parameters
    ----------
    group_clip : float or None
        Clip norm of a group's sums, in units of the largest norm of one transition. Unused
        without groups. None: the horizon ``1 / (1 - gamma)``.

    References
    ----------
    Bradtke and Barto (1996), section 5.
    """

    group_clip: float | None = None

    asks: ClassVar[type[Queries]] = TransitionMoments
    requires: ClassVar[tuple] = (POSITIVE_DELTA,)
    whitens: ClassVar[bool] = False
    without_noise: ClassVar[bool] = True
    takes_unit = True

    def configured(self, problem: Problem) -> Self:
        if not problem.loss.grouped:
            return replace(self, group_clip=None)
        clip = self.group_clip or 1.0 / (1.0 - problem.loss.gamma)
        return replace(self, group_clip=check_real(
            "solver_options: group_clip", clip, low=1e-3, high=1e6,
            remedy="None, or a number of transitions in [0.001, 1e6]"))

    def enforced_bounds(self) -> list[Any]:
        """Return the clip norm of groups as Enforced; an empty list without groups."""
        if self.group_clip is None:
            return []
        return [Enforced("group_clip", self.group_clip, "declared or derived", "moments of one "
                         "group, in those of a transition; larger ones are scaled down")]

    def queries(self, problem: Problem) -> TransitionMoments:
        return TransitionMoments(self.group_clip)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        both, crossed, rewarded = oracle.moments()
        if oracle.n_units is not None:
            # The last feature is constant and the count of transitions is public.
            both[-1, -1] = oracle.n_units * oracle.constant**2
        return Result(projected_values(both, crossed, rewarded, oracle.gamma,
                                       oracle.noise_std), 1)


def projected_values(both: FloatArray, crossed: FloatArray, rewarded: FloatArray, gamma: float,
                     noise_std: float) -> FloatArray:
    """Return the fixed point where eigenvalues of `both` exceed the noise.

    `noise_std` is the noise standard deviation on `crossed` and on the diagonal of `both`.
    """
    values, vectors = np.linalg.eigh(both)
    noise = noise_std * np.sqrt(len(both))
    kept = values > max(_KEPT * np.sqrt(2.0) * noise, _RELATIVE * values[-1])
    if not kept.any():
        return np.zeros(len(both))
    values = values[kept]
    whitening = vectors[:, kept] / np.sqrt(values)
    left, sizes, right = np.linalg.svd(whitening.T @ crossed @ whitening)
    explained = 2.0 * noise_std * np.sqrt(len(values)) / values[0]
    sizes = np.maximum(np.minimum(sizes, 1.0), sizes - explained)
    matrix = np.diag(1.0 + _DAMPED * noise / values) - gamma * (left * sizes) @ right
    return whitening @ np.linalg.solve(matrix, whitening.T @ rewarded)
