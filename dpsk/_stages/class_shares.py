"""Shares of values within classes, from noisy counts."""

import math

import numpy as np

from dpsk._stages.class_models import class_shares, kept_of

__all__ = ["flag_shares", "log_distributions"]

#: Least pseudo-count, which keeps logarithms finite.
_LEAST = 1e-10


def log_distributions(counts, noise, alpha):
    """Return the log shares of values in every class, shape (n_classes, n_values).

    Shares are shrunk to those of all classes, as far as noise hides how they differ. The standard
    deviation of the noise that is left, and `alpha`, are added to each count before shares are
    normalized.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_values)
    noise : float
        Standard deviation of the noise on each count.
    alpha : float
        Pseudo-count of every value.
    """
    least = max(noise * math.sqrt(counts.shape[1]), _LEAST)
    totals = np.maximum(counts.sum(axis=1), least)
    whole = max(float(totals.sum()), _LEAST)
    common = class_shares(counts.sum(axis=0), whole)
    found = np.array([_drawn(own, total * common, total * common, noise)
                      for own, total in zip(counts, totals, strict=True)])
    found += max(alpha, _LEAST)
    return np.log(found / found.sum(axis=1, keepdims=True))


def flag_shares(counts, sums, noise, alpha):
    """Return the share of rows with each flag in every class, strictly between 0 and 1.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        At least 1.
    sums : ndarray of shape (n_classes, n_features)
        Noisy counts of rows with a flag.
    noise, alpha : float
        As for `log_distributions`.
    """
    alpha = max(alpha, _LEAST)
    common = np.clip(sums.sum(axis=0) / counts.sum(), 0.0, 1.0)
    found = []
    for own, count in zip(sums, counts, strict=True):
        spread = count * common * (1.0 - common)
        apart, noises = own - count * common, np.full_like(own, noise**2)
        kept = kept_of(apart, spread, noises, 1.0)
        unknown = alpha + np.sqrt(kept) * noise
        mean = np.clip(count * common + kept * apart, 0.0, count)
        found.append((mean + unknown) / (count + 2.0 * unknown))
    return np.array(found)


def _drawn(own, usual, spread, noise):
    """Return noisy counts shrunk to usual ones, plus the standard deviation of noise left."""
    kept = kept_of(own - usual, spread, np.full_like(own, noise**2), 1.0)
    return np.maximum(usual + kept * (own - usual), 0.0) + np.sqrt(kept) * noise
