"""Whole fits of DPPCA: the log likelihood ratio of all their sums, as a fit releases them.

Row 0 alone differs between two tables: it is one direction or another, orthogonal to it, which
moves the second moment as far as any two rows can. Answers are normal about what either table has
exactly, given the answers before, so that the ratio of the two is known.
"""

import numpy as np
import pytest
from audit_settings import EPSILON, LEVEL, N, gaussian_mu
from test_fits import DELTA, normal_threshold

from dpsk import DPPCA
from dpsk._stages.centering import shrunk
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound
from tests.contracts.tapes import taped

MU, RUNS = gaussian_mu(EPSILON, DELTA), 2500
every_fit = pytest.mark.parametrize("center", [False, True], ids=["about 0", "centered"])


def table(sign):
    """Return rows of norm at most 1, row 0 along one of two directions."""
    X = np.zeros((N, 2))
    X[0, 0 if sign > 0 else 1] = 1.0
    return X


def released(sign, center):
    """Return the answers of one fit, and the mu of each."""
    with taped() as tape:
        DPPCA(EPSILON, delta=DELTA, data_norm=1.0, center=center).fit(table(sign))
    return tape.answers, [event.mu for (event,) in tape.events]


def ratio(answers, mus):
    """Return by how much likelier answers are with row 0 as it is for sign +1."""
    *mean, moment = answers
    stds = 2.0 / mus[0] / N, np.sqrt(2.0) / mus[-1] / N
    center = shrunk(mean[0], stds[0], 1.0) if mean else np.zeros(2)
    found = 0.0
    for sign in (1.0, -1.0):
        X = table(sign)
        if mean:
            found -= sign * np.sum((mean[0] - X.mean(axis=0))**2) / (2 * stds[0]**2)
        rows = X - center
        rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
        # The squared Frobenius norm, in the basis in which noise is even.
        found -= sign * np.sum((moment - rows.T @ rows / N)**2) / (2 * stds[1]**2)
    return found


def measured(center):
    """Return lower bounds on epsilon and mu."""
    best = MU * normal_threshold(0.9 * MU, RUNS, DELTA, MU, -np.inf)
    found = []
    for sign in (1.0, -1.0):
        hits = sum(ratio(*released(sign, center)) > best for _ in range(RUNS))
        found += [int(hits), RUNS]
    return (epsilon_lower_bound(*found, delta=DELTA, level=LEVEL),
            mu_lower_bound(*found, level=LEVEL))


@every_fit
def test_the_sums_of_a_fit_cost_no_more_than_its_budget(center):
    assert np.linalg.norm(released(1.0, center)[1]) == pytest.approx(MU, rel=1e-6)


@pytest.mark.audit
@every_fit
def test_a_fit_stays_under_its_claim(center):
    """False-alarm rate at most 1e-7 a fit."""
    epsilon, mu = measured(center)
    assert epsilon <= EPSILON and mu <= MU


@pytest.mark.audit
@every_fit
def test_a_third_of_the_noise_exceeds_it(center, noise_times):
    noise_times(1 / 3)
    assert measured(center)[1] > MU
