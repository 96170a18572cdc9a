"""A budget is one, whatever its paths, processes and threads, and none of it is forgotten."""

import atexit
import errno
import os
import pickle
import signal
import threading
import time
from contextlib import ExitStack

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPLogisticRegression, DPStandardScaler, PrivacyBudget, make_dp_pipeline
from dpsk._charging import admission, admit, paying
from dpsk._privacy.events import Composed, Gaussian
from dpsk._privacy.journal import Journal
from dpsk.exceptions import BudgetExceededError

X, Y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
DELTA = 1e-5
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")


def model():
    return DPLogisticRegression(epsilon=0.05, delta=1e-6, solver="gd", max_iter=2, data_norm=1.0,
                                classes=[0, 1])


def in_time(work, seconds=20.0):
    """Do work in a thread; it must not wait for ever."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive()


def in_child(work):
    """Do work in a forked child, which must succeed."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("link", ["symlink", "link"])
def test_two_paths_of_one_file_are_one_budget(tmp_path, link):
    one = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    getattr(os, link)(one.path, tmp_path / "b.budget")
    other = PrivacyBudget.load(tmp_path / "b.budget")

    def work():
        with one, other:
            admit("a fit", Gaussian(0.01))

    in_time(work)
    assert len(one.charges) == len(other.charges) == 1


@FORKS
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_that_is_forked_while_a_file_is_locked_keeps_no_lock():
    budget = PrivacyBudget(1.0, DELTA)
    held, forked = threading.Event(), threading.Event()

    def hold():
        with budget._account.journal.locked():
            held.set()
            forked.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        forked.set()
        holder.join()
        in_time(lambda: budget.charges)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


@pytest.mark.parametrize("records", [0, 1, 2])
def test_a_file_that_lost_charges_stops_everything(tmp_path, records):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    with budget:
        admit("a fit", Gaussian(0.01))
        admit("a fit", Gaussian(0.01))
        lines = (tmp_path / "a.budget").read_bytes().splitlines(keepends=True)
        (tmp_path / "a.budget").write_bytes(b"".join(lines[:records]))
        with pytest.raises(ValueError, match="no longer holds all that was charged"):
            admit("a fit", Gaussian(0.01))
        (tmp_path / "a.budget").write_bytes(b"".join(lines))
        admit("a fit", Gaussian(0.01))
    assert len(budget.charges) == 3


def test_a_file_of_something_else_is_left_as_it_is(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("the only copy")
    with pytest.raises(ValueError, match="is a file of something else"):
        PrivacyBudget(1.0, DELTA, path=path)
    assert path.read_text() == "the only copy"


@FORKS
def test_what_was_fitted_before_is_charged_where_it_is_fitted_again():
    budget, fitted = PrivacyBudget(1.0, DELTA), model().fit(X, Y)
    with budget:
        sent = pickle.dumps(fitted)
    in_child(lambda: pickle.loads(sent).fit(X, Y))
    in_child(lambda: clone(pickle.loads(sent)).fit(X, Y))
    assert len(budget.charges) == 2


@FORKS
def test_a_process_of_the_same_number_elsewhere_is_another_one(monkeypatch):
    budget = PrivacyBudget(1.0, DELTA)
    with budget:
        sent = pickle.dumps(model())
    monkeypatch.setattr("dpsk._charging.account._ORIGIN", ("another container", 0))
    pickle.loads(sent).fit(X, Y)
    assert len(budget.charges) == 1


def test_what_a_callback_fits_is_charged_for_itself():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

    class Fits:
        """Fits something else within a fit that was paid for."""

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            other.fit(X, Y)

        def on_fit_task_end(self, estimator, context):
            pass

    other = model()
    inner = make_dp_pipeline(DPStandardScaler(), model().set_callbacks(Fits()), epsilon=0.5,
                             delta=DELTA, shares={"dpstandardscaler": 0.2})
    with PrivacyBudget(5.0, DELTA) as budget:
        make_dp_pipeline(FunctionTransformer(), inner, epsilon=0.5, delta=DELTA).fit(X, Y)
    names = [charge.name for charge in budget.charges]
    assert names[0] == "DPPipeline"
    assert len(names) > 1
    assert set(names[1:]) == {"DPLogisticRegression"}


def test_what_is_prepaid_pays_for_one_fit_of_its_thread():
    with PrivacyBudget(1.0, DELTA) as budget:
        prepaid = admit("a whole", Gaussian(0.01)).pays_for(lambda event: event.mu <= 0.01)
        with paying(prepaid):
            with pytest.raises(BudgetExceededError, match="costs more than a whole has paid"):
                admit("a dear part", Gaussian(0.02))
            admit("a part", Gaussian(0.01))
            with paying(None):
                admit("another fit", Gaussian(0.01))
            with pytest.raises(BudgetExceededError, match="is one more than a whole has paid"):
                admit("a second part", Gaussian(0.01))
        admit("a fit", Gaussian(0.01))
    assert [charge.name for charge in budget.charges] == ["a whole", "another fit", "a fit"]


@pytest.mark.parametrize("kind", ["gaussian", "renyi"])
@pytest.mark.parametrize("event", [Gaussian(1e200), Composed((Gaussian(1e308), Gaussian(1e308)))])
def test_releases_beyond_all_numbers_are_refused(kind, event):
    with PrivacyBudget(1.0, DELTA, kind=kind) as budget, pytest.raises(BudgetExceededError):
        admit("a fit", event)
    assert budget.charges == []


def test_charges_that_were_read_are_missed(tmp_path):
    one = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    other = PrivacyBudget.load(one.path)
    with one:
        admit("a fit", Gaussian(0.01))
    assert len(other.charges) == 1
    lines = (tmp_path / "a.budget").read_bytes().splitlines(keepends=True)
    (tmp_path / "a.budget").write_bytes(lines[0])
    with pytest.raises(ValueError, match="no longer holds all that was charged"):
        other.charges  # noqa: B018


def test_a_charge_is_on_the_disk_before_anything_is_drawn(monkeypatch):
    done = []

    def spied(name):
        original = getattr(os, name)

        def call(*args):
            done.append(name)
            return original(*args)
        return call

    with PrivacyBudget(1.0, DELTA):
        for name in ("write", "fsync"):
            monkeypatch.setattr(os, name, spied(name))
        admit("a fit", Gaussian(0.01))
    # The note of what is open is written by a file object.
    assert done == ["write", "fsync"]


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_budgets_none_is_charged_where_one_refuses(tmp_path, order):
    """Files have their locks in an order of their own, which the refusing one leads or ends."""
    large, small = PrivacyBudget(9.0, 1e-3), PrivacyBudget(1e-3, DELTA)
    files = sorted((large, small), key=lambda budget: os.stat(budget.path).st_ino)[::order]
    os.replace(files[0].path, tmp_path / "first")
    (tmp_path / "first").rename(files[0].path)
    with large, small, pytest.raises(BudgetExceededError):
        admit("a fit", Gaussian(0.5))
    assert large.charges == small.charges == []


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
            admit("a fit", Gaussian(0.01))
            orders.append(list(locked))
    assert orders[0] == orders[1] == orders[2] and len(orders[0]) == 4


def test_a_part_that_a_budget_refuses_has_not_used_what_is_prepaid():
    with PrivacyBudget(1.0, DELTA) as whole:
        prepaid = admit("a whole", Gaussian(0.01)).pays_for()
        with paying(prepaid):
            with PrivacyBudget(1e-6, 0.0) as small, pytest.raises(BudgetExceededError):
                admit("a part", Gaussian(0.01))
            admit("a part", Gaussian(0.01))
    assert (len(whole.charges), len(small.charges)) == (1, 0)


def test_parts_of_parts_are_paid_by_all_budgets_that_have_paid():
    with PrivacyBudget(1.0, DELTA) as outer:
        whole = admit("a whole", Gaussian(0.01))
        with PrivacyBudget(1.0, DELTA) as inner:
            with paying(whole.pays_for()):
                part = admit("a part", Gaussian(0.01))
            with paying(part.pays_for()):
                admit("a part of the part", Gaussian(0.01))
    assert [len(each.charges) for each in (outer, inner)] == [1, 1]


@FORKS
def test_a_child_leaves_the_temporary_files_of_its_parent(monkeypatch):
    at_exit = []
    monkeypatch.setattr("dpsk._budget._FOLDER", [])
    monkeypatch.setattr(atexit, "register", lambda *call: at_exit.append(call))
    budget = PrivacyBudget(1.0, DELTA)
    ((function, *args),) = at_exit
    in_child(lambda: function(*args))
    assert os.path.exists(budget.path)
    function(*args)
    assert not os.path.exists(os.path.dirname(budget.path))


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
            admit("a fit", Gaussian(0.01))

    budget, holder = PrivacyBudget(1.0, DELTA), threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    try:
        in_child(fit)
    finally:
        done.set()
        holder.join()
    assert len(budget.charges) == 1


def test_a_disk_that_is_full_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    before, write = (tmp_path / "a.budget").read_bytes(), os.write

    def full(handle, line):
        if len(line) < 50:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, line[:40])

    with budget:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            admit("a fit", Gaussian(0.01))
        monkeypatch.undo()
        assert (tmp_path / "a.budget").read_bytes() == before
        admit("a fit", Gaussian(0.01))
    assert len(budget.charges) == 1


def test_a_torn_charge_counts_also_where_it_could_not_be_mended(tmp_path, monkeypatch):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    with budget:
        admit("a fit", Gaussian(0.01))
        admit("a fit", Gaussian(0.02))
    text = (tmp_path / "a.budget").read_bytes()
    (tmp_path / "a.budget").write_bytes(text[:-10])

    def fails(handle, line):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "write", fails)
    with pytest.raises(OSError, match="Input/output"):
        PrivacyBudget.load(budget.path)
    monkeypatch.undo()
    found = PrivacyBudget.load(budget.path).charges
    assert [charge.event for charge in found] == [Gaussian(0.01), Gaussian(0.02)]


@pytest.mark.parametrize("garbage", [
    b"", b'{"event": ', b'{"other": {"kind": "Gaussian", "mu": 0.02}, "name": "a fit"', *(
        b'{"event": %s, "name": "a fit"' % event for event in (
            b"3", b"[]", b"{}", b'{"kind": "Nothing"}', b'{"kind": "Gaussian"}',
            b'{"kind": "Gaussian", "mu": "large"}', b'{"kind": "Gaussian", "mu": -1.0}',
            b'{"kind": "Gaussian", "mu": null}', b'{"kind": "Composed", "events": [3]}'))],
    ids=lambda garbage: garbage.decode())
def test_a_torn_line_that_is_no_charge_stops_everything(tmp_path, garbage):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    with open(budget.path, "ab") as file:
        file.write(b"0" * 32 + b" " + garbage)
    for opened in (lambda: PrivacyBudget.load(budget.path), lambda: budget.charges):
        with pytest.raises(ValueError, match="its last line has no end"):
            opened()


def test_a_charge_that_is_cut_anywhere_counts_or_stops_everything(tmp_path):
    """It never counts for less, nor is it forgotten."""
    path, price = tmp_path / "a.budget", Gaussian(0.0123456789)
    with PrivacyBudget(1.0, DELTA, path=path):
        admit("a fit", Gaussian(0.01))
        admit("a fit", price)
    *before, last = path.read_bytes().splitlines(keepends=True)
    counted = 0
    for size in range(1, len(last)):
        path.write_bytes(b"".join(before) + last[:size])
        try:
            charges = PrivacyBudget.load(path).charges
        except ValueError as error:
            assert "its last line has no end" in str(error) and not counted
        else:
            assert [charge.event for charge in charges] == [Gaussian(0.01), price]
            counted += 1
    assert counted > 10


def test_a_last_charge_without_its_end_of_line_outlasts_a_disk_that_is_full(tmp_path, monkeypatch):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    with budget:
        admit("a fit", Gaussian(0.01))
    text = (tmp_path / "a.budget").read_bytes()
    (tmp_path / "a.budget").write_bytes(text[:-1])

    def full(handle, line):
        raise OSError(errno.ENOSPC, "No space left on device")

    with PrivacyBudget.load(budget.path):
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            admit("a fit", Gaussian(0.01))
        monkeypatch.undo()
    assert len(PrivacyBudget.load(budget.path).charges) == 1
