"""Decision trees: raw tables in, splits and noisy leaves out, at the certificate's price."""

import inspect
import math
import pickle
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import (
    Certificate,
    DPDecisionTreeClassifier,
    DPDecisionTreeRegressor,
    DPGridSearchCV,
    DPRandomForestRegressor,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.exceptions import BudgetExceededError, PrivacyWarning
from dpsk.metrics import dp_cross_validate
from dpsk.testing import NoiseSeed
from dpsk.tree import export_text, plot_tree
from tests.contracts.tapes import taped
from tests.estimators.raw_tables import table, targets, with_rare_words
from tests.events import tally, total_mu
from tests.instruments import watched_ledgers
from tests.registry import TREES, every_tree_model
from tests.sklearn_checks import WEIGHTS, ids_of, run_check

_CHECKS = parametrize_with_checks(
    [cls(random_state=NoiseSeed(0)) for cls in TREES.values()],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS})


@pytest.mark.covering(most=12)
@pytest.mark.parametrize(_CHECKS.args[0], _CHECKS.args[1], ids=ids_of(_CHECKS))
def test_scikit_learn_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


def make(cls, **params):
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-2.0, 3.0)}
    return cls(**{"epsilon": 20.0, "delta": 1e-4, "max_categories": 24, "max_depth": 3,
                  "random_state": NoiseSeed(1), **bounds, **params})


def squares(cls, n=4000):
    """Return rows whose targets follow the product of two signs, and what fits them."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * X[:, 0])
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-1, 1)}
    return X, y, {"columns": {0: (-1, 1), 1: (-1, 1)}, "random_state": NoiseSeed(0), **bounds}


_BAD = {"max_depth": [0, 9, 1.0, "all"], "columns": [["town"], {"town": 3}],
        "max_categories": [0, 1.5], "epsilon": [0, None], "delta": [0.0, 1.0],
        "random_state": [-1], "verbose": [-1]}


@every_tree_model
@pytest.mark.parametrize("name, value", [
    (name, value) for name, values in _BAD.items() for value in values])
def test_a_bad_value_is_refused_before_rows_are_looked_at(cls, name, value, silent):
    with pytest.raises(ValueError, match=name):
        cls(**{name: value}).fit(object(), None)


@pytest.mark.parametrize("value", [(1.0, 1.0), "all", 3])
def test_bounds_of_targets_are_learnt_or_declared(value, silent):
    with pytest.raises(ValueError, match="target_bounds"):
        DPDecisionTreeRegressor(target_bounds=value).fit(object(), None)


@every_tree_model
def test_every_parameter_has_its_constraint_and_its_description(cls):
    known = cls().get_params()
    assert set(known) - set(cls._constraints) <= {"classes", "class_weight"}
    assert all(f"\n{name}" in inspect.getdoc(cls) for name in known)


@pytest.mark.parametrize("params", [{"classes": ["yes", "maybe"]}, {"class_weight": "balanced"}])
def test_what_cannot_be_had_is_refused_by_name_before_anything_is_drawn(params, silent):
    X = table()
    with pytest.raises(ValueError, match=next(iter(params))):
        make(DPDecisionTreeClassifier, **params).fit(X, targets(DPDecisionTreeClassifier, X))


@every_tree_model
@pytest.mark.parametrize("params", [{}, {"columns": {
    "number": (-3, 3), "count": (0, 9), "town": ["north", "south"]}, "max_depth": None}])
def test_the_certificate_is_what_was_released_and_within_the_budget(cls, params):
    X = table()
    with watched_ledgers() as ledgers, taped() as tape:
        model = make(cls, epsilon=2.0, **params).fit(X, targets(cls, X))
    certificate = model.privacy_
    assert sum((tally(ledger.spent) for ledger in ledgers), Counter()) == tally(certificate.event)
    # Of few rows, all of whose columns are declared, the price is a pure epsilon.
    pure = is_classifier(model) and "columns" in params
    least = 0.0 if pure else 0.9 * certificate.delta
    assert least <= certificate.delta_at(2.0) <= certificate.delta == 1e-4
    assert not pure or 1.99 < certificate.epsilon_at(0.0) <= 2.0
    assert all(part.scale > 0 for parts in tape.parts for part in parts)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.solver.endswith("then a decision tree")
    attributes = inspect.getdoc(cls).partition("Attributes")[2].partition("Raises")[0]
    shown = {name for name in vars(model) if name.endswith("_")}
    assert all(f"\n{name} :" in attributes for name in {*shown, *certificate.released})


@every_tree_model
def test_prices_follow_from_public_facts_alone(cls):
    costs = []
    for seed in range(2):
        X = table(seed=seed, gap=0.5 * seed)
        events = make(cls).fit(X, targets(cls, X, seed)).privacy_.event.events
        costs.append([total_mu(each) for each in events])
    np.testing.assert_allclose(costs[1:], costs[:-1], rtol=1e-5)


def test_a_tree_of_few_rows_is_pure_by_itself_and_gaussian_where_others_pay():
    X, y = load_wine(return_X_y=True)
    bounds = dict(enumerate(zip(X.min(axis=0), X.max(axis=0), strict=True)))
    model = DPDecisionTreeClassifier(columns=bounds, classes=[0, 1, 2], random_state=NoiseSeed(0))
    assert model.fit(X, y).privacy_.epsilon_at(0.0) == pytest.approx(1.0)
    assert model.score(X, y) > 0.6 and model.get_depth() <= 5
    # Leaves side by side have different classes, so that fewer splits say the same.
    assert model.get_n_leaves() <= 32 and len(np.unique(model.predict(X))) > 1
    with PrivacyBudget(1.0, 1e-4):
        within = clone(model).set_params(delta=1e-5).fit(X, y)
    whole = make_dp_pipeline(DPStandardScaler(), clone(model).set_params(random_state=None),
                             epsilon=1.0, delta=1e-4, random_state=NoiseSeed(0)).fit(X, y)
    folds = dp_cross_validate(clone(model).set_params(delta=1e-4), X, y, cv=3)
    for each, delta in ((within, 1e-5), (whole, 1e-4), (folds.estimators[0], 1e-4)):
        assert each.privacy_.epsilon_at(0.0) == math.inf
        assert 0.9 * delta <= each.privacy_.delta_at(1.0) <= delta


def test_a_tree_that_a_budget_has_paid_for_is_gaussian_once_the_budget_is_closed(monkeypatch):
    X, y = load_wine(return_X_y=True)
    bounds = dict(enumerate(zip(X.min(axis=0), X.max(axis=0), strict=True)))
    budget = PrivacyBudget(1.0, 1e-4)
    # As another thread would, once the fit has been charged.
    monkeypatch.setattr(DPDecisionTreeClassifier, "_release_more",
                        lambda *_: budget.__exit__(None, None, None))
    budget.__enter__()
    model = DPDecisionTreeClassifier(delta=1e-5, columns=bounds, classes=[0, 1, 2]).fit(X, y)
    assert model.privacy_.epsilon_at(0.0) == math.inf
    (charge,) = budget.certificate().charges
    assert charge.event.mu >= total_mu(model.privacy_.event)


@every_tree_model
def test_a_tree_learns_what_it_can_tell_apart(cls):
    """Scores of 200 seeds have a mean of .97 and .86 and deviations below .01."""
    X, y, params = squares(cls)
    model = cls(4.0, **params).fit(X, y)
    assert model.score(X, y) > 0.75
    assert 2 <= model.get_depth() <= 8 and 4 <= model.get_n_leaves() <= 256
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("depth", [5, 8])
def test_without_noise_leaves_have_the_means_of_their_rows_on_every_depth(depth):
    X = np.random.default_rng(3).uniform(-1, 1, size=(5000, 2))
    y = np.clip(X[:, 0] + np.sin(3.0 * X[:, 1]), -2.0, 2.0) / 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = DPDecisionTreeRegressor(math.inf, max_depth=depth, target_bounds=(-1, 1),
                                        columns={0: (-1, 1), 1: (-1, 1)}).fit(X, y)
    leaves = model.apply(X)
    counts = np.bincount(leaves, minlength=2 ** (depth + 1) - 1)
    assert (counts > 0).sum() == model.get_n_leaves() and model.get_depth() == depth
    means = np.bincount(leaves, y) / np.maximum(counts[:leaves.max() + 1], 1)
    np.testing.assert_allclose(model.predict(X), means[leaves], atol=0.1)
    assert model.score(X, y) > 0.95


def test_several_classes_are_told_apart():
    X = np.random.default_rng(1).uniform(-1, 1, size=(6000, 2))
    y = np.array(["a", "b", "c", "d"])[2 * (X[:, 0] > 0.2) + (X[:, 1] > 0)]
    model = DPDecisionTreeClassifier(10.0, columns={0: (-1, 1), 1: (-1, 1)},
                                     random_state=NoiseSeed(0)).fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > 0.85
    np.testing.assert_allclose(model.predict_proba(X[:9]).sum(axis=1), 1.0)
    assert model.decision_function(X[:5]).shape == (5, 4)


def test_bounds_that_are_learnt_hold_the_targets():
    X, y, params = squares(DPDecisionTreeRegressor)
    model = DPDecisionTreeRegressor(4.0, **{**params, "target_bounds": "auto"}).fit(X, 100 + 5 * y)
    low, high = model.target_bounds_
    assert 90 < low < high < 110 and model.score(X, 100 + 5 * y) > 0.5
    assert any(bound.name == "target_bounds" for bound in model.privacy_.enforced)


def test_a_few_hundred_rows_are_predicted_no_worse_than_by_a_bad_constant():
    """Quantiles of so few rows lie anywhere: R2 was below -1000 on average."""
    X, y = load_diabetes(return_X_y=True)
    scores = [cls(1.0, random_state=NoiseSeed(seed)).fit(X[:331], y[:331]).score(X[331:], y[331:])
              for seed in range(3) for cls in (DPDecisionTreeRegressor, DPRandomForestRegressor)]
    assert np.mean(scores) > -0.5


def test_too_few_rows_for_bounds_are_told_before_any_noise(silent):
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30.0)
    with pytest.raises(ValueError, match=r"target_bounds.*too few"):
        DPDecisionTreeRegressor(1.0, target_bounds=None).fit(X, y)


def test_too_few_rows_for_bounds_have_default_ones_and_a_warning():
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30.0)
    with pytest.warns(PrivacyWarning, match="too few"):
        model = DPDecisionTreeRegressor(1.0).fit(X, y)
    assert model.target_bounds_ == (-1.0, 1.0)
    bound = {line.name: line for line in model.privacy_.enforced}["target_bounds"]
    assert bound.origin == "default, not declared"


@every_tree_model
def test_leaves_paths_and_predictions_agree(cls):
    X = table(400)
    model = make(cls).fit(X, targets(cls, X))
    leaves, path = model.apply(X), model.decision_path(X)
    assert model.tree_.ends[leaves].all() and model.tree_.ends.sum() == model.get_n_leaves()
    assert path.shape == (400, 15) and len(model.tree_.splits) == 3
    dense = path.toarray()
    assert (dense[:, 0] == 1).all() and (dense[np.arange(400), leaves] == 1).all()
    assert (dense[:, 2 * np.arange(7) + 1] + dense[:, 2 * np.arange(7) + 2]
            <= dense[:, :7]).all()
    same = np.unique(leaves, return_index=True)[1][np.searchsorted(np.unique(leaves), leaves)]
    np.testing.assert_array_equal(model.predict(X), model.predict(X)[same])


@every_tree_model
@pytest.mark.parametrize("bounds", [(1.0, 1.0 + 2**-52), (1e10, 1e10 + 1e-5), (0.0, 1e-99)])
def test_bounds_may_be_as_close_as_numbers_are_told_apart(cls, bounds):
    X = np.repeat(bounds, 200)[:, None]
    y = np.repeat([0, 1], 200)
    model = cls(50.0, columns={0: bounds}, max_depth=1, random_state=NoiseSeed(0)).fit(X, y)
    assert model.score(X, y) > 0.9


@every_tree_model
@pytest.mark.parametrize("params", [{"decimals": "a"}, {"decimals": -1}, {"max_depth": -1}])
def test_a_text_of_no_levels_or_digits_is_refused_by_name(cls, params):
    model = make(cls, max_depth=1).fit(np.arange(40.0)[:, None], np.arange(40) % 2)
    with pytest.raises(ValueError, match=next(iter(params))):
        export_text(model, **params)


@every_tree_model
def test_a_fit_that_is_broken_off_leaves_an_older_model_or_none(cls, monkeypatch):
    X, y, params = squares(cls, 100)
    model = cls(**params, max_depth=1)
    with PrivacyBudget(0.5, 1e-4) as budget, pytest.raises(BudgetExceededError):
        model.fit(X, y).fit(X, y)
    assert not budget.charges and not hasattr(model, "privacy_")
    with pytest.raises(NotFittedError):
        model.predict(X)
    older, predicted = model.fit(X, y).privacy_, model.predict(X)
    with monkeypatch.context() as patch:
        patch.setattr(cls, "_growth", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.fit(X, y + 2)
    with PrivacyBudget(0.5, 1e-4), pytest.raises(BudgetExceededError):
        model.fit(X, y + 2)
    assert model.privacy_ is older
    np.testing.assert_array_equal(model.predict(X), predicted)


@every_tree_model
def test_the_text_shows_every_leaf_with_its_noise(cls):
    X = table(400)
    model = make(cls).fit(X, targets(cls, X))
    text = export_text(model)
    assert text.count("rows)") == model.get_n_leaves() and text.count("±") == text.count("rows)")
    assert "town == north" in text and "number <" in text
    assert export_text(model, max_depth=1).count("rows)") == 2
    with pytest.raises(TypeError, match="decision_tree"):
        export_text(object())


@pytest.mark.thorough
def test_the_picture_shows_every_leaf_with_its_noise():
    plt = pytest.importorskip("matplotlib.pyplot")
    X = table(1000)
    model = make(DPDecisionTreeRegressor).fit(X, targets(DPDecisionTreeRegressor, X))
    _, ax = plt.subplots()
    found = plot_tree(model, ax=ax)
    assert len(found) == 2 * model.get_n_leaves() - 1
    assert len(plot_tree(model, max_depth=1)) == 3
    plt.close("all")


@every_tree_model
def test_rows_of_no_weight_count_for_nothing(cls):
    X, y, params = squares(cls, 2000)
    weights = np.tile([1.0, 0.0], 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        one, two = (cls(math.inf, max_depth=3, **params).fit(X, np.where(
            weights > 0, y, each), weights) for each in (y, y[::-1]))
    np.testing.assert_array_equal(one.tree_.means, two.tree_.means)


def test_classes_of_more_weight_are_predicted_more_often():
    X = table(400)
    y = targets(DPDecisionTreeClassifier, X)
    share = [np.mean(make(DPDecisionTreeClassifier, epsilon=200.0, class_weight={"yes": weight})
                     .fit(X, y).predict(X) == "yes") for weight in (0.1, 1.0, 10.0)]
    assert share[0] < share[1] - 0.05 < share[2] - 0.1


@every_tree_model
def test_pickles_clones_repeated_noise_and_float32(cls):
    X = table()
    y = targets(cls, X)
    model = make(cls).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert len(pickle.dumps(model)) < 50_000
    X, y, params = squares(cls, 500)
    single = cls(**params).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(single.predict(X.astype(np.float32)), cls(**params).fit(
        X.astype(np.float32).astype(np.float64), y).predict(X.astype(np.float32)))


@every_tree_model
def test_noise_that_repeats_meets_no_sums_in_other_bins(cls):
    """Bins follow from words that are not found, which trees know nothing of."""
    noise = []
    for X in with_rare_words():
        with taped() as tape:
            make(cls, epsilon=2.0).fit(X, targets(cls, table()))
        noise.append(tape.noise)
    assert not any(map(np.array_equal, *noise))


@every_tree_model
def test_a_memory_map_gives_the_same_tree(cls, tmp_path):
    X, y, params = squares(cls, 500)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    one, two = (cls(**params).fit(rows, y) for rows in (X, mapped))
    np.testing.assert_array_equal(one.tree_.means, two.tree_.means)


@every_tree_model
def test_a_column_that_tells_nothing_apart_leaves_one_leaf(cls):
    X = pd.DataFrame({"a": np.full(300, "x", dtype=object)})
    y = np.arange(300) % 3 > 0
    # A category of so few rows is not found, nor is it told apart from others.
    X.iloc[:150, 0] = np.arange(150).astype(str)
    for columns in (None, {"a": ["z"]}):
        model = make(cls, epsilon=0.5, columns=columns).fit(X, y.astype(int))
        assert np.unique(model.predict(X.iloc[150:])).size == 1


@every_tree_model
def test_pipelines_and_searches_take_it(cls):
    X = table(500)[["number"]]
    y = targets(cls, table(500))
    model = make_dp_pipeline(DPStandardScaler(), make(cls), epsilon=2.0, delta=1e-4)
    assert 0.8e-4 <= model.fit(X, y).privacy_.delta_at(2.0) <= 1e-4
    assert len(model.predict(X)) == len(X)
    search = DPGridSearchCV(make(cls, random_state=None), {"max_depth": [1, 2]}, epsilon=4.0,
                            delta=1e-4, random_state=NoiseSeed(0)).fit(X, y)
    assert search.privacy_.delta_at(4.0) <= 1e-4


def test_a_threshold_is_tuned_for_it():
    X = table(500)
    y = targets(DPDecisionTreeClassifier, X)
    model = make(DPDecisionTreeClassifier, random_state=None)
    tuned = DPTunedThresholdClassifier(model, epsilon=8.0, delta=1e-4,
                                       random_state=NoiseSeed(0)).fit(X, y)
    assert set(tuned.predict(X)) <= {"yes", "no"}


@every_tree_model
def test_without_noise_it_says_so_first(cls):
    X = table()
    with pytest.warns(PrivacyWarning, match="epsilon=inf"):
        model = make(cls, epsilon=math.inf).fit(X, targets(cls, X))
    assert model.privacy_.noise_multiplier == 0.0
