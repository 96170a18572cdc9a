"""Sums of clipped per-row gradients: exact, sensitive, and for oracles only."""

import numpy as np

from dpsk._models.linear import headroom

__all__ = ["RowSums"]

# Large enough for threaded matrix-vector products, small enough to leave memory alone.
_BLOCK_BYTES = 1 << 23


class RowSums:
    """Rows, targets and the clipped gradient sums over them.

    Every per-row gradient that enters a sum has norm at most `clip_norm`; a non-finite one
    enters as zero. No (n, dimension) array is made.

    Parameters
    ----------
    model : LinearModel
    loss : Loss
    X : ndarray of shape (n, n_features)
    y : ndarray of shape (n,)
    clip_norm : float
        Where it is at least the bound that loss and model imply, nothing is clipped.
    dtype : dtype
        The floating type to work in; rows of another type are converted block by block.
    """

    def __init__(self, model, loss, X, y, clip_norm, dtype):
        self.model = model
        self.loss = loss
        self.clip_norm = clip_norm
        self.n_samples = len(X)
        self._X, self._y = X, y
        self._dtype = np.dtype(dtype)
        self._scale, norms = model.bound_rows(X, self._dtype)
        bound = clip_norm * headroom(dtype)
        self.clips = bound < loss.lipschitz * model.radius
        self._limits = None
        if self.clips:
            with np.errstate(divide="ignore"):
                self._limits = (bound / norms).astype(dtype, copy=False)
        self._block = max(1, _BLOCK_BYTES // max(1, X.shape[1] * self._dtype.itemsize))

    @property
    def smoothness(self):
        """float : smoothness of one row's loss in theta; clipping does not increase it."""
        return self.loss.smoothness * self.model.radius**2

    def gradient(self, theta, rows=None):
        """Return the sum of clipped gradients at `theta`, float64, shape of theta.

        Parameters
        ----------
        theta : ndarray
        rows : ndarray of int or None
            Indices of the rows to sum over; None for all.
        """
        total = np.zeros(self.model.shape)
        for X, y, scale, limits in self._parts(rows):
            z = self.model.predict_raw(theta, X, scale)
            dz = self._clipped(self.loss.gradient(y, z), limits)
            self.model.gradient_sum(dz, X, scale, total)
        return total

    def _clipped(self, dz, limits):
        """Clip derivatives in the raw prediction so that gradients stay within the norm."""
        if not np.isfinite(dz.sum()):
            dz[~np.isfinite(dz).reshape(len(dz), -1).all(axis=1)] = 0.0
        if limits is None:
            return dz
        if dz.ndim == 1:
            np.minimum(dz, limits, out=dz)
            return np.maximum(dz, -limits, out=dz)
        lengths = np.sqrt(np.einsum("ij,ij->i", dz, dz))
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.where(lengths > limits, limits / lengths, 1.0)
        dz *= factors[:, None].astype(dz.dtype, copy=False)
        return dz

    def _parts(self, rows):
        """Yield (X, y, scale, limits) by blocks of rows, as views where all rows are read."""
        if rows is None:
            for start in range(0, self.n_samples, self._block):
                yield self._take(slice(start, start + self._block))
        else:
            for start in range(0, len(rows), self._block):
                yield self._take(rows[start:start + self._block])

    def _take(self, rows):
        limits = None if self._limits is None else self._limits[rows]
        X = self._X[rows].astype(self._dtype, copy=False)
        return X, self._y[rows], self._scale[rows], limits
