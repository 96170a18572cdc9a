"""The octaves that hold most numbers are chosen at the price of one choice."""

import itertools
import math

import numpy as np
import pytest

from dpsk._defaults.budgets import NORM_OCTAVES, OCTAVES_CLEARANCE
from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import Gaussian, Pure
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics.quantiles import N_OCTAVES, noisy_octaves, positive_grid
from tests.contracts.columns import column, first
from tests.contracts.tapes import taped

#: So little noise that the best octaves win, but with a chance below 1e-80.
EXACT = 0.01
widths = pytest.mark.parametrize("width", [1, 2])


def asked(numbers, width, z=EXACT, pure=False, missing=(-1, 1.0)):
    """Return the released end, the exact scores and the event."""
    declared = ExponentialChoices(1, pure)
    ledger = Ledger(declared(z))
    with taped() as tape:
        end = noisy_octaves(column(np.asarray(numbers, float)), first, width, missing,
                            declared.release(z), Session(EntropyStream(), ledger))
    return end, tape.totals[0][0], ledger.spent.events[0].event


@widths
@pytest.mark.parametrize("missing", [(-1, 1.0), (0, 0.5)])
def test_a_score_is_how_many_numbers_lie_in_the_octaves_below_a_point_or_near(width, missing):
    """What is near counts by half, and less by an eighth of that with each half octave."""
    rng = np.random.default_rng(0)
    numbers = np.concatenate([2.0 ** rng.normal(0, 4, 300), [math.nan, math.nan, 4.0, 8.0]])
    _, scores, _ = asked(numbers, width, missing=missing)
    ends = positive_grid()[::16]
    assert len(ends) == len(scores) == N_OCTAVES
    places = np.ceil(4.0 * np.log2(numbers[~np.isnan(numbers)])) / 4.0
    points, expected = np.arange(N_OCTAVES) / 4.0 - 32.0, np.zeros(N_OCTAVES)
    for place in places:
        off = np.maximum(place - points, points - place - width + 0.25)
        expected += np.where(off <= 0.0, 1.0, 0.5 * np.maximum(0.0, 1.0 - off / 4.0))
    expected[missing[0]] += 2 * missing[1]
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("share", [0.1, 1.0 / 3.0, 1e-9])
def test_what_is_missing_counts_in_as_few_bits_as_what_is_near_and_no_less_than_said(share):
    numbers = [math.nan] * 7 + [3.0] * 5
    _, scores, _ = asked(numbers, 1, missing=(0, share))
    assert 7 * share <= scores[0] < 7 * (share + 1.0 / 32.0)
    np.testing.assert_array_equal(32.0 * scores, np.rint(32.0 * scores))


@widths
@pytest.mark.parametrize("unit", [1e-6, 1.0, 3e5])
def test_the_end_is_above_most_numbers_and_near_them_in_any_unit(width, unit):
    rng = np.random.default_rng(1)
    numbers = unit * rng.uniform(0.6, 1.0, 200)
    # A few that are far off do not matter.
    numbers[:20] *= 1e5
    end, _, _ = asked(numbers, width)
    assert unit * 0.95 <= end <= unit * 2.0 ** (width + 1)


def test_no_replaced_number_moves_a_score_by_more_than_one():
    pool = (1e-30, 0.3, 1.0, 1.5, 2.0, 1e20, math.nan)
    scores = {table: asked(table, 1)[1] for table in itertools.product(pool, repeat=2)}
    moves = []
    for table, own in scores.items():
        for row, other in itertools.product(range(2), pool):
            moved = own - scores[(*table[:row], other, *table[row + 1:])]
            moves.append((moved.min(), moved.max()))
    # Both happen in one pair, so that the range is that of a quantile and no larger.
    assert min(low for low, _ in moves) == -1 and max(high for _, high in moves) == 1
    assert (-1, 1) in moves


@pytest.mark.parametrize("pure, event", [(True, Pure(0.8)), (False, Gaussian(
    bounded_range_mu(0.8)))])
def test_the_event_is_one_of_the_range_of_the_loss(pure, event):
    assert asked([1.0, 2.0], 1, 5.0, pure)[2] == event


@pytest.mark.parametrize("sigma", [0.0, 0.7, 1.2])
def test_numbers_of_many_sizes_leave_no_chance_to_ends_far_from_all_of_them(sigma):
    """At the least price that rows are taken for: those of a normal law of logarithms."""
    rng = np.random.default_rng(2)
    filling, n = NORM_OCTAVES[1], 400
    z = 2.0 * filling * n / (OCTAVES_CLEARANCE + math.log(N_OCTAVES))
    _, scores, _ = asked(np.exp(sigma * rng.normal(size=n)), NORM_OCTAVES[0], z)
    weights = np.exp(2.0 / z * (scores - scores.max()))
    far = np.abs(np.log2(positive_grid()[::16])) > 8.0
    assert weights[far].sum() / weights.sum() < 0.01


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("missing", [(-1, 1.0), (0, 0.5)])
def test_where_most_are_missing_the_end_is_that_of_the_others_or_the_harmless_one(share, missing):
    numbers = np.full(400, 3.0)
    numbers[:int(400 * share)] = math.nan
    end, _, _ = asked(numbers, 1, missing=missing)
    lost = missing[1] * share > 1.0 - share
    assert end == positive_grid()[missing[0]] if lost else 3.0 <= end <= 8.0
