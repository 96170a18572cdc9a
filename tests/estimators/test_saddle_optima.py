"""Without noise, every saddle loss of linear scores is optimized as its docstring states it."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpsk import DPAUCMaximizer, DPGroupDROClassifier

ALPHA, GROUP_PENALTY = 0.05, 0.3


def rows():
    """Return rows, labels and groups; another column decides in the smaller group."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    groups = (np.arange(300) % 10 == 0).astype(int)
    y = (X[np.arange(300), groups] + 0.5 * rng.normal(size=300) > 0.3).astype(int)
    return X, y, groups


def pairs():
    """Return the coefficients of a fit, and the objective of the mean over pairs of rows."""
    X, y, _ = rows()
    model = DPAUCMaximizer(np.inf, loss="auc", solver="sgda", alpha=ALPHA, max_iter=3000)
    scale = min(y.mean(), 1 - y.mean())

    def objective(w):
        z = X @ w
        gaps = 1 - (z[y == 1][:, None] - z[y == 0])
        return scale * np.square(gaps).mean() + 0.5 * ALPHA * w @ w

    return model.fit(X, y).coef_[0], objective, 3


def worst_group():
    """Return the parameters of a fit, and the risk maximized over the groups' weights."""
    X, y, groups = rows()
    model = DPGroupDROClassifier(np.inf, alpha=ALPHA, max_iter=3000, group_penalty=GROUP_PENALTY)
    model.fit(X, y, groups=groups)

    def objective(theta):
        z = X @ theta[:3] + theta[3]
        losses = np.logaddexp(0, z) - y * z
        risks = [losses[groups == group].mean() for group in (0, 1)]
        first = np.clip(0.5 + (risks[0] - risks[1]) / (2 * GROUP_PENALTY), 0, 1)
        value = first * risks[0] + (1 - first) * risks[1] - GROUP_PENALTY * (first - 0.5)**2
        return value + 0.5 * ALPHA * theta[:3] @ theta[:3]

    return np.append(model.coef_, model.intercept_), objective, 4


CASES = {"AUCSquare": pairs, "GroupRisk": worst_group}


@pytest.mark.parametrize("name", CASES)
def test_a_fit_without_noise_is_the_optimum_of_the_stated_objective(name):
    found, objective, size = CASES[name]()
    best = minimize(objective, np.zeros(size), tol=1e-10)
    print(name, objective(found) - best.fun, found - best.x)
    assert objective(found) - best.fun <= 1e-5
    np.testing.assert_allclose(found, best.x, atol=0.01)
