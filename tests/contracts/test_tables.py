"""Noisy tables of counts, and choices of pairs: sensitivity, noise, and exact sums."""

import itertools
import math

import numpy as np
import pytest

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.events import Gaussian, NotPrivate, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics.tables import PairChoices, noisy_tables, table_noise
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
    return Session(stream or KeyedStream(_KEY), ledger), ledger


def _table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return (np.column_stack([rng.integers(size, size=n) for size in SIZES]),
            rng.integers(CLASSES, size=n))


def _tables(X, y, mu=1.0, columns=COLUMNS, session=None):
    session = session or _opened(Gaussian(mu))[0]
    return noisy_tables(Rows(X, y), SIZES, CLASSES, columns, mu, session)


def _expected(pair):
    """Return a public table, as hostile as a distance can meet: cells between whole numbers."""
    shape = (CLASSES, *(SIZES[column] for column in pair))
    return np.random.default_rng(list(pair)).uniform(0, 4, size=shape)


class _Watched:
    """A session that keeps the scores of a choice, and adds no noise to it."""

    def __call__(self, event, read, known, select):
        assert (known.moved, known.law, known.rounded) == (4.0, "gumbel", False)
        self.scores = read(None)
        assert np.all(self.scores[np.isfinite(self.scores)] % known.unit == 0)
        return select(self.scores)


def _choices(X, y, expected=_expected, least=0.0, session=None, event=None):
    return PairChoices(Rows(X, y), SIZES, CLASSES, PAIRS, expected, np.full(len(PAIRS), least),
                       event or ExponentialChoices(1, pure=False).release(2.0),
                       session or _Watched())


def _distances(X, y, expected=_expected):
    choices = _choices(X, y, expected)
    choices.best(np.ones(len(PAIRS), bool))
    return choices._session.scores[:-1]


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
def test_replacing_a_row_moves_a_score_by_two_at_most(expected):
    X, y = _table(5)
    found = [_distances(np.vstack([X[:-1], row]), np.append(y[:-1], label), expected)
             for *row, label in _cell_rows()]
    assert max(np.abs(one - other).max() for one, other in itertools.combinations(found, 2)) <= 2


def test_scores_reach_their_sensitivity_apart():
    """Where one public table is that of the first of two rows, another that of the second."""
    X, y = np.zeros((2, 3), int), np.zeros(2, int)
    other = np.array([[0, 0, 0], [1, 1, 1]])
    public = {PAIRS[0]: _exact(X, y, PAIRS[0]), PAIRS[1]: _exact(other, y, PAIRS[1]),
              PAIRS[2]: np.zeros_like(_expected(PAIRS[2]))}
    moved = _distances(other, y, public.get) - _distances(X, y, public.get)
    np.testing.assert_array_equal(moved, [2.0, -2.0, 0.0])


def _exact(X, y, columns):
    table = np.zeros((CLASSES, *(SIZES[column] for column in columns)))
    np.add.at(table, (y, *X[:, columns].T), 1)
    return table


def test_the_best_open_pair_is_chosen_or_none_of_them():
    X, y = _table(200)
    order = np.argsort(-_distances(X, y))
    chosen = np.ones(len(PAIRS), bool)
    for place in order:
        assert _choices(X, y).best(chosen) == place
        chosen[place] = False
    assert _choices(X, y).best(chosen) is None
    assert _choices(X, y, least=1e6).best(np.ones(len(PAIRS), bool)) is None


def test_a_choice_costs_its_price_and_there_are_no_more_than_declared():
    X, y = _table()
    event = ExponentialChoices(1, pure=False).release(3.0)
    session, ledger = _opened(Repeated(event, 2))
    choices = _choices(X, y, session=session, event=event)
    assert all(choices.best(np.ones(len(PAIRS), bool)) is not None for _ in range(2))
    assert ledger.spent.events == (Repeated(event, 2),)
    session._stream = SilentStream(_KEY)
    with pytest.raises(RuntimeError, match="plan"):
        choices.best(np.ones(len(PAIRS), bool))
    free = _choices(X, y, session=_opened(NotPrivate())[0], event=NotPrivate())
    assert free.best(np.ones(len(PAIRS), bool)) == np.argmax(_distances(X, y))


def test_tables_and_distances_are_those_of_the_rows(noiseless):
    X, y = _table(200)
    for columns, table in zip(COLUMNS, _tables(X, y), strict=True):
        np.testing.assert_array_equal(table, _exact(X, y, columns))
    np.testing.assert_allclose(
        _distances(X, y), [np.abs(_exact(X, y, pair) - _expected(pair)).sum() for pair in PAIRS],
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
    session, ledger = _opened(Gaussian(mu))
    tables = _tables(X, y, mu, session=session)
    sizes = [table.size for table in tables]
    noise = samplers.standard_normal(KeyedStream(_KEY), (sum(sizes),))
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))
    found = np.concatenate([(one - other).ravel() for one, other in
                            zip(tables, _tables(X, y, mu), strict=True)])
    np.testing.assert_allclose(found, table_noise(len(COLUMNS), mu) * noise, atol=1e-5)
    assert ledger.spent.events == (Repeated(Gaussian(mu), 1),)


def test_without_a_budget_there_is_no_noise():
    X, y = _table()
    tables = _tables(X, y, np.inf, session=_opened(NotPrivate())[0])
    assert all(table.sum() == len(y) and np.all(table == np.rint(table)) for table in tables)


def test_nothing_is_drawn_before_the_ledger_has_agreed():
    with pytest.raises(RuntimeError, match="plan"):
        _tables(*_table(), session=_opened(Gaussian(0.1), SilentStream(_KEY))[0])
