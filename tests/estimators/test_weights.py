"""Sample weights and class weights are part of the rows and change the fit as they should."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from dpsk.testing import NoiseSeed
from tests.estimators.pairs import build, ranks_pairs
from tests.registry import (
    ESTIMATORS,
    coefficients,
    documented_solvers,
    every_fit,
    is_linear,
    pair_marks,
    plain_bounds,
    takes_several_classes,
    training_rows,
)


def _marks(cls, solver):
    """Return the marks of a fit to thousands of rows: solvers of many small steps are slow."""
    return (*pair_marks(cls, solver), *[pytest.mark.audit] * solver.startswith("svrg"))


CLASSIFIER_FITS = [pytest.param(cls, solver, id=f"{name}-{solver}", marks=_marks(cls, solver))
                   for name, cls in sorted(ESTIMATORS.items()) if is_classifier(cls())
                   for solver in sorted(documented_solvers(cls))]
FITS = [pytest.param(cls, solver, id=f"{name}-{solver}", marks=_marks(cls, solver))
        for name, cls in sorted(ESTIMATORS.items()) for solver in sorted(documented_solvers(cls))]


@pytest.mark.covering(most=6)
@every_fit
@pytest.mark.parametrize("params, dtype", [({}, np.float64), ({"clip_norm": 0.05}, np.float32)],
                         ids=["default", "clipped"])
def test_weights_of_one_are_no_weights_under_a_seed(cls, solver, params, dtype):
    # Rows are too few for a bound on weights, which would have a privacy cost. The sum of weights
    # is not public as the count of rows is: moments tell them apart.
    intercept = solver != "sufficient_statistics"
    model = build(cls, solver, random_state=NoiseSeed(3), fit_intercept=intercept, **params)
    X, y = training_rows(model)
    X = X.astype(dtype)
    coef = coefficients(model.fit(X, y))
    for ones in (np.ones(len(y)), 1.0, [1] * len(y), np.ones(len(y), np.float32)):
        model.fit(X, y, sample_weight=ones)
        rtol = 1e-6 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(coefficients(model), coef, rtol=rtol)


@pytest.mark.covering(most=12)
@every_fit
def test_other_weights_draw_other_noise_under_a_seed(cls, solver):
    model = build(cls, solver, random_state=NoiseSeed(3))
    X, y = training_rows(model)
    weights = np.ones(len(y))
    first = coefficients(model.fit(X, y, sample_weight=weights))
    weights[0] = 0.5
    other = coefficients(model.fit(X, y, sample_weight=weights))
    # Of few vertices some may be the same, and sets may leave zeros.
    moved = (first != other)[(first != 0) & (other != 0)]
    if solver == "frank_wolfe":
        assert np.any(first != other)
    else:
        # In single precision numbers of another noise may fall together.
        assert moved.size and (moved.all() if is_linear(cls) else moved.mean() > 0.99)


def _two_halves(cls):
    """Rows without signal, half of the targets high and half of them low."""
    X = np.random.default_rng(0).uniform(-0.3, 0.3, size=(4000, 2))
    high = np.arange(4000) % 2 == 0
    low, top = (0, 1) if is_classifier(cls()) else plain_bounds(cls())
    return X, np.where(high, top, low), high


def _calm(cls):
    """Steps that end at the optimum of rows without signal, rather than around it."""
    return {} if is_linear(cls) else {"learning_rate": 0.1, "max_iter": 100, "clip_norm": 4.0}


def _mean_score(model, X):
    return getattr(model, "decision_function", model.predict)(X).mean()


@pytest.mark.covering(most=5)
@pytest.mark.parametrize("cls, solver", FITS)
def test_heavier_rows_pull_the_fit(cls, solver):
    if ranks_pairs(cls, solver):
        pytest.skip("rows without signal are ranked at random; see test_saddle_estimators")
    X, y, high = _two_halves(cls)
    for weights, sign in ((np.where(high, 1.0, 0.0), 1), (np.where(high, 0.05, 1.0), -1)):
        model = build(cls, solver, epsilon=20.0, **_calm(cls))
        plain = _mean_score(model.fit(X, y), X)
        weighted = _mean_score(model.fit(X, y, sample_weight=weights), X)
        print(f"{cls.__name__} {solver}: {plain:.2f} -> {weighted:.2f}")
        assert sign * (weighted - plain) > 0.1


@pytest.mark.covering(most=8)
@pytest.mark.parametrize("cls, solver", CLASSIFIER_FITS)
def test_a_heavier_class_is_predicted_more_often(cls, solver):
    if ranks_pairs(cls, solver):
        pytest.skip("the threshold stays midway between the mean scores")
    X, y, _ = _two_halves(cls)
    labels = np.array(["a", "b"])[y]
    plain = build(cls, solver, epsilon=20.0, **_calm(cls)).fit(X, labels)
    for heavy, weights in (("a", {"a": 4.0}), ("b", {"a": 0.1, "b": 1.0})):
        model = build(cls, solver, epsilon=20.0, class_weight=weights, **_calm(cls))
        model.fit(X, labels)
        assert np.mean(model.predict(X) == heavy) > max(
            0.95, np.mean(plain.predict(X) == heavy) - 0.05)


@pytest.mark.parametrize("cls, solver", CLASSIFIER_FITS)
def test_class_weights_that_are_all_one_change_nothing_but_the_noise(cls, solver):
    X, y = training_rows(cls())
    plain = build(cls, solver).fit(X, y).privacy_
    weighted = build(cls, solver, class_weight={0: 1.0, 1: 1}).fit(X, y).privacy_
    # The bounds and the noise follow from the weights alone.
    assert weighted.enforced == plain.enforced
    assert weighted.noise_multiplier == plain.noise_multiplier


@pytest.mark.parametrize("cls, solver", CLASSIFIER_FITS)
def test_class_weights_work_for_several_classes(cls, solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    if not takes_several_classes(cls, solver):
        with pytest.raises(ValueError, match="Only binary classification is supported"):
            build(cls, solver, class_weight={2: 5.0}).fit(X, y)
        return
    model = build(cls, solver, class_weight={2: 5.0}).fit(X, y)
    assert model.decision_function(X).shape == (90, 3)
    model.set_params(class_weight={2: 0.1}).fit(X, y, sample_weight=10 * rng.random(90))
    assert model.decision_function(X).shape == (90, 3)
