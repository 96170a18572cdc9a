"""Errors that are planned are about those that evaluations state, and measured ones."""

import itertools
import operator

import numpy as np
import pytest

from benchmarks.utility.evaluation_grid import measured
from benchmarks.utility.evaluation_shapes import scored
from dpsk.metrics import BinaryEvaluation, plan_evaluation
from dpsk.testing import NoiseSeed


@pytest.mark.parametrize("shape", ["sharp", "rounded", "beta", "reversed"])
def test_planned_errors_are_those_that_are_stated(shape):
    y, p = scored(shape, 0.05, 20_000)
    plan = plan_evaluation(20_000, cases=1000, epsilon=1.0, roc_auc=0.85)
    found = BinaryEvaluation.from_predictions(y, p, random_state=NoiseSeed(0))
    for name in ("accuracy", "balanced_accuracy", "prevalence", "roc_auc"):
        assert 1 / 1.7 < getattr(found, name)().standard_error / plan[name] < 1.7


def test_planned_errors_are_those_that_are_measured():
    """Noise has fixed seeds."""
    plan = plan_evaluation(5000, cases=2500, epsilon=1.0, roc_auc=0.85)
    found = measured("binary", "rounded", 0.5, 5000, 1.0, 16)
    for name, planned in plan.items():
        assert 1 / 1.7 < found[name][2] / planned < 1.7


def test_plans_follow_the_budget_and_say_what_noise_hides():
    weak, strong = (plan_evaluation(7500, cases=100, epsilon=epsilon) for epsilon in (0.5, 4.0))
    assert all(strong[name] < weak[name] for name in strong)
    hidden = plan_evaluation(500, cases=5, epsilon=0.1)
    assert np.isinf(hidden["roc_auc"]) and np.isfinite(hidden["prevalence"])
    exact = plan_evaluation(7500, epsilon=np.inf)
    assert max(exact.values()) < 0.01


@pytest.mark.parametrize("cases, hidden", [(28, True), (45, False)])
def test_a_metric_that_noise_hides_in_over_a_tenth_of_evaluations_is_planned_as_hidden(
        cases, hidden):
    """Noise has fixed seeds."""
    rng, given = np.random.default_rng(0), {"epsilon": 1.56, "delta": 1e-6}
    y = (np.arange(2250) < cases).astype(int)
    p = 0.02 * np.exp(np.clip(rng.normal(size=2250) + 1.2 * y, None, 3.0))
    areas = [float(BinaryEvaluation.from_predictions(
        y, p, random_state=NoiseSeed(seed), **given).roc_auc()) for seed in range(12)]
    assert (np.isnan(areas).mean() > 0.1) == hidden
    plan = plan_evaluation(2250, cases=cases, **given)
    for name in ("roc_auc", "average_precision", "balanced_accuracy", "recall"):
        assert np.isinf(plan[name]) == hidden


def check_order(rows, shares, epsilons, slack=1e-9):
    """Raise an AssertionError if more rows, cases or epsilon have a larger planned error."""
    plans = {each: plan_evaluation(each[0], cases=round(each[0] * each[1]), epsilon=each[2])
             for each in itertools.product(rows, shares, epsilons)}
    for (one, less), (other, more) in itertools.permutations(plans.items(), 2):
        if all(map(operator.le, one, other)):
            assert all(more[name] <= less[name] * (1.0 + slack) for name in less), (one, other)


def test_more_rows_cases_or_epsilon_never_have_a_larger_planned_error():
    check_order((4000, 5200), (0.2, 0.23), (0.9, 1.0))


@pytest.mark.thorough
def test_planned_errors_are_in_order_over_a_grid():
    """But for 3 % of an area: rows within a bin may be in any order, and bins are whole."""
    check_order((400, 1300, 5000, 16_000, 60_000), (0.013, 0.025, 0.05, 0.11, 0.23, 0.5),
                (0.3, 0.5, 0.8, 1.0, 1.3, 2.2, 4.0), slack=0.05)


@pytest.mark.parametrize("wrong", [
    {"n_samples": 1}, {"cases": 0}, {"cases": 100}, {"roc_auc": 0.3}, {"roc_auc": 1.0},
    {"epsilon": 0.0}, {"delta": 1.0}])
def test_plans_of_numbers_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        plan_evaluation(**{"n_samples": 100, **wrong})
