"""Projection of coefficients of whitened rows into a convex set for the original rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._privacy.events import Composed
from dpsk._stages.base import Stage

if TYPE_CHECKING:
    from typing import Any

    from dpsk._objective.penalties import ConstraintSet
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._stages.whitening import Whitening
    from dpsk._typing import FloatArray

__all__ = ["IntoSet"]

_MOST_STEPS, _TOLERANCE = 2000, 1e-9


class IntoSet(Stage):
    r"""Project coefficients into a set, in the metric of the released covariance C.

    The result minimizes ``(w - v)^\top (C + floor) (w - v)`` over w in the set, where v was fitted
    without the set: its predictions change least. This is least squares in the set, as far as C
    is the covariance of the rows. The mean prediction stays, and nothing is released.

    Parameters
    ----------
    whitening : Whitening
        The stage that whitened the rows before the solver.
    penalty : ConstraintSet
        The set of coefficients of the original rows, without the intercept.
    """

    comes_last: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True

    def __init__(self, whitening: Whitening, penalty: ConstraintSet) -> None:
        self._whitening, self._penalty = whitening, penalty

    def event(self, problem: Problem) -> Event:
        return Composed(())

    def release(self, problem: Problem, oracle: Any, theta: FloatArray) -> Any:
        """Return `theta`, or the nearest point of the set."""
        spectrum = self._whitening.spectrum
        allowed = self._penalty.in_unit(self._whitening.unit)
        features = len(spectrum.covariance)
        coef = (spectrum.matrix @ theta)[:features]
        if not (np.isfinite(coef).all() and allowed.value(coef) > 0.0):
            return theta
        _, floor = self._whitening.scales
        values, vectors = np.linalg.eigh(spectrum.covariance)
        values = np.maximum(values, 0.0) + floor
        inside = _nearest(coef, (vectors * values) @ vectors.T, float(values[-1]), allowed)
        return theta + spectrum.moved(inside - coef)


def _nearest(point, metric, largest, allowed):
    """Return the nearest point of a set in a metric whose largest eigenvalue is `largest`.

    The method is projected gradient descent with momentum. If it ends before the minimum, the
    result is in the set nevertheless.
    """
    found = ahead = allowed.prox(point, 1.0)
    momentum = 1.0
    for _ in range(_MOST_STEPS):
        before, found = found, allowed.prox(ahead - metric @ (ahead - point) / largest, 1.0)
        moved = found - before
        if np.abs(moved).max() <= _TOLERANCE * np.abs(point).max():
            break
        last, momentum = momentum, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = found + (last - 1.0) / momentum * moved
    return found
