"""A subspace, and a model of every class, from released moments."""

import math

import numpy as np

from dpsk._stages.spectrum import Spectrum
from dpsk._statistics.class_moments import on_grid

__all__ = ["class_models", "class_shares", "column_models", "kept_of", "principal", "roots",
           "shared_model", "smoothed"]

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


def smoothed(shares, noise):
    """Return shares of the classes, of which the noise of each is added to all: none is 0.

    `noise` is that of a count over the number of rows.
    """
    return (shares + noise) / (1.0 + len(shares) * noise)


def class_models(released, values, value_noise, n_samples, divides=False):
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
    divides : bool
        Whether models are to divide classes, so that means are shrunk to that of all rows.

    Returns
    -------
    shares : ndarray of shape (n_classes,)
    means : ndarray of shape (n_classes, k)
    covariances : ndarray of shape (n_classes, k, k)
    noise : ndarray of shape (n_classes,)
        Standard deviations of the noise that is left on a variance.
    """
    shares, counts, noisy_means = _noisy_means(released, n_samples)
    covariances = released.moments / counts[:, None, None] - _squares(noisy_means)
    pooled = np.tensordot(shares, covariances, 1)
    own = len(counts) * (released.moment_noise / n_samples)**2
    if values is not None:
        between = np.tensordot(shares, _squares(noisy_means), 1)
        weight = own / (own + value_noise**2) if own else 0.0
        pooled = weight * (np.diag(values) - between) + (1.0 - weight) * pooled
        own *= 1.0 - weight
    usual = np.maximum(np.diag(pooled), 0.0)
    shrink = _shrunk_apart if divides else _shrunk_means
    means, _ = shrink(released, noisy_means, counts, usual if values is None else values)
    # A covariance of two directions has half the noise of a variance.
    doubled = 0.5 * (1.0 + np.eye(len(usual)))
    left = np.full(len(counts), own)
    for place, count in enumerate(counts):
        apart, noise = covariances[place] - pooled, (released.moment_noise / count)**2
        kept = kept_of(apart, np.outer(usual, usual), doubled * noise)
        covariances[place] = pooled + kept * apart
        left[place] += noise * np.mean(kept**2)
    return shares, means, covariances, np.sqrt(left)


def shared_model(released, n_samples):
    """Return shares, means, the covariance within classes, and the noise on a variance of it.

    Parameters
    ----------
    released : ClassMoments
        Of which the moment is that of all classes.
    n_samples : int

    Returns
    -------
    shares : ndarray of shape (n_classes,)
    means : ndarray of shape (n_classes, k)
    covariance : ndarray of shape (k, k)
    noise : float
    """
    shares, counts, noisy_means = _noisy_means(released, n_samples)
    between = np.tensordot(shares, _squares(noisy_means), 1)
    # What noise adds to squares of means, on average.
    between[np.diag_indices(len(between))] -= shares @ (released.sum_noise / counts)**2
    covariance = released.moments / n_samples - between
    spread = np.maximum(np.diag(covariance), 0.0)
    means, _ = _shrunk_apart(released, noisy_means, counts, spread)
    return shares, means, covariance, released.moment_noise / n_samples


def column_models(released, n_samples):
    """Return shares, means and variances of the classes, of every column by itself.

    Variances are drawn to those of all classes, and these to that of all columns, as far as noise
    hides how they differ. They have in them what noise leaves unknown of a mean, and are no less
    than the noise on the variance of all classes.

    Parameters
    ----------
    released : ClassMoments
        Of which the moments are those of single columns.
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
    """Return shares of the classes, counts that noise leaves some rows, and noisy means."""
    shares = class_shares(released.counts, n_samples)
    counts = np.maximum(n_samples * shares, max(1.0, _DEVIATIONS * released.count_noise))
    return shares, counts, released.sums / counts[:, None]


def _shrunk_means(released, means, counts, spread, least=0.0):
    """Return noisy means drawn to 0, and what noise leaves unknown of each, a variance."""
    noise = np.full_like(means, 1.0) * ((released.sum_noise / counts)**2)[:, None]
    kept = np.array([kept_of(mean, spread, own, least)
                     for mean, own in zip(means, noise, strict=True)])
    return kept * means, kept * noise


def _shrunk_apart(released, means, counts, spread):
    """Return noisy means drawn to that of all rows, and what noise leaves unknown of each.

    The mean of all rows is drawn to 0. How classes differ counts for no less than what noise may
    hide of it: what divides them is a direction, which a factor leaves as it is.
    """
    total = counts.sum()
    common = np.full(len(spread), len(counts) * (released.sum_noise / total)**2)
    middle = released.sums.sum(axis=0) / total
    middle *= kept_of(middle, np.ones(len(spread)), common)
    found, unknown = _shrunk_means(released, means - middle, counts, spread, 1.0)
    return middle + found, unknown


def kept_of(found, scales, noise, least=0.0):
    """Return how much of noisy numbers is kept, the least where their usual size is small.

    As if their variances were in proportion to `scales`, by a factor that is found from the sum of
    the squares; `noise` is what the noise adds to each. The signal counts for at least so many
    standard deviations of its own noise.
    """
    if not np.all(noise > 0):
        return np.ones_like(found)
    signal = float(np.sum(found**2 - noise))
    signal = max(signal, least * math.sqrt(2.0 * float(np.sum(noise**2))))
    total = float(scales.sum())
    expected = scales * (max(0.0, signal) / total if total > 0 else 0.0)
    return expected / (expected + noise)


def roots(covariances):
    """Return factors F with ``F F'`` the nearest matrices to some symmetric ones that are squares.

    Shape (n_classes, k, k).
    """
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]


def _squares(means):
    return np.einsum("ci,cj->cij", means, means)
