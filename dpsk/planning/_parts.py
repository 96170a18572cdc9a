"""Allocation of a budget to its parts: shares of mu^2, delta, search epsilons."""

from __future__ import annotations

import math

from dpsk._parameters import check_real
from dpsk._privacy import accountant
from dpsk._privacy.certificate_fields import rounded_down, rounded_up
from dpsk._privacy.closed_forms import gaussian_epsilon
from dpsk._privacy.filters import SEARCH_CHANCE
from dpsk._privacy.plans import BestRuns

__all__ = ["EVALUATION", "SEARCH", "checked_shares", "part_delta",
           "search_epsilons"]

#: Names of parts that are planned by their kind.
EVALUATION, SEARCH = "evaluation", "search"
#: Relative tolerance below the part of a search, and number of trials: each composes a search.
_CLOSE, _MOST_TRIALS = 1e-3, 12


def checked_shares(parts):
    """Return the shares of mu^2 of the parts of a budget."""
    if parts is None:
        return {"training": 1.0}
    if not isinstance(parts, dict) or not parts:
        raise ValueError(f"parts={parts!r}: must be None, or a dict from names to weights > 0, "
                         "such as {'training': 2, 'evaluation': 0.5}.")
    squares = {name: check_real(f"parts[{name!r}]", weight, low=0, open_low=True, high=1e100,
                                remedy="a weight > 0")**2 for name, weight in parts.items()}
    return {str(name): square / sum(squares.values()) for name, square in squares.items()}


def part_delta(delta, names):
    """Return the delta of every part; the budget covers their total disclosure."""
    fits = sum(name not in (EVALUATION, SEARCH) for name in names)
    room = 1.0 - (SEARCH_CHANCE if SEARCH in names else 0.0)
    # Every fit may find categories, or be a `DPPipeline`, which reserves as much for them.
    return float(rounded_down(delta * min(1.0, room / max(1, fits)), 2)) if fits else delta


def search_epsilons(n_iter, mu, budget, delta):
    """Return the epsilons of a search and of a candidate, for at most mu^2."""
    run, held, too_large = mu / n_iter**0.25, 0.0, math.inf
    for _ in range(_MOST_TRIALS):
        charged = math.sqrt(budget.price(BestRuns(n_iter, 0.0)(1.0 / run))[0])
        if charged <= mu:
            held = run
        if mu * (1.0 - _CLOSE) <= charged <= mu:
            break
        if math.isinf(charged):
            # Beyond some mu a search has no finite cost, so part of the budget stays unused.
            too_large = run
            run *= 0.25
        else:
            run *= (1.0 - _CLOSE / 2.0) * mu / charged
        if not held < run < too_large:
            run = math.sqrt(held * too_large)
    if not held:
        raise ValueError(f"parts: a search has no price in a budget of epsilon="
                         f"{rounded_up(budget.epsilon, 6)} and delta={rounded_up(budget.delta, 6)}"
                         "; use a larger delta, or leave it out.")
    return accountant.epsilon(BestRuns(n_iter, 0.0)(1.0 / held), delta), gaussian_epsilon(
        held, delta)
