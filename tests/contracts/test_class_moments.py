"""Noisy second moments of classes: their sensitivity, their noise, and that sums are exact."""

import itertools

import numpy as np
import pytest

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.events import Gaussian, NotPrivate, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._statistics.class_moments import noisy_class_moments, on_grid
from tests.contracts.streams import SilentStream

_KEY = bytes(range(16))
radii = pytest.mark.parametrize("radius", [1e-3, 0.99, 1.0, 2.5, 1e4])


@pytest.fixture
def noiseless(monkeypatch):
    monkeypatch.setattr(samplers, "symmetric_normal", lambda stream, shape: np.zeros(shape))


def _opened(plan, stream=None):
    ledger = Ledger(plan)
    return Session(stream or KeyedStream(_KEY), ledger), ledger


def _answer(X, y, radius=1.0, mu=0.5, basis=None, n_classes=3, session=None):
    basis = np.eye(X.shape[1]) if basis is None else basis
    session = session or _opened(Gaussian(mu))[0]
    with np.errstate(all="ignore"):
        return noisy_class_moments(Rows(X, np.asarray(y)), n_classes, basis, radius, mu, session)


def _constant(radius):
    """Return the radius cut to four bits."""
    unit = 2.0 ** (np.floor(np.log2(radius)) - 3)
    return np.floor(radius / unit) * unit


def _blocks(found, radius):
    """Return the released matrices with the constant's row as it was measured."""
    size = found.sums.shape[1]
    total = np.empty((len(found.sums), size + 1, size + 1))
    total[:, :-1, :-1] = found.moments
    total[:, -1, :-1] = total[:, :-1, -1] = _constant(radius) * found.sums
    total[:, -1, -1] = _constant(radius)**2 * found.counts
    return total


def _hostile(radius):
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    circle = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([circle, 0.5 * circle, 1e9 * circle, [[0.0, 0.0], [1e300, -1e300]],
                      [[5e-324, 0.0]]])


@radii
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_replacing_a_row_and_its_class_stays_within_the_sensitivity_and_reaches_it(
        noiseless, radius, dtype):
    claimed = np.sqrt(2) * (radius**2 + _constant(radius)**2)
    fixed = radius * np.array([[0.3, -0.2]])
    with np.errstate(over="ignore"):
        tables = [(np.vstack([row, fixed]).astype(dtype), [label, 1])
                  for row in _hostile(radius) for label in (0, 1)]
    tables = [table for table in tables if np.isfinite(table[0]).all()]
    sums = [_blocks(_answer(X, y, radius, mu=1.0), radius) for X, y in tables]
    furthest = max(np.linalg.norm(one - other)
                   for one, other in itertools.combinations(sums, 2))
    assert 0.999 * claimed <= furthest <= claimed


def test_a_basis_in_few_bits_makes_no_row_longer_than_its_bound(noiseless):
    rng = np.random.default_rng(0)
    basis = on_grid(np.linalg.qr(rng.normal(size=(40, 40)))[0][:, :5])
    rows = 3.0 * basis.T / np.linalg.norm(basis, axis=0)[:, None]
    for row in rows:
        found = _answer(row[None].repeat(2, axis=0), [0, 0], 1.0, basis=basis)
        assert np.trace(found.moments[0]) <= 2.0
    # Of all numbers of entries one that is rounded up by most, and all of them at once.
    sizes = np.arange(200, 2000)
    size = sizes[np.argmax(np.rint(2.0**20 / np.sqrt(sizes)) * 2.0**-20 * np.sqrt(sizes))]
    basis = on_grid(np.full((size, 1), size**-0.5))
    assert np.linalg.norm(basis) > 1.0 + 1e-6
    found = _answer(np.full((2, size), 3.0), [0, 0], 1.0, basis=basis)
    assert np.trace(found.moments[0]) <= 2.0


@radii
def test_sums_are_the_same_bits_in_any_order_and_block(noiseless, monkeypatch, radius):
    rng = np.random.default_rng(1)
    X, y = 2 * radius * rng.normal(size=(1000, 24)), rng.integers(3, size=1000)
    basis = on_grid(np.linalg.qr(rng.normal(size=(24, 24)))[0][:, :7])
    whole = _answer(X, y, radius, basis=basis)
    order = rng.permutation(1000)
    shuffled = _answer(X[order], y[order], radius, basis=basis)
    monkeypatch.setattr(blocks, "_ENTRIES", 700)
    parts = _answer(X, y, radius, basis=basis)
    for other in (shuffled, parts):
        for name in ("counts", "sums", "moments"):
            np.testing.assert_array_equal(getattr(other, name), getattr(whole, name))


def test_without_a_budget_they_are_those_of_the_rows():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 4)), rng.integers(3, size=300)
    radius = 1.1 * np.linalg.norm(X, axis=1).max()
    found = _answer(X, y, radius, mu=np.inf, session=_opened(NotPrivate())[0])
    np.testing.assert_allclose(found.counts, np.bincount(y), rtol=1e-5)
    for label in range(3):
        np.testing.assert_allclose(found.sums[label], X[y == label].sum(axis=0), atol=1e-3)
        np.testing.assert_allclose(found.moments[label], X[y == label].T @ X[y == label],
                                   atol=1e-3)
    assert found.moment_noise == found.sum_noise == found.count_noise == 0.0


@pytest.mark.parametrize("radius, mu", [(0.3, 0.1), (1.0, 1.0), (4.0, 7.0)])
def test_the_answer_is_exact_plus_the_noise_of_that_budget(monkeypatch, radius, mu):
    rng = np.random.default_rng(3)
    X, y = radius * rng.normal(size=(30, 3)), rng.integers(3, size=30)
    session, ledger = _opened(Gaussian(mu))
    answer = _answer(X, y, radius, mu, session=session)
    scale = np.sqrt(2) * (radius**2 + _constant(radius)**2) / mu
    assert answer.moment_noise == pytest.approx(scale)
    assert answer.sum_noise == pytest.approx(scale / np.sqrt(2) / _constant(radius))
    assert answer.count_noise == pytest.approx(scale / _constant(radius)**2)
    noise = samplers.symmetric_normal(KeyedStream(_KEY), (3, 4, 4))
    monkeypatch.setattr(samplers, "symmetric_normal", lambda stream, shape: np.zeros(shape))
    exact = _answer(X, y, radius, mu)
    np.testing.assert_allclose(_blocks(answer, radius) - _blocks(exact, radius), scale * noise,
                               atol=1e-6 * scale)
    assert ledger.spent.events == (Repeated(Gaussian(mu), 1),)


def test_a_stack_of_noise_has_the_deviations_of_symmetric_matrices():
    """Of 20,000 draws a deviation is 4 % off with chance below 1e-14."""
    noise = samplers.symmetric_normal(KeyedStream(_KEY), (20_000, 3, 3))
    np.testing.assert_array_equal(noise, np.swapaxes(noise, 1, 2))
    np.testing.assert_allclose(noise.std(axis=0), np.sqrt(0.5 + 0.5 * np.eye(3)), rtol=0.04)
    flat = noise[(slice(None), *np.triu_indices(3))]
    assert np.abs(np.corrcoef(flat.T) - np.eye(6)).max() < 0.06


def test_the_count_of_one_class_is_public():
    found = _answer(np.ones((7, 2)), np.zeros(7, int), n_classes=1)
    assert found.counts == [7.0] and found.count_noise == 0.0


def test_nothing_is_drawn_before_the_ledger_has_agreed():
    with pytest.raises(RuntimeError, match="plan"):
        _answer(np.ones((3, 2)), [0, 1, 2],
                session=_opened(Gaussian(0.1), SilentStream(_KEY))[0])
