"""Knots, categories and pairs of columns of tables, audited as they leave their releases.

A median is a choice as a quantile is: one number between two wide gaps, whose side is told as
often as the price of a choice allows. Of categories only those beyond a threshold leave: a row
that moves from one to another, both of counts beside the threshold, is told by which of them is
there. Less shows than in the counts themselves, and at mu 2 that is not much less. Of two pairs
of columns a row makes one fit its residuals better and the other worse, each by a whole score.
"""

from dataclasses import replace

import numpy as np
import pytest
from audit_settings import EPSILON, LEVEL
from scipy.special import ndtr
from test_choices import CLAIMS, X, measured

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics import categories, cells
from dpsk._statistics.categories import FrequentCategories, category_threshold
from dpsk._statistics.cells import noisy_knots
from dpsk._statistics.decimals import even_points
from dpsk._statistics.pairs import noisy_pairs
from dpsk.auditing import delta_lower_bound, mu_lower_bound
from tests.contracts.columns import column, first

GRID, END = np.arange(-60.0, 61.0), 1e3
#: Of categories: the claim, and the count that is half beyond the threshold.
MU, COUNT = 2.0, 3
_SCALE = np.sqrt(2.0) / MU
DELTA = float(ndtr(-(COUNT - 0.5) / _SCALE))
_RUNS = 2000


@pytest.fixture
def wide(monkeypatch):
    """Let knots be points of a grid of two wide gaps."""
    monkeypatch.setattr(cells, "decimal_points", lambda: even_points(GRID))


def sides(delta, steps, runs, rows=X, epsilon=EPSILON):
    """Return the sides of medians in independent runs at the calibrated noise, and its range."""
    declared = ExponentialChoices(steps, pure=False)
    noise = calibrate(declared, epsilon, delta)
    session = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    below = 5 if rows is X else 4
    numbers = column(np.repeat([-END, 0.0, END], [below, 1, 9 - below]))
    points = [noisy_knots(numbers, first, 1, None, declared.release(noise), session)[0][0]
              for _ in range(steps * runs)]
    return np.reshape(np.where(np.array(points) < 0, 1.0, -1.0), (runs, steps)), 4.0 / noise


@pytest.mark.audit
def test_knots_stay_under_the_claim(wide):
    epsilon, mu = measured("gaussian", sides)
    assert epsilon <= EPSILON and mu <= CLAIMS["gaussian"]


@pytest.mark.audit
def test_knots_of_a_third_of_the_noise_exceed_the_claim(wide, noise_times):
    noise_times(1 / 3)
    assert measured("gaussian", sides)[1] > CLAIMS["gaussian"]


def pairs_chosen(delta, steps, runs, rows=X, epsilon=EPSILON):
    """Return which of two pairs was chosen in independent runs, and the range of a choice."""
    declared, n_samples, clip = ExponentialChoices(steps, pure=False), 400, 0.5
    noise = calibrate(declared, epsilon, delta)
    session = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    signs = np.ones((n_samples, 4))
    # Products of the first row are 1 and -1, or -1 and 1.
    signs[0] = (1, 1, 1, -1) if rows is X else (1, -1, 1, 1)
    features = signs[:, :, None] * np.array([0.5**0.5, -(0.5**0.5)])
    table = Rows(features.reshape(n_samples, 8), np.full((n_samples, 1), clip))
    slices = [slice(start, start + 2) for start in range(0, 8, 2)]
    found = [noisy_pairs(table, slices, [np.ones(2)] * 4, [(0, 1), (2, 3)], clip, 1,
                         declared.release(noise), session) for _ in range(steps * runs)]
    return np.reshape([1.0 if each == [(0, 1)] else -1.0 for each in found], (runs, steps)), (
        4.0 / noise)


@pytest.mark.audit
def test_pairs_stay_under_the_claim():
    epsilon, mu = measured("gaussian", pairs_chosen)
    assert epsilon <= EPSILON and mu <= CLAIMS["gaussian"]


@pytest.mark.audit
def test_pairs_of_a_third_of_the_noise_exceed_the_claim(noise_times):
    noise_times(1 / 3)
    assert measured("gaussian", pairs_chosen)[1] > CLAIMS["gaussian"]


def shown(counts, delta=DELTA, runs=_RUNS):
    """Return whether each of the categories left, shape (runs, number of categories)."""
    rows = Rows(np.repeat(np.arange(len(counts)), counts)[:, None].astype(float),
                np.zeros(sum(counts)))
    mechanism, found = FrequentCategories(9, delta), np.zeros((runs, len(counts)), bool)
    for run in found:
        session = Session(EntropyStream(), Ledger(mechanism.event(1.0 / MU)))
        ((kept, _),) = mechanism.run((rows, [0], [len(counts)]), session, 1.0 / MU)
        run[kept] = True
    return found


def moved():
    """Return a lower bound on mu from a row that moves from one category to the other."""
    # The unit of counts is added to the threshold.
    assert abs(category_threshold(1, MU, DELTA) - (COUNT + 0.5)) < 2e-3
    hits = []
    for counts in ((COUNT + 1, COUNT), (COUNT, COUNT + 1)):
        found = shown(counts)
        hits += [int((found[:, 0] & ~found[:, 1]).sum()), len(found)]
    return mu_lower_bound(*hits, level=LEVEL)


def test_categories_stay_under_the_claim():
    """The bound exceeds the claim with a chance of 1e-7 at most, and most of it shows."""
    assert 0.6 * MU < moved() <= MU


def test_categories_of_a_third_of_the_noise_exceed_the_claim(noise_times):
    noise_times(1 / 3)
    assert moved() > MU


def alone(delta):
    """Return a lower bound on delta from a row that is alone in its category."""
    hits = shown((40, 1), delta)[:, 1].sum()
    # On the other table there is no such category.
    return delta_lower_bound(int(hits), _RUNS, 0, _RUNS, epsilon=0.0, level=LEVEL)


def test_a_row_alone_shows_with_no_more_than_delta():
    """Of 2000 runs 100 show it: fewer than 40, of which the bound would say little, never do."""
    assert 0.005 < alone(0.05) <= 0.05


def test_a_threshold_that_forgets_the_row_itself_exceeds_delta(monkeypatch):
    monkeypatch.setattr(categories, "category_threshold",
                        lambda *args: category_threshold(*args) - 1.0)
    assert alone(0.05) > 0.05
