"""Rows in any container train the bits that their float64 copy trains, or are refused."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import is_classifier
from sklearn.utils import check_array

from dpsk import model_selection
from tests.instruments import fixed_streams, forbid_noise
from tests.registry import (
    ALL_ESTIMATORS,
    ESTIMATORS,
    NETWORK_PARAMS,
    coefficients,
    every_estimator,
    is_linear,
    training_rows,
)

CLASSIFIERS = [cls for _, cls in sorted(ESTIMATORS.items()) if is_classifier(cls())]


def small(cls, **params):
    """Return an estimator whose fits are short."""
    return cls(**({} if is_linear(cls) else NETWORK_PARAMS), **params)


@pytest.fixture
def fitted():
    """Fit under one fixed stream and return everything trained, and predictions."""
    def fit(cls, X, y, weights=None, **params):
        with fixed_streams():
            model = small(cls, **params).fit(X, y, sample_weight=weights)
        return coefficients(model), model.predict(X)

    return fit


@pytest.fixture
def refused(monkeypatch):
    """Call what must fail before anything is drawn."""
    def call(match, function, *args, kind=ValueError):
        forbid_noise(monkeypatch)
        with pytest.raises(kind, match=match) as caught:
            function(*args)
        assert "31337" not in str(caught.value)

    return call


def _memory_map(X, folder):
    path = folder / "rows.bin"
    X.tofile(path)
    return np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)


def _read_only(X):
    X.flags.writeable = False
    return X


# Small whole numbers, and thus the same ones in every type below.
_SAME = {
    "lists": lambda X, _: X.tolist(),
    "objects": lambda X, _: X.astype(object),
    "integers": lambda X, _: X.astype(np.int64),
    "small integers": lambda X, _: X.astype(np.int8),
    "half": lambda X, _: X.astype(np.float16),
    "long double": lambda X, _: X.astype(np.longdouble),
    "other byte order": lambda X, _: X.astype(">f8"),
    "columns": lambda X, _: np.asfortranarray(X),
    "strided": lambda X, _: np.repeat(X, 3, axis=1)[:, ::3],
    "reversed": lambda X, _: X[::-1].copy()[::-1],
    "read-only": lambda X, _: _read_only(X.copy()),
    "memory map": _memory_map,
    "frame": lambda X, _: pd.DataFrame(X),
    "frame of nullable numbers": lambda X, _: pd.DataFrame(X).astype("Float64"),
    "frame of nullable integers": lambda X, _: pd.DataFrame(X).astype("Int64"),
    "frame of several types": lambda X, _: pd.DataFrame(X).astype({0: "int8", 1: object,
                                                                   2: "float32"}),
    "frame with names": lambda X, _: pd.DataFrame(X, columns=list("abcd")),
}
same = pytest.mark.parametrize("make", [pytest.param(make, id=name.replace(" ", "-"))
                                        for name, make in _SAME.items()])


def _whole(cls, n=80, n_features=4):
    X, y = training_rows(cls(), n=n, n_features=n_features)
    return np.rint(3 * X), y


@pytest.mark.covering
@every_estimator
@same
def test_every_container_gives_the_same_bits(cls, make, fitted, tmp_path):
    X, y = _whole(cls)
    one, other = fitted(cls, X, y), fitted(cls, make(X, tmp_path), y)
    np.testing.assert_array_equal(one[0], other[0])
    # BLAS adds the products of rows stored by columns in another order.
    np.testing.assert_allclose(one[1], other[1], rtol=1e-12, atol=1e-14)
    assert one[0].dtype == other[0].dtype and one[1].dtype == other[1].dtype


@pytest.mark.covering
@every_estimator
@pytest.mark.parametrize("make", [
    lambda X: X, lambda X: X.astype(np.int8), lambda X: pd.DataFrame(X),
    lambda X: pd.DataFrame(X).astype("boolean"), lambda X: X.astype(object)])
def test_booleans_are_zeros_and_ones(cls, make, fitted):
    X, y = _whole(cls)
    one, other = fitted(cls, (X > 0).astype(float), y), fitted(cls, make(X > 0), y)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_allclose(one[1], other[1], rtol=1e-12, atol=1e-14)


@pytest.mark.covering
@every_estimator
@pytest.mark.parametrize("make", [
    np.ndarray.tolist, lambda part: part.astype(object), lambda part: part.astype(np.int8),
    lambda part: part.astype(np.float16), lambda part: part.astype(">f8"),
    lambda part: np.repeat(part, 3)[::3], lambda part: _read_only(part.copy()), pd.Series,
    lambda part: pd.Series(part).astype("Int64")],
    ids=["list", "objects", "integers", "half", "byte order", "strided", "read-only", "series",
         "nullable"])
def test_targets_and_weights_come_in_as_many_containers(cls, make, fitted):
    X, y = _whole(cls)
    y, weights = np.rint(y), 1.0 + np.arange(80) % 3
    # Numbers as objects are no labels that scikit-learn takes, unless they are declared.
    params = {"classes": [0, 1]} if is_classifier(cls()) else {}
    one = fitted(cls, X, y, weights, **params)
    other = fitted(cls, X, make(y), make(weights), **params)
    np.testing.assert_array_equal(one[0], other[0])


@every_estimator
@pytest.mark.parametrize("dtype", ["Int64", "Float64", "object"])
def test_targets_and_weights_that_are_missing_are_refused_before_any_draw(cls, dtype, refused):
    X, y = _whole(cls)
    missing = pd.Series(pd.array(np.rint(y), dtype=dtype))
    missing[3] = pd.NA
    refused(None, small(cls).fit, X, missing)
    refused(None, small(cls).fit, X, y, missing, kind=(TypeError, ValueError))


@every_estimator
def test_a_frame_of_sparse_columns_is_a_sparse_matrix(cls, fitted, refused):
    X, y = _whole(cls)
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X))
    if not is_linear(cls):
        frame = frame.sparse.to_dense()
        X = sp.csr_array(X).toarray()
    one = fitted(cls, sp.csr_array(X) if is_linear(cls) else X, y)
    np.testing.assert_array_equal(one[0], fitted(cls, frame, y)[0])


@every_estimator
@pytest.mark.parametrize("shape", [(80, 1), (2, 4), (2, 1)])
def test_few_rows_and_one_column_are_fitted(cls, shape, fitted):
    X, y = _whole(cls, *shape)
    y[:2] = [0, 1]
    coef, predicted = fitted(cls, X, y, delta=0.01)
    assert np.isfinite(coef).all() and predicted.shape == y.shape


@every_estimator
@pytest.mark.parametrize("column", [0.0, 31337.0])
def test_columns_that_are_empty_or_constant_are_fitted(cls, column, fitted):
    X, y = _whole(cls)
    X[:, 1] = column
    coef, predicted = fitted(cls, X, y)
    # Exponentials of a large column times its noise may be beyond any float.
    assert np.isfinite(coef).all() and not np.isnan(predicted).any()


@every_estimator
@pytest.mark.parametrize("X, y, match", [
    (np.full((1, 4), 31337.0), [1], r"1 sample\(s\).*minimum of 2"),
    (np.empty((0, 4)), [], r"0 sample\(s\)"), (np.empty((20, 0)), [0, 1] * 10,
                                               r"0 feature\(s\)"),
    (pd.DataFrame({"a": pd.array([31337, pd.NA] * 10, dtype="Int64")}), [0, 1] * 10,
     "contains NaN"),
    (pd.DataFrame({"a": pd.array([0.5, pd.NA] * 10, dtype="Float64")}), [0, 1] * 10,
     "contains NaN"),
    (pd.DataFrame({"a": pd.array([True, pd.NA] * 10, dtype="boolean")}), [0, 1] * 10,
     "contains NaN"),
    (pd.DataFrame({"a": [31337, pd.NA] * 10}), [0, 1] * 10, "contains NaN|not numeric"),
    (pd.DataFrame({"a": [np.nan] * 20}), [0, 1] * 10, "contains NaN"),
    (np.full((20, 2), np.longdouble("31337e4000")), [0, 1] * 10, "contains infinity"),
], ids=["one row", "no rows", "no columns", "no integer", "no number", "no truth", "no object",
        "empty column", "long double"])
def test_what_is_no_table_of_numbers_is_refused_before_any_draw(cls, X, y, match, refused):
    refused(match, small(cls).fit, X, y)


@every_estimator
def test_predictions_need_a_row_and_take_one(cls, refused):
    X, y = _whole(cls)
    model = small(cls).fit(X, y)
    assert model.predict(X[:1]).shape == (1,)
    refused(r"0 sample\(s\)", model.predict, X[:0])
    if is_linear(cls):
        assert model.predict(sp.csr_array(X[:1])).shape == (1,)
        refused(r"0 sample\(s\)", model.predict, sp.csr_array((0, 4)))


@every_estimator
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused_whatever_the_global_setting(cls, value, refused):
    X, y = _whole(cls)
    X[3, 1] = value
    with sklearn.config_context(assume_finite=True):
        refused("Input X contains", small(cls).fit, X, y)


@every_estimator
def test_predictions_look_for_nan_exactly_where_scikit_learn_does(cls, refused):
    X, y = _whole(cls)
    model = small(cls).fit(X, y)
    X[3, 1] = np.nan
    refused("Input X contains NaN", model.predict, X)
    with sklearn.config_context(assume_finite=True):
        assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("X", [np.ones((9, 2)).view(np.matrix), np.ones((9, 2, 2)), np.ones(9),
                               np.ones((9, 2), complex), np.array(1.0)])
def test_what_is_no_table_is_refused_by_all_in_scikit_learns_words(X, silent):
    """Models of tables took matrices, and told how to reshape three dimensions."""
    fits = {name: cls for name, cls in ALL_ESTIMATORS.items()
            if name not in model_selection.__all__ and "X" in inspect.signature(cls.fit).parameters
            and "steps" not in inspect.signature(cls).parameters}
    assert len(fits) > 30
    for name, cls in fits.items():
        with pytest.raises((TypeError, ValueError)) as theirs:
            check_array(X, estimator=name)
        with pytest.raises(theirs.type, match=re.match(r"(np\.)?[\w ,<=]+", str(theirs.value))[0]):
            cls().fit(X, [0, 1, 1] * 3)
