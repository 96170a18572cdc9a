"""One evaluation of a linear map on some rows, with the interface of a network's pass."""

from copy import copy

import numpy as np

from dpsk._models.clipping import SHORTEST

__all__ = ["LinearPass"]


class LinearPass:
    """Raw predictions of some rows, and the way back, of a scalar output; all in float64.

    `scale` and `norms` are what `model.row_scales` returned for the rows.
    """

    def __init__(self, model, theta, X, scale, norms):
        self._model, self._X, self._scale = model, X, scale
        self._lengths = np.maximum(model.entering_norms(norms), SHORTEST)
        self.raw = model.predict_raw(theta, X, scale)
        self._dz = None

    def backward(self, dz):
        """Set the derivatives in the raw predictions, shape (n,)."""
        self._dz = dz

    def square_norms(self):
        """Return the squared norm of every row's gradient, shape (n,)."""
        return np.square(self._dz * self._lengths)

    def add_gradient(self, factors, out):
        """Add the sum over rows of `factors` times their gradients to `out`."""
        self._model.gradient_sum(self._dz * factors, self._X, self._scale, out)

    def drop(self, rows):
        """Set everything about some rows to zero."""
        self._dz[rows] = 0.0

    def less(self, other, own_factors, other_factors):
        """Return the change ``factor gradient`` of self less that of `other`, as a pass."""
        change = copy(self)
        change.backward(own_factors * self._dz - other_factors * other._dz)
        return change
