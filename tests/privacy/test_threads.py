"""What threads of one process do at once is done one after the other.

Each test slows what must not be done twice at once down, and counts how often it was.
"""

import json
import os
import threading
import time
from functools import partial

import pytest

from dpsk import PrivacyBudget
from dpsk._charging import Prepaid, admission, admit, board, in_secret
from dpsk._charging.account import Account
from dpsk.accounting import Gaussian
from dpsk.exceptions import BudgetExceededError
from tests.charging.backends import raised_in_threads
from tests.charging.test_unfinished import budget

pytestmark = pytest.mark.filterwarnings("ignore")


def at_once(*calls):
    """Make calls in threads that start together; return what they raised."""
    start = threading.Barrier(len(calls))

    def run(call):
        start.wait(60)
        call()

    return raised_in_threads([partial(run, call) for call in calls], timeout=60)


def slowly(function):
    """Return a function that takes a while, and how many were inside of it at each call."""
    inside, seen = [], []

    def slow(*args, **params):
        inside.append(None)
        seen.append(len(inside))
        time.sleep(0.005)
        try:
            return function(*args, **params)
        finally:
            inside.pop()

    return slow, seen


def _in_a_block():
    with budget():
        pass


def _in_secret():
    with in_secret("a search"):
        pass


def test_what_is_open_is_told_by_one_thread_at_a_time(monkeypatch):
    """Else the note of one might say what the other has changed."""
    slow, seen = slowly(admission.post)
    monkeypatch.setattr(admission, "post", slow)
    assert not at_once(*[_in_a_block, _in_secret] * 4)
    assert set(seen) == {1} and len(seen) >= 16


def test_nobody_reads_half_a_note():
    """A worker may look while a block begins or ends."""
    note, done = board._path(board._name(os.getpid())), threading.Event()
    long, read = [f"{number}.budget" for number in range(2000)], []

    def look():
        while not done.is_set():
            with open(note, encoding="utf-8") as file:
                read.append(json.load(file))

    with budget() as open_one:
        found = board.Note([open_one.path])
        looking = threading.Thread(target=look)
        looking.start()
        for _ in range(20):
            board.post(board.Note(long))
            board.post(found)
        done.set()
        looking.join(60)
    sizes = {len(each["budgets"]) for each in read}
    assert sizes <= {1, len(long)} and len(read) > 1 and not looking.is_alive()


def test_a_file_that_several_ask_for_is_opened_once(monkeypatch, tmp_path):
    named = PrivacyBudget(100.0, 1e-3, path=tmp_path / "named.budget")
    monkeypatch.setenv("DPSK_BUDGET", named.path)
    slow, seen = slowly(Account)
    monkeypatch.setattr(admission, "Account", slow)
    assert not at_once(*[lambda: admit("a fit", Gaussian(0.01))] * 4)
    assert len(seen) == 1 and len(named.charges) == 4


@pytest.mark.parametrize("kind", ["use", "close"])
def test_what_is_prepaid_is_used_by_one_thread(kind, monkeypatch):
    prepaid = Prepaid("a whole", frozenset())
    slow, seen = slowly(prepaid._taken)
    monkeypatch.setattr(prepaid, "_taken", slow)
    call = {"use": lambda: prepaid.use("a part", Gaussian(0.1)), "close": prepaid.close}[kind]
    raised = at_once(*[call] * 4)
    assert set(seen) == {1}
    assert [type(error) for error in raised] == [BudgetExceededError] * (3 if kind == "use" else 0)


def test_threads_spend_no_more_than_there_is(monkeypatch):
    """A charge is written before another one is checked."""
    slow, seen = slowly(Account.check)
    monkeypatch.setattr(Account, "check", slow)
    with PrivacyBudget(1.0, 1e-5) as open_one:
        price = Gaussian((0.6 * open_one.limits["mu^2"]) ** 0.5)
        raised = at_once(*[lambda: admit("a fit", price)] * 4)
    assert set(seen) == {1} and len(seen) == 4
    assert [type(error) for error in raised] == [BudgetExceededError] * 3
    assert len(open_one.charges) == 1
