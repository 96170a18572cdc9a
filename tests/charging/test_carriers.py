"""Whatever releases something is charged wherever it is done, as if it were done in one process.

Every public callable that releases, found by walking the package, times every way of having work
done. The counts are exact, so nothing here is statistical.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import pytest

from dpsk import PrivacyBudget
from dpsk.exceptions import BudgetExceededError
from tests.bad_arguments import calls
from tests.charging.backends import BACKENDS, PROCESSES

pytestmark = pytest.mark.filterwarnings("ignore")

#: Pictures of what was released before release nothing.
FREE = {"DPShapeDisplay.from_estimator"}
NAMES = sorted(set(calls()) - FREE)


@dataclass(frozen=True)
class Named:
    """A call by its name, which goes to any process."""

    name: str

    def __call__(self):
        _calls()[self.name]()


@cache
def _calls():
    return calls()


def charged(backend, several, **terms):
    """Return how often each name was charged for calls that are made by a backend."""
    with PrivacyBudget(**{"epsilon": 1e3, "delta": 0.9, **terms}) as budget:
        BACKENDS[backend](several)
    return Counter(charge.name for charge in budget.charges)


#: Processes take seconds to start: joblib's stand for the others in every run.
quick_backends = pytest.mark.parametrize("backend", [
    pytest.param(name, marks=pytest.mark.audit if name in PROCESSES - {"loky"} else ())
    for name in BACKENDS])


@pytest.fixture(scope="module")
def alone():
    """Every call's charges, made by itself in one process."""
    return {name: charged("one after the other", [Named(name)]) for name in NAMES}


@pytest.mark.thorough
def test_every_call_is_charged_once(alone):
    """`dp_cross_validate` for its fits and its evaluation."""
    several = {name for name, found in alone.items() if sum(found.values()) != 1}
    assert several == {"dp_cross_validate"}


@pytest.mark.thorough
@quick_backends
def test_work_done_elsewhere_is_charged_as_here(backend, alone):
    expected = sum(alone.values(), Counter())
    assert charged(backend, [Named(name) for name in NAMES]) == expected


@quick_backends
def test_work_done_elsewhere_is_refused_as_here(backend):
    several = [Named(name) for name in ("DPRidge", "dp_accuracy_score", "DPPipeline")]
    with PrivacyBudget(1e-3, 1e-9) as budget, pytest.raises(BudgetExceededError):
        BACKENDS[backend](several)
    assert budget.charges == []


@pytest.mark.covering(most=3)
@quick_backends
def test_work_done_after_a_budget_is_not_charged_to_it(backend):
    several = [Named(name) for name in ("DPRidge", "dp_accuracy_score")]
    with PrivacyBudget(1e3, 0.9) as budget:
        BACKENDS[backend](several)
    BACKENDS[backend](several)
    assert len(budget.charges) == 2
