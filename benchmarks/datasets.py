"""The data sets of the evaluation protocol, features scaled by declared bounds.

Files are read from the folder named by DPSK_DATA (default ``../shared/data``); where they are
absent, scikit-learn fetches what it can. Nothing here is fitted to the data.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml

__all__ = ["load_adult"]

_ROOT = Path(os.environ.get("DPSK_DATA", Path(__file__).parents[2] / "shared" / "data"))

_ADULT_COLUMNS = ["age", "workclass", "fnlwgt", "education", "education_num", "marital",
                  "occupation", "relationship", "race", "sex", "gain", "loss", "hours",
                  "country", "income"]
_ADULT_BOUNDS = {"age": (17, 90), "fnlwgt": (1e4, 1.5e6), "education_num": (1, 16),
                 "gain": (0, 11.6), "loss": (0, 8.5), "hours": (1, 99)}
_ADULT_CATEGORIES = ["workclass", "education", "marital", "occupation", "relationship", "race",
                     "sex", "country"]
_ADULT_TRAIN = 32561


def load_adult():
    """Return (X_train, X_test, y_train, y_test) of Adult, features in [0, 1], 108 columns."""
    frame = _adult_frame()
    for column in ("gain", "loss"):
        frame[column] = np.log1p(frame[column].astype(float))
    X = _scaled(frame, _ADULT_BOUNDS, _ADULT_CATEGORIES)
    y = frame["income"].str.startswith(">50K").to_numpy().astype(int)
    return X[:_ADULT_TRAIN], X[_ADULT_TRAIN:], y[:_ADULT_TRAIN], y[_ADULT_TRAIN:]


def _adult_frame():
    """Return the training part of Adult followed by its test part."""
    train, test = _ROOT / "adult" / "adult.data.gz", _ROOT / "adult" / "adult.test.gz"
    if train.exists() and test.exists():
        parts = [pd.read_csv(path, header=None, names=_ADULT_COLUMNS, skipinitialspace=True,
                             skiprows=skip) for path, skip in ((train, 0), (test, 1))]
        return pd.concat(parts, ignore_index=True)
    # OpenML's version 2 holds the same rows, training part first.
    frame = fetch_openml("adult", version=2, as_frame=True).frame
    frame.columns = _ADULT_COLUMNS
    categories = [*_ADULT_CATEGORIES, "income"]
    frame[categories] = frame[categories].astype(object).fillna("?")
    return frame


def _scaled(frame, bounds, categories):
    """Return numeric columns clipped and scaled to [0, 1], then one-hot columns."""
    numeric = [(frame[name].clip(low, high) - low) / (high - low)
               for name, (low, high) in bounds.items()]
    one_hot = [(frame[name] == level).astype(float)
               for name in categories for level in sorted(frame[name].unique())]
    return np.ascontiguousarray(np.column_stack(numeric + one_hot), dtype=float)
