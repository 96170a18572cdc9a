"""Every release of values of states, as it leaves its oracle, for a transition and for a group.

Of two neighboring tables each release has the mean of its noise-free answer, so that its log
likelihood ratio is normal with known mean. The changed unit is near the worst there is: its
features turn by the angle that costs most, or its gradients turn around at the clips.
"""

import numpy as np
import pytest
from audit_settings import EPSILON
from normal_releases import MU, bounds, scale_is_accepted
from test_fits import DELTA

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models.states import LinearValues
from dpsk._objective.saddle.projected_bellman import ProjectedBellman
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._problem import Problem
from dpsk._queries import SaddleGradients, SemiGradients, TransitionMoments
from tests.instruments import ranked

#: The noise multiplier of one release that costs all of it.
Z = 2.0 / MU
CLIPS, SHARE, GROUP_CLIP, REPEATED = (0.05, 0.05), 0.3, 3.0, 7
MODEL = LinearValues(2, None, 1.0)
#: The angle at which features with their constant have the product 5/8.
ANGLE = np.arccos((0.625 - MODEL.constant**2) / (1 - MODEL.constant**2))
RIGHT, TURNED = np.array([1.0, 0.0]), np.array([np.cos(ANGLE), np.sin(ANGLE)])
#: A point where only the constant counts, so that differences and products keep their sign.
PRIMAL, DUAL = np.zeros(3), np.array([0.0, 0.0, 2.0])


def rows(states, later, rewards, grouped):
    """Return a table whose first unit is given, as one transition or as several alike."""
    count = REPEATED if grouped else 1
    rest = np.random.default_rng(0).uniform(-0.5, 0.5, (8, 4))
    X = np.vstack([np.tile(np.concatenate([states, later]), (count, 1)), rest])
    y = np.column_stack([np.append(np.full(count, rewards), np.zeros(8)), np.ones(count + 8)])
    labels = np.append(np.zeros(count), np.repeat(np.arange(1, 5), 2))
    return Rows(X, y, groups=ranked(labels) if grouped else None)


def opened(table, grouped, declared, minimax):
    """Return the oracle over a table of transitions."""
    problem = Problem(n_samples=5 if grouped else 9, model=MODEL, penalty=None, epsilon=EPSILON,
                      delta=DELTA, loss=ProjectedBellman(0.9, 3, grouped, minimax))
    return declared.run((problem, table), Session(EntropyStream(), Ledger(declared(Z))), Z)


def moments(sign, grouped=False):
    state, later, reward = (RIGHT, RIGHT, 1.0) if sign > 0 else (TURNED, -RIGHT, -1.0)
    oracle = opened(rows(state, later, reward, grouped), grouped,
                    TransitionMoments(GROUP_CLIP if grouped else None), False)
    both, crossed, rewarded = oracle.moments()
    return np.concatenate([both[np.triu_indices(3)], crossed.ravel(), rewarded])


def gradients(sign, grouped=False):
    table = rows(-sign * RIGHT, sign * RIGHT, 1.0, grouped)
    asked = SaddleGradients(NoisySums(FullBatch(), 1), SHARE, *CLIPS)
    oracle = opened(table, grouped, asked, True)
    return np.concatenate(oracle.gradients(PRIMAL, DUAL))


def steps(sign, grouped=False):
    table = rows(RIGHT, RIGHT, sign, grouped)
    asked = SemiGradients(NoisySums(FullBatch(), 1), CLIPS[0])
    return opened(table, grouped, asked, False).gradient(PRIMAL)


def _of_moments(moved):
    """Return the noise of every number of the moments where half of the movement is `moved`."""
    upper = np.where(np.equal(*np.triu_indices(3)), 1.0, np.sqrt(0.5))
    return Z * moved * np.concatenate([upper, np.ones(9), np.full(3, 2.0)])


def _of_gradients(count):
    return Z / count * np.repeat([CLIPS[0] / np.sqrt(1 - SHARE), CLIPS[1] / np.sqrt(SHARE)], 3)


#: What is released, the noise of every number of it, and the least share of the claim it shows.
RELEASES = {
    "moments": (moments, _of_moments(np.sqrt(5.28125) / 2), 0.95),
    "moments of groups": (lambda sign: moments(sign, True), _of_moments(1.5 * GROUP_CLIP), 0.7),
    "steps": (steps, np.full(3, Z * CLIPS[0] / 9), 0.99),
    "steps of groups": (lambda sign: steps(sign, True), np.full(3, Z * CLIPS[0] / 5), 0.99),
    "gradients": (gradients, _of_gradients(9), 0.9),
    "gradients of groups": (lambda sign: gradients(sign, True), _of_gradients(5), 0.9)}
every_release = pytest.mark.parametrize("name", RELEASES)


def measured(name, means, noise_times, cut):
    """Return lower bounds on epsilon and mu with noise times `cut`."""
    release, std, share = RELEASES[name]
    answers = means(release)
    noise_times(cut)
    return bounds(release, std, answers, share)


# The scale of the noise, of which every run tries all, is below.
@pytest.mark.thorough
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name == "moments" else pytest.mark.audit)
    for name in RELEASES])
def test_a_release_stays_under_its_claim_and_a_part_of_the_noise_exceeds_it(
        name, means, noise_times):
    """False-alarm rate at most 1e-7 a release."""
    epsilon, mu = measured(name, means, noise_times, 1.0)
    assert epsilon <= EPSILON and mu <= MU
    cut = 1 / 3 if RELEASES[name][2] > 0.8 else 1 / 5
    assert measured(name, means, noise_times, cut)[1] > MU


@pytest.mark.covering(most=2)
@every_release
@pytest.mark.parametrize("factor", [2 / 3, 1.0, 3 / 2])
def test_the_noise_of_each_block_has_the_declared_scale(name, factor, means, noise_times):
    """Two-sided chi-square of each block at level 1e-8; 2/3 and 3/2 of the scale are rejected."""
    release, std, _ = RELEASES[name]
    here = means(release)[0]
    noise_times(factor)
    noise = np.array([(release(1.0) - here) / std for _ in range(400)])
    cuts = [6, 15] if "moments" in name else [3]
    for block in filter(np.size, np.split(noise, cuts, axis=1)):
        assert scale_is_accepted(block) == (factor == 1.0)
