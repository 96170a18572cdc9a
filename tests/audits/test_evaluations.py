"""Evaluations, audited as they leave: what shows of one row in a histogram, and in moments.

The statistic is the log likelihood ratio of the release between two tables that differ in one
row, over its standard deviation at the claimed noise: normal with means half of mu above and below
0. The test asks on which side of 0 it is. Lower bounds fail to hold with a chance of 1e-7,
and runs that show less than is asked for are no likelier.
"""

import numpy as np
import pytest
from audit_settings import LEVEL

from dpsk._data.source import Rows
from dpsk._defaults.evaluation import LOSS_WEIGHT
from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.events import gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import open_stream
from dpsk._statistics.scores import noisy_widths
from dpsk.auditing import mu_lower_bound
from dpsk.metrics import BinaryEvaluation, MulticlassEvaluation, RegressionEvaluation
from dpsk.metrics._log_loss import LogLossEvaluation
from dpsk.metrics._score_release import ScoreRelease

EPSILON, DELTA, N = 8.0, 1e-3, 40
MU = gaussian_mu(EPSILON, DELTA)
Y, SCORES = np.arange(N) % 2, np.linspace(0.0, 1.0, N)


def histogram(y, scores, epsilon=EPSILON):
    return BinaryEvaluation.from_predictions(y, scores, epsilon=epsilon, delta=DELTA,
                                             bins=8).counts


def widths(y, scores, epsilon=EPSILON):
    """Return what bins that follow the scores are chosen by, at all of the budget."""
    mu = gaussian_mu(epsilon, DELTA) if np.isfinite(epsilon) else np.inf
    session = Session(open_stream(None, None), Ledger(gaussian(mu)))
    return np.concatenate([each.ravel() for each in noisy_widths(
        Rows((10 * scores).astype(int)[:, None], y.astype(int)), 3, 3, mu, session)])


def counts_and_losses(y, scores, epsilon=EPSILON):
    """Return counts and the sums of both losses, each in the unit of its noise."""
    found = BinaryEvaluation.from_predictions(y, scores, epsilon=epsilon, delta=DELTA, bins=8,
                                              log_loss_floor=0.01)
    _, reaches, _ = ScoreRelease(found.bins, False, N, 0.01).losses(found.bins, 1.0)
    return np.append(found.counts.ravel(), LOSS_WEIGHT / (2.0 * reaches) * [
        found.squared_loss, found.log_loss_left])


def log_loss(y, scores, epsilon=EPSILON):
    return np.array([N * LogLossEvaluation.from_predictions(
        y, scores, epsilon=epsilon, delta=DELTA).mean])


def table_and_losses(y, scores, epsilon=EPSILON):
    """Return the table of labels by predictions and the log losses, in the unit of its noise."""
    found = MulticlassEvaluation.from_predictions(
        y, y, epsilon=epsilon, delta=DELTA, y_proba=scores, log_loss_floor=0.01)
    return np.append(found.counts.ravel(), LOSS_WEIGHT / np.log(100.0) * found.log_loss_left)


def moments(y, guesses, epsilon=EPSILON):
    return N * RegressionEvaluation.from_predictions(
        y, guesses, epsilon=epsilon, delta=DELTA, residual_bound=1.0).moments


#: A release, and the last row of two tables, as far apart as can be.
PAIRS = {"histogram": (histogram, (0, 0.0), (1, 1.0)),
         "widths": (widths, (0, 0.0), (1, 1.0)),
         "losses": (counts_and_losses, (0, 0.8535), (1, 0.3089)),
         "log loss": (log_loss, (0, 0.0), (1, 0.0)),
         "moments": (moments, (0.0, 0.0), (1.1, 0.0))}
#: In `make audit` alone: rows move it as they move counts and losses of scores.
AUDITED = PAIRS | {"labels": (table_and_losses, (0, 0.0), (1, 0.0))}
every_pair = pytest.mark.parametrize("release, one, other", PAIRS.values(), ids=PAIRS)


def tables(*rows):
    for label, score in rows:
        y, scores = Y.astype(float), SCORES.copy()
        y[-1], scores[-1] = label, score
        yield y, scores


def shown(release, one, other, runs):
    """Return a lower bound on mu."""
    first, second = (release(*table, epsilon=np.inf) for table in tables(one, other))
    hits = []
    for table in tables(one, other):
        found = [np.sum((release(*table) - (first + second) / 2) * (first - second)) > 0
                 for _ in range(runs)]
        hits += [int(np.sum(found)), runs]
    return mu_lower_bound(*hits, level=LEVEL)


@every_pair
def test_one_row_shows_no_more_than_the_claim(release, one, other):
    # The expected bound is .55 of MU, give or take .05.
    assert 0.2 * MU < shown(release, one, other, 300) <= MU


@pytest.mark.audit
@pytest.mark.parametrize("release, one, other", AUDITED.values(), ids=AUDITED)
def test_most_of_the_claim_shows_in_many_runs(release, one, other):
    assert 0.75 * MU < shown(release, one, other, 6000) <= MU


@every_pair
def test_a_third_of_the_noise_exceeds_the_claim(release, one, other, noise_times):
    noise_times(1 / 3)
    assert shown(release, one, other, 300) > MU
