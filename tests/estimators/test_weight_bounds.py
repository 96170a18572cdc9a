"""The unit of sample weights has no meaning: their bound is learned, charged and stated."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.metrics import balanced_accuracy_score

from dpsk import (
    DPDecisionTreeRegressor,
    DPGaussianNB,
    DPGradientBoostingClassifier,
    DPGradientBoostingRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPMLPClassifier,
    DPRidge,
    DPTunedThresholdClassifier,
)
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import spent, taped
from tests.instruments import repeated_stream
from tests.registry import ALL_ESTIMATORS, takes_groups

WEIGHTED = {name: cls for name, cls in sorted(ALL_ESTIMATORS.items())
            if "sample_weight" in inspect.signature(cls.fit).parameters
            and cls.__module__.split(".")[1] not in ("model_selection", "pipeline")}
every_weighted = pytest.mark.parametrize("name", WEIGHTED)
every_grouped = pytest.mark.parametrize("name", [
    "DPAdditiveClassifier", "DPBernoulliNB", "DPDecisionTreeClassifier", "DPLogisticRegression",
    "DPMLPClassifier"])
N, ROW = 240, 5
#: What keeps fits short.
SHORT = {"hidden_layer_sizes": (4,), "n_estimators": 2, "max_depth": 2, "max_iter": 4,
         "classes": [0, 1], "n_clusters": 2}


def build(name, **params):
    """Return an estimator with few steps and a large budget."""
    model = WEIGHTED[name](**{"epsilon": 60.0, "delta": 1e-4, "random_state": 0, **params})
    own = model.get_params()
    return model.set_params(**{key: value for key, value in SHORT.items() if key in own})


def rows(name, n=N):
    """Return the arguments of a fit, and weights of two sizes."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(n, 3)))
    y = (X[:, 0] + 0.3 * rng.normal(size=n) > 0.7).astype(int)
    y = X[:, 0] if is_regressor(WEIGHTED[name]()) else y
    more = {"groups": np.arange(n) % 2} if takes_groups(WEIGHTED[name]) else {}
    return (X, y), more, np.where(np.arange(n) % 4 == 0, 1.0, 0.11)


def shown(name, data, more, weights, answers=None, **params):
    """Return the model, all that it shows, and the tape of its releases."""
    with repeated_stream(), taped(answers) as tape, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = build(name, **params).fit(*data, sample_weight=weights, **more)
    return model, pickle.dumps((vars(model), [str(one.message) for one in said],
                                model.privacy_.to_json())), tape


def bound_of(model):
    """Return the stated bound on weights; there is one."""
    (bound,) = [line.value for line in model.privacy_.enforced if line.name == "weight_bound"]
    return bound


def numbers(model):
    """Return the scores of a model for other rows, or its distances from them."""
    predict = next(getattr(model, name) for name in (
        "decision_function", "transform", "predict") if hasattr(model, name))
    return predict(np.abs(np.random.default_rng(1).normal(size=(50, 3))))


@pytest.mark.covering(most=10)
@every_weighted
def test_multiplied_weights_change_nothing(name):
    data, more, weights = rows(name)
    model, *_ = shown(name, data, more, weights)
    assert bound_of(model) == 1.0
    for factor in (2.0**10, 2.0**-20):
        other, *_ = shown(name, data, more, factor * weights)
        assert bound_of(other) == factor
        np.testing.assert_array_equal(numbers(model), numbers(other))
    # Other factors change the bound by less than twice theirs.
    for factor in (1000.0, 1.0 / weights.sum()):
        assert 1.0 <= bound_of(shown(name, data, more, factor * weights)[0]) / factor < 2.0


@pytest.mark.covering(most=6)
@every_weighted
def test_a_row_of_another_weight_moves_no_total_beyond_its_price_and_shows_in_nothing_else(name):
    data, more, weights = rows(name)
    _, face, tape = shown(name, data, more, weights)
    largest = 0.0
    for weight in (0.0, 0.3, 1e9, 1e-9):
        other = weights.copy()
        other[ROW] = weight
        _, changed, replayed = shown(name, data, more, other, tape.answers)
        assert changed == face and repr(replayed.public) == repr(tape.public)
        for events, parts, here, there in zip(tape.events, tape.parts, tape.totals,
                                              replayed.totals, strict=True):
            share = spent(events[0], parts, [a - b for a, b in zip(here, there, strict=True)])
            assert share <= 1.0 + 1e-6
            if here[0].shape == (129,):
                largest = max(largest, share)
    # The counts of weights are the tight case.
    assert largest == pytest.approx(1.0, abs=1e-6)


@every_grouped
def test_a_group_moves_the_counts_of_weights_by_no_more_than_a_row(name):
    (X, y), _, weights = rows(name)
    groups = np.arange(N) // 3
    more = {"groups": groups}
    _, face, tape = shown(name, (X, y), more, weights)
    for other in (np.where(groups == 1, 1e9, weights), np.where(groups == 1, 0.0, weights)):
        _, changed, replayed = shown(name, (X, y), more, other, tape.answers)
        assert changed == face
        for events, parts, here, there in zip(tape.events, tape.parts, tape.totals,
                                              replayed.totals, strict=True):
            assert spent(events[0], parts, [a - b for a, b in zip(here, there, strict=True)]) <= (
                1.0 + 1e-6)


@every_grouped
def test_one_publicly_drawn_row_of_a_group_counts_and_the_certificate_says_so(name):
    (X, y), _, weights = rows(name)
    made = {"data_norm": 1.0} if name in ("DPLogisticRegression", "DPMLPClassifier") else {}
    one, other = (build(name, random_state=NoiseSeed(0), **made).fit(
        X, y, sample_weight=weights, groups=np.arange(N) // 2) for _ in range(2))
    assert bound_of(one) == bound_of(other) in (0.125, 1.0)
    np.testing.assert_array_equal(numbers(one), numbers(other))
    assert sum("stands for its group" in fact for fact in one.privacy_.public) == 1


def test_few_large_weights_do_not_set_the_bound():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    weights = np.where(np.arange(2000) < 5, 1e6, 1.0)
    model = DPLinearRegression(2.0, random_state=NoiseSeed(0)).fit(X, X[:, 0],
                                                                   sample_weight=weights)
    assert bound_of(model) == 1.0


def test_a_part_of_a_model_learns_no_bound_of_its_own():
    data, _, weights = rows("DPGradientBoostingClassifier")
    model, _, tape = shown("DPGradientBoostingClassifier", data, {}, 8.0 * weights)
    assert bound_of(model) == 8.0 == bound_of(model.init_)
    assert sum(total[0].shape == (129,) for total in tape.totals) == 1


@pytest.mark.parametrize("params", [{"epsilon": 0.1}, {"delta": 0}])
def test_without_a_bound_a_warning_says_so_whatever_the_weights(params):
    X, y = np.zeros((100, 2)), np.arange(100) % 2
    for weights in (np.ones(100), np.full(100, 1e6), np.arange(100.0)):
        with pytest.warns(PrivacyWarning, match="sample_weight: .* a bound on weights"):
            DPLogisticRegression(**params, data_norm=1.0).fit(X, y, sample_weight=weights)
    # Class weights are public.
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "sample_weight")
        warnings.filterwarnings("ignore", "epsilon=")
        DPLogisticRegression(**params, data_norm=1.0, class_weight={0: 3.0}).fit(X, y)


def test_balancing_weights_act_as_class_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=4000) > 2.0
    ratio = (~y).sum() / y.sum()

    def balanced(model, **more):
        return balanced_accuracy_score(y, model.fit(X, y, **more).predict(X))

    for cls, least in ((DPLogisticRegression, 0.77), (DPGradientBoostingClassifier, 0.74),
                       (DPMLPClassifier, 0.74)):
        given = {"epsilon": 4.0, "random_state": NoiseSeed(0)}
        assert balanced(cls(**given)) < 0.65
        assert balanced(cls(**given), sample_weight=np.where(y, ratio, 1.0)) > least


def test_a_heavy_group_turns_the_slope_in_any_unit():
    rng = np.random.default_rng(1)
    X, heavy = rng.normal(size=(4000, 4)), rng.random(4000) < 0.2
    y = np.where(heavy, 1.0, -1.0) * X[:, 0] + 0.3 * rng.normal(size=4000)
    for low, high in ((1.0, 20.0), (50.0, 1000.0), (1e-4, 2e-3)):
        model = DPRidge(4.0, random_state=NoiseSeed(0))
        model.fit(X, y, sample_weight=np.where(heavy, high, low))
        # Without noise it is 0.67.
        assert 0.5 < model.coef_[0] < 0.85


@pytest.mark.covering(most=6)
@pytest.mark.parametrize("name", [name for name, cls in WEIGHTED.items()
                                  if not hasattr(cls(), "solver")])
def test_without_noise_the_unit_of_weights_does_not_matter_either(name):
    # The objective of a solver without noise has weights as they are.
    data, more, weights = rows(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [numbers(build(name, epsilon=np.inf).fit(*data, sample_weight=each, **more))
                 for each in (weights, 32.0 * weights)]
    np.testing.assert_array_equal(*found)


@pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")
@pytest.mark.parametrize("make", [
    lambda: DPGradientBoostingRegressor(8.0, delta=1e-4, target_bounds=(-3.0, 3.0), max_iter=2),
    lambda: DPTunedThresholdClassifier(DPGaussianNB(), epsilon=20.0, delta=1e-4),
    lambda: DPDecisionTreeRegressor(np.inf, target_bounds=(-3.0, 3.0))],
    ids=["boosting", "threshold", "without noise"])
def test_no_weights_end_a_fit_after_its_charge(make):
    """They did where a part of a fit got weights of 0 alone."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300, 2)), np.arange(300) // 3
    y = X[:, 0] if is_regressor(make()) else (X[:, 0] > 0).astype(int)
    for place in range(0, 300, 60):
        weights = np.zeros(300)
        weights[place] = 1e-37
        make().fit(X, y, sample_weight=weights, groups=groups)
