"""Without noise the solvers inside sets keep to the bounds of their theorems.

The least value is known to 1e-9 from a duality gap, which needs the set's support function only.
"""

from functools import lru_cache

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from dpsk import DPLogisticRegression
from dpsk._models.clipping import HEADROOM
from dpsk._solvers.constrained.mirror import make_geometry
from tests.registry import make_penalty

RADIUS, BOUND = 3.0, 0.5
#: Least product of a vector with a point of the set of size 1.
SUPPORT = {
    "l1_ball": lambda g: -np.abs(g).max(),
    "l2_ball": lambda g: -np.linalg.norm(g),
    "box": lambda g: -np.abs(g).sum(),
    "simplex": np.min,
}
MIRROR = [("l1_ball", "entropy"), ("l1_ball", "euclidean"), ("l2_ball", "euclidean"),
          ("box", "euclidean"), ("simplex", "entropy"), ("simplex", "euclidean")]


@lru_cache
def rows():
    """Return rows as they enter, the constant last, and labels."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    lengths = np.linalg.norm(X, axis=1)[:, None]
    entering = np.clip(X * np.minimum(1.0, HEADROOM / lengths), -BOUND, BOUND)
    return X, np.column_stack([entering, np.ones(len(X))]), y


def risk(theta):
    _, X, y = rows()
    z = X @ theta
    return np.mean(np.logaddexp(0.0, z) - y * z)


@lru_cache
def least(name):
    """Return a lower bound on the least risk over the set, within 1e-9 of it."""
    _, X, y = rows()
    ball, n = make_penalty(name, radius=RADIUS), len(y)
    theta = point = ball.prox(np.zeros(X.shape[1]), 1.0)
    step, momentum = 4 * n / np.linalg.norm(X, 2)**2, 1.0
    for _ in range(100_000):
        following = ball.prox(point - step * (X.T @ (expit(X @ point) - y)) / n, 1.0)
        if (point - following) @ (following - theta) > 0:
            momentum = 1.0
        grown = 0.5 + np.sqrt(0.25 + momentum**2)
        point = following + (momentum - 1) / grown * (following - theta)
        theta, momentum = following, grown
        slope = X.T @ (expit(X @ theta) - y) / n
        gap = slope @ theta - RADIUS * SUPPORT[name](slope)
        if gap <= 1e-9:
            return risk(theta) - gap
    raise AssertionError("no certificate")


def excess(solver, name, steps, **options):
    X, _, y = rows()
    model = DPLogisticRegression(
        solver=solver, penalty=name, radius=RADIUS, data_norm=1.0, data_norm_inf=BOUND,
        max_iter=steps, clip_norm=np.inf, solver_options=options or None).fit(X, y)
    theta = np.append(model.coef_, model.intercept_)
    assert make_penalty(name, radius=RADIUS).value(theta) == 0.0
    return risk(theta) - least(name)


def smoothness(name, geometry):
    """Return beta in the norm of the geometry, and the distance of the start."""
    _, X, _ = rows()
    found = make_geometry(make_penalty(name, radius=RADIUS), geometry, (X.shape[1],))
    size = RADIUS if geometry == "entropy" else found.reach * np.sqrt(2.0)
    return 0.25 * size**2, found.divergence


@pytest.mark.covering
@pytest.mark.parametrize("steps", [100, 1000])
@pytest.mark.parametrize(("name", "geometry"), MIRROR)
def test_mirror_descent_keeps_to_its_theorem(name, geometry, steps, noise_times):
    noise_times(0.0)
    beta, distance = smoothness(name, geometry)
    gap = excess("accmd", name, steps, geometry=geometry)
    print(f"{name} {geometry} {steps}: {gap:.2e} of {8 * beta * distance / steps**2:.2e}")
    assert gap <= 8 * beta * distance / steps**2


@pytest.mark.parametrize("steps", [100, 1000])
def test_frank_wolfe_keeps_to_its_theorem(steps, noise_times):
    noise_times(0.0)
    gap = excess("frank_wolfe", "l1_ball", steps)
    bound = 2 * 0.25 * (2 * RADIUS)**2 / (steps + 2)
    print(f"frank_wolfe {steps}: {gap:.2e} of {bound:.2e}")
    assert gap <= bound


@pytest.mark.thorough
@pytest.mark.parametrize("solver", ["accmd", "frank_wolfe"])
def test_ten_thousand_steps_reach_the_optimum(solver, noise_times):
    noise_times(0.0)
    gap = excess(solver, "l1_ball", 10_000)
    print(f"{solver}: {gap:.2e}")
    assert gap <= 1e-4


@pytest.mark.parametrize("solver", ["accmd", "frank_wolfe"])
def test_with_its_noise_neither_gets_there(solver):
    assert min(excess(solver, "l1_ball", 100) for _ in range(3)) > 1e-3
