"""As epsilon grows, default fits tend to those without noise: no clip, bound or floor is left."""

import numpy as np
import pytest
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from dpsk import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPRidge,
)

_N = 12_000
#: So large an epsilon that noise shows in no bar below, and not so large that there is none.
_MUCH = 1e6
CASES = [(DPLinearRegression, {}), (DPRidge, {"alpha": 0.01}), (DPHuberRegressor, {}),
         (DPHuberRegressor, {"alpha": 0.01}), (DPPoissonRegressor, {}),
         (DPPoissonRegressor, {"alpha": 0.01}),
         (DPQuantileRegressor, {"quantile": 0.8}), (DPLogisticRegression, {}),
         (DPLogisticRegression, {"alpha": 0.01}),
         (DPLogisticRegression, {"fit_intercept": False}), (DPLinearSVC, {}),
         (DPLinearSVC, {"loss": "squared_hinge"}), (DPLinearSVC, {"alpha": 0.01})]


def _table(cls):
    """Return rows of unlike columns and targets of a linear signal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_N, 4)) * [1.0, 3.0, 0.3, 1.0] + [0.0, 1.0, 0.0, 0.0]
    signal = X @ [1.0, -0.5, 1.0, 0.0] + 0.3
    if cls is DPPoissonRegressor:
        return X, rng.poisson(np.exp(np.clip(signal / 3, -3, 3)))
    if cls in (DPLogisticRegression, DPLinearSVC):
        return X, (signal + rng.logistic(size=_N) > 0).astype(int)
    return X, signal + 0.5 * rng.normal(size=_N)


@pytest.mark.parametrize("cls, params", CASES, ids=str)
def test_coefficients_tend_to_those_without_noise(cls, params):
    """Noise is a tenth of the bar or less: a clip or floor that moves them by 2 % fails."""
    X, y = _table(cls)
    if cls not in (DPLogisticRegression, DPLinearSVC):
        low = 0.0 if cls is DPPoissonRegressor else float(y.min())
        params = {**params, "target_bounds": (low, float(y.max()))}
    exact = cls(np.inf, **params).fit(X, y).coef_
    coef = cls(_MUCH, **params).fit(X, y).coef_
    gap = np.linalg.norm(coef - exact) / np.linalg.norm(exact)
    print(f"{cls.__name__} {params}: {gap}")
    assert 0.0 < gap < 0.02


def test_classifiers_without_noise_have_the_default_penalty_of_scikit_learn():
    """Rows as they come, which a line divides: a log loss of 2.8 was left of .14."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    model = DPLogisticRegression(np.inf).fit(X, y)
    wanted = LogisticRegression(max_iter=10_000).fit(X, y).predict_proba(X_test)
    found = model.predict_proba(X_test)
    assert abs(log_loss(y_test, found) - log_loss(y_test, wanted)) < 0.01
    assert np.abs(DPLinearSVC(np.inf).fit(X, y).coef_).max() < 10.0
    # A penalty of its own stays.
    none = DPLogisticRegression(np.inf, alpha=1e-12).fit(X, y)
    assert np.linalg.norm(none.coef_) > 2.0 * np.linalg.norm(model.coef_)


@pytest.mark.covering(most=3)
@pytest.mark.parametrize("data, cls, params, bar", [
    ("breast_cancer", DPLogisticRegression, {}, 0.1),
    ("breast_cancer", DPLogisticRegression, {"fit_intercept": False}, 0.1),
    ("breast_cancer", DPLinearSVC, {}, 0.05),
    ("digits", DPLogisticRegression, {}, 0.05),
    ("diabetes", DPRidge, {}, 0.03),
    ("diabetes", DPHuberRegressor, {}, 0.03),
    ("diabetes", DPPoissonRegressor, {}, 0.03),
], ids=str)
def test_small_tables_with_a_penalty_are_fitted_too(data, cls, params, bar):
    """Some hundred rows, whose bound is that of the longest: eight deviations of the gap or more
    lie between its mean and the bar."""
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    params = {"alpha": 0.01, "data_norm": 1.001 * np.linalg.norm(X, axis=1).max(), **params}
    if data == "diabetes":
        params["target_bounds"] = (0.0, 400.0)
    noisy = cls(_MUCH, **params).fit(X, y)
    if cls is DPHuberRegressor:
        # Its threshold is a share of the bounds that held.
        params["target_bounds"] = noisy.target_bounds_
    exact = cls(np.inf, **params).fit(X, y).coef_
    gap = np.linalg.norm(noisy.coef_ - exact) / np.linalg.norm(exact)
    print(f"{cls.__name__} on {data}: {gap:.4f}")
    assert gap < bar
