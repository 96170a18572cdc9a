"""What leaves without noise is charged as `NotPrivate`, and no finite budget holds that."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from dpsk import DPHuberRegressor
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
