"""What packages that serve others run for a caller is a caller's; and a look changes nothing.

Counts are exact; nothing here is statistical.
"""

import asyncio
import threading
import time
from functools import partial

import pytest
from joblib import Parallel, delayed

from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import dp_accuracy_score
from tests.charging.test_errands import assert_charged, slowly
from tests.charging.test_unfinished import budget, evaluated

#: What a package that serves others might hold, by the name of a module of it.
_SERVED = '''
import threading

async def waited(given, done=None):
    return await given

class Runs(threading.Thread):
    def __init__(self, func):
        super().__init__()
        self.func = func

    def run(self):
        self.func()
'''


def _served(name):
    names = {"__name__": name}
    exec(_SERVED, names)
    return names


async def _soon():
    await asyncio.sleep(0.05)
    evaluated()


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("begun", [True, False])
def test_tasks_that_wait_for_coroutines_of_a_caller_are_charged(times, begun):
    waited = _served("tqdm.asyncio")["waited"]

    def of_services():
        coroutine = _soon()
        for _ in range(times):
            coroutine = waited(coroutine)
        return coroutine

    async def main():
        with budget() as open_one, pytest.warns(PrivacyWarning):
            with open_one:
                task = asyncio.ensure_future(of_services())
                if begun:
                    await asyncio.sleep(0)
        await task
        return open_one

    assert len(asyncio.run(main()).charges) == 1


def test_tasks_of_services_alone_hold_nothing_open():
    waited = _served("tornado.ioloop")["waited"]

    async def main():
        with budget() as open_one:
            task = asyncio.ensure_future(waited(waited(asyncio.sleep(0.05))))
        await task
        evaluated()
        return open_one

    assert asyncio.run(main()).charges == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", [
    lambda: _served("IPython.lib.backgroundjobs")["Runs"](slowly),
    lambda: threading.Thread(target=Parallel(n_jobs=1), args=[[delayed(time.sleep)(0.4), _own]])],
    ids=["attribute", "function of this package"])
def test_threads_of_services_are_charged_for_what_they_are_given(made):
    assert_charged(made())


_own = delayed(partial(dp_accuracy_score, [0, 1] * 20, [0, 1] * 20, epsilon=0.1, delta=1e-6))()


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
