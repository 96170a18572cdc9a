"""Linear models and networks scale features of small units by released powers of two."""

import numpy as np
import pytest
from scipy import sparse

from dpsk import (
    DPLinearRegression,
    DPLogisticRegression,
    DPMLPClassifier,
    DPMLPRegressor,
    DPRidge,
    accounting,
)
from dpsk.testing import NoiseSeed
from tests.registry import LINEAR

UNITS = np.array([1e-5, 1.0, 1e5, 30.0, 1e-2])
every_linear = pytest.mark.parametrize("cls", LINEAR.values())


def rows(units=UNITS, n=8000):
    """Return rows in these units, not centered, and scores and their signs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    score = X @ [1.0, -1.0, 0.0, 0.5, 1.0]
    return (X + 2.0) * units, score, (score + 0.5 * rng.normal(size=n) > 0.0).astype(int)


def fitted(cls, X, y, **params):
    given = {"max_iter": None} if "max_iter" in cls().get_params() else {}
    return cls(epsilon=2.0, random_state=NoiseSeed(0), **given, **params).fit(X, y)


@every_linear
def test_scores_do_not_depend_on_units(cls):
    """Correlations with the true score were .3 to .7."""
    X, score, y = rows()
    # An l2 penalty is on the coefficients of features as they are.
    free = {"alpha": 0.0} if cls is DPRidge else {}
    model = fitted(cls, X, y, **free)
    assert np.corrcoef(X @ np.ravel(model.coef_), score)[0, 1] > 0.95
    np.testing.assert_array_equal(np.log2(model.feature_scales_) % 1.0, 0.0)
    assert model.feature_scales_[2] == 1.0
    assert 0.01 < (UNITS / model.feature_scales_).min() / UNITS[2] < 0.2
    # The bound is one on scaled rows, less a center in the features' own units.
    assert 0.3 < model.data_norm_ / UNITS[2] < 20.0
    np.testing.assert_allclose(model.center_ / UNITS, 2.0, atol=2.0)


@pytest.mark.parametrize("cls", [DPMLPClassifier, DPMLPRegressor])
def test_networks_see_scaled_features(cls):
    X, score, y = rows()
    target = {"target_bounds": (-8.0, 8.0)} if cls is DPMLPRegressor else {}
    model = fitted(cls, X, score if target else y, **target)
    assert model.score(X, score if target else y) > 0.8
    assert 0.01 < (UNITS / model.feature_scales_).min() / UNITS[2] < 0.2
    np.testing.assert_allclose(model.center_ / UNITS, 2.0, atol=2.0)
    whitened = (X - model.center_) @ model.preconditioner_
    assert 0.2 < whitened.std(axis=0).min() < whitened.std(axis=0).max() < 5.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_coefficients_and_intercept_are_for_rows_as_they_are(dtype):
    X, _, y = rows()
    X = X.astype(dtype)
    model = fitted(DPLogisticRegression, X, y)
    assert model.coef_.dtype == model.center_.dtype == model.preconditioner_.dtype == dtype
    np.testing.assert_allclose(model.decision_function(X),
                               X @ model.coef_[0] + model.intercept_, rtol=1e-3, atol=1e-3)
    assert abs(model.decision_function(X).mean()) < 2.0
    assert 0.4 < (model.predict(X) == 1).mean() < 0.6


def test_rows_of_one_length_are_scaled_in_prediction_too():
    X, score, y = rows()
    model = fitted(DPLogisticRegression, X, y, precondition="unit_norm")
    assert np.corrcoef(model.decision_function(X), score)[0, 1] > 0.9
    np.testing.assert_allclose(model.predict(sparse.csr_array(X)), model.predict(X))


def test_choices_are_charged_and_stated():
    X, _, y = rows()
    model = fitted(DPLogisticRegression, X, y)
    assert accounting.delta(model.privacy_.event, 2.0) <= model.privacy_.delta
    assert "feature_scales_" in model.privacy_.released
    (line,) = (line for line in model.privacy_.enforced if line.name == "feature_scales")
    assert line.origin == "released"
    assert line.value == [model.feature_scales_.min(), model.feature_scales_.max()]


def test_features_of_like_scales_stay_as_they_are():
    X, _, y = rows(units=np.array([1.0, 2.0, 1.5, 0.8, 1.0]))
    np.testing.assert_array_equal(fitted(DPLogisticRegression, X, y).feature_scales_, 1.0)


@pytest.mark.parametrize("X, params", [
    (sparse.csr_array(rows()[0]), {}), (rows()[0], {"data_norm": 1e5}),
    (rows()[0], {"groups": np.arange(8000) // 2}), (rows()[0][:100], {}),
    (rows()[0], {"penalty": "l2_ball", "radius": 1.0})],
    ids=["sparse", "declared", "groups", "few rows", "set"])
def test_other_rows_are_not_scaled(X, params):
    y = rows()[2][:X.shape[0]]
    groups = params.pop("groups", None)
    model = fitted(DPLogisticRegression, *rows()[::2])
    assert model.feature_scales_ is not None
    model.set_params(**params).fit(X, y, groups=groups)
    assert model.feature_scales_ is None
    assert "feature_scales_" not in model.privacy_.released


def test_an_l2_penalty_stays_on_the_coefficients_of_rows_as_they_are():
    """A unit a thousand times smaller makes a coefficient larger, and so its penalty."""
    X = rows()[0]
    sizes = []
    for times in (1.0, 1e-3):
        y = 5e-5 * (X[:, 2] / UNITS[2]) + X[:, 1]
        own = X * np.array([1.0, times, 1.0, 1.0, 1.0])
        model = DPRidge(epsilon=50.0, alpha=0.1, target_bounds=(-5.0, 9.0),
                        random_state=NoiseSeed(0)).fit(own, y)
        assert model.feature_scales_ is not None
        sizes.append(model.coef_[1] * times)
    assert sizes[0] > 0.8 > 0.2 > abs(sizes[1])


@pytest.mark.parametrize("value", [1e300, -1.7e308, 5e-324])
def test_extreme_rows_leave_finite_models(value):
    X, _, y = rows()
    X[0], X[1, 2] = value, -value
    model = fitted(DPLogisticRegression, X, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
    assert model.score(X[2:], y[2:]) > 0.8


def test_noise_of_coefficients_is_known_in_their_units():
    X, score, _ = rows(n=4000)
    X -= 2.0 * UNITS
    fits = [DPLinearRegression(300.0, target_bounds=(-8.0, 8.0), random_state=NoiseSeed(seed)).fit(
        X, score) for seed in range(20)]
    assert fits[0].feature_scales_ is not None
    told = fits[0].summary(20).coef_std
    ratios = told / np.std([fit.coef_ for fit in fits], axis=0, ddof=1)
    assert (ratios > 0.3).all() and (ratios < 3.0).all()
