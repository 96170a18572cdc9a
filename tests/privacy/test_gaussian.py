"""The Gaussian closed form against high precision, and its inverses on the private side."""

import math

import mpmath
import numpy as np
import pytest

from dpsk._privacy.closed_forms import (
    gaussian_delta,
    gaussian_deltas,
    gaussian_epsilon,
    gaussian_mu,
)


def exact_delta(mu, epsilon):
    with mpmath.workdps(50):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return mpmath.ncdf(a) - mpmath.exp(epsilon) * mpmath.ncdf(b)


@pytest.mark.parametrize("mu", [1e-8, 1e-4, 0.0099, 0.0101, 0.3, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("ratio", [0.0, 1e-3, 0.5, 1.0, 5.0, 30.0])
def test_delta_matches_high_precision(mu, ratio):
    for epsilon in (ratio * mu, ratio * mu + mu * mu / 2):
        expected = exact_delta(mu, epsilon)
        if expected > 1e-300:
            assert abs(gaussian_delta(mu, epsilon) / expected - 1) < 2e-12


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 1.0, 20.0, 300.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.01, 0.9])
def test_mu_is_the_largest_private_one(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta * (1 + 1e-11)
    assert exact_delta(mu * (1 + 1e-10), epsilon) > delta
    assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("mu", [1e-6, 0.05, 1.0, 40.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01])
def test_epsilon_is_on_the_private_side(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(mu, epsilon) <= delta * (1 + 1e-12)
    if epsilon > 0:
        assert exact_delta(mu, epsilon * (1 - 1e-9)) > delta


def test_limits():
    assert gaussian_delta(0.0, 1.0) == 0.0
    assert gaussian_delta(1e200, 1.0) == 1.0
    assert gaussian_delta(1.0, 1e200) == 0.0
    assert gaussian_epsilon(0.0, 0.0) == 0.0
    assert gaussian_epsilon(1.0, 0.0) == math.inf
    assert gaussian_epsilon(1e200, 1e-5) == math.inf
    assert gaussian_epsilon(0.1, 0.5) == 0.0


@pytest.mark.parametrize("epsilon", [1e2, 1e4, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.4, 0.9, 0.999])
def test_large_losses_keep_all_digits(epsilon, delta):
    """Where mu / 2 and epsilon / mu are a million and differ by a few."""
    mu = gaussian_mu(epsilon, delta)
    with mpmath.workdps(60):
        exact_mu, loss = mpmath.mpf(mu), mpmath.mpf(epsilon)
        a, x = exact_mu / 2 - loss / exact_mu, exact_mu / 2 + loss / exact_mu
        # The Mills ratio, by its asymptotic series: x is 14 at least, and terms fall to 1e-20.
        mills = mpmath.fsum((-1)**k * mpmath.fac2(2 * k - 1) / x ** (2 * k + 1)
                            for k in range(40))
        expected = mpmath.ncdf(a) - mpmath.npdf(a) * mills
        assert expected <= delta * (1 + 1e-11)
        for found in (gaussian_delta(mu, epsilon), gaussian_deltas(mu, np.array([epsilon]))[0]):
            assert abs(mpmath.mpf(float(found)) / expected - 1) < 1e-11
    assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("mu", [5e-324, 1e-323, 1e-310])
def test_the_smallest_numbers_have_a_delta_that_is_no_error(mu):
    for epsilon in (0.0, mu, 2 * mu, 50 * mu, 1.0):
        assert 0 <= gaussian_delta(mu, epsilon) <= mu
