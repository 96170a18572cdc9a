"""Rows, tables and fits for the tests of samplers."""

import numpy as np
import pandas as pd

from dpsk import DPWGAN
from dpsk.testing import NoiseSeed

__all__ = ["COLUMNS", "SHORT", "fitted", "numbers", "rows", "table"]


def rows(n=90, n_features=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, n_features)) + y[:, None], y


def table(n=90, seed=0):
    """Return a frame of columns of several kinds."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": rng.integers(18, 91, size=n), "height": rng.uniform(1.4, 2.1, size=n),
        "town": rng.choice(["north", "south"], size=n), "member": rng.random(n) < 0.5,
        "size": pd.Categorical(rng.choice(["s", "m"], size=n), ["s", "m", "l"], ordered=True)})


COLUMNS = {"age": (17, 90), "height": (1.0, 2.5), "town": ["north", "south", "west"]}


#: What keeps the fits of a generator short.
SHORT = {"hidden_layer_sizes": 8, "generator_hidden_layer_sizes": 8, "n_noise": 4, "max_iter": 5}


def fitted(cls, X=None, y=None, **params):
    if X is None:
        X, y = rows()
    own = SHORT if cls is DPWGAN else {}
    return cls(**{"epsilon": 3.0, "delta": 1e-4, "random_state": NoiseSeed(0), **own,
                  **params}).fit(X, y)


def numbers(sampler):
    """Return all numbers that were released."""
    parts = []
    for name in sampler.privacy_.released:
        value = getattr(sampler, name)
        parts += [np.asarray(part, float) for part in (
            value if isinstance(value, list) else [value])]
    return parts
