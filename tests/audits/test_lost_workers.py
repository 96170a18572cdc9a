"""Workers that are lost in the middle of a fit take nothing with them.

A worker is killed, as by SIGKILL, while it makes a sum. The fit goes on with the same bits, and
nothing is charged twice.
"""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

from dpsk import DPLogisticRegression, DPRidge
from dpsk._privacy.ledger import Ledger
from dpsk.testing import NoiseSeed
from tests.registry import coefficients, make_estimator, training_rows

pytest.importorskip("dask")
array = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
pytestmark = [pytest.mark.audit, pytest.mark.filterwarnings("ignore")]

SIZES = (3000, 500, 0, 1500)


def from_memory(X):
    return array.from_array(X, chunks=(SIZES, X.shape[1]))


def computed(X, seconds=0.005):
    return from_memory(X).map_blocks(_after, seconds, dtype=X.dtype)


def computed_once(X):
    """Rows that take so long that one pass over them is still on when the kill comes."""
    return computed(X, 0.2)


def _after(block, seconds):
    time.sleep(seconds)
    return block


def persisted(X):
    from distributed import get_client, wait
    X = get_client().persist(from_memory(X))
    wait(X)
    return X


@pytest.fixture
def client():
    """Two workers, each a process that is started anew where it ends."""
    from distributed import Client, LocalCluster
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None,
                          memory_limit=0, silence_logs=60) as cluster, Client(cluster) as found:
            found.wait_for_workers(2)
            yield found


class Killer:
    """Counts charges, and kills processes shortly after one of them, while rows are read."""

    def __init__(self, monkeypatch):
        self.charged, self._at, self._processes = [], 0, []
        charge = Ledger.charge

        def counted(ledger, event):
            charge(ledger, event)
            self.charged.append(event)
            if len(self.charged) == self._at:
                threading.Timer(0.03, self._kill).start()

        monkeypatch.setattr(Ledger, "charge", counted)

    def expect(self, at, processes):
        """Start to count, and kill the processes at a charge."""
        self.charged, self._at, self._processes = [], at, list(processes)

    def _kill(self):
        while self._processes:
            os.kill(self._processes.pop(), signal.SIGKILL)

    @property
    def is_done(self):
        return bool(self._at) and not self._processes


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("solver, make", [
    ("gd", from_memory), ("gd", computed), ("gd", persisted), ("svrg", persisted),
    ("last_iterate", from_memory), ("newton", from_memory),
    ("sufficient_statistics", computed_once)])
def test_the_bits_and_the_charges_are_those_of_one_table(solver, make, count, client,
                                                         monkeypatch):
    cls = DPRidge if solver == "sufficient_statistics" else DPLogisticRegression
    model = make_estimator(cls, solver, random_state=NoiseSeed(0))
    X, y = training_rows(model, n=sum(SIZES))
    killer = Killer(monkeypatch)
    whole, charged = coefficients(model.fit(X, y)), killer.charged
    rows = make(X), array.from_array(y, chunks=(SIZES,))
    killer.expect((len(charged) + 1) // 2, list(client.run(os.getpid).values())[:count])
    model.fit(*rows)
    assert killer.is_done and killer.charged == charged
    np.testing.assert_array_equal(coefficients(model), whole)
