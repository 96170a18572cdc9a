"""Whole fits without targets: the log likelihood ratio of all their sums, as released.

Row 0 alone differs between two tables: it lies on one side, or on another. Answers are normal
about what either table has exactly, given the answers before, so that the ratio is known.
"""

import numpy as np
import pytest
from audit_settings import EPSILON, LEVEL, N, gaussian_mu
from sklearn.base import clone
from test_fits import DELTA, normal_threshold

from dpsk import DPEmpiricalCovariance, DPKMeans
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound
from tests.contracts.tapes import taped

MU, RUNS = gaussian_mu(EPSILON, DELTA), 1500
MODELS = {"clusters": DPKMeans(2), "covariance": DPEmpiricalCovariance(feature_range=None)}
#: What row 0 is for sign +1, and else.
ENDS = {"clusters": ([1.0, 0.0], [-1.0, 0.0]), "covariance": ([1.0, 0.0], [0.0, 1.0])}
every_model = pytest.mark.parametrize("name", MODELS)


def released(name, sign, answers=None):
    """Return the tape of one fit; with answers of another, which it is given."""
    X = np.zeros((N, 2))
    X[0] = ENDS[name][sign < 0]
    model = clone(MODELS[name]).set_params(epsilon=EPSILON, delta=DELTA, data_norm=1.0)
    with taped(answers) as tape:
        model.fit(X)
    return tape


def ratio(name, tape, sign):
    """Return by how much likelier answers are with row 0 as it is for sign +1."""
    other = released(name, -sign, tape.answers)
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


def measured(name):
    """Return lower bounds on epsilon and mu."""
    best = MU * normal_threshold(0.9 * MU, RUNS, DELTA, MU, -np.inf)
    found = []
    for sign in (1.0, -1.0):
        hits = sum(ratio(name, released(name, sign), sign) > best for _ in range(RUNS))
        found += [int(hits), RUNS]
    return (epsilon_lower_bound(*found, delta=DELTA, level=LEVEL),
            mu_lower_bound(*found, level=LEVEL))


@every_model
def test_the_sums_of_a_fit_cost_no_more_than_its_budget(name):
    mus = [event.mu for (event,) in released(name, 1.0).events]
    assert np.linalg.norm(mus) == pytest.approx(MU, rel=1e-6)


@pytest.mark.audit
@every_model
def test_a_fit_stays_under_its_claim(name):
    """False-alarm rate at most 1e-7 a fit."""
    epsilon, mu = measured(name)
    assert epsilon <= EPSILON and mu <= MU


@pytest.mark.audit
@every_model
def test_a_third_of_the_noise_exceeds_it(name, noise_times):
    noise_times(1 / 3)
    assert measured(name)[1] > MU
