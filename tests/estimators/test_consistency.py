"""As epsilon grows, default fits tend to those without noise: no clip, bound or floor is left."""

import numpy as np
import pytest

from dpsk import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
)
from dpsk.testing import NoiseSeed

_N = 12_000
CASES = [(DPLinearRegression, {}), (DPRidge, {"alpha": 0.01}), (DPHuberRegressor, {}),
         (DPHuberRegressor, {"alpha": 0.01}), (DPPoissonRegressor, {}),
         (DPPoissonRegressor, {"alpha": 0.01}), (DPLogisticRegression, {}),
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
    X, y = _table(cls)
    if cls not in (DPLogisticRegression, DPLinearSVC):
        low = 0.0 if cls is DPPoissonRegressor else float(y.min())
        params = {**params, "target_bounds": (low, float(y.max()))}
    exact = cls(np.inf, **params).fit(X, y).coef_
    gaps = {}
    for epsilon in (1.0, 1e4):
        coef = cls(epsilon, random_state=NoiseSeed(0), **params).fit(X, y).coef_
        gaps[epsilon] = np.linalg.norm(coef - exact) / np.linalg.norm(exact)
    print(f"{cls.__name__} {params}: {gaps}")
    # Noise is a tenth of this or less.
    assert gaps[1e4] < 0.02 < gaps[1.0]
