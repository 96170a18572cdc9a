"""Noisy counts, sums and squares of columns, audited as they leave their release.

One row of p numbers goes from the low ends of their ranges to the high ones, so that every sum
moves by 2, which all of the price is for; counts and squares stay.
"""

import numpy as np
import pytest
from audit_settings import EPSILON
from normal_releases import MU, bounds, scale_is_accepted

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._statistics.column_sums import moment_noise, noisy_column_sums

COLUMNS, ROWS = 3, 6
LOW, HIGH = np.full(COLUMNS, -1.0), np.full(COLUMNS, 1.0)
_EXACT = np.repeat([float(ROWS), 0.0, 1.0], COLUMNS)
STD = moment_noise(COLUMNS, MU) * np.repeat([1.0, 1.0, np.sqrt(0.5)], COLUMNS)


def released(sign):
    """Return all numbers that leave, of the table whose first row is at that end."""
    X = np.zeros((ROWS, COLUMNS))
    X[0] = sign
    return np.concatenate(noisy_column_sums(
        Rows(X, np.zeros(ROWS)), LOW, HIGH, MU,
        Session(EntropyStream(), Ledger(Gaussian(MU)))))


def exact(sign):
    return _EXACT + sign * np.repeat([0.0, 1.0, 0.0], COLUMNS)


@pytest.mark.audit
def test_column_sums_stay_under_the_claim_and_a_third_of_the_noise_exceeds_it(noise_times):
    """False-alarm rate at most 1e-7."""
    answers = exact(1.0), exact(-1.0)
    epsilon, mu = bounds(released, STD, answers)
    assert epsilon <= EPSILON and mu <= MU
    noise_times(1 / 3)
    assert bounds(released, STD, answers)[1] > MU


@pytest.mark.audit
def test_the_noise_has_its_scale():
    """All that is added, at a false-alarm rate of 1e-8."""
    noise = np.array([(released(1.0) - exact(1.0)) / STD for _ in range(1000)])
    assert scale_is_accepted(noise)
