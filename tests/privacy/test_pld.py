"""Discretized loss distributions: never below the truth, and close to it."""

import math

import mpmath
import numpy as np
import pytest

from dpsk._privacy import accountant
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.closed_forms import gaussian_delta, pure_delta
from dpsk._privacy.events import Composed, Dominated, Gaussian, Pure, Repeated, SampledGaussian
from dpsk._privacy.pld.composition import loss_bound
from dpsk._privacy.pld.distributions import NormalMixture, TwoPoint

pytestmark = pytest.mark.thorough


def densities(q, z):
    normal = lambda x, m: mpmath.npdf(x, m, z)  # noqa: E731
    return (lambda x: (1 - q) * normal(x, 0) + q * normal(x, 1),
            lambda x: (1 - q) * normal(x, 0) + q * normal(x, -1))


def exact_one_step(q, z, epsilon):
    with mpmath.workdps(40):
        p, m = densities(mpmath.mpf(q), mpmath.mpf(z))
        crossing = NormalMixture(q, z)._inverse(np.array([0.0, epsilon]))[1]
        crossing = mpmath.findroot(lambda x: mpmath.log(p(x) / m(x)) - epsilon, crossing)
        mass = lambda mean: mpmath.ncdf((mean - crossing) / z)  # noqa: E731
        above = (1 - q) * mass(0) + q * mass(1)
        below = (1 - q) * mass(0) + q * mass(-1)
        return float(above - mpmath.exp(epsilon) * below)


def exact_two_steps(q, z, epsilon):
    # one step by quadrature over the first outcome, on a fine trapezoidal grid
    x = np.linspace(-1 - 12 * z, 1 + 12 * z, 4001)
    law = NormalMixture(q, z)
    loss = np.copysign(law._loss(np.abs(x)), x)
    weights = law._density(x) * (x[1] - x[0])
    rest = epsilon - loss
    # H at a possibly negative epsilon, by the symmetry of the pair
    values = [_profile(law, r) for r in rest]
    return float(weights @ np.array(values))


def _profile(law, epsilon):
    if epsilon < 0:
        return -math.expm1(epsilon) + math.exp(epsilon) * _profile(law, -epsilon)
    x = float(law._inverse(np.array([0.0, max(epsilon, 1e-300)]))[1])
    above, below = law._upper_masses(x)
    return above - math.exp(epsilon) * below


CASES = [(0.01, 1.0, 1.0), (0.2, 2.0, 0.5), (0.5, 3.0, 0.1), (0.05, 0.8, 2.0), (0.9, 4.0, 1.0),
         (1e-4, 0.5, 0.3), (0.3, 0.3, 10.0)]


@pytest.mark.parametrize("q, z, epsilon", CASES)
def test_one_step_is_an_upper_bound_within_a_fraction(q, z, epsilon):
    exact = exact_one_step(q, z, epsilon)
    bound = accountant.delta(SampledGaussian(q, z), epsilon)
    assert exact * (1 - 1e-9) <= bound <= exact * 1.002


#: One row in a billion makes the large losses, beside which the transform's rounding is large.
FAR = [(1e-9, 0.625, 0.5), (1e-9, 0.625, 2.0), (1e-9, 0.625, 6.0), (1e-6, 1.0, 1.0),
       (1e-4, 2.0, 1.5)]


@pytest.mark.parametrize("q, z, epsilon", FAR)
def test_one_step_is_resolved_in_the_far_tail(q, z, epsilon):
    exact = exact_one_step(q, z, epsilon)
    bound = accountant.delta(SampledGaussian(q, z), epsilon)
    assert exact < 1e-25 and exact * (1 - 1e-9) <= bound <= exact * 1.01


@pytest.mark.parametrize("q, z, epsilon", CASES[:5])
def test_two_steps_are_an_upper_bound_within_a_fraction(q, z, epsilon):
    exact = exact_two_steps(q, z, epsilon)
    bound = accountant.delta(Repeated(SampledGaussian(q, z), 2), epsilon)
    assert exact * (1 - 1e-9) <= bound <= exact * 1.002


@pytest.mark.parametrize("mu, epsilon", [(0.01, 0.02), (0.5, 1.0), (1.0, 8.0), (3.0, 0.0)])
def test_gaussians_on_the_grid_agree_with_the_closed_form(mu, epsilon):
    parts = ((Gaussian(mu / 2), 1), (Gaussian(mu / math.sqrt(2)), 1), (Gaussian(mu / 4), 4))
    exact = gaussian_delta(mu, epsilon)
    assert sum(count * event.mu**2 for event, count in parts) == pytest.approx(mu**2)
    bound = loss_bound(parts, epsilon, tail=1e-15).delta
    assert exact * (1 - 1e-9) <= bound <= exact * 1.002


@pytest.mark.parametrize("epsilon0, count, epsilon", [(0.1, 100, 3.0), (1.0, 10, 6.0),
                                                      (0.003, 2000, 0.5), (2.0, 1, 1.0)])
def test_bounded_releases_on_the_grid_agree_with_optimal_composition(epsilon0, count, epsilon):
    exact = pure_delta(epsilon0, count, epsilon)
    bound = loss_bound(((Pure(epsilon0), count),), epsilon, tail=1e-15).delta
    assert exact * (1 - 1e-9) <= bound <= exact * 1.01


def test_many_steps_agree_with_the_normal_limit():
    # at q -> 1 the pair is Gaussian: a million steps, from above and close
    steps, z = 10**6, 1500.0
    exact = gaussian_delta(2 / z * math.sqrt(steps), 4.0)
    bound = loss_bound(((Gaussian(2 / z), steps),), 4.0, tail=1e-15)
    assert exact * (1 - 1e-9) <= bound.delta <= exact * 1.002
    assert bound.fft <= 1e-3 * bound.delta


@pytest.mark.parametrize(("q", "z", "steps"), [
    (1e-4, 1.0, 1000), (1e-5, 1.0, 10**5), (1e-6, 1.0, 1000), (1e-8, 4.0, 10**5), (5e-4, 2.0, 9)])
def test_rare_rows_have_a_curve_down_to_epsilon_0(q, z, steps):
    """Few losses are large, so that a window of deviations alone would hold no grid."""
    event = Repeated(SampledGaussian(q, z), steps)
    found = [accountant.delta(event, epsilon) for epsilon in (0.0, 1e-6, 1e-4, 1e-2)]
    assert (np.diff(found) <= 0).all()
    # Sums of many losses are nearly normal, of few as far apart as the pairs together.
    normal = math.erf(q * math.sqrt(0.5 * steps * math.sinh(1.0 / z**2)))
    together = steps * NormalMixture(q, z).total_variation()
    assert 0.98 * min(normal, together) <= found[0] <= 1.02 * min(normal, together)


@pytest.mark.parametrize("event", [
    SampledGaussian(1e-8, 0.5), SampledGaussian(0.3, 2.0), SampledGaussian(1e-12, 4.0), Pure(0.4),
    Gaussian(0.2), Dominated(0.1, 0.1), BestOf(Gaussian(0.3), 5.0, 1.0)])
@pytest.mark.parametrize("count", [1, 3, 400])
def test_nothing_is_farther_apart_than_the_sum_of_distances(event, count):
    distance = event.loss_law().total_variation()
    one = accountant.delta(event, 0.0)
    # Chords of a curve may lie a little above it, or below what a closed form bounds.
    assert one <= distance * 1.001 and (one >= 0.99 * distance or isinstance(event, Dominated))
    together = min(1.0, 1.000001 * count * max(one, distance))
    assert accountant.delta(Repeated(event, count), 0.0) <= together


def test_window_is_sized_under_the_tilted_law():
    # a window sized without the tilt wraps mass below epsilon and overstates by 2.2
    q, z, epsilon = 5e-6, 0.46, 0.5
    bound = accountant.delta(Repeated(SampledGaussian(q, z), 2), epsilon)
    assert bound == pytest.approx(2.37884120030015e-11, rel=0.002)


@pytest.mark.parametrize("event", [
    Repeated(SampledGaussian(0.01, 1.0), 1000),
    Repeated(SampledGaussian(1e-4, 0.6), 2000),
    Composed((Gaussian(0.3), Repeated(SampledGaussian(0.05, 2.0), 100), Pure(0.2)))])
def test_delta_decreases_with_epsilon(event):
    values = [accountant.delta(event, e) for e in np.geomspace(0.01, 8, 5)]
    assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("coarsen", [2.0, 6.0, 30.0])
def test_a_coarser_grid_only_raises_delta(coarsen):
    event = ((SampledGaussian(0.02, 1.2), 500),)
    fine = loss_bound(event, 1.0, tail=1e-15)
    coarse = loss_bound(event, 1.0, tail=1e-15, coarsen=coarsen)
    assert coarse.step > fine.step
    assert coarse.delta >= fine.delta * (1 - 1e-9)


@pytest.mark.parametrize("law, step", [(NormalMixture(0.01, 0.7), 1e-3),
                                       (NormalMixture(1e-5, 2.0), 1e-3),
                                       (NormalMixture(1.0, 0.5), 0.01),
                                       (NormalMixture(0.5, 40.0), 1e-5),
                                       (TwoPoint(0.7), 0.003), (TwoPoint(0.003), 0.003)])
def test_chords_keep_the_mass_of_both_measures(law, step):
    grid = law.grid(step, 1e-16)
    loss = step * (np.arange(len(grid.masses)) - len(grid.masses) // 2)
    assert (grid.masses >= 0).all()
    assert grid.masses.sum() + grid.infinite == pytest.approx(1, rel=1e-12)
    assert grid.masses @ np.exp(-loss) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("law", [NormalMixture(0.01, 0.7), NormalMixture(1e-6, 0.2),
                                 NormalMixture(0.999, 3.0), NormalMixture(0.1, 0.02)])
def test_loss_and_its_inverse_agree(law):
    loss = np.concatenate([[0.0], np.geomspace(1e-6, law.largest_loss(1e-15), 50)])
    assert law._loss(law._inverse(loss)) == pytest.approx(loss, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("event", [SampledGaussian(0.1, 1e-200), SampledGaussian(0.5, 1e-5),
                                   Composed((Gaussian(1e200), Pure(1.0)))])
def test_what_overflows_is_not_private(event):
    assert accountant.delta(event, 1.0) > 0.09


@pytest.mark.parametrize("mu", [1e-8, 1e-153, 1e-154, 2.6e-194, 1e-308, 5e-324])
def test_a_release_that_tells_next_to_nothing_costs_next_to_nothing(mu):
    alone = accountant.delta(Pure(1.0), 0.0)
    for event in (Gaussian(mu), SampledGaussian(0.5, min(1 / mu, 1e300)),
                  BestOf(Gaussian(mu), 1.0, 1.0), BestOf(Gaussian(mu), 5.0, 1.0)):
        assert alone <= accountant.delta(Composed((event, Pure(1.0))), 0.0) < alone + 1e-6
    # Two of several runs are found by a curve of some points.
    assert accountant.delta(Repeated(BestOf(Gaussian(mu), 1.0, 1.0), 2), 0.0) < 1e-8
    assert accountant.delta(Repeated(BestOf(Gaussian(mu), 5.0, 1.0), 2), 0.0) < 1e-3
