"""What a thread of a pool is at, and what is somebody else's.

Counts are exact; nothing here is statistical.
"""

import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing.pool import ThreadPool
from weakref import ref

import numpy as np
import pytest

from dpsk._charging.threads import this_thread
from tests.charging.test_unfinished import budget, evaluated

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = np.zeros((9, 2))
_SLOWLY, _AT_ONCE = partial(time.sleep, 0.2), partial(int)


def _results(pool, function, tables):
    """Return what a function makes of tables, one job each."""
    if isinstance(pool, ThreadPoolExecutor):
        return [each.result() for each in [pool.submit(function, each) for each in tables]]
    return [each.get() for each in [pool.apply_async(function, (each,)) for each in tables]]


@pytest.mark.parametrize("make", [ThreadPoolExecutor, ThreadPool])
def test_jobs_of_one_thread_are_told_apart_and_hold_nothing(make):
    with make(1) as pool:
        (one, same), (other, _) = _results(pool, lambda rows: (this_thread(), this_thread()),
                                           [ROWS, ROWS])
        assert one.thread is other.thread and one == same != other
        held = ref(rows := ROWS.copy())
        _results(pool, lambda rows: this_thread() and None, [rows])
        del rows
        # The thread lets go of its last job when it has noted that it is done.
        until = time.monotonic() + 60
        while held() is not None and time.monotonic() < until:
            time.sleep(0.01)
        assert held() is None


def test_a_job_in_an_older_pool_holds_no_block_open_once_it_is_done():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_AT_ONCE).result()
        with budget() as spent:
            job = pool.submit(lambda: (time.sleep(0.3), evaluated()))
        job.result()
        for _ in range(3):
            pool.submit(evaluated).result()
    assert len(spent.charges) == 1


@pytest.mark.parametrize("make", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_a_callback_that_began_before_a_block_is_not_of_it(make):
    with make(1) as pool:
        go = threading.Event()
        future = pool.submit(_SLOWLY)
        future.add_done_callback(lambda done: go.wait(60))
        future.result()
        time.sleep(0.1)
        with budget() as spent:
            pass
        evaluated()
        go.set()
    assert spent.charges == []


def test_a_job_without_code_of_python_is_a_job():
    done = threading.Event()
    with budget() as spent, ThreadPool(1) as pool:
        pool.apply_async(threading.Timer(0.3, lambda: (evaluated(), done.set())).run)
        time.sleep(0.1)
    assert done.wait(60)
    assert len(spent.charges) == 1


class _Item:
    """What an executor of one's own puts on its queue."""

    __slots__ = ("job",)

    def __init__(self, job):
        self.job = job

    def run(self):
        self.job()


def test_items_of_executors_of_ones_own_are_jobs():
    go, done = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_AT_ONCE).result()
        with budget() as spent:
            pool._work_queue.put(_Item(lambda: (go.wait(60), evaluated(), done.set())))
            time.sleep(0.1)
        go.set()
        assert done.wait(60)
    assert len(spent.charges) == 1


def _wrap_target(monkeypatch):
    begin = threading.Thread.__init__

    def wrapping(self, *args, target=None, **kwargs):
        begin(self, *args, target=lambda *given, **more: target(*given, **more), **kwargs)

    monkeypatch.setattr(threading.Thread, "__init__", wrapping)


def _wrap_run(monkeypatch):
    run = threading.Thread.run
    monkeypatch.setattr(threading.Thread, "run", lambda self: run(self))


@pytest.mark.parametrize("wrap", [_wrap_target, _wrap_run])
def test_a_pool_is_known_whatever_wraps_its_threads(wrap, monkeypatch):
    wrap(monkeypatch)
    with budget() as spent:
        pool = ThreadPoolExecutor(1)
        pool.submit(evaluated).result()
        time.sleep(0.1)
    evaluated()
    pool.shutdown()
    assert len(spent.charges) == 1
