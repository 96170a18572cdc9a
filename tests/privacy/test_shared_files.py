"""Budgets in files that several processes share: one order of locks, and none after a fork."""

import signal
import threading
from contextlib import ExitStack

import pytest

from dpsk import PrivacyBudget
from dpsk._charging import admission
from dpsk._privacy.journal import Journal
from dpsk.accounting import Gaussian
from tests.budget.test_sharing import DELTA, FORKS, in_child
from tests.instruments import charge_fit


def test_files_are_locked_in_one_order(monkeypatch):
    """Whichever block is the inner one: two processes never wait for each other."""
    locked, orders = [], []
    original = Journal.locked

    def spied(journal):
        locked.append(journal.path)
        return original(journal)

    several = [PrivacyBudget(1.0, DELTA) for _ in range(4)]
    monkeypatch.setattr(Journal, "locked", spied)
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        with ExitStack() as stack:
            for each in order:
                stack.enter_context(several[each])
            locked.clear()
            charge_fit(Gaussian(0.01))
            orders.append(list(locked))
    assert orders[0] == orders[1] == orders[2] and len(orders[0]) == 4


@FORKS
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_that_is_forked_while_a_thread_enters_a_block_waits_for_no_lock():
    """The thread that would give it back is not in the child."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with admission._LOCK:
            held.set()
            done.wait(60)

    def fit():
        signal.alarm(20)
        with budget:
            charge_fit(Gaussian(0.01))

    budget, holder = PrivacyBudget(1.0, DELTA), threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    try:
        in_child(fit)
    finally:
        done.set()
        holder.join()
    assert len(budget.charges) == 1
