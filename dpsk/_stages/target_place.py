"""Bounds about a private window of few targets; see docs/theory/quantiles.md."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.budgets import (
    LEAST_PLACE,
    MOST_OF_PLACE,
    PLACE_CLEARANCES,
    PLACE_SHARES,
    PURE_OCTAVES,
    mu_of_share,
)
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import Gaussian, Pure
from dpsk._stages.target_spread import SAME
from dpsk._statistics.windows import noisy_window
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._problem import Budget, Problem
    from dpsk._typing import AnyArray

__all__ = ["around", "leaves_rest", "place_rule", "placed_bounds", "too_few"]

#: Bounds above a public lowest one start at their window where it is this many times as far out.
_FAR = 12.0
#: The narrowest window of targets far from 0, over its middle, is at most this wide.
_FINEST = 1e-5
#: Bounds over the window: where nothing but a constant is affordable, and otherwise.
_NARROW, _WIDE = 0.6, 1.5


def too_few(name: str, problem: Problem | Budget, times: float) -> ValueError:
    """Return the error of a bound that cannot be learnt."""
    return ValueError(
        f"{name}: n={problem.n_samples} rows at epsilon={problem.epsilon:g} are too few to learn "
        f"a bound, which takes {times:.3g} times as many; declare {name}, or raise epsilon.")


def place_rule(problem: Problem | Budget) -> tuple[Elementary, ...]:
    """Return the events of the selections of width, zone and cell.

    With too few rows even for these, raise a ValueError; it depends on public facts only.
    """
    event = Pure if problem.delta == 0 else Gaussian
    return tuple(map(event, _costs(problem)[0].tolist()))


def leaves_rest(problem: Problem | Budget) -> bool:
    """Return whether bounds leave enough budget for more than a constant."""
    try:
        return _costs(problem)[1] <= MOST_OF_PLACE
    except ValueError:
        # Bounds are then not learnt.
        return True


def _costs(problem):
    """Return the mu of every selection, and their share of mu^2.

    Where delta is 0, these are epsilons and a share of epsilon, over `PURE_OCTAVES`.
    """
    costs = 2.0 * np.array(PLACE_CLEARANCES) / problem.n_samples
    if problem.delta == 0:
        power, whole = 1, PURE_OCTAVES * problem.epsilon
    else:
        # A wide range costs less than in proportion, so shares of ranges would add up to more.
        power, whole = 2, mu_of_share(problem, 1.0)
        costs = np.array([bounded_range_mu(width) for width in costs.tolist()])
    share = float(np.sum((costs / whole) ** power))
    least, most = PLACE_SHARES
    times = LEAST_PLACE * (share / most) ** (1.0 / power)
    if times > 1.0:
        raise too_few("target_bounds", problem, times)
    spent = min(most, max(least, share))
    return costs * (spent / share) ** (1.0 / power), spent


def placed_bounds(problem: Problem, rows: RowSource, session: Session,
                  lowest: float | None) -> tuple[float, float]:
    """Return bounds on targets: a private window of most of them.

    The window of counts starts at a public `lowest` unless it is far from it.
    """
    numbers = partial(_above, -math.inf if lowest is None else lowest)
    low, high = noisy_window(rows, numbers, place_rule(problem), session)
    middle, reach = 0.5 * (low + high), 0.5 * (high - low)
    if not leaves_rest(problem):
        # Most of a prediction is noise, so it is held closer to the middle.
        reach *= _NARROW
    else:
        reach *= _WIDE
    if lowest is not None:
        if middle - lowest < _FAR * reach:
            return lowest, max(middle, lowest) + reach
        # The noise of a count so far out exceeds the width of the window.
        reach /= _FAR
    return around(middle, reach, _FINEST)


def around(middle: float, reach: float, least: float = SAME) -> tuple[float, float]:
    """Return bounds about a middle, as far apart as its nine digits require.

    Where `reach` is at most the share `least` of the middle, targets may be closer: a warning.
    """
    if reach <= least * abs(middle):
        warn("target_bounds='auto': the targets differ little compared with their size, so the "
             "bounds may be far too wide; subtract a public number from the targets, or declare "
             "target_bounds.", PrivacyWarning)
    reach = max(reach, SAME * abs(middle))
    return middle - reach, middle + reach


def _above(lowest: float, rows: RowSource, part: Any) -> AnyArray:
    """Return targets; those below the lowest are raised to it."""
    return np.maximum(np.asarray(rows.beside(part)[0], np.float64), lowest)
