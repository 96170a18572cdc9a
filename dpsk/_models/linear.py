"""The linear map: the only code that knows ``X @ coef + intercept``."""

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["LinearModel", "headroom"]


def headroom(dtype):
    """Return the factor just under 1 by which bounds are tightened against rounding."""
    return 1.0 - (2.0**-10 if np.dtype(dtype) == np.float32 else 2.0**-40)


@dataclass(frozen=True)
class LinearModel:
    """A linear map of rows scaled into a ball.

    A row ``x`` enters as ``x min(1, data_norm / ||x||)``, followed by a 1 if there is an
    intercept. `theta` holds the coefficients, then the intercept, as its rows; it has a
    second axis exactly if the raw prediction is a vector.

    Parameters
    ----------
    n_features : int
    n_outputs : int or None
        None for a scalar raw prediction.
    fit_intercept : bool
    data_norm : float
    """

    n_features: int
    n_outputs: int | None
    fit_intercept: bool
    data_norm: float

    @property
    def shape(self):
        """tuple of int : shape of `theta`."""
        rows = self.n_features + self.fit_intercept
        return (rows,) if self.n_outputs is None else (rows, self.n_outputs)

    @property
    def dimension(self):
        """int : number of coordinates of `theta`."""
        return math.prod(self.shape)

    @property
    def radius(self):
        """float : norm bound of a row as it enters, the intercept's 1 included."""
        return math.hypot(self.data_norm, 1.0) if self.fit_intercept else self.data_norm

    def bound_rows(self, X, dtype):
        """Return the factor of every row and its norm as it enters.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
        dtype : dtype
            The floating type of the sums that follow.

        Returns
        -------
        scale : ndarray of shape (n,), of `dtype`
        norms : ndarray of shape (n,), of `dtype`
        """
        norms = _row_norms(X)
        with np.errstate(divide="ignore"):
            scale = np.minimum(1.0, self.data_norm * headroom(dtype) / norms)
        # The product of a tiny factor and a clipped derivative would underflow, with too few
        # bits to keep the bound: drop the row.
        scale[scale < np.sqrt(np.finfo(dtype).tiny)] = 0.0
        norms = np.where(scale > 0, norms, 0.0) * scale
        if self.fit_intercept:
            np.hypot(norms, 1.0, out=norms)
        return scale.astype(dtype, copy=False), norms.astype(dtype, copy=False)

    def predict_raw(self, theta, X, scale):
        """Return raw predictions, shape (n,) or (n, n_outputs), dtype of X."""
        theta = theta.astype(X.dtype, copy=False)
        z = X @ theta[:self.n_features]
        z *= scale if z.ndim == 1 else scale[:, None]
        if self.fit_intercept:
            z += theta[-1]
        return z

    def gradient_sum(self, dz, X, scale, out):
        """Add the gradient's sum over rows to `out`, overwriting `dz`.

        Parameters
        ----------
        dz : ndarray of shape (n,) or (n, n_outputs)
            Derivatives in the raw predictions, weights included.
        X : ndarray of shape (n, n_features)
        scale : ndarray of shape (n,)
        out : ndarray of float64, shape of theta
        """
        if self.fit_intercept:
            out[-1] += dz.sum(axis=0, dtype=np.float64)
        dz *= scale if dz.ndim == 1 else scale[:, None]
        out[:self.n_features] += X.T @ dz


def _row_norms(X):
    """Return l2 norms of rows in float64, right for entries whose squares overflow too."""
    with np.errstate(over="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    huge = np.flatnonzero(~np.isfinite(norms))
    if huge.size:
        largest = np.abs(X[huge]).max(axis=1)
        norms[huge] = largest * np.sqrt(np.square(X[huge] / largest[:, None]).sum(axis=1))
    return norms
