"""Rows mapped by the inverse root of their noisy second moment."""

import math
from dataclasses import replace

import numpy as np

from dpsk._defaults.budgets import (
    LEAST_FLOOR,
    MOMENT_SHARE,
    MOST_COLUMNS,
    NOISE_FLOOR,
    mu_of_share,
)
from dpsk._models import LinearModel, Preconditioner
from dpsk._oracle.statistics import noisy_second_moment, second_moment_noise
from dpsk._privacy.events import Gaussian
from dpsk._problem import Geometry
from dpsk._stages.base import RowStage

__all__ = ["Whitening", "inverse_root", "moment_budget", "thresholded",
           "whitening_floor"]

#: A covariance is kept where it stands this many standard deviations of noise above zero.
_DEVIATIONS = 3.0


class Whitening(RowStage):
    """Release a noisy second moment and map the rows by its inverse root.

    The constant becomes a coordinate of the whitened rows, which have norm 1.
    """

    attribute = "preconditioner_"
    words = "; then rows are mapped by the released preconditioner to norm at most 1"

    @classmethod
    def pays(cls, problem, is_sparse):
        """Return whether whitening is on by default, from public facts.

        Not where a penalty speaks of the coefficients of the rows as they are, not where the
        matrix would cost more than the fit, and not where its noise outweighs it.
        """
        penalty, columns = problem.penalty, problem.model.shape[0]
        penalized = penalty.smoothness > 0 or not penalty.is_smooth
        if is_sparse or penalized or columns > MOST_COLUMNS + 1 or problem.delta == 0:
            return False
        return columns < problem.n_samples * problem.mu

    def prepared(self, problem):
        columns = self._model.shape[0]
        model = LinearModel(columns, self._model.n_outputs, False, 1.0)
        return replace(problem, model=model, geometry=Geometry(columns))

    def event(self, problem):
        """Return what the release costs."""
        return Gaussian(moment_budget(problem))

    def release(self, problem, rows, releases):
        """Return the problem with what is known of whitened rows, and the whitened rows."""
        model, mu = self._model, self.event(problem).mu
        noisy = noisy_second_moment(model, rows, mu, releases)
        noise_std = second_moment_noise(model, len(rows), mu)
        moment, entries = thresholded(noisy, noise_std, model.fit_intercept)
        floor = whitening_floor(noise_std, entries, self._preserves_norm, model.data_norm)
        matrix, effective_rank = inverse_root(moment, floor)
        left = float(np.linalg.eigvalsh(matrix @ noisy @ matrix)[-1])
        # The usual row that keeps its length then has about norm 1.
        self._matrix = matrix / np.sqrt(effective_rank) if self._preserves_norm else matrix
        self.value = self._matrix.astype(self._dtype)
        rows = rows.mapped(Preconditioner(model, self._matrix, self._preserves_norm))
        return replace(problem, geometry=Geometry(effective_rank, max(1.0, left))), rows

    def undo(self, model, theta):
        return self._matrix @ theta


def moment_budget(problem):
    """Return the mu that the second moment may cost."""
    return mu_of_share(problem, MOMENT_SHARE)


def whitening_floor(noise_std, entries, preserves_norm, data_norm):
    """Return what is added to eigenvalues of a moment with `entries` noisy entries a row.

    Where rows keep their length a direction of noise alone must not lengthen them; elsewhere
    the floor stops at a share of the squared row bound.
    """
    least = 2.0 * noise_std if preserves_norm else LEAST_FLOOR * data_norm**2
    return max(least, NOISE_FLOOR * noise_std * np.sqrt(entries))


def thresholded(moment, noise_std, fit_intercept):
    """Return a noisy moment without the covariances that noise alone explains.

    And how many entries a row keeps on average. The moment, shape (p, p), is released and
    symmetric, its last row that of the constant if there is one; `noise_std` is on the diagonal.

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


def inverse_root(moment, floor):
    """Return the symmetric inverse root of a noisy moment with a public floor, and its rank.

    The `floor` is added to the eigenvalues, after raising negative ones to 0. The effective rank
    says how many directions the map makes alike: those well above the floor.
    """
    values, vectors = np.linalg.eigh(moment)
    values = np.maximum(values, 0.0)
    # What stands less than two fifths of the floor above zero is taken for noise.
    shares = np.maximum(values - 0.4 * floor, 0.0) / (values + floor)
    effective_rank = max(1.0, float(shares.sum()))
    return (vectors / np.sqrt(values + floor)) @ vectors.T, effective_rank
