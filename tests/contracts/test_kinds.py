"""Every estimator of scikit-learn has a place in the table, and everything of dpsk is known."""

import inspect
import pickle
from contextlib import contextmanager
from functools import (
    cached_property,
    lru_cache,
    partial,
    partialmethod,
    reduce,
    singledispatch,
    singledispatchmethod,
)

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.experimental import (  # noqa: F401  # makes them importable
    enable_halving_search_cv,
    enable_iterative_imputer,
)
from sklearn.pipeline import FeatureUnion
from sklearn.utils import all_estimators, get_tags
from sklearn.utils.metaestimators import available_if

from dpsk import DPLogisticRegression, DPStandardScaler, make_dp_pipeline, privacy_report
from dpsk._kinds import COUNTS, HIDES, KINDS, MIXES, NOTHING, kind_of
from tests.loops import in_a_row
from tests.registry import (
    ALL_ESTIMATORS,
    ESTIMATORS,
    every_fit,
    make_estimator,
    takes_groups,
    training_rows,
)

pytestmark = pytest.mark.filterwarnings("ignore")

ALL = dict(all_estimators())
rng = np.random.default_rng(0)
ROWS, OTHERS = rng.uniform(0.1, 1.0, size=(2, 30, 4))
WORDS = [[f"word{place}" for place in range(3)], ["a", "b", "c"]]
#: Parameters that estimators cannot do without, and rows that are no numbers.
GIVEN = {"SparseCoder": {"dictionary": np.eye(4)}, "GaussianRandomProjection": {"n_components": 2},
         "SparseRandomProjection": {"n_components": 2},
         "FeatureHasher": {"input_type": "string", "n_features": 8},
         "HashingVectorizer": {"n_features": 8}}
TABLES = {"FeatureHasher": ([["a"], ["b"]], [["c"], ["d"]]), "HashingVectorizer": WORDS}


def made(name):
    given = dict(GIVEN.get(name, {}))
    if "random_state" in ALL[name]._get_param_names():
        given["random_state"] = 0
    return ALL[name](**given)


def linear():
    return DPLogisticRegression(solver="gd", max_iter=3, data_norm=1.0, classes=[0, 1])


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


@in_a_row("name", sorted(ALL))
def test_every_estimator_of_scikit_learn_has_one_place(name):
    assert kind_of(ALL[name]) in KINDS, f"{name} has no place in dpsk/_kinds.py"
    assert sum(name in names.split() for names in KINDS.values()) == 1


@in_a_row("name", sorted(ALL))
def test_a_class_that_borrows_a_place_has_none(name):
    theirs = type(name, (ALL[name],), {"__module__": ALL[name].__module__})
    assert kind_of(theirs) is None


@in_a_row("name", sorted([*ALL, *ALL_ESTIMATORS]))
def test_a_class_whose_methods_were_replaced_has_none(name, monkeypatch):
    cls = ALL[name] if name in ALL else ALL_ESTIMATORS[name]
    kind = kind_of(cls)
    monkeypatch.setattr(cls, "fit", lambda self, X, y=None: self)
    assert kind is not None and kind_of(cls) is None
    monkeypatch.undo()
    assert kind_of(cls) == kind


def _function(self, *args):
    return args


class _Callable:
    def __call__(self, *args):
        return args


def _registered():
    found = singledispatch(len)
    found.register(np.ndarray, _function)
    return found


@pytest.mark.parametrize("put", [
    property(_function), classmethod(_function), staticmethod(_function), partial(_function),
    partialmethod(_function), cached_property(_function), contextmanager(_function),
    lru_cache(_function), singledispatchmethod(_function), available_if(_function)(_function),
    _Callable(), _Callable().__call__, _Callable, partialmethod(reduce, _function),
    partial(map, _function), np.frompyfunc(_function, 2, 1), _registered(), ALL["SVC"].fit,
    {"rule": _function}, [_function]])
def test_methods_are_found_in_what_holds_them(put, monkeypatch):
    assert kind_of(ALL["Normalizer"]) == NOTHING
    monkeypatch.setattr(ALL["Normalizer"], "transform", put)
    assert kind_of(ALL["Normalizer"]) is None


def test_a_base_whose_methods_were_replaced_makes_nothing_known(monkeypatch):
    monkeypatch.setattr(BaseEstimator, "get_params", lambda self, deep=True: {})
    assert kind_of(ALL["Normalizer"]) is None and kind_of(DPLogisticRegression) is None


@pytest.mark.parametrize("name", sorted(KINDS[NOTHING].split()))
def test_what_learns_nothing_is_the_same_for_other_rows(name):
    one, other = TABLES.get(name, (ROWS, OTHERS))
    assert pickle.dumps(made(name).fit(one)) == pickle.dumps(made(name).fit(other))
    report = privacy_report([made(name).fit(one)])
    assert not report.exposed


@pytest.mark.parametrize("name", sorted(set(KINDS[NOTHING].split()) - set(TABLES)))
def test_what_learns_nothing_is_a_step_of_pipelines_of_this_package(name):
    labels = np.arange(len(ROWS)) % 2
    report = privacy_report([make_dp_pipeline(made(name), linear()).fit(ROWS, labels)])
    assert report.epsilon == pytest.approx(1.0) and not report.exposed


@pytest.mark.parametrize("within", [
    lambda step: step, lambda step: ColumnTransformer([("part", step, [0, 1, 2, 3])]),
    lambda step: FeatureUnion([("part", step)])])
@pytest.mark.parametrize("name", sorted(set(KINDS[NOTHING].split()) - set(TABLES)))
def test_steps_draw_nothing_from_the_global_generator(name, within):
    """Its state would tell how often a search has fitted them."""
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1:3]  # noqa: NPY002
    labels = np.arange(len(ROWS)) % 2
    make_dp_pipeline(within(ALL[name](**GIVEN.get(name, {}))), linear()).fit(ROWS, labels)
    after = np.random.get_state()[1:3]  # noqa: NPY002
    assert (before[0] == after[0]).all() and before[1] == after[1]


@pytest.mark.parametrize("name", [name for name in sorted(ALL) if hasattr(
    ALL[name], "transform") and kind_of(ALL[name]) not in (MIXES, COUNTS, HIDES)])
def test_what_maps_rows_maps_each_by_itself(name):
    """As what is frozen, or learns nothing, stands before private steps."""
    table, other = TABLES.get(name, (ROWS, np.r_[ROWS[:1], 5.0 * OTHERS[1:]]))
    other = [table[0], *other[1:]] if name in TABLES else other
    try:
        fitted = made(name).fit(table, np.arange(len(table)) % 2)
        one = fitted.transform(table)
    except (TypeError, ValueError, AttributeError):
        pytest.skip("takes other tables")
    try:
        several = fitted.transform(other)
    except ValueError as error:
        assert "unknown" in str(error)
        return
    np.testing.assert_allclose(dense(one)[0], dense(several)[0], rtol=1e-6, atol=1e-9)


def reported(fitted):
    report = privacy_report(fitted)
    assert not report.exposed, [part.sentence for part in report.exposed]
    assert report.is_private == fitted.privacy_.is_private
    again = privacy_report(pickle.loads(pickle.dumps(fitted)))
    assert again.epsilon == report.epsilon


@pytest.mark.covering(most=12)
@every_fit
def test_every_fit_of_this_package_is_known(cls, solver):
    estimator = make_estimator(cls, solver)
    groups = {"groups": np.arange(80) % 2} if takes_groups(cls) else {}
    reported(estimator.fit(*training_rows(estimator), **groups))


#: Estimators of tables of any kind of column.
READS_WORDS = {"DPTableVectorizer", "DPAdditiveClassifier", "DPOneHotEncoder"}
#: Arguments of what is around fits, or takes other tables.
AROUND = {
    "DPPipeline": ([[("scaler", DPStandardScaler()), ("model", linear())]], {}),
    "DPGridSearchCV": ([linear(), {"alpha": [0.0, 0.1]}], {"scoring": "accuracy"}),
    "DPRandomizedSearchCV": ([linear(), {"alpha": [0.0, 0.1]}], {"scoring": "accuracy"}),
    "DPTunedThresholdClassifier": ([linear()], {}),
    "DPTDRegressor": ([], {"reward_bounds": (0.0, 1.0)}),
}


@pytest.mark.covering(most=12)
@pytest.mark.parametrize("frames", [False, True])
@pytest.mark.parametrize("name", sorted(set(ALL_ESTIMATORS) - set(ESTIMATORS)))
def test_what_is_fitted_to_tables_is_known(name, frames):
    cls = ALL_ESTIMATORS[name]
    given, options = AROUND.get(name, ([], {}))
    estimator = cls(*given, **options)
    X = ROWS
    if frames:
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame(ROWS, columns=list("abcd"))
        if name in READS_WORDS:
            X["words"] = pd.Series(["one", "two"] * 15, dtype="string")
            X["kinds"] = pd.Series(["one", "two"] * 15, dtype="category")
    if "next_states" in inspect.signature(cls.fit).parameters:
        reported(estimator.fit(X, ROWS[:, 0], next_states=X))
    else:
        reported(estimator.fit(X, (ROWS[:, 0] > 0.5).astype(int)))


def test_one_class_makes_rows_of_others_and_keeps_nothing_of_a_fit():
    assert {"PatchExtractor"} == {name for name in KINDS[MIXES].split()
                                 if name in ALL and not get_tags(ALL[name]()).requires_fit}
