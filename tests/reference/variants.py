"""Sums over rows of a linear model that differ from `RowSums` in one respect each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._models.clipping import HEADROOM
from tests.reference.row_sums import RowSums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Chosen, Features, FloatArray

__all__ = ["DifferenceSums", "ExactSums", "MaxNormSums"]

_ROUNDING = 1.0 + 2.0**-40
_LEAST_SHARE = 2.0**-30
_LARGEST = np.finfo(np.float64).max


class DifferenceSums(RowSums):
    """Row sums that can also sum clipped differences of clipped gradients.

    The derivatives of all rows at the latest anchor are held, so that a difference costs one
    product with the rows of its batch.
    """

    _anchor = None

    def bound(self, theta: FloatArray, anchor: FloatArray) -> float:
        """Return the public bound on the norm of one row's difference, 0 at the anchor."""
        if theta.tobytes() == anchor.tobytes():
            return 0.0
        largest = self.loss.gradient_diameter * self.clip_norm
        move = theta - anchor
        smooth = self.smoothness * math.sqrt(np.vdot(move, move)) * _ROUNDING
        # Where points or products overflow, the clips of the two gradients are what holds.
        bound = smooth if smooth < largest else largest
        return max(bound, _LEAST_SHARE * self.clip_norm)

    def anchor_gradient(self, anchor: FloatArray) -> FloatArray:
        """Return the sum of clipped gradients over all rows at `anchor`, and hold on to it."""
        total, derivatives = np.zeros(self.model.shape), []
        for block in self._blocks(None):
            part = self._take(block)
            dz = self._derivatives(anchor, part)
            derivatives.append(dz.copy())
            self.model.gradient_sum(dz, part[0], part[2], total)
        self._anchor = anchor.copy()
        # A place may have no rows.
        self._at_anchor = np.concatenate(derivatives) if derivatives else np.empty(0)
        return total

    def difference_anew(self, theta: FloatArray, anchor: FloatArray, bound: float,
                        rows: Chosen = None) -> Any:
        """Return what `difference` does, also where sums were made anew since the anchor."""
        if not self._holds(anchor):
            self.anchor_gradient(anchor)
        return self.difference(theta, anchor, bound, rows)

    def difference(self, theta: FloatArray, anchor: FloatArray, bound: float,
                   rows: Chosen = None) -> FloatArray:
        """Return the sum of differences ``gradient(theta) - gradient(anchor)``, float64.

        Both gradients of a row are multiples of the row, so the difference of its derivatives is
        clipped in their place, to the norm `bound`. `rows` are indices, None for all. A ValueError
        if the anchor is not that of the last `anchor_gradient`.
        """
        if not self._holds(anchor):
            raise ValueError("anchor: not the point of the last gradient that was asked for; ask "
                             "for the gradient at an anchor before differences from it.")
        total = np.zeros(self.model.shape)
        share = bound / self.clip_norm
        for block in self._blocks(rows):
            part = self._take(block)
            dz = self._derivatives(theta, part)
            dz -= self._at_anchor[block]
            # An infinite limit stands for one beyond the largest float.
            limits = np.minimum(part[3], _LARGEST)
            limits *= share
            dz = self._clipped(dz, limits, None)
            self.model.gradient_sum(dz, part[0], part[2], total)
        return total

    def _holds(self, anchor: FloatArray) -> bool:
        return self._anchor is not None and anchor.tobytes() == self._anchor.tobytes()


class MaxNormSums(RowSums):
    """Row sums of gradients whose largest absolute entry is at most `clip_norm`."""

    @property
    def clips(self) -> Any:
        """bool : whether the clip may change a gradient, by what loss and model imply."""
        implied = self._rows.weight_bound * self.loss.lipschitz * self.model.coordinate_bound
        return self.clip_norm * HEADROOM < implied

    def _entering(self, X: Features, scale: FloatArray | None, norms: FloatArray) -> FloatArray:
        return self.model.row_maxima(X, scale)

    def _lengths(self, dz: FloatArray) -> FloatArray:
        return np.abs(dz).max(axis=1)


class ExactSums(RowSums):
    """Rows whose sums are not clipped, with the loss itself and the whole of its curvature."""

    def __init__(self, model: Any, loss: Any, rows: Any, n_samples: int | None = None) -> None:
        super().__init__(model, loss, rows, math.inf, n_samples=n_samples)

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the sum of losses at `theta`, shape (1,)."""
        total = np.zeros(1)
        for X, y, scale, _, weights in map(self._take, self._blocks(None)):
            losses = self.loss.value(y, self.model.predict_raw(theta, X, scale))
            total += losses.sum() if weights is None else weights @ losses
        return total

    def majorant(self, theta: FloatArray) -> FloatArray:
        """Return what no Hessian of the sum of losses exceeds, like one; the same at all theta."""
        rows, outputs = theta.shape[0], math.prod(theta.shape[1:])
        total = np.zeros((rows, rows))
        for X, y, scale, _, weights in map(self._take, self._blocks(None)):
            bounds = np.full(len(y), self.loss.smoothness)
            self.model.outer_sum(bounds if weights is None else bounds * weights, X, scale, total)
        return np.kron(total, np.eye(outputs))

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian of the sum of losses, shape (dimension, dimension)."""
        rows, outputs = theta.shape[0], math.prod(theta.shape[1:])
        total = np.zeros((rows, outputs, rows, outputs))
        for X, y, scale, _, weights in map(self._take, self._blocks(None)):
            curvatures = self.loss.hessian(y, self.model.predict_raw(theta, X, scale))
            curvatures = curvatures.reshape(len(y), outputs, outputs)
            if weights is not None:
                curvatures = curvatures * weights[:, None, None]
            for i, j in zip(*np.tril_indices(outputs), strict=True):
                part = np.zeros((rows, rows))
                self.model.outer_sum(curvatures[:, i, j].copy(), X, scale, part)
                total[:, i, :, j] += part
                if i != j:
                    total[:, j, :, i] += part
        return total.reshape(rows * outputs, rows * outputs)
