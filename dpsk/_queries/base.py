"""Base class of oracles."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._sums.linear_sums import float_sums
from dpsk._sums.parted_sums import sums_over
from dpsk._sums.saddle_sums import SaddleSums
from dpsk._sums.transition_sums import TransitionSums

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    from dpsk._mechanism.session import Session
    from dpsk._objective.saddle.base import Interval, Simplex
    from dpsk._queries.context import Context

__all__ = ["Oracle", "SaddleAnswers", "SumsOracle"]


class Oracle:
    """Owns the rows of a fit and answers with noise, through a release.

    It is made by `open`, of a `Context`. More answers than were declared are a RuntimeError.

    Attributes
    ----------
    arithmetic : {"float", "grid", "snapped"}
        How sums are made; every answer is a whole number of public units.
    minimax : bool
        Whether it answers with gradients of both blocks of a saddle problem.
    takes_networks : bool
        Whether a clip is all that its answers need of a model.
    penalizes_intercept : bool
        Whether its price, or the set it moves in, needs the penalty on every coordinate.
    """

    if TYPE_CHECKING:
        # A constant, or a property where noise decides.
        @property
        def arithmetic(self) -> str: ...
    else:
        arithmetic = "float"
    minimax = False
    takes_networks = False
    penalizes_intercept = False


class SumsOracle(Oracle):
    """An oracle that holds the rows of a linear model in sums, clipped at `C`.

    Parameters
    ----------
    sums : LinearSums
    declared : callable, float -> Event
        The solver's plan.
    noise_multiplier : float
        `z`, the scale of the noise over `C`.
    session : Session
    """

    #: Makes what holds the rows.
    sums_class: ClassVar[Callable[..., Any]] = float_sums

    if TYPE_CHECKING:
        def __init__(self, sums: Any, declared: Any, noise_multiplier: float,
                     session: Session) -> None: ...

    @classmethod
    def open(cls, context: Context) -> Self:
        """Return an oracle over the rows of a `Context`."""
        problem = context.problem
        sums = sums_over(cls.sums_class, problem.model, problem.loss, context.rows, context.clip)
        return cls(sums, context.declared, context.noise_multiplier, context.session)


class SaddleAnswers(Oracle):
    """An oracle that holds rows in `SaddleSums` or `TransitionSums`, clipped block by block."""

    takes_networks = True
    minimax = True
    _sums: Any

    @staticmethod
    def opened_sums(context: Context) -> Any:
        """Return the rows of a `Context` in sums; its first two clips are those of the blocks."""
        problem = context.problem
        kind = TransitionSums if problem.loss.of_transitions else SaddleSums
        return sums_over(kind, problem.model, problem.loss, context.rows, *context.clip[:2])

    @property
    def dual_set(self) -> Interval | Simplex:
        """Interval or Simplex : where the dual variable lives; public."""
        return self._sums.loss.dual_set
