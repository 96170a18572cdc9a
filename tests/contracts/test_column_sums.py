"""Noisy counts, sums and squares of columns, of all rows and by parts: what one row moves, exact
sums, the noise.
"""

import itertools
import math

import numpy as np
import pytest

from dpsk._data.groups import Groups
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.events import Gaussian, NotPrivate
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._statistics import column_sums, part_sums
from dpsk._statistics.column_sums import moment_noise, noisy_column_sums
from dpsk._statistics.part_sums import (
    noisy_part_moments,
    noisy_part_sums,
    part_moment_noise,
    part_sum_noise,
)
from tests.contracts.columns import spread
from tests.contracts.streams import SilentStream
from tests.contracts.tapes import taped

LOW, HIGH = np.array([-1.0, 0.0]), np.array([1.0, 120.0])
HOSTILE = (math.nan, -1.7e308, 1.7e308, 5e-324, -1.0, 1.0, -0.6, 0.3, 60.0, 119.0)


def asked(X, mu=0.5, low=LOW, high=HIGH, rows=None):
    """Return the answer, the exact totals, and the parts."""
    rows = Rows(np.asarray(X, float), np.zeros(len(X))) if rows is None else rows
    with taped() as tape, np.errstate(all="ignore"):
        answer = noisy_column_sums(rows, low, high, mu,
                                   Session(EntropyStream(), Ledger(Gaussian(mu))))
    assert tape.events == [(Gaussian(mu),)]
    return answer, tape.totals[0], tape.parts[0]


def moved(X, Y, mu=0.5, **more):
    """Return how far two tables are apart in units of the noise, over the price."""
    (_, one, parts), (_, other, _) = asked(X, mu, **more), asked(Y, mu, **more)
    shifts = [(a - b) / part.scale for a, b, part in zip(one, other, parts, strict=True)]
    return math.sqrt(sum(np.sum(np.square(shift)) for shift in shifts)) / mu


@pytest.mark.parametrize("mu", [0.01, 0.5, 30.0])
def test_no_replaced_row_moves_the_answer_by_more_than_its_price_and_ends_do(mu):
    """By all pairs of hostile numbers of one column, and by rows of two."""
    one = {"low": LOW[:1], "high": HIGH[:1], "mu": mu}
    furthest = max(moved([[a], [0.2]], [[b], [0.2]], **one)
                   for a, b in itertools.combinations(HOSTILE, 2))
    assert 0.999 <= furthest <= 1.0 + 1e-12
    rows = list(itertools.product(HOSTILE[:6], repeat=2))
    furthest = max(moved([a, [0.2, 3.0]], [b, [0.2, 3.0]], mu)
                   for a, b in itertools.combinations(rows[::2], 2))
    assert 0.999 <= furthest <= 1.0 + 1e-12


@pytest.mark.parametrize("mu", [1e-12, 0.1, 30.0])
def test_no_replaced_group_moves_the_answer_by_more_than_its_price(mu):
    """Of hostile rows as well as of groups of one row, whose ends are as far apart as can be."""
    rng = np.random.default_rng(0)
    others = [rng.uniform(-2.0, 2.0, (3, 1)), np.array([[math.nan], [0.2]])]

    def left(group):
        parts = [np.reshape(group, (-1, 1)), *others]
        codes = np.repeat(np.arange(3), list(map(len, parts)))
        X = np.vstack(parts)
        _, totals, released = asked(X, mu, LOW[:1], HIGH[:1], Rows(
            X, np.zeros(len(X)), groups=Groups.of(codes)))
        return np.concatenate([(np.rint(total / part.unit) * part.unit / part.scale).ravel()
                               for total, part in zip(totals, released, strict=True)])

    found = [left(rng.choice(HOSTILE, size)) for size in rng.integers(1, 9, 60)]
    found += [left([end] * size) for end in (-1.0, 1.0, math.nan) for size in (1, 3, 7)]
    furthest = max(np.linalg.norm(one - other) for one in found for other in found) / mu
    assert (0.999 <= furthest or mu < 1e-9) and furthest <= 1.0


@pytest.mark.parametrize("mu", [1e-10, 1e-12, 1e-13, 1e-15])
def test_what_leaves_moves_by_no_more_beside_noise_that_is_coarser_than_a_row(mu):
    """Totals are rounded to whole units, which are many rows long for a budget next to nothing."""
    left = []
    for present in range(130):
        X = np.full((130, 1), np.nan)
        X[:present] = 1.0
        _, totals, parts = asked(X, mu, low=LOW[:1], high=HIGH[:1])
        left.append(np.concatenate([(np.rint(total / part.unit) * part.unit / part.scale).ravel()
                                    for total, part in zip(totals, parts, strict=True)]))
    assert np.linalg.norm(np.diff(left, axis=0), axis=1).max() <= mu * (1.0 + 1e-12)


def test_the_proof_holds_on_a_fine_grid():
    z = np.linspace(-1.0, 1.0, 401)
    v = np.column_stack([np.ones_like(z), z, math.sqrt(2.0) * z**2])
    v = np.vstack([v, np.zeros(3)])
    apart = np.linalg.norm(v[:, None] - v, axis=2)
    assert apart.max() == pytest.approx(2.0) and apart.max() <= 2.0 + 1e-12


def test_totals_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.uniform(-50, 200, 200)])
    X[rng.random(X.shape) < 0.2] = np.nan
    _, ((counts, sums), squares), (part, other) = asked(X)
    z = (np.clip(X, LOW, HIGH) - [0.0, 60.0]) / [1.0, 60.0]
    np.testing.assert_array_equal(counts, np.isfinite(X).sum(axis=0))
    np.testing.assert_allclose(sums, np.nansum(z, axis=0), atol=200 * part.unit)
    np.testing.assert_allclose(squares, np.nansum(z**2, axis=0), atol=400 * part.unit)
    # The noise is what the price says: moved / mu, and less on squares.
    assert part.scale == moment_noise(2, 0.5) == 4.0 * math.sqrt(2.0)
    assert other.scale == pytest.approx(4.0)


def test_sums_are_the_same_bits_in_any_order_part_and_place(monkeypatch):
    X = np.random.default_rng(1).normal(size=(1000, 2))
    whole = asked(X)[1]
    monkeypatch.setattr(column_sums, "_PART", 7)
    shuffled = X[np.random.default_rng(2).permutation(1000)]
    for found in (asked(shuffled)[1], asked(X, rows=spread(Rows(X, np.zeros(1000)), 3))[1]):
        for one, other in zip(whole, found, strict=True):
            np.testing.assert_array_equal(one, other)
    (sums, squares), parts = whole, asked(X)[2]
    for total, part in zip((sums, squares), parts, strict=True):
        assert (total / part.unit == np.rint(total / part.unit)).all()


@pytest.mark.parametrize("low, high", [(-1e30, 1e30), (0.0, 1e-99), (1e30, 1.1e30)])
def test_ranges_of_any_size_leave_finite_sums(low, high):
    X = [[1e300], [-1e300], [0.0], [5e-324], [1.05e30]]
    answer, totals, _ = asked(X, low=np.array([low]), high=np.array([high]))
    assert all(np.isfinite(part).all() for part in (*answer, *totals))
    assert np.abs(totals[0][1]) <= 5 and totals[1] <= 5


def test_without_noise_answers_are_exact():
    session = Session(SilentStream(bytes(16)), Ledger(NotPrivate()))
    X = np.array([[0.5, 90.0], [np.nan, 60.0]])
    counts, sums, squares = noisy_column_sums(Rows(X, np.zeros(2)), LOW, HIGH, math.inf, session)
    np.testing.assert_array_equal([counts, sums, squares], [[1, 2], [0.5, 0.5], [0.25, 0.25]])


#: Sums by three parts.
ASKED = {
    "sums": lambda *args: noisy_part_sums(*args, n_parts=3),
    "moments": lambda *args: noisy_part_moments(*args, n_parts=3, squares=False),
    "squares": lambda *args: noisy_part_moments(*args, n_parts=3, squares=True)}
every_kind = pytest.mark.parametrize("kind", ASKED)


def left(kind, rows, mu, low=LOW, high=HIGH):
    """Return what leaves without its noise, in standard deviations of that."""
    with taped() as tape, np.errstate(all="ignore"):
        ASKED[kind](rows, low, high, mu, Session(EntropyStream(), Ledger(Gaussian(mu))))
    assert tape.events == [(Gaussian(mu),)]
    (totals,), (parts,) = tape.totals, tape.parts
    for total, part in zip(totals, parts, strict=True):
        assert (total / part.unit == np.rint(total / part.unit)).all()
    return np.concatenate([total.ravel() / part.scale
                           for total, part in zip(totals, parts, strict=True)])


def furthest(found):
    return max(np.linalg.norm(one - other) for one, other in itertools.combinations(found, 2))


@every_kind
@pytest.mark.parametrize("mu", [1e-13, 0.01, 0.5, 30.0])
def test_no_replaced_row_moves_sums_by_parts_by_more_than_their_price_and_one_does(kind, mu):
    numbers = HOSTILE[kind == "sums":]
    X = np.array([*itertools.product(numbers, (-1e300, 0.0, 61.0, 1e300))])
    found = []
    for row, code in itertools.product(X, (-1.0, 0.0, 2.0)):
        table = np.array([row, [0.2, 3.0], [0.1, 9.0]])
        found.append(left(kind, Rows(table, np.array([code, 0.0, 2.0])), mu))
    furthest_found = furthest(found) / mu
    assert (0.999 <= furthest_found or mu < 1e-9) and furthest_found <= 1.0 + 1e-12


@every_kind
@pytest.mark.parametrize("mu", [1e-12, 0.1, 30.0])
def test_no_replaced_group_moves_sums_by_parts_by_more_than_their_price(kind, mu):
    """Of hostile rows in any parts, as well as of groups that are in one part."""
    rng = np.random.default_rng(0)
    others, parts = rng.uniform(-2.0, 2.0, (5, 1)), np.array([0.0, 1.0, 2.0, -1.0, 0.0])
    numbers = HOSTILE[kind == "sums":]

    def own(group, codes):
        X = np.vstack([np.reshape(group, (-1, 1)), others])
        owners = np.concatenate([np.zeros(len(group), int), [1, 1, 1, 2, 2]])
        return left(kind, Rows(X, np.concatenate([codes, parts]), groups=Groups.of(owners)), mu,
                    LOW[:1], HIGH[:1])

    found = [own(rng.choice(numbers, size), rng.integers(-1, 3, size).astype(float))
             for size in rng.integers(1, 9, 60)]
    found += [own([end] * size, np.full(size, float(part)))
              for end in (-1.0, 1.0) for size in (1, 3, 7) for part in (0, 1)]
    furthest_found = furthest(found) / mu
    assert (0.999 <= furthest_found or mu < 1e-9) and furthest_found <= 1.0 + 1e-12


def test_sums_by_parts_are_those_of_the_definition_in_any_order_block_and_place(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.uniform(-50, 200, 300)])
    codes = rng.integers(-1, 3, 300).astype(float)
    z = np.clip(X, LOW, HIGH)
    exact = np.array([z[codes == part].sum(axis=0) for part in range(3)])
    whole = {kind: left(kind, Rows(X, codes), 0.5) for kind in ASKED}
    scale = part_sum_noise(LOW, HIGH, 0.5)
    np.testing.assert_allclose(whole["sums"].reshape(3, 2) * scale, exact, rtol=1e-6)
    z = (z - [0.0, 60.0]) / [1.0, 60.0]
    powers = np.array([[np.sum(z[codes == part]**power, axis=0) for part in range(3)]
                       for power in range(3)])
    powers[2] *= math.sqrt(2.0)
    for kind, squares in (("moments", False), ("squares", True)):
        found = whole[kind].reshape(-1, 3, 2) * part_moment_noise(2, squares, 0.5)
        np.testing.assert_allclose(found, powers[:2 + squares], rtol=1e-3, atol=1e-2)
    monkeypatch.setattr(part_sums, "_PART", 7)
    shuffled = rng.permutation(300)
    for kind, found in whole.items():
        for rows in (Rows(X[shuffled], codes[shuffled]), spread(Rows(X, codes), 3)):
            np.testing.assert_array_equal(left(kind, rows, 0.5), found)
