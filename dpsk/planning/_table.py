"""Number of features after encoding the columns of a described raw table."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np

from dpsk._data.columns import Column, check_columns
from dpsk._data.tables import Buckets
from dpsk._defaults.columns import (
    BUCKETS,
    CLASS_PAIRS,
    FIRST_SHARE,
    SPREAD_MIDDLE,
    TARGET_PAIRS,
    hashing_pays,
)
from dpsk._parameters import check_integer
from dpsk._problem import Budget
from dpsk.preprocessing._code_plan import CodePlan

__all__ = ["Expansion", "check_described", "expansion", "has_words"]

#: Number of features of a numeric column if rows are too few to halve its range.
_FEW_HATS = 3
#: Rules by which additive models choose pairs of columns.
_PAIRS = {"logistic": CLASS_PAIRS, "squared": TARGET_PAIRS}


def check_described(given):
    """Return the number of described columns; raise a ValueError if invalid."""
    if not given:
        raise ValueError("n_features={}: must be an int >= 1, or describe a column or more.")
    for name, kind in given.items():
        if isinstance(kind, Integral) and not isinstance(kind, bool):
            check_integer(f"n_features[{name!r}]", kind, low=1, remedy="a number of categories")
        elif not (isinstance(kind, str) and kind == "numbers"):
            check_columns("n_features", {name: kind})
    return len(given)


def has_words(given):
    """Return whether a described column has categories that a fit must find."""
    return any(isinstance(kind, Integral) for kind in given.values())


class Expansion(NamedTuple):
    """Features that columns are encoded as, and the budget for it.

    Parameters
    ----------
    width : int
        Number of nonempty features.
    directions : int
        Number of coefficients that matter: one for a numeric column, whose shape is mostly one
        direction, and one less than its categories for any other.
    share : float
        Share of mu^2 that is spent before coefficients are fitted.
    """

    width: int
    directions: int
    share: float


def expansion(given, n_samples, epsilon, delta, loss):
    """Return the `Expansion` of described columns.

    The rules are those of additive models, and for hinge losses of `DPTableVectorizer`, without
    the buckets that these keep for unseen categories. Additive models also pay for the choice of
    pairs of columns where they choose pairs by default.
    """
    budget = Budget(n_samples, len(given), epsilon, delta)
    n_words = sum(isinstance(kind, Integral) for kind in given.values())
    hashed = n_words and hashing_pays(budget, n_words)
    two = loss == "logistic"
    # Hashed columns need no search for categories.
    columns = [_column(name, Buckets(BUCKETS) if isinstance(kind, Integral) and hashed else kind)
               for name, kind in given.items()]
    code = CodePlan.of(budget, columns, spares=not two, n_classes=2 if two else 1, evens=True)
    parts = [_encoded(kind, code.mechanism, hashed) for kind in given.values()]
    pairs = _PAIRS.get(loss)
    chosen = FIRST_SHARE + pairs.share if pairs and pairs.count(budget) else 0.0
    return Expansion(sum(width for width, _ in parts), max(1, sum(own for _, own in parts)),
                     code.share + chosen)


def _encoded(kind, plan, hashed):
    """Return the numbers of nonempty features and of directions of a kind of column."""
    if isinstance(kind, list):
        return len(kind) + 1, len(kind) - 1
    if isinstance(kind, Integral):
        most = BUCKETS if hashed else plan.most + BUCKETS
        found = min(kind, most)
        return 1 + (found if hashed or kind <= plan.most else most), found - 1
    if isinstance(kind, tuple) and len(kind) > 2:
        return len(kind), 1
    if kind == "numbers" and plan.has_spreads:
        return 2 + (plan.signal >= SPREAD_MIDDLE), 1
    return _FEW_HATS if kind == "numbers" and not plan.levels else 2**plan.levels + 1, 1


def _column(name, kind):
    """Return the `Column` of a described kind of column."""
    if isinstance(kind, Integral):
        return Column(name, np.dtype(object), categories=[])
    if isinstance(kind, (list, Buckets)):
        return Column(name, np.dtype(object), categories=kind)
    return Column(name, np.dtype(np.float64), edges=kind if isinstance(kind, tuple) else None)
