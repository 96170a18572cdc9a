"""The data sets of the evaluation protocol, features scaled by declared bounds; raw tables too.

Files are read from the folder named by DPSK_DATA (default ``../shared/data``); where they are
absent, scikit-learn fetches what OpenML has under the same columns. Nothing here is fitted to
the data: bounds are declared, and splits are those of the sets or of a fixed permutation.
"""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_breast_cancer

__all__ = ["DATASETS", "TABLES", "Split", "declared_columns", "load", "load_table"]

_ROOT = Path(os.environ.get("DPSK_DATA", Path(__file__).parents[2] / "shared" / "data"))

_ADULT_COLUMNS = ["age", "workclass", "fnlwgt", "education", "education_num", "marital",
                  "occupation", "relationship", "race", "sex", "gain", "loss", "hours",
                  "country", "income"]
_ADULT_BOUNDS = {"age": (17, 90), "fnlwgt": (1e4, 1.5e6), "education_num": (1, 16),
                 "gain": (0, 11.6), "loss": (0, 8.5), "hours": (1, 99)}
_ADULT_CATEGORIES = ["workclass", "education", "marital", "occupation", "relationship", "race",
                     "sex", "country"]
_ADULT_TRAIN = 32561
_BANK_BOUNDS = {"age": (18, 95), "balance": (-8000, 1e5), "day": (1, 31), "duration": (0, 5000),
                "campaign": (1, 60), "pdays": (-1, 900), "previous": (0, 50)}
_BANK_CATEGORIES = ["job", "marital", "education", "default", "housing", "loan", "contact",
                    "month", "poutcome"]
_CREDIT_CATEGORIES = ["SEX", "EDUCATION", "MARRIAGE"]
_CREDIT_BOUNDS = {"LIMIT_BAL": (0, 1e6), "AGE": (20, 80), **{
    f"{name}{month}": bound for name, bound, months in (
        ("PAY_", (-2, 8), (0, 2, 3, 4, 5, 6)), ("BILL_AMT", (-2e5, 1e6), range(1, 7)),
        ("PAY_AMT", (0, 5e5), range(1, 7))) for month in months}}
_WINE_FEATURES = ["fixed acidity", "volatile acidity", "citric acid", "residual sugar",
                  "chlorides", "free sulfur dioxide", "total sulfur dioxide", "density", "pH",
                  "sulphates", "alcohol", "red"]
_WINE_BOUNDS = [(3, 16), (0, 1.6), (0, 1.7), (0, 66), (0, 0.62), (0, 290), (0, 440),
                (0.98, 1.04), (2.7, 4.1), (0.2, 2), (8, 15), (0, 1)]
_BIKE_BOUNDS = dict.fromkeys(["temp", "atemp", "hum", "windspeed", "yr"], (0, 1))
_BIKE_CATEGORIES = ["season", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit"]
#: Of raw tables, where amounts are no logarithms.
_TABLE_BOUNDS = {
    "adult": {**_ADULT_BOUNDS, "gain": (0, 1e5), "loss": (0, 5000)}, "bank": _BANK_BOUNDS,
    "credit": _CREDIT_BOUNDS, "bike": _BIKE_BOUNDS,
    "wine": dict(zip(_WINE_FEATURES, _WINE_BOUNDS, strict=True))}


class Split(tuple):
    """(X_train, X_test, y_train, y_test)."""


def load(name):
    """Return the Split of one of DATASETS."""
    return DATASETS[name]()


def load_table(name):
    """Return the Split of one of TABLES, features as they came: DataFrames of numbers and words.

    Codes that stand for categories are words.
    """
    return TABLES[name]()


def declared_columns(name):
    """Return the `columns` of one of TABLES as one who knows them would declare them by hand.

    Bounds of numbers, and all categories of words.
    """
    train, test = load_table(name)[:2]
    frame, bounds = pd.concat([train, test]), _TABLE_BOUNDS[name]
    return {column: bounds[column] if column in bounds else sorted(frame[column].unique())
            for column in frame}


def _adult_table():
    frame = _adult_frame()
    y = frame.pop("income").str.startswith(">50K").to_numpy().astype(int)
    parts = frame.iloc[:_ADULT_TRAIN], frame.iloc[_ADULT_TRAIN:].reset_index(drop=True)
    return Split((*parts, y[:_ADULT_TRAIN], y[_ADULT_TRAIN:]))


def _bank_table():
    frame = pd.read_csv(_ROOT / "bank" / "bank-full.csv.gz", sep=";")
    return _split_table(frame, frame.pop("y") == "yes", [])


def _credit_table():
    frame = pd.read_csv(_ROOT / "credit" / "credit-card-clients.csv.gz")
    return _split_table(frame, frame.pop(frame.columns[-1]),
                        [name for name in frame if name.upper() in _CREDIT_CATEGORIES])


def _bike_table():
    frame = pd.read_csv(_ROOT / "bike" / "hour.csv.gz")
    return _split_table(frame[[*_BIKE_BOUNDS, *_BIKE_CATEGORIES]], frame["cnt"] / 500 - 1,
                        _BIKE_CATEGORIES)


def _wine_table():
    frame = _wine_frame()
    return _split_table(frame, (frame.pop("quality") - 5) / 5, [])


def _breast_cancer_table():
    frame, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return _split_table(frame, y, [])


def _small_covtype_table():
    """The second class against all others, from 10,000 rows."""
    table = pd.read_csv(_ROOT / "covtype" / "covtype_ramp_test_92962.csv.gz").astype(float)
    X, X_test, y, y_test = _split_table(table, table.pop(table.columns[-1]) == 2, [])
    return Split((X[:10_000], X_test, y[:10_000], y_test))


def _split_table(frame, y, categories):
    """Return the split of `_split`, of a frame."""
    train, test, y_train, y_test = _split(np.arange(len(frame)), y)
    frame = frame.astype(dict.fromkeys(categories, str))
    return Split((frame.iloc[train].reset_index(drop=True),
                  frame.iloc[test].reset_index(drop=True), y_train, y_test))


def _adult():
    frame = _adult_frame()
    for column in ("gain", "loss"):
        frame[column] = np.log1p(frame[column].astype(float))
    X = _scaled(frame, _ADULT_BOUNDS, _ADULT_CATEGORIES)
    y = frame["income"].str.startswith(">50K").to_numpy().astype(int)
    return Split((X[:_ADULT_TRAIN], X[_ADULT_TRAIN:], y[:_ADULT_TRAIN], y[_ADULT_TRAIN:]))


def _adult_hours():
    """Hours per week from the other declared features of Adult."""
    frame = _adult_frame()
    for column in ("gain", "loss"):
        frame[column] = np.log1p(frame[column].astype(float))
    bounds = {name: bound for name, bound in _ADULT_BOUNDS.items() if name != "hours"}
    X, y = _scaled(frame, bounds, _ADULT_CATEGORIES), frame["hours"].to_numpy(float)
    return Split((X[:_ADULT_TRAIN], X[_ADULT_TRAIN:], y[:_ADULT_TRAIN], y[_ADULT_TRAIN:]))


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


def _bank():
    frame = pd.read_csv(_ROOT / "bank" / "bank-full.csv.gz", sep=";")
    return _split(_scaled(frame, _BANK_BOUNDS, _BANK_CATEGORIES), (frame["y"] == "yes"))


def _credit():
    frame = pd.read_csv(_ROOT / "credit" / "credit-card-clients.csv.gz")
    *features, target = frame.columns
    frame = frame.rename(columns={name: name.upper() for name in features})
    return _split(_scaled(frame, _CREDIT_BOUNDS, _CREDIT_CATEGORIES), frame[target])


def _covtype():
    table = pd.read_csv(_ROOT / "covtype" / "covtype_ramp_test_92962.csv.gz").to_numpy(float)
    return _split(np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int))


def _covtype_binary():
    X_train, X_test, y_train, y_test = _covtype()
    return Split((X_train, X_test, (y_train == 2).astype(int), (y_test == 2).astype(int)))


def _wine_frame():
    parts = [pd.read_csv(_ROOT / "winequality" / f"winequality-{color}.csv", sep=";")
             .assign(red=float(color == "red")) for color in ("red", "white")]
    return pd.concat(parts, ignore_index=True)


def _wine():
    frame = _wine_frame()
    bounds = dict(zip(_WINE_FEATURES, _WINE_BOUNDS, strict=True))
    return _split(_scaled(frame, bounds, []), (frame["quality"] - 5) / 5)


def _bike():
    frame = pd.read_csv(_ROOT / "bike" / "hour.csv.gz")
    return _split(_scaled(frame, _BIKE_BOUNDS, _BIKE_CATEGORIES), frame["cnt"] / 500 - 1)


def _digits(folder):
    def read(part, kind):
        raw = gzip.decompress((_ROOT / folder / f"{part}-{kind}-ubyte.gz").read_bytes())
        return np.frombuffer(raw, np.uint8, offset=8 if kind == "labels-idx1" else 16)

    def images(part):
        return (read(part, "images-idx3").reshape(-1, 784) / np.float32(255)).astype(np.float32)

    return Split((images("train"), images("t10k"), read("train", "labels-idx1").astype(int),
                  read("t10k", "labels-idx1").astype(int)))


def _scaled(frame, bounds, categories):
    """Return numeric columns clipped and scaled to [0, 1], then one-hot columns."""
    numeric = [(frame[name].clip(low, high) - low) / (high - low)
               for name, (low, high) in bounds.items()]
    one_hot = [(frame[name] == level).astype(float)
               for name in categories for level in sorted(frame[name].unique())]
    return np.ascontiguousarray(np.column_stack(numeric + one_hot), dtype=float)


def _split(X, y):
    """Return the first 80 % of a fixed permutation to train, the rest to test."""
    y = np.asarray(y)
    y = y.astype(int) if y.dtype == bool else y
    order = np.random.default_rng(0).permutation(len(X))
    train, test = np.split(order, [int(0.8 * len(X))])
    return Split((X[train], X[test], y[train], y[test]))


DATASETS = {
    "adult": _adult,
    "adult_hours": _adult_hours,
    "bank": _bank,
    "bike": _bike,
    "covtype": _covtype,
    "covtype_binary": _covtype_binary,
    "credit": _credit,
    "fashion_mnist": lambda: _digits("fashion-mnist"),
    "mnist": lambda: _digits("mnist"),
    "wine": _wine,
}
TABLES = {
    "adult": _adult_table,
    "bank": _bank_table,
    "bike": _bike_table,
    "breast_cancer": _breast_cancer_table,
    "covtype_10000": _small_covtype_table,
    "credit": _credit_table,
    "wine": _wine_table,
}
