"""The linear model bounds every row, and sums what an explicit loop would sum."""

import math

import numpy as np
import pytest
from scipy import sparse

from dpsk import DPLogisticRegression
from dpsk._data import blocks, norms
from dpsk._data.structure import without_duplicates
from dpsk._models import LinearModel
from dpsk._models.clipping import HEADROOM

dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])
containers = pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix],
                                     ids=["dense", "csr"])
outputs = pytest.mark.parametrize("n_outputs", [None, 3])


def _exact_norms(X, scale, fit_intercept):
    """Return norms of rows as they enter, in extended range by exact products."""
    norms = []
    for row, factor in zip(X.tolist(), scale.tolist(), strict=True):
        entries = [value * factor for value in row] + [1.0] * fit_intercept
        norms.append(math.hypot(*entries))
    return np.array(norms)


def _hostile_rows(dtype):
    info = np.finfo(dtype)
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=4) * scale for scale in (1e-30, 1e-3, 0.4, 1.0, 10.0, 1e30)]
    rows += [[info.max] * 4, [info.max, 0, 0, 0], [-info.max, info.tiny, 0, 1], [0.0] * 4,
             [info.tiny] * 4, [info.smallest_subnormal] * 4, [np.sqrt(info.max)] * 4,
             [0.5 * info.max, 1e-10, -1.0, 0]]
    # One ulp to either side of the bound.
    rows += [[np.nextafter(info.dtype.type(1), to), 0, 0, 0] for to in (0, 2)]
    return np.array(rows, dtype=dtype)


@dtypes
@intercepts
@pytest.mark.parametrize("data_norm", [1e-6, 1.0, 37.0, 1e6])
def test_rows_enter_within_the_bound_whatever_their_size(dtype, fit_intercept, data_norm):
    X = _hostile_rows(dtype)
    model = LinearModel(4, None, fit_intercept, data_norm)
    # As inside a fit, where no floating-point warning may depend on the rows.
    with np.errstate(all="ignore"):
        scale, norms = model.row_scales(X)
    entered = _exact_norms(X, scale, fit_intercept)
    assert scale.dtype == norms.dtype == np.float64
    assert np.all(np.isfinite(scale)) and np.all(np.isfinite(norms))
    assert entered.max() <= model.radius
    # The reported norm may be off by rounding only, far less than the head-room, or by an
    # underflow of squares.
    slack = (1 - HEADROOM) / 4
    np.testing.assert_allclose(norms, _exact_norms(X, scale, False), rtol=slack, atol=1e-150)
    np.testing.assert_allclose(model.entering_norms(norms), entered, rtol=slack, atol=1e-150)


@dtypes
def test_short_rows_are_left_alone_and_long_ones_keep_their_direction(dtype):
    model = LinearModel(2, None, False, 2.0)
    X = np.array([[0.3, 0.4], [0.0, 1.9], [30.0, 40.0]], dtype=dtype)
    scale, _ = model.row_scales(X)
    np.testing.assert_array_equal(scale[:2], 1.0)
    np.testing.assert_allclose(X[2] * scale[2], [1.2, 1.6], rtol=1e-7)


def test_rows_whose_squares_overflow_keep_their_direction():
    X = np.array([[3e160, -4e160], [3e153, 4e154], [1e155, 0.0]])
    with np.errstate(all="ignore"):
        scale, norms = LinearModel(2, None, False, 1e8).row_scales(X)
    expected = [[0.6, -0.8], [3 / np.hypot(3, 40), 40 / np.hypot(3, 40)], [1.0, 0.0]]
    np.testing.assert_allclose(X * scale[:, None] / (1e8 * HEADROOM), expected, rtol=1e-11)
    np.testing.assert_allclose(norms, 1e8 * HEADROOM, rtol=1e-11)


def test_a_row_beyond_the_range_of_float32_is_bounded():
    X = np.array([[1e200, -1e200], [1e-200, 3.0], [1e39, 0.0]])
    scale, norms = LinearModel(2, None, True, 1.0).row_scales(X)
    assert np.all(np.abs(_exact_norms(X, scale, True)) <= np.sqrt(2.0))
    assert np.all(norms <= 1.0)


@dtypes
@intercepts
@outputs
def test_prediction_is_that_of_the_scaled_row(dtype, fit_intercept, n_outputs):
    rng = np.random.default_rng(1)
    model = LinearModel(4, n_outputs, fit_intercept, 1.0)
    X, theta = rng.normal(size=(30, 4)).astype(dtype), rng.normal(size=model.shape)
    scale, _ = model.row_scales(X)
    z = model.predict_raw(theta, X, scale)
    entering = X.astype(float)
    bounded = entering * np.minimum(1.0, HEADROOM / np.linalg.norm(entering, axis=1))[:, None]
    expected = bounded @ theta[:4] + (theta[4] if fit_intercept else 0.0)
    assert z.dtype == X.dtype
    np.testing.assert_allclose(z, expected, rtol=0, atol=1e-5 if dtype == "float32" else 1e-12)


@dtypes
@intercepts
@outputs
def test_gradient_sum_is_the_sum_over_rows(dtype, fit_intercept, n_outputs):
    rng = np.random.default_rng(2)
    model = LinearModel(4, n_outputs, fit_intercept, 1.0)
    X = (3 * rng.normal(size=(30, 4))).astype(dtype)
    dz = rng.normal(size=(30, *model.shape[1:])).astype(dtype)
    scale, _ = model.row_scales(X)
    expected = np.zeros(model.shape)
    for row, factor, derivative in zip(X, scale, dz, strict=True):
        entered = np.append(row * factor, [1.0] * fit_intercept)
        expected += np.multiply.outer(entered.astype(float), derivative.astype(float))
    start = rng.normal(size=model.shape)
    total = start.copy()
    model.gradient_sum(dz.copy(), X, scale, total)
    np.testing.assert_allclose(total - start, expected, rtol=0,
                               atol=1e-4 if dtype == "float32" else 1e-12)


@containers
@dtypes
@pytest.mark.parametrize("data_norm", [1e-6, 1.0, 1e6])
def test_a_row_is_scaled_by_itself_whatever_stands_beside_it(container, dtype, data_norm):
    X = _hostile_rows(dtype)
    model = LinearModel(4, None, True, data_norm)
    with np.errstate(all="ignore"):
        together = model.row_scales(container(X))
        for row in range(len(X)):
            alone = model.row_scales(container(X[row:row + 1]))
            for whole, part in zip(together, alone, strict=True):
                np.testing.assert_array_equal(whole[row], part[0])


@dtypes
@pytest.mark.parametrize("data_norm", [1e-6, 1.0, 37.0, 1e6])
def test_hostile_rows_in_csr_get_the_bounds_of_dense_ones(dtype, data_norm):
    X = _hostile_rows(dtype)
    model = LinearModel(4, None, False, data_norm)
    with np.errstate(all="ignore"):
        scale, norms = model.row_scales(sparse.csr_matrix(X))
        dense_scale, dense_norms = model.row_scales(X)
    assert scale.dtype == norms.dtype == np.float64
    assert _exact_norms(X, scale, False).max() <= data_norm
    np.testing.assert_array_equal(scale == 0, dense_scale == 0)
    np.testing.assert_allclose(scale, dense_scale, rtol=1e-14)
    np.testing.assert_allclose(norms, dense_norms, rtol=1e-14)


@pytest.mark.parametrize("entries", [
    [1e300, -1e300], [1e300, 5e-324], [5e-324, 5e-324], [1e-170, 0.0], [1.7e308, 1.7e308]])
def test_csr_rows_at_the_ends_of_floats_stay_within_the_bound(entries):
    # Beside them an empty row and an ordinary one; explicit zeros are entries too.
    X = sparse.csr_matrix((np.array([*entries, 0.0, 0.6]), np.array([0, 3, 1, 2]),
                           np.array([0, 2, 2, 4])), shape=(3, 4))
    with np.errstate(all="ignore"):
        scale, norms = LinearModel(4, None, False, 0.5).row_scales(X)
    assert np.all(np.isfinite(scale)) and np.all(norms <= 0.5)
    assert _exact_norms(X.toarray(), scale, False).max() <= 0.5
    assert (scale[1], norms[1]) == (1.0, 0.0) and norms[2] == pytest.approx(0.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_norms_of_wide_rows_do_not_depend_on_the_rows_beside(dtype):
    X = np.random.default_rng(0).normal(size=(20, 9000)).astype(dtype)
    alone = np.concatenate([norms.row_norms(row[None]) for row in X])
    np.testing.assert_array_equal(norms.row_norms(X), alone)


def test_csr_norms_do_not_depend_on_the_block(monkeypatch):
    X = sparse.random(101, 7, density=0.3, format="csr", random_state=0)
    whole = norms.row_norms(X)
    np.testing.assert_allclose(whole, np.linalg.norm(X.toarray(), axis=1), rtol=1e-14)
    monkeypatch.setattr(blocks, "_ENTRIES", 10 * blocks.CSR_WIDTH)
    np.testing.assert_array_equal(norms.row_norms(X), whole)


@dtypes
@intercepts
@outputs
def test_csr_rows_give_the_predictions_and_sums_of_dense_ones(dtype, fit_intercept, n_outputs):
    rng = np.random.default_rng(3)
    model = LinearModel(6, n_outputs, fit_intercept, 1.0)
    X = (2 * rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.4)).astype(dtype)
    X[5] = 0.0
    rows, theta = sparse.csr_matrix(X), rng.normal(size=model.shape)
    dz = rng.normal(size=(40, *model.shape[1:])).astype(dtype)
    close = {"rtol": 0, "atol": 1e-5 if dtype == "float32" else 1e-13}
    scale, _ = model.row_scales(X)
    for factor in (scale, None):
        z = model.predict_raw(theta, rows, factor)
        assert z.dtype == X.dtype
        np.testing.assert_allclose(z, model.predict_raw(theta, X, factor), **close)
        totals = np.zeros((2, *model.shape))
        model.gradient_sum(dz.copy(), rows, factor, totals[0])
        model.gradient_sum(dz.copy(), X, factor, totals[1])
        np.testing.assert_allclose(totals[0], totals[1], **close)


def test_repeated_entries_of_a_csr_row_are_one_entry_and_the_callers_matrix_is_left_alone():
    data, indices = np.array([3.0, 3.0, -0.5, 4.0, 1.0]), np.array([2, 2, 0, 1, 0])
    X = sparse.csr_matrix((data, indices, np.array([0, 4, 5])), shape=(2, 3))
    before = [array.copy() for array in (X.data, X.indices, X.indptr)]
    merged = without_duplicates(X)
    np.testing.assert_array_equal(merged.toarray(), [[-0.5, 4.0, 6.0], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(merged.indices, [0, 1, 2, 0])
    for old, new in zip(before, (X.data, X.indices, X.indptr), strict=True):
        np.testing.assert_array_equal(old, new)
    _, norms = LinearModel(3, None, False, 100.0).row_scales(merged)
    assert norms[0] == pytest.approx(math.sqrt(0.25 + 16 + 36))
    # Nothing is copied where there is nothing to merge.
    again = without_duplicates(merged)
    for name in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(again, name), getattr(merged, name))


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_row_too_long_to_scale_says_the_same_wherever_its_product_overflows(outputs, container):
    model = LinearModel(2, outputs, True, 1.0)
    X = container(np.array([[1.7e308, 1.7e308], [0.1, 0.2]]))
    with np.errstate(all="ignore"):
        scale, norms = model.row_scales(X)
    assert scale[0] == norms[0] == 0.0
    for size in (0.0, 0.4, 0.6, -3.0):
        theta = np.full(model.shape, size)
        theta[-1] = 0.3
        with np.errstate(all="ignore"):
            z = model.predict_raw(theta, X, scale)
        np.testing.assert_array_equal(z[0], np.full(z[0].shape, 0.3))
        np.testing.assert_allclose(z[1], np.full(z[1].shape, 0.3 + 0.3 * size))


def test_repeated_entries_that_are_not_finite_together_are_refused_as_such_entries_are():
    # A row that became NaN would make every sum NaN and tell its table from its neighbors.
    X = sparse.csr_matrix((np.array([1e308, 1e308, 0.5, 0.5]), np.array([0, 0, 1, 2]),
                           np.array([0, 2, 3, 4])), shape=(3, 3))
    with pytest.raises(ValueError, match="infinity") as caught:
        DPLogisticRegression().fit(X, [0, 1, 1])
    assert "1e308" not in str(caught.value)


@intercepts
@outputs
def test_shape_dimension_and_radius(fit_intercept, n_outputs):
    model = LinearModel(4, n_outputs, fit_intercept, 2.0)
    rows = 4 + fit_intercept
    assert model.shape == ((rows,) if n_outputs is None else (rows, 3))
    assert model.dimension == rows * (n_outputs or 1)
    assert model.radius == pytest.approx(math.sqrt(4 + fit_intercept))
