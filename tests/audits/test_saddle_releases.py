"""Every release of the saddle solvers, and noisy counts, as they leave their oracles.

Of two neighboring tables each release has the mean of its noise-free answer, so that its log
likelihood ratio is normal with known mean. Row 0 alone has gradients, at the clips, and is
turned around in the neighbor: the releases attain their claims, all but exactly.
"""

import numpy as np
import pytest
from audit_settings import EPSILON, N
from normal_releases import MU, bounds, scale_is_accepted
from test_fits import DELTA

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.saddle import AUCSquare
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.events import Gaussian, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._problem import Problem
from dpsk._queries import SaddleDifferences, SaddleGradients
from dpsk._stages import Counting, counting
from tests.contracts.columns import members_of

#: The noise multiplier of one release that costs all of it.
Z = 2.0 / MU
CLIPS, SLOPES, SHARE = (0.05, 1e-3), (1e-10, 0.1), 0.3
#: A point where the ranking loss pulls at row 0, and another dual number.
POINT = np.array([1e-3, 0.0, 0.0]), np.zeros(1)
OTHER = POINT[0], np.full(1, 0.5)
PUBLIC = Problem(n_samples=N, model=LinearModel(1, None, False, 1.0), loss=AUCSquare(0.5, 0.5),
                 penalty=None, epsilon=EPSILON, delta=DELTA)
LABELS = (np.arange(1, N + 1) % 2).astype(float)


def table(sign):
    X = np.zeros((N, 1))
    X[0] = sign
    # The other rows are as light as can be.
    return Rows(X, LABELS, np.where(np.arange(N) == 0, 1.0, 1e-20))


def joint(sign):
    declared = SaddleGradients(NoisySums(FullBatch(), 1), SHARE, *CLIPS)
    oracle = declared.run((PUBLIC, table(sign)), Session(EntropyStream(), Ledger(declared(Z))), Z)
    return np.concatenate(oracle.gradients(*POINT))


def kinds(sign, ask, clips=CLIPS):
    declared = SaddleDifferences(*3 * [NoisySums(FullBatch(), 1)], *clips, SLOPES)
    session = Session(EntropyStream(), Ledger(declared(Z)))
    return ask(declared.run((PUBLIC, table(sign)), session, Z))


def dual(sign):
    return kinds(sign, lambda oracle: oracle.dual_gradient(*POINT))


def base(sign):
    return kinds(sign, lambda oracle: oracle.gradient(*POINT))


def difference(sign):
    return kinds(sign, lambda oracle: oracle.difference(OTHER, POINT), (10.0, 1e-3))


def counts(sign, n_groups):
    """Return what the stage of a fit releases: row 0 is in the last group, or in the first."""
    members = np.resize(np.arange(n_groups), N)
    members[0] = n_groups - 1 if sign > 0 else 0
    found = []
    stage = Counting(n_groups, found.append, "shares_", tuple)
    stage.release(PUBLIC, members_of(members),
                  Session(EntropyStream(), Ledger(stage.event(PUBLIC))))
    return np.array(found[0])


def ratio(sign):
    return counts(sign, 2)[1:]


def shares(sign):
    return counts(sign, 3)


_SINGLE = {"dual": (dual, Z * CLIPS[1]), "base": (base, Z * CLIPS[0]),
           "difference": (difference, Z * 0.05)}
#: What is released, and the standard deviation of every number of it.
RELEASES = {
    "joint": (joint, Z / N * np.array([CLIPS[0] / np.sqrt(1 - SHARE)] * 3
                                      + [CLIPS[1] / np.sqrt(SHARE)])),
    **{name: (release, std / N) for name, (release, std) in _SINGLE.items()},
    "ratio": (ratio, 1.0 / MU / N), "shares": (shares, np.sqrt(2.0) / MU / N)}
every_release = pytest.mark.parametrize("name", RELEASES)


@pytest.fixture(autouse=True)
def costly_counts(monkeypatch):
    """Let counts take the whole budget, as a hundredth of it shows too little to be seen."""
    monkeypatch.setattr(counting, "COUNT_SHARE", 1.0)
    # Shares are raised and scaled to sum 1; what is audited is the counts that they are made of.
    monkeypatch.setattr("dpsk._stages.counting.shares", lambda noisy, n_samples: noisy / n_samples)


def measured(name, means, noise_times, cut):
    """Return lower bounds on epsilon and mu with noise times `cut`."""
    release, std = RELEASES[name]
    answers = means(release)
    noise_times(cut)
    epsilon, mu = bounds(release, std, answers)
    print(f"{name} x {cut:.2f}: epsilon >= {epsilon:.3f} of {EPSILON}, mu >= {mu:.3f} of {MU:.3f}")
    return epsilon, mu


# The scale of the noise, of which every run tries all, is below.
@pytest.mark.thorough
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name in ("joint", "ratio") else pytest.mark.audit)
    for name in RELEASES])
def test_a_release_stays_under_its_claim_and_a_third_of_the_noise_exceeds_it(
        name, means, noise_times):
    """False-alarm rate at most 1e-7 a release."""
    epsilon, mu = measured(name, means, noise_times, 1.0)
    assert epsilon <= EPSILON and mu <= MU
    assert measured(name, means, noise_times, 1 / 3)[1] > MU


@pytest.mark.covering(most=2)
@every_release
@pytest.mark.parametrize("factor", [2 / 3, 1.0, 3 / 2])
def test_the_noise_of_each_block_has_the_declared_scale(name, factor, means, noise_times):
    """Two-sided chi-square of each block at level 1e-8; 2/3 and 3/2 of the scale are rejected."""
    release, std = RELEASES[name]
    here = means(release)[0]
    noise_times(factor)
    noise = np.array([(release(1.0) - here) / std for _ in range(400)])
    blocks = [noise[:, :3], noise[:, 3:]] if name == "joint" else [noise]
    for block in blocks:
        assert scale_is_accepted(block) == (factor == 1.0)


def test_counts_are_charged_once_and_no_more():
    stage = Counting(2, lambda shares: None, "shares_", tuple)
    ledger = Ledger(stage.event(PUBLIC))
    stage.release(PUBLIC, members_of(np.zeros(N, int)), Session(EntropyStream(), ledger))
    ((event, count),) = tally(ledger.spent).items()
    assert isinstance(event, Gaussian) and event.mu == pytest.approx(MU) and count == 1
    with pytest.raises(RuntimeError, match="declared plan"):
        stage.release(PUBLIC, members_of(np.zeros(N, int)), Session(EntropyStream(), ledger))


@pytest.mark.parametrize("n_groups", [2, 3, 7])
def test_any_row_moves_the_counts_by_the_sensitivity(n_groups, noise_times):
    noise_times(0.0)
    largest = 1.0 if n_groups == 2 else np.sqrt(2.0)
    free = slice(1, None) if n_groups == 2 else slice(None)
    found = []
    for group in range(n_groups):
        members = np.resize(np.arange(n_groups), N)
        members[0] = group
        stage = Counting(n_groups, found.append, "shares_", tuple)
        stage.release(PUBLIC, members_of(members),
                      Session(EntropyStream(), Ledger(stage.event(PUBLIC))))
    moves = [np.linalg.norm(N * (np.array(a) - np.array(b))[free]) for a in found for b in found]
    assert max(moves) == pytest.approx(largest)
