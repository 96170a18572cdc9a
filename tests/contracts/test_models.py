"""The linear model bounds every row, and sums what an explicit loop would sum."""

import math

import numpy as np
import pytest

from dpsk._models import LinearModel
from dpsk._models.linear import headroom

dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])
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
        scale, norms = model.bound_rows(X, X.dtype)
    entered = _exact_norms(X, scale, fit_intercept)
    assert scale.dtype == norms.dtype == X.dtype
    assert np.all(np.isfinite(scale)) and np.all(np.isfinite(norms))
    assert entered.max() <= model.radius
    # The reported norm may be off by rounding only, far less than the head-room, or by an
    # underflow of squares.
    slack = (1 - headroom(dtype)) / 4
    np.testing.assert_allclose(norms, entered, rtol=slack, atol=1e-150)


@dtypes
def test_short_rows_are_left_alone_and_long_ones_keep_their_direction(dtype):
    model = LinearModel(2, None, False, 2.0)
    X = np.array([[0.3, 0.4], [0.0, 1.9], [30.0, 40.0]], dtype=dtype)
    scale, _ = model.bound_rows(X, X.dtype)
    np.testing.assert_array_equal(scale[:2], 1.0)
    np.testing.assert_allclose(X[2] * scale[2], [1.2, 1.6], rtol=2e-3)


def test_rows_whose_squares_overflow_keep_their_direction():
    X = np.array([[3e160, -4e160], [3e153, 4e154], [1e155, 0.0]])
    with np.errstate(all="ignore"):
        scale, norms = LinearModel(2, None, False, 1e8).bound_rows(X, X.dtype)
    expected = [[0.6, -0.8], [3 / np.hypot(3, 40), 40 / np.hypot(3, 40)], [1.0, 0.0]]
    np.testing.assert_allclose(X * scale[:, None] / 1e8, expected, rtol=1e-11)
    np.testing.assert_allclose(norms, 1e8, rtol=1e-11)


def test_a_row_of_float64_is_bounded_for_float32_sums_too():
    X = np.array([[1e200, -1e200], [1e-200, 3.0], [1e39, 0.0]])
    scale, norms = LinearModel(2, None, True, 1.0).bound_rows(X, np.dtype("float32"))
    assert scale.dtype == np.float32
    assert np.all(np.abs(_exact_norms(X, scale, True)) <= np.sqrt(2.0))
    assert np.all(norms <= np.sqrt(2.0))


@dtypes
@intercepts
@outputs
def test_prediction_is_that_of_the_scaled_row(dtype, fit_intercept, n_outputs):
    rng = np.random.default_rng(1)
    model = LinearModel(4, n_outputs, fit_intercept, 1.0)
    X, theta = rng.normal(size=(30, 4)).astype(dtype), rng.normal(size=model.shape)
    scale, _ = model.bound_rows(X, X.dtype)
    z = model.predict_raw(theta, X, scale)
    bounded = X * np.minimum(1.0, 1.0 / np.linalg.norm(X, axis=1))[:, None]
    expected = bounded @ theta[:4] + (theta[4] if fit_intercept else 0.0)
    assert z.dtype == X.dtype
    np.testing.assert_allclose(z, expected, rtol=0, atol=1e-2 if dtype == "float32" else 1e-9)


@dtypes
@intercepts
@outputs
def test_gradient_sum_is_the_sum_over_rows(dtype, fit_intercept, n_outputs):
    rng = np.random.default_rng(2)
    model = LinearModel(4, n_outputs, fit_intercept, 1.0)
    X = (3 * rng.normal(size=(30, 4))).astype(dtype)
    dz = rng.normal(size=(30, *model.shape[1:])).astype(dtype)
    scale, _ = model.bound_rows(X, X.dtype)
    expected = np.zeros(model.shape)
    for row, factor, derivative in zip(X, scale, dz, strict=True):
        entered = np.append(row * factor, [1.0] * fit_intercept)
        expected += np.multiply.outer(entered.astype(float), derivative.astype(float))
    start = rng.normal(size=model.shape)
    total = start.copy()
    model.gradient_sum(dz.copy(), X, scale, total)
    np.testing.assert_allclose(total - start, expected, rtol=0,
                               atol=1e-4 if dtype == "float32" else 1e-12)


@intercepts
@outputs
def test_shape_dimension_and_radius(fit_intercept, n_outputs):
    model = LinearModel(4, n_outputs, fit_intercept, 2.0)
    rows = 4 + fit_intercept
    assert model.shape == ((rows,) if n_outputs is None else (rows, 3))
    assert model.dimension == rows * (n_outputs or 1)
    assert model.radius == pytest.approx(math.sqrt(4 + fit_intercept))
