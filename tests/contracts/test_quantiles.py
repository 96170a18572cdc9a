"""A quantile has the law of the exponential mechanism, at the price of its range."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpsk._mechanism.session import Session
from dpsk._privacy import accountant
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import Gaussian, Pure
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics import quantiles
from dpsk._statistics.quantiles import (
    bounded_grid,
    noisy_quantile,
    noisy_tails,
    positive_grid,
    real_grid,
)
from tests.contracts.columns import column, first, spread
from tests.contracts.streams import SilentStream
from tests.contracts.tapes import taped
from tests.noise.levels import LEVEL
from tests.privacy.test_declarations import shown

pytestmark = pytest.mark.thorough

GRID = np.array([-2.0, -1.0, 0.5, 3.0])
#: So little noise that the best point wins, but with a chance below 1e-80.
EXACT = 0.01
both_ways = pytest.mark.parametrize("upward", [True, False])


def asked(numbers, q, grid=GRID, z=2.0, upward=True, count=1, pure=False):
    """Return released points, and the exact scores."""
    declared, numbers = ExponentialChoices(count, pure), np.asarray(numbers, float)
    session = Session(EntropyStream(), Ledger(declared(z)))
    with taped() as tape:
        event = declared.release(z)
        points = [noisy_quantile(column(numbers), first, q, grid, event, session, upward)
                  for _ in range(count)]
    return np.array(points), tape.totals[0][0]


def naive_scores(numbers, q, grid, upward):
    """Return the scores by their definition, one number and one point at a time."""
    numbers = [x for x in numbers if not math.isnan(x)]
    numbers = [min((g for g in grid if g >= x), default=grid[-1]) if upward
               else max((g for g in grid if g <= x), default=grid[0]) for x in numbers]
    k = round(q * len(numbers))
    return np.array([-max(0, sum(x < g for x in numbers) - k, k - sum(x <= g for x in numbers))
                     for g in grid])


def law(scores, z):
    """Return the chances of the exponential mechanism."""
    weights = np.exp((scores - scores.max()) * 2.0 / z)
    return weights / weights.sum()


@both_ways
def test_scores_are_those_of_the_definition(upward):
    rng = np.random.default_rng(0)
    for _ in range(200):
        grid = np.unique(rng.normal(size=rng.integers(1, 9)))
        pool = np.concatenate([grid, 2 * rng.normal(size=4), [0.0, 1e300, -1e300, np.nan]])
        numbers = rng.choice(pool, size=rng.integers(1, 12))
        q = rng.choice([0.0, 0.3, 0.5, 0.97, 1.0])
        np.testing.assert_array_equal(asked(numbers, q, grid, upward=upward)[1],
                                      naive_scores(numbers, q, grid, upward))


def test_both_tails_have_the_scores_of_single_quantiles_from_one_reading_of_the_rows():
    numbers, readings = np.random.default_rng(1).normal(size=50), []
    declared = ExponentialChoices(2, pure=False)

    def read(*part):
        readings.append(part)
        return first(*part)

    with taped() as tape:
        noisy_tails(column(numbers), read, 0.1, GRID, declared.release(2.0),
                    Session(EntropyStream(), Ledger(declared(2.0))))
    assert len(readings) == 1
    for (found,), q, upward in zip(tape.totals, (0.1, 0.9), (False, True), strict=True):
        plain = naive_scores(numbers, q, GRID, upward)
        assert (found <= plain).all() and found.max() == plain.max()


def both_tails(numbers, tail, grid):
    """Return the scores of the low and the high end."""
    declared = ExponentialChoices(2, pure=False)
    with taped() as tape:
        noisy_tails(column(np.asarray(numbers, float)), first, tail, grid, declared.release(2.0),
                    Session(EntropyStream(), Ledger(declared(2.0))))
    return [scores for (scores,) in tape.totals]


def naive_tail(numbers, tail, grid, width):
    """Return the scores of the high end by their definition, with gaps of `width` points."""
    placed = [next((i for i, g in enumerate(grid) if g >= x), len(grid) - 1)
              for x in numbers if not math.isnan(x)]
    wanted = round(0.75 * max(0.0, min(tail, 0.5 - tail)) * len(placed))
    zero = next(i for i, g in enumerate(grid) if g >= 0)
    plain = naive_scores(numbers, 1.0 - tail, grid, True)
    return np.array([min(plain[i], sum(max(i - width, zero if i > zero else -1) < j <= i
                                       for j in placed) - wanted) for i in range(len(grid))])


@pytest.mark.parametrize("grid", [np.arange(-3.0, 4.0), np.array([0.5, 1.0, 2.0, 5.0, 9.0])])
def test_a_point_in_a_gap_scores_by_the_numbers_between_it_and_zero(grid, monkeypatch):
    """No replaced number moves such a score by more than one: all small tables."""
    monkeypatch.setattr(quantiles, "_GAP", 2)
    pool, size, lowered = (-3.0, -0.5, 0.0, 1.0, 2.5, math.nan), 4, 0
    for tail in (0.1, 0.3):
        scores = {table: both_tails([*table] * 3, tail, grid)
                  for table in itertools.combinations_with_replacement(pool, size)}
        for table, (low, high) in scores.items():
            numbers = [*table] * 3
            np.testing.assert_array_equal(high, naive_tail(numbers, tail, grid, 2))
            if grid[0] < 0:
                turned = naive_tail([-x for x in numbers], tail, -grid[::-1], 2)[::-1]
                np.testing.assert_array_equal(low, turned)
            lowered += (high < naive_scores(numbers, 1.0 - tail, grid, True)).sum()
            for other in pool:
                for own, moved in zip((low, high), both_tails(
                        [other, *numbers[1:]], tail, grid), strict=True):
                    assert np.abs(own - moved).max() <= 1
    assert lowered > 20


@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 1.0])
def test_no_replaced_number_moves_a_score_by_more_than_one_or_a_chance_beyond_the_range(q):
    """All tables of three numbers and all that differ in one, on the points or not, or missing."""
    z, pool = 0.7, (-5.0, -1.0, 0.0, 0.5, 9.0, math.nan)
    scores = {table: asked(table, q)[1] for table in itertools.product(pool, repeat=3)}
    widest = 0.0
    for table, own in scores.items():
        for row, other in itertools.product(range(3), pool):
            neighbor = scores[(*table[:row], other, *table[row + 1:])]
            assert np.abs(own - neighbor).max() <= 1
            losses = np.log(law(own, z) / law(neighbor, z))
            assert losses.min() <= 1e-12 and losses.max() >= -1e-12
            widest = max(widest, np.ptp(losses))
    assert widest <= 4 / z * (1 + 1e-9)
    # Where points lie on both sides of the rank the range is attained.
    assert q not in (0.25, 0.5) or widest > 3.99 / z


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("z", [1.0, 4.0, 20.0])
def test_a_quantile_costs_no_less_than_its_worst_pair_shows(pure, z):
    """One number between two wide gaps, beside which the rank lies on this side or that."""
    grid, plan, closest = np.arange(-100.0, 101.0), ExponentialChoices(1, pure), 0.0
    tables = [[-1e3] * 5 + [0.0] + [1e3] * 4, [-1e3] * 4 + [0.0] + [1e3] * 5]
    pair = [law(asked(table, 0.5, grid, z)[1], z) for table in tables]
    for epsilon in (0.0, 0.5 / z, 1 / z, 2 / z):
        price = accountant.delta(plan(z), epsilon)
        exact = shown(*pair, epsilon)
        assert exact <= price * (1 + 1e-9)
        closest = max(closest, exact / price if price else 0.0)
    assert closest > (0.4 if pure else 0.95)


def test_the_event_is_one_of_the_range_of_the_loss():
    numbers, z = [0.0, 1.0], 5.0
    for pure, event in ((True, Pure(0.8)), (False, Gaussian(bounded_range_mu(0.8)))):
        declared = ExponentialChoices(1, pure)
        ledger = Ledger(declared(z))
        noisy_quantile(column(numbers), first, 0.5, GRID, declared.release(z),
                       Session(EntropyStream(), ledger))
        assert ledger.spent.events[0].event == event


def test_what_is_not_declared_is_neither_read_nor_drawn():
    def numbers(rows, part):
        raise AssertionError("read")

    declared = ExponentialChoices(1, False)
    session = Session(SilentStream(bytes(16)), Ledger(declared(3.0)))
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        noisy_quantile(column(np.zeros(5)), numbers, 0.5, GRID, declared.release(4.0), session)


def frequencies_fit(points, chances):
    """Whether a chi-squared test accepts the chances at LEVEL."""
    seen = np.array([(points == point).sum() for point in GRID])
    expected = len(points) * chances
    return stats.chi2(len(GRID) - 1).sf(((seen - expected)**2 / expected).sum()) > LEVEL


def test_released_points_follow_the_exact_law_and_no_other_noise():
    """Of 2e4 draws at least 400 are expected at every point, so that the level is as stated."""
    numbers, z = [-2.5, -1.5, -1.0, 0.2, 7.0], 2.0
    points, scores = asked(numbers, 0.5, z=z, count=20_000)
    assert law(scores, z).min() > 0.02
    assert frequencies_fit(points, law(scores, z))
    for factor in (2 / 3, 3 / 2):
        assert not frequencies_fit(points, law(scores, z * factor))


@both_ways
def test_a_number_on_which_many_stand_is_hit(upward):
    for grid in (positive_grid(), real_grid()):
        for value in (0.37, 1.0, 4.0, 250.0):
            points, _ = asked([value] * 900 + [0.01] * 50 + [1e4] * 50, 0.5, grid, EXACT, upward)
            on = grid[grid >= value][0] if upward else grid[grid <= value][-1]
            assert points[0] == on
            assert abs(on - value) <= 0.011 * value
    # A power of two is a point itself.
    assert asked([4.0] * 30, 0.9, positive_grid(), EXACT, upward)[0][0] == 4.0


@pytest.mark.parametrize("value, point", [
    (0.0, 2.0**-32), (5e-324, 2.0**-32), (1e300, 2.0**40), (np.finfo(float).max, 2.0**40)])
def test_beyond_the_ends_stand_the_ends(value, point):
    assert asked([value] * 30, 0.9, positive_grid(), EXACT)[0][0] == point


def test_the_ends_of_the_order_are_ranks_too():
    numbers, grid = np.arange(1.0, 101.0), real_grid()
    low, high = (asked(numbers, q, grid, EXACT)[0][0] for q in (0.0, 1.0))
    # Below the least and above the largest all points are alike.
    assert low <= 1.0 and high >= 100.0
    middle = asked(numbers, 0.5, grid, EXACT)[0][0]
    assert 49.5 <= middle <= 51.5


def test_grids_are_even_in_their_unit_and_hold_zero():
    positive, real = positive_grid(), real_grid()
    np.testing.assert_allclose(np.diff(np.log2(positive)), 1 / 64, rtol=1e-6)
    np.testing.assert_allclose(np.diff(np.arcsinh(1e3 * real)),
                               np.arcsinh(1e15) / 2**13, rtol=1e-6)
    assert positive[0] > 0 and 0.0 in real and np.array_equal(real, -real[::-1])
    assert real[-1] == pytest.approx(1e12) and math.log2(positive[-1]) == 40


def test_as_much_is_drawn_for_any_numbers():
    rng = np.random.default_rng(0)
    tables = [np.zeros(50), rng.normal(size=50), np.full(50, 1e300), np.repeat([1.0, 2.0], 25)]
    drawn = set()
    for numbers in tables:
        with taped() as tape:
            declared = ExponentialChoices(1, False)
            noisy_quantile(column(numbers), first, 0.9, real_grid(), declared.release(3.0),
                           Session(EntropyStream(), Ledger(declared(3.0))))
        drawn.add(tape.noise[0].size)
    assert drawn == {len(real_grid())}


def test_places_count_as_one_table():
    numbers = np.random.default_rng(1).normal(size=60)
    declared = ExponentialChoices(1, False)
    with taped() as tape:
        noisy_quantile(spread(column(numbers), 4), first, 0.4, GRID, declared.release(3.0),
                       Session(EntropyStream(), Ledger(declared(3.0))))
    np.testing.assert_array_equal(tape.totals[0][0], naive_scores(numbers, 0.4, GRID, True))


@pytest.mark.parametrize("low, high", [(0.0, 120.0), (1990.0, 2030.0), (-1e12, 1e30),
                                       (-1e-99, 1e-99), (0.1, 0.3)])
def test_a_grid_between_bounds_has_both_ends_and_none_beyond(low, high):
    grid = bounded_grid(low, high)
    assert grid[0] == low and grid[-1] == high and (np.diff(grid) > 0).all()
    assert np.diff(grid).max() <= (high - low) / 4000
