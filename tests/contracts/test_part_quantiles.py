"""Quantiles of several parts are chosen at the price of what a row, or a group, moves in all.

Numbers stand on five points or between them, and points are chosen at targets that are off.
"""

import itertools
import math

import numpy as np
import pytest

from dpsk._data.groups import Groups
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._statistics.cells import noisy_decimals, rank_noise
from tests.contracts.columns import first, spread
from tests.contracts.tapes import taped

N_PARTS, BOUNDS, POINTS = 3, (0.0, 4.0), np.arange(5.0)
#: On points and between them, beyond the ends, and missing.
POOL = (-9.0, 1.0, 1.4, 3.0, math.nan, 9.0)
LEVELS = (0.0, 0.1, 0.25, 0.5, 0.9, 1.0)
every_level = pytest.mark.parametrize("q", LEVELS)


def left(rows, q, offset=0.0, mu=0.7, upward=True):
    """Return the scores of every part over the noise of one."""
    with taped() as tape:
        noisy_decimals(rows, first, q, np.full(N_PARTS, offset), Gaussian(mu),
                       Session(EntropyStream(), Ledger(Gaussian(mu))), upward, BOUNDS,
                       whole=True, parted=True)
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
        x, codes = rng.choice(POOL, 40), rng.integers(-1, N_PARTS, 40).astype(float)
        groups = Groups.of(np.repeat(np.arange(10), 4)) if grouped else None
        weights = np.full(40, 0.25 if grouped else 1.0)
        rows = Rows(x[:, None], codes, groups=groups)
        expected = [naive(x[codes == part], weights[codes == part], q, offset)
                    for part in range(N_PARTS)]
        if upward:
            np.testing.assert_allclose(left(rows, q, offset) * scale, expected, atol=1e-4)
            if not grouped:
                np.testing.assert_array_equal(left(spread(rows, 3), q, offset),
                                              left(rows, q, offset))
        else:
            mirrored = left(Rows(-x[:, None] + 4.0, codes, groups=groups), q, offset)
            np.testing.assert_allclose(left(Rows(x[:, None], codes, groups=groups), 1.0 - q,
                                            -offset, upward=False), mirrored, atol=1e-4)


@every_level
@pytest.mark.parametrize("mu", [0.05, 0.7, 20.0])
def test_no_replaced_row_costs_more_than_the_price_and_at_the_median_one_does(q, mu):
    """A row in a part, or in none, in the place of another one of any part."""
    rest = np.array([[-9.0, 0.0], [1.0, 0.0], [9.0, 0.0], [3.0, 1.0], [1.4, 1.0], [9.0, 2.0]])
    tables = [left(Rows(np.array([[x], *rest[:, :1]]), np.array([code, *rest[:, 1]])), q, mu=mu)
              for x, code in itertools.product(POOL, (-1.0, 0.0, 1.0, 2.0))]
    most = max(cost(one, other) for one, other in itertools.combinations(tables, 2)) / mu
    assert most <= 1.0 + 1e-6
    assert q != 0.5 or most > 0.999


@every_level
@pytest.mark.parametrize("mu", [0.05, 0.7, 20.0])
def test_no_replaced_group_costs_more_than_the_price(q, mu):
    """Of rows in any parts; the rows of other groups are in every part."""
    rng = np.random.default_rng(0)
    others = np.column_stack([rng.choice(POOL, 12), rng.integers(-1, N_PARTS, 12)])
    tables = []
    for size in (1, 1, 1, 1, *rng.integers(1, 9, 60)):
        own = np.column_stack([rng.choice(POOL, size), rng.integers(-1, N_PARTS, size)])
        X = np.vstack([own, others])
        groups = Groups.of(np.repeat(np.arange(5), [size, 3, 3, 3, 3]))
        tables.append(left(Rows(X[:, :1], X[:, 1], groups=groups), q, mu=mu))
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
