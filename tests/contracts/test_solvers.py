"""Every solver is set by public facts, declares what it will ask, and asks no more."""

import dataclasses
import inspect
import itertools
import math
from numbers import Real

import numpy as np
import pytest

from dpsk import _base
from dpsk._privacy import accountant
from dpsk._privacy.calibrate import calibrate
from dpsk._privacy.events import Event, tally
from dpsk._privacy.ledger import Ledger
from dpsk._solvers import SOLVERS, Problem
from dpsk._solvers.base import REQUIREMENTS
from dpsk._solvers.descent import ITERATES
from tests.registry import (
    ESTIMATORS,
    every_estimator,
    every_fit,
    every_solver,
    make_problem,
    solver_problems,
    training_rows,
)


@pytest.fixture
def ledgers(monkeypatch):
    """Collect the ledgers that fits open."""
    opened = []

    class Kept(Ledger):
        def __init__(self, plan):
            super().__init__(plan)
            opened.append(self)

    monkeypatch.setattr(_base, "Ledger", Kept)
    return opened


@every_solver
def test_configured_sets_every_field_to_something_finite(name):
    for problem in solver_problems(name):
        solver = SOLVERS[name]().configured(problem)
        for field in dataclasses.fields(solver):
            value = getattr(solver, field.name)
            assert value is not None, (field.name, problem)
            if isinstance(value, Real):
                assert math.isfinite(value), (field.name, problem)
        assert solver.max_iter >= 1 and isinstance(solver.max_iter, int)
        assert solver.learning_rate > 0 and solver.clip_norm > 0


@every_solver
def test_configured_keeps_what_was_given_and_is_idempotent(name):
    problem = make_problem()
    given = SOLVERS[name](max_iter=7, learning_rate=0.01, clip_norm=0.2)
    solver = given.configured(problem)
    assert (solver.max_iter, solver.learning_rate, solver.clip_norm) == (7, 0.01, 0.2)
    assert solver.configured(problem) == solver
    default = SOLVERS[name]().configured(problem)
    assert default.configured(problem) == default


@every_solver
def test_configured_sees_a_problem_of_public_facts_only(name):
    assert list(inspect.signature(SOLVERS[name].configured).parameters) == ["self", "problem"]
    kinds = {field.name for field in dataclasses.fields(Problem)}
    assert kinds == {"n_samples", "model", "loss", "penalty", "epsilon", "delta", "dtype"}
    # A problem can be hashed, which no array can.
    assert len({make_problem(), make_problem()}) == 1
    assert SOLVERS[name]().configured(make_problem()) == SOLVERS[name]().configured(make_problem())


@every_solver
def test_a_solver_is_a_frozen_dataclass(name):
    solver = SOLVERS[name]()
    with pytest.raises(dataclasses.FrozenInstanceError):
        solver.max_iter = 3


@every_solver
def test_plan_is_hashable_and_more_noise_is_more_private(name):
    for problem in [make_problem(), make_problem("huber", alpha=0.0, n_samples=1000)]:
        plan = SOLVERS[name](max_iter=5).configured(problem).plan(problem)
        assert hash(plan) == hash(SOLVERS[name](max_iter=5).configured(problem).plan(problem))
        assert isinstance(plan(1.0), Event)
        deltas = [accountant.delta(plan(noise), 0.5) for noise in (0.5, 1.0, 2.0, 4.0, 8.0)]
        assert all(more < less for less, more in itertools.pairwise(deltas))


@every_solver
def test_calibrated_plan_meets_the_budget(name):
    problem = make_problem()
    plan = SOLVERS[name]().configured(problem).plan(problem)
    noise = calibrate(plan, problem.epsilon, problem.delta)
    assert 0.95 * problem.delta <= accountant.delta(plan(noise), problem.epsilon) <= problem.delta


def _accepting(solver, options):
    return set(options) <= set(SOLVERS[solver].options())


@every_fit
@pytest.mark.parametrize("params", [
    {}, {"max_iter": 3}, {"alpha": 0.1, "penalty": "elasticnet"}, {"fit_intercept": False},
    {"batch_size": 10}])
def test_what_a_fit_releases_is_what_it_declared(cls, solver, params, ledgers):
    if set(params) & set(SOLVERS[solver].ignores):
        return
    model = cls(solver=solver, **params)
    model.fit(*training_rows(model))
    (ledger,) = ledgers
    assert tally(ledger.spent) == tally(ledger.plan) == tally(model.privacy_.event)


@every_fit
@pytest.mark.parametrize("iterate", sorted(ITERATES))
def test_what_a_fit_releases_is_within_what_it_declared(cls, solver, iterate, ledgers):
    if not _accepting(solver, ["iterate"]):
        assert "iterate" not in SOLVERS[solver].options()
        return
    for _ in range(5):
        model = cls(solver=solver, max_iter=6, solver_options={"iterate": iterate})
        model.fit(*training_rows(model))
        plan, spent = tally(ledgers[-1].plan), tally(ledgers[-1].spent)
        assert tally(model.privacy_.event) == plan
        assert all(plan[event] >= count for event, count in spent.items())
        # Only the random iterate may skip what comes after it.
        assert iterate == "random" or spent == plan
        assert model.n_iter_ == 6


@every_fit
def test_n_iter_is_the_planned_number_of_steps(cls, solver):
    model = cls(solver=solver, max_iter=4)
    X, y = training_rows(model)
    assert model.fit(X, y).n_iter_ == 4
    model.set_params(max_iter=None).fit(X, y)
    again = cls(solver=solver).fit(X[::-1] * 0.5, y)
    assert model.n_iter_ == again.n_iter_


@every_fit
def test_iterates_differ_but_cost_the_same(cls, solver):
    if not _accepting(solver, ["iterate"]):
        return
    coefs, noises = [], []
    for iterate in ("tail", "last", "average"):
        model = cls(solver=solver, random_state=0, solver_options={"iterate": iterate})
        model.fit(*training_rows(model))
        coefs.append(model.coef_)
        noises.append(model.privacy_.noise_multiplier)
    assert len({coef.tobytes() for coef in coefs}) == 3
    assert len(set(noises)) == 1


@every_fit
def test_an_option_the_solver_does_not_take_is_refused_with_those_it_takes(cls, solver):
    model = cls(solver=solver, solver_options={"momentum": 0.9})
    with pytest.raises(ValueError, match="momentum") as caught:
        model.fit(*training_rows(model))
    assert solver in str(caught.value)
    shared = {"max_iter", "learning_rate", "clip_norm", "batch_size"}
    for option in set(SOLVERS[solver].options()) - shared:
        assert repr(option) in str(caught.value)


@every_fit
def test_a_parameter_the_solver_has_no_use_for_is_refused(cls, solver):
    for key in SOLVERS[solver].ignores:
        model = cls(solver=solver, **{key: 5})
        with pytest.raises(ValueError, match=f"{key}=5.*{solver}.*{key}=None"):
            model.fit(*training_rows(model))


@every_solver
def test_every_requirement_of_a_solver_is_one_that_can_be_checked(name):
    assert set(SOLVERS[name].requires) <= set(REQUIREMENTS)


@dataclasses.dataclass(frozen=True)
class _Rough:
    """A loss without bounds, as a stand-in for one to come."""

    lipschitz = math.inf
    smoothness = math.inf
    vector_output = False


@pytest.mark.parametrize("requirement", sorted(REQUIREMENTS))
def test_an_unmet_requirement_names_what_is_missing_and_a_remedy(requirement):
    _, message = REQUIREMENTS[requirement]
    text = message.format(solver="some_solver", loss="SomeLoss")
    subject = {"finite clip": "clip_norm", "delta > 0": "delta"}.get(requirement, "SomeLoss")
    assert subject in text
    assert any(word in text for word in ("set ", "use ", "leave "))


@every_solver
def test_requirements_are_checked_against_the_problem(name):
    problem = dataclasses.replace(make_problem(), loss=_Rough(), delta=0.0)
    solver = dataclasses.replace(SOLVERS[name](), clip_norm=math.inf)
    unmet = {"finite clip", "loss.lipschitz", "loss.smoothness", "delta > 0"}
    for requirement in SOLVERS[name].requires:
        test, _ = REQUIREMENTS[requirement]
        assert not (requirement in unmet and test(solver, problem))
        assert test(SOLVERS[name]().configured(make_problem()), make_problem())


@every_estimator
def test_auto_is_a_registered_solver_chosen_by_public_facts(cls):
    for delta in (None, 1e-6, 0.0):
        chosen = []
        for seed in range(2):
            model = cls(delta=delta).fit(*training_rows(cls(), seed=seed))
            chosen.append(model.privacy_.solver)
        assert chosen[0] == chosen[1] and chosen[0] in SOLVERS


def test_the_registries_are_not_empty():
    assert len(ESTIMATORS) >= 2 and len(SOLVERS) >= 3


@every_fit
def test_step_options_leave_finite_coefficients(cls, solver):
    model = cls(solver=solver, learning_rate=1e-3, max_iter=2)
    model.fit(*training_rows(model))
    assert np.all(np.isfinite(model.coef_))
