"""What a block asks tasks of asyncio to call back is of the block, whatever loop they are in.

Counts are exact; nothing here is statistical.
"""

import asyncio
import threading
import time
from contextlib import contextmanager

import pytest

from dpsk import PrivacyBudget
from tests.charging.test_callbacks import Callbacks
from tests.charging.test_left_behind import fit

pytestmark = pytest.mark.filterwarnings("ignore")


def test_what_an_older_task_is_asked_in_a_block_to_call_back_is_charged():
    budget = PrivacyBudget(30.0, 1e-2)

    async def main():
        task = asyncio.ensure_future(asyncio.sleep(0.05))
        await asyncio.sleep(0)
        with budget:
            task.add_done_callback(lambda done: fit())
        await task
        await asyncio.sleep(0)

    asyncio.run(main())
    assert [charge.name for charge in budget.charges] == ["DPRidge"]


def test_what_an_older_task_wakes_is_no_work_of_a_block():
    budget = PrivacyBudget(30.0, 1e-2)

    async def main():
        task = asyncio.ensure_future(asyncio.sleep(0.2))
        with budget:
            await asyncio.wait([task], timeout=0.01)
        fit()
        await task

    asyncio.run(main())
    assert budget.charges == []


@contextmanager
def _running_loop(debug=False):
    """Give a loop of asyncio that runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    loop.set_debug(debug)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_callbacks_of_what_an_older_loop_has_done_are_charged():
    callbacks, budget = Callbacks(), PrivacyBudget(30.0, 1e-2)
    with _running_loop() as loop:
        callbacks.go_on_after(
            budget, lambda: asyncio.run_coroutine_threadsafe(asyncio.sleep(0.05), loop))
    assert [charge.name for charge in budget.charges] == ["DPRidge"]


@pytest.mark.parametrize("asks", ["itself", "another"])
def test_callbacks_that_a_task_is_given_after_somebody_waits_for_it_are_charged(asks):
    budget = PrivacyBudget(30.0, 1e-2)

    async def asked(task):
        (task or asyncio.current_task()).add_done_callback(lambda done: fit())
        await asyncio.sleep(0.01)

    async def main():
        with budget:
            if asks == "itself":
                await asyncio.ensure_future(asked(None))
            else:
                task = asyncio.ensure_future(asyncio.sleep(0.05))
                other = asyncio.ensure_future(asked(task))
                await task
        await asyncio.sleep(0.01)
        return asks == "itself" or other

    asyncio.run(main())
    assert [charge.name for charge in budget.charges] == ["DPRidge"]


@pytest.mark.parametrize("state", ["done", "pending"])
def test_what_an_older_task_calls_once_the_block_is_left_is_charged(state):
    budget = PrivacyBudget(30.0, 1e-2)

    async def main():
        task = asyncio.ensure_future(asyncio.sleep(0.05))
        if state == "done":
            await task
        with budget:
            if state == "done":
                task.add_done_callback(lambda done: fit())
            else:
                task.add_done_callback(lambda done: done.add_done_callback(lambda done: fit()))
                await task
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert [charge.name for charge in budget.charges] == ["DPRidge"]


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("asked", ["once", "by a callback"])
def test_a_task_in_a_loop_of_another_thread_is_asked_whom_it_calls(debug, asked):
    budget, called = PrivacyBudget(30.0, 1e-2), threading.Event()

    def last(done):
        time.sleep(0.1)
        fit()
        called.set()

    async def work():
        asyncio.current_task().add_done_callback(
            last if asked == "once" else lambda done: done.add_done_callback(last))

    with _running_loop(debug) as loop:
        with budget:
            asyncio.run_coroutine_threadsafe(work(), loop).result()
        assert called.wait(60)
    assert [charge.name for charge in budget.charges] == ["DPRidge"]
