"""One evaluation of a linear map on some rows, with the interface of `mlp.Pass`."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from dpsk._models.clipping import SHORTEST

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["LinearPass"]


class LinearPass:
    """Scalar raw predictions of some rows and their backward pass, in float64.

    `model` is a `LinearModel`; `scale` and `norms` come from its `row_scales` for the rows.
    """

    def __init__(self, model: Any, theta: FloatArray, X: Features, scale: FloatArray | None,
                 norms: FloatArray) -> None:
        self._model, self._X, self._scale = model, X, scale
        self._lengths = np.maximum(model.entering_norms(norms), SHORTEST)
        self.raw = model.predict_raw(theta, X, scale)
        self._dz: Any = None

    def backward(self, dz: FloatArray) -> None:
        """Set the derivatives in the raw predictions, shape (n,)."""
        self._dz = dz

    def square_norms(self) -> FloatArray:
        """Return the squared norm of every row's gradient, shape (n,)."""
        return np.square(self._dz * self._lengths)

    def add_gradient(self, factors: FloatArray, out: FloatArray) -> None:
        """Add the sum over rows of `factors` times their gradients to `out`."""
        self._model.gradient_sum(self._dz * factors, self._X, self._scale, out)

    def drop(self, rows: Any) -> None:
        """Set the gradients of some rows to zero."""
        self._dz[rows] = 0.0

    def less(self, other: LinearPass, own_factors: FloatArray,
             other_factors: FloatArray) -> LinearPass:
        """Return, as a pass, the change from `other` to self of ``factor gradient``."""
        change = copy(self)
        change.backward(own_factors * self._dz - other_factors * other._dz)
        return change
