"""Least squares from noisy moments, in one release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.budgets import kept_of_mean
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

    The result is ``theta = (A+ + L)^-1 b``. A+ is the noisy A with negative eigenvalues raised
    to 0, and L is diagonal with entries ``max(n alpha, l)``. Here
    ``l = s sqrt(2 p) - smallest eigenvalue of A``, with s the standard deviation of the noise on
    A; it is post-processing of the noisy A.

    If the number of rows is public, an intercept is solved separately: A and b are centered at
    the noisy means. The means are shrunk according to their noise. With weights, the intercept
    is a coefficient with ``alpha = 0``.

    Privacy: one joint release, ``Gaussian(mu)``.

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
        ridge = oracle.n_samples * penalty.gradient(np.ones_like(vector))
        lift = oracle.matrix_noise_std * np.sqrt(2.0 * len(vector))
        if not oracle.counts:
            return Result(_solved(matrix, vector, ridge, lift), 1)
        n_rows = oracle.n_samples
        mean = vector[-1] / n_rows * kept_of_mean(oracle.vector_noise_std / n_rows)
        means = matrix[:-1, -1] / n_rows
        noise = 0.5 * (oracle.matrix_noise_std / n_rows)**2
        # Shrink the noisy means by the positive-part James-Stein estimator.
        means *= max(0.0, 1.0 - len(means) * noise / max(means @ means, np.finfo(float).tiny))
        about = matrix[:-1, :-1] - n_rows * np.outer(means, means)
        coef = _solved(about, vector[:-1] - n_rows * mean * means, ridge[:-1], lift)
        return Result(np.append(coef, mean - means @ coef), 1)


def _solved(matrix, vector, ridge, lift):
    """Return the least-squares solution with a ridge that makes the matrix positive."""
    values, vectors = np.linalg.eigh(matrix)
    ridge = np.maximum(ridge, max(0.0, lift - values[0]))
    # The sum is positive definite: without a lift, no eigenvalue is small.
    raised = (vectors * np.maximum(values, 0.0)) @ vectors.T + np.diag(ridge)
    return np.linalg.solve(raised, vector)
