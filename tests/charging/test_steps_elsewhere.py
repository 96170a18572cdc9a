"""A pipeline is charged once for all of its steps, wherever they fit themselves.

Counts are exact; nothing here is statistical.
"""

import pytest

from dpsk import DPLogisticRegression, DPStandardScaler, PrivacyBudget, make_dp_pipeline
from dpsk.exceptions import BudgetExceededError
from tests.charging.test_searches_elsewhere import (
    Elsewhere,
    Greedy,
    Worker,
    X,
    Y,
    made,
    settings,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def pipeline(last):
    return make_dp_pipeline(DPStandardScaler(), last, epsilon=1.0, delta=1e-6,
                            shares={"dpstandardscaler": 0.2})


@pytest.mark.parametrize("where", ["here", "thread", "older thread"])
def test_steps_that_are_fitted_in_threads_are_covered(where):
    with PrivacyBudget(1.2, 1e-6) as budget:
        pipeline(made(Elsewhere, where)).fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPPipeline"]


@pytest.mark.thorough
def test_steps_that_are_fitted_in_workers_are_covered():
    with PrivacyBudget(1.2, 1e-6) as budget:
        pipeline(Worker(**settings("worker")).set_where("worker")).fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPPipeline"]


@pytest.mark.parametrize("of", ["before", "after"])
def test_fits_beside_that_of_a_step_are_refused(of):
    with PrivacyBudget(9.0, 1e-3) as budget, pytest.raises(BudgetExceededError):
        pipeline(made(Greedy, "here", of=of)).fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPPipeline"]


def test_fits_beside_that_of_a_step_in_threads_are_charged_for_themselves():
    with PrivacyBudget(9.0, 1e-3) as budget:
        pipeline(made(Greedy, "thread", of="before")).fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPPipeline", "DPLogisticRegression"]


def test_a_step_that_would_spend_more_than_its_share_is_refused_before_it_draws():
    class Dear(DPLogisticRegression):
        def fit(self, X, y):
            return super().fit(X, y) if self.epsilon > 5 else self.set_params(
                epsilon=6.0).fit(X, y)

    with PrivacyBudget(9.0, 1e-3) as budget, pytest.raises(BudgetExceededError,
                                                           match="costs more than DPPipeline"):
        pipeline(Dear(**settings("here"))).fit(X, Y)
    assert len(budget.charges) == 1


def test_what_pays_goes_with_the_fit():
    fitted = pipeline(DPLogisticRegression(**settings("here"))).fit(X, Y)
    for _, step in fitted.steps_:
        assert "_carried" not in vars(step)
        with PrivacyBudget(99.0, 1e-3) as budget:
            step.fit(X, Y)
        assert len(budget.charges) == 1
