"""Gradient boosting: raw tables in, trees on an additive model, at the certificate's price."""

import inspect
import math
import pickle
import warnings
from collections import Counter
from itertools import combinations

import dask.array as dask_array
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import (
    Certificate,
    DPAdditiveRegressor,
    DPGradientBoostingClassifier,
    DPGradientBoostingRegressor,
    DPGridSearchCV,
    DPStandardScaler,
    DPTableVectorizer,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.estimators.raw_tables import table, targets, with_rare_words
from tests.events import tally, total_mu
from tests.instruments import watched_ledgers
from tests.loops import in_a_row
from tests.registry import BOOSTED, every_boosted_model
from tests.sklearn_checks import WEIGHTS, ids_of, run_check

_CHECKS = parametrize_with_checks(
    [cls(random_state=NoiseSeed(0), **params) for cls in BOOSTED.values()
     for params in ({}, {"max_iter": 3})],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS})


def _marked(case):
    """Return a case; one check sets max_iter to 1000, and so many trees take seconds."""
    # scikit-learn 1.6 gives plain tuples, newer versions parameters with marks.
    values, marks = getattr(case, "values", case), getattr(case, "marks", ())
    slow = values[1].func.__name__ == "check_class_weight_classifiers"
    return pytest.param(*values, marks=[*marks, *[pytest.mark.thorough] * slow])


@pytest.mark.covering
@pytest.mark.parametrize(_CHECKS.args[0], [*map(_marked, _CHECKS.args[1])], ids=ids_of(_CHECKS))
def test_scikit_learn_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


def make(cls, **params):
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-2.0, 3.0)}
    return cls(**{"epsilon": 20.0, "delta": 1e-4, "max_categories": 24, "max_iter": 5,
                  "random_state": NoiseSeed(1), **bounds, **params})


_BAD = {
    "init": ["zero", 0, True], "max_iter": [-1, 1.5, True, "all"], "max_depth": [0, 9, None, 1.0],
    "learning_rate": [0.0, -1.0, 1.5, math.nan, None],
    "interaction_cst": ["all", [], [()], ["ab"], [3], 1],
    "monotonic_cst": [1, "up", [2], [True], [0.5], [None], {"number": 3}, [[1]]],
    "columns": [["town"], {"town": 3}], "max_categories": [0, 1.5], "epsilon": [0, None],
    "delta": [0.0, 1.0], "random_state": [-1], "verbose": [-1]}
every_bad_value = in_a_row("name, value", [
    (name, value) for name, values in _BAD.items() for value in values])


@every_boosted_model
@every_bad_value
def test_a_bad_value_is_refused_before_rows_are_looked_at(cls, name, value, silent):
    with pytest.raises(ValueError, match=name):
        cls(**{name: value}).fit(object(), None)


@every_boosted_model
def test_every_parameter_has_its_constraint_and_its_description(cls):
    known = cls().get_params()
    assert set(known) - set(cls._constraints) <= {"classes", "class_weight"}
    assert all(f"\n{name}" in inspect.getdoc(cls) for name in known)
    assert "warm_start" not in known


@every_boosted_model
@pytest.mark.parametrize("match, params", [
    ("interaction_cst", {"interaction_cst": [{"nowhere"}]}),
    ("max_iter=0", {"max_iter": 0, "init": None}),
    ("target_bounds", {"target_bounds": "auto", "init": None}),
    ("classes", {"classes": ["yes", "maybe"]}),
    ("class_weight", {"class_weight": "even"})])
def test_what_cannot_be_had_is_refused_by_name_before_anything_is_drawn(
        cls, match, params, silent):
    if set(params) - set(cls().get_params()):
        return
    X = table()
    with pytest.raises(ValueError, match=match):
        make(cls, **params).fit(X, targets(cls, X))


@every_boosted_model
@pytest.mark.parametrize("init", ["additive", None])
def test_the_certificate_is_what_was_released_and_within_the_budget(cls, init):
    X = table()
    with watched_ledgers() as ledgers, taped() as tape:
        model = make(cls, init=init, epsilon=2.0).fit(X, targets(cls, X))
    certificate = model.privacy_
    assert sum((tally(ledger.spent) for ledger in ledgers), Counter()) == tally(certificate.event)
    assert 0.9 * certificate.delta <= certificate.delta_at(2.0) <= certificate.delta == 1e-4
    assert all(part.scale > 0 for parts in tape.parts for part in parts)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert model.init_.privacy_ == certificate
    assert "then 5 trees" in certificate.solver and model.n_iter_ == 5 + (init is not None)
    attributes = inspect.getdoc(cls).partition("Attributes")[2].partition("Raises")[0]
    shown = {name for name in vars(model) if name.endswith("_")}
    assert all(f"\n{name} :" in attributes for name in shown)


@every_boosted_model
def test_prices_follow_from_public_facts_alone(cls):
    costs = []
    for seed in range(3):
        X = table(seed=seed, gap=0.3 * seed)
        events = make(cls).fit(X, targets(cls, X, seed)).privacy_.event.events
        costs.append([total_mu(each) for each in events])
    np.testing.assert_allclose(costs[1:], costs[:-1], rtol=1e-5)


@pytest.mark.parametrize("cls, epsilon, count", [
    (DPGradientBoostingRegressor, 0.1, 0), (DPGradientBoostingRegressor, 4.0, 20),
    (DPGradientBoostingClassifier, 1.0, 0), (DPGradientBoostingClassifier, 20.0, 42)])
def test_where_trees_would_not_pay_the_additive_model_is_all_there_is(cls, epsilon, count):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 3)), columns=list("abc"))
    y = (X["a"] * X["b"]).clip(-1, 1)
    y = y > 0 if is_classifier(cls()) else y
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-1, 1)}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = cls(epsilon, random_state=NoiseSeed(0), **bounds).fit(X, y)
    assert model.n_iter_ == count + 1
    assert any("pass init=None" in str(each.message) for each in told) == (not count)
    if not count:
        assert "no trees" in model.privacy_.solver
        first, other = (found.decision_function(X) if is_classifier(cls()) else found.predict(X)
                        for found in (model, model.init_))
        np.testing.assert_allclose(first, other, atol=1e-12)


@every_boosted_model
def test_stages_end_where_the_prediction_is(cls):
    X = table()
    model = make(cls).fit(X, targets(cls, X))
    stages = [each.copy() for each in model.staged_predict(X)]
    assert len(stages) == model.n_iter_
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    np.testing.assert_array_equal(stages[0], model.init_.predict(X))
    if is_classifier(model):
        for name in ("decision_function", "predict_proba"):
            *_, last = getattr(model, f"staged_{name}")(X)
            np.testing.assert_array_equal(last, getattr(model, name)(X))


@every_boosted_model
@pytest.mark.parametrize("init", ["additive", None])
def test_importances_are_shares_that_follow_from_what_was_released(cls, init):
    X = table(2000)
    model = make(cls, init=init, epsilon=200.0, max_iter=20).fit(X, targets(cls, X))
    found = model.feature_importances_
    assert found.shape == (5,) and found.sum() == pytest.approx(1.0) and (found >= 0).all()
    # Of these targets a number and a town say most.
    assert {"number", "town"} == set(X.columns[np.argsort(found)[-2:]])


@every_boosted_model
@pytest.mark.parametrize("init", ["additive", None])
def test_boosting_learns_what_curves_do_not(cls, init):
    """The product of two signs; 8 standard deviations of scores over seeds below .9 stay above."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6000, 2))
    y = np.sign(X[:, 0] * X[:, 1])
    y = y > 0 if is_classifier(cls()) else y
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-1, 1)}
    model = cls(20.0, init=init, columns={0: (-1, 1), 1: (-1, 1)}, random_state=NoiseSeed(2),
                max_iter=60, **bounds).fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > (0.85 if is_classifier(cls()) else 0.5)


def test_several_classes_are_told_apart():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(6000, 2))
    y = np.array(["a", "b", "c", "d"])[2 * (X[:, 0] > 0) + (X[:, 1] > 0)]
    model = DPGradientBoostingClassifier(
        20.0, init=None, columns={0: (-1, 1), 1: (-1, 1)}, max_iter=30,
        random_state=NoiseSeed(0)).fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > 0.85
    assert model.predict_proba(X[:5]).shape == model.decision_function(X[:5]).shape == (5, 4)


@every_boosted_model
def test_trees_ask_for_columns_of_one_group(cls):
    X = table(500)
    for given, allowed in (("no_interactions", [{0}, {1}, {2}, {3}, {4}]),
                           ([{"number", "town"}], [{0, 2}, {1, 3, 4}])):
        model = make(cls, interaction_cst=given, max_iter=10).fit(X, targets(cls, X))
        asked = [set(tree.cuts[:, 0].tolist()) for tree in model._trees]
        assert all(any(each <= group for group in allowed) for each in asked)
        assert all(len(term.axes) == 1 for term in model.init_.terms_)


@every_boosted_model
def test_rows_of_no_weight_count_for_nothing_in_trees_beyond_their_number(cls):
    X = table(2000)
    y = targets(cls, X)
    other = y[::-1].copy()
    weights = np.tile([1.0, 0.0], 1000)
    found = [make(cls, init=None, epsilon=math.inf).fit(
        X, np.where(weights > 0, y, each), weights) for each in (y, other)]
    for one, two in zip(found[0]._trees, found[1]._trees, strict=True):
        np.testing.assert_array_equal(one.values, two.values)


def test_classes_of_more_weight_are_predicted_more_often():
    X = table(1000)
    y = targets(DPGradientBoostingClassifier, X)
    share = [np.mean(make(DPGradientBoostingClassifier, init=None, epsilon=200.0, max_iter=20,
                          class_weight={"yes": weight}).fit(X, y).predict(X) == "yes")
             for weight in (0.1, 1.0, 10.0)]
    assert share[0] < share[1] - 0.05 < share[2] - 0.1


@every_boosted_model
@pytest.mark.parametrize("init", ["additive", None])
def test_pickles_clones_and_repeated_noise(cls, init):
    X = table()
    y = targets(cls, X)
    model = make(cls, init=init).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.feature_importances_, model.feature_importances_)
    assert len(pickle.dumps(model)) < 200_000


@every_boosted_model
def test_noise_that_repeats_meets_no_other_sums(cls):
    """Of rows in the same bins, and of other weights, the start is another."""
    X = np.random.default_rng(0).uniform(size=(300, 2))
    y = X[:, 0] > 0.5 if is_classifier(cls()) else X[:, 0]
    moved, weights = X.copy(), np.ones((3, 300))
    X[0], moved[0] = 0.1, 0.4
    weights[1:, 0] = 0.5, 0.25
    noise = []
    for rows, own in ((X, weights[0]), (moved, weights[0]), (X, weights[1]), (X, weights[2])):
        with taped() as tape:
            make(cls, columns={0: (0, 0.5, 1), 1: (0, 0.5, 1)}, max_iter=2).fit(rows, y, own)
        # The first counts weights, which are the same for other features.
        noise.append(tape.noise[1:])
    for one, other in combinations(noise, 2):
        assert not any(map(np.array_equal, one, other))


@every_boosted_model
@pytest.mark.parametrize("init", ["additive", None])
def test_noise_that_repeats_meets_no_sums_in_other_bins(cls, init):
    """Bins and the start follow from words that are not found, which trees know nothing of."""
    noise = []
    for X in with_rare_words():
        with taped() as tape:
            make(cls, epsilon=2.0, init=init, max_iter=2).fit(X, targets(cls, table()))
        noise.append(tape.noise)
    assert not any(map(np.array_equal, *noise))


@every_boosted_model
def test_the_order_of_a_set_of_columns_is_no_setting(cls):
    one, other = (make(cls, interaction_cst=[set(places)])._method()
                  for places in ((0, 8), (8, 0)))
    assert one == other


def test_fresh_noise_and_fresh_cuts_by_default():
    X = table()
    y = targets(DPGradientBoostingRegressor, X)
    one, other = (make(DPGradientBoostingRegressor, random_state=state, init=None).fit(X, y)
                  for state in (None, None))
    assert any((a.cuts != b.cuts).any() for a, b in zip(one._trees, other._trees, strict=True))
    assert one.predict(X).tolist() != other.predict(X).tolist()


def test_the_start_is_an_additive_model_or_the_bins_alone():
    X = table()
    y = targets(DPGradientBoostingRegressor, X)
    assert isinstance(make(DPGradientBoostingRegressor).fit(X, y).init_, DPAdditiveRegressor)
    model = make(DPGradientBoostingRegressor, init=None).fit(X, y)
    assert isinstance(model.init_, DPTableVectorizer) and model.target_bounds_ == (-2.0, 3.0)


@every_boosted_model
def test_a_pipeline_ends_with_it_within_one_budget(cls):
    X = table()[["number"]]
    model = make_dp_pipeline(DPStandardScaler(), make(cls), epsilon=2.0, delta=1e-4)
    y = targets(cls, table())
    assert 0.8e-4 <= model.fit(X, y).privacy_.delta_at(2.0) <= 1e-4
    assert len(model.predict(X)) == len(X)


@every_boosted_model
@pytest.mark.parametrize("groups", [None, np.arange(200) // 2])
def test_memory_maps_and_dask_give_the_model_of_memory(cls, groups, tmp_path):
    X, y = table()[["number", "count"]].to_numpy(float), targets(cls, table())
    np.save(tmp_path / "rows.npy", X)
    settings = {"random_state": NoiseSeed(1), "max_iter": 2}
    plain = make(cls, **settings).fit(X, y, groups=groups)
    for rows in (np.load(tmp_path / "rows.npy", mmap_mode="r"), np.asfortranarray(X),
                 dask_array.from_array(X, chunks=(70, 2))):
        other = make(cls, **settings).fit(rows, y, groups=groups)
        np.testing.assert_array_equal(other.predict(X), plain.predict(X))
        np.testing.assert_array_equal(other.feature_importances_, plain.feature_importances_)


def test_warm_starts_are_refused_by_name():
    for cls in BOOSTED.values():
        with pytest.raises(TypeError, match="warm_start"):
            cls(warm_start=None)


@every_boosted_model
def test_people_are_protected_in_pipelines_searches_and_thresholds(cls):
    X = table()[["number"]]
    y, people = targets(cls, table()), np.arange(len(X)) // 3
    start = make(cls, max_iter=2, random_state=0)
    wrapped = [make_dp_pipeline(DPStandardScaler(), start, epsilon=2.0, delta=1e-4),
               DPGridSearchCV(start, {"max_depth": [2, 3]}, epsilon=2.0, delta=1e-4,
                              **({} if is_classifier(start) else {
                                  "scoring": "neg_mean_squared_error"}))]
    if is_classifier(start):
        wrapped.append(DPTunedThresholdClassifier(start, epsilon=2.0, delta=1e-4))
    for model in wrapped:
        with PrivacyBudget(2.1, 1e-3, unit="group") as budget:
            fitted = model.fit(X, y, groups=people)
        assert len(budget.charges) == 1 and "groups" in fitted.privacy_.relation
        assert len(fitted.predict(X)) == len(X)


@every_boosted_model
def test_without_noise_it_says_so_first(cls):
    X = table()
    with pytest.warns(PrivacyWarning, match="epsilon=inf"):
        model = make(cls, epsilon=math.inf).fit(X, targets(cls, X))
    assert model.privacy_.noise_multiplier == 0.0 and model.n_iter_ == 6


@every_boosted_model
def test_without_noise_leaves_of_labels_by_chance_are_short(cls):
    # Seeds fix all draws. With leaves as they are, risks are 1.36 and 1.34 times a constant's.
    draws = np.random.default_rng(0)
    X, y = draws.normal(size=(600, 4)), draws.integers(0, 2, 600)
    known = {"classes": [0, 1]} if is_classifier(cls()) else {"target_bounds": (0, 1)}
    model = cls(math.inf, init=None, random_state=0, **known).fit(X[:300], y[:300])
    if is_classifier(model):
        risk = -np.log(model.predict_proba(X[300:])[np.arange(300), y[300:]]).mean() / np.log(2)
    else:
        risk = 4.0 * np.square(model.predict(X[300:]) - y[300:]).mean()
    assert risk < 1.25
