"""What an estimator holds is found in every kind of holder: functions, and fitted models."""

import dataclasses
import datetime
import functools
import importlib
import operator
import sys
import weakref
from collections import UserList, defaultdict, deque
from functools import partial
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, special, stats
from scipy.stats.sampling import SimpleRatioUniforms
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import KFold
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRandomizedSearchCV,
    DPRidge,
    make_dp_pipeline,
)
from dpsk._whole import reachable, state_as_whole
from dpsk.model_selection._inside import holds_objects, is_foreign, runs_foreign_code
from tests.holders import COMPILED
from tests.registry import ESTIMATORS


class Slots:
    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held


def mine(column):
    return column


def array_of(each):
    array = np.empty(1, dtype=object)
    array[0] = each
    return array


def closure_over(each):
    return lambda: each


HOLDERS = {
    "itself": lambda each: each, "argument": lambda each: partial(map, each),
    "keyword": lambda each: partial(pd.DataFrame.apply, func=each, axis=0),
    "default of a dict": lambda each: defaultdict(lambda: each), "key": lambda each: {each: 1.0},
    "dict": lambda each: {"a": each}, "tuple": lambda each: (each,),
    "list": lambda each: [each], "deque": lambda each: deque([each]), "array": array_of}
#: Holders that are foreign code by themselves, or hold no functions that a candidate runs.
ALSO_OF_MODELS = {"slot": Slots, "closure": closure_over, "set": lambda each: {each},
                  "frozen set": lambda each: frozenset([each]),
                  "method": lambda each: each.predict}


def fitted(epsilon):
    return DPLogisticRegression(epsilon=epsilon, delta=1e-6, solver="gd", max_iter=1,
                                data_norm=1.0).fit(np.eye(40)[:, :2], np.arange(40) % 2)


@functools.wraps(np.log1p)
def borrowing(column):
    return column


class Frame(pd.DataFrame):
    """Somebody's own table, which may do anything when it is made."""


class Share(float):
    """Somebody's own number."""


#: Functions, and what calls them, that borrow a name or do not show what they call.
HIDDEN = {"name of another": borrowing, "caller of a method": operator.methodcaller("pipe", mine),
          "bound method of C code": np.zeros(3).__contains__,
          "class made by another": dataclasses.make_dataclass(
              "Mapped", [], namespace={"__call__": lambda self, rows: mine(rows)})(),
          "own globals": eval("lambda rows: rows", {"__name__": "numpy"}),
          "class": Frame, "class with an argument": partial(Frame, copy=False),
          "class of numbers": np.vectorize(Share),
          "number": partial(np.multiply, Share(2.0)),
          "iterator": partial(np.add, map(mine, [1.0])),
          "generator": partial(np.add, (mine(each) for each in [1.0]))}


class Copied:
    """Somebody's own object, whose code runs where it is copied."""

    def __deepcopy__(self, memo):
        return self


class Zone(datetime.tzinfo):
    """Somebody's own time zone."""

    def utcoffset(self, when):
        return datetime.timedelta(0)


class Bits(np.random.PCG64):
    """Somebody's own generator of bits."""


@pytest.mark.parametrize("holder", COMPILED.values(), ids=COMPILED)
def test_an_object_of_somebodys_own_is_found_in_what_compiled_code_holds(holder):
    step = FunctionTransformer(np.abs, inv_kw_args={"x": holder(Copied())})
    assert runs_foreign_code(make_dp_pipeline(step, DPRidge()))


@pytest.mark.parametrize("made", [
    datetime.datetime(2020, 1, 1, tzinfo=Zone()), pd.Timestamp("2020", tz=Zone()),
    np.random.RandomState(Bits(0)), np.random.Generator(Bits(0)),
    FrozenEstimator(FunctionTransformer(weakref.proxy(Bits)))],
    ids=lambda made: type(made).__name__)
def test_what_knows_a_class_of_somebodys_own_is_not_known(made):
    assert runs_foreign_code([made])


@pytest.mark.parametrize("known", [
    pd.DataFrame({"a": ["u", "v"], "b": pd.Categorical(["x", "y"])}),
    pd.date_range("2020", periods=2, tz="Europe/Vienna"), np.random.RandomState(0),
    np.random.default_rng(0), slice(1, 2), np.dtype([("a", float)]), KFold(3),
    make_scorer(accuracy_score)], ids=lambda known: type(known).__name__)
def test_what_known_packages_hold_is_known(known):
    assert not runs_foreign_code([known])


def test_notes_and_labels_of_tables_may_run_their_code():
    noted, labeled = pd.DataFrame({"a": [1.0]}), pd.DataFrame({"a": [1.0]}, index=[Copied()])
    assert holds_objects(labeled)
    noted.attrs["unit"] = "cm"
    assert not holds_objects(noted)
    noted.attrs["unit"] = Copied()
    assert holds_objects(noted) and holds_objects(noted["a"])


@pytest.mark.parametrize("function", HIDDEN.values(), ids=HIDDEN)
def test_what_borrows_a_name_or_hides_what_it_calls_is_not_known(function):
    assert runs_foreign_code(make_dp_pipeline(FunctionTransformer(function), DPRidge()))


def test_a_file_that_hides_one_of_the_standard_library_is_not_known(tmp_path, monkeypatch):
    (tmp_path / "colorsys.py").write_text("def scaled(rows):\n    return rows\n", "utf-8")
    assert not is_foreign(importlib.import_module("colorsys").rgb_to_hsv)
    monkeypatch.delitem(sys.modules, "colorsys")
    monkeypatch.syspath_prepend(tmp_path)
    assert is_foreign(importlib.import_module("colorsys").scaled)
    # Whatever is imported next is that of the standard library.
    sys.modules.pop("colorsys")


class OwnColumn(pd.arrays.FloatingArray):
    """Somebody's own column of numbers."""


@pytest.mark.parametrize("law", [
    stats.uniform(), stats.loguniform(1e-3, 1.0), stats.randint(1, 9), stats.norm, [0.1, 1.0]])
def test_distributions_of_scipy_are_known(law):
    assert not runs_foreign_code(DPRandomizedSearchCV(DPRidge(), {"alpha": law}))


class Bell:
    """Somebody's own density."""

    def pdf(self, x):
        return float(np.exp(-x * x / 2.0))


@pytest.mark.parametrize("law", [
    stats.rv_histogram((np.ones(2), np.arange(3))), stats.uniform(Share(0.0)),
    SimpleRatioUniforms(Bell(), mode=0.0, pdf_area=2.51)],
    ids=["histogram", "number", "density"])
def test_distributions_that_hold_code_of_others_are_not(law):
    known = isinstance(law, stats.rv_histogram)
    assert runs_foreign_code(DPRandomizedSearchCV(DPRidge(), {"alpha": law})) != known


@pytest.mark.parametrize("rows, objects", [
    (np.eye(2), False), (np.eye(2).astype(object), True), (pd.DataFrame(np.eye(2)), False),
    (pd.DataFrame({"a": [1.0], "b": np.array([1], dtype=object)}), True),
    (pd.Series([1.0], dtype=object), True), ([[1.0]], True), (sparse.csr_matrix([[1.0]]), False),
    (None, False), (UserList([[1.0]]), True), (pd.Series([1, 2]), False),
    (pd.DataFrame({"a": pd.Categorical.from_codes(
        [0], pd.Index([Share(1.0)], dtype=object))}), True),
    (pd.DataFrame({"a": pd.Categorical([1, 2]), "b": pd.array([1, None])}), False),
    (np.array([(1.0, None)], dtype=[("a", float), ("b", object)]), True),
    (pd.Series(pd.to_datetime(["2020"]).tz_localize("Europe/Vienna")), False),
    (pd.Series(pd.to_datetime(["2020"]).tz_localize(Zone())), True),
    (pd.DataFrame({"a": OwnColumn(np.ones(2), np.zeros(2, bool))}), True)])
def test_rows_of_objects_may_run_their_code(rows, objects):
    assert holds_objects(rows) == objects


@pytest.mark.parametrize("cls", ESTIMATORS.values(), ids=ESTIMATORS)
def test_what_comes_with_the_package_is_known(cls):
    for known in (cls(), make_dp_pipeline(StandardScaler(), FunctionTransformer(np.mean),
                                          FunctionTransformer(abs), cls())):
        assert not [each for each in reachable(known) if is_foreign(each)]


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_a_function_of_somebodys_own_is_found_in_every_holder(holder):
    assert runs_foreign_code(make_dp_pipeline(FunctionTransformer(holder(mine)), DPRidge()))


@pytest.mark.parametrize("function, foreign", [
    (np.tanh, False), (special.expit, False), (np.frompyfunc(mine, 1, 1), True)], ids=str)
def test_ufuncs_are_known_where_numpy_or_scipy_has_them(function, foreign):
    """Anybody can make one of any function."""
    assert runs_foreign_code(make_dp_pipeline(FunctionTransformer(function), DPRidge())) == foreign


def test_what_is_held_twice_or_in_circles_is_met_once():
    part, other = Slots(None), Slots(None)
    part.held, other.held = [part, other, other], {"a": part, "b": (other,)}
    met = list(islice(reachable([part, other]), 100))
    assert len(met) < 10
    assert sum(each is part for each in met) == sum(each is other for each in met) == 1


@pytest.mark.parametrize("cls, method", [(DPRidge, "predict"), (FunctionTransformer, "transform"),
                                         (BaseEstimator, "get_params")])
def test_methods_that_were_replaced_are_not_known(cls, method, monkeypatch):
    model = make_dp_pipeline(FunctionTransformer(np.log1p), DPRidge())
    before = getattr(cls, method)
    monkeypatch.setattr(cls, method, lambda self, *args, **kwargs: before(self, *args, **kwargs))
    assert runs_foreign_code(model)
    monkeypatch.undo()
    assert not runs_foreign_code(model)


def test_methods_that_packages_add_to_tables_are_called_by_nothing_known(monkeypatch):
    monkeypatch.setattr(pd.DataFrame, "progress_apply", lambda self: self, raising=False)
    assert not holds_objects(pd.DataFrame({"a": [1.0]}))


@pytest.mark.parametrize("name", ["__array__", "take", "iloc", "__len__", "sort_values"])
@pytest.mark.parametrize("cls", [pd.DataFrame, pd.core.generic.NDFrame])
def test_methods_of_tables_that_were_replaced_are_not_known(cls, name, monkeypatch):
    monkeypatch.setattr(cls, name, lambda self, *args: self, raising=False)
    assert holds_objects(pd.DataFrame({"a": [1.0]}))
    monkeypatch.undo()
    assert not holds_objects(pd.DataFrame({"a": [1.0]}))


def test_all_distributions_of_scipy_are_known():
    laws = [each for each in vars(stats).values() if isinstance(each, stats.rv_continuous)]
    assert laws and not any(map(runs_foreign_code, laws))


@pytest.mark.parametrize("holder", [*HOLDERS.values(), *ALSO_OF_MODELS.values()],
                         ids=[*HOLDERS, *ALSO_OF_MODELS])
def test_a_model_in_every_holder_states_the_certificate_of_the_whole(holder):
    part, other = fitted(1.0), fitted(0.5)
    whole = FunctionTransformer(holder(part))
    assert any(each is part for each in reachable(whole))
    state_as_whole(whole, other.privacy_, ())
    assert part.privacy_ is other.privacy_


def test_a_search_takes_a_class_for_a_function():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) / 4
    model = DPLogisticRegression(solver="gd", max_iter=2, data_norm=1.0, classes=[0, 1])
    search = DPGridSearchCV(make_dp_pipeline(FunctionTransformer(Frame), model), {}, n_iter=1)
    assert search.fit(X, (X[:, 0] > 0).astype(int)).privacy_.epsilon == 1.0
