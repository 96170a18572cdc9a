"""What a Gaussian sampler makes of released moments: a subspace, and a model of every class."""

import math

import numpy as np

from dpsk._oracle.class_moments import on_grid
from dpsk._stages.centering import shrunk

__all__ = ["class_models", "class_shares", "principal", "roots"]

#: A direction is kept where its moment is this many times as large as noise alone makes any.
_ABOVE_NOISE = 2.5
#: Without noise: directions of less than this share of the largest moment are none.
_LEAST_MOMENT = 1e-10
#: Counts are no less than this many standard deviations of their noise.
_DEVIATIONS = 2.0


def principal(moment, noise_std, n_components):
    """Return the main directions of a noisy second moment, and what lies in them and beside.

    Noise of deviation `noise_std` on the diagonal, and ``sqrt(1/2)`` of it beside, has eigenvalues
    up to ``e = noise_std sqrt(2 d)``. A direction found at ``v > e`` has ``sqrt(v^2 - e^2)``.

    Parameters
    ----------
    moment : ndarray of shape (d, d)
    noise_std : float
    n_components : int or None
        None: as many as stand clear of the noise, at least one.

    Returns
    -------
    basis : ndarray of shape (d, k)
        Nearly orthonormal, in few bits.
    values : ndarray of shape (k,)
        Second moments in those directions.
    rest : ndarray of shape (d,)
        Second moments of the columns that are not in the subspace.

    References
    ----------
    Benaych-Georges, Nadakuditi (2011), "The eigenvalues and eigenvectors of finite, low rank
    perturbations of large random matrices".
    """
    values, vectors = np.linalg.eigh(moment)
    values, vectors = values[::-1], vectors[:, ::-1]
    edge = noise_std * math.sqrt(2.0 * len(moment))
    clear = values > max(_ABOVE_NOISE * edge, _LEAST_MOMENT * values[0])
    count = max(1, int(clear.sum())) if n_components is None else n_components
    basis = on_grid(vectors[:, :count])
    found = np.sqrt(np.maximum(values[:count]**2 - edge**2, 0.0))
    rest = np.maximum(np.diag(moment) - basis**2 @ found, 0.0)
    return basis, found, rest


def class_shares(counts, n_samples):
    """Return shares of the classes, not negative and of sum 1, nearest to noisy counts."""
    shares = counts / n_samples
    ordered = np.sort(shares)[::-1]
    surplus = (np.cumsum(ordered) - 1.0) / np.arange(1, len(shares) + 1)
    kept = np.flatnonzero(ordered > surplus)[-1]
    return np.maximum(shares - surplus[kept], 0.0)


def class_models(released, values, value_noise, radius, n_samples):
    """Return shares, means and covariances of the classes in the subspace.

    Means are shrunk to the center by what is noise in their squares. The pooled covariance
    weighs that of the classes' moments and, where there are some, the `values` of all rows less
    the moment of the means, each by its noise; a class's own covariance is shrunk to it by what
    is noise in the square of their difference.

    Parameters
    ----------
    released : ClassMoments
    values : ndarray of shape (k,), or None
        Second moments of all rows in the directions of the subspace.
    value_noise : float
        Standard deviation of the noise on them.
    radius : float
        Bound on rows.
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
    means = np.array([shrunk(mean, released.sum_noise / count, radius)
                      for mean, count in zip(noisy_means, counts, strict=True)])
    covariances = released.moments / counts[:, None, None] - _squares(noisy_means)
    pooled = np.tensordot(shares, covariances, 1)
    if values is not None:
        between = np.tensordot(shares, _squares(means), 1)
        own = len(counts) * (released.moment_noise / n_samples)**2
        weight = own / (own + value_noise**2) if own else 0.0
        pooled = weight * (np.diag(values) - between) + (1.0 - weight) * pooled
    size = pooled.shape[0]
    noise = 0.5 * size * (size + 1) * (released.moment_noise / counts)**2
    for place, covariance in enumerate(covariances):
        apart = covariance - pooled
        square = float(np.vdot(apart, apart))
        kept = max(0.0, 1.0 - noise[place] / square) if square > 0 else 0.0
        covariances[place] = pooled + kept * apart
    return shares, means, covariances


def roots(covariances):
    """Return factors F with ``F F'`` the nearest matrices to some symmetric ones that are squares.

    Shape (n_classes, k, k).
    """
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]


def _squares(means):
    return np.einsum("ci,cj->cij", means, means)
