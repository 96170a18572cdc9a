"""The noisy mean of rows: its sensitivity, its noise, and what is made of it."""

import itertools

import numpy as np
import pytest

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._privacy.events import Gaussian, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._stages.centering import shrunk
from dpsk._statistics.moments import noisy_mean, noisy_target_mean
from tests.contracts.streams import SilentStream
from tests.instruments import ranked

_KEY = bytes(range(16))
radii = pytest.mark.parametrize("data_norm", [1e-10, 1e-3, 1.0, 28.0, 1e10])


@pytest.fixture
def noiseless(monkeypatch):
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))


def _opened(plan, stream=None):
    ledger = Ledger(plan)
    return Session(stream or KeyedStream(_KEY), ledger), ledger


def _answer(X, data_norm=1.0, mu=0.5, session=None):
    model = LinearModel(X.shape[1], None, False, data_norm)
    session = session or _opened(Gaussian(mu))[0]
    return noisy_mean(model, Rows(X, np.zeros(len(X))), mu, session)


def _sum(X, *args, **kwargs):
    with np.errstate(all="ignore"):
        return len(X) * _answer(X, *args, **kwargs)[0]


@radii
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_replacing_a_row_stays_within_the_sensitivity_and_nearly_reaches_it(
        noiseless, data_norm, dtype):
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = data_norm * np.column_stack([np.cos(angles), np.sin(angles)])
    hostile = np.vstack([circle, 0.5 * circle, 1e9 * circle, [[3e38, -3e38], [1e-45, 0.0]]])
    fixed = data_norm * np.array([[0.3, -0.2]])
    sums = [_sum(np.vstack([row, fixed]).astype(dtype), data_norm) for row in hostile]
    furthest = max(np.linalg.norm(one - other)
                   for one, other in itertools.combinations(sums, 2))
    assert 0.999 * 2.0 * data_norm <= furthest <= 2.0 * data_norm


def test_the_exact_mean_is_that_of_the_bounded_rows(noiseless):
    X = 2 * np.random.default_rng(0).normal(size=(50, 3))
    bounded = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    np.testing.assert_allclose(_sum(X), bounded.sum(axis=0), atol=1e-6)


@radii
def test_sums_are_the_same_bits_in_any_order_and_block(noiseless, monkeypatch, data_norm):
    rng = np.random.default_rng(1)
    X = 2 * data_norm * rng.normal(size=(1000, 5))
    whole = _sum(X, data_norm)
    np.testing.assert_array_equal(_sum(X[rng.permutation(1000)], data_norm), whole)
    monkeypatch.setattr(blocks, "_ENTRIES", 70)
    np.testing.assert_array_equal(_sum(X, data_norm), whole)


@pytest.mark.parametrize("data_norm, mu", [(0.3, 0.1), (1.0, 1.0), (4.0, 7.0)])
def test_the_answer_is_exact_plus_the_noise_of_that_budget(monkeypatch, data_norm, mu):
    X = data_norm * np.random.default_rng(2).normal(size=(30, 3))
    session, ledger = _opened(Gaussian(mu))
    answer, noise_std = _answer(X, data_norm, mu, session)
    assert noise_std == pytest.approx(2.0 * data_norm / mu / 30)
    noise = samplers.standard_normal(KeyedStream(_KEY), (3,))
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))
    surplus = answer - _answer(X, data_norm, mu)[0]
    np.testing.assert_allclose(surplus, noise_std * noise, atol=1e-6 * noise_std)
    assert ledger.spent.events == (Repeated(Gaussian(mu), 1),)


def test_nothing_is_drawn_before_the_ledger_has_agreed_and_it_agrees_once():
    X = np.ones((3, 2))
    with pytest.raises(RuntimeError, match="plan"):
        _answer(X, session=_opened(Gaussian(0.1), SilentStream(_KEY))[0])
    session, _ = _opened(Gaussian(0.5))
    _answer(X, session=session)
    session._stream = SilentStream(_KEY)
    with pytest.raises(RuntimeError, match="plan"):
        _answer(X, session=session)


def test_shrinking_takes_out_what_is_noise_and_never_turns_a_mean():
    mean = np.array([3.0, 4.0])
    np.testing.assert_allclose(shrunk(mean, 1.0, 9.0), mean * (1 - 2 / 25))
    np.testing.assert_array_equal(shrunk(mean, 0.0, 9.0), mean)
    for noise in (4.0, 1e200):
        np.testing.assert_array_equal(shrunk(mean, noise, 9.0), [0.0, 0.0])
    np.testing.assert_array_equal(shrunk(np.zeros(2), 1.0, 9.0), [0.0, 0.0])
    # No mean of rows is longer than the longest row.
    np.testing.assert_allclose(shrunk(mean, 0.1, 2.0), 0.4 * mean)


def test_shrinking_is_nearer_to_the_truth_on_average():
    rng = np.random.default_rng(3)
    for length in (0.0, 3.0, 30.0):
        truth = np.full(20, length / np.sqrt(20))
        noisy = truth + rng.normal(size=(4000, 20))
        errors = [np.square(found - truth).sum(axis=1).mean()
                  for found in (np.array([shrunk(row, 1.0, 40.0) for row in noisy]), noisy)]
        assert errors[0] < errors[1]


def _target_sum(y, groups=None, mu=0.5):
    groups = None if groups is None else ranked(groups)
    rows = Rows(np.zeros((len(y), 1)), y, groups=groups)
    return rows.n_units * noisy_target_mean(rows, mu, _opened(Gaussian(mu))[0])[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_no_target_and_no_group_of_them_moves_the_sum_by_more_than_two(noiseless, dtype, size):
    rng = np.random.default_rng(0)
    others, groups = rng.uniform(-1.0, 1.0, 40), np.arange(40)
    hostile = [np.full(size, target) for target in (-1.0, 1.0, 1e30, -1e30, 1e-40, 1.0 / 3.0)]
    hostile += [rng.uniform(-9.0, 9.0, size), np.full(1 if size > 1 else 5, 1.0)]
    labels = [np.append(groups, np.full(len(own), 40)) for own in hostile]
    sums = [_target_sum(np.append(others, own).astype(dtype), label)
            for own, label in zip(hostile, labels, strict=True)]
    assert 1.999 <= np.ptp(sums) <= 2.0
    if size == 1:
        alone = [_target_sum(np.append(others, own).astype(dtype)) for own in hostile[:6]]
        assert 1.999 <= np.ptp(alone) <= 2.0


def test_the_mean_of_targets_is_exact_in_any_order_plus_noise_of_its_budget(monkeypatch):
    """False-alarm rate 1e-7: the largest of 400 normal numbers, and their mean square."""
    rng = np.random.default_rng(1)
    y, mu = rng.uniform(-2.0, 2.0, 1000), 0.25
    rows = Rows(np.zeros((1000, 1)), y)
    found = np.array([noisy_target_mean(rows, mu, Session(KeyedStream(bytes([*range(14), *divmod(
        seed, 256)])), Ledger(Gaussian(mu)))) for seed in range(400)])
    away = (found[:, 0] - np.clip(y, -1.0, 1.0).mean()) / (2.0 / mu / 1000)
    np.testing.assert_allclose(found[:, 1], 2.0 / mu / 1000)
    assert np.abs(away).max() < 7.0 and 0.65 < np.square(away).mean() < 1.42
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))
    whole = _target_sum(y)
    assert _target_sum(rng.permutation(y)) == whole
    np.testing.assert_allclose(whole, np.clip(y, -1.0, 1.0).sum(), atol=1e-5)
