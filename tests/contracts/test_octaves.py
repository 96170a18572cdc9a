"""Octaves that hold most numbers are chosen at the price of one choice, a window at three."""

import itertools
import math

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._defaults.budgets import NORM_OCTAVES, OCTAVES_CLEARANCE
from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import Composed, Gaussian, Pure
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics.column_octaves import N_CANDIDATES, noisy_column_octaves
from dpsk._statistics.quantiles import N_OCTAVES, noisy_octaves, positive_grid
from dpsk._statistics.windows import noisy_window
from tests.contracts.columns import column, first, spread
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


#: So little noise in all three selections of a window.
SURE = (Gaussian(1e3),) * 3


def window_of(numbers, answers=None, places=1):
    """Return the window, the exact scores of width, zone and cell, and the tape."""
    rows = column(np.asarray(numbers, float))
    rows = rows if places == 1 else spread(rows, places)
    with taped(answers) as tape:
        window = noisy_window(rows, first, SURE,
                              Session(EntropyStream(), Ledger(Composed(SURE))))
    return window, [np.asarray(total[0]) for total in tape.totals], tape


@pytest.mark.parametrize("unit, far", [(1.0, 0.0), (1.0, 1e6), (1.0, -1e6), (1e-6, 1e-5),
                                       (3e5, -1e7), (2.0, -1.0)])
def test_the_window_holds_most_numbers_of_any_unit_and_place(unit, far):
    numbers = far + unit * np.random.default_rng(0).normal(size=300)
    (low, high), _, _ = window_of(numbers)
    # At most 2**18 cells of an octave are wider than a unit far from 0.
    assert 2.0 * unit < high - low < 13.0 * unit
    assert np.mean((low < numbers) & (numbers < high)) > 0.7


@pytest.mark.parametrize("value", [0.0, 7.0, -273.0])
def test_the_window_of_equal_numbers_is_about_them(value):
    (low, high), _, _ = window_of([value] * 80 + [value + 5.0] * 10)
    assert value - 0.01 * abs(value) - 1e-6 < low <= value <= high < value + 2.5


def test_a_frequent_number_does_not_narrow_the_window():
    """Most counts are 0, and a window of zeros would clip all others."""
    numbers = [0.0] * 130 + [*np.linspace(1.0, 9.0, 170)]
    (low, high), _, _ = window_of(numbers)
    assert low <= 0.0 and 1.0 < high < 40.0


def test_scores_of_widths_are_those_of_all_windows():
    numbers = np.round(np.random.default_rng(1).normal(size=60) * 4.0, 0)
    _, (scores, _, _), _ = window_of(numbers)
    widths = positive_grid()[::64]

    def counts(width):
        inside = [numbers[(numbers >= each) & (numbers <= each + width)] for each in numbers]
        return (max(map(len, inside)),
                max(len(each) - np.unique(each, return_counts=True)[1].max() for each in inside))

    found = np.array([counts(width) for width in widths])
    off = np.maximum(27 - found[1:, 1], found[:-1, 0] - 30)
    equal = round(0.85 * 60) - np.unique(numbers, return_counts=True)[1].max()
    np.testing.assert_array_equal(scores, -np.maximum(0, np.append(equal, off)))


def test_no_replaced_number_moves_a_score_of_a_window_by_more_than_one():
    """Given the points selected before, as in composition; both directions happen at once."""
    pool = (-1e30, 0.0, 1.0, 1.2, 1e20)
    tables = [(*some, 1.0, 1.1) for some in itertools.product(pool, repeat=2)]
    width_scores = {}
    moves = [[], [], []]
    for table in tables:
        _, own, tape = window_of(table)
        width_scores[table] = own[0]
        for row, other in itertools.product(range(2), pool):
            _, theirs, _ = window_of((*table[:row], other, *table[row + 1:]), tape.answers)
            for move, a, b in zip(moves, own, theirs, strict=True):
                moved = a - b
                move.append((moved.min(), moved.max()))
    for move in moves:
        least, most = np.transpose(move)
        assert least.min() == -1.0 and most.max() == 1.0


def test_numbers_in_several_places_have_the_same_window():
    numbers = 40.0 + np.random.default_rng(2).normal(size=90)
    alone, scores, tape = window_of(numbers)
    together, others, _ = window_of(numbers, tape.answers, places=3)
    assert alone == together
    for ours, theirs in zip(scores, others, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def asked_of(X, tail=0.1, parts=1):
    """Return the released exponents, and the exact scores of every column."""
    rows = Rows(X, np.zeros(len(X)))
    declared = ExponentialChoices(X.shape[1], pure=False)
    with taped() as tape:
        found = noisy_column_octaves(
            rows if parts == 1 else spread(rows, parts), tail, declared.release(EXACT),
            Session(EntropyStream(), Ledger(declared(EXACT))))
    return found, np.array([total[0] for total in tape.totals])


def table(n=400, dtype=np.float64):
    """Return columns of many units, some far from 0, some rare, some constant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 7)) * [1e-6, 1.0, 1e6, 5.0, 1.0, 0.0, 1e-13]
    X[:, 3] += 1e5
    X[:, 4] = rng.random(n) < 0.2
    X[:, 5] = 0.1
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("parts", [1, 2])
def test_octaves_follow_units_and_not_offsets(dtype, parts):
    found, _ = asked_of(table(dtype=dtype), parts=parts)
    wanted = [np.log2(2e-6), 1.0, np.log2(2e6), np.log2(10.0)]
    assert np.abs(found[:4] - wanted).max() <= 2.0
    # Flags differ by 1; a column without differences, but for rounding errors, has no octave.
    assert found[4] == 1.0
    assert np.isneginf(found[5:]).all()


def test_a_tenth_of_real_differences_outweighs_tiny_ones():
    """The fullest octave is that of the noise, which made flags 256 times too long."""
    X = (np.random.default_rng(0).random((1000, 1)) < 0.1) + 0.003 * table(1000)[:, 1:2]
    assert asked_of(X)[0][0] in (0.0, 1.0)


def test_the_score_is_the_least_of_three_numbers_of_pairs():
    X, tail = np.zeros((100, 1)), 0.2
    X[50:, 0] = np.repeat([0.0, 1.0, 24.0], [30, 8, 12])
    _, (scores,) = asked_of(X, tail)
    expected = np.zeros(N_CANDIDATES)
    expected[0] = 2 * 10 - 20
    for e in range(-32, 41):
        pairs = {1: 8, 5: 12}
        near = sum(count * max(0.0, 1.0 - 0.25 * abs(e - own)) for own, count in pairs.items())
        here = sum(count for own, count in pairs.items() if own >= e)
        above = sum(count for own, count in pairs.items() if own > e)
        expected[e + 33] = min(here, near, 2 * 10 - above)
    np.testing.assert_array_equal(scores, expected)
    assert scores.argmax() == 5 + 33


def test_replacing_a_row_moves_no_score_by_more_than_1():
    rng = np.random.default_rng(0)
    X, worst = table(41), 0.0
    for _ in range(300):
        other = X.copy()
        other[rng.integers(41)] = rng.choice([0.0, 1.0, 1e280, -1e280, 5e-324, 0.1]) * (
            rng.normal(size=7) * 2.0 ** rng.integers(-50, 50, 7))
        tail = rng.choice([0.05, 0.1, 0.5])
        moved = np.abs(asked_of(X, tail)[1] - asked_of(other, tail)[1])
        worst = max(worst, moved.max())
        X = other
    assert worst == 1.0
