"""What leaves without noise is charged as `NotPrivate`, and no finite budget holds that.

The minimum is that of long runs of SciPy on the objective, written anew here: rows are cut to the
norm and averaged, with their weights, and the penalty is added.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize

from dpsk import (
    DPAdditiveClassifier,
    DPHuberRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPRidge,
    _estimator,
)
from dpsk._data.source import Rows
from dpsk._fit import _priced
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._mechanism.session import Session
from dpsk._objective.losses import LOSSES
from dpsk._privacy import accountant
from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Composed, Gaussian, NotPrivate, Pure, Repeated, gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._queries import ExactAnswers
from dpsk._solvers import NOISELESS, SOLVERS, check_requirements
from dpsk.exceptions import PrivacyWarning
from tests.registry import (
    LINEAR,
    documented_solvers,
    every_loss,
    every_solver,
    make_problem,
    make_targets,
    problem_for,
    training_rows,
)

#: How much worse than the best that is found a fit may be.
BAR = 1e-6
#: Models of a saddle problem, which descent solves at any epsilon.
SADDLE = {"DPAUCMaximizer", "DPGroupDROClassifier"}
PENALIZED = [(DPLogisticRegression, "l1"), (DPLogisticRegression, "l1_ball"),
             (DPLogisticRegression, "l2_ball"), (DPLinearSVC, "l1"), (DPRidge, "elasticnet")]


def test_its_delta_is_one_at_every_epsilon():
    for event in (NotPrivate(), Repeated(NotPrivate(), 3),
                  Composed((Gaussian(1e-6), Pure(1e-6), NotPrivate()))):
        for epsilon in (0.0, 1.0, 1e6, 1e300):
            assert accountant.delta(event, epsilon) == 1.0
            assert _priced(event, epsilon) == 1.0
        for delta in (0.0, 1e-9, 1 - 1e-15):
            assert accountant.epsilon(event, delta) == math.inf
    assert gaussian(math.inf) == NotPrivate() and gaussian(0.3) == Gaussian(0.3)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.999])
def test_no_noise_multiplier_brings_it_within_a_budget(delta):
    with pytest.raises(ValueError, match="private at no scale"):
        calibrate(ExactAnswers(), 1e3, delta)


@pytest.mark.parametrize("batches", [FullBatch(), PoissonBatches(0.1)])
def test_a_sum_without_noise_is_not_private(batches):
    assert batches.release(0.0) == NotPrivate()


def test_a_plan_of_noise_holds_no_answer_without_it():
    session = Session(EntropyStream(), Ledger(NoisySums(FullBatch(), 5)(2.0)))
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        session(NotPrivate(), lambda inside: pytest.fail("rows were read"))


def test_an_answer_that_is_priced_does_not_leave_without_noise():
    session = Session(EntropyStream(), Ledger(Gaussian(1.0)))
    for unit in (None, 2.0**-20):
        with pytest.raises(RuntimeError, match="has noise"):
            session(Gaussian(1.0), lambda inside: np.ones(3), Sensitivity(0.0, unit=unit, size=3))
        session = Session(EntropyStream(), Ledger(Gaussian(1.0)))


def test_a_plan_without_noise_answers_as_often_as_it_is_asked():
    ledger = Ledger(NotPrivate())
    ledger.charge(NotPrivate(), 7)
    ledger.charge(NotPrivate())
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        ledger.charge(Gaussian(1e-9))
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        Ledger(Gaussian(1.0)).charge(NotPrivate())


def test_the_exact_minimizer_is_refused_under_a_budget(monkeypatch):
    (name, solver), = NOISELESS.items()
    with pytest.raises(ValueError, match=r"epsilon=inf alone; use solver='auto'"):
        check_requirements(name, solver(), make_problem(epsilon=1e300))
    X, y = training_rows(DPHuberRegressor())
    with pytest.raises(ValueError, match="solver='exact': must be one of"):
        DPHuberRegressor(solver="exact").fit(X, y)
    # Were it reached all the same, its plan would exceed any budget.
    monkeypatch.setattr(DPHuberRegressor, "_auto_solver", lambda self, problem: name)
    monkeypatch.setattr(solver, "requires", ())
    with pytest.raises(ValueError, match="private at no scale"):
        DPHuberRegressor(epsilon=1e3).fit(X, y)
    monkeypatch.setattr("dpsk._fit.calibrate", lambda *given: 1.0)
    with pytest.raises(RuntimeError, match="exceed the budget; nothing was drawn"):
        DPHuberRegressor(epsilon=1e3).fit(X, y)


@every_solver
def test_a_solver_runs_without_a_budget_or_says_what_would_do(name):
    problem = replace(problem_for(name), epsilon=math.inf)
    if SOLVERS[name].without_noise:
        check_requirements(name, SOLVERS[name](), problem)
        assert SOLVERS[name]().configured(problem).queries(problem)(0.0)
    else:
        with pytest.raises(ValueError, match=r"epsilon=inf.*leave solver='auto'"):
            check_requirements(name, SOLVERS[name](), problem)


@pytest.mark.parametrize("cls", LINEAR.values(), ids=LINEAR)
def test_descent_without_noise_says_what_it_is(cls):
    X, y = training_rows(cls())
    for solver in sorted(documented_solvers(cls) & {"gd", "sgd", "sgda"}):
        with pytest.warns(PrivacyWarning, match="epsilon=inf: no noise"):
            model = cls(epsilon=np.inf, solver=solver, max_iter=20).fit(X, y)
        certificate = model.privacy_.verify()
        assert certificate.solver == solver and not certificate.is_private
        assert certificate.noise_multiplier == 0.0 and certificate.noise_source == "none"


@every_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_values_and_derivatives_agree(name, weighted):
    rng = np.random.default_rng(0)
    problem = replace(make_problem(name, n_samples=40, data_norm=3.0, weight_bound=np.inf),
                      epsilon=math.inf)
    X, y = rng.normal(size=(40, 3)), make_targets(name, 40, rng)
    weights = rng.uniform(0.0, 4.0, size=40) if weighted else None
    session = Session(EntropyStream(), Ledger(NotPrivate()))
    oracle = ExactAnswers().run((problem, Rows(X, y, weights, np.inf)), session, 0.0)
    theta = 0.3 * rng.normal(size=problem.model.shape)

    def gradient(flat):
        return oracle.gradient(flat.reshape(theta.shape)).ravel()

    slopes = approx_fprime(theta.ravel(), lambda flat: oracle.value(flat.reshape(theta.shape)))
    np.testing.assert_allclose(gradient(theta.ravel()), slopes, rtol=1e-4, atol=1e-6)
    hessian = oracle.hessian(theta)
    curvatures = [approx_fprime(theta.ravel(), lambda flat, i=i: gradient(flat)[i])
                  for i in range(theta.size)]
    np.testing.assert_allclose(hessian, curvatures, rtol=1e-3, atol=1e-5)
    if LOSSES[name].convex:
        assert np.linalg.eigvalsh(oracle.majorant(theta) - hessian)[0] >= -1e-9


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
    """Return the least objective that SciPy finds, of coefficients that are split by sign.

    They are multiplied by the size of their features, for SciPy to find any.
    """
    mean, penalty = written(problem, rows), problem.penalty
    X = rows.X.toarray() if sparse.issparse(rows.X) else rows.X
    sizes = np.ones(len(start))
    sizes[:X.shape[1]] = np.maximum(np.linalg.norm(X, axis=0) / len(X)**0.5, 1e-12)
    sizes = np.repeat(sizes, start.size // len(start))
    free = penalty.unpenalized if problem.model.fit_intercept else 0
    size, own = start.size, start.size - free * (start.size // len(start))
    strength = getattr(penalty, "alpha", 0.0) * getattr(penalty, "l1_ratio", 0.0)

    def split(both):
        theta = both[:size].copy()
        theta[:own] -= both[size:]
        theta /= sizes
        value, slope = mean(theta)
        ridge = penalty.gradient(theta.reshape(start.shape)).ravel()
        slope = (slope + ridge) / sizes
        pulls = strength / sizes[:own]
        return (value + 0.5 * theta @ ridge + pulls @ (both[:own] + both[size:]),
                np.append(slope, -slope[:own])
                + np.concatenate([pulls, np.zeros(size - own), pulls]))

    bounds = [(0, None)] * own + [(None, None)] * (size - own) + [(0, None)] * own
    name, radius = type(penalty).__name__, getattr(penalty, "radius", None)
    if name == "ElasticNet":
        method, limits = "L-BFGS-B", ()
        options = {"maxiter": 20_000, "maxfun": 10**5, "ftol": 1e-16, "gtol": 1e-12}
    else:
        method, options = "SLSQP", {"maxiter": 2000, "ftol": 1e-14}
        room = {"L1Ball": lambda both: radius - ((both[:own] + both[size:]) / sizes[:own]).sum(),
                "L2Ball": lambda both: radius**2 - np.square(
                    (both[:own] - both[size:]) / sizes[:own]).sum()}
        limits = {"type": "ineq", "fun": room[name]}
    found = []
    for point in (start, np.full(start.shape, 0.01)):
        flat = point.ravel() * sizes
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


@pytest.mark.covering
@pytest.mark.parametrize("cls, penalty", PENALIZED)
@pytest.mark.parametrize("scales", [
    (1.0, 1.0, 1.0, 1.0), (1e3, 1.0, 1.0, 1.0), (1e-6, 1e-3, 1e3, 1e6)])
def test_penalties_and_sets_have_their_minimizer_at_any_scale(cls, penalty, scales, fit_seen):
    params = {"radius": 0.2} if penalty.endswith("ball") else {"alpha": 1e-3}
    model = cls(epsilon=np.inf, penalty=penalty, data_norm=None, **params)
    X, y = training_rows(model)
    check(*fit_seen(model, X * np.array(scales), y))


@pytest.mark.parametrize("penalty, params", [
    ("l1", {"alpha": 1e-4}), ("l1_ball", {"radius": 0.5}), ("l1_ball", {"radius": 50.0})])
def test_sparse_coefficients_are_found_among_more_features_than_rows(penalty, params, fit_seen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50))
    X[:, 30:] = X[:, :20]
    y = X[:, :3].sum(axis=1) + rng.normal(size=20)
    check(*fit_seen(DPRidge(epsilon=np.inf, penalty=penalty, data_norm=None, **params), X, y))


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
    model = DPAdditiveClassifier(epsilon=np.inf, interactions=0, n_knots=33)
    problem, rows, theta = fit_seen(model, X, y)
    assert rows.n_features >= 200
    # Separated categories have no minimizer: others must not be much better.
    check(problem, rows, theta)
