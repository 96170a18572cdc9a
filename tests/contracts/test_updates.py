"""Momentum, decay and Adam in steps of `sgd`, and the default rule for networks."""

from dataclasses import replace

import numpy as np
import pytest

from dpsk._models import MLP
from dpsk._objective.losses import Logistic, Squared
from dpsk._objective.penalties import PENALTIES
from dpsk._problem import Problem
from dpsk._solvers import SOLVERS
from dpsk._solvers.steps import train
from tests.registry import (
    ALL_SOLVERS,
    coefficients,
    every_fit,
    make_estimator,
    make_problem,
    training_rows,
)

RIDGE = PENALTIES["l2"](alpha=0.0, l1_ratio=0.0, radius=None, unpenalized=0)
RUN = {"step": 0.5, "n_steps": 4, "iterate": "last", "momentum": 0.0, "decay": False,
       "adaptive": False}


class Recorded:
    """Answers that are given beforehand, and the points that were asked for."""

    def __init__(self, answers):
        self._answers, self.points = iter(answers), []

    def gradient(self, theta):
        self.points.append(theta.copy())
        return np.array(next(self._answers), dtype=float)


def run(answers, penalty=RIDGE, **changes):
    return train(Recorded(answers), penalty, np.zeros(2), **{**RUN, **changes}).theta


def test_plain_steps_add_up():
    np.testing.assert_allclose(run([[1, 2]] * 4), [-2.0, -4.0])


def test_momentum_is_the_exponential_mean():
    answers = np.random.default_rng(0).normal(size=(4, 2))
    mean, theta = np.zeros(2), np.zeros(2)
    for answer in answers:
        mean = 0.7 * mean + 0.3 * answer
        theta -= 0.5 * mean
    np.testing.assert_allclose(run(answers, momentum=0.7), theta)


def test_decay_shrinks_steps_linearly_and_those_of_the_proximal_map():
    np.testing.assert_allclose(run([[1, 2]] * 4, decay=True), [-1.25, -2.5])
    lasso = PENALTIES["l1"](alpha=0.1, l1_ratio=1.0, radius=None, unpenalized=0)
    np.testing.assert_allclose(run([[1, 2]] * 4, lasso, decay=True), [-1.125, -2.375])


def test_adaptive_steps_have_the_length_of_the_step_whatever_the_scale():
    for scale in (1e-3, 1.0, 1e5):
        theta = run([[scale, -scale]] * 4, adaptive=True, momentum=0.9)
        np.testing.assert_allclose(theta, [-2.0, 2.0], rtol=1e-4)


@pytest.mark.parametrize("option, value", [("momentum", 1.0), ("momentum", "x"), ("decay", 1),
                                           ("adaptive", "yes"), ("momentum", -0.1)])
def test_bad_options_are_refused(option, value):
    with pytest.raises(ValueError, match=f"solver_options: {option}"):
        SOLVERS["sgd"](**{option: value}).configured(make_problem())


def test_linear_models_take_plain_steps_by_default():
    solver = SOLVERS["sgd"]().configured(make_problem())
    assert (solver.momentum, solver.decay, solver.adaptive) == (0.0, False, False)


def network_problem(n=60_000, epsilon=1.0, loss=None, **changes):
    model = MLP(784, (128,), None, "tanh")
    problem = Problem(n_samples=n, model=model, loss=loss or Logistic(), penalty=RIDGE,
                      epsilon=epsilon, delta=1.0 / n**2)
    return replace(problem, **changes)


@pytest.mark.parametrize("name", ["gd", "sgd", "rrpsgd"])
@pytest.mark.parametrize("n", [2, 200, 60_000, 10**7])
def test_the_default_rule_gives_usable_numbers_that_stay(name, n):
    for loss in (Logistic(), Squared()):
        solver = SOLVERS[name]().configured(network_problem(n, loss=loss))
        assert solver.configured(network_problem(n, loss=loss)) == solver
        assert 30 <= solver.max_iter <= 2000 and 0 < solver.learning_rate <= 8
        assert solver.clip_norm == 1.0
        if name != "gd":
            assert 2 <= solver.batch_size <= min(n, 8192)


def test_steps_follow_the_budget_and_the_step_the_clip_norm():
    few, many = (SOLVERS["sgd"]().configured(network_problem(epsilon=e)) for e in (1.0, 3.0))
    assert 2.5 < many.max_iter / few.max_iter < 3.1 and few.batch_size == 4000
    tight = SOLVERS["sgd"](clip_norm=0.1).configured(network_problem())
    assert tight.learning_rate == pytest.approx(10 * few.learning_rate)
    heavy = SOLVERS["sgd"]().configured(network_problem(weight_bound=5.0))
    assert heavy.clip_norm == 5.0
    unbounded = SOLVERS["sgd"]().configured(network_problem(weight_bound=np.inf))
    assert unbounded.clip_norm == 1.0


@pytest.mark.parametrize("schedule", ["convex", "nonconvex", "pl", "strongly_convex"])
def test_schedules_of_theorems_are_refused_for_networks(schedule):
    with pytest.raises(ValueError, match=r"schedule=.*network.*leave schedule='default'"):
        SOLVERS["gd"](schedule=schedule).configured(network_problem())


@every_fit
def test_step_options_leave_finite_coefficients(cls, solver):
    steps = {"learning_rate": 1e-3, "max_iter": 2}
    model = make_estimator(cls, solver, **{
        key: value for key, value in steps.items() if key not in ALL_SOLVERS[solver].ignores})
    model.fit(*training_rows(model))
    assert np.all(np.isfinite(coefficients(model)))
