"""Noisy counts of groups of rows, which give the loss its shares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.budgets import COUNT_SHARE, LEAST_SHARE, mu_of_share
from dpsk._privacy.events import gaussian
from dpsk._stages.base import Stage
from dpsk._statistics.moments import noisy_counts

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["Counting", "count_budget", "shares"]


class Counting(Stage):
    """Release noisy counts of groups of rows, and set the loss to use the group shares.

    The group of a row is the last of its targets. `make_loss` maps a tuple of shares, one per
    group, to the loss; `shown` maps it to the value of the fitted `attribute`.
    """

    without_noise = True

    def __init__(self, n_groups, make_loss, attribute, shown):
        self._n_groups, self._make_loss = n_groups, make_loss
        self.attribute, self._shown = attribute, shown

    def event(self, problem: Problem) -> Event:
        """Return the event of the release."""
        return gaussian(count_budget(problem))

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem with the loss for the noisy shares, and the rows."""
        counts = noisy_counts(rows, self._n_groups, count_budget(problem), session)
        found = shares(counts, problem.n_samples)
        self.value = self._shown(found)
        return replace(problem, loss=self._make_loss(found)), rows


def count_budget(problem: Problem) -> float:
    """Return the budget mu of the group counts."""
    return mu_of_share(problem, COUNT_SHARE)


def shares(counts: FloatArray, n_samples: int) -> tuple[float, ...]:
    """Return shares of at least 1 % that sum to 1, from noisy counts; a tuple of float."""
    least = min(LEAST_SHARE, 0.5 / len(counts))
    raised = np.maximum(counts / n_samples, least)
    # The excess over the least share is scaled so that the sum is 1.
    room = raised - least
    spare = 1.0 - least * len(counts)
    total = room.sum()
    room = room * (spare / total) if total > 0 else np.full(len(counts), spare / len(counts))
    return tuple(float(share) for share in least + room)
