"""Number of features after encoding the columns of a described raw table."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from dpsk._data.columns import Column, check_columns
from dpsk._defaults.columns import BUCKETS, hashing_pays
from dpsk._parameters import check_integer
from dpsk._problem import Budget
from dpsk.preprocessing._code_plan import CodePlan

__all__ = ["check_described", "expansion", "has_words"]

#: Number of features of a numeric column if rows are too few to halve its range.
_FEW_HATS = 3


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


def expansion(given, n_samples, epsilon, delta, n_classes):
    """Return the number of encoded features, and the share of mu^2 for encoding.

    The rules are those of additive models and of `DPTableVectorizer`, without the buckets that
    these keep for unseen categories.
    """
    budget = Budget(n_samples, len(given), epsilon, delta)
    n_words = sum(isinstance(kind, Integral) for kind in given.values())
    hashed = n_words and hashing_pays(budget, n_words)
    # Hashed columns need no search for categories.
    columns = [_column(name, [*range(BUCKETS)] if isinstance(kind, Integral) and hashed else kind)
               for name, kind in given.items()]
    share = CodePlan.of(budget, columns, n_classes=n_classes, evens=True)
    plan, widths = share.mechanism, []
    for kind in given.values():
        if isinstance(kind, Integral):
            few = kind <= plan.most
            widths.append(1 + (min(kind, BUCKETS) if hashed else
                               kind if few else plan.most + BUCKETS))
        elif isinstance(kind, list) or (isinstance(kind, tuple) and len(kind) > 2):
            widths.append(len(kind) + isinstance(kind, list))
        else:
            widths.append(2**plan.levels + 1 if plan.levels or kind != "numbers" else _FEW_HATS)
    return sum(widths), share.share


def _column(name, kind):
    """Return the `Column` of a described kind of column."""
    if isinstance(kind, Integral):
        return Column(name, np.dtype(object), categories=[])
    if isinstance(kind, list):
        return Column(name, np.dtype(object), categories=kind)
    return Column(name, np.dtype(np.float64), edges=kind if isinstance(kind, tuple) else None)
