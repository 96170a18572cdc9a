"""What was begun inside of a block is charged, whatever runs it: callbacks, threads, processes.

Counts are exact; nothing here is statistical.
"""

import _thread
import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import _process_chunk
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.pool import ThreadPool
from threading import Thread
from types import SimpleNamespace

import pytest
from joblib import Memory, Parallel, delayed, wrap_non_picklable_objects

from dpsk.exceptions import PrivacyWarning
from tests.charging.test_unfinished import budget, evaluated

pytestmark = pytest.mark.filterwarnings("ignore")


def slowly():
    time.sleep(0.4)
    evaluated()


async def slowly_awaited():
    slowly()


def _nothing():
    time.sleep(0.4)


@pytest.mark.parametrize("pool", [
    pytest.param(lambda: ThreadPoolExecutor(1), marks=pytest.mark.thorough),
    lambda: ProcessPoolExecutor(1, mp_context=get_context("fork"))], ids=["threads", "processes"])
def test_callbacks_of_futures_are_part_of_them(pool):
    """That a future is done does not say that all whom it calls back are."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    with pool() as executor:
        # The one thread is busy, so that its own work is not what holds the block open.
        executor.submit(_nothing)
        with budget() as open_one:
            future = executor.submit(_nothing)
            future.add_done_callback(lambda done: evaluated())
            future.add_done_callback(lambda done: evaluated())
        future.result()
    assert len(open_one.charges) == 2
    evaluated()
    assert len(open_one.charges) == 2


def test_callbacks_of_tasks_are_part_of_them():
    async def run():
        with budget() as open_one:
            task = asyncio.create_task(asyncio.sleep(0.1))
            task.add_done_callback(lambda done: evaluated())
        await task
        await asyncio.sleep(0.1)
        evaluated()
        return open_one

    assert len(asyncio.run(run()).charges) == 1


def test_a_block_may_be_left_in_another_thread():
    """The one in which it was entered goes on, and was before."""
    open_one = budget()
    open_one.__enter__()
    other = threading.Thread(target=open_one.__exit__, args=(None, None, None))
    other.start()
    other.join()
    evaluated()
    assert open_one.charges == []


def test_threads_that_ended_hold_no_block_open_whoever_began_them():
    """`threading` hears of some when they ask it who they are, and never of their end."""
    with budget() as open_one:
        ended = threading.Lock()
        ended.acquire()

        def known():
            threading.current_thread()
            ended.release()

        _thread.start_new_thread(known, ())
        ended.acquire()
        time.sleep(0.2)
    evaluated()
    assert open_one.charges == []


def test_tasks_of_a_loop_that_has_ended_hold_nothing_open():
    loop = asyncio.new_event_loop()

    async def never():
        await asyncio.sleep(3600)

    with budget() as open_one:
        task = loop.create_task(never())
    evaluated()
    assert len(open_one.charges) == 1
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
    evaluated()
    assert len(open_one.charges) == 1


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("made", [
    lambda stack: Thread(target=Memory(None, verbose=0).cache(slowly)),
    lambda stack: Thread(target=Memory(None, verbose=0).cache(slowly).call),
    lambda stack: Thread(target=wrap_non_picklable_objects(slowly)),
    lambda stack: Thread(target=Parallel(n_jobs=1), args=[[delayed(slowly)()]]),
    lambda stack: Thread(target=Parallel(n_jobs=1).__call__, args=[[delayed(slowly)()]]),
    lambda stack: Thread(target=Parallel(n_jobs=1).__call__, args=[
        (delayed(slowly)() for _ in range(1))]),
    # In parts of parts, as tasks of tasks are.
    lambda stack: Thread(target=_process_chunk, args=[
        _process_chunk, [(_process_chunk, [(slowly, [()])])]]),
    lambda stack: Thread(target=_process_chunk, kwargs={"fn": slowly, "chunk": [()]}),
    lambda stack: Thread(target=asyncio.run, args=[slowly_awaited()]),
    # Made here, as its threads begin at once.
    lambda stack: Thread(target=stack.enter_context(ThreadPool(1)).apply, args=[slowly])],
    ids=["memory", "method of memory", "wrapped", "object", "method", "generator", "nested",
         "named", "coroutine", "pool"])
def test_threads_that_run_code_by_that_of_others_are_charged(made):
    with ExitStack() as stack:
        assert_charged(made(stack))


def assert_charged(thread):
    """Assert that what a thread does that begins in a block is charged, and what follows is not.
    """
    with budget() as open_one:
        thread.start()
    thread.join()
    assert len(open_one.charges) == 1
    evaluated()
    assert len(open_one.charges) == 1


@contextmanager
def workers_of_joblib():
    with Parallel(n_jobs=2) as pool:
        yield SimpleNamespace(submit=lambda call: pool([delayed(call)()]))


@contextmanager
def pool_of_multiprocessing(make):
    with make(1) as pool:
        yield SimpleNamespace(submit=pool.apply)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, which is quick")
@pytest.mark.parametrize("pool", [
    workers_of_joblib, lambda: ThreadPoolExecutor(1),
    lambda: ProcessPoolExecutor(1, mp_context=get_context("fork")),
    lambda: pool_of_multiprocessing(ThreadPool),
    lambda: pool_of_multiprocessing(get_context("fork").Pool)],
    ids=["joblib", "futures", "futures of processes", "pool of threads", "pool"])
def test_pools_that_wait_for_more_hold_no_block_open(pool, recwarn):
    """Their threads serve queues, and are told so from those that do a task."""
    with ExitStack() as stack:
        with budget() as open_one:
            done = stack.enter_context(pool()).submit(evaluated)
            if isinstance(done, Future):
                done.result()
            time.sleep(0.1)
        evaluated()
        assert len(open_one.charges) == 1
        assert not [each for each in recwarn if issubclass(each.category, PrivacyWarning)]


def test_results_are_seen_where_somebody_froze_them():
    """What `gc.freeze` hides from a look at all objects."""
    with budget() as open_one:
        results = Parallel(n_jobs=1, return_as="generator")(delayed(evaluated)() for _ in range(3))
        gc.freeze()
    list(results)
    assert len(open_one.charges) == 3


def test_what_somebody_froze_before_stays_so_and_results_are_seen():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with pytest.warns(PrivacyWarning), budget() as open_one:
        results = Parallel(n_jobs=1, return_as="generator")(delayed(evaluated)() for _ in range(3))
        with open_one:
            pass
    assert gc.get_freeze_count() > 0.9 * frozen > 0
    list(results)
    assert len(open_one.charges) == 3


@pytest.mark.audit
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_processes_of_a_fork_server_that_outlive_a_block_are_charged():
    with budget() as open_one:
        child = get_context("forkserver").Process(target=slowly)
        child.start()
    child.join()
    assert child.exitcode == 0 and len(open_one.charges) == 1


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_programmes_are_known_by_what_they_run_and_not_by_their_folders(tmp_path):
    script = tmp_path / "with loky in resource_tracker" / "multiprocessing.forkserver.py"
    script.parent.mkdir()
    script.write_text("import time; time.sleep(1)\n"
                      "from dpsk.metrics import dp_accuracy_score as score\n"
                      "score([0, 1] * 20, [0, 1] * 20, epsilon=1.0, delta=1e-6)")
    with budget() as open_one:
        child = subprocess.Popen([sys.executable, str(script)])
    assert child.wait() == 0
    assert len(open_one.charges) == 1


@pytest.mark.thorough
def test_a_programme_with_another_folder_of_notes_goes_by_its_environment():
    """As in a container whose folder of temporary files is its own, of the same path."""
    with budget() as open_one:
        said = dict(os.environ)
        name, folder, *rest = json.loads(said["DPSK_STARTED_WITHIN"])
    code = ("from dpsk.metrics import dp_accuracy_score as score\n"
            "score([0, 1] * 20, [0, 1] * 20, epsilon=1.0, delta=1e-6)")
    for seen, charges in ((folder, 0), (folder + " of another container", 1)):
        said["DPSK_STARTED_WITHIN"] = json.dumps([name, seen, *rest])
        subprocess.run([sys.executable, "-c", code], check=True, env=said)
        assert len(open_one.charges) == charges


def test_a_relative_path_in_the_environment_is_that_of_the_folder_of_now(tmp_path, monkeypatch):
    found = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        found.append(budget(path="people.budget"))
        monkeypatch.setenv("DPSK_BUDGET", "people.budget")
        evaluated()
    assert [len(each.charges) for each in found] == [1, 1]
