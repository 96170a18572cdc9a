"""Collections of Dask train the bits that one array trains, on any chunks and workers."""

import gc
import time
import warnings

import numpy as np
import pytest
from scipy import sparse

from dpsk import DPGroupDROClassifier, DPLogisticRegression, DPMLPClassifier, DPRidge
from dpsk.testing import NoiseSeed
from tests.registry import coefficients, every_estimator, make_estimator, training_rows

dask = pytest.importorskip("dask")
array = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
# Of the scheduler's own sockets and loops.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("default::"
                                                                              "UserWarning:dpsk")]

CHUNKS = [(80,), (1, 79), (40, 40), (0, 20, 20, 40), (0, 0, 79, 1), tuple([8] * 10)]


@pytest.fixture(scope="module")
def cluster():
    """Two workers of one thread each."""
    from distributed import LocalCluster
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                          memory_limit=0, silence_logs=50) as found:
            yield found


@pytest.fixture
def client(cluster):
    from distributed import Client
    with Client(cluster) as found:
        yield found


def seeded(cls, **params):
    return cls(random_state=NoiseSeed(0), **params)


def collections(X, y, sizes=(40, 40)):
    """Return arrays of Dask in chunks of so many rows."""
    return (array.from_array(X, chunks=(sizes, X.shape[1])),
            array.from_array(y, chunks=(sizes,)))


@pytest.mark.covering(most=3)
@every_estimator
def test_estimators_take_collections(cls, client):
    from tests.registry import plain_solver
    model = make_estimator(cls, plain_solver(cls), random_state=NoiseSeed(0), max_iter=5)
    X, y = training_rows(model)
    whole = coefficients(model.fit(X, y))
    dX, dy = collections(X, y)
    found = coefficients(model.fit(dX, dy))
    # Sums of networks are of single precision: their last bits follow the order.
    rtol = 0.0 if hasattr(model, "coef_") else 1e-4
    np.testing.assert_allclose(found, whole, rtol=rtol, atol=rtol)


@pytest.mark.covering(most=3)
@pytest.mark.parametrize("sizes", CHUNKS, ids=str)
@pytest.mark.parametrize("held", [False, True])
def test_chunks_and_where_they_are_make_no_difference(sizes, held, client):
    X, y = training_rows(DPLogisticRegression())
    whole = seeded(DPLogisticRegression, data_norm=2.0).fit(X, y).coef_
    dX, dy = collections(X, y, sizes)
    if held:
        dX, dy = client.persist([dX, dy])
    found = seeded(DPLogisticRegression, data_norm=2.0).fit(dX, dy).coef_
    np.testing.assert_array_equal(found, whole)


def test_tasks_of_one_worker_may_run_side_by_side():
    from distributed import Client, LocalCluster
    model = make_estimator(DPLogisticRegression, "stgd", random_state=NoiseSeed(0))
    X, y = training_rows(model, n=5000)
    whole = coefficients(model.fit(X, y))
    dX, dy = collections(X, y, (500,) * 10)
    with LocalCluster(n_workers=1, threads_per_worker=4, dashboard_address=None, memory_limit=0,
                      silence_logs=60, processes=False) as cluster, Client(cluster):
        found = coefficients(model.fit(dX.map_blocks(_slowly, dtype=float), dy))
    np.testing.assert_array_equal(found, whole)


#: The places of the chunks that `_pair` made.
MADE = []


def _pair(place):
    """Return features and targets of a chunk of two, of more entries than are always kept."""
    MADE.append(place)
    rng = np.random.default_rng(place)
    X = rng.normal(size=(110_000, 24))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.thorough
@pytest.mark.parametrize("share, least, most", [(0.0, 9, 20), (0.4, 2, 3)])
def test_chunks_are_made_anew_where_they_would_fill_memory(share, least, most, monkeypatch):
    from distributed import Client, LocalCluster
    monkeypatch.setattr("dpsk._data.dask._SHARE", share)
    MADE.clear()
    pairs = [dask.delayed(_pair, pure=True, nout=2)(place) for place in range(2)]
    X = array.concatenate([array.from_delayed(X, (110_000, 24), float) for X, _ in pairs])
    y = array.concatenate([array.from_delayed(y, (110_000,), int) for _, y in pairs])
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit=0,
                      silence_logs=60, processes=False) as cluster, Client(cluster):
        DPLogisticRegression(solver="gd", max_iter=8, precondition=False, data_norm=1.0).fit(X, y)
    # Features and targets come of one call.
    assert MADE == MADE[:2] * (len(MADE) // 2) and least <= len(MADE) // 2 <= most


def _slowly(block):
    time.sleep(0.005)
    return block


@pytest.mark.thorough
def test_learnt_bounds_newton_and_sampled_batches_are_the_same(client):
    X, y = training_rows(DPLogisticRegression(), n=5000)
    X = X * [1.0, 10.0, 0.1, 3.0]
    dX, dy = collections(X, y, (2000, 500, 2500))
    for params in ({}, {"solver": "newton"}, {"solver": "sgd", "max_iter": 5},
                   {"precondition": "unit_norm"}):
        whole = seeded(DPLogisticRegression, **params).fit(X, y)
        found = seeded(DPLogisticRegression, **params).fit(dX, dy)
        np.testing.assert_array_equal(found.coef_, whole.coef_)
    weights = np.linspace(0.5, 1.0, 5000)
    whole = seeded(DPRidge).fit(X, 3.0 * y, weights)
    found = seeded(DPRidge).fit(dX, 3.0 * dy, array.from_array(weights, chunks=100))
    np.testing.assert_array_equal(found.coef_, whole.coef_)


def test_workers_are_found_whatever_the_client_last_heard_of_its_scheduler(client, monkeypatch):
    """It asks anew every two seconds, and then hears of no worker."""
    monkeypatch.setattr(type(client), "scheduler_info", lambda *args, **given: {"workers": {}})
    X, y = training_rows(DPLogisticRegression())
    assert seeded(DPLogisticRegression).fit(*collections(X, y)).coef_.shape == (1, X.shape[1])


def test_without_workers_chunks_are_read_one_after_another():
    X, y = training_rows(DPLogisticRegression())
    dX, dy = collections(X, y)
    np.testing.assert_array_equal(seeded(DPLogisticRegression).fit(dX, dy).coef_,
                                  seeded(DPLogisticRegression).fit(X, y).coef_)


def test_frames_series_and_groups(client):
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, y = training_rows(DPLogisticRegression())
    groups = np.arange(80) % 3
    frame = pandas.DataFrame(X, columns=list("abcd"))
    names = pandas.Series(np.where(y, "yes", "no"))
    given = [frames.from_pandas(each, npartitions=3)
             for each in (frame, names, pandas.Series(groups))]
    model = seeded(DPGroupDROClassifier, max_iter=5)
    whole = model.fit(frame, names, groups=groups).coef_
    found = model.fit(given[0], given[1], groups=given[2])
    np.testing.assert_array_equal(found.coef_, whole)
    assert list(found.feature_names_in_) == list("abcd")
    lazy = found.predict(given[0])
    assert dask.is_dask_collection(lazy)
    np.testing.assert_array_equal(lazy.compute(), found.predict(frame))


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("dtype", ["Float64", "Int64", "boolean", "int8"])
def test_types_that_may_miss_entries_are_taken_where_none_is_missing(dtype, client):
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, y = training_rows(DPLogisticRegression())
    frame = pandas.DataFrame((X > 0).astype(int), columns=list("abcd")).astype(dtype)
    whole = seeded(DPLogisticRegression).fit(frame, y).coef_
    given = [frames.from_pandas(each, npartitions=3) for each in (frame, pandas.Series(y))]
    np.testing.assert_array_equal(seeded(DPLogisticRegression).fit(*given).coef_, whole)


def test_predictions_are_lazy_and_those_of_arrays():
    X, y = training_rows(DPLogisticRegression())
    model = seeded(DPLogisticRegression).fit(X, y)
    dX = array.from_array(X, chunks=((0, 30, 50), 2))
    for name in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        lazy, whole = getattr(model, name)(dX), getattr(model, name)(X)
        assert lazy.shape == whole.shape and lazy.dtype == whole.dtype
        np.testing.assert_allclose(*(each if each.dtype.kind == "f" else each.astype(float)
                                     for each in (lazy.compute(), whole)), rtol=1e-13)
    network = DPMLPClassifier(hidden_layer_sizes=4, max_iter=2).fit(X, y)
    assert network.predict_proba(dX).compute().shape == (80, 2)


def test_sparse_chunks_are_those_of_a_sparse_matrix(client):
    X, y = training_rows(DPLogisticRegression())
    X[np.abs(X) < 0.5] = 0.0
    dX, dy = collections(X, y)
    whole = seeded(DPLogisticRegression).fit(sparse.csr_matrix(X), y)
    found = seeded(DPLogisticRegression).fit(dX.map_blocks(sparse.csr_matrix), dy)
    np.testing.assert_array_equal(found.coef_, whole.coef_)


def _secret(block):
    raise OSError("row 17 holds 31337")


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("spoil, match", [
    (lambda X, y: (X.map_blocks(np.log, dtype=float), y), "contains NaN"),
    (lambda X, y: (X, y[:40]), r"y of shape \(40,\)"),
    (lambda X, y: (X, None), "requires y to be passed"),
    (lambda X, y: (X.map_blocks(_secret, meta=np.empty((0, 0))), y), "details are withheld"),
    (lambda X, y: (X[:1], y[:1]), "minimum of 2"),
    (lambda X, y: (X, array.zeros(80, chunks=40)), "one class")])
def test_what_is_wrong_is_said_without_data(spoil, match, client, caplog, capfd):
    X, y = training_rows(DPLogisticRegression())
    with pytest.raises(ValueError, match=match) as caught:
        DPLogisticRegression().fit(*spoil(*collections(X, y)))
    assert "31337" not in str(caught.value)
    assert "31337" not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.thorough
def test_nothing_of_the_rows_stays_on_the_cluster(client):
    X, y = training_rows(DPLogisticRegression())
    dX, dy = collections(X, y)
    DPLogisticRegression().fit(dX, dy)
    gc.collect()
    for _ in range(100):
        held = client.run(lambda dask_worker: [key for key in dask_worker.data
                                               if "_run" in str(key)])
        if not any(held.values()):
            break
        time.sleep(0.05)
    assert not any(held.values()) and not client.futures
