"""What is asked of a step in a budget has a default in one place, and nothing is asked past it."""

import ast
import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRidge,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk._budgeted import Budgeted, asked
from dpsk._privacy.events import Gaussian, tally
from dpsk.generative import DPWGAN
from dpsk.reporting._searches import _event
from tests.loops import in_a_row
from tests.registry import ALL_ESTIMATORS
from tests.syntax import PACKAGE, tree

ASKED = {name for name in vars(Budgeted) if name.startswith("_") and not name.startswith("__")}
WITH_BUDGET = [cls for cls in ALL_ESTIMATORS.values()
               if {"epsilon", "delta"} <= set(inspect.signature(cls).parameters)]


@pytest.mark.thorough
@in_a_row("path", sorted(PACKAGE.rglob("*.py")))
def test_nobody_looks_whether_a_step_has_what_all_have(path):
    """A look by name trusts whoever has an attribute of that name, and has a default of its own.
    """
    looks = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr")]
    names = {name.value for node in looks for name in node.args[1:2]
             if isinstance(name, ast.Constant)}
    assert not ASKED & names


@pytest.mark.parametrize("cls", WITH_BUDGET)
def test_every_estimator_with_a_budget_is_asked_itself(cls):
    assert issubclass(cls, Budgeted)


class Claims(ClassifierMixin, TransformerMixin, BaseEstimator):
    """A step of somebody else's that calls its attributes as ours are called."""

    _is_gaussian, _disclosed_share, _keeps_missing = True, 0.0, True
    _solvers = _target_checks = {}  # noqa: RUF012  # as any class may have it

    def __init__(self, epsilon=1.0, delta=None):
        self.epsilon, self.delta = epsilon, delta

    def fit(self, X, y=None):
        self.classes_ = np.array([0, 1])
        self.privacy_ = DPStandardScaler(self.epsilon, delta=self.delta).fit(X).privacy_
        return self

    def transform(self, X):
        return X

    def predict(self, X):
        return np.zeros(len(X))

    def _share(self, X, whole):
        return 1e-9

    def _like_mapped(self, X):
        return np.zeros((1, 1))


def _rows(n=400):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, (X[:, 0] > 0).astype(int)


def test_what_others_classes_claim_is_not_trusted():
    assert {asked(Claims()), asked(None)} == {asked("passthrough")}
    with pytest.raises(ValueError, match="no rule for the share of step 'claims'"):
        make_dp_pipeline(Claims(), DPLogisticRegression()).fit(*_rows())
    with pytest.raises(ValueError, match="not known to be Gaussian"):
        make_dp_pipeline(DPStandardScaler(), Claims(), shares={"claims": 0.5}).fit(*_rows())
    for model in (DPGridSearchCV(Claims(), {}), DPTunedThresholdClassifier(Claims())):
        with pytest.raises(ValueError, match="privacy cost is unknown"):
            model.fit(*_rows())
    assert Gaussian not in set(map(type, tally(_event(Claims(), 1.0, 1e-5))))
    assert isinstance(_event(DPStandardScaler(), 1.0, 1e-5), Gaussian)


@pytest.mark.parametrize("last", [
    lambda **bad: DPTunedThresholdClassifier(DPLogisticRegression(), **bad),
    lambda **bad: DPGridSearchCV(DPLogisticRegression(), {"alpha": [1e-3, 1e-2]}, **bad)],
    ids=["threshold", "search"])
def test_a_search_is_a_step_and_is_checked_before_anything_is_charged(last):
    bad = {"test_size": 2.0}
    with PrivacyBudget(10.0, 1e-3) as budget:
        fitted = make_dp_pipeline(DPStandardScaler(), last()).fit(*_rows())
        with pytest.raises(ValueError, match="test_size"):
            make_dp_pipeline(DPStandardScaler(), last(**bad)).fit(*_rows())
    assert len(budget.charges) == 1 and fitted.privacy_.epsilon == 1.0


def test_a_pipeline_around_which_a_threshold_is_set_is_checked_first():
    with pytest.raises(ValueError, match="learn from rows without a guarantee"):
        DPTunedThresholdClassifier(make_dp_pipeline(
            StandardScaler(), DPLogisticRegression())).fit(*_rows())


@pytest.mark.parametrize("step", [DPWGAN(solver="sgda", max_iter=2), DPRidge(solver="gd")],
                         ids=lambda step: type(step).__name__)
def test_a_solver_by_name_goes_into_a_pipeline(step):
    X, y = _rows()
    fitted = make_dp_pipeline(DPStandardScaler(), step, delta=1e-5).fit(X, y)
    assert fitted.privacy_.epsilon == 1.0
