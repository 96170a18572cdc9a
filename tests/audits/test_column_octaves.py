"""Octaves of columns, audited as they leave their release.

Five pairs of rows differ by 8, by 1/8 twice, and by 0 twice. In the other table one of the pairs
that differ by 1/8 differs by 8. Of the two octaves, which are far apart, the better one is 1 ahead
in either table. That pair attains the price of a choice. Levels, plans and bounds are those of the
audit of vertices.
"""

from dataclasses import replace

import numpy as np
import pytest
from audit_settings import EPSILON
from test_choices import CLAIMS, SHARP, X, every_plan, measured

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics import column_octaves
from dpsk._statistics.column_octaves import noisy_column_octaves


@pytest.fixture(autouse=True)
def _two_candidates(monkeypatch):
    """Offer only the two octaves, so that noise decides between these."""
    def best_point(scores, grid, event, session):
        places = np.flatnonzero(np.isin(grid, (4.0, -2.0)))
        return chosen(lambda inside: scores(inside)[places], grid[places], event, session)

    chosen = column_octaves.best_point
    monkeypatch.setattr(column_octaves, "best_point", best_point)


def octaves(delta, steps, runs, rows=X, epsilon=EPSILON):
    """Return the sides chosen in independent runs at the calibrated noise, and its range."""
    declared = ExponentialChoices(steps, pure=delta == 0)
    noise = calibrate(declared, epsilon, delta)
    session = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    sizes = np.array([8.0, 8.0 if rows is X else 0.125, 0.125, 0.0, 0.0])
    pairs = Rows(np.concatenate([np.zeros(5), sizes])[:, None], np.zeros(10))
    found = [noisy_column_octaves(pairs, 0.5, declared.release(noise), session)[0]
             for _ in range(steps * runs)]
    return np.reshape(np.where(np.array(found) > 0, 1.0, -1.0), (runs, steps)), 4.0 / noise


@pytest.mark.audit
@every_plan
def test_octaves_of_columns_stay_under_the_claim(plan):
    epsilon, mu = measured(plan, octaves)
    assert epsilon <= EPSILON
    assert mu <= CLAIMS[plan]


@pytest.mark.parametrize("plan", [
    pytest.param("pure", marks=pytest.mark.audit), "gaussian"])
def test_noise_cut_to_a_third_exceeds_the_claim(plan, noise_times):
    noise_times(1 / 3)
    epsilon, mu = measured(plan, octaves)
    assert epsilon > SHARP[plan]
    assert mu > CLAIMS[plan] or CLAIMS[plan] == np.inf
