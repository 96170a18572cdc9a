"""What packages that serve others run for a caller is a caller's; and a look changes nothing.

Counts are exact; nothing here is statistical.
"""

import asyncio
import importlib
import queue
import sys
import threading
import time
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from weakref import proxy

import pytest
from joblib import Parallel, delayed

from dpsk._charging import admission, services
from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import dp_accuracy_score
from tests.charging.test_errands import assert_charged, slowly
from tests.charging.test_unfinished import budget, evaluated

#: What a package that serves others might hold, by the name of a module of it.
_SERVED = """
import threading

async def waited(given, done=None):
    return await given

async def gathered(*given):
    for each in given:
        await each

async def called(given):
    await waited(soon())
    given()

async def soon():
    import asyncio
    await asyncio.sleep(0.05)

class Asked:
    def __init__(self, func):
        self.func = func

    async def asked(self):
        await soon()
        self.func()

class Runs(threading.Thread):
    def __init__(self, func):
        super().__init__()
        self.func = func

    def run(self):
        getattr(self.func, "fit", self.func)()

class Slotted(threading.Thread):
    __slots__ = ("slotted",)

    def run(self):
        self.slotted()
"""


def _served(name):
    names = {"__name__": name}
    exec(_SERVED, names)
    return names


async def _soon():
    await asyncio.sleep(0.05)
    evaluated()


def _waited(served, times):
    coroutine = _soon()
    for _ in range(times):
        coroutine = served["waited"](coroutine)
    return coroutine


@pytest.mark.parametrize(("charges", "made"), [
    (1, lambda served: _waited(served, 1)),
    (1, lambda served: _waited(served, 3)),
    (2, lambda served: served["gathered"](_soon(), _soon())),
    (1, lambda served: served["called"](evaluated)),
    (1, lambda served: served["Asked"](evaluated).asked())],
    ids=["one", "nested", "several", "function", "attribute"])
@pytest.mark.parametrize("begun", [True, False])
def test_tasks_of_services_are_charged_for_what_they_are_given(begun, charges, made):
    served = _served("tqdm.asyncio")

    async def main():
        with budget() as open_one, pytest.warns(PrivacyWarning):
            with open_one:
                task = asyncio.ensure_future(made(served))
                if begun:
                    await asyncio.sleep(0)
        await task
        evaluated()
        return open_one

    assert len(asyncio.run(main()).charges) == charges


class _Fits:
    fit = staticmethod(slowly)


class _Iterator:
    """Fits where it is asked for what is next."""

    def __init__(self):
        self._left = 1

    def __iter__(self):
        return self

    def __next__(self):
        if not self._left:
            raise StopIteration
        self._left -= 1
        slowly()
        return 1


def _slotted(run):
    thread = _served("IPython.lib.backgroundjobs")["Slotted"]()
    thread.slotted = run
    return thread


def _queue_of(job):
    waiting = queue.Queue()
    waiting.put(job)
    return waiting


def _replaced(run):
    thread = threading.Thread()
    thread.run = run
    return thread


@pytest.mark.covering(most=3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", [
    lambda: _served("IPython.lib.backgroundjobs")["Runs"](slowly),
    lambda: _served("IPython.lib.backgroundjobs")["Runs"](_Fits()),
    lambda: _slotted(slowly),
    lambda: _replaced(slowly),
    lambda: threading.Thread(target=ThreadPoolExecutor(1).map, args=(int, _Iterator())),
    lambda: threading.Thread(target=lambda jobs: jobs.get()(), args=[_queue_of(slowly)]),
    lambda: threading.Thread(target=Parallel(n_jobs=1), args=[[delayed(time.sleep)(0.4), _own]])],
    ids=["attribute", "object", "slot", "replaced", "iterator", "queue",
         "function of this package"])
def test_threads_of_services_are_charged_for_what_they_are_given(made):
    assert_charged(made())


_own = delayed(partial(dp_accuracy_score, [0, 1] * 20, [0, 1] * 20, epsilon=0.1, delta=1e-6))()


def test_every_name_of_a_service_stands_for_something():
    """Where its package is here; packages name some things otherwise in other versions."""
    missing, found = set(), set()
    for name in {*services._TASKS, *services._THREADS, *services._CALLBACKS}:
        module = name.partition(":")[0]
        last = name.rpartition(".")[2].rpartition(":")[2].lstrip("_")
        try:
            importlib.import_module(module)
        except ImportError:
            continue
        outer = services._named(name)
        there = outer is not None and ("<locals>" not in name or services._inner(outer, name))
        (found if there else missing).add((module, last))
    assert found and missing <= found


def test_what_services_leave_running_holds_nothing_open():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        warnings.simplefilter("error", PrivacyWarning)
        with budget() as open_one:
            at = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                                          dashboard_address=":0", memory_limit=0, silence_logs=50)
            client = distributed.Client(at)
            client.submit(evaluated, pure=False).result()
        with client, at:
            for _ in range(5):
                with budget():
                    client.submit(time.sleep, 0.01, pure=False).result()
            evaluated()
    assert len(open_one.charges) == 1


def test_code_that_was_put_in_the_place_of_a_service_is_a_callers(monkeypatch):
    import multiprocessing.queues as served

    def feed(self):
        slowly()

    feed.__qualname__ = feed.__name__ = "_feed"
    monkeypatch.setattr(served.Queue, "_feed", feed)
    with pytest.warns(PrivacyWarning):
        assert_charged(threading.Thread(target=served.Queue._feed, args=[None]))


def test_a_block_does_not_disturb_what_other_threads_are_making():
    """Python refuses to finish a tuple that is referred to elsewhere while it is built."""
    ended, made = threading.Event(), []

    def items():
        for place in range(8):
            time.sleep(0.001)
            yield place

    def make():
        while not ended.is_set():
            made.append(tuple(items()))

    def begun():
        try:
            make()
        except SystemError as error:
            raised.append(error)

    threads, raised = [threading.Thread(target=begun) for _ in range(4)], []
    for thread in threads:
        thread.start()
    # So many that a look takes longer than a thread waits for its turn.
    many = [[place] for place in range(300_000)]
    for _ in range(10):
        with budget():
            pass
        time.sleep(0.01)
    ended.set()
    for thread in threads:
        thread.join()
    assert many and made and not raised


class _Unhashable(type):
    def __eq__(cls, other):
        raise RuntimeError("compared")


def test_a_block_asks_nothing_of_the_objects_of_others():
    made = _Unhashable("Made", (), {})()
    with budget() as open_one:
        evaluated()
    assert len(open_one.charges) == 1 and type(made).__name__ == "Made"


class _Liar:
    @property
    def __class__(self):
        raise RuntimeError("asked for its class")


def test_what_a_loop_calls_may_be_given_anything():
    async def main():
        asyncio.get_running_loop().call_soon(lambda given: None, _Liar())
        with budget() as open_one:
            pass
        evaluated()
        return open_one

    assert asyncio.run(main()).charges == []


def test_futures_that_other_threads_are_building_disturb_no_block():
    """They have none of their attributes yet."""
    ended = threading.Event()

    class Slow(Future):
        def __init__(self):
            time.sleep(0.02)
            super().__init__()

    def build():
        while not ended.is_set():
            Slow()

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            with budget():
                kept = Slow()
                kept.set_result(None)
            evaluated()
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    with budget() as open_one:
        pass
    evaluated()
    assert open_one.charges == []


def test_a_block_whose_end_fails_is_left(monkeypatch):
    def fails():
        raise RuntimeError("no look")

    open_one = budget()
    with pytest.raises(RuntimeError, match="no look"), open_one:
        monkeypatch.setattr(admission, "under_way", fails)
    monkeypatch.undo()
    evaluated()
    assert open_one.charges == []
    with open_one:
        evaluated()
    assert len(open_one.charges) == 1


@pytest.mark.parametrize("module", [None, object()], ids=["none", "empty"])
def test_packages_that_somebody_has_masked_are_not_asked(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "distributed", module)
    with budget() as open_one:
        evaluated()
    evaluated()
    assert len(open_one.charges) == 1


class _Equal(threading.Thread):
    def __eq__(self, other):
        return True

    __hash__ = threading.Thread.__hash__


@pytest.mark.filterwarnings("ignore")
def test_threads_are_told_apart_whatever_they_say():
    older = _Equal(target=time.sleep, args=[0.8])
    older.start()
    assert_charged(_Equal(target=slowly))
    older.join()


class _Odd(type):
    __hash__ = None

    def __eq__(cls, other):
        raise RuntimeError("compared")

    def __subclasses__(cls):
        raise RuntimeError("asked for classes")


class _OddFuture(Future, metaclass=_Odd):
    """Of a class that cannot be compared, hashed or asked."""


class _Called:
    def __call__(self, done):
        evaluated()

    @property
    def __class__(self):
        raise RuntimeError("asked for its class")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "more"), [
    (_OddFuture, lambda: [].append), (Future, lambda: _gone())],
    ids=["class", "callback that is gone"])
def test_futures_and_callbacks_may_be_of_any_class(kind, more):
    with budget() as open_one:
        future = kind()
        future.add_done_callback(more())
        future.add_done_callback(_Called())
        waits = threading.Thread(target=lambda: (time.sleep(0.2), future.set_result(None)))
        waits.start()
    waits.join()
    assert len(open_one.charges) == 1
    evaluated()
    assert len(open_one.charges) == 1


def _gone():
    called = _Called()
    return proxy(called)
