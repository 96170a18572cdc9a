"""What every penalty promises to solvers and to the sensitivity of their steps."""

import numpy as np
import pytest

from dpsk import DPLogisticRegression
from dpsk._objective.penalties import CONSTRAINTS
from tests.registry import every_penalty, make_penalty, training_rows

unpenalized = pytest.mark.parametrize("unpenalized", [0, 1])
shapes = pytest.mark.parametrize("shape", [(5,), (5, 3)])
_ALPHA, _RATIO = 0.7, 0.4


def _pair(shape, seed=0):
    rng = np.random.default_rng(seed)
    return 3 * rng.normal(size=shape), 3 * rng.normal(size=shape)


def _rest(penalty, theta):
    """Value of the part that is not differentiable: the whole less its quadratic."""
    moved = theta[:len(theta) - penalty.unpenalized]
    return penalty.value(theta) - 0.5 * penalty.smoothness * np.sum(moved**2)


@every_penalty
@unpenalized
@shapes
def test_gradient_is_the_derivative_of_the_differentiable_part(name, unpenalized, shape):
    penalty = make_penalty(name, _ALPHA, _RATIO, unpenalized=unpenalized)
    theta, direction = _pair(shape)
    if not np.isfinite(penalty.value(theta)):
        # A constraint has slopes only inside, along directions that stay in the set.
        theta = penalty.prox(0.002 * theta, 1.0)
        moved = direction[:len(direction) - unpenalized]
        moved -= moved.mean() if name == "simplex" else 0.0
    step = 1e-6 * direction
    # Away from zero the rest is linear, and its slope is known from its own differences.
    whole = (penalty.value(theta + step) - penalty.value(theta - step)) / 2e-6
    rest = (_rest(penalty, theta + step) - _rest(penalty, theta - step)) / 2e-6
    assert np.sum(penalty.gradient(theta) * direction) == pytest.approx(whole - rest, abs=1e-7)


@every_penalty
@unpenalized
@shapes
def test_prox_minimizes_the_rest_plus_the_squared_distance(name, unpenalized, shape):
    penalty = make_penalty(name, _ALPHA, _RATIO, unpenalized=unpenalized)
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
@unpenalized
@shapes
def test_prox_is_nonexpansive(name, unpenalized, shape):
    penalty = make_penalty(name, _ALPHA, _RATIO, unpenalized=unpenalized)
    for seed in range(50):
        a, b = _pair(shape, seed)
        after = np.linalg.norm(penalty.prox(a, 2.0) - penalty.prox(b, 2.0))
        assert after <= np.linalg.norm(a - b) * (1 + 1e-12)


@every_penalty
@shapes
def test_free_rows_are_neither_shrunk_nor_counted(name, shape):
    penalty = make_penalty(name, _ALPHA, _RATIO, unpenalized=1)
    theta, other = _pair(shape)
    np.testing.assert_array_equal(penalty.prox(theta.copy(), 5.0)[-1], theta[-1])
    np.testing.assert_array_equal(penalty.gradient(theta)[-1], np.zeros(shape[1:]))
    other[:-1] = theta[:-1]
    assert penalty.value(other) == penalty.value(theta)


@every_penalty
def test_a_free_intercept_leaves_no_strong_convexity(name):
    assert make_penalty(name, _ALPHA, _RATIO, unpenalized=1).strong_convexity == 0.0


@every_penalty
@unpenalized
def test_strong_convexity_and_smoothness_bound_the_gradient_map(name, unpenalized):
    penalty = make_penalty(name, _ALPHA, _RATIO, unpenalized=unpenalized)
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
    penalty = make_penalty(name, _ALPHA, _RATIO, unpenalized=1)
    penalty.gradient(theta)[...] = 9.0
    penalty.prox(theta, 1.0)
    np.testing.assert_array_equal(theta, before)


@every_penalty
def test_zero_strength_is_no_penalty(name):
    theta, _ = _pair((5,))
    penalty = make_penalty(name, 0.0, _RATIO, radius=100.0)
    if name == "simplex":
        # No neighborhood of zero is in it.
        theta = penalty.prox(theta + 20.0, 1.0)
    assert penalty.value(theta) == 0.0
    np.testing.assert_array_equal(penalty.gradient(theta), 0.0)
    np.testing.assert_allclose(penalty.prox(theta, 10.0), theta, rtol=1e-14)


@every_penalty
@unpenalized
def test_is_smooth_exactly_where_the_prox_is_the_identity(name, unpenalized):
    for alpha in (0.0, _ALPHA):
        penalty = make_penalty(name, alpha, _RATIO, unpenalized=unpenalized)
        same = [np.array_equal(penalty.prox(theta.copy(), 1.0), theta) for theta in _pair((5,))]
        assert all(same) if penalty.is_smooth else not any(same)


def test_names_stand_for_the_norms_they_name():
    theta = np.array([3.0, -4.0, 100.0])
    values = {name: make_penalty(name, 0.5, 0.25, radius=7.0, unpenalized=1).value(theta)
              for name in ("l1", "l2", "elasticnet", "l1_ball", "l2_ball")}
    assert values == {"l1": 3.5, "l2": 6.25, "elasticnet": 0.25 * 3.5 + 0.75 * 6.25,
                      "l1_ball": 0.0, "l2_ball": 0.0}


# Constraints.

balls = pytest.mark.parametrize("name, order", [("l1_ball", 1), ("l2_ball", 2)])


def _length(theta, order):
    return np.linalg.norm(np.ravel(theta), order)


def _in_ball(shape, order, radius, rng):
    """Return a point of the ball: a corner, one on the boundary, or one inside."""
    point = rng.normal(size=shape)
    kind = rng.integers(3)
    if kind == 0:
        point = np.zeros(shape)
        point.flat[rng.integers(point.size)] = rng.choice([-1.0, 1.0])
    return point * (radius * (rng.random() if kind == 1 else 1.0) / _length(point, order))


@balls
@shapes
@pytest.mark.parametrize("radius", [1e-9, 0.7, 30.0, 1e6])
def test_projection_satisfies_the_variational_inequality(name, order, shape, radius):
    # p is the nearest point of a convex set exactly if (theta - p).(v - p) <= 0 for all v in it.
    rng = np.random.default_rng(4)
    penalty = make_penalty(name, radius=radius)
    for size in (1e-3, 0.3, 1.0, 3.0, 1e3):
        theta = size * radius * rng.normal(size=shape)
        p = penalty.prox(theta.copy(), rng.random())
        assert _length(p, order) <= radius * (1 + 1e-12)
        for _ in range(60):
            v = _in_ball(shape, order, radius, rng)
            slack = 1e-12 * radius * np.linalg.norm(theta)
            assert np.sum((theta - p) * (v - p)) <= slack
        inside = _in_ball(shape, order, 0.99 * radius, rng)
        np.testing.assert_array_equal(penalty.prox(inside.copy(), 1.0), inside)


@balls
def test_projection_ends_in_the_ball_however_far_away_it_starts(name, order):
    penalty = make_penalty(name, radius=0.5)
    for theta in ([1e17, 0.0], [1e17, -1e17], [1e100, 1.0], [1e17, 1e17 - 64], [1e140, -1e140]):
        p = penalty.prox(np.array(theta), 1.0)
        assert _length(p, order) == pytest.approx(0.5, rel=1e-12)
        assert penalty.value(p) == 0.0
        assert np.all(p * np.sign(theta) >= 0)


@balls
@shapes
def test_a_ball_leaves_free_rows_alone_and_projects_the_others_as_if_alone(name, order, shape):
    theta, _ = _pair(shape)
    projected = make_penalty(name, radius=0.5, unpenalized=1).prox(theta.copy(), 1.0)
    alone = make_penalty(name, radius=0.5).prox(theta[:-1].copy(), 1.0)
    np.testing.assert_array_equal(projected[:-1], alone)
    np.testing.assert_array_equal(projected[-1], theta[-1])


@balls
def test_outside_of_a_ball_the_value_is_infinite(name, order):
    penalty = make_penalty(name, radius=1.0)
    theta = np.full(4, 1.0)
    theta /= _length(theta, order)
    assert penalty.value(theta) == 0.0
    assert penalty.value(1.001 * theta) == np.inf


def test_projection_on_the_l1_ball_has_zeros():
    p = make_penalty("l1_ball", radius=1.0).prox(np.array([3.0, -2.5, 0.4, -0.1]), 1.0)
    np.testing.assert_allclose(p, [0.75, -0.25, 0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("name", sorted(CONSTRAINTS))
@pytest.mark.parametrize("solver", ["gd", "sgd", "svrg", "svrgpp", "accmd", "rrpsgd", "stgd",
                                    "minibatch_stgd", "output_perturbation"])
def test_coefficients_lie_in_the_set_that_was_asked_for(name, solver):
    for delta in (None, 0.0) if solver == "output_perturbation" else (None,):
        # Noise far greater than the set.
        model = DPLogisticRegression(0.1, delta=delta, solver=solver, penalty=name, radius=0.3,
                                     max_iter=5, fit_intercept=False)
        model.fit(*training_rows(model))
        ball = make_penalty(name, radius=0.3)
        assert ball.value(model.coef_.ravel()) == 0.0
