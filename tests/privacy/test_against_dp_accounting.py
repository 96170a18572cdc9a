"""Agreement with an independent accountant, on random Poisson-sampled training runs."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.closed_forms import gaussian_delta
from dpsk._privacy.events import Composed, Disclosure, Gaussian, Repeated, SampledGaussian
from dpsk._privacy.pld.distributions import NormalMixture

pytestmark = pytest.mark.covering(most=8)

pld_pmf = pytest.importorskip("dp_accounting.pld.pld_pmf",
                              reason="dp-accounting is the second opinion")

POINTS = 200
QUICK = 20


def points():
    rng = np.random.default_rng(20_240)
    found = []
    while len(found) < POINTS:
        q, steps = 10 ** rng.uniform(-4, 0), int(10 ** rng.uniform(0, 4))
        epsilon = math.exp(rng.uniform(math.log(0.05), math.log(20)))
        delta = 10 ** rng.uniform(-8, -3)
        # nearer to 1 - (1-q)^steps the noise vanishes
        if delta < -0.5 * math.expm1(steps * math.log1p(-q)):
            found.append((q, steps, epsilon, delta))
    return found


def profile(law, epsilon):
    # H of the dominating pair at epsilon >= 0, and at -epsilon by its symmetry
    x = law._inverse(epsilon)
    common = (1 - law.q) * _tail(x / law.z)
    above = common + law.q * _tail((x - 1) / law.z)
    below = common + law.q * _tail((x + 1) / law.z)
    positive = above - np.exp(epsilon) * below
    negative = -np.expm1(-epsilon) + np.exp(-epsilon) * positive
    return np.concatenate([negative[:0:-1], positive])


def _tail(x):
    return ndtr(-x)


def second_opinion(q, z, steps, epsilon):
    """Pessimistic and optimiztic delta of dp-accounting, which has no Poisson replace-one."""
    law = NormalMixture(q, z)
    mass, loss = law.nodes(1e-15)
    step = min(1e-3, math.sqrt(1e-4 * float(mass @ loss**2)))
    largest = law.largest_loss(1e-15)
    step = max(step, largest / 100_000)
    size = math.ceil(largest / step)
    grid = step * np.arange(size + 1)
    above = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
        step, -size, size, np.minimum.accumulate(profile(law, grid)))
    edges = np.concatenate([-law._inverse(grid)[:0:-1], law._inverse(grid)])
    survival = (1 - q) * _tail(edges / z) + q * _tail((edges - 1) / z)
    floor = dict(zip(range(-size, size), survival[:-1] - survival[1:], strict=True))
    below = pld_pmf.create_pmf(floor, step, 0.0, pessimistic_estimate=False)
    composed = [pmf.self_compose(steps, tail_mass_truncation=1e-15) if steps > 1 else pmf
                for pmf in (above, below)]
    return [float(pmf.get_delta_for_epsilon(epsilon)) for pmf in composed]


def check(q, steps, epsilon, delta):
    z = calibrate(lambda scale: Repeated(SampledGaussian(q, scale), steps), epsilon, delta)
    ours = accountant.delta(Repeated(SampledGaussian(q, z), steps), epsilon)
    assert ours <= delta
    high, low = second_opinion(q, z, steps, epsilon)
    assert abs(ours / high - 1) <= 0.005 or low <= ours <= high, (ours, high, low)


@pytest.mark.covering(most=3)
@pytest.mark.parametrize("case", points()[:QUICK], ids=lambda c: f"q{c[0]:.2g}-T{c[1]}")
def test_agrees_quick(case):
    check(*case)


@pytest.mark.audit
@pytest.mark.parametrize("case", points()[QUICK:], ids=lambda c: f"q{c[0]:.2g}-T{c[1]}")
def test_agrees(case):
    check(*case)


@pytest.mark.parametrize("mu", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("chance", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("count", [1, 20])
def test_what_adds_to_delta_agrees(mu, chance, count):
    """Gaussian noise beside chances to tell all, by a mechanism of epsilon 0 and such a delta."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    common = pytest.importorskip("dp_accounting.pld.common")
    gaussian = pld.from_gaussian_mechanism(1.0 / mu, value_discretization_interval=1e-3 * mu)
    telling = pld.from_privacy_parameters(
        common.DifferentialPrivacyParameters(0.0, chance),
        value_discretization_interval=1e-3 * mu).self_compose(count)
    event = Composed((Gaussian(mu), Repeated(Disclosure(chance), count)))
    for epsilon in (0.5 * mu, mu * (1 + mu), mu * (3 + mu)):
        theirs = gaussian.compose(telling).get_delta_for_epsilon(epsilon)
        ours = accountant.delta(event, epsilon)
        # Theirs rounds losses up.
        assert 0.995 <= ours / theirs <= 1 + 1e-6
        ever = -math.expm1(count * math.log1p(-chance))
        assert ours >= ever + (1.0 - ever) * gaussian_delta(mu, epsilon)
