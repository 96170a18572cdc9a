"""Base classes of the queries that solvers declare, and of the oracles that answer."""

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

    A `Queries` object creates it. It raises a RuntimeError after the declared number of answers.

    Attributes
    ----------
    arithmetic : {"float", "grid", "snapped"}
        How sums are computed; every answer is an integer multiple of a public grid spacing.
    answer : ndarray or None
        The first noisy gradient or the last noisy Hessian, for code that runs after the solver.
    """

    answer: Any = None

    if TYPE_CHECKING:
        # A constant, or a property if it depends on the noise.
        @property
        def arithmetic(self) -> str: ...
    else:
        arithmetic = "float"


class Queries(Mechanism):
    """Base class of a solver's queries; `run` returns the oracle that answers them.

    Subclasses are frozen dataclasses. They declare the number of answers, the batches of rows
    and the clip norms.

    Attributes
    ----------
    minimax : bool
        Whether answers are gradients of both blocks of a saddle problem.
    takes_networks : bool
        Whether the answers need nothing from a model but clipped gradients.
    penalizes_intercept : bool
        Whether the privacy cost, or the constraint set, needs the penalty on every coordinate.
    """

    minimax: ClassVar[bool] = False
    takes_networks: ClassVar[bool] = False
    penalizes_intercept: ClassVar[bool] = False

    @abstractmethod
    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> Any:
        """Return the oracle over the rows of a problem, an Oracle."""

    def n_answers_elsewhere(self, noise_multiplier: float) -> int:
        """Return the number of answers that are not part of one row's privacy cost."""
        return 0


class SaddleQueries(Queries):
    """Base class of queries for primal and dual gradients, which are clipped separately.

    Subclasses have the fields `primal_clip` and `dual_clip`.
    """

    minimax = True
    takes_networks = True
    primal_clip: float
    dual_clip: float

    def sums(self, data: tuple[Problem, RowSource]) -> Any:
        """Return the object that holds the rows of a problem and sums their gradients."""
        problem, rows = data
        kind = TransitionSums if problem.loss.of_transitions else SaddleSums
        return sums_over(kind, problem.model, problem.loss, rows, self.primal_clip,
                         self.dual_clip)


class SaddleAnswers(Oracle):
    """Base class of oracles that hold rows in `SaddleSums` or `TransitionSums`."""

    _sums: Any

    @property
    def dual_set(self) -> Interval | Simplex:
        """Interval or Simplex : the public set of dual variables."""
        return self._sums.loss.dual_set


def row_sums(make: Callable[..., Any], data: tuple[Problem, RowSource], *clip: float) -> Any:
    """Return the sums that `make` builds over a problem's rows, with a clip norm if given."""
    problem, rows = data
    return sums_over(make, problem.model, problem.loss, rows, *clip)
