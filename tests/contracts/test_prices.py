"""Noise follows from price: of every law, and of every answer of every fit.

What one unit moves is held against rows in test_neighbors; here the noise is held against that.
"""

import math

import numpy as np
import pytest

from dpsk import DPAUCMaximizer, DPGroupDROClassifier
from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._privacy.closed_forms import bounded_range_mu, bounded_range_width
from dpsk._privacy.events import Dominated, Gaussian, NotPrivate, Pure, SampledGaussian
from tests.contracts.tapes import every_case, fixed_streams, make, table, taped
from tests.registry import takes_no_set

NORMAL = ("standard_normal", "symmetric_normal", lambda stream, shape: np.zeros(shape))
EXPONENTIAL = ("laplace", "gamma_norm")


@pytest.mark.parametrize("law", NORMAL)
@pytest.mark.parametrize("moved", [1e-9, 2.0, 3e7])
def test_normal_noise_is_what_gaussian_prices_say(law, moved):
    assert derived_scale(Gaussian(0.5), moved, law) == moved / 0.5
    assert derived_scale(SampledGaussian(0.1, 3.0), moved, law) == 1.5 * moved


@pytest.mark.parametrize("law", EXPONENTIAL)
def test_exponential_noise_is_what_pure_prices_say(law):
    assert derived_scale(Pure(0.25), 2.0, law) == 8.0


@pytest.mark.parametrize("mu", np.geomspace(1e-6, 200.0, 60))
def test_a_choice_costs_no_more_than_its_price_and_hardly_less(mu):
    width = bounded_range_width(mu)
    assert 0.999999 * mu <= bounded_range_mu(width) <= mu or mu > 2.0 * math.sqrt(999.0)
    assert bounded_range_mu(width) <= mu
    assert derived_scale(Gaussian(mu), 2.0, "gumbel") == 2.0 / width
    assert derived_scale(Pure(mu), 2.0, "gumbel") == 2.0 / mu


@pytest.mark.parametrize("event, law", [
    *((Pure(1.0), law) for law in NORMAL), *((Gaussian(1.0), law) for law in EXPONENTIAL),
    *((SampledGaussian(0.1, 1.0), law) for law in (*EXPONENTIAL, "gumbel")),
    *((Dominated(0.1, 0.1), law) for law in (*NORMAL, *EXPONENTIAL, "gumbel")),
    (Gaussian(0.0), "standard_normal"), (Pure(0.0), "laplace")])
def test_a_price_that_rests_on_another_law_is_refused(event, law):
    with pytest.raises(RuntimeError, match="No noise of the law"):
        derived_scale(event, 1.0, law)


def test_nothing_is_noised_at_no_price():
    assert derived_scale(NotPrivate(), 1.0) == 0.0
    with pytest.raises(RuntimeError, match="has noise"):
        Sensitivity(1.0, unit=1.0).noise(NotPrivate())


def _price(event):
    """Return what an event allows an array to move, over the scale of its noise, by its law."""
    if isinstance(event, SampledGaussian):
        return {"normal": 2.0 / event.noise_multiplier}
    if isinstance(event, Gaussian):
        return {"normal": event.mu, "gumbel": bounded_range_width(event.mu)}
    return dict.fromkeys((*EXPONENTIAL, "gumbel"), event.epsilon)


@pytest.mark.covering(most=60)
@every_case
@pytest.mark.parametrize("epsilon", [0.5, 4.0, 30.0])
def test_the_scale_times_the_price_is_what_a_unit_moves(cls, solver, variant, epsilon):
    if epsilon < 1.0 and takes_no_set(cls, solver):
        pytest.skip("refused, as so little budget needs a ball")
    with fixed_streams(), taped() as tape:
        table(cls, variant).fit(make(cls, solver, variant, epsilon=epsilon))
    assert tape.events
    for (event, *_), noises in zip(tape.events, tape.parts, strict=True):
        for noise in noises:
            known = noise.sensitivity
            law = known.law if known.law in (*EXPONENTIAL, "gumbel") else "normal"
            covered = noise.scale * _price(event)[law]
            # More than that is for rounding alone.
            assert known.moved * (1.0 - 1e-14) <= covered <= known.moved * (1.0 + 1e-6)


@pytest.mark.parametrize("cls", [DPAUCMaximizer, DPGroupDROClassifier])
@pytest.mark.parametrize("batch_size", [10**6, 21])
def test_both_blocks_of_a_saddle_problem_cost_their_price_together(cls, batch_size):
    """A row may move both by twice their clips at once, whatever tables here move them by."""
    with fixed_streams(), taped() as tape:
        model = table(cls, "plain").fit(make(cls, "sgda", batch_size=batch_size))
    clips = {line.name: line.value for line in model.privacy_.enforced}
    moves = 2.0 * clips["clip_norm"], 2.0 * clips["dual_clip_norm"]
    joint = [(event, noises) for (event, *_), noises in zip(tape.events, tape.parts, strict=True)
             if len(noises) == 2]
    assert joint
    for event, noises in joint:
        cost = math.hypot(*(move / noise.scale for move, noise in zip(moves, noises, strict=True)))
        # Later weights of groups, which are released, move the primal block and its noise alike.
        weighted = cls is DPGroupDROClassifier and noises is not joint[0][1]
        assert (0.0 if weighted else 0.99) * _price(event)["normal"] <= cost
        assert cost <= _price(event)["normal"]
