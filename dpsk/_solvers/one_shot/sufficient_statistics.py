"""Least squares from noisy moments, released once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._objective.requirements import POSITIVE_DELTA, RIDGE_OR_NONE, SQUARED_LOSS
from dpsk._queries import LeastSquares, Queries
from dpsk._solvers.base import Result, Solver

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["SufficientStatistics"]


@dataclass(frozen=True)
class SufficientStatistics(Solver):
    r"""Ridge regression on noisy sums of squares and cross products (AdaSSP).

    ``theta = (A+ + L)^-1 b`` with the eigenvalues of the noisy A raised to 0 and L diagonal:
    ``max(n alpha, l)`` for coefficients and ``max(0, l)`` for the intercept, which has no penalty.
    ``l = s sqrt(2 p) - smallest eigenvalue of A``, where s is the noise's standard deviation on A,
    is a function of what was released.

    Privacy: one joint release, ``Gaussian(mu)``; nothing is iterated.

    References
    ----------
    Wang (2018), "Revisiting differentially private linear regression", Algorithm 2; the two
    moments are released jointly, and the smallest eigenvalue is read from the noisy matrix.
    """

    asks: ClassVar[type[Queries]] = LeastSquares
    is_gaussian: ClassVar[bool] = True
    requires: ClassVar[tuple] = (POSITIVE_DELTA, SQUARED_LOSS, RIDGE_OR_NONE)
    whitens: ClassVar[bool] = False
    takes_unit = True
    penalizes_after: ClassVar[bool] = True

    def configured(self, problem: Problem) -> Self:
        return self

    def queries(self, problem: Problem) -> LeastSquares:
        return LeastSquares()

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        matrix, vector = oracle.moments()
        values, vectors = np.linalg.eigh(matrix)
        lift = oracle.matrix_noise_std * np.sqrt(2.0 * len(vector)) - values[0]
        ridge = np.maximum(oracle.n_samples * penalty.gradient(np.ones_like(vector)),
                           max(0.0, lift))
        # Positive: where the lift is not, no eigenvalue is small.
        raised = (vectors * np.maximum(values, 0.0)) @ vectors.T + np.diag(ridge)
        return Result(np.linalg.solve(raised, vector), 1)
