"""Values and derivatives of the mean loss as they are: for fits that protect nobody.

Every answer is charged as `NotPrivate`, which no plan of a finite budget holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._privacy.events import NotPrivate
from dpsk._queries.base import Oracle, Queries, row_sums
from dpsk._sums.row_sums import RowSums

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["ExactAnswers", "ExactOracle"]


class ExactSums(RowSums):
    """Rows whose sums are not clipped, with the loss itself and the whole of its curvature."""

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

    def curvature(  # type: ignore[override]  # nothing is clipped, so there is no bound
            self, theta: FloatArray) -> FloatArray:
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


@dataclass(frozen=True)
class ExactAnswers(Queries):
    """Any number of answers without noise, whatever the noise multiplier."""

    def event(self, noise_multiplier: float) -> Event:
        """Return what they cost: there is no privacy."""
        return NotPrivate()

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> ExactOracle:
        """Return the oracle over rows."""
        return ExactOracle(row_sums(ExactSums, data, math.inf), session)


class ExactOracle(Oracle):
    """Answer with the mean loss, its gradient and its Hessian, without noise."""

    def __init__(self, sums: Any, session: Session) -> None:
        self._sums, self._session = sums, session

    def value(self, theta: FloatArray) -> float:
        """Return the mean loss at `theta`, a float."""
        return float(self._answer(self._sums.value, theta)[0])

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the mean gradient at `theta`, like it."""
        return self._answer(self._sums.gradient, theta)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the mean Hessian at `theta`, shape (dimension, dimension)."""
        return self._answer(self._sums.curvature, theta)

    def majorant(self, theta: FloatArray) -> FloatArray:
        """Return a bound on the mean Hessian, like one, for points of the shape of `theta`."""
        return self._answer(self._sums.majorant, theta)

    def _answer(self, read: Callable[..., Any], theta: FloatArray) -> FloatArray:
        return self._session(NotPrivate(), lambda batch: read(theta),
                              divisor=self._sums.n_samples)
