"""Denoising of a noisy second moment, by thresholds and shrinkage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf
from scipy.special import ndtr

from dpsk._defaults.budgets import FALSE_SHARE
from dpsk._stages.diagonal_plus import DiagonalPlus

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["Thresholded", "thresholded"]

#: Candidate thresholds for covariances, in standard deviations of the noise.
_DEVIATIONS = np.linspace(2.0, 6.0, 81)
#: Lower limit for the noisy mean square of the constant.
_LEAST_CONSTANT = 0.05
#: A mean of variances is significant above this many standard errors.
_SURE = 3.0
#: With covariances in a larger share of the columns, a moment is not split into parts.
_MOST_PAIRED = 0.125


@dataclass(frozen=True, eq=False)
class Thresholded:
    """A denoised second moment.

    Parameters
    ----------
    moment : ndarray of shape (p, p)
    covariance : ndarray of shape (n_features, n_features)
        Covariance of the features, without the directions that many columns share.
    entries : float
        Average number of entries kept in a row of the moment.
    noise_share : float
        Noise left in the kept entries, over the noise that they were released with.
    parts : DiagonalPlus or None
        The moment as diagonal plus low rank, where covariances of few columns are kept.
    """

    moment: FloatArray
    covariance: FloatArray
    entries: float
    noise_share: float
    parts: DiagonalPlus | None


def thresholded(moment: FloatArray, noise_std: float, fit_intercept: bool) -> Thresholded:
    """Return a noisy moment without the part that noise alone explains.

    Covariances no larger than noise are set to 0. A direction that many columns share is kept,
    even where no single covariance shows it. Variances are shrunk to their mean, as far as noise
    explains their differences.

    The moment, shape (p, p), is released and symmetric; its last row is that of the constant, if
    there is one. `noise_std` is the standard deviation of the noise on the diagonal.

    References
    ----------
    Bickel, Levina (2008), "Covariance regularization by thresholding"; Benjamini, Hochberg
    (1995), for the threshold; Benaych-Georges, Nadakuditi (2011), for the directions; James,
    Stein (1961), for the variances.
    """
    features = len(moment) - fit_intercept
    means = moment[:features, -1] if fit_intercept else np.zeros(features)
    # The constant is scaled down with long rows: its mean square is below 1, and noisy.
    constant = max(moment[-1, -1], _LEAST_CONSTANT)
    products = np.outer(means, means) / constant
    covariance = moment[:features, :features] - products
    deviation = math.sqrt(0.5) * noise_std
    sizes = np.abs(covariance)
    np.fill_diagonal(sizes, 0.0)
    kept = sizes > _cut(sizes, deviation)
    np.fill_diagonal(kept, True)
    # Buffers are reused: allocating a matrix takes longer than filling it.
    shared = _spikes(np.multiply(covariance, ~kept, out=sizes), deviation)
    covariance *= kept
    others = float(kept.sum() + len(moment) - 2 * features)
    variances, apart = _drawn_together(np.diag(covariance), noise_std)
    if apart < 1.0:
        # Covariances are clipped to correlations of at most 1, up to the error of variances.
        most = np.sqrt(variances + 2.0 * math.sqrt(apart) * noise_std)
        largest = np.multiply.outer(most, most, out=sizes)
        np.minimum(covariance, largest, out=covariance)
        np.maximum(covariance, np.negative(largest, out=largest), out=covariance)
    np.fill_diagonal(covariance, variances)
    result = moment.copy()
    np.add(covariance, products, out=result[:features, :features])
    if shared.size:
        result[:features, :features] += shared @ shared.T
    parts = None
    if not fit_intercept or moment[-1, -1] == constant:
        parts = _parts(covariance, kept, shared, np.append(means, constant)[:len(moment)])
    # Fully shrunk variances, all equal to their mean, count as the noise of one variance.
    noisy = others + apart * features + (1.0 - apart)
    return Thresholded(result, covariance, (others + features) / len(moment),
                       math.sqrt(noisy / (others + features)), parts)


def _parts(covariance, kept, shared, means):
    """Return the moment as a `DiagonalPlus`; None where too many columns have covariances.

    None also where a variance of the columns with covariances would be negative. `means` ends
    with the mean of the constant, if there is one.
    """
    features, width = len(covariance), len(means)
    paired = np.count_nonzero(kept, axis=0) > 1
    if np.count_nonzero(paired) > _MOST_PAIRED * features:
        return None
    diagonal, factors = np.zeros(width), np.zeros((width, 0))
    diagonal[:features] = np.diag(covariance)
    if paired.any():
        values, vectors = np.linalg.eigh(covariance[np.ix_(paired, paired)])
        if values[0] < 0.0:
            return None
        # The least variance of any direction of these columns stays on the diagonal.
        diagonal[:features][paired] = values[0]
        factors = np.zeros((width, len(values)))
        factors[:features][paired] = vectors * np.sqrt(values - values[0])
    if width > features:
        factors = np.column_stack([factors, means / math.sqrt(means[-1])])
    return DiagonalPlus(diagonal, np.column_stack(
        [factors, np.vstack([shared, np.zeros((width - features, shared.shape[1]))])]))


def _drawn_together(variances, noise_std):
    """Return variances shrunk to their mean, and the share of their differences that is kept.

    Without shrinkage, noise would make some of equal variances look like 0. They are not shrunk
    where their mean is not significant itself, as with features far from 0.
    """
    mean, square = variances.mean(), variances.var()
    apart = 1.0
    if mean > _SURE * noise_std / math.sqrt(len(variances)) and square > 0.0:
        apart = max(0.0, 1.0 - noise_std**2 / square)
    return np.maximum(mean + apart * (variances - mean), 0.0), apart


def _cut(sizes, deviation):
    """Return the least threshold above which few covariances are noise (Benjamini-Hochberg).

    `sizes` holds absolute covariances, shape (p, p), with a diagonal of 0.
    """
    cuts = _DEVIATIONS * deviation
    n_pairs = len(sizes) * (len(sizes) - 1) // 2
    # Every pair appears twice.
    sizes = np.sort(sizes[sizes > cuts[0]])
    found = (len(sizes) - np.searchsorted(sizes, cuts, side="right")) // 2
    by_chance = 2.0 * ndtr(-_DEVIATIONS) * n_pairs
    passes = by_chance <= FALSE_SHARE * found
    return cuts[np.argmax(passes)] if passes.any() else cuts[-1]


def _spikes(rest, deviation):
    """Return columns V, (p, k), such that ``V V'`` is the part of a matrix that exceeds noise.

    The eigenvalues of noise alone end at ``edge = 2 deviation sqrt(p)``; they exceed ``above``
    with a probability of less than 1 %. A true eigenvalue s appears as ``s + edge^2 / (4 s)``. The
    squared cosine between its found and its true direction is ``1 - edge^2 / (4 s^2)``.
    """
    size = len(rest)
    edge = 2.0 * deviation * math.sqrt(size)
    above = edge * (1.0 + size ** (-2.0 / 3.0))
    less = -rest
    less[np.diag_indices(size)] += above
    # A Cholesky factorization shows faster than eigenvalues that none exceeds `above`.
    if dpotrf(less.T, overwrite_a=True, clean=False)[1] == 0:
        return np.zeros((size, 0))
    values, vectors = eigh(rest, subset_by_value=(above, np.inf))
    values = 0.5 * (values + np.sqrt(values**2 - edge**2))
    return vectors * np.sqrt(values - edge**2 / (4.0 * values))
