"""A subspace, and a model of every class, from released moments."""

import numpy as np

from dpsk._stages.spectrum import Spectrum
from dpsk._statistics.class_moments import on_grid

__all__ = ["class_models", "class_shares", "principal", "roots"]

#: Counts are no less than this many standard deviations of their noise.
_DEVIATIONS = 2.0


def principal(moment, noise_std, n_components):
    """Return the main directions of a noisy second moment, and what lies in them and beside.

    Parameters
    ----------
    moment : ndarray of shape (d, d)
    noise_std : float
    n_components : int or None
        None: as many as stand clear of the noise, from 1 to 64.

    Returns
    -------
    basis : ndarray of shape (d, k)
        Nearly orthonormal, in few bits.
    values : ndarray of shape (k,)
        Second moments in those directions.
    rest : ndarray of shape (d,)
        Second moments of the columns that are not in the subspace.
    """
    spectrum = Spectrum.of(moment, noise_std)
    count = spectrum.n_clear if n_components is None else n_components
    basis, found = on_grid(spectrum.vectors[:, :count]), spectrum.found[:count]
    rest = np.maximum(np.diag(moment) - basis**2 @ found, 0.0)
    return basis, found, rest


def class_shares(counts, n_samples):
    """Return shares of the classes, not negative and of sum 1, nearest to noisy counts."""
    shares = counts / n_samples
    ordered = np.sort(shares)[::-1]
    surplus = (np.cumsum(ordered) - 1.0) / np.arange(1, len(shares) + 1)
    kept = np.flatnonzero(ordered > surplus)[-1]
    return np.maximum(shares - surplus[kept], 0.0)


def class_models(released, values, value_noise, n_samples):
    """Return shares, means and covariances of the classes in the subspace.

    The pooled covariance weighs that of the classes' moments and, where there are some, the
    `values` of all rows less the moment of the means, each by its noise. Means are shrunk to the
    center, and a class's own covariance to the pooled one, the most in directions in which rows
    vary little.

    Parameters
    ----------
    released : ClassMoments
    values : ndarray of shape (k,), or None
        Second moments of all rows in the directions of the subspace.
    value_noise : float
        Standard deviation of the noise on them.
    n_samples : int

    Returns
    -------
    shares : ndarray of shape (n_classes,)
    means : ndarray of shape (n_classes, k)
    covariances : ndarray of shape (n_classes, k, k)
    """
    shares = class_shares(released.counts, n_samples)
    counts = np.maximum(n_samples * shares, max(1.0, _DEVIATIONS * released.count_noise))
    noisy_means = released.sums / counts[:, None]
    covariances = released.moments / counts[:, None, None] - _squares(noisy_means)
    pooled = np.tensordot(shares, covariances, 1)
    if values is not None:
        between = np.tensordot(shares, _squares(noisy_means), 1)
        own = len(counts) * (released.moment_noise / n_samples)**2
        weight = own / (own + value_noise**2) if own else 0.0
        pooled = weight * (np.diag(values) - between) + (1.0 - weight) * pooled
    usual = np.maximum(np.diag(pooled), 0.0)
    spread = usual if values is None else values
    means = np.array([_shrunk(mean, spread, (released.sum_noise / count)**2)
                      for mean, count in zip(noisy_means, counts, strict=True)])
    # A covariance of two directions has half the noise of a variance.
    doubled = 0.5 * (1.0 + np.eye(len(usual)))
    for place, count in enumerate(counts):
        apart = covariances[place] - pooled
        covariances[place] = pooled + _shrunk(apart, np.outer(usual, usual),
                                              doubled * (released.moment_noise / count)**2)
    return shares, means, covariances


def _shrunk(found, scales, noise):
    """Return noisy numbers drawn to 0, those the most whose usual size is small beside the noise.

    As if their variances were in proportion to `scales`, by a factor that is found from the sum of
    the squares; `noise` is what the noise adds to each.
    """
    signal = float(np.sum(found**2 - noise))
    total = float(scales.sum())
    expected = scales * (max(0.0, signal) / total if total > 0 else 0.0)
    return found * (expected / (expected + noise)) if np.all(noise > 0) else found


def roots(covariances):
    """Return factors F with ``F F'`` the nearest matrices to some symmetric ones that are squares.

    Shape (n_classes, k, k).
    """
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]


def _squares(means):
    return np.einsum("ci,cj->cij", means, means)
