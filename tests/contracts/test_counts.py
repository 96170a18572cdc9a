"""Counts of public cells: what a row moves, what they cost, and what plans make of them."""

import itertools

import numpy as np
import pandas as pd
import pytest

from dpsk import DPAdditiveClassifier, DPTableVectorizer
from dpsk._data.columns import Column
from dpsk._data.groups import Groups
from dpsk._data.source import Rows
from dpsk._data.tables import Buckets
from dpsk._defaults.columns import range_points
from dpsk._mechanism.session import Session
from dpsk._models.table_code import Indicators, LinearSplineBasis, TableCode
from dpsk._privacy.events import Gaussian, gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._problem import Budget
from dpsk._statistics.categories import count_noise, noisy_counts
from dpsk.preprocessing._code_plan import CodePlan
from tests.contracts.tapes import taped

POINTS = np.array([0.0, 1.0, 4.0])


def counted(X, mu=1.0, groups=None, parts=None):
    """Return the counts of a column of three categories and of one of numbers, and the tape."""
    codes = np.zeros(len(X)) if parts is None else np.array(parts, dtype=np.float64)
    rows = Rows(np.array(X, dtype=np.float64), codes, groups=groups)
    session = Session(EntropyStream(), Ledger(gaussian(mu)))
    with taped() as tape:
        counts = noisy_counts(rows, {0: 3, 1: POINTS}, mu, session,
                              n_parts=None if parts is None else 4)
    return counts, tape


def test_a_row_moves_counts_by_no_more_than_the_noise_is_for():
    others = [[0, 0.5], [2, 9.0]]
    cells = itertools.product((-1, 0, 1, 2), (-1.0, 0.0, 1.0, 3.9, 4.0, np.nan))
    totals = [counted([list(cell), *others])[1].totals[0][0] for cell in cells]
    worst = max(np.linalg.norm(one - other) for one in totals for other in totals)
    (part,) = counted(others, mu=0.5)[1].parts[0]
    # Attained: both columns move from one cell to another.
    assert worst == pytest.approx(2.0) and part.sensitivity.moved == 2.0
    assert part.scale == 4.0


def test_a_row_moves_counts_of_four_parts_by_no_more_than_of_one():
    others = [[0, 0.5], [2, 9.0]]
    cells = itertools.product((-1, 0, 2), (-1.0, 1.0, np.nan), (-1, 0, 1, 3))
    tapes = [counted([cell[:2], *others], parts=[cell[2], 0, 3])[1] for cell in cells]
    totals = [tape.totals[0][0] for tape in tapes]
    worst = max(np.linalg.norm(one - other) for one in totals for other in totals)
    assert worst == pytest.approx(2.0) and tapes[0].parts[0][0].sensitivity.moved == 2.0
    rng = np.random.default_rng(0)
    groups = []
    for size in (1, 1, 1, *rng.integers(1, 9, 80)):
        own = np.column_stack([rng.integers(-1, 3, size), rng.choice([-1.0, 2.0, np.nan], size)])
        codes = Groups.of(np.repeat([0, 1], [size, 2]))
        groups.append(counted([*own, *others], groups=codes, parts=[
            *rng.integers(-1, 4, size), 0, 3])[1].totals[0][0])
    assert 1.9 < max(np.linalg.norm(one - other) for one in groups for other in groups) <= 2.0


def test_counts_of_parts_are_those_of_their_rows_alone():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(-1, 3, 200), rng.normal(1.0, 3.0, 200)])
    parts = rng.integers(-1, 4, 200)
    counts, tape = counted(X, parts=parts)
    assert counts[0].shape == (4, 3) and counts[1].shape == (4, 4)
    alone = np.array([counted(X[parts == part])[1].totals[0][0] for part in range(4)])
    np.testing.assert_array_equal(tape.totals[0][0], np.concatenate([
        alone[:, :3].ravel(), alone[:, 3:].ravel()]))


def test_a_group_moves_counts_by_no_more_than_a_row():
    rng = np.random.default_rng(0)
    totals = []
    for size in (1, 1, 1, *rng.integers(1, 9, 80)):
        own = np.column_stack([rng.integers(-1, 3, size), rng.choice([-1.0, 2.0, np.nan], size)])
        codes = np.repeat([0, 1], [size, 3])
        totals.append(counted([*own, [0, 0.5], [1, 9.0], [2, 0.5]],
                              groups=Groups.of(codes))[1].totals[0][0])
    totals = np.array(totals)
    # Shares of three rows, cut to whole units.
    assert abs(totals.sum(axis=1) - 4.0).min() < 1e-6
    assert 1.9 < max(np.linalg.norm(totals - one, axis=1).max() for one in totals) <= 2.0


def test_cells_are_counted_where_they_are():
    total = counted([[0, -5.0], [0, 0.0], [2, 1.0], [-1, 4.0], [1, np.nan]])[1].totals[0][0]
    assert total.tolist() == [2, 1, 1, 1, 1, 1, 1]
    counts, _ = counted([[0, 2.0]] * 10**6)
    assert np.argmax(counts[0]) == 0 and np.argmax(counts[1]) == 2
    assert count_noise(2, 0.5) == 4.0


def test_what_is_not_declared_is_not_counted():
    session = Session(EntropyStream(), Ledger(Gaussian(0.5)))
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        noisy_counts(Rows(np.zeros((2, 1)), np.zeros(2)), {0: 3}, 0.6, session)


def test_buckets_follow_categories_that_are_named():
    buckets = Buckets(4, ("bucket 1", 7))
    assert list(buckets) == ["bucket 1", 7, "bucket 0_", "bucket 1_", "bucket 2_", "bucket 3_"]
    assert len(buckets) == 6 and buckets.places(["bucket 1", 7, "6", 3]) == [0, 1, 4, 5]
    kept = Buckets(4, kept=(1, 3))
    assert list(kept) == ["bucket 1", "bucket 3"] and len(kept) == 2
    assert kept.places(range(4)) == [-1, 0, -1, 1]


def test_categories_that_are_not_kept_are_where_they_are_hashed_to():
    part = Indicators(["a", "bucket 0", "bucket 1"], np.array([1]),
                      lambda: np.array([2, -9, 1]), buckets=2)
    code = TableCode((part, LinearSplineBasis(np.array([0.0, 1.0]))), ((0, 1),))
    features = code.features(np.array([[0.0, 1], [1, 1], [2, 1], [-1, 1]]))
    np.testing.assert_array_equal(features[:, :4], np.eye(4)[[2, 0, 1, 3]])
    # Products tell what is named from all others.
    assert code.width == 4 + 2 + 2 * 2 and code.narrow == [2, 2]
    np.testing.assert_array_equal(features[:, 6:].reshape(4, 2, 2)[:, :, 1],
                                  np.eye(2)[[1, 0, 1, 1]])
    assert code.names(["w", "x"])[6:] == ["w_a x x[0]", "w_a x x[1]", "w_other x x[0]",
                                          "w_other x x[1]"]
    later = code.for_next_rows().parts[0]
    assert later.kept is None and later.others is None and later.narrow == 2


def test_ranges_are_counted_where_rows_are_too_few_for_knots():
    columns = [Column("x", np.dtype(float)), Column("y", np.dtype(float), edges=(0.0, 1.0))]
    few, many = (CodePlan.of(Budget(n, 2, 1.0, 1e-6), columns).mechanism for n in (40, 10**5))
    assert few.kinds[0] == "ranges" and few.event(2.0).events == (Gaussian(0.5),)
    assert many.kinds[0] == "numbers" and many.atoms and not few.atoms
    given = CodePlan.of(Budget(40, 2, 1.0, 1e-6), columns, n_knots=2).mechanism
    assert given.kinds[0] == "numbers"


def test_knots_are_the_ends_of_ranges_that_hold_rows():
    """2000 numbers between 4 and 16, thirty scales of the noise: they stand out, beyond doubt."""
    X = np.repeat(np.linspace(5.0, 15.0, 2000)[:, None], 60, axis=1)
    coder = DPTableVectorizer(epsilon=1.0, delta=1e-6)
    coder._within((1.0, 1e-6))
    for knots in coder.fit(X).knots_.values():
        assert {4.0, 16.0} <= set(knots) <= set(range_points())


@pytest.mark.parametrize("n_rows", [300, 20_000])
def test_categories_that_are_rare_are_learnt_by_their_buckets(n_rows):
    """Sixty categories of which none is found, each of one class: hashed, most still tell it."""
    rng = np.random.default_rng(0)
    place = rng.integers(60, size=n_rows)
    X = pd.DataFrame({"w": place.astype(str)})
    model = DPAdditiveClassifier(epsilon=20.0 if n_rows < 1000 else 1.0).fit(X, place % 32 < 16)
    assert model.score(X, place % 32 < 16) > 0.9


def test_few_ranges_without_rows_seem_to_hold_some():
    """4300 of noise alone, of which .00135 are three scales up: more than 24 with 1e-8."""
    rows = Rows(np.full((4000, 100), 5.0), np.zeros(4000))
    plan = CodePlan.of(Budget(4000, 100, 1.0, 1e-6),
                       [Column(place, np.dtype(float)) for place in range(100)]).mechanism
    session = Session(EntropyStream(), Ledger(plan.event(0.3)))
    occupied = plan._occupied(rows, plan.parts[2], session, 0.3)
    inside = int(np.searchsorted(range_points(), 5.0, "right"))
    assert all(inside in cells for cells in occupied.values())
    assert sum(map(len, occupied.values())) <= 100 + 24
