"""At epsilon=inf coefficients are those of scikit-learn, or of the objective written out here.

Data are those that scikit-learn brings along. `data_norm` and `target_bounds` are wide, so that
nothing is scaled or clipped. Penalties stand beside the mean loss, on the scale of mapped
targets: docs/epsilon_inf.md has the conversions that are used here.
"""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn import datasets
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import dpsk
from dpsk import (
    DPAUCMaximizer,
    DPGroupDROClassifier,
    DPHuberRegressor,
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPMLPClassifier,
    DPPoissonRegressor,
    DPRidge,
)
from dpsk.accounting import NotPrivate
from dpsk.exceptions import PrivacyWarning
from tests.events import tally
from tests.registry import LINEAR, every_estimator, takes_groups, training_rows

#: The largest relative distance from the reference that passes.
BAR = 1e-4
WIDE = {"epsilon": np.inf, "data_norm": 1e6}
BOUNDS = (-50.0, 450.0)
HALF = 250.0
ALPHA = 1e-2
CLASSES = ("cancer", "raw cancer", "iris", "digits")

every_class_data = pytest.mark.parametrize("data", CLASSES)
with_and_without_intercept = pytest.mark.parametrize("fit_intercept", [True, False])
weighted_or_not = pytest.mark.parametrize("weighted", [False, True])
#: Ten classes take seconds, of which one combination stands for the others.
every_combination = pytest.mark.parametrize("data, fit_intercept, weighted", [
    pytest.param(data, intercept, weighted,
                 marks=pytest.mark.audit if data == "digits" and not (intercept and weighted)
                 else ())
    for data in CLASSES for intercept in (True, False) for weighted in (False, True)])


@cache
def rows(data):
    name = {"raw cancer": "breast_cancer", "cancer": "breast_cancer"}.get(data, data)
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if data == "digits":
        X, y = X[:400] / 16.0, y[:400]
    if data == "cancer":
        X = StandardScaler().fit_transform(X)
    return X, y


def weights_of(n, weighted):
    return np.random.default_rng(0).uniform(0.2, 4.0, size=n) if weighted else None


def gap(found, wanted):
    return float(np.linalg.norm(np.ravel(found) - np.ravel(wanted)) / np.linalg.norm(wanted))


def check(model, reference, bar=BAR):
    """Assert that both models are one, in coefficients and intercept."""
    assert gap(model.coef_, reference.coef_) <= bar
    if not model.fit_intercept:
        assert not np.any(model.intercept_)
        return
    both = [np.append(np.ravel(one.coef_), np.ravel(one.intercept_)) for one in (model, reference)]
    assert gap(*both) <= bar


@pytest.mark.covering(most=2)
@every_combination
def test_logistic_regression(data, fit_intercept, weighted):
    X, y = rows(data)
    class_weight = {0: 2.0, 1: 0.3} if weighted else None
    given = {"fit_intercept": fit_intercept, "class_weight": class_weight}
    weights = weights_of(len(y), weighted)
    model = DPLogisticRegression(alpha=ALPHA, **WIDE, **given).fit(X, y, sample_weight=weights)
    solver = "newton-cholesky" if data.endswith("cancer") else "lbfgs"
    reference = LogisticRegression(C=1 / (len(y) * ALPHA), solver=solver, tol=1e-10,
                                   max_iter=100_000, **given).fit(X, y, sample_weight=weights)
    check(model, reference)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), atol=1e-4)


@pytest.mark.covering(most=2)
@every_class_data
@weighted_or_not
def test_linear_svc(data, weighted):
    # liblinear penalizes the intercept; without one the objectives are the same.
    X, y = rows(data)
    weights = weights_of(len(y), weighted)
    model = DPLinearSVC(loss="squared_hinge", alpha=ALPHA, fit_intercept=False, **WIDE)
    scale = np.abs(X).max()
    model.fit(X / scale, y, sample_weight=weights)
    reference = LinearSVC(C=1 / (len(y) * ALPHA), dual=False, tol=1e-12, max_iter=10**6,
                          fit_intercept=False).fit(X / scale, y, sample_weight=weights)
    check(model, reference)


def test_linear_svc_with_an_intercept():
    X, y = rows("cancer")
    model = DPLinearSVC(loss="squared_hinge", alpha=ALPHA, **WIDE).fit(X, y)
    # At that scale the penalty on the intercept is nothing.
    reference = LinearSVC(C=1 / (len(y) * ALPHA), dual=False, tol=1e-12, max_iter=10**6,
                          intercept_scaling=1e4).fit(X, y)
    check(model, reference)


@pytest.mark.parametrize("data, fit_intercept", [
    ("diabetes", True), ("diabetes", False), ("cancer", True), ("cancer", False),
    # Without an intercept scikit-learn's LinearRegression truncates small singular values there.
    ("raw cancer", True)])
@weighted_or_not
def test_least_squares(data, fit_intercept, weighted):
    X, y = rows(data)
    weights = weights_of(len(y), weighted)
    given = {"fit_intercept": fit_intercept}
    model = DPLinearRegression(target_bounds=BOUNDS, **WIDE, **given)
    check(model.fit(X, y, sample_weight=weights),
          LinearRegression(**given).fit(X, y, sample_weight=weights))
    model = DPRidge(alpha=ALPHA, target_bounds=BOUNDS, **WIDE, **given)
    check(model.fit(X, y, sample_weight=weights),
          Ridge(alpha=len(y) * ALPHA, **given).fit(X, y, sample_weight=weights))


@with_and_without_intercept
def test_least_squares_of_least_norm_where_columns_repeat(fit_intercept):
    X, y = rows("diabetes")
    X = np.column_stack([X, X[:, :2], np.ones(len(y)), np.zeros(len(y))])
    model = DPLinearRegression(target_bounds=BOUNDS, fit_intercept=fit_intercept, **WIDE)
    check(model.fit(X, y), LinearRegression(fit_intercept=fit_intercept).fit(X, y))


@pytest.mark.parametrize("strength", [0.0, 1e-14])
@with_and_without_intercept
def test_a_vanishing_ridge_gives_the_least_norm(strength, fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 80)), rng.normal(size=30)
    model = DPRidge(alpha=strength, target_bounds=BOUNDS, fit_intercept=fit_intercept, **WIDE)
    check(model.fit(X, y), LinearRegression(fit_intercept=fit_intercept).fit(X, y))


@pytest.mark.parametrize("strength", [0.05, 0.5, 2.0])
@with_and_without_intercept
def test_the_lasso_in_both_forms(strength, fit_intercept):
    X, y = rows("diabetes")
    reference = Lasso(alpha=strength, tol=1e-12, max_iter=10**6,
                      fit_intercept=fit_intercept).fit(X, y)
    half = HALF if fit_intercept else max(map(abs, BOUNDS))
    given = {"target_bounds": BOUNDS, "fit_intercept": fit_intercept, **WIDE}
    check(DPLasso(radius=np.abs(reference.coef_).sum() / half, **given).fit(X, y), reference)
    check(DPRidge(penalty="l1", alpha=strength, **given).fit(X, y), reference)


def test_the_elastic_net():
    X, y = rows("cancer")
    y = y.astype(float)
    reference = ElasticNet(alpha=0.02, l1_ratio=0.5, tol=1e-12, max_iter=10**6).fit(X, y)
    for end in (1.0, 7.0):
        given = {"penalty": "elasticnet", "alpha": 0.02, "target_bounds": (-end, end), **WIDE}
        check(DPLinearRegression(**given).fit(X, y), reference)


def test_logistic_regression_with_sparse_coefficients():
    X, y = rows("cancer")
    model = DPLogisticRegression(penalty="l1", alpha=ALPHA, fit_intercept=False, **WIDE).fit(X, y)
    gradient = X.T @ (model.predict_proba(X)[:, 1] - y) / len(y)
    coef = model.coef_[0]
    assert 0 < np.count_nonzero(coef) < len(coef)
    assert np.abs(gradient).max() <= ALPHA * (1 + 1e-7)
    np.testing.assert_allclose(gradient[coef != 0], -ALPHA * np.sign(coef[coef != 0]), rtol=1e-7)


@pytest.mark.parametrize("strength", [0.0, 10.0])
def test_huber_regression_at_the_scale_that_scikit_learn_finds(strength):
    X, y = rows("diabetes")
    X = X / X.std(axis=0)
    reference = HuberRegressor(alpha=strength, tol=1e-9, max_iter=100_000).fit(X, y)
    model = DPHuberRegressor(
        threshold=reference.epsilon * reference.scale_ / HALF, target_bounds=BOUNDS,
        alpha=strength * reference.scale_ / len(y), **WIDE).fit(X, y)
    check(model, reference)


@pytest.mark.parametrize("threshold", [0.01, 0.1, 1.0])
@weighted_or_not
def test_huber_regression_against_its_objective(threshold, weighted):
    X, y = rows("diabetes")
    X = X / X.std(axis=0)
    weights = weights_of(len(y), weighted)
    model = DPHuberRegressor(threshold=threshold, target_bounds=BOUNDS, alpha=ALPHA, **WIDE)
    model.fit(X, y, sample_weight=weights)
    ones = np.ones(len(y)) if weights is None else weights

    def objective(theta):
        residuals = X @ theta[:-1] + theta[-1] - (y - 200.0) / HALF
        slopes = ones * np.clip(residuals, -threshold, threshold)
        size = np.abs(residuals)
        losses = np.where(size <= threshold, 0.5 * size**2, threshold * (size - 0.5 * threshold))
        ridge = np.append(ALPHA * theta[:-1], 0.0)
        return (np.mean(ones * losses) + 0.5 * theta @ ridge,
                np.append(X.T @ slopes, slopes.sum()) / len(y) + ridge)

    found = minimize(objective, np.zeros(11), jac=True, method="L-BFGS-B", options={
        "maxiter": 10**5, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-12}).x
    assert gap(model.coef_, HALF * found[:-1]) <= BAR
    assert gap(model.intercept_, HALF * found[-1] + 200.0) <= BAR


@pytest.mark.parametrize("strength", [0.0, 1e-3])
@with_and_without_intercept
@weighted_or_not
def test_poisson_regression(strength, fit_intercept, weighted):
    X, y = rows("diabetes")
    y = np.round(y / 20)
    # Without an intercept no row is predicted far above its target.
    high = 3.0 * y.max()
    weights = weights_of(len(y), weighted)
    model = DPPoissonRegressor(alpha=strength, target_bounds=(0, high), **WIDE,
                               fit_intercept=fit_intercept).fit(X, y, sample_weight=weights)
    # scikit-learn divides by the sum of weights, and here by the count of rows.
    total = 1.0 if weights is None else weights.mean()
    reference = PoissonRegressor(alpha=strength * high / total, tol=1e-12, max_iter=10**5,
                                 solver="newton-cholesky", fit_intercept=fit_intercept)
    check(model, reference.fit(X, y, sample_weight=weights))
    np.testing.assert_allclose(model.predict(X), reference.predict(X), rtol=1e-4)
    assert model.score(X, y, weights) == pytest.approx(reference.score(X, y, weights), rel=1e-3)


def test_ranking_by_the_logistic_loss():
    X, y = rows("cancer")
    model = DPAUCMaximizer(loss="logistic", alpha=ALPHA, **WIDE).fit(X, y)
    check(model, DPLogisticRegression(alpha=ALPHA, **WIDE).fit(X, y), 1e-12)


@pytest.mark.parametrize("loss", ["huberized_hinge", "sigmoid"])
def test_other_hinges_are_stationary(loss):
    X, y = rows("cancer")
    model = DPLinearSVC(loss=loss, alpha=ALPHA, **WIDE).fit(X, y)
    signs = 2 * y - 1
    margins = signs * model.decision_function(X)
    if loss == "sigmoid":
        p = 1 / (1 + np.exp(margins))
        slopes = -p * (1 - p)
    else:
        slopes = -np.clip(1 - margins, 0, 1)
    np.testing.assert_allclose(X.T @ (slopes * signs) / len(y) + ALPHA * model.coef_[0], 0,
                               atol=1e-7)
    assert abs(np.mean(slopes * signs)) < 1e-7 and model.score(X, y) > 0.95


@pytest.mark.parametrize("penalty", ["l2_ball", "l1_ball", "box", "simplex"])
@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_sets_hold_their_minimizer(penalty, data):
    X, y = rows(data)
    model = DPLogisticRegression(penalty=penalty, radius=0.5, **WIDE).fit(X, y)
    outputs = len(model.coef_)
    chosen = np.eye(3)[y] if outputs > 1 else y[:, None]
    slopes = (model.predict_proba(X)[:, -outputs:] - chosen) / len(y)
    gradient = slopes.T @ X
    # No point of the set is lower to first order, nor any intercept.
    lowest = {"l2_ball": -0.5 * np.linalg.norm(gradient), "l1_ball": -0.5 * np.abs(gradient).max(),
              "box": -0.5 * np.abs(gradient).sum(), "simplex": 0.5 * gradient.min()}[penalty]
    here = np.vdot(gradient, model.coef_)
    assert abs(here - lowest) <= 1e-8 * abs(lowest)
    np.testing.assert_allclose(slopes.sum(axis=0), 0, atol=1e-9)


def test_sparse_and_single_precision_rows_change_nothing():
    X, y = rows("cancer")
    model = DPLogisticRegression(alpha=ALPHA, **WIDE)
    reference = model.fit(X, y).coef_
    assert gap(model.fit(sparse.csr_matrix(X), y).coef_, reference) <= 1e-9
    assert gap(model.fit(X.astype(np.float32), y).coef_, reference) <= 1e-5


@pytest.mark.parametrize("penalty, bar", [("l2", 1e-4), ("l1", 1e-3)])
def test_more_columns_than_a_hessian_is_made_for(penalty, bar):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1100))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    params = {"alpha": 0.05, "penalty": penalty, **WIDE}
    found = DPLogisticRegression(**params).fit(X, y)
    slopes = (found.predict_proba(X)[:, 1] - y) / len(y)
    gradient, coef = X.T @ slopes, found.coef_[0]
    if penalty == "l2":
        assert gap(coef, -gradient / 0.05) <= bar
    else:
        assert np.abs(gradient).max() <= 0.05 * (1 + bar)
        np.testing.assert_allclose(gradient[coef != 0], -0.05 * np.sign(coef[coef != 0]),
                                   rtol=bar)


def test_bounds_are_enforced_without_noise_too():
    X, y = rows("cancer")
    model = DPLogisticRegression(epsilon=np.inf, alpha=ALPHA, data_norm=1.0).fit(X, y)
    short = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    check(model, DPLogisticRegression(alpha=ALPHA, **WIDE).fit(short, y), 1e-5)


@pytest.mark.covering(most=4)
@every_estimator
def test_a_fit_without_noise_says_so_once_and_first(cls):
    X, y = training_rows(cls())
    groups = {"groups": y} if takes_groups(cls) else {}
    model = cls(epsilon=np.inf)
    with pytest.warns(PrivacyWarning, match="epsilon=inf: no noise is added") as caught:
        model.fit(X, y, **groups)
    assert len(caught) == 1
    certificate = model.privacy_
    assert certificate.verify().epsilon == np.inf and set(tally(certificate.event)) == {
        NotPrivate()}
    assert dpsk.Certificate.from_json(certificate.to_json()) == certificate
    assert str(certificate).startswith("Not private")
    assert "Not private" in certificate._repr_html_()[:40]
    assert certificate.to_json()[:40].startswith('{"guarantee": "not private')


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_stages_do_not_apply_without_noise(name):
    X, y = training_rows(LINEAR[name]())
    model = LINEAR[name](epsilon=np.inf, precondition=True)
    if "temperature" in model.get_params():
        model.set_params(temperature=True)
    model.fit(X, y)
    assert model.preconditioner_ is None and getattr(model, "temperature_", None) is None


@pytest.mark.parametrize("delta", [None, 0, 0.0, 1e-6, 0.5])
@pytest.mark.parametrize("solver", ["auto", "gd", "sgd"])
def test_any_delta_goes_with_an_infinite_epsilon(delta, solver):
    X, y = rows("cancer")
    model = DPLogisticRegression(epsilon=np.inf, delta=delta, solver=solver).fit(X, y)
    assert not model.privacy_.verify().is_private


def test_descent_without_noise_comes_near():
    X, y = rows("cancer")
    exact = DPLogisticRegression(epsilon=np.inf, alpha=ALPHA, data_norm=10.0).fit(X, y)
    model = DPLogisticRegression(epsilon=np.inf, alpha=ALPHA, data_norm=10.0, solver="gd")
    assert gap(model.fit(X, y).coef_, exact.coef_) <= 1e-2
    with pytest.raises(ValueError, match="set learning_rate, or leave solver='auto'"):
        model.fit(X, y, sample_weight=np.full(len(y), 3.0))


def test_a_grid_may_hold_the_end_of_the_scale():
    X, y = rows("cancer")
    search = GridSearchCV(DPLogisticRegression(alpha=ALPHA, data_norm=10.0),
                          {"epsilon": [1e-3, np.inf]}, cv=3).fit(X, y)
    assert search.best_params_ == {"epsilon": np.inf}
    assert not search.best_estimator_.privacy_.is_private


def test_only_the_float_is_no_budget():
    X, y = rows("cancer")
    for epsilon in (10**400, "inf", -np.inf, np.nan):
        with pytest.raises(ValueError, match=r"^epsilon="):
            DPLogisticRegression(epsilon=epsilon).fit(X, y)
    with pytest.raises(ValueError, match="leave solver='auto'"):
        DPMLPClassifier(epsilon=np.inf, solver="rrpsgd").fit(X, y)
    with pytest.raises(ValueError, match="leave solver='auto'"):
        DPGroupDROClassifier(epsilon=np.inf, solver="privatediff").fit(X, y)


@pytest.mark.parametrize("small", [1.0, 1e-3, 1e-6])
def test_a_minimum_at_infinity_is_approached_and_nothing_is_cut_off_what_was_found(small):
    """Categories of single labels part the rows; a log loss of 4 to 15 was left of .27."""
    rng = np.random.default_rng(1)
    codes, n = rng.integers(0, 80, 400), 400
    X = np.zeros((n, 160))
    X[np.arange(n), codes] = 1.0
    X[np.arange(n), 80 + codes] = rng.uniform(size=n)**6 * (small**rng.random(80))[codes]
    y = (rng.random(n) < 0.25).astype(int)
    model = DPLogisticRegression(epsilon=np.inf, alpha=1e-20).fit(X, y)
    assert log_loss(y, model.predict_proba(X)) < 0.3
