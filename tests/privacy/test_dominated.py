"""Releases whose loss is bounded by ``K + c Rho``: the formula, its law, and what it bounds."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import expit

from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.closed_forms import dominated_delta, gaussian_delta
from dpsk._privacy.event_dicts import event_from_dict
from dpsk._privacy.events import Composed, Dominated, Gaussian, Pure, Repeated
from dpsk._privacy.pld.composition import loss_bound
from dpsk._privacy.pld.distributions import RayleighBound

pytestmark = pytest.mark.thorough

CASES = [(0.15, 0.2, 1.0), (0.15, 0.2, 0.1), (0.0, 0.5, 0.0), (0.02, 0.05, 0.5), (2.0, 3.0, 4.0),
         (0.5, 0.01, 0.51), (0.05, 0.1, 1.2), (1e-3, 1e-3, 2e-3)]
every_case = pytest.mark.parametrize("offset, slope, epsilon", CASES)


def by_quadrature(offset, slope, epsilon):
    """The mean of ``(1 - e^(epsilon - U))_+`` from its definition."""
    with mpmath.workdps(30):
        offset, slope, epsilon = map(mpmath.mpf, (offset, slope, epsilon))
        start = max((epsilon - offset) / slope, mpmath.mpf(0))
        points = [start + step for step in (0, 0.02, 0.1, 0.2, 0.5, 1, 2, 3, 4, 6, 9, 16)]
        return mpmath.quad(lambda r: -mpmath.expm1(epsilon - offset - slope * r)
                           * r * mpmath.exp(-r * r / 2), points)


def exact(offset, slope, epsilon):
    """The same in closed form."""
    with mpmath.workdps(60):
        k, c, e = map(mpmath.mpf, (offset, slope, epsilon))
        r = (e - k) / c
        shifted = lambda r: mpmath.sqrt(mpmath.pi / 2) * c * mpmath.exp(  # noqa: E731
            c * r + c * c / 2) * mpmath.erfc((r + c) / mpmath.sqrt(2))
        if r >= 0:
            return shifted(r)
        return 1 - mpmath.exp(e - k) * (1 - shifted(mpmath.mpf(0)))


def with_gaussian(offset, slope, mu, epsilon):
    """The same with a mu-GDP release beside it, whose curve is known at every epsilon."""
    r = np.linspace(0, 12, 40_001)
    left = epsilon - offset - slope * r
    curve = np.array([gaussian_delta(mu, e) if e >= 0
                      else -math.expm1(e) + math.exp(e) * gaussian_delta(mu, -e) for e in left])
    return trapezoid(curve * r * np.exp(-r * r / 2), r)


@every_case
def test_delta_is_that_of_the_definition(offset, slope, epsilon):
    truth = exact(offset, slope, epsilon)
    bound = dominated_delta(offset, slope, epsilon)
    assert truth <= bound <= truth * (1 + 1e-10)
    assert abs(by_quadrature(offset, slope, epsilon) / truth - 1) < 1e-9
    result = accountant.account(Dominated(offset, slope), epsilon)
    assert (result.delta, result.method) == (bound, "closed form")


@every_case
def test_the_law_on_the_grid_is_an_upper_bound_within_a_fraction(offset, slope, epsilon):
    truth = float(exact(offset, slope, epsilon))
    bound = loss_bound(((Dominated(offset, slope), 1),), epsilon, tail=1e-15).delta
    assert truth * (1 - 1e-9) <= bound <= truth * 1.002 + 1e-14


@pytest.mark.parametrize("offset, slope, mu, epsilon", [
    (0.15, 0.2, 0.02, 1.0), (0.05, 0.3, 0.3, 0.5), (0.5, 0.1, 0.05, 0.2), (1.0, 2.0, 1.0, 8.0)])
def test_beside_a_gaussian_it_is_an_upper_bound_within_a_fraction(offset, slope, mu, epsilon):
    truth = with_gaussian(offset, slope, mu, epsilon)
    event = Composed((Dominated(offset, slope), Gaussian(mu)))
    bound = accountant.delta(event, epsilon)
    assert truth * (1 - 1e-6) <= bound <= truth * 1.002
    assert bound >= dominated_delta(offset, slope, epsilon)


def test_several_are_an_upper_bound_of_a_simulation():
    rng = np.random.default_rng(0)
    loss = 3 * 0.1 + 0.3 * rng.rayleigh(size=(1_000_000, 3)).sum(axis=1)
    gain = np.maximum(-np.expm1(1.5 - loss), 0.0)
    bound = accountant.delta(Repeated(Dominated(0.1, 0.3), 3), 1.5)
    # Ten standard errors: never by chance.
    assert abs(gain.mean() / bound - 1) <= 0.002 + 10 * gain.std() / gain.mean() / 1000


@pytest.mark.parametrize("law, step", [
    (RayleighBound(0.15, 0.2), 1e-3), (RayleighBound(0.0, 0.003), 1e-4),
    (RayleighBound(0.0333, 1.0), 0.01), (RayleighBound(0.5, 0.001), 0.02)])
def test_chords_never_lie_below_the_curve(law, step):
    grid = law.grid(step, 1e-16)
    loss = step * (np.arange(len(grid.masses)) - len(grid.masses) // 2)
    assert (grid.masses >= 0).all()
    assert grid.masses.sum() + grid.infinite == pytest.approx(1, rel=1e-12)
    for epsilon in np.linspace(0, law.largest_loss(1e-10), 57):
        above = np.maximum(-np.expm1(epsilon - loss), 0.0) @ grid.masses + grid.infinite
        assert above >= float(exact(law.offset, law.slope, epsilon)) * (1 - 1e-9)


def test_a_slope_whose_square_underflows_is_none():
    assert dominated_delta(0.0, 1e-200, 1.0) == 0.0
    assert dominated_delta(2.0, 1e-200, 1.0) == pytest.approx(-math.expm1(-1.0), rel=1e-9)


def test_without_slope_the_loss_is_bounded():
    assert accountant.merge(Dominated(0.3, 0.0)).parts == ((Pure(0.3), 1),)
    assert accountant.epsilon(Dominated(0.3, 0.0), 0.0) == 0.3
    assert accountant.merge(Dominated(0.0, 0.0)).is_gaussian
    assert accountant.epsilon(Dominated(0.3, 0.1), 0.0) == math.inf


@pytest.mark.parametrize("target", [1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("event", [
    Dominated(0.1, 0.2), Repeated(Dominated(0.1, 0.2), 3),
    Composed((Dominated(0.1, 0.2), Gaussian(0.02)))])
def test_epsilon_is_private_and_tight(event, target):
    found = accountant.epsilon(event, target)
    assert accountant.delta(event, found) <= target
    assert accountant.delta(event, found * (1 - 1e-4)) > target


def test_events_survive_json_and_refuse_nonsense():
    event = Composed((Dominated(0.1, 0.2), Repeated(Dominated(0.0, 1.0), 2)))
    assert event_from_dict(event.to_dict()) == event
    for values in ((-0.1, 1.0), (0.1, math.nan), (math.inf, 1.0)):
        with pytest.raises(ValueError, match="must be a finite number >= 0"):
            Dominated(*values)
    with pytest.raises(ValueError, match=r"delta=0\.0"):
        calibrate(lambda z: Dominated(0.1, 1 / z), 1.0, 0.0)


#: For (epsilon, delta), what c is allowed with determinants at a tenth of epsilon; design notes.
@pytest.mark.parametrize("epsilon, slope", [(0.5, 0.0998), (1.0, 0.192), (2.0, 0.367)])
def test_calibration_finds_the_largest_slope(epsilon, slope):
    z = calibrate(lambda z: Dominated(epsilon / 10 + 2 / z**2, 2 / z), epsilon, 1e-6)
    assert 2 / z == pytest.approx(slope, abs=6e-4)


def density(rows, labels, theta, ridge, sigma):
    """Density of the minimizer of a noisy logistic objective at points theta, by its formula."""
    raw = theta @ rows.T
    share = expit(raw)
    gradient = (share - labels) @ rows + ridge * theta
    hessian = np.einsum("ti,ij,ik->tjk", share * (1 - share), rows, rows)
    hessian += ridge * np.eye(rows.shape[1])
    log = -0.5 * (gradient**2).sum(axis=1) / sigma**2
    log += np.linalg.slogdet(hessian)[1] - 0.5 * rows.shape[1] * np.log(2 * np.pi * sigma**2)
    return np.exp(log)


@pytest.mark.parametrize("dimension, ridge, sigma", [(1, 0.3, 4.0), (1, 2.0, 8.0), (2, 0.5, 6.0),
                                                     (2, 3.0, 3.0)])
def test_minimizers_of_neighbors_stay_under_the_curve(dimension, ridge, sigma):
    """Both directions, by quadrature over theta; the widest of them come near."""
    reach, count = 9 * sigma / ridge, 20_001 if dimension == 1 else 401
    axis = np.linspace(-reach, reach, count)
    theta = np.stack(np.meshgrid(*[axis] * dimension), axis=-1).reshape(-1, dimension)
    volume = (axis[1] - axis[0])**dimension
    rng = np.random.default_rng(3)
    rest = rng.normal(size=(2, dimension))
    rest /= np.linalg.norm(rest, axis=1)[:, None]
    first = np.eye(dimension)[0]
    ends = [(first, 0), (first, 1), (-first, 1), (0 * first, 0), (rng.normal(size=dimension), 1)]
    ends = [(x / max(1.0, np.linalg.norm(x)), label) for x, label in ends]
    curves = [density(np.vstack([rest, x]), np.array([0, 1, label]), theta, ridge, sigma)
              for x, label in ends]
    for curve in curves:
        assert curve.sum() * volume == pytest.approx(1, abs=1e-3)
    slope = 2 / sigma
    event = Dominated(math.log1p(0.25 / ridge) + slope**2 / 2, slope)
    closest = 0.0
    for p, q in itertools.permutations(curves, 2):
        for epsilon in (0.1, 0.3, 0.6):
            delta = np.maximum(p - math.exp(epsilon) * q, 0).sum() * volume
            bound = accountant.delta(event, epsilon)
            assert delta <= bound
            closest = max(closest, delta / bound)
    # A bound that is far off would say little.
    assert closest > 0.01


@pytest.mark.parametrize("offset", [0.0, 1e-12, 0.5, 30.0])
def test_a_bound_beside_a_release_falls_with_epsilon_and_rises_with_the_slope(offset):
    """Down to slopes whose digits end beside the offset, where it is that of no slope."""
    epsilons = (0.0, 0.5, 1.0, 3.0)
    last = np.zeros(len(epsilons))
    for slope in (5e-324, 2.2e-308, 1e-100, 1e-30, 1e-17, 1e-12, 1e-6, 0.1, 10.0):
        event = Composed((Gaussian(1.0), Dominated(offset, slope)))
        found = np.array([accountant.delta(event, each) for each in epsilons])
        assert np.all(np.diff(found) <= 0.0) and np.all(found >= last * (1.0 - 1e-9))
        last = found
    least = Composed((Gaussian(1.0), Dominated(offset, 5e-324)))
    assert accountant.delta(least, offset) < 0.999
