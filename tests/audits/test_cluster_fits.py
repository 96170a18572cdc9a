"""Whole fits of DPKMeans: the log likelihood ratio of all their sums, as released.

Row 0 alone differs between two tables: it lies on one side or on the other. Answers are normal
about what either table has exactly, given the answers before, so that the ratio is known.
"""

import numpy as np
import pytest
from audit_settings import EPSILON, LEVEL, N, gaussian_mu
from test_fits import DELTA, normal_threshold

from dpsk import DPKMeans
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound
from tests.contracts.tapes import taped

MU, RUNS = gaussian_mu(EPSILON, DELTA), 1500


def released(sign, answers=None):
    """Return the tape of one fit; with answers of another, which it is given."""
    X = np.zeros((N, 2))
    X[0, 0] = sign
    with taped(answers) as tape:
        DPKMeans(2, epsilon=EPSILON, delta=DELTA, data_norm=1.0).fit(X)
    return tape


def ratio(tape, sign):
    """Return by how much likelier answers are with row 0 as it is for sign +1."""
    other = released(-sign, tape.answers)
    found = 0.0
    for here, there, parts, answer, (divisor, _) in zip(
            tape.totals, other.totals, tape.parts, tape.answers,
            [fact for fact in tape.public if len(fact) == 2], strict=True):
        answer = answer if isinstance(answer, tuple) else (answer,)
        for one, two, part, noisy in zip(here, there, parts, answer, strict=True):
            # Half of the squared Frobenius norm of matrices, in the basis in which noise is even.
            apart = [np.sum((noisy * divisor - total)**2) for total in (one, two)]
            found += (apart[1] - apart[0]) / (2.0 * part.scale**2)
    return sign * found


def measured():
    """Return lower bounds on epsilon and mu."""
    best = MU * normal_threshold(0.9 * MU, RUNS, DELTA, MU, -np.inf)
    found = []
    for sign in (1.0, -1.0):
        found += [int(sum(ratio(released(sign), sign) > best for _ in range(RUNS))), RUNS]
    return (epsilon_lower_bound(*found, delta=DELTA, level=LEVEL),
            mu_lower_bound(*found, level=LEVEL))


def test_the_sums_of_a_fit_cost_no_more_than_its_budget():
    mus = [event.mu for (event,) in released(1.0).events]
    assert np.linalg.norm(mus) == pytest.approx(MU, rel=1e-6)


@pytest.mark.audit
def test_a_fit_stays_under_its_claim():
    """False-alarm rate at most 1e-7 a fit."""
    epsilon, mu = measured()
    assert epsilon <= EPSILON and mu <= MU


@pytest.mark.audit
def test_a_third_of_the_noise_exceeds_it(noise_times):
    noise_times(1 / 3)
    assert measured()[1] > MU
