"""Transformers of columns of numbers, as the package's registry has them, and their tables."""

import numpy as np
import pandas as pd
import pytest

from dpsk.testing import NoiseSeed
from tests.registry import NUMERIC

__all__ = ["NUMERIC", "SETTINGS", "every_numeric_transformer", "every_setting", "fitted", "table"]

#: Settings beside the defaults, by class.
SETTINGS = {
    "DPMinMaxScaler": [{"feature_range": (-2.0, 1.0)}],
    "DPQuantileTransformer": [{"output_distribution": "normal", "n_quantiles": 9}],
    "DPRobustScaler": [{"with_centering": False, "unit_variance": True}, {"with_scaling": False},
                       {"clip": 0.1}],
    "DPSimpleImputer": [{"strategy": "constant", "fill_value": -1.5, "add_indicator": True},
                        {"add_indicator": ["age"]}],
    "DPStandardScaler": [{"with_std": False}, {"with_mean": False, "clip": 1.0}]}

every_numeric_transformer = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(NUMERIC.items())])
every_setting = pytest.mark.parametrize("cls, params", [
    pytest.param(cls, params, id=f"{name}-{params}") for name, cls in sorted(NUMERIC.items())
    for params in ({}, *SETTINGS.get(name, ()))])


def table(n=600, seed=0):
    """Return a table of numbers of several scales, with gaps."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40.0, 12.0, size=n)
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "wage": rng.exponential(2000.0, n),
                         "rate": 1e-3 * rng.normal(size=n)})


def fitted(cls, X=None, **params):
    X = table() if X is None else X
    return cls(**{"epsilon": 4.0, "delta": 1e-5, "random_state": NoiseSeed(0), **params}).fit(X)
