"""Frank-Wolfe's choices and prices, and which solver "auto" takes inside a set."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dpsk import DPLasso, DPLogisticRegression
from dpsk._data.source import Rows
from dpsk._defaults.auto import auto_solver
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.losses import Logistic
from dpsk._objective.penalties import Box, L1Ball
from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Gaussian, Pure, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._problem import Problem
from dpsk._queries import Vertices
from dpsk._solvers import SOLVERS
from dpsk.testing import NoiseSeed


def _problem(p=10, n=20_000, radius=10.0, bound=None, intercept=False, **changes):
    model = LinearModel(p, changes.pop("outputs", None), intercept, 1.0, bound)
    problem = Problem(n, model, Logistic(), L1Ball(radius), 1.0, 1 / n**2)
    return replace(problem, **changes)


@pytest.fixture
def noiseless(monkeypatch):
    monkeypatch.setattr(samplers, "gumbel", lambda stream, shape: np.zeros(shape))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("intercept", [False, True])
def test_without_noise_the_vertex_is_the_steepest(container, intercept, noiseless):
    rng = np.random.default_rng(0)
    declared = Vertices(ExponentialChoices(1, pure=False), 5.0)
    for _ in range(20):
        X, y = rng.normal(size=(30, 4)) / 4, rng.integers(2, size=30) * 1.0
        problem = _problem(4, intercept=intercept)
        oracle = declared.run((problem, Rows(container(X), y)),
                              Session(EntropyStream(), Ledger(declared(8.0))), 8.0)
        theta = rng.normal(size=problem.model.shape)
        rows = np.column_stack([X / np.maximum(1, np.linalg.norm(X, axis=1))[:, None],
                                *[np.ones(30)] * intercept])
        slopes = rows.T @ (1 / (1 + np.exp(-rows @ theta)) - y)
        place, sign = oracle.descent_vertex(theta)
        assert place == np.abs(slopes).argmax() and sign == -np.sign(slopes[place])
        with pytest.raises(RuntimeError, match="not in the declared plan"):
            oracle.descent_vertex(theta)


def test_after_t_steps_at_most_t_coefficients_are_not_zero_and_they_stay_in_the_ball():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 50))
    for steps in (1, 3, 10):
        model = DPLasso(solver="frank_wolfe", radius=0.7, max_iter=steps,
                        data_norm=1.0, target_bounds=(-1, 1)).fit(X, X[:, 0])
        theta = np.append(model.coef_, model.intercept_)
        assert np.count_nonzero(theta) <= steps
        assert np.abs(theta).sum() <= 0.7 * (1 + 1e-12)


def test_one_choice_is_pure_and_gaussian_and_the_cheaper_is_declared():
    problem = _problem()
    few, many = (SOLVERS["frank_wolfe"](max_iter=steps).configured(problem).queries(problem)
                 for steps in (2, 200))
    assert isinstance(few.answers.release(8.0), Pure) and few.answers.release(8.0).epsilon == 0.5
    assert isinstance(many.answers.release(8.0), Gaussian)
    for plan in (few, many):
        other = replace(plan, answers=replace(plan.answers, pure=not plan.answers.pure))
        noise = [calibrate(one, 1.0, problem.delta) for one in (plan, other)]
        assert noise[0] <= noise[1]
        assert accountant.delta(plan(noise[0]), 1.0) <= problem.delta
    pure = SOLVERS["frank_wolfe"](max_iter=200).configured(replace(problem, delta=0.0))
    plan = pure.queries(replace(problem, delta=0.0))
    event = plan(calibrate(plan, 1.0, 0.0))
    assert event == Repeated(Pure(event.event.epsilon), 200)
    assert event.event.epsilon == pytest.approx(1 / 200)


def test_the_default_clip_is_what_entries_and_slopes_allow():
    for intercept, reach in ((False, 0.25), (True, 1.0)):
        problem = _problem(bound=0.25, intercept=intercept)
        solver = SOLVERS["frank_wolfe"]().configured(problem)
        assert solver.clip_norm == pytest.approx(reach, rel=1e-6)
    text = DPLogisticRegression(solver="frank_wolfe", penalty="l1_ball", radius=1.0).fit(
        np.eye(4), [0, 1, 0, 1]).privacy_
    assert "largest absolute entry" in str(text)


@pytest.mark.parametrize("p, bound, radius, expected", [
    # The measured designs: 16 and 256 entries of one size a row.
    (100, 1 / 4, 10.0, "gd"), (10**5, 1 / 4, 10.0, "gd"), (1000, 1 / 16, 40.0, "gd"),
    (10**4, 1 / 16, 40.0, "frank_wolfe"), (10**5, 1 / 16, 40.0, "frank_wolfe")])
def test_auto_takes_what_was_measured_to_be_best(p, bound, radius, expected):
    assert auto_solver(_problem(p, bound=bound, radius=radius)) == expected


def test_auto_inside_other_sets_and_at_pure_epsilon():
    assert auto_solver(_problem(delta=0.0)) == "frank_wolfe"
    assert auto_solver(_problem(penalty=Box(1.0))) == "gd"
    assert auto_solver(_problem(penalty=Box(1.0), delta=0.0)) == "output_perturbation"
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    model = DPLasso(delta=0.0).fit(X, X[:, 0])
    assert model.privacy_.solver == "frank_wolfe" and model.privacy_.epsilon_at(0.0) <= 1.0


@pytest.mark.audit
def test_the_lasso_finds_the_signal_among_many_features():
    rng = np.random.default_rng(3)
    X = rng.choice([-1.0, 1.0], size=(20_000, 400)) / 20
    y = 8.0 * X[:, 3] - 8.0 * X[:, 7]
    params = dict(data_norm_inf=1 / 20, radius=16.0, fit_intercept=False,
                  random_state=NoiseSeed(0))
    for solver in ("accmd", "frank_wolfe", "gd", "auto"):
        model = DPLasso(solver=solver, **params).fit(X, y)
        print(solver, model.privacy_.solver, model.score(X, y))
        assert model.score(X, y) > 0.5
        assert set(np.argsort(-np.abs(model.coef_))[:2]) == {3, 7}
