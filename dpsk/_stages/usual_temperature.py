"""Scores of networks divided by what clips usually lengthen them by, at no price."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._privacy.events import Composed
from dpsk._stages.base import Stage

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["UsualTemperature"]


class UsualTemperature(Stage):
    """Multiply the last layer, and what else enters the output, by a constant below 1.

    Where the clip norm is left at its default. Decisions and order stay as they were, and nothing
    is released.

    Parameters
    ----------
    factor : float
    """

    comes_last: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        return given.clip_norm is None

    def event(self, problem: Problem) -> Event:
        return Composed(())

    def release(self, problem: Problem, oracle: Any, theta: FloatArray) -> Any:
        """Return `theta` with scores of a constant part of their size."""
        return problem.model.rescaled(theta, self._factor)
