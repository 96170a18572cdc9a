"""The curvature of a loss along fitted scores, which their spread about 0 changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._privacy.events import Composed
from dpsk._stages.base import Stage
from dpsk._stages.shrinkage import along, energy

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._stages.whitening import Whitening
    from dpsk._typing import FloatArray

__all__ = ["ScoreCurvature"]


class ScoreCurvature(Stage):
    """Keep how much the loss curves along the scores of a fit, over their mean square.

    By an answer that the solver had: of Newton's method the last Hessian; else the first gradient,
    which is the mean curvature on the way from 0. Scores that are 0 for many rows and large for
    few have less than normal ones. Nothing is released, and parameters stay.

    Parameters
    ----------
    whitening : Whitening
        Before the solver; it gets ``score_curvature``.
    """

    comes_last: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True

    def __init__(self, whitening: Whitening) -> None:
        self._whitening = whitening

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        return problem.loss.is_likelihood and not problem.loss.minimax

    def event(self, problem: Problem) -> Event:
        return Composed(())

    def release(self, problem: Problem, oracle: Any, theta: FloatArray) -> Any:
        """Return `theta` as it was."""
        answer, spectrum = oracle.answer, self._whitening.spectrum
        varied = theta if spectrum.mean is None else theta - along(
            theta, spectrum.matrix @ spectrum.mean)
        if varied.ndim > 1:
            # A shift of all classes changes nothing.
            varied = (varied.T - varied.mean(axis=1)).T
        size = energy(spectrum, varied)
        if answer is not None and size > 0.0:
            slope = -answer if answer.shape == theta.shape else answer @ varied
            self._whitening.score_curvature = float((slope * varied).sum()) / size
        return theta
