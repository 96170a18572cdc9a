"""The oracle of noisy objectives: certified, charged, and nothing but the result leaves."""

from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import sparse

from dpsk import DPHuberRegressor, DPLinearSVC, DPLogisticRegression
from dpsk._data.source import Rows
from dpsk._mechanism.sensitivity import Noise
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.losses import LOSSES
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Dominated, Gaussian, Pure, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.grids import float_unit
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._queries.objective import ObjectiveOracle, determinant_loss
from dpsk._queries.one_shot import steps_to_certify
from dpsk._solvers import SOLVERS
from dpsk._sums.linear_sums import float_sums
from tests.registry import (
    is_met,
    make_loss,
    make_model,
    make_penalty,
    make_problem,
    make_targets,
    training_rows,
    usable_clip,
)

_KEY = bytes(range(16))
_N = 60
SCALAR = [name for name in sorted(LOSSES)
          if make_loss(name).convex and not make_loss(name).vector_output]


def problem_of(loss="logistic", delta=1e-5, **changes):
    return make_problem(loss, n_samples=_N, delta=delta, **changes)


def table(problem, loss="logistic", seed=0, container=np.asarray):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(_N, problem.model.n_features))
    return Rows(container(X), make_targets(loss, _N, rng))


def opened(problem, loss="logistic", **options):
    """Return a solver, its oracle over a table, the sums that it holds and the ledger."""
    solver = SOLVERS["objective_perturbation"](**options).configured(problem)
    declared = solver.queries(problem)
    z = calibrate(declared, problem.epsilon, problem.delta)
    ledger = Ledger(declared(z))
    rows = table(problem, loss)
    oracle = declared.run((problem, rows), Session(KeyedStream(_KEY), ledger), z)
    sums = float_sums(problem.model, problem.loss, rows, solver.clip_norm)
    return solver, oracle, sums, ledger, z


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("loss", SCALAR)
def test_what_leaves_is_the_certified_minimizer_and_the_second_noise(
        loss, delta, newton, monkeypatch):
    if not newton:
        monkeypatch.setattr(ObjectiveOracle, "_newton", lambda self, theta, linear: None)
    problem = problem_of(loss, delta)
    solver, oracle, sums, ledger, z = opened(problem, loss)
    theta = solver.minimize(oracle, problem.penalty, np.zeros(problem.model.shape)).theta
    stream, scale = KeyedStream(_KEY), z * solver.clip_norm
    pure = delta == 0
    law = samplers.gamma_norm if pure else samplers.standard_normal
    linear = scale * law(stream, theta.shape) / _N
    declared = solver.queries(problem)
    missed = 2 * (declared.tolerance + _N * 2.0**-53 * solver.clip_norm) / solver.ridge
    noise = missed / declared.tail * law(stream, theta.shape)
    unit = float_unit(missed / declared.tail)
    np.testing.assert_array_equal(theta / unit, np.rint(theta / unit))
    found = theta - noise
    residual = sums.gradient(found) / _N + solver.ridge * found + linear
    # Snapping moves the point by far less than the tolerance does.
    assert np.linalg.norm(residual) <= declared.tolerance * (1 + 1e-4)
    events = set(tally(ledger.spent))
    assert {type(event) for event in events} == ({Pure} if pure else {Dominated, Gaussian})
    assert tally(ledger.spent) == tally(ledger.plan)


def exact_residual(X, y, theta, ridge, linear):
    """Return the gradient's norm of logistic loss without a clip, to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        theta = [Decimal(t) for t in theta.tolist()]
        total = [Decimal(b) + Decimal(ridge) * t
                 for b, t in zip(linear.tolist(), theta, strict=True)]
        for row, target in zip(X.tolist(), y.tolist(), strict=True):
            row = [Decimal(entry) for entry in row]
            z = sum(entry * t for entry, t in zip(row, theta, strict=True))
            slope = (1 / (1 + (-z).exp()) - Decimal(target)) / len(X)
            total = [part + slope * entry for part, entry in zip(total, row, strict=True)]
        return float(sum(part * part for part in total).sqrt())


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_second_noise_covers_what_rounding_hides_from_the_certificate(
        delta, newton, monkeypatch):
    if not newton:
        monkeypatch.setattr(ObjectiveOracle, "_newton", lambda self, theta, linear: None)
    released = []
    monkeypatch.setattr(Noise, "added", lambda noise, found, drawn, divisor:
                        released.append((found, noise.sensitivity.moved)) or found)
    # Along the rows predictions cancel, across them a weak ridge lets coefficients grow.
    problem = replace(problem_of(delta=delta, alpha=0.0), epsilon=16.0,
                      model=LinearModel(3, None, False, 1.0))
    solver = SOLVERS["objective_perturbation"](
        clip_norm=np.inf, tolerance=1e-18, ridge=0.0).configured(problem)
    declared = solver.queries(problem)
    z = calibrate(declared, problem.epsilon, problem.delta)
    rng = np.random.default_rng(0)
    X = np.array([0.5, -0.4, 0.3]) + 1e-3 * rng.normal(size=(_N, 3))
    y = rng.integers(0, 2, _N)
    oracle = declared.run((problem, Rows(X, y)), Session(KeyedStream(_KEY), Ledger(declared(z))),
                          z)
    solver.minimize(oracle, problem.penalty, np.zeros(3))
    scale, stream = z * solver.clip_norm, KeyedStream(_KEY)
    law = samplers.gamma_norm if delta == 0 else samplers.standard_normal
    linear = scale * law(stream, (3,)) / _N
    (found, distance), = released
    assert exact_residual(X, y, found, solver.ridge, linear) <= 0.5 * distance * solver.ridge


def test_no_ridge_is_so_weak_that_rounding_in_predictions_outweighs_it():
    problem = replace(problem_of(alpha=0.0), epsilon=1e3)
    solver = SOLVERS["objective_perturbation"](ridge=0.0).configured(problem)
    assert solver.ridge >= problem.model.dimension * 2.0**-43 * problem.smoothness


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_tolerance_that_no_gradient_meets_ends_in_a_fit(delta):
    model = DPLogisticRegression(solver="objective_perturbation", delta=delta,
                                 solver_options={"tolerance": 1e-200})
    assert np.isfinite(model.fit(*training_rows(model)).coef_).all()


def test_the_oracle_refuses_a_loss_that_is_not_convex():
    problem = problem_of("sigmoid")
    solver = SOLVERS["objective_perturbation"]().configured(problem)
    declared, rows = solver.queries(problem), table(problem, "sigmoid")
    oracle = declared.run((problem, rows), Session(None, Ledger(declared(3.0))), 3.0)
    with pytest.raises(ValueError, match="not convex"):
        solver.minimize(oracle, problem.penalty, np.zeros(problem.model.shape))


def test_the_oracle_answers_once():
    problem = problem_of()
    solver, oracle, *_ = opened(problem)
    start = np.zeros(problem.model.shape)
    solver.minimize(oracle, problem.penalty, start)
    with pytest.raises(RuntimeError, match="used up"):
        solver.minimize(oracle, problem.penalty, start)


@pytest.mark.parametrize("change", [
    dict(determinant=1e-9), dict(ridge=0.01)])
def test_a_declaration_that_is_too_kind_is_refused_before_anything_is_drawn(change):
    problem = problem_of()
    solver, _, sums, *_ = opened(problem)
    declared = replace(solver.queries(problem), **change)
    ledger = Ledger(declared(3.0))
    oracle = ObjectiveOracle(sums, declared, 3.0, Session(None, ledger))
    with pytest.raises(ValueError, match=r"ridge|l2 penalty"):
        oracle.minimize(np.zeros(problem.model.shape), problem.penalty)
    assert not ledger.spent.events


def test_penalties_and_predictions_that_void_the_proof_are_refused():
    for problem in (problem_of(penalty="l1"), problem_of(penalty="l2_ball"),
                    problem_of("multinomial"), problem_of("one_vs_rest")):
        assert not is_met("objective_perturbation", problem)
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    for cls in (DPLogisticRegression, DPLinearSVC):
        with pytest.raises(ValueError, match="scalar prediction"):
            cls(solver="objective_perturbation").fit(X, y)
        assert cls(delta=0.0).fit(X, y).privacy_.solver == "output_perturbation"
    problem = problem_of()
    solver, oracle, *_, ledger, _ = opened(problem)
    # A free intercept has no curvature of its own.
    with pytest.raises(ValueError, match="l2 penalty"):
        oracle.minimize(np.zeros(problem.model.shape), make_penalty("l2", 0.1, unpenalized=1))
    assert not ledger.spent.events and solver.ridge > 0


@pytest.mark.parametrize("kappa", [2.0, 50.0, 3000.0])
def test_the_steps_that_suffice_do_on_hard_quadratics(kappa):
    """The curvatures of a chain, on which first-order methods are slowest."""
    d, tolerance, ridge = 200, 1e-9, 1.0
    chain = 2 * np.eye(d) - np.eye(d, k=1) - np.eye(d, k=-1)
    matrix = ridge * np.eye(d) + (kappa - 1) * ridge * chain / 4
    target = np.eye(d)[0]
    steps = steps_to_certify((kappa - 1) * ridge, ridge, 1.0, tolerance)
    root = np.sqrt(1 / kappa)
    theta = point = np.zeros(d)
    for _ in range(steps):
        following = point - (matrix @ point - target) / (kappa * ridge)
        point = following + (1 - root) / (1 + root) * (following - theta)
        theta = following
    assert np.linalg.norm(matrix @ theta - target) <= tolerance


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("loss", SCALAR)
def test_the_hessian_is_the_slope_of_the_gradient(loss, container):
    problem = problem_of(loss)
    model = make_model(loss)
    clip_norm = usable_clip(problem.loss, model)
    sums = float_sums(model, problem.loss, table(problem, loss, container=container), clip_norm)
    # Off the kinks of piecewise losses.
    theta, h = np.array([0.31, -0.17, 0.23, 0.11]), 1e-5
    columns = [(sums.gradient(theta + h * e) - sums.gradient(theta - h * e)) / (2 * h)
               for e in np.eye(4)]
    np.testing.assert_allclose(sums.hessian(theta), np.array(columns), atol=2e-4 * _N)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_ridge_is_raised_stated_and_never_below_what_determinants_need(delta):
    for epsilon in (0.1, 1.0, 30.0):
        for alpha in (0.0, 1e-6, 0.5):
            problem = problem_of(delta=delta, alpha=alpha, epsilon=epsilon)
            solver = SOLVERS["objective_perturbation"](ridge=0.0).configured(problem)
            assert solver.ridge >= alpha
            spent = determinant_loss(problem.smoothness, solver.ridge, _N)
            assert spent <= epsilon / 2 * (1 + 1e-12)
            assert solver.ridge == alpha or spent == pytest.approx(epsilon / 2)
            assert SOLVERS["objective_perturbation"]().configured(problem).ridge >= solver.ridge
    model = DPHuberRegressor(delta=delta, solver="objective_perturbation")
    (stated,) = [bound for bound in model.fit(*training_rows(model)).privacy_.enforced
                 if bound.name == "ridge"]
    assert stated.value > 0 and stated.origin == "derived"


@pytest.mark.parametrize("option", ["ridge", "tolerance"])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "much", True])
def test_options_out_of_range_are_refused_by_name(option, value):
    model = DPLogisticRegression(solver="objective_perturbation",
                                 solver_options={option: value})
    with pytest.raises(ValueError, match=f"{option}="):
        model.fit(*training_rows(model))


@pytest.mark.parametrize("row", [np.zeros(3), np.full(3, 1e30), np.full(3, 1e-30)])
def test_minimizers_move_no_further_than_their_ridge_allows(row):
    """The noise repeats, so the distance is that of the exact minimizers, and the tolerance."""
    problem = problem_of(alpha=0.1)
    found = []
    for change in (None, row):
        rows = table(problem)
        if change is not None:
            rows.X[7] = change
        solver, *_, z = opened(problem)
        declared = solver.queries(problem)
        oracle = declared.run((problem, rows), Session(KeyedStream(_KEY), Ledger(declared(z))), z)
        found.append(solver.minimize(oracle, problem.penalty, np.zeros(4)).theta)
    slack = 1 + 2 * declared.tolerance * _N / solver.clip_norm
    assert np.linalg.norm(found[0] - found[1]) <= 2 * solver.clip_norm / (
        _N * solver.ridge) * slack
