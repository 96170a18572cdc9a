"""Frames of polars are read as those of pandas are, every cell by itself."""

import numpy as np
import pandas as pd
import pytest

from dpsk import (
    DPAdditiveClassifier,
    DPGaussianNB,
    DPGaussianSampler,
    DPLogisticRegression,
    DPMinMaxScaler,
    DPPipeline,
    DPTableVectorizer,
    DPTreeSampler,
)
from dpsk.statistics import dp_mean
from dpsk.testing import NoiseSeed
from tests.data import polars_like

N = 400
RNG = np.random.default_rng(0)
LONG = 2**60
COLUMNS = {
    "age": ("Float64", [None if place % 7 == 0 else float(each) for place, each in enumerate(
        RNG.normal(50.0, 10.0, N))]),
    "town": ("String", [None if place % 9 == 0 else each for place, each in enumerate(
        RNG.choice(["a", "b", "c"], N).tolist())]),
    "kind": ("Categorical", RNG.choice(["x", "y"], N).tolist()),
    "level": ("Enum", RNG.choice(["low", "high"], N).tolist()),
    "flag": ("Boolean", (RNG.random(N) < 0.5).tolist()),
    "number": ("Int64", [None, *(LONG + RNG.integers(0, 2, N - 1)).tolist()])}
LEVELS = ["low", "high"]
DECLARED = {"town": ["a", "b", "c"], "kind": ["x", "y"], "number": [LONG, LONG + 1]}
Y = (np.array([0.0 if each is None else each for each in COLUMNS["age"][1]]) > 50.0).astype(int)


def stand_in(columns=COLUMNS):
    return polars_like.DataFrame({name: polars_like.Series(
        cells, dtype, LEVELS if dtype == "Enum" else ()) for name, (dtype, cells)
        in columns.items()})


def of_polars(columns=COLUMNS):
    polars = pytest.importorskip("polars", reason="polars is no dependency")
    kinds = {name: polars.Enum(LEVELS) if dtype == "Enum" else getattr(polars, dtype)
             for name, (dtype, _) in columns.items()}
    return polars.DataFrame({name: polars.Series(name, cells, dtype=kinds[name])
                             for name, (_, cells) in columns.items()})


def of_pandas():
    found = pd.DataFrame({name: pd.Series(cells, dtype=object if dtype in (
        "String", "Categorical") else None) for name, (dtype, cells) in COLUMNS.items()
        if name != "number"})
    found["level"] = pd.Categorical(found["level"], LEVELS)
    return found.assign(number=pd.array(COLUMNS["number"][1], dtype="Int64"))


frames = pytest.mark.parametrize("make", [stand_in, of_polars])
readers = pytest.mark.parametrize("cls", [
    DPAdditiveClassifier, DPLogisticRegression, DPGaussianNB, DPGaussianSampler])


@frames
def test_tables_are_those_of_pandas(make):
    def fitted(X):
        return DPAdditiveClassifier(np.inf, columns=DECLARED, interactions=0).fit(X, Y)

    wanted, found = fitted(of_pandas()), fitted(make())
    np.testing.assert_array_equal(found.predict_proba(make()), wanted.predict_proba(of_pandas()))
    assert found.terms_[3].axes[0].categories == LEVELS


@frames
def test_whole_numbers_that_are_categories_are_told_apart_beside_a_gap(make):
    """As doubles both would be the same."""
    model = DPAdditiveClassifier(np.inf, columns=DECLARED, interactions=0).fit(make(), Y)
    one, other = (model.terms_[5].values[place] for place in (0, 1))
    assert one != other


@frames
def test_categories_that_only_rows_tell_are_found_under_noise(make):
    model = DPAdditiveClassifier(20.0, delta=1e-4, max_categories=24, interactions=0, columns={
        "number": [LONG, LONG + 1]}).fit(make(), Y)
    assert "Disclosure" in str(model.privacy_)
    declared = DPAdditiveClassifier(20.0, delta=1e-4, interactions=0, columns=DECLARED).fit(
        make(), Y)
    assert "Disclosure" not in str(declared.privacy_)


@frames
def test_pipelines_take_them(make):
    model = DPPipeline([("table", DPTableVectorizer(columns=DECLARED)),
                        ("linear", DPLogisticRegression())], epsilon=4.0).fit(make(), Y)
    assert model.predict(make()).shape == (N,)


@frames
def test_truths_are_numbers_of_known_bounds(make):
    columns = {"flag": ("Boolean", [None, *COLUMNS["flag"][1][1:]]), "age": COLUMNS["age"]}
    mean = dp_mean(make({"flag": columns["flag"]}), epsilon=8.0, random_state=NoiseSeed(0))
    assert abs(mean.value[0] - np.mean(columns["flag"][1][1:])) < 0.05
    scaler = DPMinMaxScaler(epsilon=8.0, columns={"age": (0, 100)}).fit(make(columns))
    assert scaler.data_max_.tolist() == [1.0, 100.0]


def test_steps_return_them():
    polars = pytest.importorskip("polars", reason="polars is no dependency")
    table = DPTableVectorizer(columns=DECLARED).set_output(transform="polars")
    assert isinstance(table.fit(of_polars(), Y).transform(of_polars()), polars.DataFrame)
    assert list(table.feature_names_in_) == list(COLUMNS)


@readers
@pytest.mark.parametrize("dtype, cells, match", [
    ("Datetime(time_unit='us', time_zone=None)", ["1", "2"], "is of datetime64.us., neither"),
    ("Duration(time_unit='us')", ["1", "2"], "is of timedelta64.us., neither"),
    ("List(Int64)", [[1], [2]], "'when' is of List, neither"),
    ("Object", [1, 2], "'when' is of Object, neither")])
def test_what_is_neither_numbers_nor_words_is_refused(dtype, cells, match, cls):
    """All but the first read dates as numbers."""
    X = stand_in({"when": (dtype, cells)})
    with pytest.raises(ValueError, match=match):
        cls(classes=[0, 1]).fit(X, [0, 1])


@readers
def test_lazy_frames_are_refused_by_their_remedy(cls):
    class LazyFrame(polars_like.DataFrame):
        to_series = property()

    LazyFrame.__module__ = "polars.lazyframe.frame"
    with pytest.raises(TypeError, match=r"is not in memory.*collect"):
        cls().fit(LazyFrame({}), Y)


@frames
def test_samplers_refuse_them_plainly(make):
    with pytest.raises(TypeError, match=r"DataFrame of polars; DPTreeSampler.*to_pandas"):
        DPTreeSampler(columns={"age": (0, 100)}).fit(make())
