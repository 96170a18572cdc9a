"""What every penalty promises to solvers and to the sensitivity of their steps."""

import numpy as np
import pytest

from dpsk._penalties import PENALTIES
from tests.registry import every_penalty

free_rows = pytest.mark.parametrize("free_rows", [0, 1])
shapes = pytest.mark.parametrize("shape", [(5,), (5, 3)])
_ALPHA, _RATIO = 0.7, 0.4


def _pair(shape, seed=0):
    rng = np.random.default_rng(seed)
    return 3 * rng.normal(size=shape), 3 * rng.normal(size=shape)


def _rest(penalty, theta):
    """Value of the part that is not differentiable: the whole less its quadratic."""
    moved = theta[:len(theta) - penalty.free_rows]
    return penalty.value(theta) - 0.5 * penalty.smoothness * np.sum(moved**2)


@every_penalty
@free_rows
@shapes
def test_gradient_is_the_derivative_of_the_differentiable_part(name, free_rows, shape):
    penalty = PENALTIES[name](_ALPHA, _RATIO, free_rows)
    theta, direction = _pair(shape)
    step = 1e-6 * direction
    # Away from zero the rest is linear, and its slope is known from its own differences.
    whole = (penalty.value(theta + step) - penalty.value(theta - step)) / 2e-6
    rest = (_rest(penalty, theta + step) - _rest(penalty, theta - step)) / 2e-6
    assert np.sum(penalty.gradient(theta) * direction) == pytest.approx(whole - rest, abs=1e-7)


@every_penalty
@free_rows
@shapes
def test_prox_minimises_the_rest_plus_the_squared_distance(name, free_rows, shape):
    penalty = PENALTIES[name](_ALPHA, _RATIO, free_rows)
    rng = np.random.default_rng(1)
    for theta in _pair(shape):
        for step in (0.1, 1.0, 20.0):
            def objective(point, theta=theta, step=step):
                return step * _rest(penalty, point) + 0.5 * np.sum((point - theta)**2)

            best = penalty.prox(theta.copy(), step)
            for size in (1e-4, 1e-1, 3.0):
                for _ in range(20):
                    other = best + size * rng.normal(size=shape)
                    assert objective(best) <= objective(other) + 1e-12


@every_penalty
@free_rows
@shapes
def test_prox_is_nonexpansive(name, free_rows, shape):
    penalty = PENALTIES[name](_ALPHA, _RATIO, free_rows)
    for seed in range(50):
        a, b = _pair(shape, seed)
        after = np.linalg.norm(penalty.prox(a, 2.0) - penalty.prox(b, 2.0))
        assert after <= np.linalg.norm(a - b) * (1 + 1e-12)


@every_penalty
@shapes
def test_free_rows_are_neither_shrunk_nor_counted(name, shape):
    penalty = PENALTIES[name](_ALPHA, _RATIO, 1)
    theta, other = _pair(shape)
    np.testing.assert_array_equal(penalty.prox(theta.copy(), 5.0)[-1], theta[-1])
    np.testing.assert_array_equal(penalty.gradient(theta)[-1], np.zeros(shape[1:]))
    other[:-1] = theta[:-1]
    assert penalty.value(other) == penalty.value(theta)


@every_penalty
def test_a_free_intercept_leaves_no_strong_convexity(name):
    assert PENALTIES[name](_ALPHA, _RATIO, 1).strong_convexity == 0.0


@every_penalty
@free_rows
def test_strong_convexity_and_smoothness_bound_the_gradient_map(name, free_rows):
    penalty = PENALTIES[name](_ALPHA, _RATIO, free_rows)
    quotients = []
    for seed in range(200):
        a, b = _pair((4,), seed)
        if seed % 2:
            b[:-1] = a[:-1]
        slope = np.sum((penalty.gradient(a) - penalty.gradient(b)) * (a - b))
        quotients.append(slope / np.sum((a - b)**2))
    # The smallest curvature is met along the last coordinate, so the claim is tight.
    assert min(quotients) == pytest.approx(penalty.strong_convexity, abs=1e-12)
    assert max(quotients) <= penalty.smoothness * (1 + 1e-12)


@every_penalty
def test_gradient_is_a_new_array(name):
    theta, _ = _pair((5,))
    before = theta.copy()
    penalty = PENALTIES[name](_ALPHA, _RATIO, 1)
    penalty.gradient(theta)[...] = 9.0
    penalty.prox(theta, 1.0)
    np.testing.assert_array_equal(theta, before)


@every_penalty
def test_zero_strength_is_no_penalty(name):
    theta, _ = _pair((5,))
    penalty = PENALTIES[name](0.0, _RATIO, 0)
    assert penalty.value(theta) == 0.0
    np.testing.assert_array_equal(penalty.gradient(theta), 0.0)
    np.testing.assert_array_equal(penalty.prox(theta, 10.0), theta)
