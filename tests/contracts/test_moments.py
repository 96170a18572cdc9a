"""The noisy second moment: its sensitivity, its noise, and the map that is made of it."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._privacy.events import Gaussian, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import EntropyStream, KeyedStream
from dpsk._stages.diagonal_plus import DiagonalPlus
from dpsk._stages.thresholding import thresholded
from dpsk._stages.whitening import InverseRoot
from dpsk._statistics.moments import noisy_second_moment, second_moment_noise
from tests.contracts.streams import SilentStream

_KEY = bytes(range(16))
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])
radii = pytest.mark.parametrize("data_norm", [1e-3, 0.4, 0.99, 1.0, 1.01, 2.5, 1e4])


@pytest.fixture
def noiseless(monkeypatch):
    monkeypatch.setattr(samplers, "symmetric_normal", lambda stream, shape: np.zeros(shape))


def _opened(plan, stream=None):
    ledger = Ledger(plan)
    return Session(stream or KeyedStream(_KEY), ledger), ledger


def _answer(X, fit_intercept=True, data_norm=1.0, mu=0.5, session=None):
    model = LinearModel(X.shape[1], None, fit_intercept, data_norm)
    session = session or _opened(Gaussian(mu))[0]
    return noisy_second_moment(model, Rows(X, np.zeros(X.shape[0])), mu, session)


def _noise_std(n_features, n, fit_intercept=True, data_norm=1.0, mu=0.5):
    return second_moment_noise(LinearModel(n_features, None, fit_intercept, data_norm), n, mu)


def _sum(X, *args, **kwargs):
    with np.errstate(all="ignore"):
        return X.shape[0] * _answer(X, *args, **kwargs)


def _measured(X, fit_intercept, data_norm):
    """Return the sum as it is before noise: the constant has its measured size."""
    total = _sum(X, fit_intercept, data_norm, mu=1.0)
    if fit_intercept:
        constant = 2.0 ** np.floor(np.log2(data_norm)) / 2
        total[-1] *= constant
        total[:, -1] *= constant
    return total


def _hostile(data_norm):
    """Return rows of two features at every angle, on, inside and far beyond the bound.

    With a constant c appended, rows at the angle of cosine ``-c^2 / data_norm^2`` are the worst.
    """
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = data_norm * np.column_stack([np.cos(angles), np.sin(angles)])
    rows = [scale * circle for scale in (1.0, 0.5, 1e9)]
    constant = 2.0 ** np.floor(np.log2(data_norm)) / 2
    worst = np.arccos(-(constant / data_norm)**2)
    rows.append(data_norm * np.array([[np.cos(worst), np.sin(worst)], [0.0, 0.0]]))
    return np.vstack([*rows, [[1e308, -1e308], [5e-324, 0.0]]])


@radii
@intercepts
def test_replacing_a_row_stays_within_the_sensitivity_and_nearly_reaches_it(
        noiseless, data_norm, fit_intercept):
    claimed = 2 * _noise_std(2, 2, fit_intercept, data_norm, mu=1.0)
    fixed = data_norm * np.array([[0.3, -0.2]])
    sums = [_measured(np.vstack([row, fixed]), fit_intercept, data_norm)
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


@pytest.mark.parametrize("widths", [(1, 70), (70, 1), (70, 130)])
def test_sparse_rows_have_the_moment_of_dense_ones(noiseless, widths):
    """Of columns that are full, and of others after them that are nearly empty."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, sum(widths)))
    X[:, widths[0]:][rng.random((300, widths[1])) < 0.97] = 0.0
    np.testing.assert_allclose(_sum(sparse.csr_matrix(X)), _sum(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("data_norm, mu", [(0.3, 0.1), (1.0, 1.0), (4.0, 7.0)])
@intercepts
def test_the_answer_is_exact_plus_the_noise_of_that_budget(
        monkeypatch, data_norm, mu, fit_intercept):
    X = data_norm * np.random.default_rng(2).normal(size=(30, 3))
    session, ledger = _opened(Gaussian(mu))
    answer = _answer(X, fit_intercept, data_norm, mu, session)
    noise_std = _noise_std(3, 30, fit_intercept, data_norm, mu)
    constant = {0.3: 0.125, 1.0: 0.5, 4.0: 2.0}[data_norm] if fit_intercept else 0.0
    scale = np.sqrt(2) * (data_norm**2 + constant**2)
    assert noise_std == pytest.approx(scale / mu / 30)
    noise = samplers.symmetric_normal(KeyedStream(_KEY), answer.shape)
    monkeypatch.setattr(samplers, "symmetric_normal", lambda stream, shape: np.zeros(shape))
    surplus = answer - _sum(X, fit_intercept, data_norm, mu) / 30
    if fit_intercept:
        noise[-1] /= constant
        noise[:, -1] /= constant
        noise[-1, -1] = 0.0
    np.testing.assert_allclose(surplus, noise_std * noise, atol=1e-6 * noise_std)
    assert ledger.spent.events == (Repeated(Gaussian(mu), 1),)


def test_the_count_of_rows_is_public_and_carries_no_noise():
    for n in (2, 7, 300):
        assert _answer(np.ones((n, 2)))[-1, -1] == 1.0
    assert _answer(np.ones((7, 2)), fit_intercept=False)[-1, -1] != 1.0


def test_the_answer_is_symmetric():
    answer = _answer(np.random.default_rng(3).normal(size=(9, 6)), mu=0.01)
    np.testing.assert_array_equal(answer, answer.T)


def test_nothing_is_drawn_before_the_ledger_has_agreed_and_it_agrees_once():
    X = np.ones((3, 2))
    with pytest.raises(RuntimeError, match="plan"):
        _answer(X, session=_opened(Gaussian(0.1), SilentStream(_KEY))[0])
    session, _ = _opened(Gaussian(0.5))
    _answer(X, session=session)
    session._stream = SilentStream(_KEY)
    with pytest.raises(RuntimeError, match="plan"):
        _answer(X, session=session)


@pytest.mark.parametrize("values", [[1.0, 0.5, 0.1], [-3.0, -1.0, 2.0], [-1.0, -1.0, -1.0],
                                    [0.0, 0.0, 0.0], [1e10, 1.0, -1e-10]])
def test_whitening_is_positive_definite_for_any_noisy_moment(values):
    rng = np.random.default_rng(4)
    vectors, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    moment = (vectors * values) @ vectors.T
    root = InverseRoot.of((moment + moment.T) / 2, 0.25)
    matrix, directions, sizes = root.matrix, root.effective_rank, root.sizes
    kept = np.maximum(values, 0.0)
    # A direction counts for no more than its share above the floor, and one always does.
    assert 1.0 <= directions <= max(1.0, np.sum(kept / (kept + 0.25))) * (1 + 1e-5)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    found = np.sort(np.linalg.eigvalsh(matrix))
    np.testing.assert_allclose(np.sort(sizes), found, rtol=1e-5)
    np.testing.assert_allclose(found, np.sort((kept + 0.25)**-0.5), rtol=1e-5)
    assert found.min() > 0
    # What was in the moment above zero is levelled, down to the floor.
    raised = (vectors * (kept + 0.25)) @ vectors.T
    np.testing.assert_allclose(matrix @ raised @ matrix, np.eye(3), atol=1e-5)


@pytest.mark.parametrize("values, expected", [
    ([1e6, 1e6, 1e6], 3.0), ([1e6, 1e6, -0.1], 2.0), ([1e6, 0.0, 0.0], 1.0), ([-1.0] * 3, 1.0)])
def test_the_directions_are_those_well_above_the_floor(values, expected):
    directions = InverseRoot.of(np.diag(values), 0.25).effective_rank
    assert directions == pytest.approx(expected, rel=1e-5)


@intercepts
def test_thresholding_drops_what_noise_explains_and_keeps_what_it_does_not(fit_intercept):
    """Over twenty draws: the mean of shares of the noise, .61 each give or take .08, is below .8
    but with a chance below 1e-9, and the covariance of 5 is 24 deviations of its noise."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4000, 30)) * np.linspace(0.5, 2.0, 30) + fit_intercept
    X[:, 1] += 20.0 * X[:, 0]
    rows = np.column_stack([X, np.ones(4000)]) if fit_intercept else X
    exact = rows.T @ rows / 4000
    left = []
    for _ in range(20):
        noise = samplers.symmetric_normal(EntropyStream(), exact.shape)
        if fit_intercept:
            noise[-1] = noise[:, -1] = 0.0
        noisy = exact + 0.3 * noise
        result = thresholded(noisy, 0.3, fit_intercept)
        found = result.moment
        np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-12)
        # A tenth of the pairs that are kept may be noise, and one is not: over 20 never are.
        assert 1.0 <= result.entries < 1.0 + 2 * 20 / 30 + 2 / 30
        assert abs(found[0, 1] - exact[0, 1]) < 1.5
        left.append(np.linalg.norm(found - exact, 2) / np.linalg.norm(noisy - exact, 2))
    assert np.mean(left) < 0.8


def test_thresholding_leaves_an_exact_moment_and_the_means_as_they_are():
    rng = np.random.default_rng(6)
    rows = np.column_stack([rng.normal(size=(50, 4)), np.ones(50)])
    moment = rows.T @ rows / 50
    found = thresholded(moment, 0.0, True)
    np.testing.assert_allclose(found.moment, moment, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.covariance, np.cov(rows[:, :-1].T, bias=True), rtol=1e-10)
    assert found.entries == pytest.approx((16 + 1) / 5) and found.noise_share == 1.0
    np.testing.assert_array_equal(thresholded(moment, 9.0, True).moment[-1], moment[-1])


def test_a_direction_that_no_pair_of_columns_shows_is_found():
    size, noise_std = 200, 1.0
    edge = noise_std * np.sqrt(2 * size)
    shared = np.full(size, size**-0.5)
    exact = np.eye(size) + 2.0 * edge * np.outer(shared, shared)
    # An entry of it is a third of a deviation of the noise beside it.
    noisy = exact + noise_std * samplers.symmetric_normal(KeyedStream(_KEY), exact.shape)
    found = thresholded(noisy, noise_std, False).moment
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    # The squared cosine is 15/16 on average, and that times the size is kept: .90, give or take
    # .03. The share of the noise is .55, give or take .04, and 1.4 where nothing is found.
    assert shared @ found @ shared == pytest.approx(2.0 * edge, rel=0.3)
    assert np.linalg.norm(found - exact, 2) < 0.9 * np.linalg.norm(noisy - exact, 2)


def test_noise_alone_keeps_few_covariances():
    # Each passes either test by chance in one of ten draws; over 25 of 60 never (1e-9).
    kept = 0
    for seed in range(60):
        stream = KeyedStream(seed.to_bytes(16, "little"))
        result = thresholded(samplers.symmetric_normal(stream, (30, 30)), 1.0, False)
        found = result.moment
        # Three pairs are kept in one of 300 draws, and each further one is several times rarer.
        kept += np.count_nonzero(found - np.diag(np.diag(found))) > 0
        assert result.entries < 1.0 + 2 * 20 / 30
    assert kept <= 25


def test_thresholding_makes_no_variance_negative():
    moment = np.diag([-1.0, 0.5, 1.0])
    assert np.diag(thresholded(moment, 0.1, True).moment).min() == 0.0


@pytest.mark.parametrize("apart, share", [(0.0, 0.3), (1.0, 0.85), (10.0, 1.1)])
def test_variances_keep_as_much_of_their_differences_as_is_no_noise(apart, share):
    """Of 400 columns. Fails with probability below 1e-7: mean squares vary by 7 %."""
    size = 400
    exact = 20.0 + apart * np.where(np.arange(size) % 2, 1.0, -1.0)
    noise = np.diag(samplers.symmetric_normal(EntropyStream(), (size, size)))
    found = thresholded(np.diag(exact + noise), 1.0, False)
    off = np.square(np.diag(found.moment) - exact).mean() / np.square(noise).mean()
    assert off < share
    # As much of their own noise is left in them.
    assert found.noise_share**2 == pytest.approx(off, abs=0.25)


def _dense(moment):
    return np.diag(moment.diagonal) + moment.factors @ moment.factors.T


@pytest.mark.parametrize("k, alike", [(0, True), (1, True), (6, True), (3, False)])
def test_parts_have_the_eigenvalues_and_the_inverse_of_the_whole(k, alike):
    rng, size, floor = np.random.default_rng(5), 95, 0.02
    diagonal = np.full(size, 0.3) if alike else rng.uniform(0.0, 1.0, size)
    diagonal[-1] = 0.0
    moment = DiagonalPlus(diagonal, rng.normal(size=(size, k)) * np.geomspace(0.1, 2.0, k))
    whole, found = _dense(moment), moment.eigen()
    assert (found is not None) == alike
    if alike:
        values, vectors = found
        np.testing.assert_allclose((vectors * values) @ vectors.T, whole, atol=1e-12)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-12)
    sizes, directions = moment.inverse(floor)
    np.testing.assert_allclose(np.diag(sizes**2) - directions @ directions.T,
                               np.linalg.inv(whole + floor * np.eye(size)), atol=1e-9)
    roots = [InverseRoot.of(whole, floor, 1.0, each).matrix for each in (None, moment)]
    np.testing.assert_allclose(*roots, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("pairs", [0, 2, 40])
def test_parts_of_a_thresholded_moment_are_that_moment(intercept, pairs):
    rng, size = np.random.default_rng(6), 95
    rows = rng.normal(size=(4000, size)) + 0.2 * intercept * rng.normal(size=size)
    rows[:, :pairs] += 2.0 * rows[:, pairs:2 * pairs]
    rows = np.column_stack([rows, np.ones((4000, int(intercept)))])
    noise = samplers.symmetric_normal(KeyedStream(_KEY), (size + intercept,) * 2)
    if intercept:
        noise[-1, -1] = 0.0
    found = thresholded(rows.T @ rows / 4000 + 0.1 * noise, 0.1, intercept)
    assert np.count_nonzero(found.covariance) >= size + 2 * pairs
    if pairs == 40:
        assert found.parts is None
    else:
        np.testing.assert_allclose(_dense(found.parts), found.moment, atol=1e-12)
