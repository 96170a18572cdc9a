"""Workers charge what is open where their work is from, and refuse where they cannot know that."""

import os
import pickle
import subprocess
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config

from dpsk import DPLogisticRegression, PrivacyBudget
from dpsk.accounting import Gaussian
from dpsk.exceptions import BudgetExceededError
from dpsk.metrics import dp_accuracy_score
from tests.charging.test_unfinished import LABELS, budget, evaluated
from tests.instruments import charge_fit

X, Y = np.random.default_rng(0).normal(size=(40, 2)), np.array(LABELS)
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"),
                           reason="processes tell of their ancestors on Linux")


def model():
    return DPLogisticRegression(epsilon=0.1, delta=1e-6, solver="gd", max_iter=2, data_norm=1.0,
                                classes=[0, 1])


def test_workers_that_are_older_than_a_budget_charge_it():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(evaluated).result()
        for size in (1, 2):
            with budget() as open_one:
                for _ in range(size):
                    pool.submit(evaluated).result()
            assert len(open_one.charges) == size
        pool.submit(evaluated).result()
    assert len(open_one.charges) == 2


@pytest.mark.thorough
def test_many_small_evaluations_in_workers_end_where_the_budget_does():
    with PrivacyBudget(1.0, 1e-5) as open_one, pytest.raises(BudgetExceededError):
        Parallel(n_jobs=2)(delayed(dp_accuracy_score)(LABELS, LABELS, epsilon=0.6, delta=1e-7)
                           for _ in range(10))
    assert len(open_one.charges) < 10
    assert open_one.spent["mu^2"] <= open_one.limits["mu^2"]


@pytest.mark.thorough
@LINUX
def test_workers_of_workers_and_programmes_are_charged():
    script = ("from dpsk.metrics import dp_accuracy_score as score\n"
              "score([0, 1] * 20, [0, 1] * 20, epsilon=1.0, delta=1e-6)")
    with budget() as open_one:
        subprocess.run([sys.executable, "-c", "import subprocess, sys\n"
                        f"subprocess.run([sys.executable, '-c', {script!r}], check=True)"],
                       check=True)
    assert len(open_one.charges) == 1


def _in_a_block(path):
    with PrivacyBudget.load(path):
        evaluated()


@pytest.mark.thorough
def test_a_budget_that_is_opened_in_a_worker_too_is_charged_once():
    with budget() as open_one:
        Parallel(n_jobs=2)(delayed(_in_a_block)(open_one.path) for _ in range(3))
    assert len(open_one.charges) == 3


def test_the_environment_names_a_budget(monkeypatch, tmp_path):
    named = budget(path=tmp_path / "named.budget")
    monkeypatch.setenv("DPSK_BUDGET", named.path)
    evaluated()
    with named, budget() as inner:
        evaluated()
    assert (len(named.charges), len(inner.charges)) == (2, 1)
    monkeypatch.setenv("DPSK_BUDGET", str(tmp_path / "missing.budget"))
    with pytest.raises(FileNotFoundError):
        evaluated()
    monkeypatch.setenv("DPSK_BUDGET", "none")
    evaluated()
    assert len(named.charges) == 2


def test_a_process_whose_parent_has_ended_is_refused(monkeypatch):
    monkeypatch.setattr("dpsk._charging.admission.is_orphan", lambda: True)
    with pytest.raises(BudgetExceededError, match=r"parent has ended.*DPSK_BUDGET"):
        evaluated()
    with budget() as open_one:
        evaluated()
    assert len(open_one.charges) == 1
    monkeypatch.setenv("DPSK_BUDGET", "none")
    evaluated()


@pytest.mark.parametrize("which", ["Ray", "Spark"])
def test_workers_of_ray_and_spark_refuse_where_nothing_tells_them(which, monkeypatch):
    if which == "Ray":
        monkeypatch.setenv("RAY_RAYLET_PID", "1")
    else:
        monkeypatch.setitem(sys.modules, "pyspark.worker", ModuleType("pyspark.worker"))
    with pytest.raises(BudgetExceededError, match=f"{which} worker.*DPSK_BUDGET.*none"):
        charge_fit(Gaussian(1.0))
    with budget() as open_one:
        charge_fit(Gaussian(1.0))
    assert len(open_one.charges) == 1
    monkeypatch.setenv("DPSK_BUDGET", "none")
    charge_fit(Gaussian(1.0))


_AS_NOBODY = """import os
from dpsk.exceptions import BudgetExceededError
from tests.charging.test_workers import evaluated
os.setgroups([])
os.setuid(65534)
try:
    evaluated()
except BudgetExceededError as error:
    print(error)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root becomes others")
def test_a_child_of_another_user_with_another_environment_is_refused():
    with budget() as open_one:
        said = subprocess.run([sys.executable, "-c", _AS_NOBODY], capture_output=True, text=True,
                              env={"PYTHONPATH": os.pathsep.join(sys.path)}, check=True).stdout
    assert "another user" in said and "DPSK_BUDGET" in said
    assert not open_one.charges


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0",
                                      memory_limit=0, silence_logs=50) as cluster, \
                distributed.Client(cluster) as found:
            yield found


@pytest.mark.thorough
def test_workers_of_dask_charge_what_is_open_in_their_client(client):
    with budget() as open_one, parallel_config("dask"):
        Parallel()(delayed(evaluated)() for _ in range(4))
        Parallel()(delayed(model().fit)(X, Y) for _ in range(2))
    assert len(open_one.charges) == 6


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_futures_of_dask_are_charged_when_they_run(client):
    with budget() as open_one:
        late = client.submit(_slow, pure=False)
    late.result()
    assert len(open_one.charges) == 1


def _slow():
    time.sleep(1.0)
    return evaluated()


@pytest.mark.thorough
def test_workers_of_dask_refuse_where_nothing_tells_them(client):
    with pytest.raises(BudgetExceededError, match=r"Dask worker.*DPSK_BUDGET.*none"):
        client.submit(evaluated, pure=False).result()
    with budget() as open_one:
        sent = pickle.dumps(model())
    # What was pickled inside brings the budget along.
    client.submit(_fit, sent, pure=False).result()
    assert len(open_one.charges) == 1
    client.run(_told, "none")
    try:
        client.submit(evaluated, pure=False).result()
        client.run(_told, open_one.path)
        client.submit(evaluated, pure=False).result()
    finally:
        client.run(_told, "")
    assert len(open_one.charges) == 2


def _told(budget):
    os.environ["DPSK_BUDGET"] = budget


def _fit(sent):
    pickle.loads(sent).fit(X, Y)


@pytest.mark.filterwarnings("ignore")
def test_threads_of_dask_are_those_of_the_process():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                                  dashboard_address=":0", memory_limit=0,
                                  silence_logs=50) as at, distributed.Client(at) as found:
        with budget() as open_one:
            found.submit(evaluated, pure=False).result()
        found.submit(evaluated, pure=False).result()
    assert len(open_one.charges) == 1


def in_a_process_of(monkeypatch, *addresses):
    """Have this process hold workers of Dask at some addresses."""
    module = ModuleType("distributed")
    module.Worker = SimpleNamespace(
        _instances=[SimpleNamespace(address=each) for each in addresses])
    module.Future = type("Future", (), {})
    monkeypatch.setitem(sys.modules, "distributed", module)


@pytest.mark.parametrize("protocol", ["tcp", "tls", "ucx", "ws", "wss"])
def test_a_worker_of_dask_is_known_whatever_its_address(protocol, monkeypatch):
    in_a_process_of(monkeypatch, "inproc://10.0.0.1/1/1", f"{protocol}://10.0.0.1:1")
    with pytest.raises(BudgetExceededError, match="Dask worker"):
        charge_fit(Gaussian(1.0))


def test_workers_that_are_threads_of_the_client_are_no_other_process(monkeypatch):
    in_a_process_of(monkeypatch, "inproc://10.0.0.1/1/1")
    charge_fit(Gaussian(1.0))
