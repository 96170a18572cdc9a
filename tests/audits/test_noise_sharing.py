"""No two fits share noise, however they come about.

The rows are so short that the fitted coefficients are noise, 500 normals a fit. Shared
noise would show as correlation, whatever the scale. Under independence the squared
correlation is Beta(1/2, (d - 1)/2), and every comparison is at level 1e-9: with fewer than
a hundred comparisons the false-alarm rate of the file is below 1e-7.
"""

import itertools
import multiprocessing
import os
import pickle

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy.stats import beta
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPGroupDROClassifier,
    DPLinearRegression,
    DPLogisticRegression,
    DPPipeline,
    DPStandardScaler,
    PrivacyBudget,
)
from dpsk._charging.prepaid import Admission
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._mechanism.session import Session
from dpsk._objective.penalties import CONSTRAINTS
from dpsk._objective.requirements import SQUARED_LOSS
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._solvers import SADDLE_SOLVERS
from dpsk.testing import NoiseSeed
from tests.registry import ALL_SOLVERS, SOLVER_PARAMS

D = 500
LARGEST_CORRELATION = np.sqrt(beta.isf(1e-9, 0.5, (D - 1) / 2))
# Newer Pythons warn about any fork beside other threads; what it duplicates is the point here.
forking = [
    pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(),
                       reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]
# Joblib's workers are new processes as well, and in every run.
METHODS = [pytest.param("fork", marks=forking), pytest.param("spawn", marks=pytest.mark.audit)]


def rows(n=24):
    """Rows of norm about 1e-10, of two classes."""
    X = np.random.default_rng(0).normal(size=(n, D)) * (1e-10 / np.sqrt(D))
    return X, np.arange(n) % 2


def estimator(solver="gd", **params):
    """Return an estimator that shows its noise; the rows are not whitened."""
    cls = DPLogisticRegression
    if SQUARED_LOSS in ALL_SOLVERS[solver].requires:
        cls = DPLinearRegression
    if ALL_SOLVERS[solver].minimax:
        cls = DPGroupDROClassifier
    # A Hessian is as large as the square of the columns.
    steps = 1 if solver == "newton" else 3
    params = {"batch_size": 6, "max_iter": steps, **SOLVER_PARAMS.get(solver, {}), **params}
    return cls(solver=solver, delta=1e-3, fit_intercept=False, precondition=False,
               **{key: value for key, value in params.items()
                  if key not in ALL_SOLVERS[solver].ignores})


def noise(model):
    return model.coef_.ravel()


def assert_unrelated(models):
    """Check every pair: different in every coordinate, and uncorrelated."""
    models = list(models)
    assert len(models) > 1
    if models[0].solver == "frank_wolfe":
        # Three of 1000 vertices each, which two fits share in order with chance 1e-9.
        assert len({noise(model).tobytes() for model in models}) == len(models)
        return
    for a, b in itertools.combinations(map(noise, models), 2):
        assert not np.any(a == b)
        if models[0].solver == "accmd":
            # In its geometry few coordinates hold most of the length; signs are as independent.
            a, b = np.sign(a), np.sign(b)
        assert abs(a @ b) < LARGEST_CORRELATION * np.linalg.norm(a) * np.linalg.norm(b)


def fit_in(method, tasks):
    """Fit the estimators in `tasks` in two worker processes of one pool."""
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = [pool.apply_async(model.fit, data) for model, data in tasks]
        return [result.get(timeout=120) for result in results]


@pytest.mark.parametrize("solver", ALL_SOLVERS)
def test_fits_in_one_process(solver):
    model, data = estimator(solver), rows()
    fits = [clone(model.fit(*data)).fit(*data) for _ in range(2)]
    fits += [pickle.loads(pickle.dumps(model)).fit(*data) for _ in range(2)]
    copies = [pickle.loads(pickle.dumps(model.fit(*data))) for _ in range(2)]
    assert_unrelated([*fits, *copies, model.fit(*data)])


@pytest.mark.parametrize("method", METHODS)
def test_fits_in_worker_processes(method):
    model, data = estimator(), rows()
    model.fit(*data)
    assert_unrelated([*fit_in(method, [(model, data)] * 4), estimator().fit(*data)])


@pytest.mark.thorough
def test_fits_under_joblib():
    model, data = estimator(), rows()
    fits = Parallel(n_jobs=2)(delayed(model.fit)(*data) for _ in range(4))
    assert_unrelated([*fits, model.fit(*data)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("moment", ["read", "draw", "run", "tie", "step"])
def test_a_fork_in_a_fit_releases_nothing(moment):
    """A signal handler may fork: one charge, and two answers with different noise."""
    child, status = [], 1

    def fork():
        if not child:
            child.append(os.fork())

    class Forking(EntropyStream):
        def words(self, count):
            if moment == "draw":
                fork()
            return super().words(count)

    def read(inside):
        if moment == "read":
            fork()
        return np.zeros(1)

    def forking(X):
        # A function of a pipeline also sees some rows before the charge.
        if budget.charges:
            fork()
        return X

    session = Session(Forking(), Ledger(Gaussian(1.0)), admission=Admission("a fit"))
    try:
        if moment == "step":
            X, y = rows()
            with PrivacyBudget(2.0, 1e-3) as budget:
                DPPipeline([("s", DPStandardScaler()), ("f", FunctionTransformer(forking)),
                            ("m", DPLogisticRegression())], epsilon=1.0, delta=1e-3).fit(X, y)
        elif moment in ("run", "tie"):
            # A search goes on with its next run, or chooses between runs of equal scores.
            fork()
            (session,) = session.runs(Gaussian(1.0), Gaussian(1.0))
        if moment == "tie":
            session.index(9)
        elif moment != "step":
            session(Gaussian(1.0), read, Sensitivity(1.0, size=1))
    except RuntimeError as error:
        status = 0 if "forked during a fit" in str(error) else 1
    finally:
        if child == [0]:
            os._exit(status)
    assert status == 1
    assert os.waitpid(child[0], 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_fits_after_a_fork_between_two_fits():
    model, data = estimator(), rows()
    first = clone(model).fit(*data)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(model.fit(*data), pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        in_child = pickle.load(pipe)
    os.waitpid(child, 0)
    assert_unrelated([first, in_child, clone(model).fit(*data)])


@pytest.mark.covering(most=8)
@pytest.mark.parametrize("solver", ALL_SOLVERS)
def test_one_seed_gives_unrelated_noise_to_anything_that_differs(solver):
    X, y = rows()
    model = estimator(solver, random_state=NoiseSeed(7))
    longer = X.copy()
    longer[0, 0] *= 2
    variants = [
        clone(model).fit(X, y),
        clone(model).fit(X[:16], y[:16]),
        clone(model).fit(X[8:], y[8:]),
        clone(model).fit(longer, y),
        clone(model).fit(X, 1 - y),
        clone(model).fit(X.astype(np.float32).astype(float), y),
    ]
    for name, value in (("epsilon", 2.0), ("alpha", 0.2), ("learning_rate", 0.1),
                        ("max_iter", 4), ("random_state", NoiseSeed(8)), ("random_state", None),
                        ("random_state", 7)):
        refused = name == "alpha" and getattr(model, "penalty", None) in CONSTRAINTS
        if name not in ALL_SOLVERS[solver].ignores and not refused:
            variants.append(clone(model).set_params(**{name: value}).fit(X, y))
    weights = np.ones(len(y))
    weights[3] = 0.5
    variants.append(clone(model).fit(X, y, sample_weight=weights))
    assert_unrelated(variants)


@pytest.mark.parametrize("solver", SADDLE_SOLVERS)
def test_one_seed_gives_unrelated_noise_to_other_groups(solver):
    X, y = rows()
    model, groups = estimator(solver, random_state=NoiseSeed(7)), np.arange(len(y)) % 3
    fits = [clone(model).fit(X, y, groups=groups)]
    np.testing.assert_array_equal(noise(fits[0]), noise(clone(model).fit(X, y, groups=groups)))
    groups[3] = 1
    fits += [clone(model).fit(X, y, groups=groups), clone(model).fit(X, y)]
    assert_unrelated(fits)


@pytest.mark.parametrize("method", METHODS)
def test_one_seed_across_processes(method):
    """Two overlapping folds in two processes: unrelated. The same rows: the same result."""
    X, y = rows()
    model = estimator(random_state=NoiseSeed(7))
    folds = [(X[:16], y[:16]), (X[8:], y[8:])]
    remote = fit_in(method, [(model, fold) for fold in folds])
    local = [clone(model).fit(*fold) for fold in folds]
    assert_unrelated(remote)
    for here, there in zip(local, remote, strict=True):
        np.testing.assert_array_equal(noise(here), noise(there))


@pytest.mark.thorough
def test_one_seed_under_joblib():
    X, y = rows()
    model = estimator(random_state=NoiseSeed(7))
    folds = [(X[:16], y[:16]), (X[8:], y[8:])]
    remote = Parallel(n_jobs=2)(delayed(model.fit)(*fold) for fold in folds)
    assert_unrelated(remote)
    for fold, there in zip(folds, remote, strict=True):
        np.testing.assert_array_equal(noise(clone(model).fit(*fold)), noise(there))


@pytest.mark.parametrize("solver", ALL_SOLVERS)
def test_one_seed_repeats_for_the_same_rows_however_they_are_stored(solver):
    X, y = rows()
    model = estimator(solver, random_state=NoiseSeed(7))
    first = noise(model.fit(X, y)).copy()
    np.testing.assert_array_equal(first, noise(clone(model).fit(X.copy(), y.tolist())))
    np.testing.assert_allclose(first, noise(clone(model).fit(np.asfortranarray(X), y)), rtol=1e-6)
