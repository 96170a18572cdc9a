"""The bound on entries of rows holds wherever rows enter, and predictions use the same rows."""

import numpy as np
import pytest
from scipy import sparse

from dpsk import DPLinearRegression, DPLogisticRegression
from dpsk._data.source import Rows
from dpsk._models import LinearModel
from dpsk._models.preconditioner import entering_rows
from dpsk._objective.losses import Logistic, Multinomial
from dpsk._privacy.noise.grids import grid_bits
from dpsk._sums.linear_sums import float_sums, grid_sums, max_norm_sums
from dpsk.testing import NoiseSeed
from tests.contracts.test_models import _hostile_rows
from tests.registry import every_linear_fit, make_estimator, training_rows

dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])
containers = pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix],
                                     ids=["dense", "csr"])


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X


@containers
@dtypes
@pytest.mark.parametrize("bound", [1e-6, 0.3, 0.99])
@pytest.mark.parametrize("data_norm", [1.0, 37.0])
def test_entries_and_norms_are_bounded_whatever_the_row(container, dtype, bound, data_norm):
    model = LinearModel(4, None, False, data_norm, bound)
    with np.errstate(all="ignore"):
        X = model.bounded(container(_hostile_rows(dtype)))
        scale, norms = model.row_scales(X)
        maxima = model.row_maxima(X, scale)
    entered = np.abs(_dense(X).astype(float)) * scale[:, None]
    assert X.dtype == dtype
    assert entered.max() <= bound and entered.max() >= 0.999 * bound
    assert np.linalg.norm(entered, axis=1).max() <= data_norm and norms.max() <= data_norm
    np.testing.assert_allclose(maxima, entered.max(axis=1), rtol=1e-12)


@containers
def test_a_row_is_scaled_first_then_clipped(container):
    X = np.array([[3.0, 4.0], [0.3, -0.4], [0.0, 0.0], [30.0, 0.001]])
    model = LinearModel(2, None, False, 1.0, 0.7)
    np.testing.assert_allclose(_dense(model.bounded(container(X))),
                               [[0.6, 0.7], [0.3, -0.4], [0, 0], [0.7, 0.001 / 30]], rtol=1e-5)


@pytest.mark.parametrize("bound", [None, 1.0, 2.0])
def test_without_a_tighter_bound_rows_are_not_copied(bound):
    X = np.ones((3, 2))
    assert LinearModel(2, None, True, 1.0, bound).bounded(X) is X


def test_the_intercept_counts_as_a_coordinate_of_one():
    assert LinearModel(2, None, True, 1.0, 0.1).coordinate_bound == 1.0
    assert LinearModel(2, None, False, 1.0, 0.1).coordinate_bound == 0.1
    assert LinearModel(2, None, False, 0.05, 0.1).coordinate_bound == 0.05
    assert LinearModel(2, None, True, 3.0).coordinate_bound == 3.0


@containers
@pytest.mark.parametrize("kind", ["float", "grid", "whole"])
def test_every_sum_is_over_bounded_rows(container, kind):
    rng = np.random.default_rng(0)
    X, y = 2 * rng.normal(size=(40, 3)), rng.integers(2, size=40) * 1.0
    model, theta = LinearModel(3, None, True, 1.0, 0.4), rng.normal(size=4)
    bounded = np.clip(X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], -0.4, 0.4)
    rows = np.column_stack([bounded, np.ones(40)])
    if kind == "whole":
        np.testing.assert_allclose(entering_rows(model, container(X)), rows, rtol=1e-5)
        return
    make = float_sums if kind == "float" else lambda *args: grid_sums(
        *args, grid_bits(40, 10.0, 10.0))
    sums = make(model, Logistic(), Rows(container(X), y), 10.0)
    expected = rows.T @ (1 / (1 + np.exp(-rows @ theta)) - y)
    np.testing.assert_allclose(sums.gradient(theta), expected, rtol=1e-5)


@containers
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("outputs", [None, 3])
def test_one_row_moves_no_entry_by_more_than_the_clip(container, intercept, outputs):
    rng = np.random.default_rng(1)
    model = LinearModel(3, outputs, intercept, 1.0, 0.5)
    loss = Multinomial() if outputs else Logistic()
    worst = 0.0
    for clip_norm in (1e-6, 0.05, 0.4):
        for row in np.vstack([_hostile_rows("float64")[:, :3], rng.normal(size=(20, 3))]):
            y = np.array([rng.integers(outputs or 2)])
            theta = 5 * rng.normal(size=model.shape)
            with np.errstate(all="ignore"):
                weight = np.array([rng.choice([1e-300, 0.5, 1.0, 30.0, 1e300])])
                rows = Rows(container(row[None]), y, weight, np.inf)
                sums = max_norm_sums(model, loss, rows, clip_norm)
                worst = max(worst, np.abs(sums.gradient(theta)).max() / clip_norm)
    assert 0.99 < worst <= 1.0


@pytest.mark.covering
@every_linear_fit
def test_a_fit_sees_nothing_beyond_the_bound(cls, solver, noise_free):
    params = dict(data_norm_inf=0.3, fit_intercept=False, random_state=NoiseSeed(0))
    model = make_estimator(cls, solver, **params)
    X, y = training_rows(model)
    bounded = np.clip(X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], -0.3, 0.3)
    one, other = model.fit(X, y), make_estimator(cls, solver, **params).fit(bounded, y)
    # Rows drawn or split at random are others for other rows.
    if solver not in ("sgd", "stgd", "minibatch_stgd"):
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-4, atol=1e-5)


@pytest.fixture
def noise_free(monkeypatch):
    from dpsk._privacy.noise import samplers

    for name in samplers.__all__:
        monkeypatch.setattr(samplers, name, lambda stream, shape: np.zeros(shape))


def test_many_columns_cost_no_dense_table(monkeypatch):
    """A dense table of 2000 by 100 000 doubles would be 1.6 GB."""
    for name in ("toarray", "todense"):
        monkeypatch.setattr(sparse.csr_matrix, name, None)
    rng = np.random.default_rng(2)
    n, p = 2000, 100_000
    X = sparse.csr_matrix((rng.normal(size=10 * n), rng.integers(p, size=10 * n),
                           np.arange(0, 10 * n + 1, 10)), shape=(n, p))
    y = (rng.random(n) < 0.5).astype(int)
    for solver in ("accmd", "frank_wolfe"):
        model = DPLogisticRegression(solver=solver, penalty="l1_ball", radius=2.0,
                                     data_norm_inf=0.5, max_iter=3).fit(X, y)
        assert model.coef_.shape == (1, p) and np.all(np.isfinite(model.predict_proba(X)))


def test_whitened_rows_are_clipped_before_they_are_mapped(noise_free):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    bounded = np.clip(X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], -0.2, 0.2)
    params = dict(solver="gd", precondition=True, data_norm=1.0, target_bounds=(-1, 1))
    one = DPLinearRegression(data_norm_inf=0.2, **params).fit(X, X[:, 0] / 4)
    other = DPLinearRegression(**params).fit(bounded, X[:, 0] / 4)
    np.testing.assert_allclose(one.preconditioner_, other.preconditioner_, rtol=1e-5)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-4)
