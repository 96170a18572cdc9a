"""Bases of the mechanisms that solvers ask, and of the oracles that answer."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from dpsk._mechanism.core import Mechanism
from dpsk._sums.parted_sums import sums_over
from dpsk._sums.saddle_sums import SaddleSums
from dpsk._sums.transition_sums import TransitionSums

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._objective.saddle.base import Interval, Simplex
    from dpsk._problem import Problem

__all__ = ["Oracle", "Queries", "SaddleAnswers", "SaddleQueries", "row_sums"]


class Oracle:
    """Owns the rows of a fit and answers with noise, through a session.

    It is what a `Queries` makes of rows. More answers than that declares are a RuntimeError.

    Attributes
    ----------
    arithmetic : {"float", "grid", "snapped"}
        How sums are made; every answer is a whole number of public units.
    answer : ndarray or None
        What was answered first, or last of Hessians: released, for what follows the solver.
    """

    answer: Any = None

    if TYPE_CHECKING:
        # A constant, or a property where noise decides.
        @property
        def arithmetic(self) -> str: ...
    else:
        arithmetic = "float"


class Queries(Mechanism):
    """Base of mechanisms that a solver asks: they make an oracle of rows, which goes on to answer.

    Subclasses are frozen dataclasses of how many answers there are, over which rows, at which
    clips.

    Attributes
    ----------
    minimax : bool
        Whether answers are gradients of both blocks of a saddle problem.
    takes_networks : bool
        Whether a clip is all that the answers need of a model.
    penalizes_intercept : bool
        Whether the price, or the set that answers move in, needs the penalty on every coordinate.
    """

    minimax: ClassVar[bool] = False
    takes_networks: ClassVar[bool] = False
    penalizes_intercept: ClassVar[bool] = False

    @abstractmethod
    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> Any:
        """Return the oracle over the rows of a problem, an Oracle."""

    def n_answers_elsewhere(self, noise_multiplier: float) -> int:
        """Return how many answers there are beside those that one row pays for."""
        return 0


class SaddleQueries(Queries):
    """Base of queries for gradients of both blocks, which are clipped one by one.

    Subclasses have `primal_clip` and `dual_clip`.
    """

    minimax = True
    takes_networks = True
    primal_clip: float
    dual_clip: float

    def sums(self, data: tuple[Problem, RowSource]) -> Any:
        """Return the rows of a problem in sums."""
        problem, rows = data
        kind = TransitionSums if problem.loss.of_transitions else SaddleSums
        return sums_over(kind, problem.model, problem.loss, rows, self.primal_clip,
                         self.dual_clip)


class SaddleAnswers(Oracle):
    """Base of oracles that hold rows in `SaddleSums` or `TransitionSums`."""

    _sums: Any

    @property
    def dual_set(self) -> Interval | Simplex:
        """Interval or Simplex : where the dual variable lives; public."""
        return self._sums.loss.dual_set


def row_sums(make: Callable[..., Any], data: tuple[Problem, RowSource], *clip: float) -> Any:
    """Return the rows of a linear model in the sums that `make` makes, at a clip norm if any."""
    problem, rows = data
    return sums_over(make, problem.model, problem.loss, rows, *clip)
