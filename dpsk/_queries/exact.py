"""Values and derivatives of the mean loss without noise, for non-private fits.

Every answer is charged as `NotPrivate`, which no plan with a finite budget contains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._data.parted import on_threads
from dpsk._data.thin import thinned
from dpsk._privacy.events import NotPrivate
from dpsk._queries.base import Oracle, Queries, row_sums
from dpsk._sums.exact_sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["ExactAnswers", "ExactOracle"]


@dataclass(frozen=True)
class ExactAnswers(Queries):
    """Any number of answers without noise, whatever the noise multiplier."""

    def event(self, noise_multiplier: float) -> Event:
        """Return the event `NotPrivate`."""
        return NotPrivate()

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> ExactOracle:
        """Return the oracle over rows."""
        problem, rows = data
        if rows.groups is None:
            # Rounding may depend on the number of threads, as in scikit-learn.
            rows = on_threads(thinned(rows))
        return ExactOracle(row_sums(ExactSums, (problem, rows)), session)


class ExactOracle(Oracle):
    """Answer with the mean loss, its gradient and its Hessian, without noise."""

    def __init__(self, sums: Any, session: Session) -> None:
        self._sums, self._session = sums, session

    def value(self, theta: FloatArray) -> float:
        """Return the mean loss at `theta`, a float."""
        return float(self._answer(self._sums.value, theta)[0])

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the mean gradient at `theta`, in its shape."""
        return self._answer(self._sums.gradient, theta)

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean loss and its gradient from one pass over the rows."""
        both = self._answer(self._sums.value_and_gradient, theta)
        return float(both[0]), both[1:].reshape(theta.shape)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the mean Hessian at `theta`, shape (dimension, dimension)."""
        return self._answer(self._sums.hessian, theta)

    def majorant(self, theta: FloatArray) -> FloatArray:
        """Return a matrix that bounds the mean Hessian, for points of the shape of `theta`."""
        return self._answer(self._sums.majorant, theta)

    def _answer(self, read: Callable[..., Any], theta: FloatArray) -> FloatArray:
        return self._session(NotPrivate(), lambda batch: read(theta),
                             divisor=self._sums.n_samples)
