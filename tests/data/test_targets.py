"""Targets of all types: every regressor reads them alike, or refuses them before its charge."""

from datetime import date, timedelta
from decimal import Decimal
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor

from dpsk import PrivacyBudget
from tests.registry import ALL_ESTIMATORS, NETWORK_PARAMS

REGRESSORS = {
    name: cls for name, cls in ALL_ESTIMATORS.items()
    if not {"estimator", "steps"} & {*signature(cls).parameters}
    and "y" in signature(cls.fit).parameters and is_regressor(cls())}
#: Rows enough for a choice of interactions.
X = np.random.default_rng(0).normal(size=(1500, 2))
Y = np.round(np.abs(X[:, 0] * X[:, 1]) * 4.0 + 1.0, 2)
_DAY = date(2020, 1, 1)


class Column:
    """A column whose type only its array tells, as a Series of polars is."""

    dtype = object()
    shape = (len(X),)

    def __init__(self, cells):
        self.cells = cells

    def __len__(self):
        return len(self.cells)

    def __array__(self, dtype=None, copy=None):
        return self.cells if dtype is None else self.cells.astype(dtype)


READ = {
    "text": Y.astype(str), "column of text": Column(Y.astype(str)),
    "objects of text": Y.astype(str).astype(object), "flags": Y > 2.0,
    "decimals": np.array([Decimal(str(y)) for y in Y]),
    "nullable": pd.Series(Y).astype("Float64"),
    "nullable whole": pd.Series(Y // 1).astype("Int64"),
}
REFUSED = {
    "dates": np.datetime64(_DAY) + Y.astype(int), "column of dates": Column(
        np.datetime64(_DAY) + Y.astype(int)), "zoned": pd.Series(
        pd.date_range("2020", periods=len(Y), tz="UTC")),
    "objects of dates": np.array([_DAY + timedelta(int(y)) for y in Y]),
    "durations": Y.astype("m8[s]"), "words": np.where(Y > 2.0, "a", "b"),
    "text of NaN": np.where(Y > 5.0, "nan", Y.astype(str)),
    "missing": pd.Series([None, *(Y[1:] // 1)], dtype="Int64"), "complex": Y + 0j,
}


def fitted(name, y):
    """Return a regressor fitted to `y`, and what it charged."""
    params = NETWORK_PARAMS | {"max_iter": 3} if "MLP" in name else {}
    with PrivacyBudget(epsilon=100.0, delta=1e-3) as budget:
        try:
            return REGRESSORS[name](20.0, **params).fit(X, y).predict(X[:9]), budget.charges
        except (TypeError, ValueError) as error:
            return str(error), budget.charges


@pytest.mark.covering
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("name", sorted(REGRESSORS))
def test_targets_of_numbers_are_read(name, kind):
    """Additive models and boosting failed on text, once interactions had been charged."""
    found, charges = fitted(name, READ[kind])
    assert np.isfinite(found).all() and charges


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", REFUSED)
def test_targets_of_anything_else_are_refused_before_the_charge(kind):
    """Most regressors took a polars column of dates for numbers."""
    found = [fitted(name, REFUSED[kind]) for name in REGRESSORS]
    assert not any(charges for _, charges in found)
    assert len({message.replace("X or y", "y") for message, _ in found}) == 1
