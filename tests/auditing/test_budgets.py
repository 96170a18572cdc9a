"""Audits and budgets: fits that a budget refuses are no evidence of anything."""

import functools
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from dpsk import DPLogisticRegression, PrivacyBudget
from dpsk.audit import main
from dpsk.auditing import audit
from dpsk.exceptions import BudgetExceededError


def model(**params):
    return DPLogisticRegression(**{
        "epsilon": 6.0, "delta": 1e-3, "precondition": False, "temperature": False, "max_iter": 2,
        "data_norm": 1.0, "solver": "gd", "classes": [0, 1], **params})


def make_model():
    """Return an estimator for the command line."""
    return model()


@pytest.mark.parametrize("epsilon", [1.0, 1e3])
def test_an_audit_does_not_begin_while_a_budget_is_open(epsilon):
    budget = PrivacyBudget(epsilon, 1e-2)
    with budget, pytest.raises(BudgetExceededError, match="audit outside of the block"):
        audit(model(), claim=(0.05, 1e-6), runs=40)
    assert not budget.charges


def test_nor_while_the_environment_names_one(tmp_path, monkeypatch):
    budget = PrivacyBudget(1e3, 1e-2, path=tmp_path / "open.budget")
    monkeypatch.setenv("DPSK_BUDGET", str(budget.path))
    with pytest.raises(BudgetExceededError, match="DPSK_BUDGET"):
        audit(model(), claim=(0.05, 1e-6), runs=40)
    assert not budget.charges


def test_the_command_line_says_that_nothing_was_tested(tmp_path, monkeypatch, capsys):
    budget = PrivacyBudget(1e3, 1e-2, path=tmp_path / "open.budget")
    monkeypatch.setenv("DPSK_BUDGET", str(budget.path))
    status = main([f"{__name__}:make_model", "--claim", "0.05", "1e-6", "--runs", "40", "--quiet"])
    assert status == 3 and "nothing tested" in capsys.readouterr().err


class Frugal(BaseEstimator):
    """Fits within a budget of its own, which ends after some fits."""

    _budget = None

    def __init__(self, epsilon=0.05, lasting=3):
        self.epsilon, self.lasting = epsilon, lasting

    def fit(self, X, y):
        if Frugal._budget is None:
            Frugal._budget = PrivacyBudget(6.0 * self.lasting, 1e-2)
        with Frugal._budget:
            self.model_ = model().fit(X, y)
        return self


@pytest.mark.parametrize("lasting", [1e-3, 8])
def test_a_budget_that_ends_an_audit_is_no_verdict(lasting, monkeypatch):
    """From the first fit on, or from a later one."""
    monkeypatch.setattr(Frugal, "_budget", None)
    with pytest.raises(BudgetExceededError):
        audit(Frugal(lasting=lasting), claim=(0.05, 1e-6), runs=200)


#: A process in which a budget is open when a model is written.
_ELSEWHERE = """
import pickle, sys
from dpsk import DPLogisticRegression, PrivacyBudget
with PrivacyBudget(1e3, 1e-2, path=sys.argv[1]):
    pickle.dump(DPLogisticRegression(epsilon=1.0, delta=1e-5), open(sys.argv[2], "wb"))
"""


class Several(BaseEstimator):
    """Fits models of a list, which its parameters do not name."""

    def __init__(self, models=()):
        self.models = models

    def fit(self, X, y):
        self.models_ = [clone(each).fit(X, y) for each in self.models]
        return self


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    """Return the paths of a budget and of a model, of a process that has ended."""
    folder = tmp_path_factory.mktemp("elsewhere")
    paths = folder / "carried.budget", folder / "model"
    subprocess.run([sys.executable, "-W", "ignore", "-c", _ELSEWHERE, *map(str, paths)],
                   check=True, cwd=Path(__file__).parents[2])
    return paths


@pytest.mark.thorough
@pytest.mark.parametrize("wrap", [
    lambda inner: inner, lambda inner: make_pipeline(Normalizer(), inner),
    lambda inner: Several([inner]), lambda inner: Several({"a": [inner]}),
    lambda inner: Several(functools.partial(print, inner))],
    ids=["bare", "in a pipeline", "in a list", "in a dict", "in a function"])
def test_a_model_that_carries_a_budget_from_elsewhere_is_not_audited(wrap, carried):
    loaded = pickle.loads(carried[1].read_bytes())
    with pytest.raises(BudgetExceededError, match="make models anew"):
        audit(wrap(loaded), claim=(1.0, 1e-5), runs=40)
    assert not PrivacyBudget.load(carried[0]).charges
