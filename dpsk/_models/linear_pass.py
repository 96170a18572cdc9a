"""One evaluation of a linear map on some rows, with the interface of a network's pass."""

import numpy as np

__all__ = ["LinearPass"]


class LinearPass:
    """Raw predictions of rows that are bounded already, and the way back.

    Parameters
    ----------
    model : LinearModel
        Scalar output.
    theta : ndarray
    X : ndarray of float64, shape (n, n_features)

    Attributes
    ----------
    raw : ndarray of float64, shape (n,)
    """

    def __init__(self, model, theta, X):
        self._model, self._X = model, X
        self.raw = model.predict_raw(theta, X)
        self._dz = None

    def backward(self, dz):
        """Set the derivatives in the raw predictions, shape (n,)."""
        self._dz = dz

    def square_norms(self):
        """Return the squared norm of every row's gradient, shape (n,)."""
        return np.square(self._dz) * self._square_rows()

    def add_gradient(self, factors, out):
        """Add the sum over rows of `factors` times their gradients to `out`."""
        self._model.gradient_sum(self._dz * factors, self._X, None, out)

    def drop(self, rows):
        """Set everything about some rows to zero."""
        self._dz[rows] = 0.0

    def square_differences(self, other, own_factors, other_factors):
        """Return the squared norms of the rows' ``factor gradient`` of self less of `other`."""
        change = own_factors * self._dz - other_factors * other._dz
        return np.square(change) * self._square_rows()

    def _square_rows(self):
        norms = np.einsum("ij,ij->i", self._X, self._X)
        return norms + 1.0 if self._model.fit_intercept else norms
