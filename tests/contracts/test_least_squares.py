"""Noisy sums for least squares: the joint price covers every replaced row, and no more."""

import numpy as np
import pytest

from dpsk import DPLinearRegression
from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._privacy.events import Gaussian, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._queries import LeastSquares
from dpsk._queries.least_squares import LeastSquaresOracle
from dpsk.testing import NoiseSeed
from tests.contracts.streams import SilentStream

_KEY = bytes(range(16))
_MU = 0.5
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])
radii = pytest.mark.parametrize("data_norm", [1e-4, 0.7, 1.0, 3.0, 1e4])


@pytest.fixture
def noiseless(monkeypatch):
    monkeypatch.setattr(samplers, "symmetric_normal", lambda stream, shape: np.zeros(shape))
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))


def _oracle(X, y, weights=None, fit_intercept=True, data_norm=1.0, mu=_MU, stream=None):
    model = LinearModel(X.shape[1], None, fit_intercept, data_norm)
    declared = LeastSquares()
    ledger = Ledger(declared(1 / mu))
    rows = Rows(X, y, weights, np.inf)
    session = Session(stream or KeyedStream(_KEY), ledger)
    return LeastSquaresOracle(model, rows, declared, 1 / mu, session), ledger


def _sums(*args, **kwargs):
    with np.errstate(all="ignore"):
        return _oracle(*args, **kwargs)[0].moments()


def _price(one, other, radius):
    """Return the squared distance of two pairs of sums, in units of noise with t = 1."""
    matrix, vector = (a - b for a, b in zip(one, other, strict=True))
    return np.sum(matrix**2) / radius**4 + np.sum(vector**2) / radius**2


def _pairs(data_norm, rng):
    """Yield hostile rows with targets: every angle, every size, both ends of the targets."""
    for angle in np.linspace(0, 2 * np.pi, 36, endpoint=False):
        for size in (0.6, 1.0, 1e6):
            for target in (-1.0, 1.0, 0.3, 1e9):
                yield size * data_norm * np.array([np.cos(angle), np.sin(angle)]), target
    yield np.array([1e308, -1e308]), -1e308
    yield np.zeros(2), rng.normal()


def _most_expensive(data_norm, fit_intercept, weights=(None,)):
    rng = np.random.default_rng(0)
    fixed, radius, sums = rng.normal(size=2) * data_norm, None, []
    for weight in weights:
        for row, target in _pairs(data_norm, rng):
            w = None if weight is None else np.array([weight, 0.7])
            X, y = np.array([row, fixed]), np.array([target, 0.2])
            oracle, _ = _oracle(X, y, w, fit_intercept, data_norm)
            radius = oracle._model.radius
            with np.errstate(all="ignore"):
                sums.append(oracle.moments())
    matrices = np.array([matrix.ravel() for matrix, _ in sums]) / radius**2
    vectors = np.array([vector for _, vector in sums]) / radius
    points = np.hstack([matrices, vectors])
    return max(np.square(points - point).sum(axis=1).max() for point in points)


@pytest.mark.covering(most=3)
@radii
@intercepts
def test_the_joint_price_covers_every_replaced_row(noiseless, data_norm, fit_intercept):
    furthest = _most_expensive(data_norm, fit_intercept)
    assert furthest <= 4.5
    if not fit_intercept or data_norm >= 1:
        assert furthest > 0.99 * 4.5


@pytest.mark.thorough
@pytest.mark.parametrize("data_norm", [0.7, 1.0, 3.0])
@intercepts
def test_the_joint_price_covers_every_replaced_weight(noiseless, data_norm, fit_intercept):
    weights = (0.0, 1e-9, 0.5, 1.0, 4.0, 1e300)
    assert 4.4 < _most_expensive(data_norm, fit_intercept, weights) <= 4.5


def test_the_joint_price_is_the_largest_over_angles_and_is_attained(noiseless):
    cosines = np.linspace(0, 1, 100_001)
    prices = 2 * (1 - cosines**2) + 2 * (1 + cosines)
    assert prices.max() == pytest.approx(4.5) and cosines[prices.argmax()] == pytest.approx(0.5)
    rest = np.array([[0.1, 0.2]])
    ends = [_sums(np.vstack([row, rest]), np.array([target, 0.0]), fit_intercept=False)
            for row, target in [([1.0, 0.0], 1.0), ([0.5, np.sqrt(0.75)], -1.0)]]
    assert _price(*ends, 1.0) == pytest.approx(4.5, rel=1e-4)


@pytest.mark.parametrize("mu", [0.02, 0.5, 9.0])
@radii
@intercepts
def test_answers_carry_the_noise_of_the_joint_price(monkeypatch, mu, data_norm, fit_intercept):
    rng = np.random.default_rng(1)
    X, y = data_norm * rng.normal(size=(40, 3)), rng.normal(size=40)
    oracle, ledger = _oracle(X, y, None, fit_intercept, data_norm, mu)
    matrix, vector = oracle.moments()
    radius, size = oracle._model.radius, len(vector)
    tau = np.sqrt(4.5) / mu
    assert oracle.matrix_noise_std == pytest.approx(tau * radius**2)
    same = KeyedStream(_KEY)
    noise_matrix = samplers.symmetric_normal(same, (size, size))
    noise_vector = samplers.standard_normal(same, (size,))
    monkeypatch.setattr(samplers, "symmetric_normal", lambda stream, shape: np.zeros(shape))
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))
    exact = _sums(X, y, None, fit_intercept, data_norm, mu)
    if fit_intercept:
        noise_matrix[-1, -1] = 0.0
    np.testing.assert_allclose(matrix - exact[0], tau * radius**2 * noise_matrix,
                               atol=1e-6 * tau * radius**2)
    np.testing.assert_allclose(vector - exact[1], tau * radius * noise_vector,
                               atol=1e-6 * tau * radius)
    assert ledger.spent.events == (Repeated(Gaussian(mu), 1),)


@radii
@intercepts
@pytest.mark.parametrize("weighted", [False, True])
def test_exact_sums_are_those_of_bounded_rows_and_targets(
        noiseless, data_norm, fit_intercept, weighted):
    rng = np.random.default_rng(2)
    X, y = 2 * data_norm * rng.normal(size=(60, 3)), 2 * rng.normal(size=60)
    weights = 3 * rng.random(60) if weighted else None
    matrix, vector = _sums(X, y, weights, fit_intercept, data_norm)
    rows = X * np.minimum(1.0, data_norm / np.linalg.norm(X, axis=1))[:, None]
    if fit_intercept:
        rows = np.column_stack([rows, np.ones(60)])
    targets, radius = np.clip(y, -1, 1), np.hypot(data_norm, fit_intercept)
    if weighted:
        rows, targets = rows * np.sqrt(weights)[:, None], targets * np.sqrt(weights)
        rows *= np.minimum(1.0, radius / np.linalg.norm(rows, axis=1))[:, None]
        targets = np.clip(targets, -1, 1)
    # Each of both factors is truncated by less than 2^-17 of its bound.
    lost = 60 * 2.0**-16
    np.testing.assert_allclose(matrix, rows.T @ rows, rtol=0, atol=lost * radius**2)
    np.testing.assert_allclose(vector, rows.T @ targets, rtol=0, atol=lost * radius)


@radii
@intercepts
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_the_same_bits_in_any_order_and_block(
        noiseless, monkeypatch, data_norm, fit_intercept, weighted):
    rng = np.random.default_rng(3)
    X, y = data_norm * rng.normal(size=(501, 4)), rng.normal(size=501)
    weights = rng.exponential(size=501) if weighted else None
    order = rng.permutation(501)
    whole = _sums(X, y, weights, fit_intercept, data_norm)
    permuted = _sums(X[order], y[order], None if weights is None else weights[order],
                     fit_intercept, data_norm)
    monkeypatch.setattr(blocks, "_ENTRIES", 70)
    for other in (permuted, _sums(X, y, weights, fit_intercept, data_norm)):
        for one, two in zip(whole, other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_the_count_of_rows_is_public_where_nothing_is_weighted():
    X, y = np.ones((7, 2)), np.ones(7)
    assert _sums(X, y)[0][-1, -1] == 7.0
    assert _sums(X, y, np.ones(7))[0][-1, -1] != 7.0
    assert _sums(X, y, fit_intercept=False)[0][-1, -1] != 7.0


def test_the_matrix_is_symmetric():
    matrix, _ = _sums(np.random.default_rng(4).normal(size=(30, 5)), np.ones(30), mu=0.01)
    np.testing.assert_array_equal(matrix, matrix.T)


def test_nothing_is_drawn_before_the_ledger_has_agreed_and_it_agrees_once():
    oracle, _ = _oracle(np.ones((3, 2)), np.ones(3), stream=SilentStream(_KEY))
    oracle._event = Gaussian(9.0)
    with pytest.raises(RuntimeError, match="plan"):
        oracle.moments()
    oracle, _ = _oracle(np.ones((3, 2)), np.ones(3))
    oracle.moments()
    oracle._session._stream = SilentStream(_KEY)
    with pytest.raises(RuntimeError, match="plan"):
        oracle.moments()


def test_a_weight_beyond_all_numbers_leaves_the_sums_finite(noiseless):
    X, y = np.array([[0.0, 1.0], [0.5, 0.0]]), np.array([0.0, 1.0])
    for fit_intercept in (False, True):
        for answer in _sums(X, y, np.array([np.inf, 1.0]), fit_intercept):
            assert np.all(np.isfinite(answer))


def test_a_target_that_is_no_number_counts_as_zero(noiseless):
    X = np.random.default_rng(5).normal(size=(4, 2))
    for target in (np.nan, np.inf, -np.inf):
        y = np.array([0.5, target, -0.5, 1.0])
        bounded = np.array([0.5, np.nan_to_num(np.clip(target, -1, 1)), -0.5, 1.0])
        for weights in (None, np.array([1.0, 0.0, 0.5, 2.0])):
            for one, other in zip(_sums(X, y, weights), _sums(X, bounded, weights), strict=True):
                np.testing.assert_array_equal(one, other)


def test_noise_on_features_does_not_draw_the_intercept_to_the_middle():
    """As one coefficient of many it was about 14."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 10))
    model = DPLinearRegression(1.0, target_bounds=(-100, 100), data_norm=3.0,
                               solver="sufficient_statistics")
    found = [model.set_params(random_state=NoiseSeed(seed)).fit(X, np.full(500, 30.0)).intercept_
             for seed in range(20)]
    assert np.median(found) == pytest.approx(30.0, abs=4.0)
