"""What the runs of a search begin and leave behind writes no charge that would tell how many.

Counts are exact; nothing here is statistical.
"""

import asyncio
import gc
import multiprocessing
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from joblib import Memory
from joblib.externals.loky import get_reusable_executor
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPGridSearchCV, DPLogisticRegression, DPRidge, PrivacyBudget, make_dp_pipeline
from dpsk.exceptions import BudgetExceededError
from tests.charging.test_searches_elsewhere import only_in_runs
from tests.instruments import fix_runs

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) / 4
Y = (X[:, 0] > 0).astype(int)


def fit():
    return DPRidge(epsilon=0.05, delta=1e-8, data_norm=1.0, target_bounds=(-1, 1)).fit(X, X[:, 0])


def search(function):
    model = DPLogisticRegression(epsilon=0.5, delta=1e-8, solver="gd", max_iter=2, data_norm=1.0,
                                 classes=[0, 1])
    return DPGridSearchCV(make_dp_pipeline(FunctionTransformer(function), model), {},
                          epsilon=1.0, n_iter=3)


def _answer(go, pipe):
    go.wait(60)
    try:
        fit()
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


@pytest.mark.thorough
@pytest.mark.parametrize("begin, event", [(_thread, threading.Event), (_process, _event)])
def test_fits_that_runs_leave_behind_are_refused_and_others_are_not(begin, event, monkeypatch):
    fix_runs(monkeypatch, 1)
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
        search(function).fit(X, Y)
        fit()
        charges = ["DPGridSearchCV", "DPRidge"]
        assert [charge.name for charge in budget.charges] == charges
        go.set()
        assert begun and {here.recv() for _, here in begun} == {"refused"}
        for work, _ in begun:
            work.join()
        fit()
        assert [charge.name for charge in budget.charges] == [*charges, "DPRidge"]


@pytest.mark.thorough
def test_programs_that_runs_leave_behind_are_refused_where_their_parent_has_ended(
        monkeypatch, tmp_path):
    code = ("import dpsk, sys, numpy as np\n"
            "X = np.random.default_rng(0).normal(size=(400, 3)) / 4\n"
            "try:\n"
            "    dpsk.DPRidge(epsilon=.05, delta=1e-8, data_norm=1., target_bounds=(-1, 1)).fit("
            "X, X[:, 0])\n"
            "except dpsk.exceptions.BudgetExceededError:\n"
            "    answer = 'refused'\n"
            "else:\n"
            "    answer = 'fitted'\n"
            "with open(sys.argv[1], 'w') as file:\n"
            "    file.write(answer)\n")
    starter = ("import subprocess, sys\n"
               "subprocess.Popen([sys.executable, '-W', 'ignore', '-c', *sys.argv[1:]])")
    fix_runs(monkeypatch, 1)
    answers, inside = [], only_in_runs(monkeypatch)

    def function(rows):
        if inside[0]:
            answers.append(tmp_path / str(len(answers)))
            subprocess.run([sys.executable, "-c", starter, code, answers[-1]], check=True)
        return rows

    with PrivacyBudget(30.0, 1e-2) as budget:
        search(function).fit(X, Y)
        for each in answers:
            while not (each.exists() and each.read_text("utf-8")):
                time.sleep(0.05)
    assert {each.read_text("utf-8") for each in answers} == {"refused"}
    assert [charge.name for charge in budget.charges] == ["DPGridSearchCV"]


async def _waiting():
    await asyncio.Future()


def test_work_that_goes_on_refuses_no_fits_but_its_own(monkeypatch):
    """An open future, a task and a job that wait: of other threads, or of the runs themselves."""
    pool, go, loop, kept = ThreadPoolExecutor(1), threading.Event(), asyncio.new_event_loop(), []
    inside = only_in_runs(monkeypatch)

    def function(rows):
        if inside[0] and not kept:
            kept.extend([Future(), loop.create_task(_waiting()), pool.submit(go.wait, 60)])
        return rows

    with PrivacyBudget(30.0, 1e-2) as budget:
        search(function).fit(X, Y)
        fit()
        go.set()
        kept[2].result()
        kept[0].set_result(None)
        # The thread of the pool is free for other work.
        pool.submit(fit).result()
    assert [charge.name for charge in budget.charges] == ["DPGridSearchCV", "DPRidge", "DPRidge"]
    kept[1].cancel()
    loop.run_until_complete(asyncio.gather(kept[1], return_exceptions=True))
    loop.close()
    pool.shutdown()


@pytest.mark.parametrize("make", [ThreadPoolExecutor, ThreadPool])
def test_jobs_that_runs_leave_in_an_older_pool_are_refused(make, monkeypatch):
    """Its thread has been busy since before the search, so that it begins them after it."""
    pool, go, jobs = make(1), threading.Event(), []
    submit = pool.submit if make is ThreadPoolExecutor else pool.apply_async
    submit(go.wait, (60,) if make is ThreadPool else 60)
    inside = only_in_runs(monkeypatch)

    def function(rows):
        if inside[0]:
            jobs.append(submit(fit))
        return rows

    with PrivacyBudget(30.0, 1e-2) as budget:
        search(function).fit(X, Y)
        go.set()
        for job in jobs:
            with pytest.raises(BudgetExceededError):
                job.result() if make is ThreadPoolExecutor else job.get()
        submit(fit)
        _ = pool.shutdown() if make is ThreadPoolExecutor else (pool.close(), pool.join())
    assert [charge.name for charge in budget.charges] == ["DPGridSearchCV", "DPRidge"]


_SLOWLY, _AT_ONCE = partial(time.sleep, 0.2), partial(int)


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("make", [
    lambda: ThreadPoolExecutor(1), lambda: ProcessPoolExecutor(1), lambda: get_reusable_executor(1)
], ids=["threads", "processes", "loky"])
@pytest.mark.parametrize("is_busy", [False, True])
def test_what_is_called_back_after_a_block_is_charged(make, is_busy):
    """By a thread that is older than the block, and may be at something else when that begins."""
    pool, go, called = make(), threading.Event(), threading.Event()
    pool.submit(_AT_ONCE).result()
    budget = PrivacyBudget(30.0, 1e-2)

    def callback(done):
        go.wait(60)
        fit()
        called.set()

    if is_busy:
        pool.submit(_SLOWLY)
    with budget:
        future = pool.submit(_SLOWLY)
        future.add_done_callback(callback)
        future.result()
    go.set()
    assert called.wait(60)
    pool.shutdown()
    assert [charge.name for charge in budget.charges] == ["DPRidge"]


def _terminated(function):
    with ThreadPool(1) as pool:
        pool.apply_async(function)
        time.sleep(0.2)


def _begun_by(function):
    _KEPT.append(ThreadPool(1, initializer=function))
    time.sleep(0.2)


def _called_back(function):
    pool = ThreadPoolExecutor(1)
    pool.submit(_SLOWLY).add_done_callback(lambda done: function())
    time.sleep(0.4)


_KEPT = []
_IN_POOLS = pytest.mark.parametrize("begin", [_terminated, _begun_by, _called_back])


def _named(name, function):
    function.__code__ = function.__code__.replace(co_name=name)
    return function


@pytest.mark.covering(most=3)
@_IN_POOLS
@pytest.mark.parametrize("name", ["late", "worker", "_worker"])
def test_what_a_thread_of_a_pool_goes_on_with_is_charged_whatever_its_name(begin, name):
    go, done = threading.Event(), threading.Event()

    def function():
        go.wait(60)
        fit()
        done.set()

    with PrivacyBudget(30.0, 1e-2) as budget:
        begin(_named(name, function))
    go.set()
    assert done.wait(60)
    assert [charge.name for charge in budget.charges] == ["DPRidge"]


@pytest.mark.covering(most=1)
@_IN_POOLS
def test_what_threads_of_pools_go_on_with_after_a_search_is_refused(begin, monkeypatch):
    fix_runs(monkeypatch, 1)
    go, answers, begun, inside = threading.Event(), [], [], only_in_runs(monkeypatch)

    def function():
        go.wait(60)
        with pytest.raises(BudgetExceededError):
            fit()
        answers.append("refused")

    def step(rows):
        if inside[0]:
            begun.append(begin(function))
        return rows

    with PrivacyBudget(30.0, 1e-2) as budget:
        search(step).fit(X, Y)
        go.set()
        until = time.monotonic() + 60
        while len(answers) < len(begun) and time.monotonic() < until:
            time.sleep(0.05)
    assert answers == ["refused"] * len(begun) and begun
    assert [charge.name for charge in budget.charges] == ["DPGridSearchCV"]


def test_collecting_no_garbage_hides_nothing_that_runs_leave_behind(monkeypatch):
    fix_runs(monkeypatch, 1)
    pool, go, jobs = ThreadPoolExecutor(1), threading.Event(), []
    pool.submit(go.wait, 60)
    inside = only_in_runs(monkeypatch)

    def step(rows):
        if inside[0]:
            jobs.append(pool.submit(fit))
            gc.freeze()
        return rows

    search(step).fit(X, Y)
    with PrivacyBudget(30.0, 1e-2) as budget:
        go.set()
        for job in jobs:
            with pytest.raises(BudgetExceededError):
                job.result()
    pool.shutdown()
    assert jobs and budget.charges == []


@contextmanager
def _nothing():
    yield


def _wrapped(function):
    """Yield what keeps, binds or wraps a function and is made by another package."""
    yield Memory(None).cache(function)
    yield Memory(None).cache(partial(function)).__call__
    yield lru_cache(function)
    yield _nothing()(function)


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("place", range(4))
def test_callbacks_that_something_known_wraps_are_a_callers(place):
    pool, go, called = ProcessPoolExecutor(1), threading.Event(), threading.Event()
    pool.submit(_AT_ONCE).result()

    def callback(done):
        go.wait(60)
        fit()
        called.set()

    with PrivacyBudget(30.0, 1e-2) as budget:
        future = pool.submit(_SLOWLY)
        future.add_done_callback(list(_wrapped(callback))[place])
        future.result()
    go.set()
    assert called.wait(60)
    pool.shutdown()
    assert [charge.name for charge in budget.charges] == ["DPRidge"]
