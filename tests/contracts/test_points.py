"""Points in cells: chosen as from all of them at once, and decimals of few digits among them."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dpsk._data.groups import Groups
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics import cells as of_cells
from dpsk._statistics.cells import noisy_decimal, noisy_knots
from dpsk._statistics.decimals import Points, decimal_points
from tests.contracts.columns import column, first
from tests.contracts.tapes import taped
from tests.noise.levels import LEVEL

pytestmark = pytest.mark.thorough

#: Three cells of two points and the end, and two cells of two groups of two points and the end.
FEW = Points(np.array([-2.0, -1.0, 1.0, 4.0]), np.array([1.0, 0.5, 2.0, 0.7]),
             np.array([8.0, 2.0]))
GROUPED = Points(np.array([-2.0, 1.0, 4.0]), np.array([1.0, 2.0, 0.7]),
                 np.array([4.0, 2.0, 3.0, 1.0]), group=2)
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
    rank, reach, found = q * len(places), 1.0 + of_cells._FAR * 0.5 * z, []
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


def test_a_group_moves_scores_of_shares_by_no_more_than_a_row():
    """Scores of whole numbers, as points of one weight they leave as they are."""
    rng, declared, z = np.random.default_rng(0), ExponentialChoices(1, False), 1.0

    def scores(group):
        X = np.append(group, [0.0, 1.0, 1.0, 2.5, np.nan])[:, None]
        rows = Rows(X, np.zeros(len(X)), groups=Groups.of(
            np.repeat([0, 1, 2], [len(group), 3, 2])))
        session = Session(EntropyStream(), Ledger(declared(z)))
        with taped() as tape:
            noisy_decimal(rows, lambda rows, part: rows.take(part).X[:, 0], 0.6,
                          declared.release(z), session, bounds=(0.0, 4.0), weighted=True,
                          whole=True)
        return tape.totals[0][0]

    found = np.array([scores(group) for group in (
        [0.0], [4.0], [np.nan], *(rng.choice([0.0, 1.5, 4.0, np.nan], size)
                                  for size in rng.integers(1, 9, 40)))])
    assert found.shape[1] == 5
    assert 0.99 < max(np.abs(found - one).max() for one in found) <= 1.0 + 1e-12
