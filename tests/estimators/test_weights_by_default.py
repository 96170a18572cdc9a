"""With every parameter at its default, or nearly so, weights mean what they should."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression

from dpsk import DPHuberRegressor, DPLinearRegression, DPLinearSVC, DPPoissonRegressor, DPRidge
from dpsk.testing import NoiseSeed
from tests.registry import LINEAR, takes_several_classes, training_rows

every_linear = pytest.mark.parametrize("cls", LINEAR.values(), ids=LINEAR)


def _rows(cls, several=False):
    X, y = training_rows(cls())
    return X, (np.arange(len(y)) % 3 if several else y)


@pytest.mark.filterwarnings("ignore:alpha=0.1. has no effect:UserWarning")
@pytest.mark.covering(most=8)
@every_linear
@pytest.mark.parametrize("several", [False, True])
def test_weights_of_one_are_no_weights_under_a_seed(cls, several):
    # Rows are too few for a bound on weights, which would have a privacy cost.
    if several and not (is_classifier(cls()) and takes_several_classes(cls, "gd")):
        return
    X, y = _rows(cls, several)
    for params in ({}, {"alpha": 0.1}, {"alpha": 0.1, "penalty": "l1"},
                   {"penalty": "l2_ball", "radius": 2.0}):
        model = cls(random_state=NoiseSeed(3), **params)
        plain = model.fit(X, y)
        # The count of rows is public and the sum of weights is not: moments tell them apart.
        if plain.privacy_.solver == "sufficient_statistics":
            model.set_params(fit_intercept=False)
        coef, solver = model.fit(X, y).coef_, model.privacy_.solver
        model.fit(X, y, sample_weight=np.ones(len(y)))
        assert model.privacy_.solver == solver
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:alpha=0.1. has no effect:UserWarning")
@every_linear
@pytest.mark.parametrize("penalty", [{}, {"alpha": 0.1}, {"penalty": "l2_ball", "radius": 1.0},
                                     {"penalty": "l1_ball", "radius": 1.0}])
@pytest.mark.parametrize("several", [False, True])
def test_pure_epsilon_takes_weights_where_it_takes_rows(cls, penalty, several):
    if several and not is_classifier(cls()):
        return
    X, y = _rows(cls, several)
    model = cls(delta=0, **penalty)
    try:
        solver = model.fit(X, y).privacy_.solver
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20].replace("(", r"\(")):
            model.fit(X, y, sample_weight=np.full(len(y), 3.0))
    else:
        assert model.fit(X, y, sample_weight=np.full(len(y), 3.0)).privacy_.solver == solver


def _line(rng, n=20_000):
    """Rows within the unit ball, and targets within [-1, 1] on a line."""
    X = rng.uniform(-0.5, 0.5, size=(n, 3))
    return X, X @ [1.0, -0.5, 0.4]


@pytest.mark.parametrize("cls", [DPLinearRegression, DPRidge])
@pytest.mark.parametrize("weight", [1.0, 4.0, 1e6])
def test_the_size_of_equal_weights_does_not_bias_moments(cls, weight):
    X, y = _line(np.random.default_rng(0))
    model = cls(epsilon=1e3, alpha=0.0, solver="sufficient_statistics")
    model.fit(X, y, sample_weight=np.full(len(y), weight))
    assert model.privacy_.solver == "sufficient_statistics"
    assert model.score(X, y) > 0.999
    (bound,) = (b for b in model.privacy_.enforced if b.name == "weight_bound")
    assert weight <= bound.value < 2.0 * weight


def test_the_default_clip_of_several_hinges_does_not_depend_on_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 3
    clips = [next(b.value for b in DPLinearSVC().fit(X, y, **given).privacy_.enforced
                  if b.name == "clip_norm") for given in ({}, {"sample_weight": np.ones(300)})]
    assert clips[0] == clips[1]


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (1.0, 3.0), (-4.0, 1.0)])
@pytest.mark.parametrize("cls", [DPLinearRegression, DPRidge, DPHuberRegressor])
def test_without_an_intercept_a_regression_goes_through_zero(cls, bounds):
    rng = np.random.default_rng(1)
    X = rng.uniform(0.1, 0.55, size=(20_000, 3))
    y = X @ [0.5, 0.4, 0.9] * (-1 if bounds[0] < -1 else 1) * max(map(abs, bounds))
    y = np.clip(y, *bounds)
    reference = LinearRegression(fit_intercept=False).fit(X, y)
    model = cls(epsilon=np.inf, target_bounds=bounds, fit_intercept=False, alpha=0.0).fit(X, y)
    assert model.intercept_ == 0.0 and model.predict(np.zeros((1, 3)))[0] == max(bounds[0], 0.0)
    assert model.score(X, y) > reference.score(X, y) - 0.01
    if model.set_params(epsilon=1e3).fit(X, y).privacy_.solver == "sufficient_statistics":
        assert model.score(X, y) > reference.score(X, y) - 0.01


@pytest.mark.parametrize("high", [20.0, 0.5])
def test_without_an_intercept_a_count_at_zero_is_one(high):
    rng = np.random.default_rng(2)
    X = rng.uniform(-0.7, 0.7, size=(20_000, 2))
    coef = np.array([1.0, 0.5]) if high > 1 else np.array([-0.9, -0.5])
    y = np.minimum(np.exp(X @ coef), high)
    inside = np.exp(X @ coef) <= high
    model = DPPoissonRegressor(epsilon=np.inf, target_bounds=(0, high), fit_intercept=False)
    model.fit(X[inside], y[inside])
    assert model.predict(np.zeros((1, 2)))[0] == min(high, 1.0)
    assert model.score(X[inside], y[inside]) > 0.95
