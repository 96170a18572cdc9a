"""What every loss promises: its gradient is right, and its bounds are suprema."""

import numpy as np
import pytest

from dpsk._objective.losses import (
    CappedPoisson,
    HuberizedHinge,
    OneVsRest,
    Pinball,
    Sigmoid,
    Squared,
    SquaredHinge,
)
from tests.registry import every_loss, make_loss, make_raw, make_targets

# Where a logistic slope saturates, where exp overflows, and ordinary points.
_SCALES = (1e-8, 0.1, 1.0, 5.0, 50.0, 1e4)


_RNG = np.random.default_rng(8)


def _points(name, n=4000):
    """Return targets and raw predictions at every scale, at zero, and at ties."""
    rng = np.random.default_rng(0)
    y = np.concatenate([make_targets(name, n, rng) for _ in _SCALES])
    z = np.concatenate([make_raw(name, n, rng, scale) for scale in _SCALES])
    z[::7] = 0.0
    if z.ndim == 2:
        # Two classes level and the rest far below: the steepest curvature.
        z[1::7] = [0.0, 0.0, -60.0]
        z[2::7] = [60.0, 0.0, 0.0]
    return y, z


def _norms(g):
    return np.abs(g) if g.ndim == 1 else np.linalg.norm(g, axis=1)


def _direction(z, seed):
    direction = np.random.default_rng(seed).normal(size=z.shape)
    return direction / _norms(direction).reshape(-1, *[1] * (z.ndim - 1))


@every_loss
def test_gradient_is_the_numerical_derivative_of_the_value(name):
    rng = np.random.default_rng(1)
    loss, y, z = make_loss(name), make_targets(name, 500, rng), make_raw(name, 500, rng)
    step = 1e-5 * _direction(z, 2)
    numerical = (loss.value(y, z + step) - loss.value(y, z - step)) / 1e-5 / 2
    slope = (loss.gradient(y, z.copy()) * step / 1e-5).reshape(len(y), -1).sum(axis=1)
    np.testing.assert_allclose(slope, numerical, atol=2e-5)


@every_loss
def test_value_has_one_finite_entry_per_row_even_for_extreme_predictions(name):
    y, z = _points(name)
    value = make_loss(name).value(y, z)
    assert value.shape == y.shape
    assert np.all(np.isfinite(value)) and np.all(value >= 0)


@every_loss
def test_lipschitz_is_never_exceeded_and_nearly_attained(name):
    y, z = _points(name)
    loss = make_loss(name)
    steepest = _norms(loss.gradient(y, z)).max()
    if not np.isfinite(loss.lipschitz):
        assert steepest > 1e3
        return
    assert 0.999 * loss.lipschitz <= steepest <= loss.lipschitz * (1 + 1e-12)


@every_loss
def test_smoothness_is_never_exceeded_and_nearly_attained(name):
    y, z = _points(name)
    loss = make_loss(name)
    assert np.isfinite(loss.smoothness)
    directions = [_direction(z, seed) for seed in range(5)]
    if z.ndim == 2:
        directions.append(np.broadcast_to(np.array([1.0, -1.0, 0.0]) / np.sqrt(2), z.shape))
    curvatures = []
    for direction in directions:
        for length in (1e-4, 1e-2, 1.0):
            change = (loss.gradient(y, z + length * direction)
                      - loss.gradient(y, z - length * direction))
            curvatures.append(_norms(change) / (2 * length))
    steepest = np.max(curvatures)
    assert 0.99 * loss.smoothness <= steepest <= loss.smoothness * (1 + 1e-6)


@every_loss
def test_gradient_is_monotone_exactly_if_the_loss_is_convex(name):
    y, z = _points(name)
    loss = make_loss(name)
    other = z + make_raw(name, len(z), np.random.default_rng(3))
    rise = (loss.gradient(y, other.copy()) - loss.gradient(y, z.copy())) * (other - z)
    least = rise.reshape(len(z), -1).sum(axis=1).min()
    assert least >= -1e-10 if loss.convex else least < -1e-2


@every_loss
def test_the_loss_at_zero_is_never_above_its_bound_and_attains_it(name):
    y, z = make_targets(name, 2000, np.random.default_rng(7)), make_raw(name, 2000, _RNG)
    # Regressions map their targets to [-1, 1].
    y = np.clip(y, -1.0, 1.0) if y.dtype == float else y
    worst = make_loss(name).value(y, np.zeros_like(z)).max()
    assert worst == pytest.approx(make_loss(name).at_zero(z.shape[-1] if z.ndim > 1 else None))


def test_one_vs_rest_of_a_loss_that_is_not_convex_is_not_convex():
    assert OneVsRest(HuberizedHinge(), 3).convex and not OneVsRest(Sigmoid(), 3).convex


@every_loss
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradient_keeps_the_dtype_of_the_predictions(name, dtype):
    rng = np.random.default_rng(4)
    y, z = make_targets(name, 20, rng), make_raw(name, 20, rng).astype(dtype)
    gradient = make_loss(name).gradient(y.astype(dtype) if y.dtype == float else y, z)
    assert gradient.dtype == dtype and gradient.shape == z.shape


@every_loss
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_prediction_makes_a_bounded_slope_overflow(name, dtype):
    """A warning, or an error where NumPy is set to raise, would tell of one row's prediction."""
    loss, y, z = make_loss(name), *(part[::50] for part in _points(name))
    if not np.isfinite(loss.lipschitz):
        pytest.skip("slopes are not bounded")
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for size in (1.0, 30.0, 1e25):
            found = loss.gradient(y, (size * z).astype(dtype))
            assert np.isfinite(found).all()
            if not loss.vector_output:
                assert np.isfinite(loss.hessian(y, (size * z).astype(dtype))).all()


@every_loss
def test_rows_do_not_see_each_other(name):
    rng = np.random.default_rng(5)
    loss, y, z = make_loss(name), make_targets(name, 33, rng), make_raw(name, 33, rng)
    value, gradient = loss.value(y, z), loss.gradient(y, z.copy())
    for row in (0, 7, 32):
        part = slice(row, row + 1)
        np.testing.assert_array_equal(loss.value(y[part], z[part]), value[part])
        np.testing.assert_array_equal(loss.gradient(y[part], z[part].copy()), gradient[part])


@pytest.mark.parametrize("loss, y, z, value, slope", [
    (Squared(), 1.0, 3.0, 2.0, 2.0), (Squared(), 1.0, -1.0, 2.0, -2.0),
    (SquaredHinge(), 1.0, -1.0, 4.0, -4.0), (SquaredHinge(), -1.0, 1.0, 4.0, 4.0),
    (SquaredHinge(), 1.0, 1.5, 0.0, 0.0), (SquaredHinge(), -1.0, -1.0, 0.0, 0.0),
    (HuberizedHinge(0.5), 1.0, 1.0, 0.0, 0.0), (HuberizedHinge(0.5), 1.0, 0.75, 0.0625, -0.5),
    (HuberizedHinge(0.5), -1.0, -0.5, 0.25, 1.0), (HuberizedHinge(0.5), -1.0, 1.0, 1.75, 1.0),
    (Sigmoid(), 1.0, 0.0, 0.5, -0.25), (Sigmoid(), -1.0, 0.0, 0.5, 0.25),
    (Sigmoid(), 1.0, 800.0, 0.0, 0.0), (Sigmoid(), -1.0, 800.0, 1.0, 0.0),
    (CappedPoisson(), 1.0, 0.0, 1.0, 0.0), (CappedPoisson(), 0.0, 0.0, 1.0, 1.0),
    (Pinball(0.8, 0.1), 0.3, 0.2, 0.08, -0.8), (Pinball(0.8, 0.1), 0.3, 0.4, 0.02, 0.2),
    (Pinball(0.8, 0.1), 0.3, 0.3, 0.025, -0.3), (Pinball(0.8, 0.1), 0.3, 0.36, 0.016, 0.0),
    (Pinball(0.8, 0.1), -0.7, 0.3, 0.2, 0.2), (Pinball(0.8, 0.1), 1.0, -1e300, 8e299, -0.8),
    (CappedPoisson(), 0.0, 5.0, 6.0, 1.0), (CappedPoisson(), 1.0, -800.0, 800.0, -1.0),
    (CappedPoisson(), 1.0, 1e300, 1e300, 1.0)])
def test_values_and_slopes_at_the_knees(loss, y, z, value, slope):
    y, z = np.array([y]), np.array([z])
    assert loss.value(y, z)[0] == pytest.approx(value)
    assert loss.gradient(y, z.copy())[0] == pytest.approx(slope, abs=1e-15)


@pytest.mark.parametrize("binary", [SquaredHinge(), HuberizedHinge(0.3)])
def test_one_vs_rest_is_the_sum_of_its_binary_losses(binary):
    rng = np.random.default_rng(6)
    loss, codes, z = OneVsRest(binary, 4), rng.integers(4, size=50), rng.normal(size=(50, 4))
    gradient, value = loss.gradient(codes, z.copy()), np.zeros(50)
    for k in range(4):
        signs = np.where(codes == k, 1.0, -1.0)
        value += binary.value(signs, z[:, k])
        np.testing.assert_array_equal(gradient[:, k], binary.gradient(signs, z[:, k].copy()))
    np.testing.assert_allclose(loss.value(codes, z), value, rtol=1e-14)
    assert loss.lipschitz == pytest.approx(2.0 * binary.lipschitz)
    assert loss.smoothness == binary.smoothness


@pytest.mark.parametrize("offset", [-5.0, -0.3, 0.0, 0.4, 200.0])
def test_the_bound_at_zero_of_a_moved_poisson_loss_is_attained(offset):
    loss, y = CappedPoisson(offset), np.linspace(0.0, 1.0, 1001)
    values = loss.value(y, np.zeros_like(y))
    assert loss.at_zero(None) == values.max() and values.min() >= 0.0
    z = np.linspace(-8.0, 3.0, 1001)
    moved, plain = CappedPoisson(offset), CappedPoisson()
    for one in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(moved.gradient(one, z - offset), plain.gradient(one, z.copy()),
                                   atol=1e-9)
        np.testing.assert_allclose(moved.value(one, z - offset), plain.value(one, z), atol=1e-9)
