"""A quantile, audited as it leaves its release.

One number stands alone between two wide gaps, and the rest at the ends: with its rank on one side
of it or on the other, the points below are right and those above one off, or the reverse. That
pair all but attains the price of a choice: at range e sides have chances of ``expit(+-e/2)``, but
for the one point in the middle. Levels, plans and bounds are those of the audit of vertices.
"""

from dataclasses import replace

import numpy as np
import pytest
from audit_settings import EPSILON
from test_choices import CLAIMS, SHARP, X, every_plan, measured

from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics.quantiles import noisy_quantile
from tests.contracts.columns import column, first

GRID, END = np.arange(-60.0, 61.0), 1e3


def sides(delta, steps, runs, rows=X, epsilon=EPSILON):
    """Return the sides chosen in independent runs at the calibrated noise, and its range."""
    declared = ExponentialChoices(steps, pure=delta == 0)
    noise = calibrate(declared, epsilon, delta)
    session = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    below = 5 if rows is X else 4
    numbers = column(np.repeat([-END, 0.0, END], [below, 1, 9 - below]))
    points = [noisy_quantile(numbers, first, 0.5, GRID, declared.release(noise), session)
              for _ in range(steps * runs)]
    return np.reshape(np.where(np.array(points) < 0, 1.0, -1.0), (runs, steps)), 4.0 / noise


@pytest.mark.audit
@every_plan
def test_quantiles_stay_under_the_claim(plan):
    epsilon, mu = measured(plan, sides)
    assert epsilon <= EPSILON
    assert mu <= CLAIMS[plan]


@pytest.mark.audit
@every_plan
def test_noise_cut_to_a_third_exceeds_the_claim(plan, noise_times):
    noise_times(1 / 3)
    epsilon, mu = measured(plan, sides)
    assert epsilon > SHARP[plan]
    assert mu > CLAIMS[plan] or CLAIMS[plan] == np.inf
