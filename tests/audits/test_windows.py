"""Selections of a window of few targets, and bounds and sums of leaves after them, audited.

The window is found by three selections. A row on one side of 0 or on the other adds 1 to its zone
or cell, and takes 1 from another. A row in the crowd raises the score of the least width that
holds enough numbers, and lowers that of twice the width, of which half holds too many. Trees then
release sums over leaves of the targets within it.
"""

from functools import partial

import numpy as np
import pytest
from audit_settings import EPSILON
from test_choices import CLAIMS, measured
from test_leaf_releases import chosen

from dpsk import DPDecisionTreeRegressor, DPLinearRegression, DPRandomForestRegressor
from dpsk._mechanism.session import Session
from dpsk._privacy.events import Composed, Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._statistics import windows
from dpsk._statistics.windows import noisy_place, noisy_window
from dpsk.testing import NoiseSeed
from tests.contracts.columns import column, first
from tests.contracts.tapes import spent, taped

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


#: Other numbers: different ones and equal ones within a width of 1, some within 2, and far ones.
CROWD = np.concatenate([np.linspace(0.0, 1.0, 447), np.full(55, 0.5003),
                        np.linspace(-0.95, -0.85, 200), 1e6 * np.arange(1.0, 298.0)])


def width_of_window(sign, event):
    """Return a function of a session that tells whether the width is above 1."""
    numbers, events = column([0.3001 if sign > 0 else 1e9, *CROWD]), (event, SURE, SURE)

    def asked(session):
        own = Session(EntropyStream(), Ledger(Composed(events)))
        low, high = noisy_window(numbers, first, events, own)
        # Two cells are three widths wide here.
        return high - low > 4.5

    return asked


@pytest.fixture
def counted_once(monkeypatch):
    """Count the numbers of a table within a width once; the largest one tells tables apart."""
    known, found_by = {}, windows._most_within

    def remembered(found, counts, width):
        key = found[-1], width
        if key not in known:
            known[key] = found_by(found, counts, width)
        return known[key]

    monkeypatch.setattr(windows, "_most_within", remembered)


@pytest.mark.audit
@pytest.mark.usefixtures("counted_once")
def test_widths_of_few_targets_stay_under_the_claim_and_weak_noise_exceeds_it(noise_times):
    audit = partial(chosen, width_of_window)
    epsilon, mu = measured("gaussian", audit)
    assert epsilon <= EPSILON and mu <= CLAIMS["gaussian"]
    noise_times(1 / 3)
    assert measured("gaussian", audit)[1] > CLAIMS["gaussian"]


def test_the_audited_row_moves_the_scores_of_two_widths_apart_by_all_that_one_may():
    scores = []
    for sign in (1.0, -1.0):
        with taped() as tape:
            width_of_window(sign, SURE)(None)
        ((own,), *_) = tape.totals
        scores.append(own)
    # A width of 1 is the 33rd; no other one is in question.
    assert (scores[0] - scores[1])[32:34].tolist() == [1.0, -1.0]
    assert [np.sort(own)[-3] < -100.0 for own in scores] == [True, True]
    assert {int(np.argmax(own)) for own in scores} == {32, 33}


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


@pytest.mark.audit
@pytest.mark.usefixtures("counted_once")
@pytest.mark.parametrize("choose", [width_of_window, partial(side_of_window, zones),
                                    partial(side_of_window, cells)], ids=["width", "zone", "cell"])
def test_windows_stay_under_a_pure_claim_and_a_third_of_the_noise_exceeds_it(choose, noise_times):
    assert measured("pure", partial(chosen, choose))[0] <= EPSILON
    noise_times(1 / 3)
    assert measured("pure", partial(chosen, choose))[0] > EPSILON


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
