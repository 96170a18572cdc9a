"""Prices of candidates in a report, and folds by rule."""

from inspect import signature

import pytest
from sklearn import model_selection

from dpsk import (
    DPTableVectorizer,
    accounting,
    privacy_report,
)
from dpsk.model_selection._candidates import TemperedClassifier
from dpsk.reporting._folds import are_grouped, are_listed
from dpsk.reporting._searches import _event
from tests.budget.test_sharing import X, Y, model
from tests.reporting.test_doubtful import DELTA
from tests.reporting.test_doubtful import X as TABLE

pytestmark = pytest.mark.filterwarnings("ignore")


def test_candidates_of_tables_cost_what_rows_without_categories_do():
    fitted = DPTableVectorizer(epsilon=1.0, delta=DELTA).fit(TABLE)
    assumed = _event(fitted, 1.0, DELTA)
    for epsilon in (0.0, 0.1, 1.0, 3.0):
        assert accounting.delta(assumed, epsilon) >= accounting.delta(
            fitted.privacy_.event, epsilon) * (1 - 1e-9)


@pytest.mark.parametrize("name, cls", [
    (name, cls) for name, cls in vars(model_selection).items()
    if isinstance(cls, type) and hasattr(cls, "split") and not name.startswith("Base")])
def test_every_splitter_of_scikit_learn_is_placed(name, cls):
    """By rule, but for the one that is handed a list; by groups where it asks for them."""
    asked = {"test_fold": [0, 1], "n_groups": 1, "p": 1}
    made = cls(**{key: value for key, value in asked.items() if key in signature(cls).parameters})
    assert are_listed(made) == (name == "PredefinedSplit")
    assert are_grouped(made) == ("Group" in name)


def test_a_fit_that_was_handed_over_counts_though_its_certificate_is_equal():
    given = model().fit(X, Y)
    report = privacy_report(TemperedClassifier(given).fit(X, Y))
    assert given.privacy_ in [part.certificate for part in report.private]
    assert len(report.private) == 2
