"""The price of a choice covers every exponential mechanism of its range."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri, softmax
from scipy.stats import norm

from dpsk._privacy.closed_forms import bounded_range_epsilon, bounded_range_mu, gaussian_delta

ranges = pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 0.999, 1.0, 1.001, 3.0, 20.0, 60.0])


@ranges
def test_mu_is_the_largest_over_a_fine_grid_of_places(epsilon):
    # Losses t and t - epsilon; a is the chance of the former.
    t = epsilon * np.linspace(0, 1, 200_001)[1:-1]
    # 1 - a, without cancellation.
    rest = np.expm1(t) / np.expm1(epsilon)
    a = -np.expm1(t - epsilon) / -np.expm1(-epsilon)
    other = np.exp(-t) * a
    upper = np.where(a > 0.5, -ndtri(np.minimum(rest, 1.0)), ndtri(np.minimum(a, 1.0)))
    values = upper - np.where(other > 0.5, -ndtri(1.0 - other), ndtri(other))
    largest = values[np.isfinite(values)].max()
    assert bounded_range_mu(epsilon) == pytest.approx(largest, rel=1e-7, abs=1e-11)
    # The largest is in the middle.
    assert t[np.nanargmax(values)] == pytest.approx(epsilon / 2, rel=0.05)


@ranges
def test_mu_grows_with_the_range_and_back(epsilon):
    assert bounded_range_mu(epsilon) < bounded_range_mu(1.01 * epsilon)
    assert bounded_range_epsilon(bounded_range_mu(epsilon)) == pytest.approx(epsilon, rel=1e-6)


def test_mu_is_about_a_known_share_of_small_ranges_and_finite_for_large_ones():
    assert bounded_range_mu(1e-4) / 1e-4 == pytest.approx(np.sqrt(np.pi / 8), rel=1e-6)
    assert np.isfinite(bounded_range_mu(1e6))
    assert bounded_range_mu(999.99) < bounded_range_mu(1000.0) < 1.1 * bounded_range_mu(999.99)


@pytest.mark.parametrize("mu", [1e-200, 1e-12, 1e-6, 0.999999, 1.000001])
def test_ranges_of_small_mu_do_not_cancel(mu):
    assert bounded_range_mu(bounded_range_epsilon(mu)) == pytest.approx(mu, rel=1e-9)


def test_the_function_whose_fall_proves_the_maximum_is_negative():
    y = np.linspace(1e-3, 8.0, 100_000)
    upper = norm.sf(y)
    assert np.all(y * ndtr(y) * upper + norm.pdf(y) * (upper - ndtr(y)) < 0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_exponential_mechanism_exceeds_the_price(epsilon):
    """Trade-off curves of mechanisms whose scores move by at most 1 either way."""
    rng = np.random.default_rng(0)
    mu, closest = bounded_range_mu(epsilon), np.inf
    for size in (2, 3, 10):
        for _ in range(300):
            scores = 10.0**rng.uniform(-1, 1) * rng.normal(size=size)
            move = rng.choice([-1.0, 1.0], size=size) if rng.random() < 0.7 else \
                rng.uniform(-1, 1, size=size)
            if abs(move).max() == 1 and size == 2 and rng.random() < 0.5:
                scores = np.array([0.5, -0.5]) * move[0]
                move = np.array([-1.0, 1.0]) * move[0]
            p, q = (softmax(0.5 * epsilon * s) for s in (scores, scores + move))
            # Events from the largest likelihood ratio down.
            order = np.argsort(-(p / q))
            reached, allowed = np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]
            clear = (reached < 1 - 1e-9) & (allowed > 1e-9)
            gap = mu - (ndtri(reached[clear]) - ndtri(allowed[clear]))
            closest = min(closest, gap.min(initial=np.inf))
    assert closest >= -1e-9
    # Two vertices whose scores change places attain it.
    assert closest <= 1e-6 * mu


def test_the_price_is_below_that_of_pure_epsilon():
    # Randomized response at the same range would be mu-GDP only at a larger mu.
    assert bounded_range_mu(1.0) < 2 * ndtri(1 / (1 + np.exp(-1.0)))
    assert gaussian_delta(bounded_range_mu(1.0), 1.0) > 0


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.999, 1.0, 5.0, 60.0, *np.linspace(62.0, 65.0, 61),
                                100.0, 1e4, 1e8])
def test_a_choice_made_for_a_mu_costs_no_more(mu):
    assert bounded_range_mu(bounded_range_epsilon(mu)) <= mu * (1.0 + 2e-11)
