"""Bounds of single columns, learnt from two quantiles each."""

from functools import partial

import numpy as np

from dpsk._defaults.budgets import CLEARANCE, EDGE_SHARES, TARGET_TAILS, mu_of_share
from dpsk._mechanism.core import Priced
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Repeated
from dpsk._privacy.plans import choice_event
from dpsk._stages.bounds import widened
from dpsk._statistics.quantiles import noisy_quantile, real_grid

__all__ = ["bounds_rule", "learnt_bounds"]

#: The least width of the bounds of a column without a budget, and that over its numbers.
_LEAST, _LEAST_SHARE = 1e-5, 1e-6
#: Two points of the grid are next to each other up to this distance and this share of them.
_NEAR, _NEAR_SHARE = 5e-6, 0.005
#: Rows whose numbers are taken at once.
_PART = 1 << 16


def bounds_rule(budget, n_learnt, name, tails=TARGET_TAILS):
    """Return the event of each of the quantiles of some columns, and their tail.

    All of them together cost a share of the budget. A ValueError where rows are too few; it says
    to declare the parameter `name`.
    """
    least, most = tails
    for each, together in EDGE_SHARES:
        share = min(each, together / (2 * n_learnt))
        width = bounded_range_epsilon(mu_of_share(budget, share))
        tail = max(least, 2.0 * CLEARANCE / (budget.n_samples * width), 2.0 / budget.n_samples)
        if tail <= most:
            return choice_event(width), tail
    raise ValueError(
        f"{name}: n={budget.n_samples} rows at epsilon={budget.epsilon:g} are too few to learn "
        f"the bounds of {n_learnt} columns from, which takes {tail / most:.3g} times as many; "
        f"declare them in {name}, or raise epsilon.")


def learnt_bounds(budget, places, rule, reach=0.0):
    """Return the mechanism of bounds of some columns, shape (n_places, 2).

    `rule` gives the price and tail of `bounds_rule`. Where both quantiles are the same number,
    which then says nothing of the others, bounds lie at least `reach` from it. Without a budget
    they are the ends of columns.
    """
    if not (places and budget.is_private):
        return Priced(Composed(()), partial(_of_each, places, _ends))
    event, tail = rule(budget)
    return Priced(Repeated(event, 2 * len(places)),
                  partial(_of_each, places, partial(_released, event, tail, reach)))


def _of_each(places, bounds, rows, session):
    return np.array([bounds(rows, place, session) for place in places])


def _released(event, tail, reach, rows, place, session):
    low, high = (noisy_quantile(rows, partial(_column, place), q, real_grid(), event, session,
                                upward=q > 0.5)
                 for q in (tail, 1.0 - tail))
    least, most = widened(low, high, tail)
    if high - low <= _NEAR + _NEAR_SHARE * abs(low):
        least, most = min(least, low - reach), max(most, high + reach)
    return least, most


def _ends(rows, place, session):
    lows, highs = np.array(rows.each(_ends_here, place)).T
    low, high = float(lows.min()), float(highs.max())
    return low, max(high, low + max(_LEAST, _LEAST_SHARE * abs(low)))


def _ends_here(rows, place):
    columns = [rows.take(part).X[:, place] for part in rows.blocks(_PART)]
    return min(map(np.min, columns)), max(map(np.max, columns))


def _column(place, rows, part):
    return rows.take(part).X[:, place]
