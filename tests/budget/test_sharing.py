"""A budget is one, whatever its paths, processes and threads, and none of it is forgotten."""

import atexit
import os
import pickle
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPLogisticRegression, DPStandardScaler, PrivacyBudget, make_dp_pipeline
from dpsk.accounting import Composed, Gaussian
from dpsk.exceptions import BudgetExceededError
from tests.instruments import charge_fit

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
            charge_fit(Gaussian(0.01))

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


@pytest.mark.parametrize("kind", ["gaussian", "renyi"])
@pytest.mark.parametrize("event", [Gaussian(1e200), Composed((Gaussian(1e308), Gaussian(1e308)))])
def test_releases_beyond_all_numbers_are_refused(kind, event):
    with PrivacyBudget(1.0, DELTA, kind=kind) as budget, pytest.raises(BudgetExceededError):
        charge_fit(event)
    assert budget.charges == []


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_budgets_none_is_charged_where_one_refuses(tmp_path, order):
    """Files have their locks in an order of their own, which the refusing one leads or ends."""
    large, small = PrivacyBudget(9.0, 1e-3), PrivacyBudget(1e-3, DELTA)
    files = sorted((large, small), key=lambda budget: os.stat(budget.path).st_ino)[::order]
    os.replace(files[0].path, tmp_path / "first")
    (tmp_path / "first").rename(files[0].path)
    with large, small, pytest.raises(BudgetExceededError):
        charge_fit(Gaussian(0.5))
    assert large.charges == small.charges == []


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
