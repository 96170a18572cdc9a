"""The noisy second moment: its sensitivity, its noise, and the map that is made of it."""

import itertools

import numpy as np
import pytest

from dpsk._models import LinearModel
from dpsk._oracle import MomentOracle, moments, whitening
from dpsk._privacy.events import Gaussian, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.sampling import KeyedStream
from dpsk._utils import blocks

_KEY = bytes(range(16))
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])
radii = pytest.mark.parametrize("data_norm", [1e-3, 0.4, 0.99, 1.0, 1.01, 2.5, 1e4])


class _Silent(KeyedStream):
    """A stream that fails when something is drawn from it."""

    def words(self, count):
        raise AssertionError("drawn")


@pytest.fixture
def noiseless(monkeypatch):
    monkeypatch.setattr(moments, "symmetric_noise", lambda stream, size, std: 0.0)


def _oracle(X, fit_intercept=True, data_norm=1.0, mu=0.5, plan=None, stream=None):
    model = LinearModel(X.shape[1], None, fit_intercept, data_norm)
    ledger = Ledger(plan or Gaussian(mu))
    return MomentOracle(model, X, mu, stream or KeyedStream(_KEY), ledger), ledger


def _sum(X, *args, **kwargs):
    with np.errstate(all="ignore"):
        return len(X) * _oracle(X, *args, **kwargs)[0].second_moment()


def _hostile(data_norm):
    """Return rows of two features at every angle, on, inside and far beyond the bound."""
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = data_norm * np.column_stack([np.cos(angles), np.sin(angles)])
    rows = [scale * circle for scale in (1.0, 0.5, 1e9)]
    # The angle at which rows of a constant and more than it are orthogonal.
    worst = np.arccos(-1 / max(1.0, data_norm**2))
    rows.append(data_norm * np.array([[np.cos(worst), np.sin(worst)], [0.0, 0.0]]))
    return np.vstack([*rows, [[1e308, -1e308], [5e-324, 0.0]]])


@radii
@intercepts
def test_replacing_a_row_stays_within_the_sensitivity_and_nearly_reaches_it(
        noiseless, data_norm, fit_intercept):
    claimed = _oracle(np.zeros((2, 2)), fit_intercept, data_norm, mu=1.0)[0].noise_std * 2
    fixed = data_norm * np.array([[0.3, -0.2]])
    sums = [_sum(np.vstack([row, fixed]), fit_intercept, data_norm, mu=1.0)
            for row in _hostile(data_norm)]
    furthest = max(np.linalg.norm(one - other)
                   for one, other in itertools.combinations(sums, 2))
    assert 0.999 * claimed <= furthest <= claimed


@intercepts
def test_the_exact_moment_is_that_of_the_entering_rows(noiseless, fit_intercept):
    X = 2 * np.random.default_rng(0).normal(size=(50, 3))
    entered = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    if fit_intercept:
        entered = np.column_stack([entered, np.ones(50)])
    np.testing.assert_allclose(_sum(X, fit_intercept), entered.T @ entered, atol=1e-3)


@intercepts
@pytest.mark.parametrize("data_norm", [1e-3, 1.0, 50.0])
def test_sums_are_the_same_bits_in_any_order_and_block(
        noiseless, monkeypatch, fit_intercept, data_norm):
    rng = np.random.default_rng(1)
    X = 2 * data_norm * rng.normal(size=(1000, 5))
    whole = _sum(X, fit_intercept, data_norm)
    np.testing.assert_array_equal(_sum(X[rng.permutation(1000)], fit_intercept, data_norm), whole)
    monkeypatch.setattr(blocks, "_ENTRIES", 70)
    np.testing.assert_array_equal(_sum(X, fit_intercept, data_norm), whole)


@pytest.mark.parametrize("data_norm, mu", [(0.3, 0.1), (1.0, 1.0), (4.0, 7.0)])
@intercepts
def test_the_answer_is_exact_plus_the_noise_of_that_budget(
        monkeypatch, data_norm, mu, fit_intercept):
    X = data_norm * np.random.default_rng(2).normal(size=(30, 3))
    oracle, ledger = _oracle(X, fit_intercept, data_norm, mu)
    answer = oracle.second_moment()
    r = np.hypot(data_norm, 1.0) if fit_intercept else data_norm
    scale = np.sqrt(2) * r**2 if data_norm >= 1 or not fit_intercept else np.sqrt(8) * data_norm
    assert oracle.noise_std == pytest.approx(scale / mu / 30)
    noise = moments.symmetric_noise(KeyedStream(_KEY), oracle.size, 2.0**40) / 2.0**40
    monkeypatch.setattr(moments, "symmetric_noise", lambda stream, size, std: 0.0)
    surplus = answer - _sum(X, fit_intercept, data_norm, mu) / 30
    if fit_intercept:
        noise[-1, -1] = 0.0
    np.testing.assert_allclose(surplus, oracle.noise_std * noise, atol=1e-6 * oracle.noise_std)
    assert ledger.spent.events == (Repeated(Gaussian(mu), 1),)


def test_the_count_of_rows_is_public_and_carries_no_noise():
    for n in (2, 7, 300):
        assert _oracle(np.ones((n, 2)))[0].second_moment()[-1, -1] == 1.0
    assert _oracle(np.ones((7, 2)), fit_intercept=False)[0].second_moment()[-1, -1] != 1.0


def test_the_answer_is_symmetric():
    answer = _oracle(np.random.default_rng(3).normal(size=(9, 6)), mu=0.01)[0].second_moment()
    np.testing.assert_array_equal(answer, answer.T)


def test_nothing_is_drawn_before_the_ledger_has_agreed_and_it_agrees_once():
    oracle, _ = _oracle(np.ones((3, 2)), plan=Gaussian(0.1), stream=_Silent(_KEY))
    with pytest.raises(RuntimeError, match="plan"):
        oracle.second_moment()
    oracle, _ = _oracle(np.ones((3, 2)))
    oracle.second_moment()
    oracle._stream = _Silent(_KEY)
    with pytest.raises(RuntimeError, match="plan"):
        oracle.second_moment()


@pytest.mark.parametrize("values", [[1.0, 0.5, 0.1], [-3.0, -1.0, 2.0], [-1.0, -1.0, -1.0],
                                    [0.0, 0.0, 0.0], [1e10, 1.0, -1e-10]])
def test_whitening_is_positive_definite_for_any_noisy_moment(values):
    rng = np.random.default_rng(4)
    vectors, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    moment = (vectors * values) @ vectors.T
    matrix, directions = whitening((moment + moment.T) / 2, 0.25)
    kept = np.maximum(values, 0.0)
    # A direction counts for no more than its share above the floor, and one always does.
    assert 1.0 <= directions <= max(1.0, np.sum(kept / (kept + 0.25))) * (1 + 1e-5)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    found = np.sort(np.linalg.eigvalsh(matrix))
    np.testing.assert_allclose(found, np.sort((kept + 0.25)**-0.5), rtol=1e-5)
    assert found.min() > 0
    # What was in the moment above zero is levelled, down to the floor.
    raised = (vectors * (kept + 0.25)) @ vectors.T
    np.testing.assert_allclose(matrix @ raised @ matrix, np.eye(3), atol=1e-5)


@pytest.mark.parametrize("values, expected", [
    ([1e6, 1e6, 1e6], 3.0), ([1e6, 1e6, -0.1], 2.0), ([1e6, 0.0, 0.0], 1.0), ([-1.0] * 3, 1.0)])
def test_the_directions_are_those_well_above_the_floor(values, expected):
    _, directions = whitening(np.diag(values), 0.25)
    assert directions == pytest.approx(expected, rel=1e-5)
