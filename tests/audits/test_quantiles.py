"""A quantile, audited as it leaves its release.

One number stands alone between two wide gaps, and the rest at the ends: with its rank on one side
of it or on the other, the points below are right and those above one off, or the reverse. That
pair all but attains the price of a choice: at range e sides have chances of ``expit(+-e/2)``, but
for the one point in the middle. Levels, plans and bounds are those of the audit of vertices.

Bounds on few targets are a window that is found by three more selections. A row on one side of 0
or on the other adds 1 to its zone or cell, and takes 1 from another. Trees then release sums over
leaves of the targets within these bounds.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from audit_settings import EPSILON
from test_choices import CLAIMS, SHARP, X, every_plan, measured
from test_leaf_releases import chosen

from dpsk import DPDecisionTreeRegressor, DPLinearRegression, DPRandomForestRegressor
from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Composed, Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics.quantiles import noisy_quantile
from dpsk._statistics.windows import noisy_place
from dpsk.testing import NoiseSeed
from tests.contracts.columns import column, first
from tests.contracts.tapes import spent, taped

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


#: So many numbers on either side that no other point is likely, and hardly any noise.
SIDE, SURE = 400, Gaussian(1e4)


def zones(sign, event):
    """Return on which side of 0 a zone is selected: all numbers are in two octaves."""
    numbers = column([sign * 12.0, *np.repeat([12.0, -12.0], SIDE)])
    return numbers, (event, SURE), 0.0


def cells(sign, event):
    """Return in which half of a zone a cell is selected."""
    numbers = column([1500.0 + sign * 300.0, *np.repeat([1800.0, 1200.0], SIDE)])
    return numbers, (SURE, event), 1500.0


def side_of_window(case, sign, event):
    """Return a function of a session that tells whether the window lies on the lower side."""
    numbers, events, middle = case(sign, event)

    def asked(session):
        own = Session(EntropyStream(), Ledger(Composed(events)))
        return noisy_place(numbers, first, 1.0, events, own)[0] < middle - 1e-6

    return asked


@pytest.mark.audit
@pytest.mark.parametrize("case", [zones, cells])
def test_windows_of_few_targets_stay_under_the_claim_and_weak_noise_exceeds_it(case, noise_times):
    audit = partial(chosen, partial(side_of_window, case))
    epsilon, mu = measured("gaussian", audit)
    assert epsilon <= EPSILON and mu <= CLAIMS["gaussian"]
    noise_times(1 / 3)
    assert measured("gaussian", audit)[1] > CLAIMS["gaussian"]


@pytest.mark.parametrize("n_rows", [160, 400])
@pytest.mark.parametrize("cls", [DPDecisionTreeRegressor, DPRandomForestRegressor,
                                 DPLinearRegression])
def test_no_target_moves_bounds_or_sums_of_few_rows_by_more_than_they_cost(cls, n_rows):
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(n_rows, 2)), 20.0 + rng.normal(size=n_rows)
    # Bounds of columns are declared, as only targets differ.
    given = {} if cls is DPLinearRegression else {"columns": {0: (-4, 4), 1: (-4, 4)}}
    worst = 0.0
    for other in (-1e300, 0.0, 20.0, 23.0, 1e6):
        fits = []
        for target in (17.0, other):
            targets[0] = target
            with taped(fits[0].answers if fits else None) as tape:
                cls(1.0, random_state=NoiseSeed(0), **given).fit(features, targets)
            fits.append(tape)
        here, there = fits
        assert here.events == there.events
        shares = [spent(events[0], parts, [a - b for a, b in zip(*totals, strict=True)])
                  for events, parts, *totals in zip(here.events, here.parts, here.totals,
                                                    there.totals, strict=True) if parts]
        assert max(shares) <= 1.0 + 1e-9
        worst = max(worst, *shares)
    assert worst > 0.45
