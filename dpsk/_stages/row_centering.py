"""Centering of rows at released means, in rounds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from dpsk._defaults.budgets import (
    CENTERING_ROUNDS,
    CENTERING_SHARE,
    NORM_OCTAVES,
    OCTAVES_CLEARANCE,
    ROW_MEAN_NOISES,
    ROW_MEAN_SHARES,
    ROW_NORM_SHARE,
    mu_of_share,
)
from dpsk._models import MLP, LessCenter
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Gaussian
from dpsk._privacy.plans import choice_event
from dpsk._stages.base import Stage
from dpsk._stages.bounds import SHORT, released_norm
from dpsk._stages.centered import rows_within
from dpsk._stages.centering import shrunk
from dpsk._statistics.moments import noisy_mean
from dpsk._statistics.quantiles import octaves_range

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["RowCentering"]


class RowCentering(Stage):
    """Subtract a released center from the rows of a linear model or of a network.

    A bound on norms about 0 is as large as rows are far from 0, and so is the noise on their
    second moment. About their mean it is as large as rows vary. The intercept, or the biases of
    the first layer, take the center up.

    The noise on a mean is a fraction of the bound on rows, so a single mean leaves rows far from 0
    at that fraction of their distance. Each of a few rounds bounds the norms of the rows left by
    the last one, and adds their noisy mean to the center. The distance falls geometrically, at
    less cost than by one accurate mean.
    """

    attribute: ClassVar[str | None] = "center_"
    takes_groups: ClassVar[bool] = True

    @classmethod
    def stages(cls, problem: Problem, rows: RowSource) -> list[RowCentering]:
        """Return a list of one such stage if it is worth its cost, else of none.

        It is if a mean is accurate enough and a round is cheap enough, by public facts. Rows of a
        sparse table stay as they are, since centered rows would be dense.
        """
        if rows.is_sparse or problem.delta == 0:
            return []
        noise = _noise_norm(problem) / math.sqrt(_mean_share(problem))
        return [cls()] if _n_rounds(problem) and noise <= ROW_MEAN_NOISES[1] else []

    def event(self, problem: Problem) -> Event:
        """Return the event of all rounds."""
        one = _norm_event(problem), Gaussian(_mean_mu(problem))
        return Composed(one * _n_rounds(problem))

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("center_norms", self._norms, "released", "each round of "
                         "centering scales rows down to this l2 norm, releases their mean and "
                         "subtracts it. Training subtracts the sum of these means, center_, "
                         "before data_norm applies")]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem and the centered rows."""
        self.value, self._norms, given = np.zeros(rows.n_features, rows.dtype), [], rows
        for _ in range(_n_rounds(problem)):
            rule = _norm_event(problem), None
            # The noise on a mean grows with the bound, so zero rows count as short.
            norm = released_norm(rows, rule, session, SHORT)
            mean, noise_std = noisy_mean(rows_within(norm, rows.n_features), rows,
                                         _mean_mu(problem), session)
            self.value += shrunk(mean, noise_std, norm).astype(rows.dtype)
            self._norms.append(norm)
            rows = self._centered(given)
        holdout = None if given.holdout is None else self._centered(given.holdout)
        return problem, replace(cast("Any", rows), holdout=holdout)

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        if isinstance(model, MLP):
            return model.shifted(theta, self.value)
        result = theta.copy()
        result[-1] -= self.value @ result[:-1]
        return result

    def _centered(self, rows):
        return rows.viewed(LessCenter(self.value.copy()))


def _noise_norm(problem):
    """Return the norm of the noise on a mean that gets all of mu^2, over the bound on rows."""
    return 2.0 * math.sqrt(problem.model.n_features) / (problem.n_samples * problem.mu)


def _mean_share(problem):
    """Return the share of mu^2 of one mean: less, the more rows there are."""
    least, most = ROW_MEAN_SHARES
    return min(most, max(least, (_noise_norm(problem) / ROW_MEAN_NOISES[0])**2))


def _mean_mu(problem):
    return mu_of_share(problem, _mean_share(problem))


def _norm_event(problem):
    """Return the event of the octave of most norms, at which empty octaves are unlikely."""
    clear = octaves_range(problem.n_samples, NORM_OCTAVES[1], OCTAVES_CLEARANCE)
    least = bounded_range_epsilon(mu_of_share(problem, ROW_NORM_SHARE))
    return choice_event(max(clear, least), pure=False)


def _n_rounds(problem):
    """Return the number of rounds: more, the cheaper one is; 0 if one is too expensive."""
    norm = _norm_event(problem)
    one = _mean_share(problem) + (norm.mu / problem.mu)**2
    return min(CENTERING_ROUNDS, int(CENTERING_SHARE / one))
