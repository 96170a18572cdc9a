"""Sums over leaves and cuts of trees, audited as they leave their releases.

A row at the clip norm turns its slope around: its leaf's sum of slopes moves by 2 clip norms,
which all of the price is for, and that of sizes stays. Of two candidates it raises the score of
one by 2 clip norms and lowers that of the other by as much.

A row of the other class, or in the other leaf, takes 1 from a count and adds 1 to another: of two
classes of a leaf, or two drawn trees that all other rows agree with alike, it raises the score of
one by 1 and lowers that of the other.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from audit_settings import EPSILON, LEVEL
from normal_releases import MU, bounds, scale_is_accepted
from test_choices import CLAIMS, X, measured

from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Gaussian, Pure
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics.leaves import (
    Slopes,
    best_cuts,
    best_labels,
    best_splits,
    noisy_label_counts,
    noisy_leaf_sums,
)
from dpsk.auditing import epsilon_lower_bound

CLIP, LEAVES = 0.5, 4
#: Ten rows beside the first: slopes of either sign, which the two candidates part alike.
_SLOPES = CLIP * np.repeat([0.0, 1.0, -1.0], [1, 5, 5])
_CUTS = [(np.repeat([1, 1, 0], [1, 5, 5]).astype(np.uint8), 2),
         (np.repeat([1, 0, 1], [1, 5, 5]).astype(np.uint8), 2)]
_AT = np.arange(len(_SLOPES), dtype=np.uint8) % LEAVES
#: So many rows of either class that no other class of their leaf is in question.
_SURE = 400


def slopes(sign, event):
    """Return the rows, of which the first has a slope of that sign."""
    given = _SLOPES.copy()
    given[0] = sign * CLIP
    return Slopes(given[:, None], np.full((len(given), 1), CLIP), CLIP, event)


def ones(count, event, law):
    """Return rows that each count as one."""
    return Slopes(np.ones((count, 1)), np.ones((count, 1)), 1.0, event, None, law)


def labels(sign):
    """Return the class of every row, the first by a sign."""
    return (np.append(sign, _SLOPES[1:]) > 0).astype(int)


def summed(sign):
    """Return all numbers that leave, and the same without noise."""
    event = Gaussian(MU)
    own = slopes(sign, event)
    found = noisy_leaf_sums(own.at(_AT), LEAVES, CLIP, own.unit, event, Session(
        EntropyStream(), Ledger(event)))
    return np.concatenate(found).ravel(), own.unit * np.concatenate(
        [np.bincount(_AT, each, LEAVES) for each in own.whole])


def counted(sign, event=None, law="standard_normal"):
    """Return the same of counts of classes in leaves."""
    event = event or Gaussian(MU)
    own = ones(len(_AT), event, law)
    rows, session = own.at(2 * _AT + labels(sign)), Session(EntropyStream(), Ledger(event))
    found, _ = noisy_label_counts(rows, (LEAVES, 2), 1.0, own.unit, event, session)
    return found.ravel(), np.bincount(2 * _AT + labels(sign), minlength=2 * LEAVES)


every_release = pytest.mark.parametrize("release, std", [
    (summed, 2.0 * CLIP / MU), (counted, math.sqrt(2.0) / MU)])


@pytest.mark.audit
@every_release
def test_sums_stay_under_the_claim_and_a_third_of_the_noise_exceeds_it(release, std, noise_times):
    """False-alarm rate at most 1e-7."""
    answers = release(1.0)[1], release(-1.0)[1]
    stds = np.full(2 * LEAVES, std)
    epsilon, mu = bounds(lambda sign: release(sign)[0], stds, answers)
    assert epsilon <= EPSILON and mu <= MU
    noise_times(1 / 3)
    assert bounds(lambda sign: release(sign)[0], stds, answers)[1] > MU


@pytest.mark.audit
@every_release
def test_the_noise_has_its_scale(release, std):
    """All that is added, at a false-alarm rate of 1e-8."""
    noise = np.array([np.subtract(*release(1.0)) / std for _ in range(1000)])
    assert scale_is_accepted(noise)


def counts_bound(runs=2000):
    """Return a lower bound on epsilon of counts at a pure one, by both that a row moves."""
    found = []
    for sign in (1.0, -1.0):
        away = (counted(sign, Pure(EPSILON), "laplace")[0][:2] - counted(1.0)[1][:2]
                for _ in range(runs))
        found += [sum(lost <= 0.0 < won for lost, won in away), runs]
    return epsilon_lower_bound(*found, delta=0.0, level=LEVEL)


@pytest.mark.audit
def test_counts_stay_under_a_pure_claim_and_a_third_of_the_noise_exceeds_it(noise_times):
    """False-alarm rate at most 1e-7."""
    assert counts_bound() <= EPSILON
    noise_times(1 / 3)
    assert counts_bound() > EPSILON


def _cut(sign, event):
    own = slopes(sign, event)
    return lambda session: best_cuts(own, iter(_CUTS), event, session)


def _split(sign, event):
    """Return the split of one of two nodes; the other has no rows."""
    own, bins = slopes(sign, event), np.stack([leaves for leaves, _ in _CUTS])
    return lambda session: best_splits(own, np.ones(len(_SLOPES), np.uint8), 2, bins,
                                       np.array([[0, 1, 2], [1, 1, 2]]), event, session)[1]


def _label(sign, event):
    """Return the class of the only leaf; the first counts as the right one."""
    own, leaves = ones(len(_AT), event, "gumbel"), [(np.zeros(len(_AT), np.uint8), 1)]
    return lambda session: 1 - best_labels(own, labels(sign), 2, leaves, event, session)[1][0]


def _tree(sign, event):
    """Return which of two drawn trees; the first row is in the leaf of its class in one."""
    known = np.repeat([1, 0, 1], [1, _SURE, _SURE])
    own, trees = ones(len(known), event, "gumbel"), []
    for place in (1, -1):
        leaves = known.astype(np.uint8)
        leaves[0] = place * sign > 0
        trees.append((leaves, 2))
    return lambda session: best_labels(own, known, 2, trees, event, session)[0]


every_choice = pytest.mark.parametrize("choose", [_cut, _split, _tree])


def chosen(choose, delta, steps, runs, rows=X, epsilon=EPSILON):
    """Return which of two candidates was chosen in independent runs, and the range of a choice."""
    declared = ExponentialChoices(steps, pure=delta == 0.0)
    noise = calibrate(declared, epsilon, delta)
    session = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    ask = choose(1.0 if rows is X else -1.0, declared.release(noise))
    found = [ask(session) for _ in range(steps * runs)]
    return np.reshape(np.where(np.array(found) == 0, 1.0, -1.0), (runs, steps)), 4.0 / noise


@pytest.mark.audit
@every_choice
def test_choices_stay_under_the_claim(choose):
    epsilon, mu = measured("gaussian", partial(chosen, choose))
    assert epsilon <= EPSILON and mu <= CLAIMS["gaussian"]


@pytest.mark.audit
@every_choice
def test_choices_of_a_third_of_the_noise_exceed_the_claim(choose, noise_times):
    noise_times(1 / 3)
    assert measured("gaussian", partial(chosen, choose))[1] > CLAIMS["gaussian"]


@pytest.mark.audit
@pytest.mark.parametrize("choose", [_label, _tree])
def test_choices_stay_under_a_pure_claim_and_a_third_of_the_noise_exceeds_it(choose, noise_times):
    assert measured("pure", partial(chosen, choose))[0] <= EPSILON
    noise_times(1 / 3)
    assert measured("pure", partial(chosen, choose))[0] > EPSILON
