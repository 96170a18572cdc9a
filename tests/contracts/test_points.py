"""Points in cells: chosen as from all of them at once, and decimals of few digits among them.

Points for the quantiles of several parts of the rows are chosen at one price as well.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpsk._data.groups import Groups
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics import cells as of_cells
from dpsk._statistics.cells import noisy_decimal, noisy_decimals, noisy_knots, rank_noise
from dpsk._statistics.decimals import Points, decimal_points
from tests.contracts.columns import column, first, spread
from tests.contracts.tapes import taped
from tests.noise.levels import LEVEL

#: Three cells of two points and the end, and two cells of two groups of two points and the end.
FEW = Points(np.array([-2.0, -1.0, 1.0, 4.0]), np.array([1.0, 0.5, 2.0, 0.7]),
             np.array([8.0, 2.0]))
GROUPED = Points(np.array([-2.0, 1.0, 4.0]), np.array([1.0, 2.0, 0.7]),
                 np.array([4.0, 2.0, 3.0, 2.0]), group=2)
POOL = (-9.0, -1.5, 0.2, 1.0, 3.0)


@pytest.fixture(params=[(FEW, 100.0), (GROUPED, 100.0), (FEW, 0.2), (GROUPED, 0.2)],
                ids=["cells", "groups", "far cells", "far groups"])
def few(request, monkeypatch):
    """Points, of which most are as far as scores tell where these end at a fifth of the noise."""
    points, far = request.param
    monkeypatch.setattr(of_cells, "decimal_points", lambda: points)
    monkeypatch.setattr(of_cells, "_FAR", far)
    return points


def chances(few, numbers, low, high, z, q=0.5):
    """Return the chances of the points of a slice by the definition, one point at a time."""
    places = [place for place in few.places(np.array(numbers)) if low <= place <= high]
    rank, reach, found = q * len(places), of_cells._NEAR + of_cells._FAR * 0.5 * z, []
    for point in range(low, high + 1):
        cell, step = divmod(point, few.n_each)
        below, up_to = sum(p < point for p in places), sum(p <= point for p in places)
        found.append(few.cell_weights[cell] * few.weights[step] * np.exp(
            -min(reach, max(0.0, below - rank, rank - up_to)) * 2.0 / z))
    return np.array(found) / sum(found)


def level(numbers, bounds, z, count=1):
    declared = ExponentialChoices(count, False)
    session = Session(EntropyStream(), Ledger(declared(z)))
    with taped() as tape:
        event = declared.release(z)
        points = [noisy_knots(column(numbers), first, 1, bounds, event, session)[0][0]
                  for _ in range(count)]
    return points, tape.totals[0][0]


def assert_of_cells(few, total, expected, low, z):
    cells = np.arange(low, low + len(expected)) // few.n_each
    found = np.exp(total[:-sum(few.parts)] * 2.0 / z)
    # The noise is larger by 2^-20.
    np.testing.assert_allclose(found / found.sum(),
                               np.bincount(cells - cells[0], weights=expected), rtol=1e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("bounds", [None, (-2.0, 4.0), (-1.2, 2.0), (-9.0, 0.0)])
def test_cells_have_the_chances_of_all_of_their_points(few, bounds):
    z, points = 3.0, [few.point(place) for place in range(len(few))]
    inside = [place for place, point in enumerate(points)
              if bounds is None or bounds[0] < point < bounds[1]]
    low, high, drawn_within = inside[0], inside[-1], sum(few.parts)
    for numbers in itertools.product(POOL, repeat=3):
        _, total = level(numbers, bounds, z)
        assert_of_cells(few, total, chances(few, numbers, low, high, z), low, z)
        assert not total[-drawn_within:].any()


@pytest.mark.thorough
@pytest.mark.parametrize("q", [0.0, 0.2, 0.9])
def test_cells_have_the_chances_of_points_near_any_quantile(few, q):
    z = 3.0
    for numbers in itertools.product(POOL, repeat=3):
        declared = ExponentialChoices(1, False)
        with taped() as tape:
            noisy_decimal(column(numbers), first, q, declared.release(z),
                          Session(EntropyStream(), Ledger(declared(z))))
        assert_of_cells(few, tape.totals[0][0],
                        chances(few, numbers, 0, len(few) - 1, z, q), 0, z)


@pytest.mark.thorough
@pytest.mark.parametrize("z", [1e-3, 1.0, 1e6, 1e9, 1e12])
def test_what_is_rounded_off_is_in_the_noise_however_large(few, z):
    """The loss of every cell under the noise that is drawn is within the claim."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        numbers = rng.choice(POOL, 5)
        other = np.append(numbers[:4], rng.choice(POOL))
        totals = []
        for each in (numbers, other):
            declared = ExponentialChoices(1, False)
            session = Session(EntropyStream(), Ledger(declared(z)))
            with taped() as tape:
                noisy_knots(column(each), first, 1, None, declared.release(z), session)
            (part,) = tape.parts[0]
            totals.append(tape.totals[0][0][:-sum(few.parts)] / part.scale)
        assert np.ptp(totals[0] - totals[1]) <= 4.0 / z


@pytest.mark.thorough
def test_points_have_the_law_of_one_choice_from_all_of_them(few):
    """Of 8000 draws more than 60 are expected of every point, so that the level is as stated.

    Half and twice the noise pass with probability below 1e-11.
    """
    numbers, z, count = (-9.0, -1.5, 0.2, 0.2, 3.0), 2.0, 8000
    points, _ = level(numbers, None, z, count)
    where = [few.point(place) for place in range(len(few))]
    seen = np.array([(np.array(points) == each).sum() for each in where])

    def fits(factor):
        expected = count * chances(few, numbers, 0, len(few) - 1, factor * z)
        assert factor != 1.0 or expected.min() > 60
        return stats.chisquare(seen, expected).pvalue > LEVEL

    assert fits(1.0) and not fits(1 / 2) and not fits(2.0)


@pytest.mark.thorough
def test_decimals_of_nine_digits_are_points_and_numbers_go_to_the_next_one():
    points = decimal_points()
    assert (np.diff(points.first) > 0).all()
    assert (points.weights == np.rint(points.weights)).all() and points.weights.sum() < 2.0**53
    np.testing.assert_allclose(points.first, -points.first[::-1])
    rng = np.random.default_rng(0)
    numbers = [0.0, 37.0, 2003.0, 0.1, 1e-5, 0.98743, 1e12, *(
        float(f"{each:.8e}") for each in 10.0 ** rng.uniform(-3, 12, 500))]
    for number in (*numbers, *np.negative(numbers)):
        (place,) = points.places(np.array([number]))
        assert points.point(place) == number
        if place:
            (above,) = points.places(np.array([0.5 * (points.point(place - 1) + number)]))
            assert above == place
    assert [points.point(place) for place in points.places(np.array([-1e300, 1e300]))] == [
        -1e12, 1e12]
    # Wherever they are, they are close.
    every = 10.0 ** rng.uniform(-3, 12, 500)
    found = np.array([points.point(place) for place in points.places(every)])
    assert (np.abs(found / every - 1) <= 1.01e-8).all()


@pytest.mark.thorough
def test_a_group_moves_scores_of_shares_by_no_more_than_a_row():
    """Scores of whole numbers, as points of one weight they leave as they are."""
    rng, declared, z = np.random.default_rng(0), ExponentialChoices(1, False), 1.0

    def scores(group):
        X = np.append(group, [0.0, 1.0, 1.0, 2.5, np.nan])[:, None]
        rows = Rows(X, np.zeros(len(X)), groups=Groups.of(
            np.repeat([0, 1, 2], [len(group), 3, 2])))
        session = Session(EntropyStream(), Ledger(declared(z)))
        with taped() as tape:
            noisy_decimals(rows, first, 0.6, np.zeros(1), declared.release(z), session,
                           bounds=(0.0, 4.0), step=1.0)
        return tape.totals[0][0]

    found = np.array([scores(group) for group in (
        [0.0], [4.0], [np.nan], *(rng.choice([0.0, 1.5, 4.0, np.nan], size)
                                  for size in rng.integers(1, 9, 40)))])
    assert found.shape[1] == 5
    assert 0.99 < max(np.abs(found - one).max() for one in found) <= 1.0 + 1e-12


#: Of quantiles of several parts, which are chosen at the price of what a row moves in all.
N_PARTS, BOUNDS, POINTS = 3, (0.0, 4.0), np.arange(5.0)
#: On points and between them, beyond the ends, and missing.
PARTED_POOL = (-9.0, 1.0, 1.4, 3.0, math.nan, 9.0)
LEVELS = (0.0, 0.1, 0.25, 0.5, 0.9, 1.0)
every_level = pytest.mark.parametrize("q", LEVELS)


def by_parts(rows, q, offset=0.0, mu=0.7, upward=True):
    """Return the scores of every part over the noise of one."""
    with taped() as tape:
        noisy_decimals(rows, first, q, np.full(N_PARTS, offset), Gaussian(mu),
                       Session(EntropyStream(), Ledger(Gaussian(mu))), upward, BOUNDS,
                       step=1.0, parted=True)
    ((total,),), ((part,),) = tape.totals, tape.parts
    assert part.scale == pytest.approx(rank_noise(Gaussian(mu), q), rel=1e-5)
    return total.reshape(N_PARTS, len(POINTS)) / part.scale


def cost(one, other):
    """Return the mu of the choices in all parts together, by the ranges of their losses."""
    return math.hypot(*(bounded_range_mu(width) for width in np.ptp(one - other, axis=1) if width))


def naive(numbers, weights, q, offset):
    """Return the scores of the points for one part by their definition."""
    there = ~np.isnan(numbers)
    places, weights = np.ceil(np.clip(numbers[there], *BOUNDS)), weights[there]
    target = q * weights.sum() + offset
    return np.array([-max(0.0, weights[places < each].sum() - target,
                          target - weights[places <= each].sum()) for each in POINTS])


@every_level
@pytest.mark.parametrize("offset", [-3.5, 0.0, 1.25])
def test_scores_are_those_of_the_definition_with_and_without_groups_in_any_place(q, offset):
    rng = np.random.default_rng(0)
    scale = rank_noise(Gaussian(0.7), q)
    for grouped, upward in itertools.product((False, True), (True, False)):
        x, codes = rng.choice(PARTED_POOL, 40), rng.integers(-1, N_PARTS, 40).astype(float)
        groups = Groups.of(np.repeat(np.arange(10), 4)) if grouped else None
        weights = np.full(40, 0.25 if grouped else 1.0)
        rows = Rows(x[:, None], codes, groups=groups)
        expected = [naive(x[codes == part], weights[codes == part], q, offset)
                    for part in range(N_PARTS)]
        if upward:
            np.testing.assert_allclose(by_parts(rows, q, offset) * scale, expected, atol=1e-4)
            if not grouped:
                np.testing.assert_array_equal(by_parts(spread(rows, 3), q, offset),
                                              by_parts(rows, q, offset))
        else:
            mirrored = by_parts(Rows(-x[:, None] + 4.0, codes, groups=groups), q, offset)
            np.testing.assert_allclose(by_parts(Rows(x[:, None], codes, groups=groups), 1.0 - q,
                                            -offset, upward=False), mirrored, atol=1e-4)


@every_level
@pytest.mark.parametrize("mu", [0.05, 0.7, 20.0])
def test_no_replaced_row_costs_more_than_the_price_and_at_the_median_one_does(q, mu):
    """A row in a part, or in none, in the place of another one of any part."""
    rest = np.array([[-9.0, 0.0], [1.0, 0.0], [9.0, 0.0], [3.0, 1.0], [1.4, 1.0], [9.0, 2.0]])
    tables = []
    for row in itertools.product(PARTED_POOL, (-1.0, 0.0, 1.0, 2.0)):
        X = np.vstack([row, rest])
        tables.append(by_parts(Rows(X[:, :1], X[:, 1]), q, mu=mu))
    most = max(cost(one, other) for one, other in itertools.combinations(tables, 2)) / mu
    assert most <= 1.0 + 1e-6
    assert q != 0.5 or most > 0.999


@every_level
@pytest.mark.parametrize("mu", [0.05, 0.7, 20.0])
def test_no_replaced_group_costs_more_than_the_price(q, mu):
    """Of rows in any parts; the rows of other groups are in every part."""
    rng = np.random.default_rng(0)
    others = np.column_stack([rng.choice(PARTED_POOL, 12), rng.integers(-1, N_PARTS, 12)])
    tables = []
    for size in (1, 1, 1, 1, *rng.integers(1, 9, 60)):
        own = np.column_stack([rng.choice(PARTED_POOL, size), rng.integers(-1, N_PARTS, size)])
        X = np.vstack([own, others])
        groups = Groups.of(np.repeat(np.arange(5), [size, 3, 3, 3, 3]))
        tables.append(by_parts(Rows(X[:, :1], X[:, 1], groups=groups), q, mu=mu))
    pairs = itertools.combinations(tables, 2)
    assert 0.3 < max(cost(one, other) for one, other in pairs) / mu <= 1.0 + 1e-6


def test_a_part_of_a_range_costs_no_more_than_its_share_of_the_squared_mu():
    """What prices the choices in all parts by the sum of what scores move by."""
    for whole in np.geomspace(1e-6, 2e3, 60):
        for share in np.linspace(0.01, 1.0, 40):
            own = bounded_range_mu(share * whole) ** 2
            assert own <= share * bounded_range_mu(whole) ** 2 * (1.0 + 1e-9)


def test_medians_of_parts_are_as_precise_as_one_and_others_by_a_known_factor():
    for mu in (0.01, 0.5, 3.0):
        one = rank_noise(Gaussian(mu))
        assert rank_noise(Gaussian(mu), 0.5) == pytest.approx(one)
        assert math.sqrt(1.8) * (1 - 1e-4) < rank_noise(Gaussian(mu), 0.1) / one < 1.8


@pytest.mark.parametrize("bounds", [None, (-20.0, 300.0)])
def test_decimals_of_a_part_have_the_scores_of_its_rows_alone(bounds):
    rng = np.random.default_rng(0)
    x, codes = rng.normal(10.0, 50.0, 900).round(1), rng.integers(-1, 2, 900).astype(float)

    def scores(rows, parted):
        with taped() as tape:
            noisy_decimals(rows, first, 0.5, np.full(2 if parted else 1, 4.0), Gaussian(0.7),
                           Session(EntropyStream(), Ledger(Gaussian(0.7))), True, bounds,
                           parted=parted)
        return tape.totals[0][0]

    alone = [scores(Rows(x[codes == part][:, None], codes[codes == part]), False)
             for part in (0, 1)]
    np.testing.assert_allclose(scores(Rows(x[:, None], codes), True), np.concatenate(alone))
