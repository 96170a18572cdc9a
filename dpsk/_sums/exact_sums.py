"""Sums of losses and of their derivatives as they are, for fits that protect nobody."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

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
    """Rows whose sums are not clipped, with the loss itself and the whole of its curvature."""

    def __init__(self, model: Any, loss: Any, rows: RowSource,
                 n_samples: int | None = None) -> None:
        super().__init__(loss, FloatEntry(model, rows, Clip(math.inf), n_samples))

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the sum of losses at `theta`, shape (1,)."""
        total = np.zeros(1)
        for part in self._parts():
            losses = self.loss.value(part.y, self.entry.predict(theta, part))
            total += losses.sum() if part.weights is None else part.weights @ losses
        return total

    def majorant(self, theta: FloatArray) -> FloatArray:
        """Return what no Hessian of the sum of losses exceeds, like one; the same at all theta."""
        rows, outputs = theta.shape[0], math.prod(theta.shape[1:])
        total = np.zeros((rows, rows))
        for part in self._parts():
            bounds = np.full(len(part.y), self.loss.smoothness)
            if part.weights is not None:
                bounds *= part.weights
            self.model.outer_sum(bounds, part.X, part.scale, total)
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
                sums = np.zeros((rows, rows))
                self.model.outer_sum(curvatures[:, i, j].copy(), part.X, part.scale, sums)
                total[:, i, :, j] += sums
                if i != j:
                    total[:, j, :, i] += sums
        return total.reshape(rows * outputs, rows * outputs)

    def _parts(self) -> Iterator[Part]:
        return map(self.entry.take, self.entry.blocks())
