"""Without noise and without clipping the solvers find the optimum of the stated objective.

The reference is L-BFGS on an objective written out here from its definition: the mean loss
over the scaled rows, with a penalty on every coefficient, and on the intercept only for the
solvers that penalize it. Not a statistical test: only the batches of sgd are random, and
they follow an integer seed.
"""

from functools import lru_cache

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

from dpsk import (
    DPHuberRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
)
from dpsk._models.clipping import HEADROOM
from dpsk._objective.requirements import BOUNDED_SLOPE
from dpsk._solvers import SOLVERS
from dpsk.testing import NoiseSeed
from tests.registry import declared, documented_solvers, takes_several_classes

L1_RATIOS = {"l2": 0.0, "elasticnet": 0.5, "l1": 1.0}
THRESHOLD = 0.1
#: Wide enough for every gradient on the way, where the loss bounds none; the default steps
#: of these losses count on a clip that bites, so theirs are the inverse smoothness.
WIDE = {"clip_norm": 20.0}
#: Kinds of problem: data, estimator, its parameters.
KINDS = {
    "binary": (load_breast_cancer, DPLogisticRegression, {"clip_norm": np.inf}),
    "multinomial": (load_iris, DPLogisticRegression, {"clip_norm": np.inf}),
    "hinge": (load_breast_cancer, DPLinearSVC, {"clip_norm": np.inf}),
    "hinges": (load_iris, DPLinearSVC, {"clip_norm": np.inf}),
    "squared_hinge": (load_breast_cancer, DPLinearSVC,
                      {"loss": "squared_hinge", "learning_rate": 0.24, **WIDE}),
    "huber": (load_diabetes, DPHuberRegressor, {"clip_norm": np.inf, "threshold": THRESHOLD}),
    "squared": (load_diabetes, DPRidge, {"learning_rate": 0.45, **WIDE}),
    "poisson": (load_diabetes, DPPoissonRegressor, {"clip_norm": np.inf}),
}
MIRRORED = {"holdout": "public", "iterate": "last"}
SEVERAL = ("multinomial", "hinges")
REGRESSIONS = ("huber", "squared", "poisson")

#: For every solver: (parameters given n, largest relative gap) a run. A new solver needs one.
RUNS = {
    "gd": [(lambda n: {"max_iter": 2000}, 1e-6)],
    # By default there are enough steps where the ridge outweighs the noise that is declared.
    "last_iterate": [(lambda n: {"epsilon": 1e4}, 1e-6), (lambda n: {"max_iter": 2000}, 1e-6)],
    "output_perturbation": [(lambda n: {}, 1e-6), (lambda n: {"max_iter": 1000}, 1e-6)],
    # The ridge covers the noise that is declared, and is alpha where that is little.
    "objective_perturbation": [(lambda n: {"epsilon": 1e4}, 1e-6)],
    # Floors under eigenvalues follow the noise that is declared: too low ones lose digits.
    "newton": [(lambda n: {"epsilon": 1e5, "max_iter": 40}, 1e-6)],
    "sufficient_statistics": [(lambda n: {"epsilon": 1e4}, 1e-6)],
    # The step follows the noise that is declared.
    "rrpsgd": [(lambda n: {"max_iter": 3000, "batch_size": n, "epsilon": 1e6,
                           "solver_options": {"rounds": 3000}}, 1e-6)],
    # Public rows that are the training rows: either side answers alike.
    "stgd": [(lambda n: {"max_iter": 3000, "solver_options": MIRRORED}, 1e-6)],
    # One batch of all rows.
    "minibatch_stgd": [(lambda n: {"max_iter": 3000, "batch_size": n,
                                   "solver_options": MIRRORED}, 1e-6)],
    "sgd": [(lambda n: {"max_iter": 3000, "batch_size": n}, 1e-6),
            (lambda n: {"max_iter": 1000, "batch_size": round(n / 10)}, 1e-2)],
    "svrg": [(lambda n: {"max_iter": 6000, "batch_size": n, "solver_options": {"epochs": 20}},
              1e-6)],
    "svrgpp": [(lambda n: {"max_iter": 3000, "batch_size": n}, 1e-6)],
}
#: One of each of these kinds is enough of a solver by default, besides "gd".
_BY_DEFAULT = ("binary", "multinomial", "squared")
#: Thousands of steps of these take long for several outputs, of which each is as the one.
_SLOW = ("stgd", "minibatch_stgd", "svrg", "svrgpp")


def _marks(kind, solver):
    slow = kind == "multinomial" and solver in _SLOW
    return () if solver == "gd" or (kind in _BY_DEFAULT and not slow) else pytest.mark.audit


CASES = [pytest.param(kind, solver, run, id=f"{kind}-{solver}-{run}", marks=_marks(kind, solver))
         for kind, (_, cls, params) in KINDS.items()
         for solver in sorted(set(RUNS) & documented_solvers(cls))
         for run in range(len(RUNS[solver]))
         # The squared hinge bounds no slope.
         if (params.get("loss") is None or BOUNDED_SLOPE not in SOLVERS[solver].requires)
         and (kind not in SEVERAL or takes_several_classes(cls, solver))]
#: Solvers inside sets, run in test_zero_noise_in_sets.
IN_SETS = {"accmd", "frank_wolfe"}
WHITENED = [case for case in CASES if SOLVERS[case.values[1]].whitens]

#: The smaller one takes more steps to be felt.
every_ridge = pytest.mark.parametrize("alpha", [0.01, pytest.param(0.1, marks=pytest.mark.audit)])


def test_every_solver_is_run():
    assert set(RUNS) == set(SOLVERS) - IN_SETS == {case.values[1] for case in CASES}


@pytest.mark.covering(most=3)
@every_ridge
@pytest.mark.parametrize(("kind", "solver", "run"), CASES)
def test_the_ridge_optimum_is_reached(kind, solver, run, alpha, noise_times):
    params, largest = RUNS[solver][run]
    noise_times(0.0)
    gap = relative_gap(kind, "l2", solver, alpha, **params(len(rows(kind)[0])))
    print(f"{kind} {solver} run {run} alpha {alpha}: gap {gap:.2e}")
    assert gap <= largest


@pytest.mark.covering(most=3)
@every_ridge
@pytest.mark.parametrize(("kind", "solver", "run"), WHITENED)
def test_the_optimum_of_the_whitened_problem_is_reached(kind, solver, run, alpha, noise_times):
    params, largest = RUNS[solver][run]
    noise_times(0.0)
    # Whitened rows are short: what was the longest step for others is not.
    step = {"learning_rate": 0.9} if kind == "squared_hinge" and solver == "sgd" else {}
    if solver == "gd" and kind in ("huber", "squared"):
        # By default steps count on clips that flatten the loss of most rows.
        step = {"learning_rate": 0.45 if kind == "huber" else 0.9}
    gap = relative_gap(kind, "l2", solver, alpha, **step, **{
        "solver_options": LAST.get(solver), **params(len(rows(kind)[0])), "precondition": True})
    print(f"{kind} {solver} run {run} alpha {alpha} whitened: gap {gap:.2e}")
    assert gap <= largest


#: Options under which the average that a solver may return has converged as well.
LAST = {"gd": {"iterate": "last"}, "sgd": {"iterate": "tail"}, "output_perturbation": None,
        "objective_perturbation": None}


@pytest.mark.covering(most=2)
@every_ridge
@pytest.mark.parametrize("penalty", ["elasticnet", "l1"])
@pytest.mark.parametrize("kind", KINDS)
def test_gd_reaches_the_sparse_optimum(kind, alpha, penalty, noise_times):
    noise_times(0.0)
    gap = relative_gap(kind, penalty, "gd", alpha, max_iter=2000)
    print(f"{kind} gd {penalty} alpha {alpha}: gap {gap:.2e}")
    assert gap <= 1e-6


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("solver", RUNS)
def test_with_its_noise_no_solver_reaches_the_optimum(solver):
    """The comparison would notice noise; the seed is fixed."""
    params, _ = RUNS[solver][0]
    kind = next(case.values[0] for case in CASES if case.values[1] == solver)
    params = {**params(len(rows(kind)[0])), "epsilon": 0.1}
    assert relative_gap(kind, "l2", solver, 0.1, **params) > 1e-6


def relative_gap(kind, penalty, solver, alpha, **params):
    """Return how far above the optimum a fit ends, relative to the optimal value."""
    X, y = rows(kind)
    _, cls, own = KINDS[kind]
    params = {"random_state": NoiseSeed(0), "precondition": False, **declared(cls), **own,
              **params}
    model = cls(solver=solver, alpha=alpha, penalty=penalty, **{
        key: value for key, value in params.items()
        if key not in SOLVERS[solver].ignores})
    mirrored = model.solver_options is not None and "holdout" in model.solver_options
    model.fit(X, y, **({"public_X": X, "public_y": y} if mirrored else {}))
    theta = np.vstack([model.coef_.reshape(-1, X.shape[1]).T, np.atleast_1d(model.intercept_)])
    free_intercept = not SOLVERS[solver].penalizes_intercept
    table, form, whole = bounded(X), None, 1.0
    if model.preconditioner_ is not None:
        matrix = model.preconditioner_
        theta = np.linalg.solve(matrix, theta)
        if kind != "poisson":
            # Rows of scores are scaled as a whole, and equations with their targets.
            table[:, -1] = whole = np.minimum(1.0, HEADROOM / np.linalg.norm(X, axis=1))
        table = table @ matrix
        shortened = HEADROOM / np.maximum(HEADROOM, np.linalg.norm(table, axis=1))
        table *= shortened[:, None]
        whole = whole * shortened if kind in ("huber", "squared") else 1.0
        # The constant is a coordinate like the others, but where the penalty is mapped.
        free_intercept = False
        form = matrix[:-1] if SOLVERS[solver].takes_unit else None
    smooth, sizes = objective(kind, table, alpha, L1_RATIOS[penalty], free_intercept, form, whole)
    value = smooth(theta.ravel())[0] + sizes @ np.abs(theta.ravel())
    return value / optimum(smooth, sizes) - 1.0


@lru_cache
def rows(kind):
    """Real rows with standardized columns, and targets within the default bounds."""
    X, y = KINDS[kind][0](return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if kind in REGRESSIONS:
        y = (y - 25) / 325
        y = y if kind == "poisson" else 2 * y - 1
    return X, y


def bounded(X):
    """Return the rows as they enter: scaled, with a constant 1."""
    norms = np.linalg.norm(X, axis=1)
    return np.column_stack([X * np.minimum(1.0, HEADROOM / norms)[:, None], np.ones(len(X))])


def objective(kind, X, alpha, l1_ratio, free_intercept, form=None, whole=1.0):
    """Return the smooth part with its gradient, and the weights of the absolute values.

    With `form` the ridge is on ``form @ theta``; targets come times `whole`.
    """
    y = rows(kind)[1] if np.ndim(whole) == 0 else whole * rows(kind)[1]
    n = len(X)
    outputs = 3 if kind in SEVERAL else 1
    penalized = np.ones((X.shape[1], outputs))
    penalized[-1] = not free_intercept
    loss = {"binary": binary, "multinomial": multinomial, "huber": huber, "hinge": hinge,
            "hinges": hinges, "squared_hinge": squared_hinge, "squared": squared,
            "poisson": poisson}[kind]
    form = np.diag(penalized[:, 0]) if form is None else form
    ridge = alpha * (1.0 - l1_ratio) * form.T @ form

    def smooth(theta):
        theta = theta.reshape(penalized.shape)
        value, slopes = loss(X @ theta, y)
        gradient = X.T @ slopes / n + ridge @ theta
        return value.mean() + 0.5 * (theta * (ridge @ theta)).sum(), gradient.ravel()

    return smooth, (alpha * l1_ratio * penalized).ravel()


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


def hinges(z, y):
    margins = 1.0 - z * np.where(np.eye(z.shape[1])[y] == 1, 1.0, -1.0)
    value = np.where(margins <= 0, 0.0, np.where(margins <= 1, margins**2 / 2, margins - 0.5))
    slopes = -np.where(np.eye(z.shape[1])[y] == 1, 1.0, -1.0) * np.clip(margins, 0, 1)
    return value.sum(axis=1), slopes


def hinge(z, y):
    sign = 2.0 * y - 1.0
    margin = 1.0 - z[:, 0] * sign
    value = np.where(margin <= 0, 0.0, np.where(margin <= 1, margin**2 / 2, margin - 0.5))
    return value, (-sign * np.clip(margin, 0, 1))[:, None]


def squared_hinge(z, y):
    sign = 2.0 * y - 1.0
    margin = np.maximum(0.0, 1.0 - z[:, 0] * sign)
    return margin**2, (-2.0 * sign * margin)[:, None]


def squared(z, y):
    return 0.5 * (z[:, 0] - y)**2, z - y[:, None]


def poisson(z, y):
    z = z[:, 0]
    over = np.exp(np.minimum(z, 5.0)) - y > 1.0
    knee = np.log1p(y)
    value = np.where(over, 1 + y - y * knee + (z - knee), np.exp(np.minimum(z, 5.0)) - y * z)
    return value, np.minimum(np.exp(np.minimum(z, 5.0)) - y, 1.0)[:, None]


def optimum(smooth, sizes):
    """Return the least value; absolute values become sums of positive and negative parts."""
    weights = np.concatenate([sizes, sizes])

    def split(parts):
        positive, negative = np.split(parts, 2)
        value, gradient = smooth(positive - negative)
        return value + weights @ parts, weights + np.concatenate([gradient, -gradient])

    settings = {"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-16, "gtol": 1e-11,
                "maxcor": 50}
    if not sizes.any():
        return minimize(smooth, np.zeros(len(sizes)), jac=True, method="L-BFGS-B",
                        options=settings).fun
    return minimize(split, np.zeros(len(weights)), jac=True, method="L-BFGS-B",
                    bounds=[(0.0, None)] * len(weights), options=settings).fun
