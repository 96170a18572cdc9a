"""A block ends when the work that was begun inside of it ends, and not with its last line.

Counts are exact; nothing here is statistical.
"""

import asyncio
import gc
import os
import shlex
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from multiprocessing.pool import ThreadPool

import pytest
from joblib import Parallel, delayed

from dpsk import PrivacyBudget
from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import dp_accuracy_score

LABELS = [0, 1] * 20
LAZY = [{"n_jobs": n_jobs, "return_as": kind, **more}
        for n_jobs, more in ((1, {}), (2, {}), (2, {"backend": "threading"}))
        for kind in ("generator", "generator_unordered")]


def evaluated(*ignored):
    return dp_accuracy_score(LABELS, LABELS, epsilon=1.0, delta=1e-6)


def budget(**terms):
    return PrivacyBudget(**{"epsilon": 100.0, "delta": 1e-3, **terms})


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("how", LAZY, ids=str)
def test_lazy_results_that_are_read_later_are_charged_all(how):
    with warnings.catch_warnings(record=True) as warned, budget() as open_one:
        warnings.simplefilter("always")
        results = Parallel(**how)(delayed(evaluated)() for _ in range(20))
    # Workers may have been quick, and other threads put filters of warnings back as they were.
    assert how.get("backend") == "threading" or len(open_one.charges) == 20 or any(
        "read all results inside" in str(each.message) for each in warned)
    assert len(list(results)) == 20
    assert len(open_one.charges) == 20
    # Nothing of it stays behind.
    evaluated()
    assert len(open_one.charges) == 20


def test_lazy_results_that_are_dropped_end_the_block():
    with pytest.warns(PrivacyWarning), budget() as open_one:
        results = Parallel(n_jobs=1, return_as="generator")(
            delayed(evaluated)() for _ in range(20))
        next(results)
    evaluated()
    assert len(open_one.charges) == 2
    del results
    evaluated()
    assert len(open_one.charges) == 2


@pytest.mark.thorough
def test_results_that_are_read_inside_need_no_warning(recwarn):
    with budget() as open_one:
        for how in LAZY:
            list(Parallel(**how)(delayed(evaluated)() for _ in range(3)))
    assert len(open_one.charges) == 3 * len(LAZY)
    assert not [each for each in recwarn if issubclass(each.category, PrivacyWarning)]


def test_futures_of_an_older_pool_are_charged_when_they_run():
    go = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(evaluated).result()
        pool.submit(go.wait)
        with pytest.warns(PrivacyWarning, match="is not done"), budget() as open_one:
            waiting = [pool.submit(evaluated) for _ in range(3)]
        assert open_one.charges == []
        go.set()
        for each in waiting:
            each.result()
        assert len(open_one.charges) == 3
        assert is_free_soon(open_one, lambda: pool.submit(evaluated).result())


def is_free_soon(open_one, call):
    """Return whether a call is charged no more, once a thread has noted that its work is done."""
    for _ in range(100):
        before = len(open_one.charges)
        call()
        if len(open_one.charges) == before:
            return True
    return False


def test_what_was_under_way_before_holds_no_block_open():
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(stop.wait)
        with budget() as open_one:
            evaluated()
        evaluated()
        stop.set()
    assert len(open_one.charges) == 1


def test_threads_that_outlive_a_block_hold_it_open():
    go = threading.Event()

    def late():
        assert go.wait(60)
        evaluated()

    with pytest.warns(PrivacyWarning, match="such as a thread"), budget() as open_one:
        thread = threading.Thread(target=late)
        thread.start()
    # What the thread hands to others cannot be told from what others do.
    evaluated()
    assert len(open_one.charges) == 1
    go.set()
    thread.join()
    assert len(open_one.charges) == 2
    evaluated()
    assert len(open_one.charges) == 2


def test_tasks_of_asyncio_hold_a_block_open():
    async def late():
        await asyncio.sleep(0.2)
        evaluated()

    async def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with budget() as open_one:
                task = asyncio.create_task(late())
                await asyncio.sleep(0)
        await task
        return open_one

    assert len(asyncio.run(run()).charges) == 1
    evaluated()


def _late(folder):
    while not (folder / "go").exists():
        time.sleep(0.01)
    evaluated()


@pytest.mark.parametrize("kind", ["fork", pytest.param("spawn", marks=pytest.mark.audit)])
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_processes_that_outlive_a_block_are_charged_and_others_are_not(tmp_path, kind):
    context = get_context(kind)
    with budget() as open_one:
        # A daemon, as it waits for what a test that fails does not say.
        child = context.Process(target=_late, args=(tmp_path,), daemon=True)
        child.start()
        other = None
    evaluated()
    # A process that is started after the block has nothing to do with it.
    other = context.Process(target=evaluated)
    other.start()
    other.join()
    assert (child.is_alive(), other.exitcode, open_one.charges) == (True, 0, [])
    (tmp_path / "go").touch()
    child.join()
    assert child.exitcode == 0
    assert len(open_one.charges) == 1


def test_pools_that_end_with_an_error_hold_no_block_open():
    for how in ({"backend": "threading"}, {"backend": "multiprocessing"}, {}):
        with pytest.raises(ZeroDivisionError) as raised, budget() as open_one:
            Parallel(n_jobs=2, **how)(delayed(partial(divmod, 1))(k) for k in (0, 1, 0, 2, 3, 4))
        evaluated()
        assert (raised.type, open_one.charges) == (ZeroDivisionError, [])


def test_inner_blocks_end_by_themselves():
    with budget() as outer:
        with pytest.warns(PrivacyWarning), budget() as inner:
            results = Parallel(n_jobs=1, return_as="generator")(
                delayed(evaluated)() for _ in range(4))
        assert len(list(results)) == 4
        evaluated()
    assert (len(outer.charges), len(inner.charges)) == (5, 4)


def test_what_an_outer_block_began_is_seen_behind_inner_ones():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with budget() as outer:
            results = Parallel(n_jobs=1, return_as="generator")(
                delayed(evaluated)() for _ in range(3))
            with budget():
                pass
    assert len(list(results)) == len(outer.charges) == 3


def test_of_a_budget_that_was_entered_twice_the_inner_block_is_left_first():
    with pytest.warns(PrivacyWarning), budget() as open_one:
        results = Parallel(n_jobs=1, return_as="generator")(
            delayed(evaluated)() for _ in range(3))
        with warnings.catch_warnings():
            # What the outer one began is not the inner one's to wait for.
            warnings.simplefilter("error")
            with open_one:
                evaluated()
        warnings.warn("the inner block is left", PrivacyWarning, stacklevel=1)
    assert len(list(results)) == 3
    assert len(open_one.charges) == 4


@pytest.mark.thorough
def test_blocks_leave_the_garbage_collector_as_it_was(monkeypatch):
    """Also one that could not be entered."""
    # Frozen objects of other tests that are freed meanwhile would count.
    gc.unfreeze()
    for _ in range(2):
        with budget(), budget():
            assert gc.get_freeze_count() == 0
        assert gc.get_freeze_count() == 0

    def refused(note):
        # Work of other tests that ends meanwhile has nothing of its own to say.
        if note.budgets[-1:] not in ([], [outer.path]):
            raise OSError("no folder")

    with budget() as outer:
        monkeypatch.setattr("dpsk._charging.admission.post", refused)
        with pytest.raises(OSError, match="no folder"), budget():
            pytest.fail("entered")
        assert gc.get_freeze_count() == 0
        monkeypatch.undo()
        evaluated()
    assert len(outer.charges) == 1
    monkeypatch.setattr("dpsk._charging.admission.post", refused)
    with pytest.raises(OSError, match="no folder"), budget():
        pytest.fail("entered")
    monkeypatch.undo()
    assert gc.get_freeze_count() == 0
    gc.freeze()


@pytest.mark.thorough
def test_workers_pay_no_more_once_what_went_on_is_done():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(evaluated).result()
        with pytest.warns(PrivacyWarning), budget() as open_one:
            results = Parallel(n_jobs=1, return_as="generator")(
                delayed(evaluated)() for _ in range(3))
        assert len(list(results)) == 3
        del results
        pool.submit(evaluated).result()
    assert len(open_one.charges) == 3


def _by_a_child(folder):
    while not (folder / "go").exists():
        time.sleep(0.01)
    child = get_context("spawn").Process(target=evaluated)
    child.start()
    child.join()
    sys.exit(child.exitcode)


@pytest.mark.thorough
def test_children_of_a_process_that_outlives_a_block_are_charged(tmp_path):
    with budget() as open_one:
        child = get_context("spawn").Process(target=_by_a_child, args=(tmp_path,))
        child.start()
    (tmp_path / "go").touch()
    child.join()
    assert (child.exitcode, len(open_one.charges)) == (0, 1)


@pytest.mark.parametrize("closed", [False, True])
def test_results_of_an_older_pool_of_multiprocessing_are_charged_when_they_are_made(closed):
    """A pool that is closed takes no more, and still does what it has taken."""
    go = threading.Event()
    with ThreadPool(1) as pool:
        pool.apply(evaluated)
        pool.apply_async(go.wait)
        with pytest.warns(PrivacyWarning, match="is not done"), budget() as open_one:
            waiting = [pool.apply_async(evaluated) for _ in range(3)]
            if closed:
                pool.close()
        go.set()
        for each in waiting:
            each.get()
        assert len(open_one.charges) == 3
        if not closed:
            pool.apply(evaluated)
    evaluated()
    assert len(open_one.charges) == 3


def _slow(ignored):
    time.sleep(0.2)
    return float(evaluated())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", [
    "imap", pytest.param("imap_unordered", marks=pytest.mark.thorough)])
def test_iterators_of_an_older_pool_are_charged(how):
    with ThreadPool(1) as pool:
        with budget() as open_one:
            results = getattr(pool, how)(_slow, range(3))
        list(results)
    assert len(open_one.charges) == 3


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_what_threads_begin_is_charged_as_they_are():
    """A thread that goes on starts workers and threads of its own."""
    def late():
        time.sleep(0.3)
        Parallel(n_jobs=2)(delayed(evaluated)() for _ in range(2))
        inner = threading.Thread(target=evaluated)
        inner.start()
        inner.join()

    with budget() as open_one:
        thread = threading.Thread(target=late)
        thread.start()
    thread.join()
    assert len(open_one.charges) == 3


@pytest.mark.filterwarnings("ignore")
def test_what_a_terminated_pool_had_begun_is_charged():
    with budget() as open_one, ThreadPool(1) as pool:
        pool.apply_async(_slow, (0,))
        # What was not begun never will be.
        waiting = pool.apply_async(_slow, (1,)), pool.imap(_slow, [2])
        time.sleep(0.1)
    time.sleep(0.6)
    assert len(open_one.charges) == 1
    evaluated()
    assert len(open_one.charges) == 1 and len(waiting) == 2


@pytest.mark.filterwarnings("ignore")
def test_callbacks_of_futures_are_charged():
    with ThreadPoolExecutor(1) as pool:
        with budget() as open_one:
            future = pool.submit(time.sleep, 0.3)
            future.add_done_callback(lambda done: evaluated())
    assert len(open_one.charges) == 1


_SCRIPT = ("import time; time.sleep(1)\nfrom dpsk.metrics import dp_accuracy_score as score\n"
           "score([0, 1] * 20, [0, 1] * 20, epsilon=1.0, delta=1e-6)")


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_programmes_that_outlive_a_block_are_charged():
    with budget() as outer, budget() as inner:
        child = subprocess.Popen([sys.executable, "-c", _SCRIPT])
    assert child.wait() == 0
    assert len(outer.charges) == len(inner.charges) == 1


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="asks for a shell")
def test_programmes_whose_parent_has_ended_are_charged():
    with budget() as open_one:
        subprocess.run(["sh", "-c", f"{shlex.quote(sys.executable)} -c {shlex.quote(_SCRIPT)} &"],
                       check=True)
        for _ in range(600):
            if open_one.charges:
                break
            time.sleep(0.05)
    assert len(open_one.charges) == 1
