"""A subspace and a Gaussian model of every class, from released moments."""

import math

import numpy as np

from dpsk._stages.spectrum import Spectrum
from dpsk._statistics.class_moments import on_grid

__all__ = ["class_models", "class_shares", "column_models", "kept_of", "principal", "roots",
           "shared_model", "smoothed"]

#: Counts are raised to at least this many standard deviations of their noise.
_DEVIATIONS = 2.0
#: Relative errors of sums in double precision are less than this.
_ROUNDING = 1e-12


def principal(moment, noise_std, n_components):
    """Return the principal directions of a noisy second moment, and the moments in them.

    Parameters
    ----------
    moment : ndarray of shape (d, d)
    noise_std : float
    n_components : int or None
        None: as many as stand out of the noise, from 1 to 64.

    Returns
    -------
    basis : ndarray of shape (d, k)
        Orthonormal up to rounding to few bits.
    values : ndarray of shape (k,)
        Second moments in those directions.
    rest : ndarray of shape (d,)
        Second moments of the columns that the subspace leaves out.
    """
    spectrum = Spectrum.of(moment, noise_std)
    count = spectrum.n_clear if n_components is None else n_components
    basis, found = on_grid(spectrum.vectors[:, :count]), spectrum.found[:count]
    rest = np.maximum(np.diag(moment) - basis**2 @ found, 0.0)
    return basis, found, rest


def class_shares(counts, n_samples):
    """Return the class shares nearest to noisy counts, nonnegative and of sum 1."""
    shares = counts / n_samples
    ordered = np.sort(shares)[::-1]
    surplus = (np.cumsum(ordered) - 1.0) / np.arange(1, len(shares) + 1)
    most = surplus[np.flatnonzero(ordered > surplus)[-1]]
    # Exact counts sum to 1 up to rounding, which is no share of a class without rows.
    return np.maximum(shares - (most if abs(most) > _ROUNDING else 0.0), 0.0)


def smoothed(shares, noise):
    """Return class shares smoothed by the noise on one share, so that none is 0.

    `noise` is the noise on a count over the number of rows.
    """
    return (shares + noise) / (1.0 + len(shares) * noise)


def class_models(released, values, value_noise, n_samples, divides=False):
    """Return shares, means and covariances of the classes in the subspace.

    The pooled covariance is the average of the class covariances. Where `values` are given, their
    difference from the moment of the means is a second estimate. The two are weighted by their
    noise. Means are shrunk to the center, and class covariances to the pooled one, most in
    directions in which rows vary little.

    Parameters
    ----------
    released : ClassMoments
    values : ndarray of shape (k,), or None
        Second moments of all rows in the directions of the subspace.
    value_noise : float
        Standard deviation of the noise on `values`.
    n_samples : int
    divides : bool
        Whether the models are for classification: means are then shrunk to the mean of all rows.

    Returns
    -------
    shares : ndarray of shape (n_classes,)
    means : ndarray of shape (n_classes, k)
    covariances : ndarray of shape (n_classes, k, k)
    noise : ndarray of shape (n_classes,)
        Standard deviations of the noise left on a variance.
    """
    shares, counts, noisy_means = _noisy_means(released, n_samples)
    squares, square_noise = _squares(noisy_means, released.sum_noise / counts)
    covariances = released.moments / counts[:, None, None] - squares
    pooled = np.tensordot(shares, covariances, 1)
    own = len(counts) * (released.moment_noise / n_samples)**2 + float(shares**2 @ square_noise)
    if values is not None:
        between = np.tensordot(shares, squares, 1)
        weight = own / (own + value_noise**2) if own else 0.0
        pooled = weight * (np.diag(values) - between) + (1.0 - weight) * pooled
        own *= 1.0 - weight
    # Means in a column whose variance noise hides would all be shrunk to 0.
    usual = np.maximum(np.diag(pooled), math.sqrt(own))
    shrink = _shrunk_apart if divides else _shrunk_means
    means, _ = shrink(released, noisy_means, counts, usual if values is None else values)
    # A covariance of two directions has half the noise of a variance.
    doubled = 0.5 * (1.0 + np.eye(len(usual)))
    left = np.full(len(counts), own)
    for place, count in enumerate(counts):
        apart = covariances[place] - pooled
        noise = (released.moment_noise / count)**2 + square_noise[place]
        kept = kept_of(apart, np.outer(usual, usual), doubled * noise)
        covariances[place] = pooled + kept * apart
        left[place] += noise * np.mean(kept**2)
    return shares, means, covariances, np.sqrt(left)


def shared_model(released, n_samples):
    """Return class shares, means, the covariance within classes, and the noise on a variance.

    Parameters
    ----------
    released : ClassMoments
        With one moment of all classes together.
    n_samples : int

    Returns
    -------
    shares : ndarray of shape (n_classes,)
    means : ndarray of shape (n_classes, k)
    covariance : ndarray of shape (k, k)
    noise : float
    """
    shares, counts, noisy_means = _noisy_means(released, n_samples)
    squares, square_noise = _squares(noisy_means, released.sum_noise / counts)
    covariance = released.moments / n_samples - np.tensordot(shares, squares, 1)
    noise = math.hypot(released.moment_noise / n_samples, math.sqrt(shares**2 @ square_noise))
    spread = np.maximum(np.diag(covariance), noise)
    means, _ = _shrunk_apart(released, noisy_means, counts, spread)
    return shares, means, covariance, noise


def column_models(released, n_samples):
    """Return shares, means and variances of the classes, separately for every column.

    Variances of a class are shrunk to those of all classes, and these to the average over columns,
    as far as noise hides how they differ. The uncertainty of a mean is added to its variance. No
    variance is less than the noise on the variance of all classes.

    Parameters
    ----------
    released : ClassMoments
        With the moments of single columns.
    n_samples : int

    Returns
    -------
    shares : ndarray of shape (n_classes,)
    means : ndarray of shape (n_classes, k)
    variances : ndarray of shape (n_classes, k)
    pooled : ndarray of shape (k,)
    """
    shares, counts, noisy_means = _noisy_means(released, n_samples)
    variances = released.moments / counts[:, None] - noisy_means**2
    variances += (released.sum_noise / counts[:, None])**2
    noise = math.sqrt(len(counts)) * released.moment_noise / n_samples
    pooled = shares @ variances
    usual = max(float(pooled.mean()), noise)
    apart, even = pooled - usual, np.full(len(pooled), usual**2)
    pooled = usual + kept_of(apart, even, np.full(len(pooled), noise**2)) * apart
    pooled = np.maximum(pooled, noise)
    means, unknown = _shrunk_apart(released, noisy_means, counts, pooled)
    for place, count in enumerate(counts):
        apart = variances[place] - pooled
        kept = kept_of(apart, pooled**2,
                     np.full(len(pooled), (released.moment_noise / count)**2))
        variances[place] = np.maximum(pooled + kept * apart, noise)
    return shares, means, variances + unknown, pooled


def _noisy_means(released, n_samples):
    """Return class shares, counts kept away from 0, and noisy means."""
    shares = class_shares(released.counts, n_samples)
    counts = np.maximum(n_samples * shares, max(1.0, _DEVIATIONS * released.count_noise))
    return shares, counts, released.sums / counts[:, None]


def _shrunk_means(released, means, counts, spread, least=0.0):
    """Return noisy means shrunk to 0, and the variance of the noise left on each."""
    noise = np.full_like(means, 1.0) * ((released.sum_noise / counts)**2)[:, None]
    kept = np.array([kept_of(mean, spread, own, least)
                     for mean, own in zip(means, noise, strict=True)])
    return kept * means, kept * noise


def _shrunk_apart(released, means, counts, spread):
    """Return means shrunk to the mean of all rows, and the variance of their noise.

    The mean of all rows is shrunk to 0. The signal in the differences of classes counts as at
    least one standard deviation of its noise. Classification depends on the direction of these
    differences, which shrinkage by a factor would not improve.
    """
    total = counts.sum()
    common = np.full(len(spread), len(counts) * (released.sum_noise / total)**2)
    middle = released.sums.sum(axis=0) / total
    middle *= kept_of(middle, np.ones(len(spread)), common)
    found, unknown = _shrunk_means(released, means - middle, counts, spread, 1.0)
    return middle + found, unknown


def kept_of(found, scales, noise, least=0.0):
    """Return the factors that shrink noisy numbers, smallest where their usual size is small.

    Empirical Bayes: prior variances are proportional to `scales`, by a factor estimated from the
    sum of squares. `noise` holds the variance of the noise on each number. The estimated signal
    is at least `least` standard deviations of its own noise.
    """
    if not np.all(noise > 0):
        return np.ones_like(found)
    signal = float(np.sum(found**2 - noise))
    signal = max(signal, least * math.sqrt(2.0 * float(np.sum(noise**2))))
    total = float(scales.sum())
    expected = scales * (max(0.0, signal) / total if total > 0 else 0.0)
    return expected / (expected + noise)


def roots(covariances, least=0.0):
    """Return factors of the nearest positive semidefinite matrices.

    For a factor F, shape (k, k), ``F F'`` is a matrix with its eigenvalues raised to `least`.
    """
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, least))[:, None, :]


def _squares(means, noise_std):
    """Return outer products of noisy means without bias, and the noise variance of a square."""
    noise = noise_std**2
    squares = np.einsum("ci,cj->cij", means, means)
    squares -= noise[:, None, None] * np.eye(means.shape[1])
    usual = np.maximum(np.mean(means**2, axis=1) - noise, 0.0)
    return squares, 4.0 * usual * noise + 2.0 * noise**2
