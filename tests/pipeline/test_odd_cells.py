"""Behind a private step no cell is refused, and a kind of table only before the charge."""

import warnings
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPAdditiveClassifier,
    DPCategoricalNB,
    DPDecisionTreeClassifier,
    DPGradientBoostingClassifier,
    DPGridSearchCV,
    DPLogisticRegression,
    DPOneHotEncoder,
    DPPipeline,
    DPRandomForestClassifier,
    DPStandardScaler,
    DPTableVectorizer,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
    metrics,
)
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed

LAST = DPLogisticRegression(solver="gd")


class Hostile:
    """Cell that raises whatever is asked of it."""

    def refuse(self, *_):
        raise RuntimeError("secret")

    __hash__ = __eq__ = __float__ = __str__ = __repr__ = refuse


ODD = [
    np.inf, -np.inf, 1e308, None, pd.NA, pd.NaT, np.datetime64("NaT"), 2**1100, -2**1100, 10**5000,
    Fraction(10**400), Fraction(1, 3), Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"),
    Decimal("-1e400"), 1j, np.complex128(1 + 1j), pd.Timestamp(2020, 1, 1), datetime(2020, 1, 1),
    date(2020, 1, 1), np.datetime64("2020-01-01"), np.timedelta64(1, "D"), pd.Timedelta(1),
    pd.Period("2020"), pd.Interval(0, 1), b"ab", bytearray(b"a"), np.str_("word"), np.bytes_(b"x"),
    "word", "\ud800", "a\0", "", "inf", "1e400", "9" * 5000, "1_0", [1], [[None]], (1, None), {},
    {1}, np.arange(2), np.array(1.0), True, np.True_, np.longdouble("1e400"), np.float16("inf"),
    len, int, ..., range(3), Hostile()]


def data(n=480):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1, size=(n, 3))
    return X, (X[:, 0] > 0.5).astype(int)


def with_cells(cells, change=lambda X: X):
    """Return a function that puts objects into the second column, each into some rows.

    Rows of zeros, which show a pipeline what is refused before the charge, stay as they are.
    """
    def put(X):
        X = np.asarray(X).astype(object)
        for row in range(0, len(X), 4):
            if X[row].any():
                X[row, 1] = cells[row // 4 % len(cells)]
        return change(X)
    return FunctionTransformer(put)


def frame(X):
    return pd.DataFrame(X, columns=["a", "b", "c"]).astype({"a": float, "c": float})


CHANGES = {"array": np.array, "list": np.ndarray.tolist, "frame": frame}
LASTS = {
    "additive": DPAdditiveClassifier(interactions=0), "tree": DPDecisionTreeClassifier(),
    "forest": DPRandomForestClassifier(n_estimators=3),
    "boosting": DPGradientBoostingClassifier(max_iter=2), "counts": DPCategoricalNB(),
    "table": make_dp_pipeline(DPTableVectorizer(), LAST, shares={"dptablevectorizer": 0.2}),
    "categories": make_dp_pipeline(DPOneHotEncoder(), LAST, shares={"dponehotencoder": 0.2}),
    "linear": LAST, "search": DPGridSearchCV(DPAdditiveClassifier(interactions=0), {}, n_iter=2)}


def behind(function, last):
    """Return a pipeline of a private step, a function, and one or two private steps."""
    return make_dp_pipeline(DPStandardScaler(), function, clone(last), delta=1e-5)


@pytest.mark.covering(most=14)
@pytest.mark.parametrize("last", LASTS)
@pytest.mark.parametrize("change", CHANGES)
def test_no_cell_is_refused_behind_a_private_step(last, change):
    X, y = data()
    model = behind(with_cells(ODD, CHANGES[change]), LASTS[last])
    with warnings.catch_warnings(), PrivacyBudget(9.0, 1e-2) as budget:
        # Warnings of other packages may depend on cells.
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PrivacyWarning)
        model.fit(X, y).predict(X)
    assert len(budget.charges) == 1


@pytest.mark.parametrize("change", CHANGES)
def test_no_cell_is_refused_within_searches_and_cross_validation(change):
    X, y = data()
    model = behind(with_cells(ODD, CHANGES[change]), LASTS["additive"])
    for whole in (make_dp_pipeline(DPStandardScaler(), clone(model), delta=1e-5),
                  DPGridSearchCV(model, {}, n_iter=2, delta=1e-5),
                  DPTunedThresholdClassifier(model, delta=1e-5)):
        whole.fit(X, y).predict(X)
    metrics.dp_cross_validate(model, X, y, cv=2)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("make", [
    lambda n_jobs: FeatureUnion([("table", DPTableVectorizer())], n_jobs=n_jobs),
    lambda n_jobs: ColumnTransformer([("table", DPTableVectorizer(), [1, 2])], n_jobs=n_jobs)])
def test_no_cell_is_refused_where_workers_would_map_parts(make, n_jobs):
    """A worker thread would not know that a private step has mapped the cells."""
    (X, y), parts = data(), make(n_jobs)
    model = DPPipeline([("scale", DPStandardScaler()), ("cells", with_cells([[1], Hostile()])),
                        ("parts", parts), ("linear", LAST)], delta=1e-5,
                       shares={"scale": 0.2, "parts__table": 0.2})
    with joblib.parallel_backend("threading", n_jobs=2):
        model.fit(X, y).predict(X)


def assert_same(cell, other, last, change):
    """Assert that models of the same noise are equal, with one cell or the other."""
    (X, y), scores = data(), []
    for each in (cell, other):
        model = behind(with_cells([each], CHANGES[change]), LASTS[last])
        model.set_params(random_state=NoiseSeed(0), epsilon=20.0)
        scores.append(model.fit(X, y).decision_function(X))
    np.testing.assert_array_equal(*scores)


@pytest.mark.covering(most=15)
@pytest.mark.parametrize("last", ["additive", "table", "linear"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("cell, same", [
    (1j, None), (pd.NaT, None), (pd.Timestamp(2020, 1, 1), None), ([1], None), (Hostile(), None),
    (np.datetime64("2020"), None), (Decimal("sNaN"), None), (Decimal("0.5"), 0.5),
    (Fraction(1, 4), 0.25), (Fraction(10**400), np.inf), (np.longdouble("-1e400"), -np.inf)])
def test_an_odd_cell_counts_as_missing_or_as_the_number_that_it_is(last, change, cell, same):
    assert_same(cell, same, last, change)


@pytest.mark.parametrize("last", ["additive", "table"])
@pytest.mark.parametrize("change", ["array", "list"])
def test_infinite_numbers_count_as_the_largest_and_words_as_missing(last, change):
    most = np.finfo(float).max
    for cell, same in ((np.inf, most), (-np.inf, -most), ("word", None)):
        assert_same(cell, same, last, change)


def columns(change):
    return lambda X: change(frame(np.asarray(X)))


def words(X):
    return np.column_stack([np.asarray(X).astype(object), np.full(len(X), "word", object)])


REFUSED = {
    "words for numbers": (LAST, columns(lambda X: X.assign(b="word"))),
    "words in an array": (LAST, words),
    "words of unknown columns": (LASTS["additive"], words),
    "dates": (LAST, columns(lambda X: X.assign(b=pd.Timestamp(2020, 1, 1)))),
    "dates in an array": (LASTS["table"], lambda X: np.asarray(X).astype("M8[s]")),
    "complex": (LAST, lambda X: np.asarray(X) + 0j),
    "complex sparse": (LAST, lambda X: sparse.csr_matrix(np.asarray(X) + 0j)),
    "sparse": (LASTS["additive"], lambda X: sparse.csr_matrix(np.asarray(X))),
    "masked": (LAST, lambda X: np.ma.masked_less(np.asarray(X), 0)),
    "one column": (LAST, lambda X: np.asarray(X)[:, 0]),
    "series": (LASTS["table"], columns(lambda X: X["a"])),
    "cube": (LASTS["additive"], lambda X: np.asarray(X)[:, :, None]),
    "number": (LAST, lambda X: np.float64(1.0)),
    "nothing": (LAST, lambda X: None),
    "generator": (LASTS["table"], lambda X: (row for row in np.asarray(X))),
    "other rows": (LAST, lambda X: np.asarray(X)[::2]),
    "no columns": (LAST, lambda X: np.asarray(X)[:, :0]),
    "twins": (LASTS["additive"], columns(lambda X: X.set_axis(["a", "a", "b"], axis=1))),
    "records": (LAST, columns(lambda X: X.to_records(index=False))),
    "missing column": (DPAdditiveClassifier(columns={"d": (0.0, 1.0)}), columns(lambda X: X))}


@pytest.mark.covering(most=8)
@pytest.mark.parametrize("name", REFUSED)
def test_a_kind_of_table_is_refused_before_the_charge(name, silent):
    last, function = REFUSED[name]
    model = behind(FunctionTransformer(function), last)
    for whole in (model, DPGridSearchCV(model, {}, n_iter=2)):
        with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises((TypeError, ValueError)):
            clone(whole).fit(*data())
        assert not budget.charges


def arrow(X):
    return pytest.importorskip("pyarrow").Table.from_pandas(X)


def dask(X):
    return pytest.importorskip("dask.dataframe").from_pandas(X, npartitions=2)


def polars(X):
    module = pytest.importorskip("polars")
    return module.DataFrame({name: X[name].to_numpy() for name in X}).with_columns(
        module.Series("c", ["x" if cell > 0.0 else None for cell in X["c"]]).cast(
            module.Categorical))


@pytest.mark.parametrize("last", ["additive", "table", "linear"])
@pytest.mark.parametrize("make", [arrow, dask, polars])
def test_tables_of_other_libraries_are_taken(make, last):
    X, y = data()
    function = columns(lambda X: make(X.assign(b=np.where(X["b"] > 0.0, np.inf, X["b"]))))
    with PrivacyBudget(9.0, 1e-2) as budget:
        behind(FunctionTransformer(function), LASTS[last]).fit(X, y).predict(X)
    assert len(budget.charges) == 1


@pytest.mark.covering(most=5)
@pytest.mark.parametrize("dtype", ["Int64", "boolean", "category", "string", "Sparse[float]"])
@pytest.mark.parametrize("last", ["additive", "table", "linear"])
def test_columns_of_any_dtype_may_have_gaps(dtype, last):
    X, y = data()
    gaps = FunctionTransformer(columns(
        lambda X: (X > 0.0).astype("Int64").mask(X > 0.5).astype(
            float if dtype.startswith("Sparse") else "Int64").astype(dtype)))
    behind(gaps, LASTS[last]).fit(X, y).predict(X)


@pytest.mark.covering(most=6)
@pytest.mark.parametrize("dtype", ["Int64", "boolean", "Float64", "string"])
@pytest.mark.parametrize("parts, rest", [
    ([("part", "passthrough", ["a"])], "passthrough"), ([("part", FunctionTransformer(), ["b"])],
                                                        "drop"),
    ([("part", FunctionTransformer(np.abs), ["a"])], FunctionTransformer())])
@pytest.mark.parametrize("last", ["additive", "linear"])
def test_gaps_of_nullable_columns_are_passed_on(dtype, parts, rest, last):
    """scikit-learn refuses pd.NA by the cells; NaN is what a column of NumPy has there."""
    X, y = data()
    gaps = columns(lambda X: X.assign(b=(X["b"] > 0.0).astype("Int64").mask(X["b"] > 0.5)))
    scores = []
    for kind in (dtype, float):
        function = FunctionTransformer(lambda X, kind=kind: gaps(X).astype({"b": kind}))
        step = ColumnTransformer(parts, remainder=rest)
        model = DPPipeline([("scale", DPStandardScaler()), ("to", function), ("parts", step),
                            ("last", clone(LASTS[last]))], shares={"scale": 0.1}, epsilon=20.0,
                           random_state=NoiseSeed(0))
        scores.append(model.fit(X, y).predict_proba(X))
    if dtype not in ("string", "boolean"):
        np.testing.assert_array_equal(*scores)


def test_gaps_that_a_later_step_does_not_take_are_refused_before_the_charge():
    X, y = data()
    table = frame(X).assign(b=pd.array([1, None] * 240, "Int64"))
    table.loc[:99, "b"] = 1
    step = ColumnTransformer([("part", DPStandardScaler(), ["a"])], remainder="passthrough")
    model = DPPipeline([("parts", step), ("last", LAST)], shares={"parts__part": 0.1})
    with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises(ValueError, match="contains NaN"):
        model.fit(table, y)
    assert not budget.charges
    model.set_params(last=LASTS["additive"]).fit(table, y)


@pytest.mark.parametrize("cell", [np.inf, pd.NaT, 2**1100, 1j, [1], Hostile()],
                         ids=["infinite", "missing", "long", "complex", "list", "hostile"])
def test_a_first_step_refuses_them_before_the_charge(cell, silent):
    """Nothing was released yet, so a refusal compares a row with nothing."""
    X, y = data()
    X = with_cells([cell]).transform(X)
    model = LASTS["additive"]
    pipeline = make_dp_pipeline(DPTableVectorizer(), LAST)
    for whole in (model, pipeline, DPGridSearchCV(model, {}, n_iter=2), LASTS["forest"],
                  DPTunedThresholdClassifier(model), DPGridSearchCV(pipeline, {}, n_iter=2),
                  make_dp_pipeline(model), LASTS["boosting"],
                  DPPipeline([("search", DPGridSearchCV(model, {}, n_iter=2))])):
        with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises((TypeError, ValueError,
                                                                OverflowError)):
            clone(whole).fit(X, y)
        assert not budget.charges


def test_predictions_refuse_them_in_rows_that_no_private_step_has_mapped():
    X, y = data()
    odd = np.where(np.arange(3) == 1, np.inf, X)
    for model in (make_dp_pipeline(DPTableVectorizer(), LAST), LASTS["additive"]):
        model = clone(model).fit(X, y)
        with pytest.raises(ValueError, match="infinity"):
            model.predict(odd)


@pytest.mark.parametrize("kind", [np.dtype("M8[s]"), np.dtype(complex)])
def test_a_kind_that_parts_do_not_take_is_refused_before_the_charge(kind, silent):
    function = FunctionTransformer(lambda X: np.asarray(X).astype(kind))
    for parts in (FeatureUnion([("part", DPOneHotEncoder())]),
                  ColumnTransformer([("part", DPTableVectorizer(), [0])])):
        model = DPPipeline([("scale", DPStandardScaler()), ("to", function), ("parts", parts),
                            ("last", LAST)], shares={"scale": 0.1, "parts__part": 0.1})
        with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises((TypeError, ValueError)):
            model.fit(*data())
        assert not budget.charges
