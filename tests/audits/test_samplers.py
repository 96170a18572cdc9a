"""The releases of samplers, audited as they leave their oracles.

Of two neighboring tables each sum has the mean of its noise-free answer, so that its log
likelihood ratio is normal with known mean. Row 0 is replaced by one of another class that changes
every table, or is as long as can be: the releases attain their claims, all but exactly. A choice
between two pairs, of which one is expected as it is in one table and one as in the other, is
randomized response, and so are the two ends of a learnt range, each with one number alone between
two wide gaps; levels, plans and bounds are those of the audit of vertices.
"""

from dataclasses import replace

import numpy as np
import pytest
from audit_settings import EPSILON, N
from normal_releases import MU, bounds, scale_is_accepted
from test_choices import CLAIMS, SHARP, every_plan
from test_choices import X as TABLE
from test_choices import measured as measured_choices

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._problem import Budget
from dpsk._stages import column_bounds
from dpsk._statistics import ends as ends_of_columns
from dpsk._statistics.class_moments import noisy_class_moments
from dpsk._statistics.tables import PairChoices, noisy_tables, table_noise

RADIUS, CONSTANT = 2.0, 2.0
LABELS = np.arange(N) % 3
#: A grid for the ends of a range, and numbers on it with how many rows have them.
GRID, TAIL = np.arange(-60.0, 61.0), 0.3
NUMBERS, COUNTS = [-60.0, -30.0, 0.0, 30.0, 60.0], [300, 1, 399, 1, 299]
SIZES = (2, 3, 4)
COLUMNS = [(0,), (1,), (2,), (0, 1), (1, 2)]
UPPER = np.triu_indices(3)


def session():
    return Session(EntropyStream(), Ledger(Gaussian(MU)))


def labels(sign):
    return np.where(np.arange(N) == 0, 0 if sign > 0 else 1, LABELS)


def classes(sign):
    """Moments, sums and counts of three classes; row 0 changes its class and its side."""
    X = np.full((N, 2), 0.1)
    X[0] = [sign * RADIUS, 0.0]
    found = noisy_class_moments(Rows(X, labels(sign)), 3, np.eye(2), RADIUS, MU, session())
    matrices = np.empty((3, 3, 3))
    matrices[:, :2, :2], matrices[:, 2, :2] = found.moments, CONSTANT * found.sums
    matrices[:, :2, 2], matrices[:, 2, 2] = CONSTANT * found.sums, CONSTANT**2 * found.counts
    return matrices[(slice(None), *UPPER)].ravel()


def cells(sign):
    X = np.column_stack([np.arange(N) % size for size in SIZES])
    X[0] = [0, 0, 0] if sign > 0 else [1, 1, 1]
    return Rows(X, labels(sign))


def tables(sign):
    found = noisy_tables(cells(sign), SIZES, 3, COLUMNS, MU, session())
    return np.concatenate([table.ravel() for table in found])


def choices(delta, steps, runs, rows=TABLE, epsilon=EPSILON):
    """Return which of two pairs was chosen in independent runs, as signs, and the range."""
    declared = ExponentialChoices(steps, pure=delta == 0)
    noise = calibrate(declared, epsilon, delta)
    opened = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    public = {(0, 1): _pair_table(1.0), (0, 2): _pair_table(-1.0)}
    bins = np.zeros((N, 3), np.int64)
    bins[0] = 0 if rows is TABLE else 1
    found = PairChoices(Rows(bins, np.zeros(N, int)), (2, 2, 2), 1, list(public), public.get,
                        np.full(2, -1e9), declared.release(noise), opened)
    places = [found.best(np.ones(2, bool)) for _ in range(steps * runs)]
    return np.reshape(np.where(np.array(places) == 0, -1.0, 1.0), (runs, steps)), 4.0 / noise


def ends(delta, steps, runs, rows=TABLE, epsilon=EPSILON):
    """Return on which side of the lone numbers the ends of ranges lie, as `choices`."""
    declared = ExponentialChoices(steps, pure=delta == 0)
    noise = calibrate(declared, epsilon, delta)
    opened = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    counts = np.array(COUNTS)
    if rows is not TABLE:
        # One row moves from the low end to the high one.
        counts[[0, -1]] += [-1, 1]
    column = Rows(np.repeat(NUMBERS, counts)[:, None], np.zeros(sum(COUNTS), int))
    budget, price = Budget(len(column), 1, epsilon, delta), declared.release(noise)
    bounds = column_bounds.learnt_bounds(budget, (0,), lambda _: (price, TAIL, None))
    found = [bounds.run((column,), opened, noise)[0] for _ in range(runs * steps // 2)]
    return np.where(np.array(found) < NUMBERS[1::2], 1.0, -1.0).reshape(runs, steps), 4.0 / noise


@pytest.fixture
def plain_ends(monkeypatch):
    """Let ends be the points that were chosen, of a short grid."""
    monkeypatch.setattr(ends_of_columns, "distance_grid", lambda: GRID)
    monkeypatch.setattr(column_bounds, "widened", lambda low, high, tail: (low, high))


def _pair_table(sign):
    table = np.zeros((1, 2, 2))
    table[0, 0, 0] = N
    if sign < 0:
        table[0, 0, 0], table[0, 1, 1] = N - 1, 1
    return table


_MATRIX = np.sqrt(2.0) * (RADIUS**2 + CONSTANT**2) / MU
RELEASES = {
    "classes": (classes, np.tile(_MATRIX * np.where(UPPER[0] == UPPER[1], 1.0, np.sqrt(0.5)), 3)),
    "tables": (tables, table_noise(len(COLUMNS), MU))}
every_release = pytest.mark.parametrize("name", RELEASES)


def measured(name, means, noise_times, cut):
    """Return lower bounds on epsilon and mu with noise times `cut`."""
    release, std = RELEASES[name]
    answers = means(release)
    noise_times(cut)
    return bounds(release, std, answers)


@pytest.mark.audit
@every_release
def test_a_release_stays_under_its_claim_and_a_third_of_the_noise_exceeds_it(
        name, means, noise_times):
    """False-alarm rate at most 1e-7 a release."""
    epsilon, mu = measured(name, means, noise_times, 1.0)
    assert epsilon <= EPSILON and mu <= MU
    assert measured(name, means, noise_times, 1 / 3)[1] > MU


@every_release
@pytest.mark.parametrize("factor", [2 / 3, 1.0, 3 / 2])
def test_the_noise_has_the_declared_scale(name, factor, means, noise_times):
    """Two-sided chi-square at level 1e-8; 2/3 and 3/2 of the scale are rejected."""
    release, std = RELEASES[name]
    here = means(release)[0]
    noise_times(factor)
    noise = np.array([(release(1.0) - here) / std for _ in range(200)])
    assert scale_is_accepted(noise) == (factor == 1.0)


@pytest.mark.audit
@every_plan
def test_choices_of_pairs_stay_under_the_claim(plan):
    epsilon, mu = measured_choices(plan, choices)
    assert epsilon <= EPSILON
    assert mu <= CLAIMS[plan]


@pytest.mark.audit
@every_plan
def test_choices_with_noise_cut_to_a_third_exceed_the_claim(plan, noise_times):
    noise_times(1 / 3)
    epsilon, mu = measured_choices(plan, choices)
    assert epsilon > SHARP[plan]
    assert mu > CLAIMS[plan] or CLAIMS[plan] == np.inf


@pytest.mark.audit
def test_ends_of_ranges_stay_under_the_claim(plain_ends):
    epsilon, mu = measured_choices("gaussian", ends)
    assert epsilon <= EPSILON
    assert mu <= CLAIMS["gaussian"]


@pytest.mark.audit
def test_ends_with_noise_cut_to_a_third_exceed_the_claim(plain_ends, noise_times):
    noise_times(1 / 3)
    assert measured_choices("gaussian", ends)[1] > CLAIMS["gaussian"]
