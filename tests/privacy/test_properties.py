"""What holds for any events, any charges and any budget."""

import json
import math
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.event_dicts import ELEMENTARY, event_from_dict
from dpsk._privacy.events import Composed, Gaussian, Pure, Repeated, SampledGaussian, tally
from dpsk._privacy.ledger import Ledger
from tests.privacy.strategies import ELEMENTS, cheap_events, elementary, events, quick

#: What a bound from the grid may exceed the truth by, which makes nearby answers cross.
GRID = 1 + 5e-3
epsilons = st.floats(0.0, 6.0)


def resolved(event):
    """Return a delta below which bounds of an event are valid, but may be far above the truth.

    Beside many releases, the few large losses of a tiny sampling rate are not resolved in the
    rounding of a transform.
    """
    sampled = any(isinstance(part, SampledGaussian) for part in tally(event))
    return 1e-20 if sampled else 1e-280


def test_every_kind_is_drawn():
    assert ELEMENTS.keys() == set(ELEMENTARY)


# Events


@quick
@given(events)
def test_events_survive_json(event):
    again = event_from_dict(json.loads(json.dumps(event.to_dict())))
    assert again == event and hash(again) == hash(event)
    assert tally(again) == tally(event)


@quick
@given(events, st.integers(0, 4))
def test_counts_multiply_and_add(event, count):
    whole = Composed((Repeated(event, count), event))
    expected = Counter({part: (count + 1) * n for part, n in tally(event).items()})
    assert tally(whole) == expected


# The accountant


@quick
@given(events, epsilons, epsilons)
def test_delta_falls_with_epsilon(event, one, other):
    low, high = sorted((one, other))
    least = accountant.delta(event, low) * GRID + resolved(event)
    assert 0 <= accountant.delta(event, high) <= least <= GRID + resolved(event)


@settings(quick, max_examples=20)
@given(events, epsilons, st.integers(0, 4), st.integers(0, 4))
def test_delta_grows_with_the_count(event, epsilon, count, more):
    fewer = accountant.delta(Repeated(event, count), epsilon)
    least = accountant.delta(Repeated(event, count + more), epsilon) * GRID + resolved(event)
    assert fewer <= least


@settings(quick, max_examples=20)
@given(events, elementary, epsilons)
def test_delta_grows_with_what_is_released_beside(event, other, epsilon):
    composed = Composed((event, other))
    both = accountant.delta(composed, epsilon) * GRID + resolved(composed)
    assert accountant.delta(event, epsilon) <= both
    assert accountant.delta(other, epsilon) <= both


@settings(quick, max_examples=quick.max_examples // 5)
@given(st.floats(0.01, 2.0), st.floats(1.0, 3.0), st.floats(1e-3, 0.3), st.floats(1.0, 20.0),
       st.floats(0.0, 6.0))
def test_delta_grows_with_what_makes_an_event_stronger(mu, times, rate, noise, epsilon):
    pairs = [(Gaussian(mu), Gaussian(times * mu)), (Pure(mu), Pure(times * mu)),
             (SampledGaussian(rate, noise), SampledGaussian(times * rate, noise)),
             (SampledGaussian(rate, times * noise), SampledGaussian(rate, noise))]
    for weak, strong in pairs:
        least = accountant.delta(strong, epsilon) * GRID + 1e-280
        assert accountant.delta(weak, epsilon) <= least


@quick
@given(cheap_events, cheap_events, epsilons, epsilons)
def test_budgets_of_two_releases_add(event, other, epsilon, more):
    """Basic composition: the accountant may be better, never worse."""
    apart = accountant.delta(event, epsilon) + accountant.delta(other, more)
    both = accountant.delta(Composed((event, other)), epsilon + more)
    assert both <= min(1.0, apart) * GRID + 1e-300 or apart < 1e-12


@quick
@given(events, epsilons)
def test_a_delta_of_zero_is_a_pure_epsilon(event, epsilon):
    pure = accountant.epsilon(event, 0.0)
    assert (accountant.delta(event, epsilon) == 0) == (pure <= epsilon)


@quick
@given(cheap_events, st.floats(1e-12, 0.5))
def test_epsilon_at_delta_is_private(event, delta):
    assert accountant.delta(event, accountant.epsilon(event, delta)) <= delta


# Calibration

FAMILIES = st.sampled_from([
    lambda z: Gaussian(2 / z), lambda z: Repeated(Gaussian(1 / z), 30),
    lambda z: Repeated(Pure(1 / z), 20), lambda z: Pure(2 / z),
    lambda z: Composed((Gaussian(1 / z), Repeated(Pure(0.1 / z), 5))),
    lambda z: Repeated(SampledGaussian(0.05, z), 40),
    lambda z: Composed((Repeated(SampledGaussian(0.1, 2 * z), 9), Gaussian(0.1 / z)))])


@quick
@given(FAMILIES, st.floats(0.05, 8.0), st.floats(-9.0, -2.0))
def test_the_scale_is_private_and_two_thirds_of_it_is_not(family, epsilon, log_delta):
    delta = 10.0**log_delta
    scale = calibrate(family, epsilon, delta)
    assert accountant.delta(family(scale), epsilon) <= delta
    assert accountant.delta(family(2 / 3 * scale), epsilon) > delta
    assert accountant.delta(family(1.5 * scale), epsilon) < delta


@quick
@given(st.floats(0.01, 20.0), st.integers(1, 50), st.floats(0.0, 3.0))
def test_a_pure_scale_is_private_and_two_thirds_of_it_is_not(epsilon, count, fixed):
    assume(fixed < 0.9 * epsilon)

    def family(z):
        return Composed((Repeated(Pure(1 / z), count), Pure(fixed)))

    scale = calibrate(family, epsilon, 0.0)
    assert accountant.epsilon(family(scale), 0.0) <= epsilon
    assert accountant.epsilon(family(2 / 3 * scale), 0.0) > epsilon


# The ledger

KINDS = (Gaussian(0.1), Gaussian(0.2), Pure(0.1), SampledGaussian(0.1, 1.0))
plans = st.dictionaries(st.sampled_from(KINDS[:3]), st.integers(0, 6), max_size=3)
#: (which group, None for all rows; which event; how many).
charges = st.lists(st.tuples(st.sampled_from([None, 0, 1, 2]), st.sampled_from(KINDS[:2]),
                             st.integers(1, 3)), min_size=8, max_size=15)


def _planned(plan):
    return Composed(tuple(Repeated(event, count) for event, count in plan.items()))


@quick
@given(plans, st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 3)), max_size=15))
def test_a_ledger_takes_what_is_planned_and_nothing_beyond(plan, asked):
    ledger, left, taken = Ledger(_planned(plan)), Counter(plan), Counter()
    for event, count in asked:
        if count <= left[event]:
            ledger.charge(event, count)
            left[event] -= count
            taken[event] += count
        else:
            with pytest.raises(RuntimeError, match="not in the declared plan"):
                ledger.charge(event, count)
        assert tally(ledger.spent) == +taken


@quick
@given(st.fixed_dictionaries({KINDS[0]: st.integers(2, 9)}), charges, st.integers(0, 3))
def test_no_row_of_any_group_pays_more_than_the_plan(plan, asked, before):
    """Every row is in one of three groups, made after `before` charges to all rows."""
    ledger, groups = Ledger(_planned(plan)), None
    paid = [Counter() for _ in range(3)]
    for turn, (group, event, count) in enumerate(asked):
        if turn == before:
            groups = ledger.groups(3)
        alone = groups is not None and group is not None
        payers = [paid[group]] if alone else paid
        fits = all(payer[event] + count <= plan.get(event, 0) for payer in payers)
        book = groups[group] if alone else ledger
        if fits:
            book.charge(event, count)
            for payer in payers:
                payer[event] += count
        else:
            with pytest.raises(RuntimeError, match="not in the declared plan"):
                book.charge(event, count)
        for event in KINDS:
            most = max(payer[event] for payer in paid)
            assert tally(ledger.spent)[event] == most <= plan.get(event, 0)


@quick
@given(plans, st.integers(1, 3))
def test_what_was_spent_costs_no_more_than_the_plan(plan, epsilon):
    ledger = Ledger(_planned(plan))
    for event, count in plan.items():
        if count > 1:
            ledger.charge(event, count - 1)
    spent, planned = (accountant.delta(event, epsilon) for event in (ledger.spent, ledger.plan))
    assert spent <= planned * GRID


@quick
@given(st.integers(0, 3))
def test_rows_are_in_groups_once(count):
    ledger = Ledger(_planned({KINDS[0]: 2}))
    assert len(ledger.groups(count + 1)) == count + 1
    with pytest.raises(RuntimeError, match="in groups already"):
        ledger.groups(2)


def test_a_ledger_does_not_change_with_its_plan():
    plan = Composed((Repeated(KINDS[0], 2),))
    ledger = Ledger(plan)
    ledger.charge(KINDS[0], 2)
    assert ledger.plan is plan and math.isfinite(accountant.epsilon(ledger.spent, 1e-6))
