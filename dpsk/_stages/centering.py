"""Centering of the rows of a network at their noisy mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.budgets import MEAN_SHARE, MOST_MEAN_NOISE, mu_of_share
from dpsk._models import MLP, LinearModel
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import Gaussian
from dpsk._stages.base import Stage
from dpsk._statistics.moments import noisy_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._problem import Problem
    from dpsk._typing import Features, FloatArray

__all__ = ["Centering", "center_norm", "centering_pays", "mean_budget", "shrunk"]


class Centering(Stage):
    """Release a noisy mean of the rows of a network, and subtract it from them.

    `data_norm` bounds the rows. None: rows are bounded for the mean only, as by features of
    size 1.
    """

    attribute = "center_"
    takes_groups = True

    def __init__(self, n_features, data_norm):
        self._rows = LinearModel(n_features, None, False, center_norm(n_features, data_norm))

    @classmethod
    def wanted(cls, precondition: str | bool, problem: Problem,
               data_norm: float | None) -> list[Any]:
        """Return a list of one such stage or none; `precondition` is a bool or "auto"."""
        pays = centering_pays(problem) if precondition == "auto" else precondition
        return [cls(problem.model.n_features, data_norm)] if pays else []

    def event(self, problem: Problem) -> Any:
        """Return the event of the release."""
        return Gaussian(mean_budget(problem))

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("center_norm", self._rows.data_norm, "derived", "l2 norm of one row of "
                         "features as it enters the noisy mean; longer rows are scaled down")]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem, whose rows need no bound any more, and the centered rows."""
        mean, noise_std = noisy_mean(self._rows, rows, self.event(problem).mu, session)
        self.value = shrunk(mean, noise_std, self._rows.data_norm).astype(np.float32)
        model = problem.model
        rows = rows.mapped(CenteredRows(model, self.value))
        return replace(problem, model=replace(model, data_norm=None)), rows

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return model.before_map(theta, self.value)


@dataclass(frozen=True, eq=False)
class CenteredRows:
    """Map of the rows of a network to bounded rows less the released mean."""

    model: MLP
    center: np.ndarray
    dtype = np.float32

    @property
    def width(self) -> int:
        """int : number of columns."""
        return self.model.n_features

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the rows of a block to `out`."""
        np.subtract(self.model.bounded(X), self.center, out=out)


def mean_budget(problem: Problem) -> float:
    """Return the budget mu of the mean of the rows."""
    return mu_of_share(problem, MEAN_SHARE)


def center_norm(n_features: int, data_norm: float | None) -> float:
    """Return the norm that bounds rows in their mean; by default, that of features of size 1."""
    return float(np.sqrt(n_features)) if data_norm is None else float(data_norm)


def centering_pays(problem: Problem) -> bool:
    """Return whether the noise on the mean is small relative to the bound on rows."""
    if problem.delta == 0:
        return False
    noise = 2.0 * np.sqrt(problem.model.n_features)
    return noise <= MOST_MEAN_NOISE * problem.n_samples * mean_budget(problem)


def shrunk(mean: FloatArray, noise_std: float, bound: float) -> FloatArray:
    """Return a noisy mean, shrunk by the noise in its square and scaled to its public bound.

    `noise_std` is the noise on every coordinate; `bound` bounds the norm of the exact mean.

    References
    ----------
    James, Stein (1961), the positive part.
    """
    length = float(np.linalg.norm(mean))
    if length == 0.0:
        return mean
    noise = noise_std / length
    return mean * min(max(0.0, 1.0 - len(mean) * noise * noise), bound / length)
