"""Sums of losses and their derivatives without clipping, for non-private fits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._sums.clip import Clip
from dpsk._sums.float_entry import FloatEntry
from dpsk._sums.linear_sums import LinearSums

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._sums.float_entry import Part
    from dpsk._typing import FloatArray

__all__ = ["ExactSums"]


class ExactSums(LinearSums):
    """Sums over rows without clipping: gradients, the loss itself and its Hessian."""

    def __init__(self, model: Any, loss: Any, rows: RowSource,
                 n_samples: int | None = None) -> None:
        super().__init__(loss, FloatEntry(model, rows, Clip(math.inf), n_samples))
        self._room: FloatArray = np.empty((0, 0))

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the sum of losses at `theta`, shape (1,)."""
        total = np.zeros(1)
        for part in self._parts():
            losses = self.loss.value(part.y, self.entry.predict(theta, part))
            total += losses.sum() if part.weights is None else part.weights @ losses
        return total

    def value_and_gradient(self, theta: FloatArray) -> FloatArray:
        """Return the sum of losses at `theta` and its gradient as one flat array."""
        value, total = 0.0, self.entry.zeros()
        for part in self._parts():
            raw = self.entry.predict(theta, part)
            losses = self.loss.value(part.y, raw)
            value += losses.sum() if part.weights is None else part.weights @ losses
            slopes = self.loss.gradient(part.y, raw)
            if part.weights is not None:
                slopes *= part.weights if slopes.ndim == 1 else part.weights[:, None]
            self.entry.add(slopes, part, total)
        return np.append(value, total)

    def majorant(self, theta: FloatArray) -> FloatArray:
        """Return an upper bound on the Hessian of the summed loss, valid at every theta."""
        rows, outputs = theta.shape[0], math.prod(theta.shape[1:])
        total = np.zeros((rows, rows))
        for part in self._parts():
            bounds = np.full(len(part.y), self.loss.smoothness)
            if part.weights is not None:
                bounds *= part.weights
            self._add_products(bounds, part.X, part.scale, total)
        return np.kron(total, np.eye(outputs))

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian of the sum of losses, shape (dimension, dimension)."""
        rows, outputs = theta.shape[0], math.prod(theta.shape[1:])
        total = np.zeros((rows, outputs, rows, outputs))
        for part in self._parts():
            curvatures = self.loss.hessian(part.y, self.entry.predict(theta, part))
            curvatures = curvatures.reshape(len(part.y), outputs, outputs)
            if part.weights is not None:
                curvatures = curvatures * part.weights[:, None, None]
            for i, j in zip(*np.tril_indices(outputs), strict=True):
                # Most rows lie on linear pieces of the loss and have no curvature.
                curved = np.flatnonzero(curvatures[:, i, j])
                sums = np.zeros((rows, rows))
                if len(curved):
                    self._add_outer(curvatures[curved, i, j], part, curved, sums)
                total[:, i, :, j] += sums
                if i != j:
                    total[:, j, :, i] += sums
        return total.reshape(rows * outputs, rows * outputs)

    def _add_outer(self, curvatures: FloatArray, part: Part, rows: Any,
                   out: FloatArray) -> None:
        """Add the outer products of some rows of a part times their curvatures to `out`."""
        X, scale = part.X, part.scale
        if 2 * len(rows) < len(part.y):
            X, scale = X[rows], scale[rows]
        elif len(rows) < len(part.y):
            whole = np.zeros(len(part.y))
            whole[rows] = curvatures
            curvatures = whole
        self._add_products(curvatures, X, scale, out)

    def _add_products(self, curvatures: FloatArray, X: Any, scale: FloatArray,
                      out: FloatArray) -> None:
        """Add the outer products of rows times their curvatures to `out`."""
        if sparse.issparse(X) or curvatures.min(initial=0.0) < 0.0:
            self.model.outer_sum(curvatures, X, scale, out)
            return
        # A product of a matrix with itself takes half the time of a product of two matrices.
        roots, width = np.sqrt(curvatures), X.shape[1]
        if len(self._room) < len(X):
            # Allocating memory for every block would take as long as the product.
            self._room = np.empty((len(X), len(out)))
        entering = self._room[:len(X)]
        np.multiply(X, (roots * scale)[:, None], out=entering[:, :width])
        if self.model.fit_intercept:
            entering[:, width] = roots
        out += entering.T @ entering

    def _parts(self) -> Iterator[Part]:
        return map(self.entry.take, self.entry.blocks())
