"""A noisy second moment without what noise alone explains."""

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

#: Standard deviations of noise above zero from which on covariances may be kept.
_DEVIATIONS = np.linspace(2.0, 6.0, 81)
#: Mean squares of constants count as no less.
_LEAST_CONSTANT = 0.05
#: Standard errors above zero from which on a mean of variances is one.
_SURE = 3.0
#: Of the columns: where more are in pairs of a covariance, a moment is in no parts.
_MOST_PAIRED = 0.125


@dataclass(frozen=True, eq=False)
class Thresholded:
    """A noisy moment without what noise alone explains.

    Parameters
    ----------
    moment : ndarray of shape (p, p)
    covariance : ndarray of shape (n_features, n_features)
        Of the features in it, but for what is kept by its directions.
    entries : float
        How many entries a row keeps on average.
    noise_share : float
        The noise that is left in these over that of as many entries.
    parts : DiagonalPlus or None
        The moment again, where no covariance of a pair is kept.
    """

    moment: FloatArray
    covariance: FloatArray
    entries: float
    noise_share: float
    parts: DiagonalPlus | None


def thresholded(moment: FloatArray, noise_std: float, fit_intercept: bool) -> Thresholded:
    """Return a noisy moment without what noise alone explains.

    Covariances that are no larger than noise are left out; what many columns share and no pair of
    them shows is kept by its directions. Variances keep as much of their differences as is no
    noise.

    The moment, shape (p, p), is released and symmetric, its last row that of the constant if
    there is one; `noise_std` is on the diagonal.

    References
    ----------
    Bickel, Levina (2008), "Covariance regularization by thresholding"; Benjamini, Hochberg
    (1995), for the threshold; Benaych-Georges, Nadakuditi (2011), for the directions; James,
    Stein (1961), for the variances.
    """
    features = len(moment) - fit_intercept
    means = moment[:features, -1] if fit_intercept else np.zeros(features)
    # Constants that were scaled with their rows have a mean square below 1, and noisy.
    constant = max(moment[-1, -1], _LEAST_CONSTANT)
    products = np.outer(means, means) / constant
    covariance = moment[:features, :features] - products
    deviation = math.sqrt(0.5) * noise_std
    sizes = np.abs(covariance)
    np.fill_diagonal(sizes, 0.0)
    kept = sizes > _cut(sizes, deviation)
    np.fill_diagonal(kept, True)
    # Matrices are not copied more often than need be: room takes longer than what fills it.
    shared = _spikes(np.multiply(covariance, ~kept, out=sizes), deviation)
    covariance *= kept
    others = float(kept.sum() + len(moment) - 2 * features)
    variances, apart = _drawn_together(np.diag(covariance), noise_std)
    if apart < 1.0:
        # No correlation is above 1, as far as variances are known.
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
    # All variances together have the noise of one, where none keeps any of its own.
    noisy = others + apart * features + (1.0 - apart)
    return Thresholded(result, covariance, (others + features) / len(moment),
                       math.sqrt(noisy / (others + features)), parts)


def _parts(covariance, kept, shared, means):
    """Return the moment in parts, None where covariances of many pairs are kept, or none has them.

    `means` end with that of the constant, if there is one.
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
        # What all directions of these columns have at least.
        diagonal[:features][paired] = values[0]
        factors = np.zeros((width, len(values)))
        factors[:features][paired] = vectors * np.sqrt(values - values[0])
    if width > features:
        factors = np.column_stack([factors, means / math.sqrt(means[-1])])
    return DiagonalPlus(diagonal, np.column_stack(
        [factors, np.vstack([shared, np.zeros((width - features, shared.shape[1]))])]))


def _drawn_together(variances, noise_std):
    """Return variances as far from their mean as noise leaves them, and how far that is.

    Of columns that all vary alike noise would show that some do not at all. Not at all where
    their mean is noise itself, as beside means that are far from 0.
    """
    mean, square = variances.mean(), variances.var()
    apart = 1.0
    if mean > _SURE * noise_std / math.sqrt(len(variances)) and square > 0.0:
        apart = max(0.0, 1.0 - noise_std**2 / square)
    return np.maximum(mean + apart * (variances - mean), 0.0), apart


def _cut(sizes, deviation):
    """Return the least size at which few of the covariances that are as large are noise.

    `sizes`, (p, p), have a diagonal of 0.
    """
    cuts = _DEVIATIONS * deviation
    n_pairs = len(sizes) * (len(sizes) - 1) // 2
    # Every pair stands in it twice.
    sizes = np.sort(sizes[sizes > cuts[0]])
    found = (len(sizes) - np.searchsorted(sizes, cuts, side="right")) // 2
    by_chance = 2.0 * ndtr(-_DEVIATIONS) * n_pairs
    passes = by_chance <= FALSE_SHARE * found
    return cuts[np.argmax(passes)] if passes.any() else cuts[-1]


def _spikes(rest, deviation):
    """Return columns, (p, k), whose outer products are the part of a symmetric matrix in
    directions that stand out of noise beside it.

    The eigenvalues of noise alone end at ``2 deviation sqrt(p)``, and less than one in a hundred
    times a fluctuation above. One of size s shows as ``s + edge^2 / (4 s)``, in a direction whose
    squared cosine with its own is ``1 - edge^2 / (4 s^2)``.
    """
    size = len(rest)
    edge = 2.0 * deviation * math.sqrt(size)
    above = edge * (1.0 + size ** (-2.0 / 3.0))
    less = -rest
    less[np.diag_indices(size)] += above
    # A Cholesky factor says sooner than eigenvalues that none of them is as large.
    if dpotrf(less.T, overwrite_a=True, clean=False)[1] == 0:
        return np.zeros((size, 0))
    values, vectors = eigh(rest, subset_by_value=(above, np.inf))
    values = 0.5 * (values + np.sqrt(values**2 - edge**2))
    return vectors * np.sqrt(values - edge**2 / (4.0 * values))
