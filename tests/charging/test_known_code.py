"""Only code that is known as it came is taken for a service's, whatever it is bound to.

Counts are exact; nothing here is statistical.
"""

import asyncio
import asyncio.tasks
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import MethodType

import pytest
from joblib import Parallel, delayed
from joblib.externals.loky.backend import get_context

from dpsk.exceptions import BudgetExceededError
from tests.charging.test_errands import assert_charged, slowly
from tests.charging.test_unfinished import budget, evaluated
from tests.instruments import in_secret

pytestmark = pytest.mark.filterwarnings("ignore")


def _one():
    slowly()
    yield 1


class _Compared:
    """Fits where it is compared, hashed or taken for a number."""

    def __eq__(self, other):
        slowly()
        return True

    def __hash__(self):
        slowly()
        return 1

    def __index__(self):
        slowly()
        return 0


@pytest.mark.covering(most=2)
@pytest.mark.parametrize(("target", "given"), [
    ([].extend, lambda: [_one()]), (deque(maxlen=0).extend, lambda: [_one()]),
    (set().update, lambda: [map(lambda number: slowly(), [1])]),
    ({}.update, lambda: [((1, 2) for _ in _one())]),
    ([1].remove, lambda: [_Compared()]), (partial({}.setdefault, _Compared()), lambda: []),
    ([].insert, lambda: [_Compared(), 1])],
    ids=["list", "deque", "set", "dict", "compared", "hashed", "number"])
def test_compiled_methods_are_charged_for_what_they_are_given(target, given):
    assert_charged(threading.Thread(target=target, args=given()))


class _Ends:
    def done(self):
        return False

    def set_result(self, result):
        evaluated()

    def _on_task_done(self, task):
        evaluated()


def _fake():
    return type("Fake", (), {"__module__": "_asyncio", "__call__": lambda *given: evaluated()})()


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("called", [
    lambda: partial(asyncio.tasks._release_waiter, _Ends()),
    lambda: MethodType(_Ends._on_task_done, _Ends()), _fake,
    lambda: partial(lambda done: evaluated()), lambda: [_Compared()].remove],
    ids=["argument", "method", "module", "partial", "compared"])
def test_callbacks_are_known_with_all_that_they_are_bound_to(called):
    older = Future()
    with budget() as open_one:
        older.add_done_callback(called())
    threading.Timer(0.1, older.set_result, [None]).start()
    time.sleep(0.8)
    assert len(open_one.charges) == 1


class _SaysItHasEnded(threading.Thread):
    def is_alive(self):
        return False

    @property
    def ident(self):
        raise RuntimeError("asked for a number")


def test_a_thread_is_not_asked_whether_it_lives():
    with budget() as open_one:
        _SaysItHasEnded(target=slowly).start()
    time.sleep(0.8)
    assert len(open_one.charges) == 1


@pytest.mark.parametrize("kind", ["Task", "_PyTask"])
def test_tasks_that_are_half_built_disturb_no_block(kind):
    half = getattr(asyncio.tasks, kind)
    with budget():
        kept = half.__new__(half)
        with budget():
            pass
    with budget() as open_one:
        evaluated()
    assert len(open_one.charges) == 1 and kept is not None


def test_a_future_that_another_thread_is_building_holds_a_block_open():
    ended = threading.Event()
    # Where there is no other thread, nobody ends it.
    other = threading.Thread(target=ended.wait)
    other.start()
    with budget() as open_one:
        built = Future.__new__(Future)
    evaluated()
    del built
    evaluated()
    ended.set()
    other.join()
    assert len(open_one.charges) == 1


def test_a_task_in_python_wakes_another():
    """Both are older, so that the one waits for the other is no work of the block."""
    async def main():
        python = partial(asyncio.tasks._PyTask, loop=asyncio.get_running_loop())
        first, waits = python(asyncio.sleep(0.2)), asyncio.Event()

        async def then():
            await waits.wait()
            await first

        second = python(then())
        await asyncio.sleep(0)
        with budget() as open_one:
            waits.set()
            await asyncio.sleep(0.05)
        evaluated()
        await second
        return open_one

    assert asyncio.run(main()).charges == []


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_a_process_by_loky_that_is_of_no_pool_is_charged():
    with budget() as open_one:
        child = get_context("loky").Process(target=slowly)
        child.start()
    child.join()
    assert child.exitcode == 0 and len(open_one.charges) == 1


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_a_programme_may_have_arguments_like_those_of_a_worker(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import time; time.sleep(0.5)\n"
                      "from dpsk.metrics import dp_accuracy_score as score\n"
                      "score([0, 1] * 20, [0, 1] * 20, epsilon=1.0, delta=1e-6)")
    with budget() as open_one:
        child = subprocess.Popen([sys.executable, str(script), "-m", "loky.anything"])
    assert child.wait() == 0
    assert len(open_one.charges) == 1


@pytest.mark.parametrize("runs_now", [True, False])
def test_what_a_loop_is_handed_in_the_only_thread_is_charged(runs_now):
    """Its future is there, and its task is not made yet."""
    async def late():
        await asyncio.sleep(0.05)
        evaluated()

    def begun(loop):
        with budget() as open_one:
            future = asyncio.run_coroutine_threadsafe(late(), loop)
        return open_one, asyncio.wrap_future(future, loop=loop)

    async def main():
        open_one, future = begun(asyncio.get_running_loop())
        await future
        return open_one

    if runs_now:
        open_one = asyncio.run(main())
    else:
        loop = asyncio.new_event_loop()
        open_one, future = begun(loop)
        loop.run_until_complete(future)
        loop.close()
    assert len(open_one.charges) == 1


def test_a_look_takes_nothing_from_what_a_thread_is_given():
    taken, waits = [], threading.Event()

    def numbers():
        taken.append(1)
        yield waits

    thread = threading.Thread(target=threading.Event.wait, args=numbers())
    with budget() as open_one:
        thread.start()
        waits.set()
    thread.join()
    with budget():
        pass
    evaluated()
    assert taken == [1] and open_one.charges == []


def test_a_task_whose_loop_is_closed_holds_nothing_open():
    kept = []

    async def main():
        kept.append(asyncio.create_task(asyncio.sleep(100)))
        await asyncio.sleep(0)

    with budget() as open_one:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()
    evaluated()
    kept[0]._log_destroy_pending = False
    assert open_one.charges == []


class _Task(asyncio.Task):
    """As somebody's factory makes them."""


def test_tasks_of_a_class_of_ones_own_hold_nothing_open_when_they_are_done():
    async def waits():
        for _ in range(5):
            with budget() as open_one:
                await asyncio.create_task(asyncio.sleep(0.005))
            evaluated()
            assert open_one.charges == []

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_task_factory(lambda loop, coro, **more: _Task(coro, loop=loop))
        await asyncio.create_task(waits())

    asyncio.run(main())


def _by_pool(fits):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(fits).result()


def _by_thread(fits):
    thread = threading.Thread(target=fits)
    thread.start()
    thread.join()


@pytest.mark.parametrize("by", [
    _by_pool, _by_thread, lambda fits: Parallel(2, backend="threading")([delayed(fits)()] * 2)],
    ids=["pool", "thread", "joblib"])
def test_what_a_thread_of_a_search_begins_after_it_is_refused(by):
    refused = []

    def fits():
        with pytest.raises(BudgetExceededError):
            evaluated()
        refused.append(True)

    def late():
        time.sleep(0.3)
        by(fits)

    with budget() as open_one, in_secret("a search"):
        thread = threading.Thread(target=late)
        thread.start()
    thread.join()
    assert refused and open_one.charges == []
    _by_thread(evaluated)
    evaluated()


@pytest.mark.parametrize("left", [[].extend, lambda results: list(results)],
                         ids=["compiled", "function"])
def test_what_runs_of_a_search_leave_behind_is_refused(left):
    refused = []

    def fits():
        time.sleep(0.3)
        try:
            evaluated()
        except BudgetExceededError as error:
            refused.append(error)
        yield 1

    with budget() as open_one, in_secret("a search"):
        thread = threading.Thread(target=left, args=[fits()])
        thread.start()
    thread.join()
    assert len(refused) == 1 and open_one.charges == []
