"""What a block asks an older future or task to call back is of the block, and of a search's runs.

Counts are exact; nothing here is statistical.
"""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from dpsk import PrivacyBudget
from dpsk._oracle import release
from dpsk.exceptions import BudgetExceededError
from tests.charging.test_left_behind import X, Y, fit, search
from tests.charging.test_searches_elsewhere import only_in_runs

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
    fit()
    assert len(budget.charges) == 1
    if pool is not None:
        pool.shutdown()


@pytest.mark.parametrize("make", [_future, _job])
def test_what_runs_ask_an_older_future_to_call_back_is_refused(make, monkeypatch):
    monkeypatch.setattr(release.streams, "geometric", lambda stream, rate: 1)
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
