"""What the runs of a search begin and leave behind writes no charge that would tell how many.

Counts are exact; nothing here is statistical.
"""

import multiprocessing
import threading

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPGridSearchCV, DPLogisticRegression, DPRidge, PrivacyBudget, make_dp_pipeline
from dpsk._oracle import release
from dpsk.exceptions import BudgetExceededError
from tests.charging.test_searches_elsewhere import only_in_runs

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) / 4
Y = (X[:, 0] > 0).astype(int)


def _fit():
    return DPRidge(epsilon=0.05, delta=1e-8, data_norm=1.0, target_bounds=(-1, 1)).fit(X, X[:, 0])


def _search(function):
    model = DPLogisticRegression(epsilon=0.5, delta=1e-8, solver="gd", max_iter=2, data_norm=1.0,
                                 classes=[0, 1])
    return DPGridSearchCV(make_dp_pipeline(FunctionTransformer(function), model), {},
                          epsilon=1.0, n_iter=3)


def _answer(go, pipe):
    go.wait(60)
    try:
        _fit()
    except BudgetExceededError:
        pipe.send("refused")
    else:
        pipe.send("fitted")


def _thread(target, args):
    return threading.Thread(target=target, args=args)


def _process(target, args):
    return multiprocessing.get_context("spawn").Process(target=target, args=args)


def _event():
    return multiprocessing.get_context("spawn").Event()


@pytest.mark.parametrize("begin, event", [(_thread, threading.Event), (_process, _event)])
def test_fits_that_runs_leave_behind_are_refused_and_others_are_not(begin, event, monkeypatch):
    monkeypatch.setattr(release.streams, "geometric", lambda stream, rate: 1)
    go, begun, inside = event(), [], only_in_runs(monkeypatch)

    def function(rows):
        if not inside[0]:
            return rows
        here, there = multiprocessing.Pipe()
        work = begin(_answer, (go, there))
        work.start()
        begun.append((work, here))
        return rows

    with PrivacyBudget(30.0, 1e-2) as budget:
        _search(function).fit(X, Y)
        _fit()
        charges = ["DPGridSearchCV", "DPRidge"]
        assert [charge.name for charge in budget.charges] == charges
        go.set()
        assert begun and {here.recv() for _, here in begun} == {"refused"}
        for work, _ in begun:
            work.join()
        _fit()
        assert [charge.name for charge in budget.charges] == [*charges, "DPRidge"]
