"""Curvature of a loss along the fitted scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._privacy.events import Composed
from dpsk._queries import Curvatures, Gradients
from dpsk._stages.base import RowStage, Stage
from dpsk._stages.shrinkage import energy, without_mean
from dpsk._stages.whitening import Whitening

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["ScoreCurvature"]


class ScoreCurvature(Stage):
    """Store the curvature of the loss along the fitted scores, over their mean square.

    It is computed from a query that the solver released: the last Hessian of Newton's method, or
    else the first gradient, which gives the mean curvature on the way from 0. Scores that are 0
    for many rows and large for few have less curvature than normal ones. Nothing more is
    released, and the parameters stay.

    Parameters
    ----------
    whitening : RowStage or None
        The stage that mapped the rows before the solver.
    """

    attribute = "score_curvature_"

    comes_last: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True

    def __init__(self, whitening: RowStage | None) -> None:
        self._whitening = whitening

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        return type(self._whitening) is Whitening and issubclass(
            solver.asks, (Gradients, Curvatures))

    def event(self, problem: Problem) -> Event:
        return Composed(())

    def release(self, problem: Problem, oracle: Any, theta: FloatArray) -> Any:
        """Return `theta` unchanged."""
        whitening: Any = self._whitening
        answer, spectrum = oracle.answer, whitening.spectrum
        varied = without_mean(spectrum, theta)
        if varied.ndim > 1:
            # A shift of all classes changes nothing.
            varied = (varied.T - varied.mean(axis=1)).T
        size = energy(spectrum, varied)
        if size > 0.0:
            slope = -answer if answer.shape == theta.shape else answer @ varied
            self.value = float((slope * varied).sum()) / size
        return theta
