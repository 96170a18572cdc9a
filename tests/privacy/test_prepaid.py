"""What a whole has paid for pays once, in whichever process, and goes no further.

Counts are exact; nothing here is statistical.
"""

import os
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from dpsk import DPGridSearchCV, DPRidge, DPStandardScaler, PrivacyBudget, make_dp_pipeline
from dpsk._charging import Prepaid, admit, paid_for, paying
from dpsk.accounting import Gaussian
from dpsk.exceptions import BudgetExceededError
from tests.budget.test_sharing import DELTA, FORKS, X, Y, model
from tests.instruments import charge_fit


def test_an_estimator_that_is_sent_on_from_elsewhere_brings_the_budget_along(monkeypatch):
    budget = PrivacyBudget(1.0, DELTA)
    with budget:
        sent = pickle.dumps(model())
    monkeypatch.setattr("dpsk._charging.account._ORIGIN", ("another container", 0))
    sent_on = pickle.dumps(pickle.loads(sent))
    pickle.loads(sent_on).fit(X, Y)
    assert len(budget.charges) == 1


def test_what_was_not_used_pays_for_nothing_afterwards():
    with PrivacyBudget(1.0, DELTA) as budget:
        prepaid = admit("a whole", Gaussian(0.01)).pays_for()
        with paid_for(model(), prepaid) as part:
            kept = pickle.loads(pickle.dumps(part))
        with pytest.raises(BudgetExceededError, match="is one more than a whole has paid"):
            kept.fit(X, Y)
    assert len(budget.charges) == 1


def test_what_pays_for_one_fit_pays_for_one_of_all_copies():
    with PrivacyBudget(1.0, DELTA):
        prepaid = admit("a whole", Gaussian(0.01)).pays_for()
        with paid_for(model(), prepaid) as part:
            first, second = (pickle.loads(pickle.dumps(part)) for _ in range(2))
            first.fit(X, Y)
            for other in (second, part):
                with pytest.raises(BudgetExceededError, match="is one more"):
                    other.fit(X, Y)


@FORKS
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("child_is_first", [True, False])
def test_a_fork_does_not_double_what_is_paid(child_is_first):
    """One of parent and child has the fit, whichever asks first."""
    with PrivacyBudget(1.0, DELTA) as budget:
        prepaid = admit("a whole", Gaussian(0.01)).pays_for()
        with paid_for(model(), prepaid) as part:
            if not child_is_first:
                part.fit(X, Y)
            child = os.fork()
            if not child:
                try:
                    part.fit(X, Y)
                except BudgetExceededError:
                    os._exit(7)
                finally:
                    os._exit(0)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert code == (0 if child_is_first else 7)
            if child_is_first:
                with pytest.raises(BudgetExceededError, match="is one more"):
                    part.fit(X, Y)
    assert len(budget.charges) == 1


@pytest.mark.filterwarnings("ignore")
def test_answers_of_several_steps_are_given_again():
    """A candidate that fits a pipeline draws once for all strengths of its penalty."""
    means = []

    class Piped(DPRidge):
        def fit(self, X, y):
            inner = make_dp_pipeline(
                DPStandardScaler(), DPRidge(solver="sufficient_statistics", alpha=self.alpha,
                                            target_bounds=(-1, 1)),
                epsilon=self.epsilon, delta=self.delta, shares={"dpstandardscaler": 0.3}).fit(X, y)
            self.inner_, self.privacy_ = inner, inner.privacy_
            means.append(inner.named_steps_.dpstandardscaler.mean_)
            return self

        def predict(self, X):
            return self.inner_.predict(X)

    rows = np.random.default_rng(0).normal(size=(400, 3))
    search = DPGridSearchCV(Piped(solver="sufficient_statistics", target_bounds=(-1, 1)), {},
                            epsilon=2.0, n_iter=1, post_params={"alpha": [0.1, 1.0, 10.0]})
    with PrivacyBudget(30.0, 1e-2) as budget:
        search.fit(rows, np.clip(rows[:, 0], -1, 1))
    assert len(budget.charges) == 1 and len(means) == 3
    np.testing.assert_array_equal(means[1:], [means[0]] * 2)


def test_what_was_used_pays_for_no_copy_that_is_made_afterwards():
    prepaid = Prepaid("a whole", frozenset())
    prepaid.use("a part", Gaussian(0.01))
    with pytest.raises(BudgetExceededError, match="is one more"):
        pickle.loads(pickle.dumps(prepaid)).use("a part", Gaussian(0.01))


def _sent_from_elsewhere(monkeypatch):
    """Return a budget, and an estimator that was pickled inside of it in another process."""
    budget = PrivacyBudget(10.0, DELTA)
    with budget:
        sent = pickle.dumps(model())
    monkeypatch.setattr("dpsk._charging.account._ORIGIN", ("another container", 0))
    return budget, pickle.loads(sent)


def test_what_a_part_brought_along_is_charged_after_the_whole(monkeypatch):
    budget, part = _sent_from_elsewhere(monkeypatch)
    with paid_for(part, admit("a whole", Gaussian(0.01), carried=part._carried).pays_for()):
        part.fit(X, Y)
    assert len(budget.charges) == 1
    part.fit(X, Y)
    assert len(budget.charges) == 2


def test_what_has_paid_for_a_whole_has_paid_for_parts_of_its_parts(monkeypatch):
    """Also where what is between brings no budget along."""
    budget, innermost = _sent_from_elsewhere(monkeypatch)
    whole = admit("a whole", Gaussian(0.01), carried=innermost._carried)
    with paying(whole.pays_for()):
        part = admit("a part", Gaussian(0.01))
    with paid_for(innermost, part.pays_for()):
        innermost.fit(X, Y)
    assert len(budget.charges) == 1


def test_a_clone_brings_budgets_along_and_no_payment(monkeypatch):
    budget, part = _sent_from_elsewhere(monkeypatch)
    whole = admit("a whole", Gaussian(0.01), carried=part._carried)
    with paid_for(part, whole.pays_for()):
        part.fit(X, Y)
        twin = clone(part)
    twin.fit(X, Y)
    assert len(budget.charges) == 2


def test_a_fit_that_is_one_too_many_costs_a_budget_around_it_nothing():
    """It draws nothing, so that what it costs may still be spent."""
    with paid_for(model(), admit("a whole", Gaussian(0.01)).pays_for()) as part:
        part.fit(X, Y)
        with PrivacyBudget(1.0, DELTA) as budget:
            with pytest.raises(BudgetExceededError, match="is one more than a whole has paid"):
                part.fit(X, Y)
    assert budget.charges == []


def test_what_is_prepaid_pays_for_one_fit_of_its_thread():
    with PrivacyBudget(1.0, DELTA) as budget:
        prepaid = admit("a whole", Gaussian(0.01)).pays_for(lambda event: event.mu <= 0.01)
        with paying(prepaid):
            with pytest.raises(BudgetExceededError, match="costs more than a whole has paid"):
                admit("a dear part", Gaussian(0.02))
            admit("a part", Gaussian(0.01))
            with paying(None):
                admit("another fit", Gaussian(0.01))
            with pytest.raises(BudgetExceededError, match="is one more than a whole has paid"):
                admit("a second part", Gaussian(0.01))
        charge_fit(Gaussian(0.01))
    assert [charge.name for charge in budget.charges] == ["a whole", "another fit", "a fit"]


def test_a_part_that_a_budget_refuses_has_not_used_what_is_prepaid():
    with PrivacyBudget(1.0, DELTA) as whole:
        prepaid = admit("a whole", Gaussian(0.01)).pays_for()
        with paying(prepaid):
            with PrivacyBudget(1e-6, 0.0) as small, pytest.raises(BudgetExceededError):
                admit("a part", Gaussian(0.01))
            admit("a part", Gaussian(0.01))
    assert (len(whole.charges), len(small.charges)) == (1, 0)


def test_parts_of_parts_are_paid_by_all_budgets_that_have_paid():
    with PrivacyBudget(1.0, DELTA) as outer:
        whole = admit("a whole", Gaussian(0.01))
        with PrivacyBudget(1.0, DELTA) as inner:
            with paying(whole.pays_for()):
                part = admit("a part", Gaussian(0.01))
            with paying(part.pays_for()):
                admit("a part of the part", Gaussian(0.01))
    assert [len(each.charges) for each in (outer, inner)] == [1, 1]
