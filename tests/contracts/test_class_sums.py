"""Noisy sums of classes beside one second moment, or squares: how far one row or group moves them.
"""

import itertools

import numpy as np
import pytest
from scipy import sparse

from dpsk._data import blocks
from dpsk._data.groups import Groups
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models.bins import BinnedRows
from dpsk._privacy.events import Gaussian, NotPrivate, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._statistics.class_counts import noisy_flag_counts, noisy_row_sums
from dpsk._statistics.class_moments import (
    noisy_class_moments,
    noisy_class_squares,
    noisy_shared_moments,
    with_short_squares,
)
from dpsk._statistics.tables import noisy_tables
from tests.contracts.streams import SilentStream
from tests.contracts.tapes import spent, taped

_KEY, MU = bytes(range(16)), 0.5
RELEASES = {
    "classes": lambda rows, radius, mu, session: noisy_class_moments(
        rows, 3, np.eye(rows.n_features), radius, mu, session),
    "all": lambda rows, radius, mu, session: noisy_shared_moments(rows, 3, radius, mu, session),
    "columns": lambda rows, radius, mu, session: noisy_class_squares(rows, 3, radius, mu, session),
}
every_release = pytest.mark.parametrize("of", RELEASES)
radii = pytest.mark.parametrize("radius", [1e-3, 1.0, 2.5, 1e4])


def _answer(of, rows, radius=1.0, mu=MU, stream=None, plan=None):
    ledger = Ledger(plan or Gaussian(mu))
    session = Session(stream or KeyedStream(_KEY), ledger)
    with np.errstate(all="ignore"):
        return RELEASES[of](rows, radius, mu, session), ledger


def _totals(of, rows, radius=1.0, mu=MU):
    """Return the exact totals of an answer, its event, and the noise of every part."""
    with taped() as tape:
        _answer(of, rows, radius, mu)
    return tape.totals[0], tape.events[0][0], tape.parts[0]


def _share(one, other):
    """Return what the move between two totals costs over what was paid."""
    totals, event, parts = one
    return spent(event, parts, [a - b for a, b in zip(totals, other[0], strict=True)])


def _hostile(radius):
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    circle = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([circle, 0.5 * circle, 1e9 * circle,
                      [[0.0, 0.0], [1e300, -1e300], [5e-324, 0.0]]])


@pytest.mark.covering
@every_release
@radii
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_replacing_a_row_and_its_class_stays_within_the_price_and_reaches_it(of, radius, dtype):
    fixed = radius * np.array([[0.3, -0.2], [0.1, 0.4]])
    found = []
    for row, label in itertools.product(_hostile(radius), (0, 1)):
        with np.errstate(over="ignore"):
            X = np.vstack([row, fixed]).astype(dtype)
        if np.isfinite(X).all():
            found.append(_totals(of, Rows(X, np.array([label, 1, 2])), radius))
    shares = [_share(one, other) for one, other in itertools.combinations(found, 2)]
    assert 0.999 <= max(shares) <= 1.0 + 1e-9


@every_release
@pytest.mark.parametrize("mu", [1e-6, 1e-2, 100.0])
def test_weights_and_groups_move_no_more_than_rows(of, mu):
    """Rows of any weights, and groups of rows of several classes."""
    rng = np.random.default_rng(0)
    fixed = rng.normal(size=(3, 2))
    found, grouped = [], []
    for place in range(60):
        X = np.vstack([rng.choice([-1.0, 0.2, 1.0, 50.0], size=(4, 2)), fixed])
        X[:4] *= rng.choice([1.0, 1e-3], size=(4, 1))
        y = np.concatenate([rng.integers(3, size=4), [0, 1, 2]])
        weights = np.concatenate([[(0.0, 1.0, 0.3, 1e9)[place % 4]], np.ones(3)])
        found.append(_totals(of, Rows(X[3:], y[3:], weights), mu=mu))
        # A group of one row, or of four.
        first = 3 if place % 3 == 0 else 0
        codes = np.concatenate([np.zeros(4 - first, int), [1, 2, 3]])
        weights = np.concatenate([rng.choice([0.5, 1.0, 7.0], size=4), np.ones(3)])[first:]
        weights = weights if place % 2 else None
        grouped.append(_totals(of, Rows(X[first:], y[first:], weights, groups=Groups.of(codes)),
                               mu=mu))
    for each in (found, grouped):
        assert max(_share(*pair) for pair in itertools.combinations(each, 2)) <= 1.0 + 1e-9


@every_release
@radii
def test_sums_are_the_same_bits_in_any_order_and_block(of, radius, monkeypatch):
    rng = np.random.default_rng(1)
    X, y = radius * rng.normal(size=(1000, 24)), rng.integers(3, size=1000)
    weights = rng.uniform(size=1000)
    whole = _totals(of, Rows(X, y, weights), radius)[0]
    order = rng.permutation(1000)
    shuffled = _totals(of, Rows(X[order], y[order], weights[order]), radius)[0]
    monkeypatch.setattr(blocks, "_ENTRIES", 700)
    monkeypatch.setattr(blocks, "_FEW_ROWS", 1)
    parts = _totals(of, Rows(X, y, weights), radius)[0]
    for other in (shuffled, parts):
        assert all(map(np.array_equal, whole, other))


@every_release
def test_without_a_budget_they_are_those_of_the_rows(of):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 4)), rng.integers(3, size=300)
    weights = rng.uniform(size=300)
    # Far beyond all rows, so that their squares are short as well.
    found, _ = _answer(of, Rows(X, y, weights), 30.0, np.inf, plan=NotPrivate())
    for label in range(3):
        own, shares = X[y == label], weights[y == label]
        np.testing.assert_allclose(found.counts[label], shares.sum(), rtol=1e-4)
        np.testing.assert_allclose(found.sums[label], shares @ own, atol=1e-2)
        products = (shares[:, None] * own).T @ own
        if of == "classes":
            np.testing.assert_allclose(found.moments[label], products, atol=1e-2)
        elif of == "columns":
            np.testing.assert_allclose(found.moments[label], np.diag(products), atol=1e-2)
    if of == "all":
        np.testing.assert_allclose(found.moments, (weights[:, None] * X).T @ X, atol=1e-2)
    assert found.moment_noise == found.sum_noise == found.count_noise == 0.0


@every_release
def test_the_noise_is_what_the_answer_says_of_it(of):
    """Of 400 draws a deviation is off by 20 % with chance below 1e-7."""
    rng = np.random.default_rng(3)
    rows = Rows(rng.normal(size=(30, 3)), np.arange(30) % 3)
    stream = KeyedStream(_KEY)
    answers = [_answer(of, rows, 2.0, stream=stream) for _ in range(400)]
    assert answers[0][1].spent.events == (Repeated(Gaussian(MU), 1),)
    found = [each for each, _ in answers]
    for name, noise in (("counts", "count_noise"), ("sums", "sum_noise"),
                        ("moments", "moment_noise")):
        deviations = np.std([getattr(each, name) for each in found], axis=0)
        if name == "moments" and of != "columns":
            # Beside the diagonal it is the root of a half.
            deviations = np.diagonal(deviations, axis1=-2, axis2=-1)
        np.testing.assert_allclose(deviations, getattr(found[0], noise), rtol=0.2)


def test_squares_of_rows_are_short_and_directions_stay():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(200, 12)) * rng.choice([1e-3, 1.0], size=(200, 12))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    short = with_short_squares(rows.copy(), 1.0)
    assert np.linalg.norm(short**2, axis=1).max() <= np.sqrt(3 / 12)
    ratios = short[:, :1] / rows[:, :1]
    np.testing.assert_allclose(short, ratios * rows)
    assert ratios.max() <= 1.0 and (ratios < 0.99).any() and (ratios == 1.0).any()


@every_release
def test_nothing_is_drawn_before_the_ledger_has_agreed(of):
    with pytest.raises(RuntimeError, match="plan"):
        _answer(of, Rows(np.ones((3, 2)), np.arange(3)), stream=SilentStream(_KEY),
                plan=Gaussian(0.1))


COUNTS = {
    "sums": lambda rows, session: noisy_row_sums(rows, 3, 2.0, MU, session),
    "flags": lambda rows, session: noisy_flag_counts(rows, 3, 0.5, MU, session),
    "tables": lambda rows, session: noisy_tables(
        rows.mapped(BinnedRows([np.arange(4) - 0.5] * 2)), [3, 3], 3, [(0,), (1,)], MU, session)}
every_count = pytest.mark.parametrize("of", COUNTS)


def _counted(of, rows):
    """Return the exact totals of an answer, its event, and the noise of every part."""
    with taped() as tape, np.errstate(all="ignore"):
        COUNTS[of](rows, Session(KeyedStream(_KEY), Ledger(Gaussian(MU))))
    return tape.totals[0], tape.events[0][0], tape.parts[0]


@every_count
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_row_or_a_group_moves_counts_within_the_price_and_a_row_reaches_it(of, kind):
    if of == "tables" and kind is sparse.csr_matrix:
        return
    rng = np.random.default_rng(5)
    rows = itertools.product([0.0, 1.0, 2.0, 1e300, -7.0], [0.0, 2.0, 5e-324])
    found, grouped = [], []
    for place, (row, label) in enumerate(itertools.product(rows, (0, 1))):
        X, y = np.vstack([row, [[1.0, 0.0], [0.0, 1.0]]]), np.array([label, 1, 2])
        weights = (None, np.array([0.3, 1.0, 1.0]), np.array([1e9, 1.0, 1.0]))[place % 3]
        found.append(_counted(of, Rows(kind(X), y, weights)))
        X = np.vstack([rng.choice([0.0, 1.0, 9.0], size=(3, 2)), X[1:]])
        y, owners = np.append(rng.integers(3, size=3), [1, 2]), np.array([0, 0, 0, 1, 2])
        grouped.append(_counted(of, Rows(kind(X), y, groups=Groups.of(owners))))
    shares = [_share(one, other) for one, other in itertools.combinations(found, 2)]
    assert 0.99 <= max(shares) <= 1.0 + 1e-9
    assert max(_share(*pair) for pair in itertools.combinations(grouped, 2)) <= 1.0 + 1e-9


@every_count
def test_counts_are_the_same_bits_sparse_shuffled_and_in_blocks(of, monkeypatch):
    rng = np.random.default_rng(6)
    X, y = np.floor(3 * rng.random(size=(1000, 2))), rng.integers(3, size=1000)
    weights, order = rng.uniform(size=1000), rng.permutation(1000)
    whole = _counted(of, Rows(X, y, weights))[0]
    others = [_counted(of, Rows(X[order], y[order], weights[order]))[0]]
    monkeypatch.setattr(blocks, "_ENTRIES", 70)
    monkeypatch.setattr(blocks, "_FEW_ROWS", 1)
    others.append(_counted(of, Rows(X, y, weights))[0])
    if of != "tables":
        others.append(_counted(of, Rows(sparse.csr_matrix(X), y, weights))[0])
    for other in others:
        assert all(map(np.array_equal, whole, other))


@pytest.mark.parametrize("of", ["sums", "flags"])
def test_the_noise_of_counts_is_what_the_answer_says_of_it(of):
    """Of 400 draws a deviation is off by 20 % with chance below 1e-7."""
    rng = np.random.default_rng(7)
    rows, stream = Rows(rng.uniform(size=(30, 3)), np.arange(30) % 3), KeyedStream(_KEY)
    found = [COUNTS[of](rows, Session(stream, Ledger(Gaussian(MU)))) for _ in range(400)]
    for name, noise in (("counts", "count_noise"), ("sums", "sum_noise")):
        values = np.array([getattr(each, name) for each in found])
        np.testing.assert_allclose(values.std(axis=0), getattr(found[0], noise), rtol=0.2)
    exact = np.array([(rows.X[rows.y == label] > 0.5).sum(axis=0) if of == "flags"
                      else rows.X[rows.y == label].sum(axis=0) for label in range(3)])
    off = np.abs(np.mean([each.sums for each in found], axis=0) - exact)
    assert off.max() < 6.0 * found[0].sum_noise / 20
