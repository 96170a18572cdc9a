"""Without noise and without clipping the solvers find the optimum of the stated objective.

The reference is L-BFGS on an objective written out here from its definition: the mean loss
over the scaled rows, with a penalty on every coefficient, and on the intercept only for the
solvers that penalise it. Not a statistical test: only the batches of sgd are random, and
they follow an integer seed.
"""

from functools import lru_cache

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

from dpsk import DPHuberRegressor, DPLogisticRegression
from dpsk._solvers import SOLVERS

KINDS = ["binary", "multinomial", "huber"]
L1_RATIOS = {"l2": 0.0, "elasticnet": 0.5, "l1": 1.0}
THRESHOLD = 0.1

#: For every solver: (parameters given n, largest relative gap) a run. A new solver needs one.
RUNS = {
    "gd": [(lambda n: {"max_iter": 1000}, 1e-6)],
    "output_perturbation": [(lambda n: {}, 1e-6), (lambda n: {"max_iter": 1000}, 1e-6)],
    "sgd": [(lambda n: {"max_iter": 1000, "batch_size": n}, 1e-6),
            (lambda n: {"max_iter": 1000, "batch_size": round(n / 10)}, 1e-2)],
}
CASES = [pytest.param(solver, run, id=f"{solver}-{run}") for solver in SOLVERS
         for run in range(len(RUNS.get(solver, ["missing"])))]


@pytest.mark.parametrize("alpha", [0.01, 0.1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("solver", "run"), CASES)
def test_the_ridge_optimum_is_reached(kind, solver, run, alpha, noise_times):
    assert solver in RUNS, f"add an entry for solver={solver!r} to RUNS"
    params, largest = RUNS[solver][run]
    noise_times(0.0)
    gap = relative_gap(kind, "l2", solver, alpha, **params(len(rows(kind)[0])))
    print(f"{kind} {solver} run {run} alpha {alpha}: gap {gap:.2e}")
    assert gap <= largest


@pytest.mark.parametrize("penalty", ["elasticnet", "l1"])
@pytest.mark.parametrize("alpha", [0.01, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_gd_reaches_the_sparse_optimum(kind, alpha, penalty, noise_times):
    noise_times(0.0)
    gap = relative_gap(kind, penalty, "gd", alpha, max_iter=1000)
    print(f"{kind} gd {penalty} alpha {alpha}: gap {gap:.2e}")
    assert gap <= 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_with_its_noise_no_solver_reaches_the_optimum(solver):
    """The comparison would notice noise; the seed is fixed."""
    params, _ = RUNS[solver][0]
    assert relative_gap("multinomial", "l2", solver, 0.1, epsilon=0.1,
                        **params(len(rows("multinomial")[0]))) > 1e-6


def relative_gap(kind, penalty, solver, alpha, **params):
    """Return how far above the optimum a fit ends, relative to the optimal value."""
    X, y = rows(kind)
    cls = DPLogisticRegression if kind != "huber" else DPHuberRegressor
    params = {"random_state": 0, **params}
    if kind == "huber":
        params["threshold"] = THRESHOLD
    model = cls(solver=solver, alpha=alpha, penalty=penalty, clip_norm=np.inf,
                **params).fit(X, y)
    theta = np.vstack([model.coef_.reshape(-1, X.shape[1]).T, np.atleast_1d(model.intercept_)])
    free_intercept = not SOLVERS[solver].penalizes_intercept
    smooth, sizes = objective(kind, alpha, L1_RATIOS[penalty], free_intercept)
    value = smooth(theta.ravel())[0] + sizes @ np.abs(theta.ravel())
    return value / optimum(kind, alpha, L1_RATIOS[penalty], free_intercept) - 1.0


@lru_cache
def rows(kind):
    """Real rows with standardised columns, and targets within the default bounds."""
    load = {"binary": load_breast_cancer, "multinomial": load_iris, "huber": load_diabetes}
    X, y = load[kind](return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return (X, (y - 25) / 325 * 2 - 1) if kind == "huber" else (X, y)


def objective(kind, alpha, l1_ratio, free_intercept):
    """Return the smooth part with its gradient, and the weights of the absolute values."""
    X, y = rows(kind)
    n = len(X)
    X = np.column_stack([X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], np.ones(n)])
    outputs = 3 if kind == "multinomial" else 1
    penalised = np.ones((X.shape[1], outputs))
    penalised[-1] = not free_intercept
    loss = {"binary": binary, "multinomial": multinomial, "huber": huber}[kind]
    ridge = alpha * (1.0 - l1_ratio) * penalised

    def smooth(theta):
        theta = theta.reshape(penalised.shape)
        value, slopes = loss(X @ theta, y)
        gradient = X.T @ slopes / n + ridge * theta
        return value.mean() + 0.5 * (ridge * theta**2).sum(), gradient.ravel()

    return smooth, (alpha * l1_ratio * penalised).ravel()


def binary(z, y):
    z = z[:, 0]
    return np.logaddexp(0.0, z) - y * z, (expit(z) - y)[:, None]


def multinomial(z, y):
    chosen = np.eye(z.shape[1])[y]
    log_total = logsumexp(z, axis=1)
    return log_total - (chosen * z).sum(axis=1), np.exp(z - log_total[:, None]) - chosen


def huber(z, y):
    r = z[:, 0] - y
    value = np.where(np.abs(r) <= THRESHOLD, 0.5 * r**2,
                     THRESHOLD * (np.abs(r) - 0.5 * THRESHOLD))
    return value, np.clip(r, -THRESHOLD, THRESHOLD)[:, None]


@lru_cache
def optimum(kind, alpha, l1_ratio, free_intercept):
    """Return the least value; absolute values become sums of positive and negative parts."""
    smooth, sizes = objective(kind, alpha, l1_ratio, free_intercept)
    weights = np.concatenate([sizes, sizes])

    def split(parts):
        positive, negative = np.split(parts, 2)
        value, gradient = smooth(positive - negative)
        return value + weights @ parts, weights + np.concatenate([gradient, -gradient])

    settings = {"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-16, "gtol": 1e-11,
                "maxcor": 50}
    if not l1_ratio:
        return minimize(smooth, np.zeros(len(sizes)), jac=True, method="L-BFGS-B",
                        options=settings).fun
    return minimize(split, np.zeros(len(weights)), jac=True, method="L-BFGS-B",
                    bounds=[(0.0, None)] * len(weights), options=settings).fun
