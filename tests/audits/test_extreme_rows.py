"""One row, however extreme, never moves an answer by more than was declared.

Rows are tried by brute force: of every magnitude that the floating type holds, subnormal
and near overflow included, at points theta of many sizes. Seeded, hence deterministic.
"""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from dpsk import DPHuberRegressor, DPLogisticRegression
from dpsk._losses import Huber, Logistic, Multinomial
from dpsk._models import LinearModel
from dpsk._oracle import RowSums
from dpsk._privacy.sensitivity import gradient_descent_sensitivity

LOSSES = {"logistic": Logistic(), "multinomial": Multinomial(), "huber": Huber(0.1)}


def extreme_rows(rng, dtype, count, d=3):
    """Rows with entries from below the least normal number to just under the greatest."""
    top = np.log10(float(np.finfo(dtype).max))
    exponents = np.where(rng.random(count) < 0.5, rng.uniform(-top - 6, top - 1, size=count),
                         rng.uniform(top - 3, top - 1, size=count))
    scales = 10.0**exponents[:, None]
    # Some rows mix magnitudes.
    mixed = rng.random(count) < 0.3
    scales = np.where(mixed[:, None], scales ** rng.random((count, d)), scales)
    with np.errstate(all="ignore"):
        return (rng.uniform(-1, 1, size=(count, d)) * scales).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("clip_norm", [1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.5])
@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_of_one_row_stays_within_the_clip_norm(name, clip_norm, dtype):
    rng = np.random.default_rng(0)
    loss = LOSSES[name]
    outputs = 3 if loss.vector_output else None
    targets = {"logistic": [0.0, 1.0], "multinomial": [0, 1, 2], "huber": [-1.0, 0.3, 1.0]}[name]
    worst = 0.0
    for data_norm, intercept in itertools.product((1e-3, 1.0, 1e3), (False, True)):
        model = LinearModel(3, outputs, intercept, data_norm)
        for x in extreme_rows(rng, dtype, 100):
            y = np.array([rng.choice(targets)])
            theta = rng.normal(size=model.shape) * 10.0**rng.uniform(-3, 3)
            with np.errstate(all="ignore"):
                sums = RowSums(model, loss, x[None], y if outputs else y.astype(dtype),
                               clip_norm, dtype)
                worst = max(worst, np.linalg.norm(sums.gradient(theta)))
    assert worst <= clip_norm
    # The rows tried do reach the bound.
    assert worst > 0.9 * clip_norm


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["binary", "multinomial", "huber"])
def test_output_perturbation_moves_by_at_most_its_sensitivity(kind, alpha, dtype, noise_times):
    noise_times(0.0)
    rng = np.random.default_rng(0)
    n, steps, step = 12, 15, 0.4
    X = rng.normal(size=(n, 3)).astype(dtype)
    y = np.resize([0, 1, 2] if kind == "multinomial" else [0, 1], n)
    cls = DPHuberRegressor if kind == "huber" else DPLogisticRegression
    model = cls(solver="output_perturbation", delta=1e-3, alpha=alpha, max_iter=steps,
                learning_rate=step).fit(X, y)
    loss = LOSSES["logistic" if kind == "binary" else kind]
    radius = np.sqrt(2.0)
    bound = gradient_descent_sensitivity(
        lipschitz=loss.lipschitz * radius, n_samples=n, step=step, n_steps=steps,
        smoothness=loss.smoothness * radius**2, strong_convexity=alpha)
    farthest = 0.0
    for row in extreme_rows(rng, dtype, 150):
        changed, targets = X.copy(), y.copy()
        changed[-1], targets[-1] = row, rng.choice(y)
        other = clone(model).fit(changed, targets)
        farthest = max(farthest, np.hypot(np.linalg.norm(other.coef_ - model.coef_),
                                          np.linalg.norm(other.intercept_ - model.intercept_)))
    # Coefficients of float32 rows are rounded to float32, which is post-processing.
    assert 0.0 < farthest <= bound * (1 + 1e-6)
