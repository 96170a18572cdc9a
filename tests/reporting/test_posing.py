"""What poses as something known, or hides in something known, is unknown all the same."""

import functools
import math
import sys
import types

import numpy as np
import pandas as pd
import pytest
from joblib import Memory
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.compose import make_column_selector as sklearn_selector
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import BallTree, KDTree
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch

from dpsk import Certificate, DPLogisticRegression, DPStandardScaler, privacy_report
from dpsk.reporting import PrivacyReport
from tests.reporting.test_unknown import (
    Slotted,
    X,
    Y,
    holding,
    made,
    model,
    unknown,
    with_step,
)

pytestmark = pytest.mark.filterwarnings("ignore")


class Named(str):
    """A word that starts with anything, and is found under every name."""

    def __format__(self, spec):
        return "dpsk.linear_model._logistic"


class Alike(type):
    """Of classes that say that they are any other."""

    shown = None

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(cls.shown)


def alike(shown):
    """Return an object of a class that says that it is another, and holds rows."""
    cls = Alike("Posing", (), {"__iter__": lambda self: iter([self.model]), "shown": shown})
    posing = cls()
    posing.model, posing.means = model().fit(X, Y), X.mean(axis=0)
    posing.__dict__.update(vars(posing.model.privacy_))
    return posing


#: Known classes of containers, plain values, certificates and estimators.
SHOWN = [list, tuple, set, dict, Bunch, types.MappingProxyType, Certificate, PrivacyReport, int,
         float, str, type(None), np.ndarray, Memory, KFold, np.ufunc, Pipeline,
         DPLogisticRegression, Normalizer, functools.partial]
#: Where an object of a class that poses as another may be.
POSING = {
    "alone": lambda thing: thing, "in a list": lambda thing: [thing],
    "a parameter": lambda thing: holding(model().fit(X, Y), "alpha", thing),
    "in a parameter": lambda thing: holding(model().fit(X, Y), "solver_options", {"a": thing}),
    "memory": lambda thing: holding(made(Pipeline), "memory", thing),
    "a step": lambda thing: with_step(thing),
    "folds": lambda thing: holding(GridSearchCV(
        model(), {"alpha": [0.0]}, cv=KFold(2)).fit(X, Y), "cv", thing),
    "a constant": lambda thing: make_pipeline(
        FunctionTransformer(), model()).fit(X, Y).set_params(
            functiontransformer__func=functools.partial(np.multiply, thing))}


@pytest.mark.covering
@pytest.mark.parametrize("place", POSING)
@pytest.mark.parametrize("shown", SHOWN, ids=lambda cls: cls.__name__)
def test_classes_are_told_by_identity_whatever_they_equal(shown, place):
    report = privacy_report(POSING[place](alike(shown)))
    assert report.fits_epsilon == math.inf
    assert any("unknown, no guarantee" in part.sentence for part in report.exposed)


def test_names_of_classes_are_plain_words():
    posing = type("DPLogisticRegression", (), {"__module__": Named("dpsk.linear_model._logistic")})
    posing.__qualname__ = "DPLogisticRegression"
    assert unknown(privacy_report([posing()]), "DPLogisticRegression")


def with_attribute(thing):
    """Return a known thing on which somebody put rows."""
    thing.kept = X
    return thing


def table():
    return pytest.importorskip("pandas")


#: What a parameter may be, and where it hides rows or what was learnt of them.
HIDING = {
    "tree of neighbors": lambda: KDTree(X),
    "balls of neighbors": lambda: BallTree(X),
    "tree of decisions": lambda: DecisionTreeClassifier().fit(X, Y).tree_,
    "sparse": lambda: with_attribute(sparse.csr_matrix(X)),
    "sparse array": lambda: with_attribute(sparse.coo_array(X)),
    "cache": lambda: with_attribute(Memory(None)),
    "index": lambda: with_attribute(table().Index(["a"])),
    "index of objects": lambda: table().Index([StandardScaler().fit(X)]),
    "name of an index": lambda: table().Index(["a"], name=Slotted()),
    "categories": lambda: table().CategoricalDtype(table().Index([Slotted()])),
    "constants": lambda: with_attribute(functools.partial(np.multiply, 0.1)),
}
SHOWING = {
    "sparse": lambda: sparse.csr_matrix(np.eye(2)),
    "sparse array": lambda: sparse.coo_array(np.eye(2)),
    "cache": lambda: Memory(None),
    "index": lambda: table().Index(["a", "b"], name="columns"),
    "range": lambda: table().RangeIndex(3),
    "several levels": lambda: table().MultiIndex.from_tuples([("a", 1), ("b", 2)]),
    "times": lambda: table().date_range("2020", periods=3, tz="UTC"),
    "missing": lambda: table().Index(["a", None, table().NA]),
    "categories": lambda: table().CategoricalDtype(["a", "b"]),
    "words": lambda: table().StringDtype(),
    "numbers": lambda: table().Int64Dtype(),
    "zone": lambda: table().DatetimeTZDtype(tz="UTC"),
    "place": lambda: table().DatetimeTZDtype(tz="Europe/Vienna"),
    "generator": lambda: np.random.default_rng(0),
}


@pytest.mark.parametrize("name", HIDING)
def test_what_a_known_thing_hides_is_unknown(name):
    report = privacy_report(holding(model().fit(X, Y), "solver_options", {"a": HIDING[name]()}))
    assert not report.is_private
    assert report.exposed


@pytest.mark.parametrize("name", SHOWING)
def test_what_a_known_thing_shows_is_known(name):
    report = privacy_report(holding(model().fit(X, Y), "solver_options", {"a": SHOWING[name]()}))
    assert report.is_private, report.exposed


def test_a_function_with_attributes_maps_more_than_entries():
    mapped = FunctionTransformer(with_attribute(functools.partial(np.multiply, 0.1)))
    assert unknown(privacy_report([mapped, model().fit(X, Y)]), "func of a FunctionTransformer")


@pytest.mark.parametrize("value", [X, [X], {"transform": X}, X[:, 0], X.astype(str)],
                         ids=["rows", "list", "dict", "column", "words"])
@pytest.mark.parametrize("name", ["n_features_in_", "feature_names_in_", "_sklearn_output_config",
                                  "_metadata_request", "_skl_callbacks", "_parent_callback_ctx",
                                  "_carried", "_implied_norm", "row_norm_"])
def test_what_is_set_from_outside_is_of_its_kind(name, value):
    fitted = make_pipeline(Normalizer(), model()).fit(X, Y)
    holding(fitted[0], name, value)
    assert unknown(privacy_report([fitted]), name)


def test_packages_whose_names_begin_alike_are_others(monkeypatch):
    """A class of somebody's package `sklearn_more` that has the name of one of scikit-learn."""
    package = types.ModuleType("sklearn_more")

    class Centering(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return X - X.mean(axis=0)

        def __sklearn_is_fitted__(self):
            return True

    Centering.__module__ = "sklearn_more"
    Centering.__name__ = Centering.__qualname__ = "Normalizer"
    package.Normalizer = Centering
    monkeypatch.setitem(sys.modules, "sklearn_more", package)
    assert not privacy_report(make_pipeline(Centering(), model()).fit(X, Y)).is_private


def test_selectors_of_columns_are_told_by_identity():
    """One of somebody's own may choose by what is in the columns."""
    class make_column_selector:
        def __call__(self, frame):
            return [name for name in frame if frame[name].sum() > 0]

    frame = pd.DataFrame(abs(X[:, :2]), columns=["a", "b"])
    for chosen, counted in ((make_column_selector(), False),
                            (sklearn_selector(dtype_include=float), True)):
        columns = ColumnTransformer([("noisy", DPStandardScaler(delta=1e-6), chosen),
                                     ("exact", OneHotEncoder(), ["b"])])
        assert privacy_report(columns.fit(frame)).is_counted == counted
