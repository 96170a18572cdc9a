"""Without noise no point is better: against long runs of SciPy on the objective itself.

It is written anew here: rows are cut to the norm and averaged, with their weights, and the
penalty is added.
"""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from dpsk import DPAdditiveClassifier, DPLinearSVC, DPLogisticRegression, DPRidge, _estimator
from tests.registry import LINEAR, training_rows

#: How much worse than the best that is found a fit may be.
BAR = 1e-6
#: Models of a saddle problem, which descent solves at any epsilon.
SADDLE = {"DPAUCMaximizer", "DPGroupDROClassifier"}
PENALIZED = [(DPLogisticRegression, "l1"), (DPLogisticRegression, "l1_ball"),
             (DPLogisticRegression, "l2_ball"), (DPLinearSVC, "l1"), (DPRidge, "elasticnet")]


@pytest.fixture
def fit_seen(monkeypatch):
    """Return a fit that gives the problem, the rows and the end of the solver."""
    kept, fit = [], _estimator.fit_private

    def seen(method, problem, name, given, rows, stages, **settings):
        fitted = fit(method, problem, name, given, rows, stages, **settings)
        assert name == "exact"
        kept.append((problem, rows, fitted.theta))
        return fitted

    monkeypatch.setattr(_estimator, "fit_private", seen)

    def fitted(model, *args, **params):
        model.fit(*args, **params)
        return kept[-1]

    return fitted


def written(problem, rows):
    """Return the mean loss and its gradient as a function of a flat theta."""
    X = rows.X.toarray() if sparse.issparse(rows.X) else rows.X.astype(float)
    X = X * np.minimum(1.0, problem.model.data_norm / np.linalg.norm(X, axis=1))[:, None]
    if problem.model.fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
    weights = np.ones(len(X)) if rows.weights is None else rows.weights

    def mean(flat):
        raw = X @ flat.reshape(problem.model.shape)
        losses = problem.loss.value(rows.y, raw)
        slopes = (problem.loss.gradient(rows.y, raw.copy()).T * weights).T
        return weights @ losses / len(X), (X.T @ slopes).ravel() / len(X)

    return mean


def longest_run(problem, rows, start):
    """Return the least objective that SciPy finds, of coefficients that are split by sign."""
    mean, penalty = written(problem, rows), problem.penalty
    free = penalty.unpenalized if problem.model.fit_intercept else 0
    size, own = start.size, start.size - free * (start.size // len(start))
    strength = getattr(penalty, "alpha", 0.0) * getattr(penalty, "l1_ratio", 0.0)

    def split(both):
        theta = both[:size].copy()
        theta[:own] -= both[size:]
        value, slope = mean(theta)
        ridge = penalty.gradient(theta.reshape(start.shape)).ravel()
        slope = slope + ridge
        return (value + 0.5 * theta @ ridge + strength * (both[:own].sum() + both[size:].sum()),
                np.append(slope, -slope[:own]) + strength * np.repeat(
                    [1.0, 0.0, 1.0], [own, size - own, own]))

    bounds = [(0, None)] * own + [(None, None)] * (size - own) + [(0, None)] * own
    name, radius = type(penalty).__name__, getattr(penalty, "radius", None)
    if name == "ElasticNet":
        method, limits = "L-BFGS-B", ()
        options = {"maxiter": 20_000, "maxfun": 10**5, "ftol": 1e-16, "gtol": 1e-12}
    else:
        method, options = "SLSQP", {"maxiter": 2000, "ftol": 1e-14}
        room = {"L1Ball": lambda both: radius - both[:own].sum() - both[size:].sum(),
                "L2Ball": lambda both: radius**2 - np.square(both[:own] - both[size:]).sum()}
        limits = {"type": "ineq", "fun": room[name]}
    found = []
    for point in (start, np.full(start.shape, 0.01)):
        flat = point.ravel()
        both = np.concatenate([np.maximum(flat[:own], 0), flat[own:], np.maximum(-flat[:own], 0)])
        found.append(minimize(split, both, jac=True, method=method, bounds=bounds,
                              constraints=limits, options=options).fun)
    return min(found)


def check(problem, rows, theta):
    value = written(problem, rows)(theta.ravel())[0] + problem.penalty.value(theta)
    assert value <= longest_run(problem, rows, theta) * (1.0 + BAR) + 1e-14


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", sorted(set(LINEAR) - SADDLE))
def test_no_point_is_better_than_a_fit_without_noise(name, weighted, form, fit_seen):
    model = LINEAR[name](epsilon=np.inf, data_norm=1.5)
    X, y = training_rows(model)
    weights = np.random.default_rng(1).uniform(0.2, 4.0, len(y)) if weighted else None
    check(*fit_seen(model, form(X), y, sample_weight=weights))


@pytest.mark.parametrize("cls, penalty", PENALIZED)
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_penalties_and_sets_have_their_minimizer_at_any_scale(cls, penalty, scale, fit_seen):
    params = {"radius": 0.2} if penalty.endswith("ball") else {"alpha": 0.01}
    model = cls(epsilon=np.inf, penalty=penalty, **params)
    X, y = training_rows(model)
    check(*fit_seen(model, X * np.array([scale, 1.0, 1.0, 1.0]), y))


@pytest.mark.parametrize("loss", ["huberized_hinge", "squared_hinge"])
def test_hinges_without_a_penalty_end_at_their_least(loss, fit_seen):
    rng = np.random.default_rng(0)
    X = np.eye(30)[rng.integers(0, 30, 400)] * rng.uniform(0.5, 2.0, (400, 1))
    y = (X @ rng.normal(size=30) + rng.normal(size=400) > 0).astype(int)
    check(*fit_seen(DPLinearSVC(epsilon=np.inf, loss=loss), X, y))


def test_features_that_are_mostly_zero_are_fitted_as_well(fit_seen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 12))
    y = (X[:, 0] - X[:, 1] ** 2 + rng.logistic(size=600) > -1).astype(int)
    problem, rows, theta = fit_seen(DPAdditiveClassifier(epsilon=np.inf, interactions=0), X, y)
    assert rows.n_features >= 200
    # Separated categories have no minimizer: others must not be much better.
    check(problem, rows, theta)
