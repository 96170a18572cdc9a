"""A center of rows far from 0, released in rounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.budgets import (
    CENTERING_LEFT,
    CENTERING_ROUNDS,
    CENTERING_SHARE,
    NORM_OCTAVES,
    OCTAVES_CLEARANCE,
    ROW_MEAN_NOISES,
    ROW_MEAN_SHARES,
    ROW_NORM_SHARE,
    mu_of_share,
)
from dpsk._models import LinearModel
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Gaussian
from dpsk._privacy.plans import choice_event
from dpsk._stages.bounds import SHORT, released_norm
from dpsk._stages.centering import shrunk
from dpsk._statistics.moments import noisy_mean
from dpsk._statistics.quantiles import octaves_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Budget
    from dpsk._typing import FloatArray

__all__ = ["left_by_round", "released_center", "rounds_event", "rounds_pay", "rows_within"]


def released_center(rows: RowSource, budget: Budget, session: Session,
                    centered: Callable[[FloatArray], RowSource]) -> tuple[FloatArray, list[float]]:
    """Return a center of rows, in their dtype, and the norm bound of every round.

    The noise on a mean is a fraction of the bound on rows, so a single mean leaves rows far from 0
    at that fraction of their distance. Each of a few rounds bounds the norms of the rows left by
    the last one, and adds their noisy mean to the center. The distance falls geometrically, at
    less cost than by one accurate mean. `centered` returns the rows less a center.
    """
    center, norms = np.zeros(rows.n_features, rows.dtype), []
    for _ in range(_n_rounds(budget)):
        # The noise on a mean grows with the bound, so zero rows count as short.
        norm = released_norm(rows, (_norm_event(budget), None), session, SHORT)
        mean, noise_std = noisy_mean(rows_within(norm, rows.n_features), rows, _mean_mu(budget),
                                     session)
        center += shrunk(mean, noise_std, norm).astype(rows.dtype)
        norms.append(norm)
        rows = centered(center.copy())
    return center, norms


def rounds_event(budget: Budget) -> Event:
    """Return the event of all rounds, for a budget with which they pay."""
    return Composed((_norm_event(budget), Gaussian(_mean_mu(budget))) * _n_rounds(budget))


def rounds_pay(budget: Budget) -> bool:
    """Return whether a mean is accurate enough and a round cheap enough, by public facts."""
    if not budget.is_private or budget.delta == 0:
        return False
    noise = _noise_norm(budget) / math.sqrt(_mean_share(budget))
    return _n_rounds(budget) > 0 and noise <= ROW_MEAN_NOISES[1]


def left_by_round(budget: Budget) -> float:
    """Return the norm of the noise of a mean over the bound on rows, at most that of a round.

    It is about the share of a distance from 0 that a round leaves.
    """
    return min(_noise_norm(budget) / math.sqrt(_mean_share(budget)), ROW_MEAN_NOISES[1])


def rows_within(norm: float, width: int) -> LinearModel:
    """Return the model that scales rows of `width` features down to a norm."""
    return LinearModel(width, None, False, norm)


def _noise_norm(budget):
    """Return the norm of the noise on a mean that gets all of mu^2, over the bound on rows."""
    return 2.0 * math.sqrt(budget.n_columns) / (budget.n_samples * mu_of_share(budget, 1.0))


def _mean_share(budget):
    """Return the share of mu^2 of one mean: less, the more rows there are."""
    least, most = ROW_MEAN_SHARES
    return min(most, max(least, (_noise_norm(budget) / ROW_MEAN_NOISES[0])**2))


def _mean_mu(budget):
    return mu_of_share(budget, _mean_share(budget))


def _norm_event(budget):
    """Return the event of the octave of most norms, at which empty octaves are unlikely."""
    clear = octaves_range(budget.n_samples, NORM_OCTAVES[1], OCTAVES_CLEARANCE)
    least = bounded_range_epsilon(mu_of_share(budget, ROW_NORM_SHARE))
    return choice_event(max(clear, least), pure=False)


def _n_rounds(budget):
    """Return the number of rounds: those that take rows from afar, as far as they are cheap."""
    norm, share = _norm_event(budget), _mean_share(budget)
    one = share + (norm.mu / mu_of_share(budget, 1.0))**2
    wanted = math.ceil(math.log(CENTERING_LEFT) / math.log(left_by_round(budget)))
    return min(max(CENTERING_ROUNDS, wanted), int(CENTERING_SHARE / one))
