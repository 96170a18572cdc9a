"""Random forests: drawn splits in small tables, chosen ones in large ones, at the stated price."""

import inspect
import math
import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from dpsk import DPRandomForestClassifier, DPRandomForestRegressor
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.estimators.raw_tables import table, targets, with_rare_words
from tests.events import tally, total_mu
from tests.instruments import watched_ledgers

every_forest = pytest.mark.parametrize("cls", [DPRandomForestClassifier, DPRandomForestRegressor])


def squares(cls, n=4000, **params):
    """Return rows whose targets follow the product of two signs, and a forest of them."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * X[:, 0])
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-1, 1)}
    return X, y, cls(**{"columns": {0: (-1, 1), 1: (-1, 1)}, "random_state": NoiseSeed(0),
                        **bounds, **params})


@every_forest
@pytest.mark.parametrize("name, value", [
    ("n_estimators", 0), ("n_estimators", 1001), ("n_estimators", 2.0), ("n_estimators", "all"),
    ("max_features", 0), ("max_features", 1.5), ("max_features", True), ("max_features", "all"),
    ("max_depth", 9)])
def test_a_bad_value_is_refused_before_rows_are_looked_at(cls, name, value, silent):
    with pytest.raises(ValueError, match=name):
        cls(**{name: value}).fit(object(), None)


@every_forest
@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_the_certificate_is_what_was_released_and_within_the_budget(cls, epsilon):
    X = table()
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-2.0, 3.0)}
    with watched_ledgers() as ledgers, taped() as tape:
        model = cls(epsilon, delta=1e-4, max_categories=24, random_state=NoiseSeed(1),
                    **bounds).fit(X, targets(cls, X))
    certificate = model.privacy_
    assert sum((tally(ledger.spent) for ledger in ledgers), Counter()) == tally(certificate.event)
    assert 0.9 * certificate.delta <= certificate.delta_at(epsilon) <= certificate.delta == 1e-4
    assert all(part.scale > 0 for parts in tape.parts for part in parts)
    trees = f"{len(model.trees_)} decision trees" if len(model.trees_) > 1 else "a decision tree"
    assert certificate.solver.endswith(f"then {trees}")
    attributes = inspect.getdoc(cls).partition("Attributes")[2].partition("Raises")[0]
    shown = {name for name in vars(model) if name.endswith("_")}
    assert all(f"\n{name} :" in attributes for name in {*shown, *certificate.released})


@every_forest
@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_prices_and_shapes_follow_from_public_facts_alone(cls, epsilon):
    found = []
    for seed in range(2):
        X = np.random.default_rng(seed).normal(size=(300, 2))
        y = (X[:, 0] > seed).astype(int)
        bounds = {} if is_classifier(cls()) else {"target_bounds": (0, 1)}
        # The shape of a single tree is chosen privately.
        model = cls(epsilon, random_state=0, columns={0: (-3, 3), 1: (-3, 3)}, n_estimators=10,
                    **bounds).fit(X, y)
        events = [total_mu(each) for each in model.privacy_.event.events]
        found.append((events, [len(tree.means) for tree in model.trees_]))
    assert found[0] == found[1]


@every_forest
def test_few_rows_have_drawn_splits_and_many_chosen_ones(cls):
    """Where splits are drawn an int repeats them, and noise stays fresh."""
    X, y, model = squares(cls, 300, epsilon=0.5, random_state=0, n_estimators=10)
    one, two = (clone(model).fit(X, each).trees_ for each in (y, -y))
    assert all((a == b).all() for left, right in zip(one, two, strict=True)
               for a, b in zip(left.splits, right.splits, strict=True))
    assert not (one[0].means == two[0].means).all()
    X, y, model = squares(cls, 1000, epsilon=20.0, random_state=0, max_depth=2)
    one, two = (clone(model).fit(X, each).trees_ for each in (y, np.sign(X[:, 1] - 0.7)))
    assert {int(tree.splits[0][0, 0]) for tree in two} == {1} and one[0].splits[0][0, 0] == 0


@every_forest
def test_it_learns_what_it_can_tell_apart(cls):
    X, y, model = squares(cls, epsilon=4.0)
    assert model.fit(X, y).score(X, y) > 0.55
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_drawn_splits_add_up_to_several_classes():
    rng = np.random.default_rng(1)
    y = rng.integers(4, size=1500)
    X = rng.normal(size=(1500, 12)) + 1.2 * (y[:, None] == np.arange(12) % 4)
    model = DPRandomForestClassifier(2.0, columns=dict.fromkeys(range(12), (-4, 5)),
                                     classes=[0, 1, 2, 3], random_state=NoiseSeed(0))
    assert model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.6
    assert len(model.trees_) > 5
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@every_forest
@pytest.mark.parametrize("value", [1, "sqrt"])
def test_a_split_is_chosen_among_some_columns(cls, value):
    """Of two columns one: roots are on either, where all trees would have one."""
    X, y, model = squares(cls, 800, epsilon=200.0, max_features=value, max_depth=2,
                          n_estimators=12, random_state=NoiseSeed(0))
    roots = [{int(tree.splits[0][0, 0]) for tree in each.fit(X, y).trees_}
             for each in (model, clone(model).set_params(max_features=None))]
    assert list(map(len, roots)) == [2, 1]


@every_forest
def test_without_noise_a_forest_has_trees_of_samples_of_the_rows(cls):
    """One deep tree, as often as there are trees, has .1 less of R2 and .03 of accuracy."""
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(600, 5))
    y = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 5.0 * X[:, 2] + 2.0 * rng.normal(size=600)
    y = y > 7.0 if is_classifier(cls()) else y
    with pytest.warns(PrivacyWarning, match="epsilon=inf"):
        models = [cls(math.inf, n_estimators=count, random_state=0).fit(X[:400], y[:400])
                  for count in ("auto", 1)]
    many, one = (model.score(X[400:], y[400:]) for model in models)
    assert len({tree.counts[1] for tree in models[0].trees_}) > 5
    assert many > one + 0.03


def test_without_noise_no_target_is_clipped():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.append(np.zeros(50), [*np.zeros(45), *np.full(5, 1e6)])
    with pytest.warns(PrivacyWarning, match="epsilon=inf"):
        model = DPRandomForestRegressor(math.inf, random_state=0).fit(X, y)
    assert model.target_bounds_ == (0.0, 1e6) and 5e4 < model.predict([[1.0]])[0] < 2e5


@every_forest
def test_without_noise_predictions_are_averages_of_trees(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        X, y, model = squares(cls, 1000, epsilon=math.inf, n_estimators=3, max_depth=3)
        model.fit(X, y)
    bins = model._binned(X)
    mean = np.mean([tree.means[tree.leaves(bins)] for tree in model.trees_], axis=0)[:, 0]
    found = (2.0 * model.predict_proba(X)[:, 1] - 1.0 if is_classifier(model)
             else model.predict(X))
    np.testing.assert_allclose(found, np.clip(mean, -1.0, 1.0), atol=0.03)


@every_forest
def test_people_are_protected_by_groups(cls):
    X, y, model = squares(cls, 900, epsilon=4.0, n_estimators=2)
    model.fit(X, y, groups=np.arange(900) // 3)
    assert "group" in model.privacy_.relation
    assert all(tree.counts[0] < 600 for tree in model.trees_)


@every_forest
@pytest.mark.parametrize("n_rows", [200, 4000])
def test_noise_that_repeats_meets_no_sums_in_other_bins(cls, n_rows):
    """Bins follow from words that are not found, which trees know nothing of."""
    noise = []
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-2.0, 3.0)}
    for X in with_rare_words(n_rows):
        with taped() as tape:
            cls(2.0, max_categories=24, random_state=NoiseSeed(1), **bounds).fit(
                X, targets(cls, table(n_rows)))
        noise.append(tape.noise)
    assert not any(map(np.array_equal, *noise))


@pytest.mark.thorough
@every_forest
def test_pickles_clones_float32_and_memory_maps(cls, tmp_path):
    X, y, model = squares(cls, 500)
    X = X.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    expected = model.fit(X, y).predict(X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(mapped, y),
                  clone(model).fit(X.astype(np.float64), y)):
        np.testing.assert_array_equal(other.predict(X), expected)


@pytest.mark.thorough
def test_bounds_of_targets_are_learnt():
    X, y, model = squares(DPRandomForestRegressor, 2000, epsilon=4.0, target_bounds="auto")
    low, high = model.fit(X, 100 + 5 * y).target_bounds_
    assert 70 < low < high < 130 and model.score(X, 100 + 5 * y) > 0.2


@pytest.mark.parametrize("share", [0.02, 0.12])
@pytest.mark.parametrize("seed", range(3))
def test_a_rare_class_is_not_predicted_from_noise(share, seed):
    """Deviations of trees that noise explains were added up: up to .35 below a constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3300, 5))
    y = (rng.random(3300) < share).astype(int)
    model = DPRandomForestClassifier(classes=[0, 1], random_state=NoiseSeed(seed))
    model.fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 1.0 - y[300:].mean() - 0.06


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_coin_flips_are_no_surprise(seed, n_classes):
    """Sums of 30 trees of noise had log losses of 1.4 and 1.9: far from those of a constant."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2000, 30)), rng.integers(n_classes, size=2000)
    model = DPRandomForestClassifier(classes=range(n_classes), random_state=NoiseSeed(seed),
                                     n_estimators=30).fit(X[:1000], y[:1000])
    chances = model.predict_proba(X[1000:])[np.arange(1000), y[1000:]]
    assert -np.log(chances).mean() < math.log(n_classes) + 0.25


@pytest.mark.parametrize("seed", range(3))
def test_one_tree_finds_the_only_column_of_many(seed):
    """Drawn splits ask all of 100 columns alike; the accuracy was .51, that of one tree .84."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 100))
    y = (2.0 * X[:, 0] + rng.normal(size=2000) > 0).astype(int)
    model = DPRandomForestClassifier(classes=[0, 1], random_state=NoiseSeed(seed))
    assert model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.75
    assert len(model.trees_) == 1


def test_a_forest_of_one_tree_is_pure_where_bounds_are_declared():
    X, y, model = squares(DPRandomForestClassifier, 300)
    assert model.fit(X, y).privacy_.delta_at(1.0) == 0.0
    assert clone(model).set_params(n_estimators=10).fit(X, y).privacy_.delta_at(1.0) > 0.0
