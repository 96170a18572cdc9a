"""Knots are medians by the exponential mechanism, at the price of what a row moves in all slices.

Rows of one column stand on four points of a small grid, or between them. Every table of three
rows, every neighbor, and all that may have been chosen before are tried.
"""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import Gaussian, NotPrivate, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics import cells
from dpsk._statistics.cells import noisy_knots
from dpsk._statistics.decimals import decimal_points, even_points
from tests.contracts.columns import column, first, spread
from tests.contracts.streams import SilentStream
from tests.contracts.tapes import taped
from tests.noise.levels import LEVEL

GRID = np.array([-2.0, -1.0, 0.5, 3.0, 8.0])
#: On points and between them, beyond the ends, and missing.
POOL = (-9.0, -1.0, 0.2, 3.0, math.nan, 99.0)
TABLES = list(itertools.product(POOL, repeat=3))


@pytest.fixture
def small(monkeypatch):
    """Let knots be points of a grid of five."""
    monkeypatch.setattr(cells, "decimal_points", lambda: even_points(GRID))


def asked(numbers, levels, z=2.0, bounds=None, rows=None):
    """Return released points a level, the tape, and the ledger."""
    declared = ExponentialChoices(1, False)
    ledger = Ledger(ExponentialChoices(levels, False)(z))
    with taped() as tape:
        points = noisy_knots(column(numbers) if rows is None else rows, first, levels, bounds,
                             declared.release(z), Session(EntropyStream(), ledger))
    return points, tape, ledger


def slices(chosen, n_points):
    """Yield the lists of points between those that were chosen before."""
    ends = [-1, *sorted(chosen), n_points]
    for left, right in itertools.pairwise(ends):
        if right - left > 1:
            yield range(left + 1, right)


def about(table, root):
    """Return distances from the whole number next to a released point, and the place of that.

    Numbers that counted as the point still do.
    """
    origin, (place,) = round(root), index([root])
    low, high = [-math.inf, *GRID[:-1]][place], [*GRID[:-1], math.inf][place]
    return tuple(root - origin if low < x <= high else x - origin for x in table), (
        int(even_points(GRID).places(np.array([root - origin]))[0]),)


@cache
def scores(table, chosen):
    """Return the scores in every slice by their definition, a tuple of arrays."""
    places = [min((i for i, g in enumerate(GRID) if g >= x), default=len(GRID) - 1)
              for x in table if not math.isnan(x)]
    found = []
    for points in slices(chosen, len(GRID)):
        own = [x for x in places if x in points]
        half = len(own) / 2
        found.append(np.array([-max(0, sum(x < p for x in own) - half,
                                    half - sum(x <= p for x in own)) for p in points]))
    return tuple(found)


def law(given, z):
    """Return the chances of the exponential mechanism."""
    weights = np.exp((given - given.max()) * 2.0 / z)
    return weights / weights.sum()


def index(points):
    return tuple(int(np.flatnonzero(point == GRID)[0]) for point in points)


def test_scores_are_those_of_the_definition_given_the_points_before(small):
    rng = np.random.default_rng(0)
    for table in [TABLES[place] for place in rng.permutation(len(TABLES))[:80]]:
        ((root,), *points), tape, _ = asked(table, 3)
        np.testing.assert_array_equal(tape.totals[0][0], *scores(table, ()))
        # Deeper points are at the distances of the grid from a whole number next to the first.
        away, chosen = about(table, root)
        for level, (total,) in zip(points, tape.totals[1:], strict=True):
            np.testing.assert_array_equal(total, np.concatenate(scores(away, chosen)))
            chosen += index(level - round(root))


@pytest.mark.parametrize("n_chosen", [0, 1, 2])
def test_a_row_moves_all_slices_of_a_level_together_by_no_more_than_is_declared(n_chosen):
    """Of the loss of a level, all slices together: as pure epsilon, and as a Gaussian."""
    z, worst, gaussian, halves = 0.7, 0.0, 0.0, 0
    price = ExponentialChoices(1, False).release(z).mu
    for chosen in itertools.combinations(range(len(GRID)), n_chosen):
        for table in TABLES:
            own = scores(table, chosen)
            for other in POOL:
                moved = [after - before for after, before in zip(
                    scores((other, *table[1:]), chosen), own, strict=True)]
                assert all(np.abs(each).max() <= 1 for each in moved)
                # A loss is the range of what scores move by, times the exponent.
                ranges = [2.0 / z * (max(each.max(), 0) - min(each.min(), 0)) for each in moved]
                worst = max(worst, sum(ranges))
                gaussian = max(gaussian, math.hypot(*(bounded_range_mu(each) for each in ranges)))
                if sum(each > 0 for each in ranges) == 2:
                    halves += 1
                    assert max(ranges) <= 2.0 / z * (1 + 1e-12)
                assert sum(each > 0 for each in ranges) <= 2
    assert price == pytest.approx(bounded_range_mu(4.0 / z), rel=1e-9)
    assert worst <= 4.0 / z * (1 + 1e-12) and gaussian <= price * (1 + 1e-9)
    # And a slice of three points or more attains it.
    assert worst == pytest.approx(4.0 / z) and gaussian == pytest.approx(price)
    # Two slices of two points or more are there beside one chosen point.
    assert (halves > 0) == (n_chosen == 1)


def test_two_choices_of_half_the_range_cost_no_more_than_a_whole_one():
    for whole in np.geomspace(1e-8, 1e3, 400):
        half = bounded_range_mu(whole / 2)
        assert math.hypot(half, half) <= bounded_range_mu(whole) * (1 + 1e-9)


def test_losses_of_a_level_stay_within_the_price_of_the_range(small):
    """The exact law of what a level releases, over all neighbors: losses within 4 / z."""
    z, widest = 0.7, 0.0
    for chosen in ((), (1,), (2,), (1, 3)):
        for table in TABLES[::7]:
            for other in POOL:
                pair = [scores(given, chosen) for given in (table, (other, *table[1:]))]
                joint = [[np.log(law(each, z)) for each in given] for given in pair]
                loss = sum(np.ptp(here - there) for here, there in zip(*joint, strict=True))
                widest = max(widest, loss)
    assert 2.0 / z < widest <= 4.0 / z * (1 + 1e-9)


@pytest.mark.thorough
def test_a_level_has_the_law_of_the_exponential_mechanism_and_no_other_noise(small):
    """Of 4000 draws more than 60 are expected at every point, so that the level is as stated.

    Noise of two thirds and of three halves the scale is rejected but with a chance below that.
    """
    table, z, count = (-9.0, -1.5, 0.2, 3.0, 99.0), 2.0, 4000
    declared = ExponentialChoices(count, False)
    session = Session(EntropyStream(), Ledger(declared(z)))
    rows = column(table)
    roots = np.array([noisy_knots(rows, first, 1, None, declared.release(z), session)[0][0]
                      for _ in range(count)])
    seen = np.array([(roots == point).sum() for point in GRID])

    def fits(factor):
        expected = count * law(scores(table, ())[0], factor * z)
        assert factor != 1.0 or expected.min() > 60
        return stats.chisquare(seen, expected).pvalue > LEVEL

    assert fits(1.0)
    assert not fits(2 / 3) and not fits(3 / 2)


@pytest.mark.thorough
def test_slices_of_one_level_are_chosen_independently(small):
    """Outer medians given the root in the middle: a table of chances is that of independence.

    With 2000 draws about 700 have that root; the chi-squared test rejects at LEVEL.
    """
    table, z, count = (-1.5, -1.0, 0.2, 3.0, 7.0), 4.0, 2000
    declared = ExponentialChoices(2 * count, False)
    session = Session(EntropyStream(), Ledger(declared(z)))
    rows = column(table)
    event = declared.release(z)
    pairs = [noisy_knots(rows, first, 2, None, event, session) for _ in range(count)]
    pairs = np.array([level for (root,), level in pairs if root == GRID[2]])
    left, right = (law(each, z) for each in scores(table, (2,)))
    seen = [[((pairs[:, 0] == a) & (pairs[:, 1] == b)).sum() for b in GRID[3:]] for a in GRID[:2]]
    expected = len(pairs) * np.outer(left, right)
    assert expected.min() > 40
    assert stats.chisquare(np.ravel(seen), expected.ravel()).pvalue > LEVEL


def test_an_atom_takes_one_point_and_the_slices_beside_it_have_the_others():
    rng = np.random.default_rng(3)
    numbers = np.concatenate([np.zeros(900), rng.uniform(100, 200, 50), -rng.uniform(5, 9, 50)])
    points, _, _ = asked(numbers, 3, z=1e-3)
    assert points[0] == 0.0
    low, high = points[1]
    # Half of those beside the atom, which has no weight there.
    assert -9 < low < -5 and 130 < high < 170
    every = np.concatenate(points)
    assert len(np.unique(every)) == len(every) and (every == 0.0).sum() == 1


@pytest.mark.parametrize("numbers", [[math.nan] * 5, [], [math.nan, 1.0]])
def test_missing_numbers_count_nowhere(numbers):
    known = [each for each in numbers if not math.isnan(each)]
    (points, tape, _), (_, beside, _) = (asked(np.array(each), 2) for each in (numbers, known))
    np.testing.assert_array_equal(tape.totals[0][0], beside.totals[0][0])
    assert [len(level) for level in points] == [1, 2]


def test_a_missing_number_and_a_known_one_are_neighbors_like_any_other(small):
    for chosen in ((), (2,)):
        before, after = (scores(given, chosen) for given in (
            (math.nan, 0.2, 3.0), (-9.0, 0.2, 3.0)))
        moved = [np.ptp(np.append(here - there, 0.0)) for here, there in zip(
            before, after, strict=True)]
        assert sum(moved) <= 1.0


@pytest.mark.parametrize("bounds, inside", [
    ((-1.0, 8.0), [0.5, 3.0]), ((-1.5, 8.5), [-1.0, 0.5, 3.0, 8.0]), ((-2.0, 3.0), [-1.0, 0.5]),
    ((0.6, 2.9), []), ((100.0, 200.0), []), ((-1e30, 1e30), list(GRID))])
def test_points_lie_strictly_between_declared_bounds(small, bounds, inside):
    table = (-9.0, -1.0, 0.2, 0.5, 3.0, 8.0, 99.0)
    points, tape, ledger = asked(table, 5, bounds=bounds)
    first, *rest = map(list, points)
    assert set(first) <= set(inside) and len(first) == bool(inside)
    assert len(tape.totals[0][0]) == len(inside)
    # The others are all points at distances of the grid from a whole number next to the first.
    away = [round(root) + x for root in first for x in np.delete(GRID, about((), root)[1])]
    assert sorted(itertools.chain(*rest)) == [x for x in away if bounds[0] < x < bounds[1]]
    # A level costs the same where no point is left.
    assert len(tape.events) == 5
    assert tally(ledger.spent) == tally(ExponentialChoices(5, False)(2.0))


@pytest.mark.parametrize("numbers", [
    np.zeros(30), np.arange(30.0), np.full(30, math.nan), np.full(30, 1e4), np.full(30, -0.0)])
def test_what_is_asked_charged_and_drawn_follows_no_row(numbers):
    # From farther away several points are one float, which then does not tell its place.
    points, tape, ledger = next(found for found in (asked(numbers, 3) for _ in range(200))
                                if abs(found[0][0][0]) < 1e5)
    assert tally(ledger.spent) == tally(ExponentialChoices(3, False)(2.0))
    # One for every cell of a slice, for the groups of a cell and for the points of a group, by
    # what was chosen before.
    grid, parted, expected = decimal_points(), [-1, len(decimal_points())], []
    for level in points:
        cells = [(right - 1) // grid.n_each - (left + 1) // grid.n_each + 1
                 for left, right in itertools.pairwise(parted) if right - left > 1]
        expected.append(sum(cells) + sum(grid.parts) * len(cells))
        if len(expected) == 1:
            grid = grid.about(int(*grid.places(level)))
        parted = sorted([*parted, *grid.places(level)])
    assert [noise.size for noise in tape.noise] == expected
    assert all(len(np.unique(level)) == len(level) for level in points)


def test_more_levels_than_points_are_charged_and_find_all_points(small):
    ((root,), *rest), _, ledger = asked(TABLES[0], 6)
    away = np.delete(GRID, about((), root)[1])
    assert sorted(np.concatenate(rest) - round(root)) == list(away)
    assert tally(ledger.spent) == tally(ExponentialChoices(6, False)(2.0))


def test_what_is_not_declared_is_neither_read_nor_drawn():
    def numbers(rows, part):
        raise AssertionError("read")

    session = Session(SilentStream(bytes(16)), Ledger(ExponentialChoices(1, False)(3.0)))
    other = ExponentialChoices(1, False).release(4.0)
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        noisy_knots(column(np.zeros(5)), numbers, 2, None, other, session)


@pytest.mark.parametrize("levels, count", [(1, 1), (2, 2), (4, 2)])
def test_numbers_far_from_0_are_read_once_for_a_median_and_once_for_other_levels(levels, count):
    reads = []

    def numbers(rows, part):
        reads.append(part)
        return first(rows, part)

    declared = ExponentialChoices(1, False)
    noisy_knots(column(np.arange(900.0) + 1e3), numbers, levels, None, declared.release(2.0),
                Session(EntropyStream(), Ledger(ExponentialChoices(levels, False)(2.0))))
    assert len(reads) == count


@pytest.mark.parametrize("offset, unit", [(0.0, 1.0), (1e6, 1.0), (-1.7e9, 1e4), (1e9 / 7, 300.0)])
def test_knots_move_with_their_column(offset, unit):
    """From afar quartiles were at powers of ten between it and 0 in every second table."""
    numbers = unit * np.random.default_rng(0).normal(size=4000) + offset
    for _ in range(20):
        (_, (low, high)), _, _ = asked(numbers, 2, z=100.0)
        below = [(numbers < each).mean() for each in (low, high)]
        # Both scales of noise are 1.25 % of the rows. False-alarm rate at most 1e-5.
        assert abs(below[0] - 0.25) < 0.2 and abs(below[1] - 0.75) < 0.2


@pytest.mark.parametrize("heaped, dtype", [(1 / 3, float), (0.1, np.float32),
                                           (1e6 + 1 / 3, float)])
def test_a_number_that_is_no_decimal_still_takes_one_point(heaped, dtype):
    heap = np.full(900, heaped, dtype).astype(float)
    numbers = np.concatenate([heap, heap[:50] + 7.0, heap[:50] - 7.0])
    (_, (low, high)), _, _ = asked(numbers, 2, z=1e-3)
    np.testing.assert_allclose([low, high], [heaped - 7.0, heaped + 7.0], rtol=1e-6)


def test_without_noise_medians_are_exact():
    numbers = np.arange(1.0, 1024.0)
    session = Session(SilentStream(bytes(16)), Ledger(NotPrivate()))
    points = noisy_knots(column(numbers), first, 3, None, NotPrivate(), session)
    for level, ranks in zip(points, ([512], [256, 768], [128, 384, 640, 896]), strict=True):
        # Where two numbers are as near to the middle, either will do.
        np.testing.assert_allclose(level, ranks, rtol=1e-12)


@pytest.mark.parametrize("numbers", [
    (), (3.0,), (-1.0, 3.0), (0.0, 0.0, 0.0, 7.0), (math.nan, 2.0, 5.0, 5.0, 9.0)])
def test_without_noise_a_point_is_the_first_that_parts_its_slice_in_halves(numbers, small):
    session = Session(SilentStream(bytes(16)), Ledger(NotPrivate()))
    ((median,),) = noisy_knots(column(np.array(numbers)), first, 1, None, NotPrivate(), session)
    known = np.array(numbers)[~np.isnan(numbers)] if numbers else np.zeros(0)
    places = even_points(GRID).places(np.sort(known))
    gaps = [max(0.0, (places < place).sum() - len(known) / 2,
                len(known) / 2 - (places <= place).sum()) for place in range(len(GRID))]
    assert median == GRID[int(np.argmin(gaps))]


def test_places_count_as_one_table(small):
    table = np.array([-9.0, -1.0, 0.2, 0.5, 3.0, 8.0, math.nan, 99.0])
    _, tape, _ = asked(None, 1, rows=spread(column(table), 3))
    np.testing.assert_array_equal(tape.totals[0][0], scores(tuple(table), ())[0])


def test_a_choice_is_one_gaussian_of_its_range():
    _, tape, _ = asked(np.arange(4.0), 2, z=5.0)
    assert tape.events == [(Gaussian(bounded_range_mu(0.8)),)] * 2
