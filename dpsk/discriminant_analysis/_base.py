"""Noisy covariances with a lower bound on their eigenvalues."""

import math

import numpy as np

from dpsk._defaults.budgets import SCORE_FLOOR
from dpsk._parameters import number

__all__ = ["CHECK_SHARE", "diagonal", "raised"]

#: Smallest variance relative to the largest; smaller ones are rounding errors.
_LEAST = 1e-12
CHECK_SHARE = number("a number in [0, 1]", low=0, high=1)


def diagonal(variances, pooled):
    """Return one variance of every column, of those of classes (n_classes, d) and pooled ones.

    These count columns as uncorrelated, which makes scores too large, so the mean of the pooled
    variances is added.
    """
    return variances.max(axis=0) + pooled.mean()


def raised(covariance, noise):
    """Return raised eigenvalues (k,) and eigenvectors (k, k) of a noisy covariance.

    Eigenvalues are at least a fixed fraction of the noise in operator norm.
    """
    values, vectors = np.linalg.eigh(covariance)
    edge = noise * math.sqrt(2.0 * len(values))
    least = max(SCORE_FLOOR * edge, _LEAST * max(float(values[-1]), 0.0), 1e-100)
    return np.maximum(values, least), vectors
