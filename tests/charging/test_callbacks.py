"""What a block asks a future to call back is of the block, and of a search's runs.

Counts are exact; nothing here is statistical.
"""

import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from dpsk import PrivacyBudget
from dpsk.exceptions import BudgetExceededError
from tests.charging.test_left_behind import X, Y, fit, search
from tests.charging.test_searches_elsewhere import only_in_runs
from tests.instruments import fix_runs, in_secret

pytestmark = pytest.mark.filterwarnings("ignore")


def _future(pool, go):
    return Future()


def _job(pool, go):
    return pool.submit(go.wait, 60)


def _told(future, go):
    go.set()
    if not future.done() and not future.running():
        future.set_result(None)


@pytest.mark.parametrize("make", [_future, _job])
@pytest.mark.parametrize("alone", [True, False])
def test_what_an_older_future_is_asked_in_a_block_to_call_back_is_charged(make, alone):
    go, called = threading.Event(), threading.Event()
    pool = None if alone and make is _future else ThreadPoolExecutor(1)
    outer = [] if alone else [PrivacyBudget(30.0, 1e-2)]
    future, budget = make(pool, go), PrivacyBudget(30.0, 1e-2)
    future.add_done_callback(lambda done: None)
    with ExitStack() as stack:
        for each in (*outer, budget):
            stack.enter_context(each)
        future.add_done_callback(lambda done: (fit(), called.set()))
    _told(future, go)
    assert called.wait(60)
    for each in (*outer, budget):
        assert [charge.name for charge in each.charges] == ["DPRidge"]
    if pool is not None:
        # Until its callbacks have returned the job is under way.
        pool.shutdown()
    fit()
    assert len(budget.charges) == 1


@pytest.mark.parametrize("make", [_future, _job])
def test_what_runs_ask_an_older_future_to_call_back_is_refused(make, monkeypatch):
    fix_runs(monkeypatch, 1)
    go, answers, inside = threading.Event(), [], only_in_runs(monkeypatch)
    pool = ThreadPoolExecutor(1)
    future = make(pool, go)

    def callback(done):
        with pytest.raises(BudgetExceededError):
            fit()
        answers.append("refused")

    def step(rows):
        if inside[0]:
            future.add_done_callback(callback)
        return rows

    with PrivacyBudget(30.0, 1e-2) as budget:
        search(step).fit(X, Y)
        _told(future, go)
        pool.shutdown()
    assert answers and set(answers) == {"refused"}
    assert [charge.name for charge in budget.charges] == ["DPGridSearchCV"]


class Callbacks:
    """Two that are called one after the other: the first waits, the second fits."""

    def __init__(self):
        self.go, self.called = threading.Event(), threading.Event()

    def first(self, done):
        self.go.wait(60)

    def second(self, done):
        fit()
        self.called.set()

    def go_on_after(self, budget, begin):
        """Have what is begun in a block call both, and let them go on once it is left."""
        with budget:
            future = begin()
            future.add_done_callback(self.first)
            future.add_done_callback(self.second)
            future.result()
        self.go.set()
        assert self.called.wait(60)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_who_is_called_back_after_somebody_else_is_charged(pool):
    callbacks, budget = Callbacks(), PrivacyBudget(30.0, 1e-2)
    with pool(1) as workers:
        workers.submit(time.sleep, 0).result()
        callbacks.go_on_after(budget, lambda: workers.submit(time.sleep, 0.05))
    assert [charge.name for charge in budget.charges] == ["DPRidge"]


def test_workers_pay_no_more_once_callbacks_have_returned():
    budget, callbacks = PrivacyBudget(30.0, 1e-2), Callbacks()
    with ProcessPoolExecutor(1) as workers, ThreadPoolExecutor(1) as pool:
        workers.submit(fit).result()
        callbacks.go_on_after(budget, lambda: pool.submit(time.sleep, 0.05))
        pool.shutdown()
        workers.submit(fit).result()
    assert [charge.name for charge in budget.charges] == ["DPRidge"]


def test_jobs_that_are_done_while_the_block_is_left_have_their_callbacks_charged():
    budget, n_jobs = PrivacyBudget(30.0, 1e-2), 20
    with ThreadPoolExecutor(1) as pool:
        for place in range(n_jobs):
            with budget:
                pool.submit(time.sleep, 0.0005 * (place % 20)).add_done_callback(
                    lambda done: fit())
    assert len(budget.charges) == n_jobs


def test_a_block_that_another_thread_enters_hides_nothing_that_runs_have_left():
    go, entered, answers = threading.Event(), threading.Event(), []
    pool, left, over = ThreadPoolExecutor(1), threading.Event(), threading.Event()
    pool.submit(go.wait, 60)

    def answer():
        try:
            fit()
        except BudgetExceededError:
            answers.append("refused")

    def runs():
        with in_secret("a search"):
            pool.submit(answer)
            left.set()
            entered.wait(60)
        over.set()

    thread = threading.Thread(target=runs)
    thread.start()
    assert left.wait(60)
    with PrivacyBudget(30.0, 1e-2) as budget:
        entered.set()
        assert over.wait(60)
        thread.join()
        go.set()
        pool.shutdown()
    assert answers == ["refused"] and budget.charges == []
