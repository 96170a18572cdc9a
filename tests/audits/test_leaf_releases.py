"""Sums over leaves and cuts of trees, audited as they leave their releases.

A row at the clip norm turns its slope around: its leaf's sum of slopes moves by 2 clip norms,
which all of the price is for, and that of sizes stays. Of two candidates it raises the score of
one by 2 clip norms and lowers that of the other by as much.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from audit_settings import EPSILON
from normal_releases import MU, bounds, scale_is_accepted
from test_choices import CLAIMS, X, measured

from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics.leaves import Slopes, best_cuts, best_splits, noisy_leaf_sums

CLIP, LEAVES = 0.5, 4
#: Ten rows beside the first: slopes of either sign, which the two candidates part alike.
_SLOPES = CLIP * np.repeat([0.0, 1.0, -1.0], [1, 5, 5])
_CUTS = [(np.repeat([1, 1, 0], [1, 5, 5]).astype(np.uint8), 2),
         (np.repeat([1, 0, 1], [1, 5, 5]).astype(np.uint8), 2)]
_AT = np.arange(len(_SLOPES), dtype=np.uint8) % LEAVES
STD = 2.0 * CLIP / MU


def slopes(sign, event):
    """Return the rows, of which the first has a slope of that sign."""
    given = _SLOPES.copy()
    given[0] = sign * CLIP
    return Slopes(given[:, None], np.full((len(given), 1), CLIP), CLIP, event)


def released(sign):
    """Return all numbers that leave."""
    event = Gaussian(MU)
    own = slopes(sign, event)
    return np.concatenate(noisy_leaf_sums(own.at(_AT), LEAVES, CLIP, own.unit, event, Session(
        EntropyStream(), Ledger(event)))).ravel()


def exact(sign):
    own = slopes(sign, Gaussian(MU))
    return own.unit * np.concatenate([np.bincount(_AT, each, LEAVES) for each in own.whole])


@pytest.mark.audit
def test_leaf_sums_stay_under_the_claim_and_a_third_of_the_noise_exceeds_it(noise_times):
    """False-alarm rate at most 1e-7."""
    answers = exact(1.0), exact(-1.0)
    epsilon, mu = bounds(released, np.full(2 * LEAVES, STD), answers)
    assert epsilon <= EPSILON and mu <= MU
    noise_times(1 / 3)
    assert bounds(released, np.full(2 * LEAVES, STD), answers)[1] > MU


@pytest.mark.audit
def test_the_noise_has_its_scale():
    """All that is added, at a false-alarm rate of 1e-8."""
    noise = np.array([(released(1.0) - exact(1.0)) / STD for _ in range(1000)])
    assert scale_is_accepted(noise)


def _cut(own, event, session):
    return best_cuts(own, iter(_CUTS), event, session)


def _split(own, event, session):
    """Return the split of one of two nodes; the other has no rows."""
    bins = np.stack([leaves for leaves, _ in _CUTS])
    return best_splits(own, np.ones(len(_SLOPES), np.uint8), 2, bins,
                       np.array([[0, 1, 2], [1, 1, 2]]), event, session)[1]


every_choice = pytest.mark.parametrize("choose", [_cut, _split])


def chosen(choose, delta, steps, runs, rows=X, epsilon=EPSILON):
    """Return which of two candidates was chosen in independent runs, and the range of a choice."""
    declared = ExponentialChoices(steps, pure=False)
    noise = calibrate(declared, epsilon, delta)
    session = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    event = declared.release(noise)
    own = slopes(1.0 if rows is X else -1.0, event)
    found = [choose(own, event, session) for _ in range(steps * runs)]
    return np.reshape(np.where(np.array(found) == 0, 1.0, -1.0), (runs, steps)), 4.0 / noise


@pytest.mark.audit
@every_choice
def test_cuts_stay_under_the_claim(choose):
    epsilon, mu = measured("gaussian", partial(chosen, choose))
    assert epsilon <= EPSILON and mu <= CLAIMS["gaussian"]


@pytest.mark.audit
@every_choice
def test_cuts_of_a_third_of_the_noise_exceed_the_claim(choose, noise_times):
    noise_times(1 / 3)
    assert measured("gaussian", partial(chosen, choose))[1] > CLAIMS["gaussian"]
