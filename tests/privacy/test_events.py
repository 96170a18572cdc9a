"""What every kind of elementary event owes the accountant, and what follows from it."""

import math
from dataclasses import astuple, dataclass, fields

import numpy as np
import pytest

from dpsk._privacy import accountant
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.event_dicts import ELEMENTARY, event_from_dict
from dpsk._privacy.events import (
    Composed,
    Disclosure,
    Elementary,
    Event,
    Gaussian,
    Pure,
    Repeated,
    SampledGaussian,
)
from dpsk._privacy.pld.composition import loss_bound
from dpsk._privacy.pld.distributions import TwoPoint
from tests.privacy.cases import EXAMPLES, LAWS, NOTHING, every_example, every_kind

EPSILONS = (0.0, 0.03, 0.5, 3.0)
LEAST = math.ulp(0.0)


@every_kind
def test_every_kind_has_examples(kind):
    assert EXAMPLES[kind] and NOTHING[kind]
    assert all(type(event) is kind for event in (*EXAMPLES[kind], *NOTHING[kind]))


@every_kind
def test_nothing_released_is_simplified_away_or_merged_away(kind):
    for event in NOTHING[kind]:
        assert accountant.merge(event).parts == ()
        assert event.pure_epsilon == 0.0
        assert accountant.delta(event, 0.0) == 0.0
        beside = Composed((Repeated(event, 5), EXAMPLES[kind][0]))
        assert accountant.delta(beside, 0.1) == accountant.delta(EXAMPLES[kind][0], 0.1)


@every_example
def test_examples_are_simplified_and_merge_to_themselves(event):
    assert event.simplified() == event
    assert accountant.merge(event).parts == ((event, 1),)


@pytest.mark.parametrize("event, simple", [
    (SampledGaussian(1.0, 4.0), Gaussian(0.5)), (SampledGaussian(1.0, 0.5), Gaussian(4.0))])
def test_some_events_are_of_a_plainer_kind(event, simple):
    assert event.simplified() == simple
    assert accountant.merge(Repeated(event, 4)).parts == ((Gaussian(2 * simple.mu), 1),)


@pytest.mark.parametrize("event", [event for event in LAWS
                                   if event.closed_form(1, 0.5) is not None], ids=repr)
def test_a_closed_form_is_that_of_the_loss_law(event):
    """Where there is one, the grid bounds it from above, within a fraction.

    Of the best of runs both are bounds, by chords between other points.
    """
    below = 5e-3 if isinstance(event, BestOf) else 1e-9
    for epsilon in EPSILONS:
        exact, _ = event.closed_form(1, epsilon)
        bound = loss_bound(((event, 1),), epsilon, tail=1e-15).delta
        assert exact * (1 - below) <= bound <= exact * 1.01 + 1e-14


@pytest.mark.thorough
@every_example
@pytest.mark.parametrize("count", [2, 7])
def test_repeating_composing_and_nesting_are_the_same(event, count):
    nested = Composed((Repeated(Composed((event,)), count - 1), event))
    for epsilon in EPSILONS:
        assert accountant.delta(nested, epsilon) == \
            accountant.delta(Repeated(event, count), epsilon)


@pytest.mark.thorough
@every_example
def test_more_releases_cost_more(event):
    for epsilon in EPSILONS:
        costs = [accountant.delta(Repeated(event, count), epsilon) for count in (1, 2, 5)]
        assert costs == sorted(costs)
        beside = accountant.delta(Composed((event, Gaussian(0.3))), epsilon)
        assert beside >= costs[0] * (1 - (5e-3 if isinstance(event, BestOf) else 1e-9))


@every_example
def test_the_pure_epsilon_is_where_delta_vanishes(event):
    assert accountant.epsilon(event, 0.0) == event.pure_epsilon
    assert accountant.epsilon(Repeated(event, 3), 0.0) == pytest.approx(3 * event.pure_epsilon)
    if math.isfinite(event.pure_epsilon):
        assert accountant.delta(event, event.pure_epsilon) == 0.0
        assert accountant.delta(event, event.pure_epsilon * (1 - 1e-9)) > 0.0


@pytest.mark.parametrize("event", [
    event for event in LAWS if not isinstance(event, BestOf) and max(astuple(event)) <= 1],
    ids=repr)
def test_the_rough_variance_is_of_the_size_of_the_squared_loss(event):
    # Only small losses are nearly normal.
    mass, loss = event.loss_law().nodes(1e-12)
    mean = mass @ loss
    assert 0.2 * event.loss_variance < mass @ (loss - mean)**2 < 5 * event.loss_variance


@pytest.mark.covering
@every_example
@pytest.mark.parametrize("epsilon", [60.0, 800.0, 1e6])
@pytest.mark.parametrize("made", [lambda e: e, lambda e: Repeated(e, 3),
                                  lambda e: Composed((e, Gaussian(0.1))),
                                  lambda e: Composed((e, SampledGaussian(0.01, 2.0)))])
def test_only_what_is_pure_has_a_delta_of_zero(event, made, epsilon):
    whole = made(event)
    delta = accountant.delta(whole, epsilon)
    if accountant.epsilon(whole, 0.0) <= epsilon:
        assert delta == 0.0
    else:
        assert delta >= LEAST


@pytest.mark.parametrize("event", [
    Gaussian(1.0), Repeated(Gaussian(1.0), 3), SampledGaussian(0.01, 1.0),
    Composed((SampledGaussian(0.01, 1.0), Pure(0.1), Gaussian(0.1)))])
def test_a_delta_below_the_smallest_double_is_still_positive(event):
    # Of a loss distribution, the mass that is left out stays.
    closed = accountant.account(event, 1e5).method == "closed form"
    assert LEAST <= accountant.delta(event, 1e5) <= (LEAST if closed else 1e-280)
    assert accountant.account(event, 1e5).delta == accountant.delta(event, 1e5)
    assert accountant.delta(event, 1.0) > 1e-10


@every_example
def test_every_field_of_an_event_is_refused_out_of_range(event):
    for field in fields(event):
        for value in (math.nan, math.inf, -1.0, "1", None, True, [1.0]):
            values = {f.name: getattr(event, f.name) for f in fields(event)}
            with pytest.raises(ValueError, match=f"^{field.name}="):
                type(event)(**{**values, field.name: value})


@every_example
def test_events_survive_a_round_trip_and_nothing_else_loads(event):
    whole = Composed((Repeated(event, 3), Repeated(Composed((event, event)), 2)))
    data = whole.to_dict()
    assert event_from_dict(data) == whole
    plain = event.to_dict()
    field = fields(event)[0].name
    for bad in ({**plain, "kind": "Event"}, {**plain, "kind": "Elementary"}, {**plain, "kind": []},
                {**plain, "more": 1}, {k: v for k, v in plain.items() if k != field},
                {**plain, field: str(plain[field])}, {**plain, field: math.nan}, [], None,
                {"kind": "Composed", "events": plain}, {"kind": "Composed", "events": [None]},
                {"kind": "Repeated", "event": plain, "count": 2.0},
                {"kind": "Repeated", "event": plain, "count": -1}, {"kind": "Repeated"}):
        with pytest.raises(ValueError):
            event_from_dict(bad)


def test_a_new_kind_needs_no_other_place():
    """A class of its own is priced, composed with others and calibrated."""
    @dataclass(frozen=True)
    class Odd(Elementary):
        width: float

        def loss_law(self):
            return TwoPoint(self.width)

        @property
        def loss_variance(self):
            return self.width**2

    for event in (Odd(0.2), Repeated(Odd(0.1), 8), Composed((Odd(0.1), Gaussian(0.3), Odd(0.1)))):
        same = _swapped(event, Odd, lambda odd: Pure(odd.width))
        for epsilon in (0.01, 0.1):
            assert accountant.delta(event, epsilon) == pytest.approx(
                accountant.delta(same, epsilon), rel=5e-3)
    scale = calibrate(lambda z: Repeated(Odd(1 / z), 10), 1.0, 1e-5)
    assert scale == pytest.approx(calibrate(lambda z: Repeated(Pure(1 / z), 10), 1.0, 1e-5),
                                  rel=1e-3)
    assert Odd not in ELEMENTARY


def _swapped(event, kind, swap):
    if isinstance(event, kind):
        return swap(event)
    if isinstance(event, Repeated):
        return Repeated(_swapped(event.event, kind, swap), event.count)
    if isinstance(event, Composed):
        return Composed(tuple(_swapped(part, kind, swap) for part in event.events))
    return event


def test_an_elementary_event_without_a_law_is_refused_by_name():
    @dataclass(frozen=True)
    class Lawless(Elementary):
        size: float

    with pytest.raises(NotImplementedError, match="Lawless"):
        accountant.delta(Lawless(1.0), 1.0)
    with pytest.raises(TypeError, match="Event is not an event the accountant knows"):
        accountant.delta(Event(), 1.0)


def test_many_gaussians_add_in_quadrature_and_never_overflow():
    mus = np.random.default_rng(0).uniform(0, 1, 30)
    whole = Composed(tuple(Gaussian(float(mu)) for mu in mus))
    assert accountant.merge(whole).mu == pytest.approx(np.sqrt(np.sum(mus**2)), rel=1e-14)
    huge = Repeated(Gaussian(1.7e308), 9)
    assert accountant.delta(huge, 1e300) == 1.0
    assert accountant.delta(Composed((huge, Pure(0.1))), 1.0) == 1.0


@pytest.mark.thorough
@pytest.mark.parametrize("other", [Gaussian(0.4), Pure(0.4), SampledGaussian(0.01, 1.0)], ids=repr)
def test_a_disclosure_adds_to_the_delta_of_others_and_nothing_to_their_epsilon(other):
    for chance, count in ((1e-7, 1), (1e-3, 3)):
        both = Composed((other, Repeated(Disclosure(chance), count)))
        never = (1 - chance)**count
        for epsilon in EPSILONS:
            exact = 1 - never * (1 - accountant.delta(other, epsilon))
            assert exact * (1 - 1e-12) <= accountant.delta(both, epsilon) <= exact * (1 + 1e-9)
        assert accountant.epsilon(both, 1 - never) == math.inf
        found = accountant.epsilon(both, 0.01)
        assert accountant.delta(both, found) <= 0.01
        assert found == pytest.approx(
            accountant.epsilon(other, (0.01 - 1 + never) / never), rel=1e-5)


def test_noise_is_calibrated_beside_a_disclosure():
    def event(scale):
        return Composed((Gaussian(1 / scale), Disclosure(4e-6)))

    scale = calibrate(event, 1.0, 1e-5)
    assert accountant.delta(event(scale), 1.0) <= 1e-5
    assert accountant.delta(event(scale * (1 - 1e-6)), 1.0) > 1e-5
    with pytest.raises(ValueError, match="raise delta"):
        calibrate(event, 1.0, 4e-6)
