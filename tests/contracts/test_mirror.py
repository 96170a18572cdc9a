"""Mirror maps: steps minimize what they should, and constants bound what they should."""

import numpy as np
import pytest
from scipy.special import xlogy

from dpsk._models import LinearModel
from dpsk._objective.penalties import CONSTRAINTS
from dpsk._solvers.constrained.mirror import GEOMETRIES, Entropy, SplitEntropy, make_geometry
from tests.registry import make_penalty

CASES = [pytest.param(name, geometry, id=f"{name}-{geometry}") for name in sorted(CONSTRAINTS)
         for geometry in GEOMETRIES[type(make_penalty(name))]]
every_geometry = pytest.mark.parametrize("name, geometry", CASES)
RADIUS = 1.7


def make(name, geometry, shape=(5,), radius=RADIUS):
    return make_geometry(make_penalty(name, radius=radius), geometry, shape)


def points(geometry, count, rng):
    """Yield points of the set: projections of vectors of all lengths, corners among them."""
    for _ in range(count):
        away = 10.0**rng.uniform(-2, 2) * rng.normal(size=geometry.shape)
        yield geometry.constraint.prox(away, 1.0)


def potential(geometry, x):
    """Return the mirror map's value at a point, written out from its definition."""
    if not isinstance(geometry, Entropy):
        return np.sum(x**2) / (2 * geometry.reach**2)
    u = x / geometry.reach
    if isinstance(geometry, SplitEntropy):
        # The least entropy of two halves with this difference and total 1.
        return split_potential(u.ravel())
    return xlogy(u, u).sum()


def split_potential(u):
    """Least sum of ``v log v`` over ``v >= 0`` of sum 1 with ``v+ - v- = u``.

    At the least, ``v+ v-`` is one number c^2 for all coordinates.
    """
    def halves(c):
        total = np.sqrt(u**2 + 4 * c**2)
        return (total + u) / 2, (total - u) / 2

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if sum(map(np.sum, halves(middle))) > 1 else (middle, high)
    plus, minus = halves(high)
    return xlogy(plus, plus).sum() + xlogy(minus, minus).sum()


@pytest.mark.covering
@every_geometry
@pytest.mark.parametrize("length", [0.01, 0.3, 4.0])
def test_steps_from_the_start_minimize_divergence_plus_slope(name, geometry, length):
    """Two steps; from the start, two entropic steps are one along the sum of gradients."""
    rng = np.random.default_rng(0)
    geometry = make(name, geometry)
    gradients = rng.normal(size=(2, *geometry.shape))
    state = geometry.start()
    start = geometry.point(state)
    for gradient in gradients if isinstance(geometry, Entropy) else gradients[:1]:
        state = geometry.moved(state, gradient, length)
    total = gradients.sum(axis=0) if isinstance(geometry, Entropy) else gradients[0]
    best = geometry.point(state)

    # The start is the map's least point, so the divergence from it is the map, up to a constant.
    def objective(x):
        return potential(geometry, x) + length * np.sum(total * (x - start))

    for other in points(geometry, 60, rng):
        for share in (1e-3, 0.1, 1.0):
            mixed = share * other + (1 - share) * best
            assert objective(best) <= objective(mixed) + 1e-10


@every_geometry
def test_later_steps_minimize_divergence_plus_slope(name, geometry):
    rng = np.random.default_rng(1)
    geometry = make(name, geometry)
    state = geometry.moved(geometry.start(), rng.normal(size=geometry.shape), 0.4)
    gradient = rng.normal(size=geometry.shape)
    before = geometry.point(state)
    after = geometry.point(geometry.moved(state, gradient, 0.7))

    def slope(x, v, size=1e-6):
        # Inside the set along v; both ends are in it for the points tried.
        return (potential(geometry, x + size * v) - potential(geometry, x - size * v)) / (2 * size)

    for other in points(geometry, 100, rng):
        inner = 0.5 * (other + after)
        direction = inner - after
        if isinstance(geometry, Entropy):
            # Interior points: at the minimum all slopes vanish.
            value = (slope(after, direction) - slope(before, direction)
                     + 0.7 * np.sum(gradient * direction))
            assert value == pytest.approx(0.0, abs=1e-6)
        else:
            value = np.sum(((after - before) / geometry.reach**2 + 0.7 * gradient) * direction)
            assert value >= -1e-9


@every_geometry
@pytest.mark.parametrize("shape", [(4,), (3, 2)])
def test_every_state_stands_for_a_point_of_the_set(name, geometry, shape):
    rng = np.random.default_rng(2)
    geometry = make(name, geometry, shape)
    for scale in (0.0, 1e-12, 1.0, 50.0, 1e4, 1e100):
        state = geometry.moved(geometry.start(), rng.normal(size=shape), scale)
        point = geometry.point(state)
        assert point.shape == shape and np.all(np.isfinite(point))
        assert geometry.constraint.value(point) == 0.0


@every_geometry
def test_divergence_bounds_the_distance_of_every_point_from_the_start(name, geometry):
    rng = np.random.default_rng(3)
    geometry = make(name, geometry)
    start = geometry.point(geometry.start())
    farthest = max(potential(geometry, x) - potential(geometry, start)
                   for x in points(geometry, 100, rng))
    assert farthest <= geometry.divergence * (1 + 1e-9)
    assert farthest >= 0.3 * geometry.divergence


@every_geometry
def test_width_bounds_the_mean_largest_product_with_normals(name, geometry):
    rng = np.random.default_rng(4)
    geometry = make(name, geometry, (30,))
    # Along a direction the set is farthest where a long vector of it projects to.
    products = []
    for _ in range(300):
        v = rng.normal(size=30)
        products.append(np.sum(v * geometry.constraint.prox(1e9 * v, 1.0)))
    assert np.mean(products) <= geometry.width
    assert np.mean(products) >= 0.5 * geometry.width


@every_geometry
@pytest.mark.parametrize("intercept", [False, True])
def test_row_bound_covers_the_change_of_a_prediction(name, geometry, intercept):
    """Between two points, against the size that strong convexity gives their divergence."""
    rng = np.random.default_rng(5)
    model = LinearModel(5 - intercept, None, intercept, 2.0, 0.9)
    geometry = make(name, geometry)
    bound = geometry.row_bound(model)
    for _ in range(60):
        row = np.clip(2.0 * rng.choice([-1.0, 0.5, 1.0], size=5) / np.sqrt(5), -0.9, 0.9)
        if intercept:
            row[-1] = 1.0
        x, y = points(geometry, 2, rng)
        y = 0.5 * (x + y)
        # w(y) <= (w(x) + w(2y - x)) / 2 - ||y - x||^2 / 2 along a segment of the set.
        gain = 0.5 * (potential(geometry, x) + potential(geometry, 2 * y - x)) \
            - potential(geometry, y)
        assert (row @ (y - x))**2 <= 2 * gain * bound**2 * (1 + 1e-9) + 1e-12


def test_the_bound_of_a_row_on_the_l1_ball_is_that_of_its_entries():
    model = LinearModel(100, None, False, 1.0, 0.1)
    assert make("l1_ball", "entropy", (100,)).row_bound(model) == pytest.approx(0.1 * RADIUS)
    assert make("l1_ball", "euclidean", (100,)).row_bound(model) == pytest.approx(RADIUS)
    assert make("box", "euclidean", (100,)).row_bound(model) == pytest.approx(10 * RADIUS)


def test_small_coordinates_lose_no_digits():
    geometry = make("l1_ball", "entropy", (3,))
    point = geometry.point(np.array([1e-14, -2e-14, 3.0]))
    total = 2 * np.cosh(1e-14) + 2 * np.cosh(2e-14) + 2 * np.cosh(3.0)
    np.testing.assert_allclose(point, RADIUS * 2 * np.sinh([1e-14, -2e-14, 3.0]) / total,
                               rtol=1e-14)


def test_an_unknown_geometry_is_refused_by_name():
    with pytest.raises(ValueError, match=r"geometry='entropy'.*'euclidean'"):
        make("box", "entropy")
