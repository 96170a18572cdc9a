"""Scores divided by what clips, or noise, usually lengthen them by, at no price."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._defaults.budgets import FEW_ROWS_FACTOR, are_few
from dpsk._privacy.events import Composed
from dpsk._stages.base import Stage

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["FewRows", "UsualTemperature"]


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


class FewRows(UsualTemperature):
    """The same of linear scores on few rows that are not whitened: noise is most of them.

    Not beside a set, which they would leave.
    """

    def __init__(self) -> None:
        super().__init__(FEW_ROWS_FACTOR)

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        return (super().applies(problem, given, solver) and solver.takes_temperature
                and problem.geometry is None and problem.penalty.is_smooth
                and problem.is_private and problem.delta > 0
                and are_few(problem.n_samples * problem.mu, problem.model.shape[0]))
