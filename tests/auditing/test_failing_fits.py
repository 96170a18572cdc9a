"""Fits that end with errors show little, and an audit of them says so."""

import itertools
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, KFold

from dpsk import DPLogisticRegression, PrivacyBudget
from dpsk.auditing import audit
from dpsk.exceptions import BudgetExceededError

X = np.random.default_rng(0).normal(size=(30, 3))
OTHER = np.vstack([np.full((1, 3), 5.0), X[1:]])
PAIR = [({"X": X}, {"X": OTHER})]
#: So rarely is a claim refuted that holds.
SURE = 1e-7


class Failing(BaseEstimator):
    """Fits end with an error by turns; the others publish noise, and may leak."""

    turns = None

    def __init__(self, leak=True, epsilon=1.0):
        self.leak, self.epsilon = leak, epsilon

    def fit(self, X, y=None):
        if next(Failing.turns):
            raise OSError("too many connections")
        self.noise_ = np.random.default_rng().normal(scale=1e9)
        if self.leak:
            self.total_ = float(np.abs(X).sum())
        return self


def after(count):
    """Return turns of which all fail after some."""
    return itertools.chain(itertools.repeat(False, count), itertools.repeat(True))


# Two are for the survey, sixteen for the glance.
@pytest.mark.covering(most=1)
@pytest.mark.parametrize("count", [2, 3, 8, 17])
def test_fits_that_begin_to_fail_leave_nothing_tested(count, monkeypatch):
    monkeypatch.setattr(Failing, "turns", after(count))
    found = audit(Failing(), neighbors=PAIR, runs=100, claim=(1.0, 1e-6), level=SURE)
    assert found.verdict == "nothing tested" and "OSError" in found.untested
    assert found.failed == (f"{found.fits - max(0, count - 2)} with OSError",)
    assert "failed" in str(found) and found.to_dict()["failed"] == list(found.failed)


class Returning(BaseEstimator):
    """Fits return without a word from some fit on, and without a fit."""

    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon

    def fit(self, X, y=None):
        if not next(_ends()):
            self.noise_ = np.random.default_rng().normal(scale=1e9)
        return self


def _ends():
    """Return turns that are no part of a class, which an audit would read."""
    return TURNS


TURNS = None


def test_fits_that_begin_to_leave_nothing_leave_nothing_tested(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "TURNS", after(8))
    found = audit(Returning(), neighbors=PAIR, runs=100, claim=(1.0, 1e-6), level=SURE)
    assert found.verdict == "nothing tested" and found.failed == (
        f"{found.fits - 6} with nothing fitted",)


@pytest.mark.thorough
def test_the_power_is_that_of_the_fits_that_end_well(monkeypatch):
    """False-alarm rate at most 1e-7; every third fit ends well, and no leak shows in the others.
    """
    found = {}
    for name, turns in (("all", [False]), ("a third", [False, True, True])):
        monkeypatch.setattr(Failing, "turns", itertools.cycle(turns))
        found[name] = audit(Failing(leak=False), neighbors=PAIR, runs=300, claim=(0.1, 1e-6),
                            level=SURE)
        assert found[name].verdict == "not refuted"
    assert not found["all"].failed and found["a third"].failed
    assert found["a third"].power.refutes_from > found["all"].power.refutes_from
    assert found["a third"].power.epsilon_max < found["all"].power.epsilon_max


@pytest.mark.thorough
def test_a_leak_among_fits_that_fail_is_found(monkeypatch):
    """Each third fit shows it: missed with probability below 1e-7."""
    monkeypatch.setattr(Failing, "turns", itertools.cycle([False, True, True]))
    assert audit(Failing(), neighbors=PAIR, runs=300, claim=(0.1, 1e-6)).refuted


class Choosy(BaseEstimator):
    """Shows rows, but fails from some fit on where they are of a size."""

    turns = None

    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon

    def fit(self, X, y=None):
        self.noise_ = np.random.default_rng().normal(scale=1e9)
        if np.abs(X).max() > 1e3:
            if next(Choosy.turns):
                raise MemoryError
            self.total_ = float(np.abs(X).sum())
        return self


def test_a_pair_whose_fits_begin_to_fail_is_named(monkeypatch):
    """False-alarm rate at most 1e-7."""
    monkeypatch.setattr(Choosy, "turns", after(2))
    large = [np.vstack([each[:1] * 1e5, X[1:]]) for each in (X, OTHER)]
    found = audit(Choosy(), neighbors=[*PAIR, tuple({"X": each} for each in large)], runs=60,
                  claim=(1.0, 1e-6), level=SURE)
    assert not found.refuted and found.failed
    assert found.set_aside == ("given 1: most fits failed later",)


class Sometimes(ClassifierMixin, BaseEstimator):
    """Shows rows, or fails."""

    turns = None

    def __init__(self, shows=True):
        self.shows = shows

    def fit(self, X, y):
        if self.shows and next(Sometimes.turns):
            raise OSError("too many connections")
        self.classes_ = np.array([0, 1])
        self.total_ = float(np.abs(X).sum()) if self.shows else np.random.default_rng().normal()
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@pytest.mark.thorough
def test_fits_that_fail_inside_of_a_search_are_counted(monkeypatch):
    """The search goes on without them and only warns."""
    monkeypatch.setattr(Sometimes, "turns", after(4))
    y = (X[:, 0] > 0).astype(int)
    search = GridSearchCV(Sometimes(), {"shows": [True, False]}, cv=KFold(2), refit=False,
                          error_score=np.nan)
    found = audit(search, neighbors=[((X, y), (OTHER, y))], runs=60, claim=(1.0, 1e-6),
                  level=SURE)
    assert found.verdict == "nothing tested" and "FitFailedWarning" in found.failed[0]


class OwnEnd(BudgetExceededError):
    """An error that no worker can send."""

    def __init__(self, one, two):
        super().__init__(one)


class Silent(Exception):
    """An error without words."""

    def __str__(self):
        raise TypeError


class Ending(BaseEstimator):
    """Ends with an error that a budget is behind."""

    def __init__(self, way="plain", epsilon=1.0):
        self.way, self.epsilon = way, epsilon

    def fit(self, X, y=None):
        end = OwnEnd("of a budget", 2)
        if self.way == "group":
            raise Grouped("several", [ValueError(), end])
        if self.way == "masked":
            try:
                raise end
            except BudgetExceededError:
                raise ValueError from KeyError()
        raise end


class Grouped(Exception):
    """Several errors, as newer Pythons have them."""

    def __init__(self, words, exceptions):
        super().__init__(words)
        self.exceptions = exceptions


@pytest.mark.parametrize("way", ["plain", "group", "masked"])
def test_a_budget_is_found_behind_any_error(way):
    with pytest.raises(BudgetExceededError) as raised:
        audit(Ending(way), neighbors=PAIR, runs=40, claim=(1.0, 1e-6))
    assert type(raised.value) is BudgetExceededError


def test_an_error_whose_words_fail_is_an_error_like_others(monkeypatch):
    monkeypatch.setattr(Ending, "fit", _silently)
    with pytest.raises(ValueError, match="refuses one table or both"):
        audit(Ending(), neighbors=PAIR, runs=40, claim=(1.0, 1e-6))


def _silently(model, X, y=None):
    raise Silent


class Frugal(ClassifierMixin, BaseEstimator):
    """Fits within a budget of its own, and keeps what nobody may see."""

    def __init__(self, path=None, epsilon=0.5):
        self.path, self.epsilon = path, epsilon

    def fit(self, X, y):
        with PrivacyBudget.load(self.path):
            DPLogisticRegression(epsilon=self.epsilon, delta=1e-9, classes=[0, 1], max_iter=2,
                                 solver="gd", data_norm=1.0).fit(X, y)
        self.classes_, self.leak_ = np.array([0, 1]), float(np.abs(X).sum())
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@pytest.mark.parametrize("fits", [1, 8])
@pytest.mark.parametrize("error_score", [np.nan, "raise"])
def test_a_budget_that_ends_inside_of_a_search_is_no_verdict(fits, error_score, tmp_path):
    """The search tells of it as of another error, or not at all."""
    budget = PrivacyBudget(0.6 * np.sqrt(fits), 1e-6, path=tmp_path / "own.budget")
    search = GridSearchCV(Frugal(budget.path), {"epsilon": [0.5]}, cv=KFold(2),
                          error_score=error_score)
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(BudgetExceededError):
        audit(search, neighbors=[((X, y), (OTHER, y))], runs=40, claim=(1.0, 1e-6), level=SURE)
