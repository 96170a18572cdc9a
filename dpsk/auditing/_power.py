"""The power of an audit: what it makes of a leak of known epsilon that is planted in its fits."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from dpsk.auditing._tests import chosen_tests

__all__ = ["Power", "measured_power"]

#: The greatest epsilon that is planted, but for a leak without noise, and how close the search
#: for the least comes.
_MOST, _CLOSE = 30.0, 0.01


@dataclass(frozen=True)
class Power:
    """The power of an audit, measured by planting a leak.

    The leak is one published bit, the table that was fitted on by randomized response.

    Attributes
    ----------
    epsilon_max : float
        The lower bound on epsilon that the audit shows of the bit without noise; it could have
        shown no more of anything.
    refutes_from : float
        The least epsilon of the bit at which the audit refutes the claim, in 19 cases of 20; inf
        if it never does.
    """

    epsilon_max: float
    refutes_from: float


def measured_power(learnt, fresh, ended, layout, kinds, claim, level):
    """Plant leaks in what fits published, and return what their audit shows.

    Parameters
    ----------
    learnt, fresh : tuple of two ndarrays of shape (n_fits, n_names)
        Fits on either table that tests were learnt from, and those that judged.
    ended : tuple of two lists of two ndarrays of bool of shape (n_fits,)
        Which of the former and of the latter ended with an error: they publish no leak.
    layout : Layout
    kinds : list of str
    claim : Claim
    level : float
        Error of each limit.

    Returns
    -------
    power : Power
    """
    used = _most_apart(*learnt)
    planted = SimpleNamespace(names=[*(layout.names[i] for i in used), "planted leak"],
                              is_label=np.append(layout.is_label[used], False))
    learnt, fresh = (_mixed(*(table[:, used] for table in tables)) for tables in (learnt, fresh))
    learnt_ended, fresh_ended = (_mixed(*(table[:, None] for table in tables)) for tables in ended)

    def audited(epsilon):
        error = 0.0 if np.isinf(epsilon) else 1.0 / (1.0 + np.exp(epsilon))
        seen = [_with_bit(*given, error, 0.0, second)
                for second, given in enumerate(zip(learnt, learnt_ended, strict=True))]
        judged = [_with_bit(*given, error, 2.0, second)
                  for second, given in enumerate(zip(fresh, fresh_ended, strict=True))]
        tests = chosen_tests(*seen, planted, kinds, claim, len(fresh[0]), level)
        return [test.judge("planted", claim, *judged, level) for test in tests]

    best = audited(np.inf)
    epsilon_max = max((each.epsilon for each in best), default=0.0)
    if not any(each.refutes for each in best):
        return Power(epsilon_max, np.inf)
    low, high = 0.0, _MOST
    while high - low > _CLOSE:
        middle = (low + high) / 2
        refuted = any(each.refutes for each in audited(middle))
        low, high = (low, middle) if refuted else (middle, high)
    return Power(epsilon_max, high)


def _mixed(first, second):
    """Return two tables of fits on both in turns: nothing but what is planted tells them apart."""
    turns = np.arange(len(first))[:, None] % 2 == 0
    return np.where(turns, first, second), np.where(turns, second, first)


def _most_apart(first, second, most=100):
    """Return the columns whose means differ most: the clutter among which a leak is found."""
    a, b = (np.nan_to_num(table, nan=0.0, posinf=0.0, neginf=0.0) for table in (first, second))
    with np.errstate(all="ignore"):
        apart = np.abs(a.mean(axis=0) - b.mean(axis=0)) / (a.std(axis=0) + b.std(axis=0))
    return np.sort(np.argsort(-np.nan_to_num(apart))[:most])


def _with_bit(table, ended, error, deviations, second):
    """Return a table with a bit that is wrong as often as chance leaves it, or a little more.

    Of fits that ended with an error it is missing.
    """
    n = len(table)
    often = n * error + deviations * np.sqrt(n * error * (1.0 - error))
    wrong = min(int(np.rint(often)), n)
    bit = np.zeros(n, dtype=bool)
    bit[np.linspace(0, n, wrong, endpoint=False).astype(int)] = True
    bit = np.where(bit, 1.0 - second, second)[:, None]
    return np.column_stack([table, np.where(ended, np.nan, bit)])
