r"""Noisy second moments of rows, and what is made of them.

A constant c is appended to rows of norm at most ``R >= c``. Replacing the row ``x`` by ``y``
moves ``sum (x, c)(x, c)'`` by a Frobenius norm of at most ``sqrt(2) (R^2 + c^2)``, as
``||aa' - bb'||^2 = |a|^4 + |b|^4 - 2 (a.b)^2``. A symmetric matrix with noise of standard
deviation s on the diagonal and ``s / sqrt(2)`` beside it is, in an orthonormal basis of the
symmetric matrices, a Gaussian mechanism with noise s.
"""

import math

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._models.preconditioner import entering_rows
from dpsk._oracle.grid_sums import exact_bits
from dpsk._privacy.events import Gaussian
from dpsk._privacy.noise import samplers

__all__ = ["MomentOracle", "symmetric_noise", "thresholded", "whitening"]

#: A covariance is kept where it stands this many standard deviations of noise above zero.
_DEVIATIONS = 3.0


class MomentOracle:
    """Answer with the noisy mean second moment of the rows, once.

    The intercept's 1 is measured as a smaller constant, which costs the features less.

    Parameters
    ----------
    model : LinearModel
        Scales rows and appends the intercept's 1.
    X : ndarray of shape (n, n_features)
    mu : float
        What the answer may cost.
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    def __init__(self, model, X, mu, stream, ledger):
        self._model, self._X = model, X
        self._event = Gaussian(mu)
        self._stream = stream
        self._ledger = ledger
        self._constant = _constant(model)
        self._bound = model.data_norm**2 + self._constant**2
        self._noise_std = math.sqrt(2.0) * self._bound / mu

    @property
    def noise_std(self):
        """float : standard deviation of the noise on the mean square of a feature."""
        return self._noise_std / len(self._X)

    @property
    def size(self):
        """int : number of rows and columns of the moment."""
        return self._model.shape[0]

    def second_moment(self):
        """Return the noisy mean of ``r r'`` over entering rows r, symmetric."""
        self._ledger.charge(self._event)
        row_unit = 2.0 ** -self._row_bits()
        total = np.zeros((self.size, self.size))
        for part in row_blocks(len(self._X), self.size):
            rows = entering_rows(self._model, self._X[part], 1.0 / row_unit)
            if self._constant:
                rows[:, -1] = self._constant / row_unit
            # On this grid every sum of products is exact, so no rounding shows the rows.
            np.trunc(rows, out=rows)
            total += rows.T @ rows
        total += symmetric_noise(self._stream, self.size, self._noise_std / row_unit**2)
        total *= row_unit**2
        if self._constant:
            total[-1] /= self._constant
            total[:, -1] /= self._constant
            # The count of rows is public.
            total[-1, -1] = len(self._X)
        return total / len(self._X)

    def _row_bits(self):
        return exact_bits(len(self._X) * self._bound, self._noise_std) // 2


def symmetric_noise(stream, size, std):
    """Return a symmetric matrix of whole numbers: rounded normals, one draw a pair.

    Standard deviation `std` on the diagonal and ``std / sqrt(2)`` beside it.
    """
    noise = std * samplers.standard_normal(stream, (size, size))
    upper = np.triu(noise, 1) * math.sqrt(0.5)
    return np.rint(upper + upper.T + np.diag(np.diag(noise)))


def thresholded(moment, noise_std, fit_intercept):
    """Return a noisy moment without the covariances that noise alone explains.

    Parameters
    ----------
    moment : ndarray of shape (p, p)
        Released, symmetric; the last row belongs to the constant if there is one.
    noise_std : float
        Of the noise on the diagonal.
    fit_intercept : bool

    Returns
    -------
    moment : ndarray of shape (p, p)
    entries : float
        How many entries a row keeps on average.

    References
    ----------
    Bickel, Levina (2008), "Covariance regularization by thresholding".
    """
    features = len(moment) - fit_intercept
    means = moment[:features, -1] if fit_intercept else np.zeros(features)
    products = np.outer(means, means)
    covariance = moment[:features, :features] - products
    kept = np.abs(covariance) > _DEVIATIONS * math.sqrt(0.5) * noise_std
    np.fill_diagonal(kept, True)
    covariance *= kept
    np.fill_diagonal(covariance, np.maximum(np.diag(covariance), 0.0))
    result = moment.copy()
    result[:features, :features] = covariance + products
    return result, float(kept.sum() + len(moment) - features) / len(moment)


def whitening(moment, floor):
    """Return the symmetric inverse root of a noisy moment with a public floor.

    Parameters
    ----------
    moment : ndarray of shape (p, p)
        Released, symmetric.
    floor : float
        Added to the eigenvalues, after raising negative ones to 0.

    Returns
    -------
    matrix : ndarray of shape (p, p)
    directions : float
        How many directions the map makes alike: those well above the floor.
    """
    values, vectors = np.linalg.eigh(moment)
    values = np.maximum(values, 0.0)
    # What stands less than two fifths of the floor above zero is taken for noise.
    directions = max(1.0, float((np.maximum(values - 0.4 * floor, 0.0) / (values + floor)).sum()))
    return (vectors / np.sqrt(values + floor)) @ vectors.T, directions


def _constant(model):
    """Return what stands for the intercept's 1: a power of two near ``data_norm / 2``."""
    if not model.fit_intercept:
        return 0.0
    return 2.0 ** (math.floor(math.log2(model.data_norm)) - 1)
