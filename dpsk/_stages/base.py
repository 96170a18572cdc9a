"""Base class of stages: private steps before or after the solver."""

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
    """One step of a fit: when it applies, its privacy cost, its release and its inverse.

    A stage is created for one fit and discarded after it; only `value` stays on the estimator.

    Attributes
    ----------
    attribute : str or None
        Name of the fitted attribute that the stage sets. None: other attributes show its result.
    comes_last : bool
        Whether the stage runs after the solver.
    without_noise : bool
        Whether a fit without noise runs the stage too, because the objective depends on it.
    takes_groups : bool
        Whether a group of rows may contribute to its release as much as one row.
    value : object
        Value of the attribute; None before the release.
    """

    attribute: ClassVar[str | None] = None
    comes_last: ClassVar[bool] = False
    without_noise: ClassVar[bool] = False
    takes_groups: ClassVar[bool] = False
    value: Any = None

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        """Return whether the stage runs, from public facts; `given` is not configured yet."""
        return True

    @abstractmethod
    def event(self, problem: Problem) -> Event:
        """Return the Event that accounts for the release."""

    def leaves_rest(self, problem: Problem) -> bool:
        """Return whether enough budget remains for more than a constant, from public facts."""
        return True

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        """Return the bounds that the certificate states as enforced, a list of Enforced."""
        return []

    @abstractmethod
    def release(self, problem: Problem, *given: Any) -> Any:
        """Run the stage, and return what it changes.

        A stage before the solver takes ``(problem, rows, session)``, and returns the problem and
        the rows for the solver's oracle. A stage after it takes ``(problem, oracle, theta)``, and
        returns theta.
        """

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        """Return the parameters for the original rows, from those for the rows it passed on.

        They are in the unit of `take_unit`, which `NormBound` undoes afterwards.
        """
        return theta


class RowStage(Stage):
    """A stage that maps the rows of a linear model; its attribute has the `dtype` of the rows.

    With `descends`, the solver uses clipped gradients, whose privacy cost depends on nothing else.
    `release` then returns the problem with ``penalty.mapped(matrix[:n_features] / unit)``: a
    squared penalty stays on the coefficients of the original rows. Otherwise the penalty is on
    the coefficients of the mapped rows.
    """

    #: What the certificate adds to the bound on a row's norm.
    words: ClassVar[str] = ""
    #: Whether short rows are lengthened, so that only signs and ranks of scores are meaningful.
    normalizes: ClassVar[bool] = False
    #: Map that prediction applies too; None where prediction is linear in the original rows.
    row_map = None
    #: The usual row length that a whitening matrix was divided by, and its eigenvalue floor.
    scales: Any = None

    def __init__(self, model: LinearModel, dtype: Any, descends: bool = False) -> None:
        self._model, self._dtype, self._descends = model, dtype, descends

    def take_unit(self, unit: float) -> None:
        """Set the unit of the rows to one that an earlier stage released."""
        self._model = replace(self._model, unit=unit)

    def take_scales(self, scales: FloatArray) -> None:
        """Take what an earlier stage divided features by, for a penalty on the original rows."""

    @classmethod
    @abstractmethod
    def worthwhile(cls, problem: Problem, of_shares: bool = False) -> bool:
        """Return whether the stage is on by default, from public facts.

        `of_shares` says whether the entries of a row are shares.
        """

    @abstractmethod
    def prepared(self, problem: Problem) -> Problem:
        """Return the problem of the mapped rows, as far as known before the release."""
