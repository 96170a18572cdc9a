"""Least squares from noisy moments, released once."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpsk._objective.requirements import L2_PENALTY, POSITIVE_DELTA, SQUARED_LOSS
from dpsk._oracle import LeastSquaresOracle
from dpsk._privacy.plans import OneRelease
from dpsk._solvers.base import Result, Solver

__all__ = ["SufficientStatistics"]


@dataclass(frozen=True)
class SufficientStatistics(Solver):
    r"""Ridge regression on noisy sums of squares and cross products (AdaSSP).

    ``theta = (A+ + lam I)^-1 b`` with the eigenvalues of the noisy A raised to 0 and
    ``lam = max(n alpha, s sqrt(2 p) - smallest eigenvalue of A)``, where s is the noise's
    standard deviation on A. lam is a function of what was released.

    Privacy: one joint release, ``Gaussian(mu)``; nothing is iterated. The penalty includes the
    intercept.

    References
    ----------
    Wang (2018), "Revisiting differentially private linear regression", Algorithm 2; the two
    moments are released jointly, and the smallest eigenvalue is read from the noisy matrix.
    """

    oracle: ClassVar[type] = LeastSquaresOracle
    requires: ClassVar[tuple] = (POSITIVE_DELTA, SQUARED_LOSS, L2_PENALTY)
    whitens: ClassVar[bool] = False

    def configured(self, problem):
        return self

    def plan(self, problem):
        return OneRelease(pure=False)

    def minimize(self, oracle, penalty, theta):
        matrix, vector = oracle.moments()
        values, vectors = np.linalg.eigh(matrix)
        lift = oracle.matrix_noise_std * np.sqrt(2.0 * len(vector)) - values[0]
        ridge = max(oracle.n_samples * penalty.strong_convexity, lift)
        root = (vectors.T @ vector) / (np.maximum(values, 0.0) + ridge)
        return Result(vectors @ root, 1)
