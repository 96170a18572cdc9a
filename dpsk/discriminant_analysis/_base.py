"""Covariances whose small variances are raised."""

import math

import numpy as np

from dpsk._defaults.budgets import SCORE_FLOOR
from dpsk._parameters import number

__all__ = ["CHECK_SHARE", "raised"]

#: Variances are no less than this share of the largest: beyond it digits are rounding.
_LEAST = 1e-12
CHECK_SHARE = number("a number in [0, 1]", low=0, high=1)


def raised(covariance, noise):
    """Return variances in the main axes of a noisy covariance, (k,), and the axes, (k, k).

    No variance is less than a share of the noise in operator norm.
    """
    values, vectors = np.linalg.eigh(covariance)
    edge = noise * math.sqrt(2.0 * len(values))
    least = max(SCORE_FLOOR * edge, _LEAST * max(float(values[-1]), 0.0), 1e-100)
    return np.maximum(values, least), vectors
