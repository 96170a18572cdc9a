"""The power of an audit: whether it detects a planted leak of known epsilon."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from dpsk.auditing._tests import chosen_tests

__all__ = ["Power", "measured_power"]

#: Largest epsilon of a planted leak (apart from one without noise), and the tolerance of the
#: search for the smallest epsilon that is detected.
_MOST, _CLOSE = 30.0, 0.01


@dataclass(frozen=True)
class Power:
    """The power of an audit, measured by planting a leak.

    The leak is one published bit: which table was used, through randomized response.

    Attributes
    ----------
    epsilon_max : float
        The lower bound on epsilon that the audit shows for the bit without noise; it could not
        have shown more for any leak.
    refutes_from : float
        The smallest epsilon of the bit at which the audit refutes the claim, in 19 cases of 20;
        inf if it never does.
    """

    epsilon_max: float
    refutes_from: float


def measured_power(learnt, fresh, ended, layout, kinds, claim, level):
    """Plant leaks in the published values of fits, and audit them.

    Parameters
    ----------
    learnt, fresh : tuple of two ndarrays of shape (n_fits, n_names)
        Fits on either table for learning tests, and fresh fits for judging them.
    ended : tuple of two lists of two ndarrays of bool of shape (n_fits,)
        Which fits of `learnt` and of `fresh` ended with an error; they do not show the leak.
    layout : Layout
    kinds : list of str
    claim : Claim
    level : float
        Error probability of each limit.

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
    """Return two tables that alternate between fits on both: only a leak differs."""
    turns = np.arange(len(first))[:, None] % 2 == 0
    return np.where(turns, first, second), np.where(turns, second, first)


def _most_apart(first, second, most=100):
    """Return the columns whose means differ most, among which the leak must be found."""
    a, b = (np.nan_to_num(table, nan=0.0, posinf=0.0, neginf=0.0) for table in (first, second))
    with np.errstate(all="ignore"):
        apart = np.abs(a.mean(axis=0) - b.mean(axis=0)) / (a.std(axis=0) + b.std(axis=0))
    return np.sort(np.argsort(-np.nan_to_num(apart))[:most])


def _with_bit(table, ended, error, deviations, second):
    """Return a table with the planted bit, NaN for fits that ended with an error.

    The bit is wrong in the expected number of fits plus `deviations` standard deviations.
    """
    n = len(table)
    often = n * error + deviations * np.sqrt(n * error * (1.0 - error))
    wrong = min(int(np.rint(often)), n)
    bit = np.zeros(n, dtype=bool)
    bit[np.linspace(0, n, wrong, endpoint=False).astype(int)] = True
    bit = np.where(bit, 1.0 - second, second)[:, None]
    return np.column_stack([table, np.where(ended, np.nan, bit)])
