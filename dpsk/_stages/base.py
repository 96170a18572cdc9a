"""Base class of stages: releases before or after the solver's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._models.linear import LinearModel
    from dpsk._privacy.certificate_fields import Enforced
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["RowStage", "Stage"]


class Stage(ABC):
    """One vertical slice of a fit: when it applies, what it declares, releases and undoes.

    A stage is made for one fit and dropped with it; `value` is what it leaves on the estimator.

    Attributes
    ----------
    attribute : str or None
        The fitted attribute that it sets. None: what it released shows in others.
    comes_last : bool
        Whether it follows the solver.
    without_noise : bool
        Whether a fit without noise has it too, as its objective follows from what it finds.
    takes_groups : bool
        Whether every group of rows counts in its release as one row may.
    value : object
        What the attribute holds; None before the release.
    """

    attribute: ClassVar[str | None] = None
    comes_last: ClassVar[bool] = False
    without_noise: ClassVar[bool] = False
    takes_groups: ClassVar[bool] = False
    value: Any = None

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        """Return whether it is released, from public facts; `given` is not configured yet."""
        return True

    @abstractmethod
    def event(self, problem: Problem) -> Event:
        """Return what the release costs, an Event."""

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        """Return what the certificate states that it enforces, a list of Enforced."""
        return []

    @abstractmethod
    def release(self, problem: Problem, *given: Any) -> Any:
        """Release, and return what changes.

        Before the solver: from ``(problem, rows, releases)`` to the problem and the rows that
        the solver's oracle gets. After it: from ``(problem, oracle, theta)`` to theta.
        """

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        """Return the parameters for rows as they came, from those for the rows it handed on.

        In the unit of `take_unit`, which `NormBound` undoes afterwards.
        """
        return theta


class RowStage(Stage):
    """A stage that maps the rows of a linear model; its attribute has the rows' own `dtype`.

    With `descends` the solver asks for clipped gradients at a price that rests on nothing else.
    `release` then returns the problem with ``penalty.mapped(matrix[:n_features] / unit)``, so that
    a squared penalty stays on the coefficients of the rows as they came. Else it is on those of
    mapped rows.
    """

    #: What the certificate says of a row's norm beside its bound.
    words: ClassVar[str] = ""
    #: Whether short rows are made longer, so that only signs and orders of scores keep a sense.
    normalizes: ClassVar[bool] = False
    #: What maps rows in prediction too; None where prediction is linear in the rows as they are.
    row_map = None
    #: Of a whitening matrix: the length of a usual row by which it was divided, and the floor.
    scales: Any = None

    def __init__(self, model: LinearModel, dtype: Any, descends: bool = False) -> None:
        self._model, self._dtype, self._descends = model, dtype, descends

    def take_unit(self, unit: float) -> None:
        """Take rows in a unit that was released before."""
        self._model = replace(self._model, unit=unit)

    @classmethod
    @abstractmethod
    def worthwhile(cls, problem: Problem, of_shares: bool = False) -> bool:
        """Return whether it is on by default, from public facts; of rows of shares or others."""

    @abstractmethod
    def prepared(self, problem: Problem) -> Problem:
        """Return the problem of mapped rows as far as it is known before the release."""
