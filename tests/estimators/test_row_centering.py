"""Linear models center rows at released means, so that features may lie far from 0."""

import numpy as np
import pytest
from scipy import sparse

from dpsk import (
    DPAUCMaximizer,
    DPLogisticRegression,
    DPMLPClassifier,
    DPMLPRegressor,
    DPPoissonRegressor,
    accounting,
)
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.registry import LINEAR

every_linear = pytest.mark.parametrize("cls", LINEAR.values())


def rows(offset, n=4000):
    """Return rows of unit variance about an offset, and scores and their signs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    score = X @ [1.0, -1.0, 0.5, 0.0, 0.0]
    return X + offset, score, (score + 0.5 * rng.normal(size=n) > 0.0).astype(int)


def fitted(cls, X, y, **params):
    given = {"max_iter": None} if "max_iter" in cls().get_params() else {}
    return cls(epsilon=2.0, random_state=NoiseSeed(0), **given, **params).fit(X, y)


@every_linear
@pytest.mark.parametrize("offset", [30.0, np.array([0.0, 0.0, 0.0, 0.0, 300.0]), -1e4, 1e6],
                         ids=["all columns", "one column", "farther", "as time stamps"])
def test_scores_do_not_depend_on_how_far_features_are_from_0(cls, offset):
    """Correlations with the true score were down to .2, and down to 0 from afar in four rounds."""
    X, score, y = rows(offset)
    model = fitted(cls, X, y)
    found = X @ np.ravel(model.coef_)
    assert np.corrcoef(found, score)[0, 1] > 0.9
    np.testing.assert_allclose(model.center_, X.mean(axis=0), atol=1.0)
    assert model.data_norm_ < 10.0


@pytest.mark.parametrize("cls", [DPLogisticRegression, DPMLPClassifier])
def test_rows_that_few_rounds_leave_far_from_0_are_warned_of(cls):
    """Two rounds are affordable. No score was better than a constant, and nothing said so."""
    for offset in (0.0, 3.0):
        X, _, y = rows(offset, n=2000)
        assert len(cls(epsilon=0.7, random_state=NoiseSeed(0)).fit(X, y).center_) == 5
    for offset in (1e4, np.array([0.0, 0.0, 0.0, 0.0, -1e6])):
        X, _, y = rows(offset, n=2000)
        with pytest.warns(PrivacyWarning, match="lie far from 0.* public constant"):
            cls(epsilon=0.7, random_state=NoiseSeed(0)).fit(X, y)


@pytest.mark.parametrize("X", [rows(30.0)[0], rows(30.0)[0].astype(np.float32)],
                         ids=["double", "single"])
def test_coefficients_and_intercept_are_for_rows_as_they_are(X):
    model = fitted(DPLogisticRegression, X, rows(30.0)[2])
    assert model.coef_.dtype == model.intercept_.dtype == model.center_.dtype == X.dtype
    np.testing.assert_allclose(model.decision_function(X),
                               X @ model.coef_[0] + model.intercept_, rtol=1e-3, atol=1e-3)
    assert abs(model.decision_function(X).mean()) < 2.0


@pytest.mark.parametrize("cls, params", [
    (DPLogisticRegression, {"precondition": "unit_norm"}), (DPPoissonRegressor, {})])
def test_maps_of_prediction_are_about_the_center(cls, params):
    X, score, y = rows(30.0)
    model = fitted(cls, X, y, **params)
    found = model.decision_function(X) if params else np.log(model.predict(X))
    assert np.corrcoef(found, score)[0, 1] > 0.8
    of_sparse = model.predict(sparse.csr_array(X))
    np.testing.assert_allclose(of_sparse, model.predict(X))
    # Scores do not grow on the ray from the center through a row.
    away = model.center_ + 100.0 * (X - model.center_)
    of_away = model.decision_function(away) if params else np.log(model.predict(away))
    assert np.ptp(of_away) < 2.0 * np.ptp(found)


@pytest.mark.parametrize("cls", [DPMLPClassifier, DPMLPRegressor])
def test_networks_see_rows_about_the_center(cls):
    """At an offset of 100 deviations, scores were those of a constant."""
    X, score, y = rows(100.0)
    target = {"target_bounds": (-6.0, 6.0)} if cls is DPMLPRegressor else {}
    model = fitted(cls, X, score if target else y, **target)
    assert model.score(X, score if target else y) > 0.75
    np.testing.assert_allclose(model.center_, X.mean(axis=0), atol=1.0)
    assert list(model.privacy_.released).count("center_") == 1


def test_rounds_are_charged_and_stated():
    X, _, y = rows(30.0)
    model = fitted(DPLogisticRegression, X, y)
    assert accounting.delta(model.privacy_.event, 2.0) <= model.privacy_.delta
    assert "center_" in model.privacy_.released
    (norms,) = (line for line in model.privacy_.enforced if line.name == "center_norms")
    assert norms.origin == "released" and len(norms.value) == 7
    # Rounds leave rows nearer to 0, and three of them are enough here.
    assert norms.value[0] > 60.0 > 10.0 > max(norms.value[3:])


@pytest.mark.parametrize("X, params", [
    (sparse.csr_array(rows(30.0)[0]), {}), (rows(30.0)[0], {"data_norm": 80.0}),
    (rows(30.0)[0], {"fit_intercept": False}), (rows(30.0)[0][:60], {})],
    ids=["sparse", "declared", "no intercept", "few rows"])
def test_other_rows_are_not_centered(X, params):
    y = rows(30.0)[2][:X.shape[0]]
    model = fitted(DPLogisticRegression, rows(30.0)[0], rows(30.0)[2])
    assert model.center_ is not None
    with pytest.warns() if X.shape[0] == 60 else pytest.MonkeyPatch.context():
        model.set_params(**params).fit(X, y)
    assert model.center_ is None
    assert "center_" not in model.privacy_.released


def test_a_network_keeps_nothing_of_a_linear_score():
    X, _, y = rows(30.0, n=400)
    fits = [DPAUCMaximizer(max_iter=2, random_state=NoiseSeed(0)) for _ in range(2)]
    fits[0].fit(X, y)
    for model in fits:
        model.set_params(hidden_layer_sizes=(3,)).fit(X, y)
    assert vars(fits[0]).keys() == vars(fits[1]).keys()


@pytest.mark.parametrize("n, epsilon, d", [(18, 64.0, 2), (45, 16.0, 1), (51, 16.0, 3)])
def test_a_center_is_stated_only_where_it_was_released(n, epsilon, d):
    """Rounds were counted by rows with their constant after they were offered without it."""
    X = np.random.default_rng(0).normal(size=(n, d)) + 30.0
    model = DPLogisticRegression(epsilon=epsilon, delta=1e-4, random_state=NoiseSeed(0)).fit(
        X, X[:, 0] > 30.0)
    norms = [line.value for line in model.privacy_.enforced if line.name == "center_norms"]
    assert all(norms)
    assert (model.center_ is not None) == bool(norms) == ("center_" in model.privacy_.released)


def test_public_rows_may_be_sparse_beside_rows_that_are_centered():
    """What they were centered by took them for dense, after noise had been drawn."""
    X, _, y = rows(30.0)
    found = [DPLogisticRegression(
        epsilon=2.0, alpha=0.0, solver="stgd", max_iter=10, solver_options={"holdout": "public"},
        random_state=NoiseSeed(0)).fit(X[200:], y[200:], public_X=public, public_y=y[:200])
        for public in (X[:200], sparse.csr_array(X[:200]))]
    assert found[0].center_ is not None
    np.testing.assert_allclose(found[0].coef_, found[1].coef_, rtol=1e-9)


@pytest.mark.parametrize("value", [1e300, -1.7e308, 5e-324])
def test_extreme_rows_leave_finite_models(value):
    X, _, y = rows(30.0)
    X[0], X[1, 2] = value, -value
    model = fitted(DPLogisticRegression, X, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
    assert model.score(X[2:], y[2:]) > 0.8
