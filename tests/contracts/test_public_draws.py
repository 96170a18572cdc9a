"""Random choices that are public are made before the plan, and the noise follows them."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

from dpsk import DPLinearSVC, DPLogisticRegression, _fit
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.events import tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.seeds import public_seed
from dpsk._privacy.noise.streams import (
    EntropyStream,
    open_stream,
    random_index,
    random_permutation,
)
from dpsk._queries import LastIterate, Output
from dpsk._queries.last_iterate import LastIterateOracle
from dpsk._queries.one_shot import OutputOracle
from dpsk._solvers import SOLVERS
from dpsk._solvers.first_order.schedules import ITERATE
from dpsk._sums.linear_sums import float_sums
from tests.registry import (
    ALL_SOLVERS,
    every_fit,
    make_estimator,
    make_loss,
    make_model,
    make_penalty,
    make_problem,
    make_targets,
    problem_for,
    training_rows,
)


@pytest.mark.covering(most=12)
@every_fit
def test_noise_is_calibrated_to_the_number_of_steps_that_was_drawn(cls, solver):
    if not {"iterate", "rounds"} & set(ALL_SOLVERS[solver].options()):
        return
    options = {} if solver == "rrpsgd" else {"iterate": "random"}
    seen = {}
    for _ in range(12):
        model = make_estimator(cls, solver, max_iter=5, solver_options=options)
        model.fit(*training_rows(model))
        seen[model.n_iter_] = model.privacy_
        assert 0.95 * model.privacy_.delta <= model.privacy_.delta_at(1.0) <= model.privacy_.delta
    # All twelve draws alike has probability 5^-11, below 1e-7.
    assert len(seen) > 1 and set(seen) <= set(range(1, 6))
    events = [sum(tally(seen[steps].event).values()) for steps in sorted(seen)]
    noises = [seen[steps].noise_multiplier for steps in sorted(seen)]
    assert events == sorted(events) and noises == sorted(noises)
    # Batches that take turns may pay alike for one step more.
    assert solver == "minibatch_stgd" or len(set(noises)) == len(seen)


@pytest.mark.parametrize("rounds", [0, 8, 1.5, True, "all"])
def test_a_number_of_rounds_beyond_the_longest_run_is_refused(rounds):
    model = make_estimator(DPLogisticRegression, "rrpsgd", max_iter=7,
                           solver_options={"rounds": rounds})
    with pytest.raises(ValueError, match="rounds="):
        model.fit(*training_rows(model))


def test_the_drawn_rounds_are_uniform_up_to_the_longest_run():
    """Exact multinomial law; the chi-square statistic at level 1e-9."""
    solver, problem, stream = SOLVERS["rrpsgd"](max_iter=5), problem_for("rrpsgd"), EntropyStream()
    planned = solver.configured(problem)
    drawn = [solver.drawn(planned, lambda stop: random_index(stream, stop)).rounds
             for _ in range(2000)]
    counts = np.bincount(drawn, minlength=6)[1:]
    assert counts.sum() == 2000
    assert chi2(4).sf(np.sum((counts - 400)**2) / 400) > 1e-9


@pytest.mark.parametrize("name", ["gd", "sgd", "rrpsgd", "stgd", "minibatch_stgd"])
def test_the_draw_sees_public_facts_only_and_leaves_the_rest_as_configured(name):
    options = {} if name == "rrpsgd" else {"iterate": "random"}
    problem, asked = problem_for(name), []

    def third(stop):
        asked.append(stop)
        return 2

    solver = SOLVERS[name](max_iter=9, **options)
    before = solver.configured(problem)
    drawn = solver.drawn(before, third)
    assert asked == [9]
    after = drawn.configured(problem)
    assert (after.clip_norm, after.learning_rate) == (before.clip_norm, before.learning_rate)
    # The plan is that of three steps.
    assert (after.rounds if name == "rrpsgd" else after.max_iter) == 3


def test_a_permutation_has_every_index_once_and_is_uniform():
    """Where the first index lands; the chi-square statistic at level 1e-9."""
    stream = EntropyStream()
    places = []
    for _ in range(2000):
        order = random_permutation(stream, 5)
        np.testing.assert_array_equal(np.sort(order), np.arange(5))
        places.append(int(np.flatnonzero(order == 0)[0]))
    counts = np.bincount(places, minlength=5)
    assert chi2(4).sf(np.sum((counts - 400)**2) / 400) > 1e-9


def test_words_that_are_equal_decide_no_order():
    """The order of groups would follow from their labels there."""
    given = iter(np.array([[7, 3, 7, 9], [1, 0, 3, 2]], np.uint64))
    order = random_permutation(SimpleNamespace(words=lambda count: next(given)), 4)
    np.testing.assert_array_equal(order, [1, 0, 3, 2])


# Schedules of theorems.

def scheduled(schedule, loss="logistic", **changes):
    options = {"pl_constant": 0.05} if schedule == "pl" else {}
    problem = make_problem(loss, **{"alpha": 0.1, "fit_intercept": False, **changes})
    return SOLVERS["gd"](schedule=schedule, **options).configured(problem), problem


@pytest.mark.parametrize("schedule", sorted(ITERATE))
def test_a_schedule_steps_by_the_inverse_smoothness_and_clips_nothing(schedule):
    solver, problem = scheduled(schedule)
    assert solver.learning_rate == pytest.approx(1 / (problem.smoothness + 0.1))
    assert solver.clip_norm >= problem.lipschitz
    assert solver.iterate == ITERATE[schedule] and not solver.accelerate
    assert solver.configured(problem) == solver


@pytest.mark.parametrize("schedule, change, growth", [
    ("convex", {"n_samples": 2000}, 10.0), ("nonconvex", {"n_samples": 2000}, 10.0),
    ("convex", {"n_features": 12}, 0.5), ("nonconvex", {"n_features": 12}, 0.5)])
def test_the_number_of_steps_grows_as_its_theorem_says(schedule, change, growth):
    base = {"n_samples": 200, "n_features": 3, "epsilon": 20.0}
    steps = [scheduled(schedule, **{**base, **more})[0].max_iter for more in ({}, change)]
    assert steps[1] == pytest.approx(growth * steps[0], rel=0.1)


def test_the_steps_of_a_pl_objective_grow_with_the_logarithm_of_n():
    steps = [scheduled("pl", n_samples=n)[0].max_iter for n in (10**4, 10**5, 10**6)]
    assert steps[2] - steps[1] == pytest.approx(steps[1] - steps[0], abs=1)
    assert steps[1] > steps[0]


@pytest.mark.parametrize("options, params, message", [
    ({"schedule": "convex"}, {"loss": "sigmoid"}, "schedule='convex'.*Sigmoid"),
    ({"schedule": "strongly_convex"}, {"alpha": 0.1}, "fit_intercept=False"),
    ({"schedule": "pl"}, {}, "pl_constant"),
    ({"schedule": "pl", "pl_constant": -1.0}, {}, "pl_constant=-1.0"),
    ({"schedule": "nonconvex"}, {"penalty": "l1", "alpha": 0.1}, "penalty='l2'"),
    ({"schedule": "steep"}, {}, "schedule='steep'")])
def test_a_schedule_whose_theorem_does_not_apply_is_refused(options, params, message):
    model = DPLinearSVC(solver="gd", solver_options=options, precondition=False, **params)
    with pytest.raises(ValueError, match=message):
        model.fit(*training_rows(model))


@pytest.mark.parametrize("solver", ["output_perturbation", "last_iterate"])
def test_a_loss_that_is_not_convex_is_refused_where_the_proof_needs_it(solver):
    model = make_estimator(DPLinearSVC, solver, loss="sigmoid")
    with pytest.raises(ValueError, match=r"convex.*use solver='gd'"):
        model.fit(*training_rows(model))


@pytest.mark.parametrize("delta, solver", [(0.0, "stgd"), (None, "gd")])
def test_auto_avoids_solvers_that_need_a_convex_loss(delta, solver):
    model = DPLinearSVC(loss="sigmoid", delta=delta, alpha=10.0)
    assert model.fit(*training_rows(model)).privacy_.solver == solver


@pytest.mark.parametrize("open_and_ask", [
    lambda sums, session: OutputOracle(sums, Output(False, 1.0), 1.0, session).descend(
        np.zeros(4), make_penalty("l2"), 0.1, 3),
    lambda sums, session: LastIterateOracle(
        sums, LastIterate(1.0, 3, 0.1, 0.1), 1.0, session).descend(
            np.zeros(4), make_penalty("l2"))])
def test_the_oracles_refuse_such_a_loss_as_well(open_and_ask):
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(9, 3)), make_targets("sigmoid", 9, rng))
    sums = float_sums(make_model("sigmoid"), make_loss("sigmoid"), rows, 1.0)
    with pytest.raises(ValueError, match="not convex"):
        open_and_ask(sums, Session(None, Ledger(Output(False, 1.0)(1.0))))


def test_the_sigmoid_loss_learns_with_flipped_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) / 3
    y = (X @ [1.0, -1.0, 0.5] > 0).astype(int)
    noisy = np.where(rng.random(4000) < 0.25, 1 - y, y)
    for params in ({}, {"delta": 0.0}, {"solver": "gd", "solver_options": {
            "schedule": "nonconvex"}}):
        model = DPLinearSVC(8.0, loss="sigmoid", **params).fit(X, noisy)
        print(params, model.score(X, y))
        assert model.score(X, y) > 0.75


def test_public_draws_are_the_same_for_other_rows_and_differ_by_settings():
    """An int repeats them for equal settings: what is published keeps no row."""
    model = DPLogisticRegression(solver="rrpsgd", max_iter=10**4, random_state=4,
                                 precondition=False, batch_size=2, learning_rate=1e-9)
    X, y = training_rows(model)
    solver = SOLVERS["rrpsgd"](max_iter=10**4)
    problem = problem_for("rrpsgd")
    context = [*_fit._public_context(model._method(), problem, solver)]
    streams = [open_stream(public_seed(4), lambda more=more: context + more)
               for more in ([], [b"other"])]
    assert streams[0].words(1)[0] != streams[1].words(1)[0]
    fits = [model.set_params(max_iter=50).fit(rows, y) for rows in (X, X[::-1].copy())]
    rounds = {fit.n_iter_ for fit in fits}
    rounds |= {model.fit(X * 0.5, 1 - y).n_iter_}
    assert len(rounds) == 1
    others = {model.set_params(epsilon=1.0 + 0.01 * i).fit(X, y).n_iter_ for i in range(8)}
    # Eight equal draws of fifty have probability below 1e-11; the seed is fixed besides.
    assert len(others) > 1
