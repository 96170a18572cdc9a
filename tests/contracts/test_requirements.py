"""What a solver needs is checked by name, before anything is drawn."""

import dataclasses
import math
import re

import numpy as np
import pytest

from dpsk import DPLogisticRegression, DPRidge
from dpsk._objective import requirements
from dpsk._solvers import SOLVERS
from tests.registry import (
    every_solver,
    make_estimator,
    make_problem,
    problem_for,
    training_rows,
)

REQUIREMENTS = {name: value for name, value in vars(requirements).items()
                if isinstance(value, requirements.Requirement)}


@every_solver
def test_every_requirement_of_a_solver_is_one_that_can_be_checked(name):
    assert set(SOLVERS[name].requires) <= set(REQUIREMENTS.values())


@dataclasses.dataclass(frozen=True)
class _Rough:
    """A loss without bounds, as a stand-in for one to come."""

    lipschitz = math.inf
    smoothness = math.inf
    convex = False
    piecewise = True
    vector_output = True


@pytest.mark.parametrize("requirement", sorted(REQUIREMENTS))
def test_an_unmet_requirement_names_what_is_missing_and_a_remedy(requirement):
    text = REQUIREMENTS[requirement].message.format(solver="some_solver", loss="SomeLoss")
    subjects = {"FINITE_CLIP": "clip_norm", "POSITIVE_DELTA": "delta", "L2_PENALTY": "penalty",
                "RIDGE": "alpha > 0", "NO_BUDGET": "epsilon", "RIDGE_OR_NONE": "penalty",
                "IN_A_SET": "penalty", "FEW_COLUMNS": "2001", "IN_AN_L1_BALL": "penalty"}
    subject = subjects.get(requirement, "SomeLoss")
    assert subject in text
    assert any(word in text for word in ("set ", "use ", "leave "))


@every_solver
def test_requirements_are_checked_against_the_problem(name):
    problem = make_problem(penalty="l1")
    problem = dataclasses.replace(problem, loss=_Rough(), delta=0.0,
                                  model=dataclasses.replace(problem.model, n_features=10**4))
    solver = SOLVERS[name](clip_norm=math.inf) if SOLVERS[name].clips else SOLVERS[name]()
    for requirement in SOLVERS[name].requires:
        assert not requirement.is_met(solver, problem)
        assert requirement.is_met(SOLVERS[name](), problem_for(name))


_UNMET = [*((name, {"clip_norm": math.inf}, "clip_norm=inf") for name in (
              "gd", "sgd", "svrg", "svrgpp", "rrpsgd", "stgd", "minibatch_stgd")),
          ("accmd", {"penalty": "l2", "radius": None}, "moves inside a set"),
          ("frank_wolfe", {"penalty": "l2_ball"}, "needs penalty='l1_ball'"),
          ("output_perturbation", {}, "bounded slope"),
          ("last_iterate", {"alpha": 0.1}, "bounded slope"),
          ("objective_perturbation", {"penalty": "l1"}, "penalty='l2'"),
          ("sufficient_statistics", {"penalty": "l1"}, "penalty='l2'")]
#: Others are asked for delta = 0, or for an l1 penalty, whichever they need to refuse.
_UNMET += [(name, {"delta": 0.0}, "delta=0.0") if requirements.POSITIVE_DELTA in solver.requires
           else (name, {"penalty": "l1", "alpha": 0.1}, name) for name, solver in SOLVERS.items()
           if solver.requires and name not in {case[0] for case in _UNMET}]


@pytest.mark.parametrize("name, params, message", _UNMET, ids=[case[0] for case in _UNMET])
def test_requirements_are_checked_before_the_solver_is_configured(
        name, params, message, monkeypatch):
    def configured(self, problem):
        raise AssertionError("configured")

    monkeypatch.setattr(SOLVERS[name], "configured", configured)
    model = make_estimator(DPRidge, name, **params)
    with pytest.raises(ValueError, match=message):
        model.fit(*training_rows(model))


def test_every_solver_has_an_unmet_requirement_to_check():
    assert {name for name, _, _ in _UNMET} == {
        name for name, solver in SOLVERS.items() if solver.requires}


@pytest.mark.parametrize("name, alpha, longest", [
    # Twice the inverse curvature of loss and penalty: from there on steps expand.
    ("output_perturbation", 0.0, lambda beta, alpha: 2.0 / beta),
    ("output_perturbation", 0.5, lambda beta, alpha: 2.0 / (beta + alpha)),
    # Where a step contracts as the penalty alone does.
    ("last_iterate", 0.5, lambda beta, alpha: 2.0 / (beta + 2.0 * alpha))])
def test_a_step_that_voids_the_guarantee_is_refused_by_name(name, alpha, longest, ledgers):
    problem = make_problem(alpha=alpha)
    bound = longest(problem.smoothness, alpha)
    for step in (0.999 * bound, 1e-9):
        solver = SOLVERS[name](learning_rate=step).configured(problem)
        assert solver.learning_rate == step
    for step in (1.001 * bound, 1e300):
        with pytest.raises(ValueError, match=re.escape(f"learning_rate={step!r}")):
            SOLVERS[name](learning_rate=step).configured(problem)
    model = make_estimator(DPLogisticRegression, name, alpha=alpha, learning_rate=1.001 * bound,
                           precondition=False)
    rows = training_rows(model)
    with pytest.raises(ValueError, match="learning_rate"):
        model.fit(*rows)
    assert not any(ledger.spent.events for ledger in ledgers)
    model.set_params(learning_rate=0.999 * bound).fit(*rows)
    assert np.all(np.isfinite(model.coef_))


@pytest.mark.parametrize("tolerance", [-1e-9, math.nan, math.inf, "tight", True, [0.1]])
def test_a_tolerance_that_certifies_nothing_is_refused_by_name(tolerance):
    model = make_estimator(DPLogisticRegression, "output_perturbation", alpha=0.1,
                           solver_options={"tolerance": tolerance})
    with pytest.raises(ValueError, match="tolerance="):
        model.fit(*training_rows(model))


@pytest.mark.parametrize("params, needed", [
    ({"alpha": 0.1, "max_iter": 2}, r"max_iter=2 .*max_iter=\d+"),
    ({"alpha": 1e-6}, r"max_iter=None .*max_iter=\d{5,}")])
def test_a_tolerance_that_steps_may_not_reach_is_refused_by_name_before_any_draw(
        params, needed, ledgers):
    for precondition in (False, True):
        model = make_estimator(DPLogisticRegression, "output_perturbation", **params,
                               precondition=precondition, solver_options={"tolerance": 1e-6})
        with pytest.raises(ValueError, match=r"tolerance=1e-06.*" + needed):
            model.fit(*training_rows(model))
    assert not any(ledger.spent.events for ledger in ledgers)


@pytest.mark.parametrize("params", [
    {"alpha": 1e17}, {"alpha": 1.0, "data_norm": 1e-10, "fit_intercept": False},
    {"alpha": 0.1, "solver_options": {"tolerance": 10.0}}])
def test_a_minimizer_that_one_step_certifies_takes_one_step(params):
    model = make_estimator(DPLogisticRegression, "output_perturbation", **params)
    assert model.fit(*training_rows(model)).n_iter_ == 1


@pytest.mark.parametrize("name", ["last_iterate", "output_perturbation"])
def test_the_longest_step_is_accepted_whatever_rounding_makes_of_it(name):
    for alpha in np.exp(np.linspace(-5, 1, 40)):
        model = make_estimator(DPLogisticRegression, name, alpha=alpha, max_iter=2)
        curvature = 0.25 * 2.0 + alpha * (2.0 if name == "last_iterate" else 1.0)
        model.set_params(learning_rate=2.0 / curvature, precondition=False)
        assert model.fit(*training_rows(model)).n_iter_ == 2


@pytest.mark.parametrize("given", [{}, {"tolerance": 0}, {"tolerance": 1e-6}, {"max_iter": 9},
                                   {"learning_rate": 0.3}, {"clip_norm": 0.2}])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.1])
def test_configuring_twice_makes_no_difference_to_what_is_certified(given, alpha):
    problem = make_problem(alpha=alpha)
    if given.get("tolerance") and not alpha:
        with pytest.raises(ValueError, match="tolerance=1e-06"):
            SOLVERS["output_perturbation"](**given).configured(problem)
        return
    solver = SOLVERS["output_perturbation"](**given).configured(problem)
    assert solver.configured(problem) == solver
    assert alpha or solver.tolerance == 0
    if "tolerance" in given and alpha:
        assert solver.tolerance == given["tolerance"]
