"""How the variance-reduced solvers split their steps, their budget and their steps' length."""

from dataclasses import replace

import numpy as np
import pytest

from dpsk import DPLogisticRegression
from dpsk._privacy.events import Gaussian, SampledGaussian, tally
from dpsk._solvers import SOLVERS
from dpsk.testing import NoiseSeed
from tests.registry import make_problem, training_rows

every_anchored = pytest.mark.parametrize("name", ["svrg", "svrgpp"])


def _solver(name, **params):
    return SOLVERS[name](**params).configured(make_problem())


@every_anchored
@pytest.mark.parametrize("total", [1, 2, 3, 7, 30, 31, 310, 1001])
@pytest.mark.parametrize("epochs", [1, 2, 5, 20])
def test_epochs_add_up_to_the_steps(name, total, epochs):
    lengths = _solver(name, max_iter=total, epochs=epochs)._lengths()
    assert sum(lengths) == total and min(lengths) >= 1 and len(lengths) <= epochs


def test_epochs_are_equal_or_double():
    assert _solver("svrg", max_iter=500, epochs=5)._lengths() == [100] * 5
    assert _solver("svrgpp", max_iter=620, epochs=5)._lengths() == [20, 40, 80, 160, 320]


@every_anchored
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_with_full_batches_the_anchors_take_their_share_exactly(name, share):
    problem = make_problem()
    solver = SOLVERS[name](max_iter=60, epochs=3, batch_size=200,
                           anchor_share=share).configured(problem)
    declared = solver.queries(problem)
    mu_squared = sorted((event.mu**2 * count, count)
                        for event, count in tally(declared(3.0)).items())
    anchors = next(value for value, count in mu_squared if count == 3)
    assert anchors / sum(value for value, _ in mu_squared) == pytest.approx(share)


@every_anchored
def test_the_plan_holds_one_anchor_an_epoch_and_a_difference_off_it(name):
    problem = replace(make_problem(), n_samples=5000)
    solver = SOLVERS[name](max_iter=60, epochs=2).configured(problem)
    counts = {type(event): count for event, count in tally(solver.queries(problem)(2.0)).items()}
    assert counts == {Gaussian: 2, SampledGaussian: 58 if name == "svrg" else 59}


@every_anchored
@pytest.mark.parametrize("total, epochs", [(2, 2), (4, 3)])
def test_a_proximal_map_to_minus_zero_is_no_move_after_an_epoch_of_one_step(name, total, epochs):
    # The plan counts on it: a difference too many would end the fit.
    for seed in range(5):
        model = DPLogisticRegression(solver=name, penalty="l1", alpha=0.5, max_iter=total,
                                     solver_options={"epochs": epochs},
                                     random_state=NoiseSeed(seed))
        assert model.fit(*training_rows(model)).n_iter_ == total


@pytest.mark.parametrize("move, change, expected", [
    (1.0, 4.0, 1 / 40), (1.0, 1e9, 0.01), (1.0, 1e-9, 0.3), (1.0, -1.0, 0.3),
    (1.0, np.nan, 0.3), (0.0, 0.0, 0.3)])
def test_the_secant_step_stays_within_its_limits(move, change, expected):
    solver = _solver("svrg", learning_rate=0.1, step="bb")
    earlier = np.zeros(3), np.zeros(3)
    step = solver._secant_step(earlier, (np.full(3, move), np.full(3, change)), 10)
    assert step == pytest.approx(expected)
    assert solver._secant_step(None, earlier, 10) == 0.1


@pytest.mark.parametrize("solver, options, named", [
    ("svrg", {"step": "newton"}, "step='newton'"), ("svrg", {"epochs": 0}, "epochs=0"),
    ("svrgpp", {"epochs": 1.5}, r"epochs=1\.5"), ("svrgpp", {"anchor_share": 1.0}, "anchor_share"),
    ("svrg", {"anchor_share": 0}, "anchor_share=0")])
def test_options_out_of_range_are_refused_by_name(solver, options, named):
    model = DPLogisticRegression(solver=solver, solver_options=options)
    with pytest.raises(ValueError, match=named):
        model.fit(*training_rows(model))
