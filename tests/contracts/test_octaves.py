"""The octaves that hold most numbers are chosen at the price of one choice."""

import itertools
import math

import numpy as np
import pytest

from dpsk._oracle import Releases
from dpsk._oracle.quantiles import N_OCTAVES, noisy_octaves, positive_grid
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import Gaussian, Pure
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import Selections
from tests.columns import column, first
from tests.contracts.tapes import taped

#: So little noise that the best octaves win, but with a chance below 1e-80.
EXACT = 0.01
widths = pytest.mark.parametrize("width", [1, 2])


def asked(numbers, width, z=EXACT, pure=False):
    """Return the released end, the exact scores and the event."""
    declared = Selections(1, pure)
    ledger = Ledger(declared(z))
    with taped() as tape:
        end = noisy_octaves(column(np.asarray(numbers, float)), first, width, declared, z,
                            Releases(EntropyStream(), ledger))
    return end, tape.totals[0][0], ledger.spent.events[0].event


@widths
def test_a_score_is_how_many_numbers_lie_in_the_octaves_below_a_point(width):
    rng = np.random.default_rng(0)
    numbers = np.concatenate([2.0 ** rng.normal(0, 4, 300), [math.nan, 4.0, 8.0]])
    _, scores, _ = asked(numbers, width)
    ends = positive_grid()[::16]
    assert len(ends) == len(scores) == N_OCTAVES
    expected = [np.sum((numbers > end / 2.0**width) & (numbers <= end)) for end in ends]
    np.testing.assert_array_equal(scores, expected)


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
    # Both happen in one pair, so that the range is that of a quantile.
    assert min(low for low, _ in moves) == -1 and max(high for _, high in moves) == 1
    assert (-1, 1) in moves


@pytest.mark.parametrize("pure, event", [(True, Pure(0.8)), (False, Gaussian(
    bounded_range_mu(0.8)))])
def test_the_event_is_one_of_the_range_of_the_loss(pure, event):
    assert asked([1.0, 2.0], 1, 5.0, pure)[2] == event
