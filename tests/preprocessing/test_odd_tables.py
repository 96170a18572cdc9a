"""Columns that nobody wants: what every transformer makes of them, or says of them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import FunctionTransformer

import dpsk
from dpsk import preprocessing
from dpsk.testing import NoiseSeed

SECRET = 31337.25
CLASSES = [getattr(dpsk, name) for name in preprocessing.__all__]
every_transformer = pytest.mark.parametrize("cls", CLASSES)
pytestmark = pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")


def numbers(n=200):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(n, 2)), columns=["age", "wage"])


def fitted(cls, X):
    return cls(epsilon=4.0, delta=1e-4, random_state=NoiseSeed(0)).fit(X)


def said(cls, X, transforms=False):
    """Return what a fit, or a transform after one to other rows, is refused with."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises((TypeError, ValueError)) as caught:
            if transforms:
                fitted(cls, numbers()).transform(X)
            else:
                cls().fit(X)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    return str(caught.value) + "".join(str(one.message) for one in warned)


@every_transformer
@pytest.mark.parametrize("wage, column", [
    (pd.date_range("2031-03-17", periods=200), True),
    (pd.Series([pd.Timestamp("2031-03-17")] * 200, dtype=object), True),
    (pd.Series(pd.to_timedelta(SECRET, unit="s"), index=range(200)), True),
    ([{SECRET}] * 200, True), ([[SECRET]] * 200, True),
    (pd.Series([1.0 + SECRET * 1j] * 200), False)],
    ids=["dates", "cells that are dates", "durations", "sets", "lists", "complex"])
def test_cells_of_no_known_kind_are_refused_without_a_quote(cls, wage, column):
    X = numbers().assign(wage=wage)
    # In rows that are transformed a cell that is no category counts as any other.
    known_later = cls is dpsk.DPOneHotEncoder and isinstance(wage[0], pd.Timestamp) and (
        X["wage"].dtype == object)
    for transforms in (False,) if known_later else (False, True):
        text = said(cls, X, transforms)
        assert "31337" not in text and "2031" not in text and "Timestamp('" not in text
        assert "X" in text
    if column:
        assert "wage" in said(cls, X)


@every_transformer
def test_dates_in_an_array_are_refused(cls):
    X = np.full((200, 2), np.datetime64("2031-03-17"))
    assert "2031" not in said(cls, X)


@every_transformer
def test_two_columns_of_one_name_are_refused_or_told_apart(cls):
    X = numbers()
    X.columns = ["age", "age"]
    try:
        coder = fitted(cls, X)
    except ValueError as error:
        assert "several columns 'age'" in str(error)
    else:
        # Only where columns are known by their places, and scikit-learn lets them pass.
        assert not hasattr(coder, "columns") and np.isfinite(coder.transform(X)).all()


@every_transformer
@pytest.mark.parametrize("value", [np.nan, SECRET, 0.0, 1e300, -1e-300])
def test_a_column_of_one_value_is_fitted_or_refused_without_a_quote(cls, value):
    X = numbers().assign(wage=value)
    try:
        coder = fitted(cls, X)
    except ValueError as error:
        assert np.isnan(value) and "NaN" in str(error)
        return
    features = coder.transform(X)
    assert features.shape == (200, len(coder.get_feature_names_out()))
    assert np.isfinite(features).all() or np.isnan(value)
    if hasattr(coder, "row_norm_"):
        # What is missing may stay so.
        norms = np.linalg.norm(np.nan_to_num(np.asarray(features, np.float64)), axis=1)
        assert norms.max() <= coder.row_norm_ * (1 + 1e-6)


@every_transformer
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused_or_a_category(cls, value):
    X = numbers()
    X.loc[7, "wage"], X.loc[8, "wage"] = value, SECRET
    if cls is dpsk.DPOneHotEncoder:
        assert np.isfinite(fitted(cls, X).transform(X)).all()
        return
    for transforms in (False, True):
        text = said(cls, X, transforms)
        assert "infinity" in text and "31337" not in text


@every_transformer
def test_words_that_were_numbers_are_refused_or_other(cls):
    words = numbers().assign(wage=f"secret {SECRET}")
    coder = fitted(cls, numbers())
    try:
        assert np.isfinite(coder.transform(words)).all()
        assert cls is dpsk.DPOneHotEncoder
    except (TypeError, ValueError) as error:
        assert "wage" in str(error) and "secret" not in str(error)


@every_transformer
@pytest.mark.parametrize("n", [2, 3])
def test_few_rows_are_fitted_or_refused_by_public_facts(cls, n):
    try:
        assert np.isfinite(fitted(cls, numbers(n)).transform(numbers(9))).all()
    except ValueError as error:
        assert f"n={n} rows" in str(error)


@every_transformer
def test_rows_of_other_columns_are_refused(cls):
    coder = fitted(cls, numbers())
    with pytest.raises(ValueError, match=r"feature names|features"):
        coder.transform(numbers().assign(more=1.0))
    with pytest.raises(ValueError, match="minimum of 2"):
        cls().fit(numbers(1))


@pytest.mark.parametrize("alone", [False, True])
def test_a_number_that_is_none_is_missing_among_categories_and_keeps_their_order(alone):
    # Columns with a mask of their own tell NaN from what is missing.
    missing = np.full(3, np.nan)
    for seed in range(20):
        numbers = np.random.default_rng(seed).permutation(40)[:8] + 0.5
        cells = missing if alone else np.append(np.repeat(numbers, 200), missing)
        column = pd.Series(pd.arrays.FloatingArray(cells, np.zeros(len(cells), dtype=bool)))
        X = pd.DataFrame({"age": column})
        encoder = dpsk.DPOneHotEncoder(epsilon=8.0, max_categories=9).fit(X)
        assert encoder.categories_["age"] == ([] if alone else sorted(numbers))
        assert (encoder.transform(X)[-3:, -1] == 1).all()


class Foreign:
    """A table of whole numbers of another library, which NumPy takes for floats if it has gaps."""

    def __init__(self, cells):
        self.cells, self.shape = cells, cells.shape

    def __len__(self):
        return len(self.cells)

    def __array__(self, dtype=None, copy=None):
        own = self.cells.astype(float if None in self.cells else int)
        return own.astype(dtype or own.dtype)


@every_transformer
def test_a_gap_shows_in_no_dtype_of_rows_that_are_no_array(cls):
    whole = np.arange(400).reshape(200, 2).astype(object)
    gap = whole.copy()
    gap[7, 0] = None
    params = {"columns": dict.fromkeys(range(2), (0.0, 400.0))}
    if cls is dpsk.DPPCA:
        pytest.skip("takes no gaps")
    if cls is dpsk.DPOneHotEncoder:
        params = {"n_buckets": 4}
    dtypes = [[column.dtype for column in cls(**params).fit(Foreign(cells))._columns]
              for cells in (whole, gap)]
    assert dtypes[0] == dtypes[1] == [np.dtype(np.float64)] * 2


def test_the_dtype_that_a_list_gets_is_not_kept():
    rows = [[each, each + 1] for each in range(200)]
    kept = []
    for last in (1, 1.5):
        scaler = preprocessing.DPMinMaxScaler(columns=dict.fromkeys(range(2), (0.0, 400.0)))
        model = dpsk.make_dp_pipeline(
            FunctionTransformer(np.abs), scaler, dpsk.DPLogisticRegression(classes=[0, 1]))
        model.fit([*rows[:-1], [last, 2]], [0, 1] * 100)
        kept.append(pickle.dumps(vars(model.named_steps_.dpminmaxscaler)))
    assert kept[0] == kept[1]


def test_categories_are_not_told_apart_in_tables_of_other_libraries():
    # With a gap NumPy would make one of the two.
    table = Foreign(np.array([[2**53], [2**53 + 1]] * 200, dtype=object))
    table.__dataframe__ = None
    for columns in (None, {0: [2**53, 2**53 + 1]}):
        with pytest.raises(TypeError, match="to_pandas"):
            dpsk.DPOneHotEncoder(columns=columns).fit(table)
    assert preprocessing.DPMinMaxScaler(columns={0: (0, 1)}).fit(table).row_norm_ == 1.0


def test_whole_numbers_of_any_length_have_a_bucket():
    X = np.array([[10**5000 + each] for each in range(8)], dtype=object)
    found = dpsk.DPOneHotEncoder(n_buckets=4).fit_transform(X)
    assert found.argmax(axis=1).tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_a_flag_that_is_mostly_zero_stays_two_numbers():
    """Both ends were 0, so ones were clipped to zeros."""
    X = np.zeros((20_000, 1))
    X[:100] = 1.0
    assert np.ptp(preprocessing.DPMinMaxScaler(1.0).fit_transform(X)) > 0.4
    assert np.ptp(preprocessing.DPMinMaxScaler(np.inf).fit_transform(np.zeros((9, 1)))) == 0.0
