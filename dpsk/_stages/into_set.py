"""Coefficients of mapped rows brought into a convex set of those of the rows as they came."""

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
    r"""Take the point of a set whose predictions differ least, by the released covariance C.

    That is the least ``(w - v)^\top (C + floor) (w - v)`` over w in the set, where v was fitted
    without it: least squares in the set, as far as C is that of the rows. The mean prediction
    stays, and nothing is released.

    Parameters
    ----------
    whitening : Whitening
        Before the solver.
    penalty : ConstraintSet
        Of coefficients of the rows as they came, intercept left out.
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
    """Return the nearest point of a set by a metric with that largest eigenvalue.

    By projected gradients with momentum; an end short of the minimum is in the set all the same.
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
