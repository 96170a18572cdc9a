"""Noisy tables of counts and distances: their sensitivity, their noise, and exact sums."""

import itertools
import math

import numpy as np
import pytest

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._oracle import Releases
from dpsk._oracle.tables import distance_noise, noisy_distances, noisy_tables, table_noise
from dpsk._privacy.events import Gaussian, NotPrivate, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream
from tests.contracts.streams import SilentStream

_KEY = bytes(range(16))
SIZES, CLASSES = (2, 3, 4), 2
PAIRS = [(0, 1), (2, 0), (1, 2)]
COLUMNS = [(0,), (1,), (2,), *PAIRS]


@pytest.fixture
def noiseless(monkeypatch):
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))


def _opened(plan, stream=None):
    ledger = Ledger(plan)
    return Releases(stream or KeyedStream(_KEY), ledger), ledger


def _table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return (np.column_stack([rng.integers(size, size=n) for size in SIZES]),
            rng.integers(CLASSES, size=n))


def _tables(X, y, mu=1.0, columns=COLUMNS, releases=None):
    releases = releases or _opened(Gaussian(mu))[0]
    return noisy_tables(Rows(X, y), SIZES, CLASSES, columns, mu, releases)


def _expected(pair):
    """Return a public table, as hostile as a distance can meet: cells between whole numbers."""
    shape = (CLASSES, *(SIZES[column] for column in pair))
    return np.random.default_rng(list(pair)).uniform(0, 4, size=shape)


def _distances(X, y, mu=1.0, expected=_expected, releases=None):
    releases = releases or _opened(Gaussian(mu))[0]
    return noisy_distances(Rows(X, y), SIZES, CLASSES, PAIRS, expected, mu, releases)


def _cell_rows():
    """Return every row that there can be, with its class."""
    return list(itertools.product(*map(range, SIZES), range(CLASSES)))


def test_replacing_a_row_stays_within_the_sensitivity_and_reaches_it(noiseless):
    X, y = _table(5)
    found = []
    for *row, label in _cell_rows():
        own = np.vstack([X[:-1], row]), np.append(y[:-1], label)
        found.append(np.concatenate([table.ravel() for table in _tables(*own)]))
    furthest = max(np.linalg.norm(one - other)
                   for one, other in itertools.combinations(found, 2))
    assert furthest == pytest.approx(math.sqrt(2 * len(COLUMNS)))
    assert table_noise(len(COLUMNS), 0.5) == pytest.approx(2 * furthest)


@pytest.mark.parametrize("expected", [
    _expected, lambda pair: np.zeros_like(_expected(pair)), lambda pair: 1e6 * _expected(pair)])
def test_replacing_a_row_moves_distances_no_more_than_they_are_priced_for(noiseless, expected):
    X, y = _table(5)
    found = [_distances(np.vstack([X[:-1], row]), np.append(y[:-1], label), expected=expected)
             for *row, label in _cell_rows()]
    furthest = max(np.linalg.norm(one - other)
                   for one, other in itertools.combinations(found, 2))
    assert furthest <= 2 * math.sqrt(len(PAIRS))


def test_distances_reach_their_sensitivity(noiseless):
    """Where the public table is that of the first of two rows, the other one moves all by 2."""
    X, y = np.zeros((2, 3), int), np.zeros(2, int)
    own = dict(zip(PAIRS, _tables(X, y, columns=PAIRS), strict=True))
    other = np.array([[0, 0, 0], [1, 1, 1]])
    moved = _distances(other, y, expected=own.get) - _distances(X, y, expected=own.get)
    assert np.linalg.norm(moved) == pytest.approx(2 * math.sqrt(len(PAIRS)))
    assert distance_noise(len(PAIRS), 0.5) == pytest.approx(2 * np.linalg.norm(moved))


def test_tables_and_distances_are_those_of_the_rows(noiseless):
    X, y = _table(200)
    for columns, table in zip(COLUMNS, _tables(X, y), strict=True):
        exact = np.zeros(table.shape)
        np.add.at(exact, (y, *X[:, columns].T), 1)
        np.testing.assert_array_equal(table, exact)
    exact = dict(zip(COLUMNS, _tables(X, y), strict=True))
    np.testing.assert_allclose(
        _distances(X, y), [np.abs(exact[pair] - _expected(pair)).sum() for pair in PAIRS],
        atol=1e-4)


def test_they_are_the_same_bits_in_any_order_and_block(noiseless, monkeypatch):
    X, y = _table(500)
    order = np.random.default_rng(1).permutation(500)
    whole, distances = _tables(X, y), _distances(X, y)
    others = [(_tables(X[order], y[order]), _distances(X[order], y[order]))]
    monkeypatch.setattr(blocks, "_ENTRIES", 70)
    others.append((_tables(X, y), _distances(X, y)))
    for tables, found in others:
        np.testing.assert_array_equal(found, distances)
        for one, other in zip(tables, whole, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("mu", [0.1, 3.0])
def test_the_answer_is_exact_plus_the_noise_of_that_budget(monkeypatch, mu):
    X, y = _table()
    releases, ledger = _opened(Gaussian(mu))
    tables = _tables(X, y, mu, releases=releases)
    distances = _distances(X, y, mu)
    sizes = [table.size for table in tables]
    noise = samplers.standard_normal(KeyedStream(_KEY), (sum(sizes),))
    few = samplers.standard_normal(KeyedStream(_KEY), (len(PAIRS),))
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))
    found = np.concatenate([(one - other).ravel() for one, other in
                            zip(tables, _tables(X, y, mu), strict=True)])
    np.testing.assert_allclose(found, table_noise(len(COLUMNS), mu) * noise, atol=1e-5)
    np.testing.assert_allclose(distances - _distances(X, y, mu),
                               distance_noise(len(PAIRS), mu) * few, atol=1e-5)
    assert ledger.spent.events == (Repeated(Gaussian(mu), 1),)


def test_without_a_budget_there_is_no_noise():
    X, y = _table()
    tables = _tables(X, y, np.inf, releases=_opened(NotPrivate())[0])
    assert all(table.sum() == len(y) and np.all(table == np.rint(table)) for table in tables)


@pytest.mark.parametrize("ask", [_tables, _distances])
def test_nothing_is_drawn_before_the_ledger_has_agreed(ask):
    with pytest.raises(RuntimeError, match="plan"):
        ask(*_table(), releases=_opened(Gaussian(0.1), SilentStream(_KEY))[0])
