"""Rescaling of scores by a public constant, at no privacy cost."""

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
    """Multiply the scores of a model by a constant below 1.

    The last layer, and all else that enters the output, is rescaled, to undo the usual effect of
    clips or noise on scores. It applies where the clip norm is left at its default. Decisions and
    ranks stay the same, and nothing is released.

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
        """Return `theta` with scores multiplied by the factor."""
        return problem.model.rescaled(theta, self._factor)


class FewRows(UsualTemperature):
    """A `UsualTemperature` of linear scores on few rows without whitening.

    Such scores are mostly noise. It does not apply with a nonsmooth penalty, such as a set.
    """

    def __init__(self) -> None:
        super().__init__(FEW_ROWS_FACTOR)

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        return (super().applies(problem, given, solver) and solver.takes_temperature
                and problem.geometry is None and problem.penalty.is_smooth
                and problem.is_private and problem.delta > 0
                and are_few(problem.n_samples * problem.mu, problem.model.shape[0]))
