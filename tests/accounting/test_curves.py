"""The public functions say what the accountant says, of one event or several, at many points."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpsk import accounting
from dpsk.accounting import Composed, Gaussian, NotPrivate, Pure, Repeated, SampledGaussian
from tests.events import tally
from tests.privacy.cases import every_example
from tests.privacy.test_certificate import SAMPLED, certificate

POINTS = np.array([[0.0, 0.5], [1.0, 4.0]])


@pytest.mark.covering(most=6)
@every_example
def test_values_at_many_points_are_those_at_each(event):
    deltas = accounting.delta(event, POINTS)
    assert deltas.shape == POINTS.shape
    assert deltas.tolist() == [[accounting.delta(event, e) for e in row] for row in POINTS]
    spent = np.array([1e-9, 1e-3])
    assert accounting.epsilon(event, spent).tolist() == [
        accounting.epsilon(event, d) for d in spent]
    assert isinstance(accounting.delta(event, 1.0), float)


@pytest.mark.parametrize("events", [
    SAMPLED, certificate(SAMPLED), [SAMPLED], [certificate(SAMPLED)],
    list(SAMPLED.events), [[SAMPLED.events[0]], SAMPLED.events[1]]], ids=range(6))
def test_events_certificates_and_lists_stand_for_the_same(events):
    assert accounting.delta(events, 1.0) == accounting.delta(SAMPLED, 1.0)
    assert tally(accounting.compose(events)) == tally(SAMPLED)


@pytest.mark.parametrize("events", [1.0, "Gaussian", {"kind": "Gaussian"}, [Gaussian(1.0), 2]])
def test_what_is_no_event_is_refused(events):
    with pytest.raises(TypeError, match=r"is no event; give events of dpsk\.accounting"):
        accounting.delta(events, 1.0)


@pytest.mark.parametrize(("call", "match"), [
    (lambda: accounting.epsilon(SAMPLED, [0.1, 1.1]), r"delta=1\.1: must be in \[0, 1\]"),
    (lambda: accounting.delta(SAMPLED, -1.0), r"epsilon=-1\.0: must be a finite number"),
    (lambda: accounting.noise_multiplier(Gaussian, 0.0, 1e-5), "epsilon=0"),
    (lambda: accounting.noise_multiplier(Gaussian, 1.0, 1.0), "delta=1"),
    (lambda: accounting.type_two_error(SAMPLED, [0.5, 2.0]), "type_one_error="),
    (accounting.total, r"certificates=\(\): must be at least one"),
])
def test_values_out_of_range_are_refused_by_name(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_a_noise_multiplier_is_on_the_private_side_and_no_larger_than_it_must_be():
    def plan(noise_multiplier):
        return Repeated(SampledGaussian(0.1, noise_multiplier), 50)

    found = accounting.noise_multiplier(plan, 1.0, 1e-5)
    assert accounting.delta(plan(found), 1.0) <= 1e-5
    assert accounting.delta(plan(found * 0.999), 1.0) > 1e-5


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_errors_of_gaussian_releases_have_a_closed_form(mu):
    alpha = np.linspace(0, 1, 21)
    errors = accounting.type_two_error(Gaussian(mu), alpha)
    np.testing.assert_allclose(errors, ndtr(ndtri(1 - alpha) - mu), atol=1e-15)
    # The other way, through the curve, is a lower bound that is nearly attained.
    curve = accounting.type_two_error([Gaussian(mu), Pure(1e-9)], alpha)
    assert np.all(curve <= errors + 1e-9)
    assert np.max(errors - curve) < 0.02


def test_errors_of_randomized_response_are_its_own():
    epsilon = 1.0
    alpha = np.array([0.0, 0.1, 1 / (1 + math.e), 0.6, 1.0])
    exact = np.maximum(0, np.maximum(1 - math.e * alpha, (1 - alpha) / math.e))
    errors = accounting.type_two_error(Pure(epsilon), alpha)
    assert np.all(errors <= exact + 1e-12)
    assert np.max(exact - errors) < 1e-9


def test_what_has_no_noise_tells_all():
    events = Composed((Gaussian(1.0), NotPrivate()))
    assert accounting.epsilon(events, 0.5) == math.inf
    assert accounting.type_two_error(events, [0.0, 0.3, 1.0]).tolist() == [0.0, 0.0, 0.0]


def test_errors_at_levels_that_one_minus_rounds_away_are_exact():
    alpha = np.array([1e-20, 1e-17, 1e-12])
    # From mpmath at 40 digits.
    exact = [0.23036057, 0.0660070503, 0.00151087728]
    np.testing.assert_allclose(accounting.type_two_error(Gaussian(10.0), alpha), exact, rtol=1e-5)
