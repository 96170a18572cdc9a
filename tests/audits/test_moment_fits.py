"""Whole fits of released moments: the log likelihood ratio of all their sums, as released.

Row 0 alone differs between two tables, in class, if there are classes, and in all columns.
Answers are normal about what either table has exactly, given the answers before, so that the
ratio of the two is known.
"""

import numpy as np
import pytest
from audit_settings import EPSILON, LEVEL, N, gaussian_mu
from test_fits import DELTA, normal_threshold

import dpsk
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound
from tests.contracts.tapes import taped
from tests.registry import CLASS_MODELS, UNLABELED

MU, RUNS = gaussian_mu(EPSILON, DELTA), 1500
LABELS = np.arange(N) % 2
#: Rows as they are.
PARAMS = {"DPGaussianNB": {"data_norm": 1.0, "feature_range": None},
          "DPLinearDiscriminantAnalysis": {"data_norm": 1.0, "feature_range": None},
          "DPQuadraticDiscriminantAnalysis": {"data_norm": 1.0, "feature_range": None},
          "DPBernoulliNB": {}, "DPMultinomialNB": {"data_norm": 1.0},
          "DPCategoricalNB": {"min_categories": 2},
          "DPKMeans": {"n_clusters": 2, "data_norm": 1.0},
          "DPEmpiricalCovariance": {"data_norm": 1.0, "feature_range": None}}
#: The two values of row 0: on both sides of 0, or in different columns.
SIDES, COLUMNS = ([1.0, 0.0], [-1.0, 0.0]), ([1.0, 0.0], [0.0, 1.0])
VALUES = {"DPGaussianNB": SIDES, "DPLinearDiscriminantAnalysis": SIDES,
          "DPQuadraticDiscriminantAnalysis": SIDES, "DPKMeans": SIDES}
every_model = pytest.mark.parametrize("name", sorted({*CLASS_MODELS, *UNLABELED}))


def released(name, sign, answers=None):
    """Return the tape of one fit; with answers of another, which it is given."""
    X = np.zeros((N, 2))
    X[0] = VALUES.get(name, COLUMNS)[sign < 0]
    model = getattr(dpsk, name)(epsilon=EPSILON, delta=DELTA, **PARAMS[name])
    data = [X]
    if name in CLASS_MODELS:
        model.set_params(classes=[0, 1])
        data.append(np.where(np.arange(N) == 0, 0 if sign > 0 else 1, LABELS))
    with taped(answers) as tape:
        model.fit(*data)
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
