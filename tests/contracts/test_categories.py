"""Categories that leave are frequent ones: one row's shows with the declared chance at most."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy import accountant
from dpsk._privacy.events import Disclosure, Gaussian, NotPrivate, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._statistics.categories import FrequentCategories, category_threshold
from tests.contracts.columns import spread
from tests.contracts.streams import SilentStream
from tests.contracts.tapes import taped
from tests.noise.levels import LEVEL, binomial_fits

UNIT = 2.0**-10


def source(codes):
    codes = np.asarray(codes, dtype=np.float64)
    return Rows(codes.reshape(len(codes), -1), np.zeros(len(codes)))


def asked(codes, sizes, mu=1.0, delta=1e-6, most=10**6, rows=None, places=None):
    """Return what leaves, and the tape."""
    rows = source(codes) if rows is None else rows
    session = Session(EntropyStream(), Ledger(FrequentCategories(9, delta).event(1.0 / mu)))
    with taped() as tape:
        found = FrequentCategories(most, delta).run((rows, places or range(len(sizes)), sizes),
                                                    session, 1.0 / mu)
    return [kept for kept, _ in found], tape


def counts(codes, sizes):
    return np.concatenate([np.bincount(np.array(column, int)[np.array(column) >= 0],
                                       minlength=size)
                           for column, size in zip(np.transpose(codes), sizes, strict=True)])


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_a_row_moves_the_counts_by_no_more_than_the_noise_is_for(n_columns):
    """All rows of up to three columns of three categories or none, and all others in their place.

    The counts are those of all categories, also of such as do not occur.
    """
    sizes, worst = [3] * n_columns, 0.0
    others = [[0] * n_columns, [1] * n_columns]
    rows = list(itertools.product((-1, 0, 1, 2), repeat=n_columns))
    totals = {row: asked([list(row), *others], sizes)[1].totals[0][0] for row in rows}
    for row in rows:
        np.testing.assert_array_equal(totals[row], counts([list(row), *others], sizes))
        worst = max(worst, *(np.linalg.norm(totals[row] - totals[other]) for other in rows))
    (part,) = asked([others[0]], sizes, mu=0.5)[1].parts[0]
    known = part.sensitivity
    assert worst == pytest.approx(math.sqrt(2 * n_columns)) and known.moved >= worst
    assert part.scale == 2.0 * known.moved
    assert known.law == "standard_normal" and known.rounded
    # The unit divides every count.
    assert known.unit == UNIT


@pytest.mark.parametrize("n_columns", [1, 3, 40])
@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2, 0.5])
def test_a_count_of_one_is_beyond_the_threshold_with_the_declared_chance_at_most(
        n_columns, mu, delta):
    """By the exact law of rounded noise: so many units and no fewer exceed the threshold."""
    threshold = category_threshold(n_columns, mu, delta)
    scale = math.sqrt(2 * n_columns) / mu
    # The least number of units of noise that carries a count of one beyond.
    least = math.floor((threshold - 1.0) / UNIT) + 1
    chance = ndtr(-(least - 0.5) * UNIT / scale)
    assert n_columns * chance <= delta
    # Not far below either, where noise is not of the size of its unit.
    if scale > 1.0 and delta < 0.5:
        assert n_columns * chance >= 0.98 * delta


def test_no_delta_and_tiny_ones_let_nothing_pass():
    assert category_threshold(3, 1.0, 0.0) == math.inf
    assert category_threshold(3, 1.0, 5e-324) > 50
    assert category_threshold(3, math.inf, 0.1) == 0.0


def test_what_it_costs_is_declared_and_charged():
    tape = asked([[0], [0]], [1], mu=0.5, delta=1e-7)[1]
    assert tape.events == [(Gaussian(0.5), Disclosure(1e-7))]
    assert set(tally(FrequentCategories(9, 1e-7).event(2.0))) == set(tape.events[0])
    assert FrequentCategories(9, 1e-7).event(0.0) == NotPrivate()


def gaussian_delta(mu, level):
    """Return the delta of a Gaussian at a level that may be negative, where it is by symmetry."""
    if level >= 0:
        return accountant.delta(Gaussian(mu), level)
    return -math.expm1(level) + math.exp(level) * accountant.delta(Gaussian(mu), -level)


def exact_and_price(alone, n_columns, mu, delta):
    """Yield exact deltas and prices of a row alone in so many of its categories.

    In the neighbor's place others share all of its own. Of counts that both tables have a
    Gaussian of the rest of the sensitivity shows. With the row in P its categories may show that
    Q never does; with it in Q all losses of what P shows are higher.
    """
    chance = -math.expm1(alone * math.log1p(-delta / n_columns))
    rest = mu * math.sqrt((2 * n_columns - alone) / (2 * n_columns))
    shift = -math.log1p(-chance)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 3.0):
        price = accountant.delta(FrequentCategories(9, delta).event(1.0 / mu), epsilon)
        yield chance + (1 - chance) * gaussian_delta(rest, epsilon + shift), price
        yield gaussian_delta(rest, epsilon - shift), price


@pytest.mark.parametrize("n_columns", [1, 2, 20])
@pytest.mark.parametrize("mu", [0.01, 0.3, 2.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.3])
def test_the_declared_event_covers_rows_alone_in_any_number_of_columns(n_columns, mu, delta):
    """In both directions, so that new categories may show in one table or in the other."""
    for alone in range(n_columns + 1):
        for exact, price in exact_and_price(alone, n_columns, mu, delta):
            assert exact <= price * (1 + 1e-8) + 1e-300


def test_a_row_alone_shows_as_often_as_declared_and_frequent_categories_do():
    """At a delta of .2: of 2000 runs about 400 show it. The exact binomial test rejects at LEVEL.
    """
    runs, delta, mu = 2000, 0.2, 0.5
    rows = source([[1]] + [[0]] * 40)
    event = FrequentCategories(9, delta).event(1.0 / mu)
    shown, usual = 0, 0
    for _ in range(runs):
        ((kept, _),) = FrequentCategories(9, delta).run(
            (rows, [0], [2]), Session(EntropyStream(), Ledger(event)), 1.0 / mu)
        shown += 1 in kept
        usual += 0 in kept
    chance = ndtr(-(category_threshold(1, mu, delta) - 1.0) / (math.sqrt(2) / mu))
    assert 0.99 * delta < chance < delta
    assert binomial_fits(shown, runs, chance)
    # A third of the noise, or three times as much, would be seen.
    assert not binomial_fits(shown, runs, ndtr(-3 * stats.norm.isf(delta)))
    # 40 of one category are twelve scales beyond.
    assert usual == runs


def test_what_leaves_is_in_the_order_of_positions_and_not_of_counts():
    codes = np.repeat([3, 0, 2, 1], [900, 400, 1, 300])
    kept, _ = asked(codes, [5])
    assert [each.tolist() for each in kept] == [[0, 1, 3]]
    shuffled = np.random.default_rng(0).permutation(codes)
    assert asked(shuffled, [5])[0][0].tolist() == [0, 1, 3]


@pytest.mark.parametrize("most, expected", [(1, [3]), (2, [0, 3]), (3, [0, 1, 3])])
def test_of_too_many_those_of_the_largest_noisy_counts_leave(most, expected):
    codes = np.repeat([3, 0, 2, 1], [900, 600, 1, 300])
    assert asked(codes, [5], most=most)[0][0].tolist() == expected


def test_columns_are_cut_apart_by_their_sizes():
    codes = np.column_stack([np.zeros(500), np.full(500, -1), np.repeat([0, 1], 250),
                             np.arange(500)])
    kept, tape = asked(codes, [1, 0, 2, 500], places=range(4), mu=2.0)
    assert [each.tolist() for each in kept] == [[0], [], [0, 1], []]
    assert len(tape.totals[0][0]) == 503
    # Only the columns that are named are counted.
    kept, _ = asked(codes, [2], places=[2], mu=2.0)
    assert [each.tolist() for each in kept] == [[0, 1]]


def test_missing_cells_count_nowhere():
    kept, tape = asked(np.repeat([-1, 0], [400, 400]), [1])
    assert tape.totals[0][0].tolist() == [400] and kept[0].tolist() == [0]
    kept, tape = asked(np.full(9, -1), [0])
    assert tape.totals[0][0].size == 0 and kept[0].tolist() == []


def test_at_infinite_mu_all_that_occurs_leaves_and_nothing_is_drawn():
    session = Session(SilentStream(bytes(16)), Ledger(NotPrivate()))
    found = FrequentCategories(9, 0.0).run((source([[0], [2], [2]]), [0], [3]), session, 0.0)
    assert [each.tolist() for each in found[0]] == [[0, 2], [1, 2]]
    session = Session(SilentStream(bytes(16)), Ledger(NotPrivate()))
    found = FrequentCategories(1, 0.0).run((source([[0], [2], [2]]), [0], [3]), session, 0.0)
    assert [each.tolist() for each in found[0]] == [[2], [2]]


def test_what_is_not_declared_is_not_drawn():
    session = Session(SilentStream(bytes(16)), Ledger(FrequentCategories(9, 1e-7).event(2.0)))
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        FrequentCategories(9, 1e-7).run((source([[0]]), [0], [1]), session, 1.0 / 0.6)


def test_places_count_as_one_table():
    codes = np.repeat([0, 1], [500, 400])
    kept, tape = asked(None, [2], rows=spread(source(codes), 3), places=[0])
    assert tape.totals[0][0].tolist() == [500, 400] and kept[0].tolist() == [0, 1]


def test_counts_leave_under_noise_of_the_stated_scale():
    """1500 noisy counts of nothing: their variance by a chi-square that rejects at LEVEL."""
    mu, n_columns = 0.5, 3
    noise = np.concatenate([asked(np.zeros((2, 3)), [500] * n_columns, mu)[1].noise[0]])
    scale = math.sqrt(2 * n_columns) / mu / UNIT
    law = stats.chi2(len(noise))

    def fits(factor):
        total = ((noise / (factor * scale))**2).sum()
        return min(law.cdf(total), law.sf(total)) > LEVEL / 2

    assert len(noise) == 1500 and (noise == np.rint(noise)).all()
    assert fits(1.0) and not fits(2 / 3) and not fits(3 / 2)
