"""Certificates of several fits add up to one, and are compared by their curves."""

import math
from dataclasses import replace

import pytest

from dpsk import Certificate
from dpsk._privacy import accountant
from dpsk._privacy.certificate import GROUP_RELATION
from dpsk._privacy.events import Composed, Gaussian, NotPrivate, Pure
from dpsk.accounting import total
from tests.privacy.cases import every_example
from tests.privacy.test_certificate import SAMPLED, certificate

NOISELESS = replace(certificate(SAMPLED), epsilon=math.inf, event=NotPrivate(),
                    noise_multiplier=0.0)


@pytest.mark.thorough
@every_example
def test_a_sum_is_what_all_events_cost(event):
    one, other = certificate(event, 8.0), certificate(Gaussian(0.3), 4.0)
    both = one + other
    assert both.delta == one.delta + other.delta
    assert accountant.merge(both.event) == accountant.merge(Composed((event, Gaussian(0.3))))
    assert both.epsilon == min(12.0, accountant.epsilon(both.event, both.delta))
    assert Certificate.from_json(both.to_json()) == both


def test_a_sum_states_all_that_its_parts_do():
    one = certificate(SAMPLED)
    other = replace(one, estimator="DPOther", public=("n_samples", "weights"), reproducible=True,
                    noise_source="a seed", arithmetic="float", noise_multiplier=1.0)
    both = sum([one, other])
    assert both.estimator == "DPSomething + DPOther"
    assert both.public[:3] == ("n_samples", "n_features", "weights")
    assert "fixed before the first" in both.public[3]
    assert both.reproducible
    assert both.noise_source == "a generator; a seed"
    assert both.arithmetic == "float"
    assert both.noise_multiplier == 1.0
    assert total(one, other) == both
    assert total(one) == one


def test_one_fit_without_noise_leaves_no_guarantee():
    both = certificate(SAMPLED) + NOISELESS
    assert not both.is_private
    assert both.noise_multiplier == 0.0
    both.verify()


def test_a_sum_with_a_budget_rests_on_what_its_other_fits_do():
    """Of seeds, too, if the budget only says it of its own releases."""
    one = replace(certificate(SAMPLED), reproducible=True)
    seed = "nobody knows or guesses the seed"
    budget = replace(one, estimator="PrivacyBudget", public=(
        f"{seed}, in releases whose noise repeats under one (release 1)",))
    assert seed in one.assumed and seed not in budget.assumed
    assert {*one.assumed, *budget.assumed} <= {*(budget + one).assumed}


def test_a_claim_is_shown_where_no_guarantee_rests_on_it():
    shown = replace(NOISELESS, public=("that maps read one row",))
    assert not shown.assumed and "that maps read one row" in str(shown)


def test_what_does_not_add_up_is_refused():
    one = certificate(SAMPLED)
    with pytest.raises(ValueError, match="do not add up"):
        one + replace(one, relation=GROUP_RELATION)
    with pytest.raises(ValueError, match="add up to 1"):
        replace(one, delta=0.6) + replace(one, delta=0.4)
    with pytest.raises(TypeError):
        one + 1.0
    with pytest.raises(TypeError, match="has no certificate"):
        total(one, object())


def test_a_guarantee_is_at_least_as_strong_where_its_curve_is_below():
    weak, strong = certificate(Gaussian(1.0)), certificate(Gaussian(0.9))
    assert strong <= weak
    assert weak >= strong
    assert not weak <= strong
    assert weak <= NOISELESS
    assert not NOISELESS <= weak
    pure = certificate(Pure(0.5), delta=0.0)
    assert pure <= pure + weak


def test_curves_that_cross_are_not_comparable():
    pure, normal = certificate(Pure(0.5), delta=0.0), certificate(Gaussian(0.45))
    assert accountant.delta(pure.event, 0.0) > accountant.delta(normal.event, 0.0)
    assert accountant.delta(pure.event, 1.0) < accountant.delta(normal.event, 1.0)
    assert not pure <= normal
    assert not normal <= pure
    assert not pure <= replace(pure, relation=GROUP_RELATION)
