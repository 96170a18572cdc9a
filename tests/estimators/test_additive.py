"""Additive models: raw tables in, curves out, at the price of the certificate."""

import inspect
import math
import pickle
import tracemalloc
import warnings
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import Certificate, DPAdditiveClassifier, DPAdditiveRegressor
from dpsk.accounting import Disclosure
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.estimators.raw_tables import TOWNS, curves, fitted, make, table, targets
from tests.events import tally, total_mu
from tests.instruments import watched_ledgers
from tests.loops import in_a_row
from tests.registry import ADDITIVE, every_additive_model
from tests.sklearn_checks import WEIGHTS, ids_of, run_check


def _expected(estimator):
    return {"check_sample_weight_equivalence_on_dense_data": WEIGHTS}


_CHECKS = parametrize_with_checks(
    [cls(random_state=seed) for cls in ADDITIVE.values() for seed in (NoiseSeed(0), None)],
    expected_failed_checks=_expected)


def _marked(case):
    values, marks = getattr(case, "values", case), getattr(case, "marks", ())
    estimator, _ = values
    more = ()
    if estimator.random_state is None:
        # With fresh noise, what the same check has seen with noise that repeats.
        more = (pytest.mark.audit,)
    return pytest.param(*values, marks=(*marks, *more))


@pytest.mark.covering
@pytest.mark.parametrize(_CHECKS.args[0], list(map(_marked, _CHECKS.args[1])),
                         ids=ids_of(_CHECKS))
def test_scikit_learn_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


_BAD = {
    "epsilon": [0, -1.0, math.nan, "1", None, True],
    "delta": [0, 0.0, -1e-9, 1.0, math.nan, "auto"],
    "columns": [["town"], {"town": 3}, {"town": []}, {"town": ["a", "a"]}, {0: (1, 0)},
                {0: (0, math.nan)}, {0: (1.0,)}],
    "n_knots": [0, 1, 4, 6, 258, 3.0, "many", None, True],
    "max_categories": [0, -1, 1.5, "all", True],
    "interactions": [-1, 1.5, "all", None, True, [("a",)], [("a", "a")], ("a", "b"),
                     [("a", "b", "c")]],
    "monotonic_cst": [1, "up", [2], [True], [0.5], [None], {"number": 3}, [[1]]],
    "random_state": [-1, 1.5, "seed", np.random.default_rng(0)],
    "verbose": ["yes", -1, None]}
every_bad_value = in_a_row("name, value", [
    (name, value) for name, values in _BAD.items() for value in values])


@every_additive_model
@every_bad_value
def test_a_bad_value_is_refused_before_rows_are_looked_at(cls, name, value, silent):
    with pytest.raises(ValueError, match=name):
        cls(**{name: value}).fit(object(), None)


@every_additive_model
def test_every_parameter_has_its_constraint_declared(cls):
    known = cls().get_params()
    assert set(known) - set(cls._constraints) <= {"classes", "class_weight", "target_bounds"}
    assert all(f"\n{name}" in inspect.getdoc(cls) for name in known)
    assert "solver" not in known and "data_norm" not in known


@every_additive_model
@pytest.mark.parametrize("value", ["one", 3.5])
def test_targets_that_are_refused_are_so_before_anything_is_drawn(cls, value, silent):
    X = table()
    y = np.full(len(X), value) if is_classifier(cls()) else np.full(len(X), "one")
    with pytest.raises(ValueError):
        make(cls).fit(X, y)


@pytest.mark.parametrize("interactions", [0, 1])
@pytest.mark.parametrize("n", [40, 63, 150])
def test_bounds_that_a_step_could_not_learn_are_refused_before_anything_is_drawn(
        interactions, n, silent):
    """Rows suffice for the whole budget from 63 on; for what knots leave, and a model, not."""
    X = np.arange(2.0 * n).reshape(n, 2)
    if (n, interactions) == (150, 0):
        # They do suffice here: then it draws.
        with pytest.raises(pytest.fail.Exception, match="noise was drawn"):
            DPAdditiveRegressor(1.0, target_bounds=None, interactions=0).fit(X, X[:, 0])
        return
    with pytest.raises(ValueError, match="target_bounds=None: n="):
        DPAdditiveRegressor(1.0, target_bounds=None, interactions=interactions).fit(X, X[:, 0])


@every_additive_model
def test_a_second_moment_is_decomposed_as_often_however_many_columns_there_are(cls, monkeypatch):
    """Once a column took minutes for 2100 rows of 205 columns."""
    calls, own = Counter(), np.linalg.eigh

    def counted(matrix):
        calls[n_columns] += 1
        return own(matrix)

    monkeypatch.setattr(np.linalg, "eigh", counted)
    for n_columns in (2, 9):
        X = np.random.default_rng(0).normal(size=(400, n_columns))
        make(cls, interactions=0).fit(X, X[:, 0] > 0 if is_classifier(cls()) else X[:, 0])
    # Noise may ask for one more or less.
    assert 0 < calls[9] <= calls[2] + 2


@every_additive_model
def test_columns_that_are_not_there_are_refused(cls, silent):
    X = table()
    with pytest.raises(ValueError, match="interactions has 'age', which is no column"):
        make(cls, interactions=[("age", "town")]).fit(X, targets(cls, X))
    with pytest.raises(ValueError, match="columns has 'age', which is no column"):
        make(cls, columns={"age": (0, 1)}).fit(X, targets(cls, X))


@every_additive_model
def test_terms_add_up_to_the_raw_prediction(cls):
    X = table()
    y = targets(cls, X)
    model = make(cls, columns={"count": (0.0, 2.0, 5.0)},
                 interactions=[("number", "town"), ("flag", "level")]).fit(X, y)
    raw = np.full(len(X), np.ravel(model.intercept_)[0])
    for term in model.terms_:
        assert term.values.shape == tuple(
            len(axis.knots) if axis.categories is None else len(axis.categories) + 1
            for axis in term.axes)
        weights = [shares(axis, X[axis.column]) for axis in term.axes]
        raw += (np.einsum("ij,ik,jk->i", *weights, term.values) if len(weights) == 2 else
                weights[0] @ term.values)
    shown = model.decision_function(X) if is_classifier(cls()) else model.predict(X)
    # Features have single precision.
    np.testing.assert_allclose(shown, raw, atol=1e-5 * np.abs(raw).max())
    axes = [term.axes[0] for term in model.terms_[:5]]
    assert [axis.column for axis in axes] == list(X.columns)
    assert axes[1].knots.tolist() == [0.0, 2.0, 5.0]
    assert axes[3].categories == ["low", "high"] and axes[4].categories == [False, True]
    # In the order of columns.
    assert [[axis.column for axis in term.axes] for term in model.terms_[5:]] == [
        ["number", "town"], ["level", "flag"]]
    assert sum(term.values.size for term in model.terms_) == np.shape(model.term_coef_)[-1]


def shares(axis, cells):
    """Return how much of every cell is at every place of an axis."""
    if axis.categories is not None:
        places = {cell: place for place, cell in enumerate(axis.categories)}
        return np.eye(len(places) + 1)[[places.get(cell, -1) for cell in cells]]
    numbers, unit = cells.to_numpy(float), np.eye(len(axis.knots))
    hats = np.stack([axis.interpolate(numbers, each) for each in unit], axis=1)
    return np.where(np.isnan(numbers)[:, None], 0.0, hats)


def test_terms_of_several_classes_have_a_value_each():
    X = table()
    y = np.resize(["a", "b", "c"], len(X))
    model = make(DPAdditiveClassifier).fit(X, y)
    assert [term.values.shape[1] for term in model.terms_] == [3] * 5
    axis, values = curves(model)["number"]
    low, high = (model.decision_function(X.assign(number=axis.knots[end])) for end in (0, -1))
    np.testing.assert_allclose(high - low, np.tile(values[-1] - values[0], (len(X), 1)),
                               atol=1e-4)


@every_additive_model
def test_a_fit_costs_its_budget_and_the_certificate_says_so(cls):
    with watched_ledgers() as ledgers, taped() as tape:
        model = fitted(cls, epsilon=2.0)
    certificate = model.privacy_
    assert sum((tally(ledger.spent) for ledger in ledgers), Counter()) == tally(certificate.event)
    assert 0.99 * certificate.delta <= certificate.delta_at(2.0) <= certificate.delta == 1e-4
    # Noise of every answer is that of its price.
    (words,) = [event for event in tally(certificate.event) if isinstance(event, Disclosure)]
    assert words.delta == pytest.approx(0.1 * certificate.delta)
    assert all(part.scale > 0 for parts in tape.parts for part in parts)
    assert Certificate.from_json(certificate.to_json()) == certificate
    bounds = {each.name: each for each in certificate.enforced}
    assert bounds["data_norm"].value == pytest.approx(math.sqrt(5))
    assert bounds["column_norm"].value == 1.0
    assert {"term_coef_", "intercept_", "terms_"} <= set(certificate.released)
    attributes = inspect.getdoc(cls).partition("Attributes")[2].partition("Raises")[0]
    shown = {name for name in vars(model) if name.endswith("_")}
    assert all(f"\n{name} :" in attributes for name in shown | {"terms_"})
    assert "categories listed by types" in str(certificate)


@pytest.mark.parametrize("interactions", [0, 1, [("number", "town")]])
def test_prices_follow_from_public_facts_alone(interactions):
    """Knots and categories are one plan; a step costs the same whatever is in it."""
    plans, costs = set(), []
    for seed in range(3):
        X = table(seed=seed, gap=0.3 * seed)
        event = make(DPAdditiveClassifier, interactions=interactions).fit(
            X, np.resize(["no", "yes"], len(X))).privacy_.event
        plans.add(repr(event.events[0]))
        costs.append([total_mu(each) for each in event.events])
    assert len(plans) == 1
    np.testing.assert_allclose(costs[1:], costs[:-1], rtol=1e-5)


@every_additive_model
def test_names_are_set_and_wanted(cls):
    model = fitted(cls)
    X = table()
    assert model.n_features_in_ == 5 and model.feature_names_in_.tolist() == list(X.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[X.columns[::-1]])


@every_additive_model
@pytest.mark.parametrize("kind", ["array", "list", "objects"])
def test_other_containers_are_read_alike(cls, kind):
    X = table()
    y = targets(cls, X)
    cells = X[["number", "count", "town"]].astype(object).to_numpy()
    cells = cells.tolist() if kind == "list" else cells
    columns = {2: TOWNS}
    if kind == "array":
        cells, columns = cells[:, :2].astype(float), None
    model = make(cls, columns=columns).fit(cells, y)
    assert list(curves(model)) == list(range(model.n_features_in_))
    assert model.predict(cells[:3]).shape == (3,)


@every_additive_model
def test_copies_keep_parameters_and_drop_the_fit(cls):
    model = fitted(cls, epsilon=7.0, n_knots=3)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "privacy_")
    again, X = pickle.loads(pickle.dumps(model)), table(9)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@every_additive_model
def test_a_fit_can_be_repeated_on_another_table(cls):
    model, X = fitted(cls), table(80)[["count", "flag"]]
    y = targets(cls, table(80))
    model.fit(X, y)
    assert list(curves(model)) == ["count", "flag"]
    assert model.predict(X).shape == (80,)


@pytest.mark.covering(most=1)
@every_additive_model
def test_wrappers_of_scikit_learn_take_them(cls):
    X = table(90)
    y = targets(cls, X)
    search = GridSearchCV(make(cls), {"epsilon": [4.0, 8.0], "n_knots": ["auto", 3]}, cv=2)
    assert search.fit(X, y).predict(X).shape == (90,)
    assert cross_val_predict(make_pipeline(make(cls)), X, y, cv=2).shape == (90,)
    bagging = BaggingClassifier if is_classifier(cls()) else BaggingRegressor
    numbers = X[["number", "count"]].to_numpy()
    assert bagging(make(cls), 2, random_state=0).fit(numbers, y).predict(numbers).shape == (90,)


def test_probabilities_can_be_calibrated():
    X = table(120)
    y = targets(DPAdditiveClassifier, X)
    model = CalibratedClassifierCV(make(DPAdditiveClassifier), cv=2).fit(X, y)
    assert model.predict_proba(X).shape == (120, 2)


@every_additive_model
@pytest.mark.parametrize("n_knots, most", [(2, 2), (3, 3), (17, 17)])
def test_so_many_knots_are_found(cls, n_knots, most):
    model = fitted(cls, n_knots=n_knots)
    knots = curves(model)["number"][0].knots
    assert len(knots) <= most and (np.diff(knots) > 0).all()
    assert n_knots > 3 or len(knots) == most


@every_additive_model
@pytest.mark.parametrize("n, epsilon", [(2, 1.0), (3, 1e-6), (5, 1e4)])
def test_few_rows_are_fitted(cls, n, epsilon):
    X = table(n)
    y = ["no", "yes", "no", "yes", "no"][:n] if is_classifier(cls()) else np.zeros(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = make(cls, epsilon=epsilon, delta=0.1).fit(X, y)
    assert np.isfinite(model.term_coef_).all() and len(model.predict(X)) == n


@pytest.mark.parametrize("epsilon", [1e-9, 1e-5, 1e-3, 0.02, 1e5, 1e6])
@pytest.mark.parametrize("delta", [1e-12, 1e-4, 0.05])
def test_the_least_and_the_largest_budgets_are_fitted(epsilon, delta):
    """A first model at a tenth of mu^2 may need no epsilon at that delta; it has noise."""
    X = table(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = make(DPAdditiveRegressor, epsilon=epsilon, delta=delta, interactions=1).fit(
            X, targets(DPAdditiveRegressor, X))
    assert model.privacy_.delta_at(epsilon) <= delta
    assert total_mu(model.privacy_.event) > 0


def test_columns_are_selected_by_their_importances():
    """Pairs of columns and values of curves are more than columns. Fixed noise."""
    X = np.random.default_rng(0).normal(size=(2000, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    model = DPAdditiveRegressor(8.0, interactions=[(0, 1)], random_state=NoiseSeed(0))
    shares = clone(model).fit(X, y).feature_importances_
    assert shares.argmin() == 3 and math.isclose(shares.sum(), 1.0)
    assert RFE(model, n_features_to_select=3).fit(X, y).support_.tolist() == 3 * [True] + [False]
    assert SelectFromModel(model, max_features=3).fit(X, y).transform(X).shape[1] <= 3


def test_many_columns_take_no_matrix_of_all_values_of_curves():
    X = np.random.default_rng(0).normal(size=(60, 600))
    tracemalloc.start()
    model = DPAdditiveClassifier().fit(X, X[:, 0] > 0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < model.term_coef_.size**2


@every_additive_model
@pytest.mark.parametrize("columns", [
    ["level", "flag"], ["town"], ["number"], ["count", "town"]])
def test_tables_of_one_kind_are_fitted(cls, columns):
    X = table(60)
    model = make(cls).fit(X[columns], targets(cls, X))
    assert list(curves(model)) == columns
    # Words that nobody declared are the one thing that shows in spite of the noise.
    chance = sum(event.delta for event in tally(model.privacy_.event)
                 if isinstance(event, Disclosure))
    assert (chance > 0) == ("town" in columns)


def test_many_columns_take_no_memory_of_their_square():
    """The 400 columns here have 3,600 features, of which a square matrix has 104 MB."""
    X = np.random.default_rng(0).normal(size=(60, 400))
    tracemalloc.start()
    try:
        DPAdditiveClassifier(random_state=NoiseSeed(0)).fit(X, X[:, 0] > 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4e7
