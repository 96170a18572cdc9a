"""Bounds of single columns, learnt from two quantiles of distances from the median."""

import math
from functools import partial

import numpy as np

from dpsk._defaults.budgets import (
    CLEARANCE,
    EDGE_SHARES,
    MEDIAN_CLEARANCE,
    TARGET_TAILS,
    mu_of_share,
)
from dpsk._mechanism.core import Priced
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Repeated
from dpsk._privacy.plans import choice_event
from dpsk._stages.bounds import widened
from dpsk._statistics.ends import column_away, noisy_ends
from dpsk._statistics.quantiles import noisy_tails, positive_grid

__all__ = ["REACH", "bounds_rule", "learnt_bounds"]

#: Least distance of bounds from the number that most entries of a column are: that between the two
#: values of an indicator.
REACH = 1.0
#: Least width of the bounds of a column without a budget, absolute and relative to its low end.
_LEAST, _LEAST_SHARE = 1e-5, 1e-6
#: Number of rows read at once.
_PART = 1 << 16


def bounds_rule(budget, n_learnt, name, tails=TARGET_TAILS, medians=True):
    """Return the event of one quantile of a column, its tail, and the event of one median.

    All quantiles and medians together cost a share of the budget. The event of the median is None
    where there are too few rows for medians as well, or with `medians` False. Too few rows for
    quantiles raise a ValueError, which says to declare the parameter `name`.
    """
    least, most = tails
    median = choice_event(4.0 * MEDIAN_CLEARANCE / budget.n_samples)
    tries = [*((median, shares) for shares in EDGE_SHARES if medians),
             *((None, shares) for shares in EDGE_SHARES)]
    for first, (each, together) in tries:
        spent = 0.0 if first is None else first.mu
        left = max(0.0, mu_of_share(budget, together / n_learnt)**2 - spent**2)
        width = bounded_range_epsilon(min(mu_of_share(budget, each), math.sqrt(0.5 * left)))
        tail = max(least, 2.0 / budget.n_samples,
                   2.0 * CLEARANCE / (budget.n_samples * width) if width else math.inf)
        if tail <= most:
            return choice_event(width), tail, first
    raise ValueError(
        f"{name}: n={budget.n_samples} rows at epsilon={budget.epsilon:g} are too few to learn "
        f"the bounds of {n_learnt} columns from, which takes {tail / most:.3g} times as many; "
        f"declare them in {name}, or raise epsilon.")


def learnt_bounds(budget, places, rule, reach=0.0, only_high=False, marks=False):
    """Return the mechanism that learns bounds of some columns, shape (n_places, 2).

    `rule` returns the same as `bounds_rule`. Quantiles are of distances from a median, which
    suits columns far from 0 in any unit; without a median, they are of distances from 0. Where
    both quantiles are the same number, or on one side of the median, they say nothing of the other
    entries, and the bounds lie at least `reach` from them; with `marks`, a third number is 1 there
    and 0 elsewhere. With `only_high`, for numbers >= 0, the low end is 0 and costs nothing.
    Without a budget, bounds are the least and largest entries.
    """
    if not (places and budget.is_private):
        return Priced(Composed(()), partial(_of_each, places, _ends))
    event, tail, median = rule(budget)
    medians = () if median is None else (Repeated(median, len(places)),)
    if only_high:
        return Priced(Repeated(event, len(places)),
                      partial(_of_each, places, partial(_released_high, event, tail)))
    return Priced(Composed((*medians, Repeated(event, 2 * len(places)))),
                  partial(_of_each, places, partial(_released, event, tail, median, reach, marks)))


def _of_each(places, bounds, rows, session):
    return np.array([bounds(rows, place, session) for place in places])


def _released(event, tail, median, reach, marks, rows, place, session):
    middle, low, high, hidden = noisy_ends(rows, place, tail, event, median, session)
    least, most = widened(middle + low, middle + high, tail)
    if hidden:
        least, most = min(least, middle + low - reach), max(most, middle + high + reach)
    return (least, most, hidden)[:2 + marks]


def _released_high(event, tail, rows, place, session):
    (high,) = noisy_tails(rows, partial(column_away, place, 0.0), tail, positive_grid(), event,
                          session, ends=(1,))
    # Half of the numbers mirrored at 0 are beyond each end.
    return widened(-high, high, 0.5 * tail)


def _ends(rows, place, session):
    lows, highs = np.array(rows.each(_ends_here, place)).T
    low, high = float(lows.min()), float(highs.max())
    return low, max(high, low + max(_LEAST, _LEAST_SHARE * abs(low)))


def _ends_here(rows, place):
    columns = [rows.take(part).X[:, place] for part in rows.blocks(_PART)]
    return min(map(np.min, columns)), max(map(np.max, columns))
