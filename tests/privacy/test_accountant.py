"""Rules of composition: what merges, what adds, and which bound applies."""

import math
from collections import defaultdict

import mpmath
import pytest

from dpsk._privacy.accountant import account, delta, epsilon
from dpsk._privacy.closed_forms import gaussian_delta
from dpsk._privacy.events import Composed, Gaussian, Pure, Repeated, SampledGaussian

NOTHING = Composed(())
MIXED = Composed((Repeated(Gaussian(0.05), 10), Repeated(SampledGaussian(0.01, 1.5), 200)))


def test_gaussians_merge_to_one():
    event = Composed((Repeated(Gaussian(0.3), 4), Gaussian(0.8), Gaussian(0.0)))
    result = account(event, 1.2)
    assert result.method == "closed form"
    assert result.delta == pytest.approx(gaussian_delta(1.0, 1.2), rel=1e-10)
    assert result.delta >= gaussian_delta(1.0, 1.2)


def test_sampling_everything_is_a_gaussian_and_sampling_nothing_is_nothing():
    full = Repeated(SampledGaussian(1.0, 4.0), 9)
    assert account(full, 1.0) == account(Gaussian(1.5), 1.0)
    assert delta(SampledGaussian(0.0, 0.1), 0.0) == 0.0
    assert delta(Composed((full, SampledGaussian(0.0, 1.0))), 1.0) == delta(full, 1.0)


def test_nothing_released_costs_nothing():
    for event in (NOTHING, Repeated(Gaussian(1.0), 0), Pure(0.0)):
        assert delta(event, 0.0) == 0.0
        assert epsilon(event, 0.0) == 0.0
        assert epsilon(event, 1e-6) == 0.0


@pytest.mark.parametrize("events, limit", [
    ([(0.1, 10)], 1.0), ([(2.73914, 20)], 54.78279999999993), ([(1.07, 1), (0.9974, 3)], 4.0622),
    ([(0.2, 2), (0.89, 3)], 3.07)])
def test_sums_of_losses_that_exceed_epsilon_by_their_rounding_only_are_seen(events, limit):
    event = Composed(tuple(Repeated(Pure(each), count) for each, count in events))
    with mpmath.workdps(60):
        law = {mpmath.mpf(0): mpmath.mpf(1)}
        for each in (mpmath.mpf(each) for each, count in events for _ in range(count)):
            chance, found = 1 / (1 + mpmath.exp(-each)), defaultdict(mpmath.mpf)
            for loss, mass in law.items():
                found[loss + each] += mass * chance
                found[loss - each] += mass * (1 - chance)
            law = found
        truth = mpmath.fsum(mass * (1 - mpmath.exp(limit - loss)) for loss, mass in law.items()
                            if loss > limit)
        most = mpmath.fsum(mpmath.mpf(each) * count for each, count in events)
    assert 0.0 < truth <= delta(event, limit)
    assert most <= epsilon(event, 0.0) <= most * (1 + 1e-15)


def test_bounded_releases_add():
    event = Composed((Repeated(Pure(0.1), 3), Pure(0.5)))
    assert epsilon(event, 0.0) == pytest.approx(0.8)
    assert delta(event, 0.8000001) == 0.0
    assert 0 < delta(event, 0.7) < delta(event, 0.1) < 1
    assert epsilon(event, 1e-3) < 0.8


def test_equal_bounded_releases_compose_optimally():
    result = account(Repeated(Pure(0.1), 50), 2.0)
    assert result.method == "optimal composition"
    with mpmath.workdps(40):
        base = mpmath.mpf(0.1)
        exact = sum(mpmath.binomial(50, k) * max(0, mpmath.exp((50 - k) * base)
                                                 - mpmath.exp(2 + k * base))
                    for k in range(51)) / (1 + mpmath.exp(base)) ** 50
    assert exact <= result.delta <= exact * (1 + 1e-9)


def test_loss_distribution_reports_how():
    result = account(MIXED, 1.0)
    assert result.method == "loss distribution"
    assert 0 <= result.fft_share < 1e-6
    assert 0 < result.grid_step <= 2e-3


@pytest.mark.covering(most=8)
@pytest.mark.parametrize("target", [1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("event", [
    MIXED, Gaussian(0.7), Repeated(SampledGaussian(0.02, 1.0), 100), Repeated(Pure(0.05), 40),
    Composed((Gaussian(0.2), Repeated(Pure(0.05), 10))), Composed((Pure(0.3), Pure(0.4)))])
def test_epsilon_is_private_and_tight(event, target):
    found = epsilon(event, target)
    assert delta(event, found) <= target
    if found > 1e-9:
        assert delta(event, found * (1 - 1e-5)) > target


def test_very_small_delta_is_reached():
    event = Repeated(SampledGaussian(0.01, 1.5), 100)
    for target in (1e-14, 1e-30, 1e-60):
        found = epsilon(event, target)
        assert math.isfinite(found) and delta(event, found) <= target


def test_delta_zero_needs_bounded_losses():
    assert epsilon(Gaussian(0.1), 0.0) == math.inf
    assert epsilon(Composed((Pure(0.1), SampledGaussian(0.1, 1.0))), 0.0) == math.inf


def test_everything_is_private_at_delta_one():
    assert epsilon(Gaussian(100.0), 1.0) == 0.0
    assert epsilon(MIXED, 1.0) == 0.0


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_epsilon_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match="epsilon="):
        delta(Gaussian(1.0), value)


@pytest.mark.parametrize("value", [-1e-9, math.nan, 1.5])
def test_delta_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match="delta="):
        epsilon(Gaussian(1.0), value)


def test_an_unknown_event_is_refused_by_name():
    with pytest.raises(TypeError, match="str"):
        account("noise", 1.0)
