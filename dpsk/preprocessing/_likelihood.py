"""The normal distribution of rows that principal components describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.validation import FLOATS, check_prediction_rows
from dpsk._docs import documented

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray, Table

__all__ = ["Likelihood"]


@documented
class Likelihood:
    """Mixin of the normal distribution that principal components describe."""

    if TYPE_CHECKING:
        explained_variance_: FloatArray
        mean_: FloatArray
        n_samples_: int

    @property
    def singular_values_(self) -> FloatArray:
        """ndarray of shape (n_components,) : roots of the sums of squares."""
        return np.sqrt(self.n_samples_ * self.explained_variance_)

    def get_covariance(self) -> FloatArray:
        """Return the covariance of the probabilistic model of the rows.

        Returns
        -------
        covariance : ndarray of shape (n_features_in_, n_features_in_)
            Positive definite.
        """
        return self._with_variances(lambda variances: variances)

    def get_precision(self) -> FloatArray:
        """Return the inverse of the covariance.

        Returns
        -------
        precision : ndarray of shape (n_features_in_, n_features_in_)
            Of `get_covariance`.
        """
        return self._with_variances(lambda variances: 1.0 / variances)

    @quietly
    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row, exact and not clipped.

        Parameters
        ----------
        %(X_dense)s

        Returns
        -------
        log_likelihood : ndarray of shape (n,)
            Under a normal distribution of mean `mean_` and covariance ``get_covariance()``.
        """
        precision = self.get_precision()
        apart = check_prediction_rows(self, X, dtype=FLOATS) - self.mean_.astype(np.float64)
        size = len(precision) * np.log(2.0 * np.pi) - np.linalg.slogdet(precision)[1]
        return -0.5 * (size + np.einsum("ij,ij->i", apart @ precision, apart))

    def score(self, X: Any, y: Table | None = None) -> float:
        """Return the mean log-likelihood of rows; not private if the rows are sensitive.

        Parameters
        ----------
        %(X_dense)s
        y : None
            Ignored.

        Returns
        -------
        score : float
            The mean of `score_samples`.
        """
        return float(np.mean(self.score_samples(X)))

    def _with_variances(self, function):
        """Return the matrix whose eigenvalues are a function of the model's variances."""
        check_is_fitted(self, "privacy_")
        axes = self.components_.astype(np.float64)
        rest = self.noise_variance_ or self._least or 1e-100
        kept = function(np.maximum(self.explained_variance_.astype(np.float64), rest))
        found = (axes.T * kept) @ axes
        # Rounding errors of directions that are left out would be large if none is.
        return found if len(axes) == len(found) else found + function(rest) * (
            np.eye(len(found)) - axes.T @ axes)
