"""Values and derivatives of the mean loss as they are: for fits that protect nobody.

Every answer is charged as `NotPrivate`, which no plan of a finite budget holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsk._privacy.events import NotPrivate
from dpsk._queries.base import Oracle
from dpsk._sums.exact_sums import ExactSums
from dpsk._sums.parted_sums import sums_over

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    from dpsk._mechanism.session import Session
    from dpsk._queries.context import Context
    from dpsk._typing import FloatArray

__all__ = ["ExactOracle"]


class ExactOracle(Oracle):
    """Answer with the mean loss, its gradient and its Hessian, without noise."""

    @classmethod
    def open(cls, context: Context) -> Self:
        """Return an oracle over the rows of a `Context`."""
        problem = context.problem
        return cls(sums_over(ExactSums, problem.model, problem.loss, context.rows),
                   context.session)

    def __init__(self, sums: Any, session: Session) -> None:
        self._sums, self._session = sums, session

    def value(self, theta: FloatArray) -> float:
        """Return the mean loss at `theta`, a float."""
        return float(self._answer(self._sums.value, theta)[0])

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the mean gradient at `theta`, like it."""
        return self._answer(self._sums.gradient, theta)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the mean Hessian at `theta`, shape (dimension, dimension)."""
        return self._answer(self._sums.hessian, theta)

    def majorant(self, theta: FloatArray) -> FloatArray:
        """Return a bound on the mean Hessian, like one, for points of the shape of `theta`."""
        return self._answer(self._sums.majorant, theta)

    def _answer(self, read: Callable[..., Any], theta: FloatArray) -> FloatArray:
        return self._session(NotPrivate(), lambda batch: read(theta),
                              divisor=self._sums.n_samples)
