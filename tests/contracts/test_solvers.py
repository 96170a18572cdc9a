"""Every solver is set by public facts, declares what it will ask, and asks no more."""

import dataclasses
import inspect
import itertools
import math
from numbers import Real

import numpy as np
import pytest
from scipy import sparse

from dpsk._objective.penalties import CONSTRAINTS
from dpsk._objective.requirements import (
    IN_A_SET,
    IN_AN_L1_BALL,
    L2_PENALTY,
    RIDGE,
    RIDGE_OR_NONE,
)
from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Event, Gaussian, tally
from dpsk._privacy.plans import Framed
from dpsk._problem import Problem
from dpsk._solvers import SOLVERS
from dpsk._solvers.steps import ITERATES
from dpsk._stages.whitening import moment_budget
from dpsk.testing import NoiseSeed
from tests.registry import (
    ALL_SOLVERS,
    ESTIMATORS,
    auto_solvers,
    coefficients,
    documented_solvers,
    every_estimator,
    every_fit,
    every_solver,
    is_linear,
    make_estimator,
    make_problem,
    problem_for,
    solver_problems,
    takes_no_set,
    training_rows,
    where_sets_may_be_needed,
)


@every_solver
def test_configured_sets_every_field_to_something_finite(name):
    for problem in solver_problems(name):
        solver = SOLVERS[name]().configured(problem)
        for field in dataclasses.fields(solver):
            value = getattr(solver, field.name)
            if field.name == "group_clip_norm":
                # Rows that are in no groups have none.
                assert value is None
                continue
            assert value is not None, (field.name, problem)
            if isinstance(value, Real):
                assert math.isfinite(value), (field.name, problem)
        assert solver.clips == ("clip_norm" in SOLVERS[name].options())
        assert not solver.clips or solver.clip_norm > 0
        assert solver.configured(problem) == solver
        if "max_iter" not in solver.ignores:
            assert solver.max_iter >= 1 and isinstance(solver.max_iter, int)
        if "learning_rate" not in solver.ignores:
            assert solver.learning_rate > 0


@every_solver
def test_configured_keeps_what_was_given_and_is_idempotent(name):
    problem = problem_for(name)
    given = {"max_iter": 7, "learning_rate": 0.01, "clip_norm": 0.2}
    given = {key: value for key, value in given.items() if key not in SOLVERS[name].ignores}
    solver = SOLVERS[name](**given).configured(problem)
    assert {key: getattr(solver, key) for key in given} == given
    assert solver.configured(problem) == solver
    default = SOLVERS[name]().configured(problem)
    assert default.configured(problem) == default


@every_solver
def test_solvers_of_groups_clip_what_these_add(name):
    if not SOLVERS[name].clips or not SOLVERS[name].takes_groups:
        return
    for problem in solver_problems(name):
        grouped = dataclasses.replace(problem, grouped=True)
        solver = SOLVERS[name]().configured(grouped)
        expected = None
        if problem.model.is_linear and problem.is_private:
            # A narrower clip would turn a loss that may not be clipped into another.
            expected = solver.clip_norm / (8 if problem.loss.clippable else 1)
        assert solver.group_clip_norm == expected
        assert solver.configured(grouped) == solver


@every_solver
def test_configured_sees_a_problem_of_public_facts_only(name):
    assert list(inspect.signature(SOLVERS[name].configured).parameters) == ["self", "problem"]
    kinds = {field.name for field in dataclasses.fields(Problem)}
    assert kinds == {"n_samples", "model", "loss", "penalty", "epsilon", "delta", "geometry",
                     "weight_bound", "weight_mean", "grouped", "log_odds"}
    # A problem can be hashed, which no array can.
    assert len({problem_for(name), problem_for(name)}) == 1
    one, other = (SOLVERS[name]().configured(problem_for(name)) for _ in range(2))
    assert one == other


@every_solver
def test_a_solver_is_a_frozen_dataclass(name):
    solver = SOLVERS[name]()
    with pytest.raises(dataclasses.FrozenInstanceError):
        solver.clip_norm = 3.0


@every_solver
def test_plan_is_hashable_and_more_noise_is_more_private(name):
    steps = {} if "max_iter" in SOLVERS[name].ignores else {"max_iter": 5}
    for problem in [problem_for(name), problem_for(name, n_samples=1000, data_norm=3.0)]:
        plan = SOLVERS[name](**steps).configured(problem).queries(problem)
        assert hash(plan) == hash(SOLVERS[name](**steps).configured(problem).queries(problem))
        assert isinstance(plan(1.0), Event)
        deltas = [accountant.delta(plan(noise), 0.5) for noise in (0.5, 1.0, 2.0, 4.0, 8.0)]
        assert all(more < less for less, more in itertools.pairwise(deltas))


@every_solver
def test_calibrated_plan_meets_the_budget(name):
    problem = problem_for(name)
    declared = SOLVERS[name]().configured(problem).queries(problem)
    for plan in (declared, Framed((Gaussian(moment_budget(problem)),), declared, ())):
        noise = calibrate(plan, problem.epsilon, problem.delta)
        spent = accountant.delta(plan(noise), problem.epsilon)
        assert 0.95 * problem.delta <= spent <= problem.delta


def _suits(solver, params):
    """Whether a solver has a use for parameters and can keep its guarantee with them."""
    kind = ALL_SOLVERS[solver]
    penalty = params.get("penalty", "l2")
    return (not set(params) & set(kind.ignores)
            and (penalty == "l2" or not (
                {L2_PENALTY, RIDGE, RIDGE_OR_NONE} & set(kind.requires)))
            and (params.get("penalty", "l1_ball") in CONSTRAINTS
                 or not {IN_A_SET, IN_AN_L1_BALL} & set(kind.requires))
            and (kind.whitens or params.get("precondition") is not True))


def _accepting(solver, options):
    return set(options) <= set(ALL_SOLVERS[solver].options())


@pytest.mark.covering
@every_fit
@pytest.mark.parametrize("params", [
    {}, {"max_iter": 3}, {"alpha": 0.1, "penalty": "elasticnet"}, {"fit_intercept": False},
    {"batch_size": 10}, {"precondition": True}, {"precondition": False},
    {"penalty": "l1_ball", "radius": 2.0}, {"data_norm": 0.1}])
def test_what_a_fit_releases_is_what_it_declared(cls, solver, params, ledgers):
    if not (is_linear(cls) or set(params) <= {"max_iter", "batch_size", "data_norm"}):
        pytest.skip("has other parameters")
    needs_a_set = takes_no_set(cls, solver) and params == {"precondition": False}
    if needs_a_set or not _suits(solver, params):
        # What a solver cannot use or bear is refused, and nothing is released.
        with pytest.raises(ValueError, match=r"leave |use "):
            make_estimator(cls, solver, **params).fit(*training_rows(cls()))
        assert not any(ledger.spent.events for ledger in ledgers)
        return
    model = make_estimator(cls, solver, **params)
    model.fit(*training_rows(model))
    (ledger,) = ledgers
    spent, plan = tally(ledger.spent), tally(ledger.plan)
    assert plan == tally(model.privacy_.event)
    # Coefficients that were shrunk to 0 have no slopes to release.
    assert spent == plan or (is_linear(cls) and not np.any(model.coef_) and spent < plan)
    if params.get("precondition") is True:
        moment = Gaussian(moment_budget(make_problem(epsilon=1.0, delta=80.0**-2)))
        assert tally(ledger.spent)[moment] == 1


@pytest.mark.covering(most=22)
@where_sets_may_be_needed(every_fit)
def test_weights_and_sparse_rows_change_nothing_that_is_declared(cls, solver, ledgers):
    model = make_estimator(cls, solver, precondition=False)
    X, y = training_rows(model)
    again = sparse.csr_matrix(X) if is_linear(cls) else X
    for rows, weights in ((X, None), (again, None), (X, np.full(len(X), 0.5))):
        model.fit(rows, y, sample_weight=weights)
    plans = [tally(ledger.plan) for ledger in ledgers]
    if solver == "rrpsgd":
        # Each fit draws its own number of rounds, and its noise follows.
        assert [tally(ledger.spent) for ledger in ledgers] == plans
        return
    assert [tally(ledger.spent) for ledger in ledgers] == plans
    assert plans[0] == plans[1] and {type(event) for event in plans[2]} == {
        type(event) for event in plans[0]}


@pytest.mark.covering
@every_fit
@pytest.mark.parametrize("iterate", sorted(ITERATES))
def test_what_a_fit_releases_is_within_what_it_declared(cls, solver, iterate, ledgers):
    if not _accepting(solver, ["iterate"]):
        assert "iterate" not in ALL_SOLVERS[solver].options()
        return
    for _ in range(5):
        model = make_estimator(cls, solver, max_iter=6, solver_options={"iterate": iterate})
        model.fit(*training_rows(model))
        plan, spent = tally(ledgers[-1].plan), tally(ledgers[-1].spent)
        assert tally(model.privacy_.event) == plan
        assert spent == plan
        # What comes after a random iterate is neither asked nor paid for.
        assert model.n_iter_ == 6 or (iterate == "random" and 1 <= model.n_iter_ < 6)


@pytest.mark.covering(most=22)
@every_fit
def test_n_iter_is_the_planned_number_of_steps(cls, solver):
    if "max_iter" in ALL_SOLVERS[solver].ignores:
        assert make_estimator(cls, solver).fit(*training_rows(cls())).n_iter_ == 1
        return
    model = make_estimator(cls, solver, max_iter=4)
    X, y = training_rows(model)
    if solver == "rrpsgd":
        assert 1 <= model.fit(X, y).n_iter_ <= 4
        model.set_params(solver_options={"rounds": 3})
        assert model.fit(X, y).n_iter_ == 3
        return
    assert model.fit(X, y).n_iter_ == 4
    model.set_params(max_iter=None).fit(X, y)
    again = make_estimator(cls, solver, max_iter=None).fit(X[::-1] * 0.5, y)
    assert model.n_iter_ == again.n_iter_


@pytest.mark.covering(most=12)
@every_fit
def test_iterates_differ_but_cost_the_same(cls, solver):
    if not _accepting(solver, ["iterate"]):
        return
    coefs, noises = [], []
    for iterate in ("tail", "last", "average"):
        model = make_estimator(cls, solver, random_state=NoiseSeed(0),
                               solver_options={"iterate": iterate})
        model.fit(*training_rows(model))
        coefs.append(coefficients(model))
        noises.append(model.privacy_.noise_multiplier)
    assert len({coef.tobytes() for coef in coefs}) == 3
    assert len(set(noises)) == 1


@every_fit
def test_an_option_the_solver_does_not_take_is_refused_with_those_it_takes(cls, solver):
    model = make_estimator(cls, solver, solver_options={"patience": 0.9})
    with pytest.raises(ValueError, match="patience") as caught:
        model.fit(*training_rows(model))
    assert solver in str(caught.value)
    shared = {"max_iter", "learning_rate", "clip_norm", "batch_size"}
    for option in set(ALL_SOLVERS[solver].options()) - shared:
        assert repr(option) in str(caught.value)


@every_fit
def test_a_parameter_the_solver_has_no_use_for_is_refused(cls, solver):
    for key in ALL_SOLVERS[solver].ignores:
        model = make_estimator(cls, solver, **{key: 5})
        with pytest.raises(ValueError, match=f"{key}=5.*{solver}.*{key}=None"):
            model.fit(*training_rows(model))


@every_estimator
def test_auto_is_a_registered_solver_chosen_by_public_facts(cls):
    pure = "objective_perturbation" in documented_solvers(cls)
    for delta in (None, 1e-6, *([0.0] if pure else [])):
        chosen = []
        for seed in range(2):
            model = cls(delta=delta).fit(*training_rows(cls(), seed=seed))
            chosen.append(model.privacy_.solver)
        assert chosen[0] == chosen[1] and chosen[0] in auto_solvers(cls)


def test_the_registries_are_not_empty():
    assert len(ESTIMATORS) >= 2 and len(SOLVERS) >= 3
