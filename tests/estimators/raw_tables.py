"""Raw tables for tests of additive models, and fits to them."""

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

__all__ = ["LEVELS", "TOWNS", "curves", "fitted", "make", "table", "targets",
           "with_rare_words"]

TOWNS = ["north", "south"]
LEVELS = pd.CategoricalDtype(["low", "high"])


def table(n=200, seed=0, gap=0.1):
    """Return a table of numbers with gaps, words, categories and flags."""
    rng = np.random.default_rng(seed)
    number = rng.normal(size=n)
    number[rng.random(n) < gap] = np.nan
    town = pd.Series(rng.choice(TOWNS, size=n), dtype=object)
    town[rng.random(n) < gap] = None
    return pd.DataFrame({
        "number": number, "count": rng.poisson(3.0, size=n), "town": town,
        "level": pd.Series(rng.choice(["low", "high"], size=n), dtype=LEVELS),
        "flag": rng.random(n) < 0.5})


def with_rare_words(n=200):
    """Yield two tables of which a row has another word, that too few rows have to be found."""
    for word in ("east", "west"):
        X = table(n)
        X.loc[:2, "town"] = ["east", "west", word]
        yield X


def targets(cls, X, seed=0):
    """Return targets that follow the distance of a number from 0, and the town."""
    rng = np.random.default_rng([seed, 1])
    signal = (np.abs(X["number"].fillna(2.0)) - 0.7 + 0.8 * (X["town"] == "north")
              - 0.4 * (X["flag"]) + 0.2 * rng.normal(size=len(X))).to_numpy()
    return np.where(signal > 0, "yes", "no") if is_classifier(cls()) else signal


def make(cls, **params):
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-2.0, 3.0)}
    # Words are found, and not hashed, where it is said how many.
    return cls(**{"epsilon": 20.0, "delta": 1e-4, "max_categories": 24, **bounds, **params})


def curves(model):
    """Return the terms of single columns: from names to axes and values."""
    return {term.axes[0].column: (term.axes[0], term.values) for term in model.terms_
            if len(term.axes) == 1}


def fitted(cls, **params):
    X = table()
    return make(cls, **params).fit(X, targets(cls, X))
