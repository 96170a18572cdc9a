"""Epsilons and deltas in texts: guarantees are rounded up, and what is left is rounded down."""

import ast
import re

import numpy as np
import pytest

from dpsk import DPLogisticRegression, PrivacyBudget, privacy_report
from dpsk.exceptions import BudgetExceededError
from dpsk.metrics import (
    BinaryEvaluation,
    MulticlassEvaluation,
    RegressionEvaluation,
    dp_cross_validate,
)
from dpsk.statistics import describe
from tests.loops import in_a_row
from tests.syntax import PACKAGE, tree

#: Names in an expression that is an epsilon or a delta, or what is left of a budget.
_PRICES = re.compile("epsilon|delta|left|disclosure")
#: Beginnings of lines that say what a number of rows is too few for, which is no guarantee; and
#: the text of certificates of older versions, which rounded to nearest.
_NO_GUARANTEE, _OLDER = re.compile(r"too\b|\btoo few"), "nearest"
#: Rounded to nearest, these are smaller, whatever the number of digits.
EPSILON, DELTA = 1.2341234, 1.2341234e-6
X = np.random.default_rng(0).normal(size=(400, 2))
Y = (X[:, 0] > 0).astype(int)


def rounded_to_nearest(path):
    """Yield every price in a file that a format rounds to the nearest number."""
    parsed = tree(path)
    older = {id(each) for node in ast.walk(parsed) if isinstance(node, ast.Assign)
             and getattr(node.targets[0], "id", "") == _OLDER for each in ast.walk(node)}
    for text in ast.walk(parsed):
        if not isinstance(text, ast.JoinedStr) or id(text) in older or any(
                isinstance(part, ast.Constant) and _NO_GUARANTEE.search(part.value)
                for part in text.values):
            continue
        for part in text.values:
            if isinstance(part, ast.FormattedValue) and part.format_spec is not None:
                said = ast.unparse(part.value)
                # Constants are exact, and a comma groups the digits of whole numbers.
                if (_PRICES.search(said) and not said.isupper()
                        and "," not in ast.unparse(part.format_spec)):
                    yield f"{path.name}:{part.lineno}: {said}"


@in_a_row("path", sorted(PACKAGE.rglob("*.py")))
def test_no_text_rounds_a_price_to_the_nearest_number(path):
    assert list(rounded_to_nearest(path)) == []


def model(epsilon=EPSILON, delta=DELTA):
    return DPLogisticRegression(epsilon, delta=delta, data_norm=2.0, max_iter=2)


def shown():
    """Return every text of a guarantee of (`EPSILON`, `DELTA`), by name."""
    price = {"epsilon": EPSILON, "delta": DELTA}
    fitted, budget = model().fit(X, Y), PrivacyBudget(EPSILON, DELTA)
    return {
        "certificate": str(fitted.privacy_), "page": fitted.privacy_._repr_html_(),
        "report": privacy_report(fitted).guarantee, "budget": str(budget),
        "budget page": budget._repr_html_(), "statement": str(budget.certificate()),
        "evaluation": repr(BinaryEvaluation.from_predictions(Y, Y, **price)),
        "labels": repr(MulticlassEvaluation.from_predictions(Y, Y, **price)),
        "numbers": repr(RegressionEvaluation.from_predictions(Y, Y, residual_bound=1.0, **price)),
        # Statistics may be near epsilon by chance.
        "table": repr(describe(X, **price)).splitlines()[0]}


def test_no_text_states_more_privacy_than_there_is():
    for name, text in shown().items():
        # What is left follows, and is rounded down.
        numbers = [float(each) for each in re.findall(r"\d+\.?\d*(?:e-?\d+)?",
                                                      re.split(r">left<|\bleft: ", text)[0])]
        for price in (EPSILON, DELTA):
            said = [each for each in numbers if abs(each / price - 1.0) < 0.02]
            assert not said or min(said) >= price, (name, text)
        assert any(abs(each / EPSILON - 1.0) < 0.02 for each in numbers), (name, text)


def test_the_total_of_a_cross_validation_is_rounded_up():
    found = dp_cross_validate(model(1.01, 1e-6), X, Y, cv=2, epsilon=1.0, delta=1e-6)
    said = float(re.search(r"total epsilon=([\d.]+)", repr(found))[1])
    assert found.privacy_.epsilon <= said < 1.001 * found.privacy_.epsilon


@pytest.mark.parametrize("epsilon", [2.0, 2.013, 2.039, 2.052])
def test_what_a_message_says_is_left_may_be_used(epsilon):
    with PrivacyBudget(epsilon, 1.00499e-5):
        model(1.0, 1e-6).fit(X, Y)
        with pytest.raises(BudgetExceededError) as refusal:
            model(3.0, 1e-6).fit(X, Y)
        left, delta = re.search(r"may use up to ([\d.]+) at delta=([\d.e-]+\d)",
                                str(refusal.value)).groups()
        model(float(left), float(delta)).fit(X, Y)
