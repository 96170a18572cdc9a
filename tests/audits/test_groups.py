"""Fits audited for whole groups: one of 5 to 50 rows turns around, its number of rows as well.

The tables are those of the audits of fits, a group of rows alike in the place of every row. What
a group adds is the average over its rows, clipped to an eighth, or not a second time, so that laws
and thresholds are the same in the unit of what it adds, and levels too: a sound fit fails with a
probability of at most 1e-7 a test, and noise cut as there goes unnoticed with one below 1e-8.
"""

import numpy as np
import pytest
from audit_settings import EPSILON, FAMILIES, LEVEL, SETTINGS, N
from normal_releases import MU, bounds
from test_fits import DELTA, prepared, runs_of

from dpsk._data.source import Rows
from dpsk._defaults.groups import _SHARE
from dpsk._mechanism.session import Session
from dpsk._models import MLP, LinearModel
from dpsk._objective.losses import Squared
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._problem import Problem
from dpsk._queries import Gradients
from dpsk._statistics.moments import noisy_mean, noisy_second_moment, second_moment_noise
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound
from tests.instruments import ranked

#: Rows of every group, that which turns around first; and of it in the neighbor.
SIZES = np.append(50, np.random.default_rng(0).integers(5, 51, N - 1))
OTHER = 5
#: The last is the clip of groups, None for the rule.
CASES = [("gd", "plain", "logistic", None), ("gd", "plain", "squared", np.inf),
         ("sgd", "poisson", "huber", None)]
every_case = pytest.mark.parametrize(("solver", "name", "family", "clip"), CASES)


def of_groups(X, y, first, order):
    """Return a table with groups of equal rows in the place of rows, in some order."""
    sizes = np.append(first, SIZES[1:])
    labels = np.random.default_rng(order).permutation(np.repeat(np.arange(N), sizes))
    return X[labels], y[labels], labels


def measured(solver, name, family, clip):
    setting, threshold, claim = prepared(solver, name, family, DELTA, runs_of(solver, name))
    data, runs = FAMILIES[family], runs_of(solver, name)
    options = {**setting.params.get("solver_options", {}), "group_clip_norm": clip}
    model, counts = data.make(**{**setting.params, "solver_options": options}), []
    limit = threshold * setting.unit * (_SHARE if clip is None else 1.0)
    for table in (of_groups(*data.rows, SIZES[0], 1), of_groups(*data.neighbor, OTHER, 2)):
        hits = sum(bool(data.statistic(model.fit(*table[:2], groups=table[2])) > limit)
                   for _ in range(runs))
        counts += [hits, runs]
    assert "group" in model.privacy_.relation and model.privacy_.delta == DELTA
    return (epsilon_lower_bound(*counts, delta=DELTA, level=LEVEL),
            mu_lower_bound(*counts, level=LEVEL), claim)


@pytest.mark.audit
@every_case
def test_fits_stay_under_the_claim_for_a_group(solver, name, family, clip):
    epsilon, mu, claim = measured(solver, name, family, clip)
    assert epsilon <= EPSILON and mu <= claim


@pytest.mark.audit
@every_case
def test_noise_cut_to_its_share_exceeds_the_claim_for_a_group(solver, name, family, clip,
                                                              noise_times):
    noise_times(SETTINGS[solver][name](DELTA).cut)
    epsilon, mu, claim = measured(solver, name, family, clip)
    assert epsilon > EPSILON and (mu > claim or claim == np.inf)


def table(row, other, sign):
    """Return rows in groups, the first of which is one row repeated, or the other one."""
    count = 50 if sign > 0 else 5
    X = np.vstack([np.tile(row if sign > 0 else other, (count, 1)), np.tile([0.0, 0.0], (60, 1))])
    labels = np.append(np.full(count, -1), np.arange(60) // 7)
    return Rows(X, np.zeros(len(X)), groups=ranked(labels))


def session(event):
    return Session(EntropyStream(), Ledger(event))


def second_moment(sign):
    # At the cosine that two rows with their constant 1/2 show most.
    other = np.array([-0.25, np.sqrt(1 - 0.25**2)])
    answer = noisy_second_moment(MODEL, table([1.0, 0.0], other, sign), MU, session(Gaussian(MU)))
    return answer[np.triu_indices(3)]


def mean(sign):
    model = LinearModel(2, None, False, 1.0)
    return noisy_mean(model, table([1.0, 0.0], [-1.0, 0.0], sign), MU, session(Gaussian(MU)))[0]


def network_gradient(sign):
    """Return the noisy gradient of a network without layers, at zero."""
    rows = table([1.0, 0.0], [1.0, 0.0], sign)
    rows = rows.with_targets(lambda y: np.where(rows.X[:, 0] > 0, sign, 0.0).astype(np.float32))
    model, declared = MLP(2, (), None, "relu"), Gradients(NoisySums(FullBatch(), 1), CLIP)
    problem = Problem(10, model, Squared(), None, EPSILON, DELTA)
    table_32 = Rows(rows.X.astype(np.float32), rows.y, groups=rows.groups)
    oracle = declared.run((problem, table_32), session(declared(2.0 / MU)), 2.0 / MU)
    return oracle.gradient(np.zeros(3))


CLIP, MODEL = 0.05, LinearModel(2, None, True, 1.0)
_UPPER = np.where(np.equal(*np.triu_indices(3)), 1.0, np.sqrt(0.5))
#: What is measured as 1/2 is shown as 1; the count of groups is not released.
_SHOWN = np.array([1.0, 1.0, 2.0, 1.0, 2.0, 4.0])
RELEASES = {
    "moment": (second_moment, second_moment_noise(MODEL, 10, MU) * _UPPER * _SHOWN, 0.95),
    "mean": (mean, 2.0 / MU / 10, 0.99),
    "network": (network_gradient, 2.0 / MU * CLIP / 10, 0.98)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", RELEASES)
def test_releases_stay_under_the_claim_and_a_third_of_the_noise_exceeds_it(
        name, means, noise_times):
    """False-alarm rate at most 1e-7 a release."""
    release, std, share = RELEASES[name]
    std = np.broadcast_to(std, np.shape(means(release)[0]))
    answers = means(release)
    epsilon, mu = bounds(release, std, answers, share)
    assert epsilon <= EPSILON and mu <= MU
    noise_times(1 / 3)
    assert bounds(release, std, answers, share)[1] > MU
