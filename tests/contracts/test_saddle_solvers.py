"""Every solver of saddle problems is set by public facts, and asks for what it declared."""

import dataclasses
import itertools
import math
from numbers import Real

import numpy as np
import pytest

from dpsk import DPAUCMaximizer, DPGroupDROClassifier
from dpsk._data.source import Rows
from dpsk._defaults.losses import LINEAR_SADDLE
from dpsk._mechanism.session import Session
from dpsk._models import MLP, LinearModel
from dpsk._objective.losses import Logistic
from dpsk._objective.penalties import PENALTIES
from dpsk._objective.requirements import check_requirements
from dpsk._objective.saddle import AUCSquare, GroupRisk
from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Event, Gaussian, SampledGaussian, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import streams
from dpsk._privacy.noise.samplers import standard_normal
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import Framed
from dpsk._problem import Geometry, Problem
from dpsk._solvers import SADDLE_SOLVERS
from dpsk._solvers.steps import ITERATES
from dpsk._stages.counting import count_budget
from tests.estimators.test_saddle_optima import CASES
from tests.registry import every_saddle_solver, make_problem, training_rows

LOSSES = {"auc": AUCSquare(0.3, 0.3), "groups": GroupRisk(Logistic(), (0.2, 0.8), 0.01, 3.0),
          "five": GroupRisk(Logistic(), (0.2,) * 5, 0.0, 3.0)}
MODELS = {"linear": LinearModel(3, None, True, 1.0), "mlp": MLP(3, (5,), None)}


def problem_of(loss="auc", model="linear", n_samples=200, **changes):
    loss, model = LOSSES[loss], MODELS[model]
    penalty = PENALTIES["l2"](alpha=0.0, l1_ratio=0.5, radius=None, unpenalized=loss.n_extra)
    return Problem(**{"n_samples": n_samples, "model": model, "loss": loss, "penalty": penalty,
                      "epsilon": 1.0, "delta": 1e-5, **changes})


PROBLEMS = [problem_of(loss, model, n, epsilon=epsilon, weight_bound=bound)
            for loss in LOSSES for model in MODELS
            for n, epsilon, bound in [(2, 0.01, 1.0), (200, 1.0, np.inf), (10**7, 50.0, 1e10)]]
PROBLEMS += [problem_of(loss, geometry=Geometry(4.0, 2.0)) for loss in LOSSES]


@every_saddle_solver
def test_configured_sets_every_field_from_public_facts_and_is_idempotent(name):
    for problem in PROBLEMS:
        solver = SADDLE_SOLVERS[name]().configured(problem)
        for field in dataclasses.fields(solver):
            value = getattr(solver, field.name)
            assert value is not None, (field.name, problem)
            if isinstance(value, Real):
                assert math.isfinite(value) and value >= 0, (field.name, problem)
        assert isinstance(solver.max_iter, int) and solver.max_iter >= 1
        assert 1 <= solver.batch_size <= problem.n_samples
        assert min(solver.clip_norm, solver.dual_clip_norm, solver.learning_rate,
                   solver.dual_learning_rate) > 0
        assert solver.configured(problem) == solver == SADDLE_SOLVERS[name]().configured(problem)


@every_saddle_solver
def test_configured_keeps_what_was_given(name):
    given = {"max_iter": 7, "learning_rate": 0.01, "clip_norm": 0.2, "batch_size": 30,
             "dual_clip_norm": 0.3, "dual_learning_rate": 0.04, "iterate": "tail"}
    solver = SADDLE_SOLVERS[name](**given).configured(problem_of())
    assert {key: getattr(solver, key) for key in given} == given
    with pytest.raises(dataclasses.FrozenInstanceError):
        solver.clip_norm = 3.0


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_steps_by_differences_shorten_where_rows_are_few_and_nowhere_else(loss):
    solver = SADDLE_SOLVERS["privatediff"]()
    problems = [problem_of(loss, n_samples=n) for n in (100, 300, 10_000, 10**7)]
    first = [SADDLE_SOLVERS["sgda"]().configured(problem) for problem in problems]
    by_difference = [solver.configured(problem) for problem in problems]
    few, more, many, most = (one.learning_rate / other.learning_rate
                             for one, other in zip(by_difference, first, strict=True))
    assert few < more < many == most == 0.25
    few, more, many, most = (one.max_iter for one in by_difference)
    assert few <= more <= many == most == first[-1].max_iter // 5
    networks = [solver.configured(problem_of(loss, "mlp", n)) for n in (2, 100)]
    assert len({network.learning_rate for network in networks}) == 1


@every_saddle_solver
def test_nothing_that_is_released_first_changes_the_plan_or_the_clips(name):
    """Shares that were counted and moments that whiten come after noise is calibrated."""
    solver = SADDLE_SOLVERS[name]()
    for before, after in [
            (problem_of("groups"), dataclasses.replace(
                problem_of("groups"), loss=GroupRisk(Logistic(), (0.01, 0.99), 0.01, 3.0))),
            (problem_of(), dataclasses.replace(problem_of(), loss=AUCSquare(0.01, 0.01))),
            (problem_of(geometry=Geometry(4.0)), problem_of(geometry=Geometry(1.1, 9.0)))]:
        first, later = (solver.configured(problem) for problem in (before, after))
        assert first.queries(before) == later.queries(after)


@every_saddle_solver
def test_the_plan_is_hashable_and_more_noise_is_more_private(name):
    for problem, batch_size in itertools.product(map(problem_of, LOSSES), (None, 20)):
        solver = SADDLE_SOLVERS[name](max_iter=5, batch_size=batch_size).configured(problem)
        plan = solver.queries(problem)
        assert hash(plan) == hash(solver.queries(problem)) and isinstance(plan(1.0), Event)
        deltas = [accountant.delta(plan(noise), 0.5) for noise in (0.5, 1.0, 2.0, 4.0, 8.0)]
        assert all(more < less for less, more in itertools.pairwise(deltas))


@every_saddle_solver
@pytest.mark.parametrize("batch_size", [None, 20])
def test_the_calibrated_plan_meets_the_budget_with_counts_before_it(name, batch_size):
    problem = problem_of()
    declared = SADDLE_SOLVERS[name](batch_size=batch_size).configured(problem).queries(problem)
    for plan in (declared, Framed((Gaussian(count_budget(problem)),), declared, ())):
        noise = calibrate(plan, problem.epsilon, problem.delta)
        spent = accountant.delta(plan(noise), problem.epsilon)
        assert 0.95 * problem.delta <= spent <= problem.delta


def run(name, problem, **params):
    """Return the ledger and the declared plan of one run."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(problem.n_samples, 3)).astype(
        np.float64 if problem.model.is_linear else np.float32)
    y = np.arange(problem.n_samples) % 2
    targets = y.astype(float) if problem.loss.n_extra else np.column_stack([y, y])
    solver = SADDLE_SOLVERS[name](**params).configured(problem)
    plan = solver.queries(problem)
    ledger, stream = Ledger(plan(2.0)), EntropyStream()
    oracle = plan.run((problem, Rows(X, targets)), Session(stream, ledger), 2.0)
    start = problem.start(lambda shape: standard_normal(stream, shape))
    with np.errstate(all="ignore"):  # as in a fit: single precision may raise a flag for nothing
        point = solver.minimize(oracle, problem.penalty, start).theta
    assert np.all(np.isfinite(point))
    assert len(point) == len(start) + problem.loss.dual_set.size
    # Nothing is left: one answer more is refused.
    with pytest.raises(RuntimeError, match="declared plan"):
        ask = oracle.gradients if name == "sgda" else oracle.gradient
        ask(start, problem.loss.dual_set.start)
    return ledger, plan


@every_saddle_solver
@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("batch_size", [None, 25])
def test_what_a_run_releases_is_what_it_declared(name, loss, model, batch_size):
    problem = problem_of(loss, model)
    size = problem.n_samples if batch_size is None else batch_size
    ledger, plan = run(name, problem, max_iter=5, batch_size=size)
    assert tally(ledger.spent) == tally(ledger.plan) == tally(plan(2.0))
    kind = Gaussian if batch_size is None else SampledGaussian
    assert {type(event) for event in tally(ledger.spent)} == {kind}


@every_saddle_solver
@pytest.mark.parametrize("iterate", sorted(set(ITERATES) - {"random"}))
def test_iterates_cost_the_same(name, iterate):
    problem = problem_of()
    plans = [SADDLE_SOLVERS[name](iterate=kind).configured(problem).queries(problem)
             for kind in (iterate, "last")]
    assert plans[0] == plans[1]


def test_privatediff_counts_its_kinds():
    ledger, _ = run("privatediff", problem_of(), max_iter=7, period=3, inner_steps=2,
                    difference_ratio=3.0)
    events = tally(ledger.spent)
    assert events == {Gaussian(1.0): 14 + 3, Gaussian(1.0 / 3.0): 4}


def test_a_round_that_does_not_move_asks_for_no_difference_and_is_charged_in_the_plan():
    solver = SADDLE_SOLVERS["privatediff"](max_iter=4, learning_rate=1e-250,
                                           dual_learning_rate=1e-10)
    problem = problem_of("auc")
    solver = solver.configured(problem)
    plan = solver.queries(problem)
    ledger = Ledger(plan(2.0))
    rows = Rows(np.zeros((200, 3)), np.arange(200) % 2.0)
    oracle = plan.run((problem, rows), Session(EntropyStream(), ledger), 2.0)
    point = np.zeros(6), np.zeros(1)
    assert not oracle.difference(point, point).any()
    assert not ledger.spent.events
    moved = oracle.difference((point[0] + 1e-12, point[1]), point)
    assert moved.any() and sum(tally(ledger.spent).values()) == 1


@pytest.fixture
def no_noise(monkeypatch):
    """Fail on any draw."""
    def words(self, count):
        pytest.fail("noise was drawn")

    monkeypatch.setattr(streams.EntropyStream, "words", words)
    monkeypatch.setattr(streams.KeyedStream, "words", words)


@every_saddle_solver
@pytest.mark.parametrize("changes, match", [
    ({"loss": Logistic()}, "the loss makes no saddle problem; use solver='gd'"),
    ({"delta": 0.0}, r"delta=0\.0.*needs delta > 0")])
def test_a_problem_that_a_solver_cannot_serve_is_refused(name, changes, match):
    problem = dataclasses.replace(problem_of(), **changes)
    with pytest.raises(ValueError, match=match):
        check_requirements(name, SADDLE_SOLVERS[name](), problem)
    check_requirements(name, SADDLE_SOLVERS[name](), problem_of())


@pytest.mark.parametrize("solver", ["gd", "sgd"])
def test_a_solver_of_plain_losses_refuses_a_saddle_problem(solver, no_noise):
    model = DPAUCMaximizer(loss="auc", solver=solver)
    with pytest.raises(ValueError, match=f"solver='{solver}'.*makes a saddle.*use solver='sgda'"):
        model.fit(*training_rows(model))


@every_saddle_solver
@pytest.mark.parametrize("cls, params, match", [
    (DPAUCMaximizer, {"loss": "logistic"}, "makes no saddle problem"),
    (DPAUCMaximizer, {"delta": 0.0}, "delta > 0"),
    (DPGroupDROClassifier, {"delta": 0.0}, "delta > 0"),
    (DPAUCMaximizer, {"clip_norm": math.inf}, "finite clip_norm")])
def test_fits_are_refused_before_any_noise_is_drawn(name, cls, params, match, no_noise):
    model = cls(solver=name, **params)
    with pytest.raises(ValueError, match=match):
        model.fit(*training_rows(model))
    assert not hasattr(model, "privacy_")


_BAD = {
    "dual_clip_norm": [0, -1.0, math.nan, math.inf, "wide", 1e-11, True],
    "dual_learning_rate": [0, -1.0, math.nan, math.inf, "fast"],
    "iterate": ["best", 3],
}
_BAD_OF = {
    "sgda": {"dual_share": [0, 1, 0.0, 1.0, -0.1, math.nan, "half"],
             "momentum": [-0.1, 1.0, 1, math.nan, "much"]},
    "privatediff": {"period": [0, 1.5, "two", True], "inner_steps": [0, 2.5],
                    "difference_ratio": [0, -1.0, 1e-4, 1e4, math.nan, "two"],
                    "slopes": [1.0, (1.0,), (1.0, 2.0, 3.0), (0.0, 1.0), (1.0, math.inf), "ab"]},
}


@pytest.mark.parametrize("name, option, value", [
    (name, option, value) for name in sorted(SADDLE_SOLVERS)
    for option, values in {**_BAD, **_BAD_OF[name]}.items() for value in values])
def test_a_bad_option_is_refused_by_name_before_any_noise_is_drawn(name, option, value, no_noise):
    model = DPGroupDROClassifier(solver=name, solver_options={option: value})
    with pytest.raises(ValueError, match=f"solver_options: {option}=.*must be"):
        model.fit(*training_rows(model))


@every_saddle_solver
def test_numbers_of_numpy_do_as_options(name):
    options = {"sgda": {"dual_share": np.float32(0.25), "momentum": np.float32(0.5)},
               "privatediff": {"period": np.int64(3), "difference_ratio": np.float32(2.0),
                               "slopes": np.array([1.0, 0.5]).tolist()}}[name]
    model = DPGroupDROClassifier(solver=name, max_iter=4, solver_options={
        **options, "dual_clip_norm": np.float32(2.0)})
    certificate = model.fit(*training_rows(model)).privacy_
    assert type(certificate).from_json(certificate.to_json()) == certificate


def test_a_loss_and_a_solver_of_it_are_told_apart_in_every_registry():
    assert all(solver.minimax for solver in SADDLE_SOLVERS.values())
    assert not make_problem().loss.minimax and problem_of().loss.minimax


def test_the_optimum_of_every_saddle_loss_of_linear_scores_is_tried():
    # Without noise, policy evaluation is solved by LSTD alone.
    assert set(CASES) == set(LINEAR_SADDLE) - {"ProjectedBellman"}
