"""Calibrated noise is private, tight, cached where safe, and refuses what has no answer."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpsk import noise_scale
from dpsk._privacy import accountant
from dpsk._privacy.bracket import smallest_passing
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Composed, Gaussian, Pure, Repeated, SampledGaussian

FAMILIES = {
    "full batch": lambda z: Repeated(Gaussian(2 / z), 100),
    "full batch and a fixed part": lambda z: Composed((Gaussian(2 / z), Gaussian(0.01))),
    "sampled": lambda z: Repeated(SampledGaussian(0.01, z), 500),
    "anchors": lambda z: Composed((Repeated(Gaussian(0.1 / z), 9),
                                   Repeated(SampledGaussian(0.02, z), 100))),
    "bounded": lambda z: Repeated(Pure(1 / z), 30),
    "mixed": lambda z: Composed((Gaussian(1 / z), Repeated(Pure(0.1 / z), 20))),
}


@pytest.mark.parametrize("delta", [1e-10, 1e-5])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_result_is_private_and_tight(name, epsilon, delta):
    make_event = FAMILIES[name]
    scale = calibrate(make_event, epsilon, delta)
    assert accountant.delta(make_event(scale), epsilon) <= delta
    slack = 1e-9 if name.startswith("full batch") else 1e-5
    assert accountant.delta(make_event(scale * (1 - slack)), epsilon) > delta


def test_pure_calibration_solves_epsilon():
    scale = calibrate(lambda z: Composed((Repeated(Pure(1 / z), 4), Pure(0.2))), 1.0, 0.0)
    assert scale == pytest.approx(5.0, rel=1e-9)
    assert accountant.epsilon(Repeated(Pure(1 / scale), 4), 0.0) <= 0.8 * (1 + 1e-9)


@pytest.mark.parametrize("factor, private", [(2 / 3, False), (1.0, True), (3 / 2, True)])
def test_other_scales_are_told_apart(factor, private):
    make_event = FAMILIES["sampled"]
    scale = calibrate(make_event, 1.0, 1e-5) * factor
    spent = accountant.delta(make_event(scale), 1.0)
    assert (spent <= 1e-5) is private
    assert (spent > 0.999e-5) is (factor <= 1)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_epsilon_is_checked(epsilon):
    with pytest.raises(ValueError, match="epsilon="):
        calibrate(FAMILIES["full batch"], epsilon, 1e-5)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, math.nan])
def test_delta_is_checked(delta):
    with pytest.raises(ValueError, match="delta="):
        calibrate(FAMILIES["full batch"], 1.0, delta)


@pytest.mark.parametrize("name", ["full batch", "sampled", "anchors", "mixed"])
def test_delta_zero_is_refused_for_gaussian_noise(name):
    with pytest.raises(ValueError, match=r"delta=0\.0.*1/n\*\*2"):
        calibrate(FAMILIES[name], 1.0, 0.0)


@pytest.mark.parametrize("q, steps", [(1e-4, 1), (1e-6, 100), (0.01, 5)])
def test_no_vanishing_noise(q, steps):
    seen = -math.expm1(steps * math.log1p(-q))
    family = lambda z: Repeated(SampledGaussian(q, z), steps)  # noqa: E731
    for delta in (seen, 2 * seen):
        with pytest.raises(ValueError, match=r"delta=.*no noise at all.*1/n\*\*2"):
            calibrate(family, 1.0, delta)
    assert calibrate(family, 1.0, 0.9 * seen) > 0.05


def test_no_noise_is_enough_when_a_fixed_part_exceeds_the_budget():
    for family in (lambda z: Composed((Gaussian(1 / z), Gaussian(5.0))),
                   lambda z: Composed((SampledGaussian(0.1, z), Gaussian(5.0)))):
        with pytest.raises(ValueError, match="no noise is enough"):
            calibrate(family, 1.0, 1e-5)


def test_an_empty_event_is_refused():
    with pytest.raises(ValueError, match="make_event"):
        calibrate(lambda z: Repeated(SampledGaussian(0.0, z), 5), 1.0, 1e-5)


def test_frozen_families_are_cached_and_others_are_not():
    calls = []

    @dataclass(frozen=True)
    class Frozen:
        steps: int

        def __call__(self, scale):
            calls.append(scale)
            return Repeated(Gaussian(2 / scale), self.steps)

    first = calibrate(Frozen(7), 1.0, 1e-5)
    made = len(calls)
    assert calibrate(Frozen(7), 1.0, 1e-5) == first
    assert len(calls) == made
    assert calibrate(Frozen(8), 1.0, 1e-5) > first

    steps = [1]
    family = lambda z: Repeated(Gaussian(2 / z), steps[0])  # noqa: E731
    one = calibrate(family, 1.0, 1e-5)
    steps[0] = 4
    assert calibrate(family, 1.0, 1e-5) == pytest.approx(2 * one)


def test_noise_scale_is_on_the_sum_and_linear_in_the_sensitivity():
    full = noise_scale(1.0, 1e-5, steps=100, n_samples=1000, sensitivity=1.0)
    assert full == pytest.approx(74.61263269631884, rel=1e-9)
    sampled = noise_scale(1.0, 1e-5, steps=1000, batch_size=10, n_samples=1000, sensitivity=3.0)
    assert sampled == pytest.approx(3 * 2.36445, rel=1e-4)
    everything = noise_scale(1.0, 1e-5, steps=100, batch_size=1000, n_samples=1000,
                             sensitivity=1.0)
    assert everything == pytest.approx(full, rel=1e-9)


def test_noise_scale_accepts_numpy_scalars():
    plain = noise_scale(1.0, 1e-5, steps=50, batch_size=8, n_samples=100, sensitivity=2.0)
    arrays = noise_scale(np.float64(1.0), np.float64(1e-5), steps=np.int64(50),
                         batch_size=np.int32(8), n_samples=np.int64(100),
                         sensitivity=np.float32(2.0))
    assert arrays == plain and type(arrays) is float


@pytest.mark.parametrize("change", [
    {"steps": 0}, {"steps": 1.5}, {"steps": True}, {"n_samples": 1}, {"n_samples": 10.0},
    {"batch_size": 0}, {"batch_size": 101}, {"batch_size": math.nan}, {"sensitivity": 0.0},
    {"sensitivity": math.inf}, {"sensitivity": math.nan}])
def test_noise_scale_refusals_name_the_parameter(change):
    good = {"steps": 10, "n_samples": 100, "batch_size": 10, "sensitivity": 1.0}
    with pytest.raises(ValueError, match=f"^{next(iter(change))}="):
        noise_scale(1.0, 1e-5, **{**good, **change})


@pytest.mark.parametrize("guess", [1e-3, 1.0, 900.0])
@pytest.mark.parametrize("excess, root", [
    (lambda x: 3 - x, 3.0), (lambda x: -math.log(x / 40), 40.0),
    (lambda x: 1.0 if x < 7 else -1.0, 7.0), (lambda x: math.inf if x < 2 else -math.inf, 2.0),
    (lambda x: math.nan if x < 5 else 6 - x, 6.0)])
def test_bracketing_returns_the_passing_side(excess, root, guess):
    found, _ = smallest_passing(excess, guess, rtol=1e-8)
    assert excess(found) <= 0
    assert root <= found <= root * (1 + 1e-7)


def test_bracketing_gives_up_at_its_limits():
    assert smallest_passing(lambda x: 1.0, 1.0, high=1e6)[0] == math.inf
    assert smallest_passing(lambda x: -1.0, 1.0, low=1e-6)[0] <= 1e-6
