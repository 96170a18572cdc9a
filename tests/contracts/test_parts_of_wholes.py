"""Parts of a whole share its certificate."""

import threading

import pytest
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPStandardScaler,
    privacy_report,
)
from dpsk._whole import reachable, state_as_whole
from dpsk.accounting import Certificate
from tests.registry import ADDITIVE, SAMPLERS
from tests.reporting.test_parts_of_wholes import WHOLES, X, fitted

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", WHOLES)
def test_no_part_has_a_certificate_of_its_own(name):
    whole = fitted(name)
    inside = [each for each in reachable(whole)
              if isinstance(getattr(each, "__dict__", {}).get("privacy_"), Certificate)]
    assert len(inside) > (name not in ADDITIVE and name not in SAMPLERS)
    for each in inside:
        assert each.privacy_ == whole.privacy_
        assert privacy_report(each).epsilon >= privacy_report(whole).epsilon * (1 - 1e-9)


@pytest.mark.parametrize("held", [threading.Lock, lambda: lambda X: X, lambda: iter(())],
                         ids=["lock", "function", "generator"])
def test_what_cannot_be_compared_with_what_was_given_is_part_of_the_whole(held):
    before, part = (DPStandardScaler(epsilon=5.0, delta=1e-6).fit(X) for _ in range(2))
    part.privacy_, whole = before.privacy_, fitted("DPPipeline")
    before.held, part.held = held(), held()
    state_as_whole(FunctionTransformer(part.transform), whole.privacy_, before)
    assert part.privacy_ is whole.privacy_ and before.privacy_ is not whole.privacy_
