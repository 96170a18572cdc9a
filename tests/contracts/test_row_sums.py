"""One row never moves the clipped sum by more than twice the clip norm, whatever it holds."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from dpsk._data.source import Rows
from dpsk._models import LinearModel
from dpsk._models.clipping import HEADROOM
from dpsk._objective.losses import OneVsRest, Squared, SquaredHinge
from dpsk._sums import float_entry
from dpsk._sums.linear_sums import float_sums, grid_sums, max_norm_sums
from tests.loops import in_a_row
from tests.registry import (
    every_loss,
    make_loss,
    make_model,
    make_raw,
    make_targets,
    usable_clip,
)

dtypes = in_a_row("dtype", ["float32", "float64"])
# Well below the bound that loss and rows imply, just below it, and far above.
clips = in_a_row("clip_norm", [1e-3, 0.2, np.inf])


def _sums(name, X, y, clip_norm, fit_intercept=True):
    model, loss = make_model(name, X.shape[1], fit_intercept), make_loss(name)
    clip_norm = usable_clip(loss, model, clip_norm)
    with np.errstate(all="ignore"):
        return float_sums(model, loss, Rows(X, y), clip_norm)


def _gradient(sums, theta, rows=None):
    # As inside a fit, where no floating-point warning may depend on the rows.
    with np.errstate(all="ignore"):
        return sums.gradient(theta, rows)


def _explicit(sums, X, y, theta):
    """Clip every row's gradient by itself, in float64."""
    model, total = sums.model, np.zeros(sums.model.shape)
    for row, target in zip(X.astype(float), y, strict=True):
        row = row * min(1.0, model.data_norm * HEADROOM / max(np.linalg.norm(row), 1e-300))
        entered = np.append(row, [1.0] * model.fit_intercept)
        z = np.atleast_1d(entered @ theta) if theta.ndim == 1 else (entered @ theta)[None]
        slope = sums.loss.gradient(np.atleast_1d(target), z)[0]
        gradient = np.multiply.outer(entered, slope)
        longest = sums.clip_norm * HEADROOM
        total += gradient * min(1.0, longest / max(np.linalg.norm(gradient), 1e-300))
    return total


def _thetas(model):
    rng = np.random.default_rng(5)
    start = rng.normal(size=model.shape)
    broken = start.copy()
    broken[0] = np.nan
    return [np.zeros(model.shape), start, 1e3 * start, 1e200 * start, 1e308 * np.sign(start),
            np.full(model.shape, np.inf), -np.full(model.shape, np.inf), broken,
            np.full(model.shape, np.nan)]


def _hostile_rows(n_features, dtype):
    top = float(np.finfo(dtype).max)
    return np.array([
        np.zeros(n_features), np.eye(n_features)[0], -np.eye(n_features)[0],
        np.full(n_features, top), np.full(n_features, -top), top * np.eye(n_features)[-1],
        np.full(n_features, np.sqrt(top)), np.full(n_features, np.finfo(dtype).tiny),
        top * (-1.0)**np.arange(n_features), 1e30 * np.eye(n_features)[1],
    ]).astype(dtype)


@every_loss
@dtypes
@clips
def test_equals_clipping_every_row_by_itself(name, dtype, clip_norm):
    rng = np.random.default_rng(0)
    X = (2 * rng.normal(size=(60, 3))).astype(dtype)
    y = make_targets(name, 60, rng)
    y = y.astype(dtype) if y.dtype == float else y
    sums = _sums(name, X, y, clip_norm)
    theta = make_raw(name, sums.model.shape[0], rng)
    np.testing.assert_allclose(_gradient(sums, theta), _explicit(sums, X, y, theta), rtol=0,
                               atol=60 * sums.clip_norm * 1e-10)


@every_loss
@clips
def test_clips_exactly_where_the_bound_is_below_what_the_loss_implies(name, clip_norm):
    rng = np.random.default_rng(0)
    sums = _sums(name, rng.normal(size=(5, 3)), make_targets(name, 5, rng), clip_norm)
    bounded = np.isfinite(sums.loss.lipschitz)
    assert sums.clips == (not bounded or clip_norm < sums.loss.lipschitz * sums.model.radius)


@pytest.mark.covering(most=4)
@every_loss
@dtypes
@clips
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_single_row_never_exceeds_the_clip_norm(name, dtype, clip_norm, fit_intercept):
    for row in _hostile_rows(3, dtype):
        for target in make_targets(name, 6, np.random.default_rng(1)):
            y = np.array([target]).astype(int if make_loss(name).vector_output else dtype)
            sums = _sums(name, row[None], y, clip_norm, fit_intercept)
            for theta in _thetas(sums.model):
                gradient = _gradient(sums, theta)
                assert np.all(np.isfinite(gradient))
                assert np.linalg.norm(gradient) <= sums.clip_norm


@pytest.mark.thorough
@every_loss
@dtypes
@pytest.mark.parametrize("clip_norm", [1e-10, 1e-7, 1e-4])
def test_products_that_underflow_do_not_break_the_bound(name, dtype, clip_norm):
    info = np.finfo(dtype)
    # From where factors of rows are ordinary to where they are no longer normal numbers.
    for size in np.geomspace(1.0, float(info.max) / 4, 301):
        X = np.array([[size, 0.0, 0.0]], dtype=dtype)
        y = make_targets(name, 1, np.random.default_rng(0))
        sums = _sums(name, X, y.astype(dtype) if y.dtype == float else y, clip_norm, False)
        for weight in (0.0, 1.0, -1.0):
            theta = np.full(sums.model.shape, weight)
            theta[0] *= np.arange(1, 1 + theta[0].size).reshape(theta[0].shape)
            assert np.linalg.norm(_gradient(sums, theta)) <= sums.clip_norm


@pytest.mark.covering(most=4)
@every_loss
@dtypes
@clips
def test_replacing_one_row_moves_the_sum_by_at_most_twice_the_clip_norm(name, dtype, clip_norm):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3)).astype(dtype)
    y = make_targets(name, 40, rng)
    y = y.astype(dtype) if y.dtype == float else y
    furthest = 0.0
    for row in _hostile_rows(3, dtype):
        for target in (y.min(), y.max()):
            X_other, y_other = X.copy(), y.copy()
            X_other[0], y_other[0] = row, target
            sums = _sums(name, X, y, clip_norm)
            other = _sums(name, X_other, y_other, clip_norm)
            for theta in _thetas(sums.model):
                moved = np.linalg.norm(_gradient(sums, theta) - _gradient(other, theta))
                furthest = max(furthest, moved)
    assert 0.2 * sums.clip_norm < furthest <= 2 * sums.clip_norm


@every_loss
@clips
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_rows_of_single_precision_are_summed_in_double_precision(name, clip_norm, container):
    rng = np.random.default_rng(7)
    X, y = (2 * rng.normal(size=(60, 3))).astype("float32"), make_targets(name, 60, rng)
    single = _sums(name, container(X), y, clip_norm)
    double = _sums(name, container(X.astype(float)), y, clip_norm)
    theta = make_raw(name, single.model.shape[0], rng)
    for rows in (None, np.arange(0, 60, 7)):
        np.testing.assert_allclose(_gradient(single, theta, rows), _gradient(double, theta, rows),
                                   rtol=0, atol=60 * single.clip_norm * 1e-14)


def _rounded_away(n, power):
    """Return rows whose sums at 0 reach a power of two, then get shares far below its last bit.

    Summed one by one in single precision, with the first row turned round every share is
    lost, and without it every share counts as a whole unit of the last place.
    """
    X = np.zeros((n, 2), np.float32)
    reach = 2 ** (power + 2)
    X[:reach, 0] = 0.5
    X[reach:, 0] = -0.6 * 2.0 ** (power - 1 - 23) * 2.0
    X[0, 0] = 0.99
    other = X.copy()
    other[0, 0] = -0.99
    return X, other


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("power", [10, 12, 14])
def test_a_replaced_row_does_not_change_how_the_rows_after_it_are_rounded(container, power):
    tables, clip_norm = _rounded_away(2**17, power), 0.5
    # The loss's slope at 0 is one half for every row: what float32 would make of it.
    naive = [np.cumsum(0.5 * X[:, 0], dtype=np.float32)[-1] for X in tables]
    assert abs(naive[0] - naive[1]) > 2 * 2 * clip_norm
    y, theta = np.zeros(2**17, np.float32), np.zeros(2)
    one, other = (_gradient(_sums("logistic", container(X), y, clip_norm, fit_intercept=False),
                            theta) for X in tables)
    assert np.linalg.norm(one - other) <= 2 * clip_norm
    assert np.linalg.norm(one - other) == pytest.approx(0.99)


@dataclass(frozen=True)
class _Lying(Squared):
    """The squared loss, which claims the bounds of a loss that has some."""

    lipschitz = 1.0


def _plain(model, loss, rows, clip_norm):
    return float_sums(model, loss, rows, clip_norm)


def _grid(model, loss, rows, clip_norm):
    return grid_sums(model, loss, rows, clip_norm, 30)


@pytest.mark.covering
@dtypes
@pytest.mark.parametrize("make_sums", [_plain, _grid], ids=["float", "grid"])
@pytest.mark.parametrize("weight", [None, 1.0, 1e9])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_clip_holds_whatever_a_loss_claims_of_its_slope(
        dtype, make_sums, weight, fit_intercept):
    model, rng = LinearModel(3, None, fit_intercept, 1.0), np.random.default_rng(8)
    clip_norm, longest = usable_clip(_Lying(), model), 0.0
    weights = None if weight is None else np.array([weight], dtype)
    for row in _hostile_rows(3, dtype):
        for target in (0.0, 1.0, -1e6, 1e30):
            with np.errstate(all="ignore"):
                sums = make_sums(model, _Lying(), Rows(row[None], np.array([target], dtype),
                                                       weights), clip_norm)
            for theta in [*_thetas(model), 1e6 * rng.normal(size=model.shape)]:
                gradient = _gradient(sums, theta)
                assert np.all(np.isfinite(gradient))
                longest = max(longest, np.linalg.norm(gradient))
    # By its claims nothing would be clipped.
    assert not sums.clips
    assert 0.99 * clip_norm < longest <= clip_norm


def test_the_clip_norm_of_sums_cannot_be_changed():
    sums = _sums("logistic", np.eye(3), np.zeros(3), 0.2)
    with pytest.raises(AttributeError):
        sums.clip_norm = 5.0
    with pytest.raises(AttributeError):
        sums.clips = False
    assert sums.clip_norm == 0.2 and sums.clips


def test_twice_the_clip_norm_is_attained():
    X = np.array([[1.0, 0.0]] * 2)
    for clip_norm in (0.25, np.inf):
        ends = [_sums("logistic", X, np.array([0.0, target]), clip_norm, fit_intercept=False)
                for target in (0.0, 1.0)]
        if np.isinf(clip_norm):
            # Only a saturated prediction reaches the slope 1, and then on one side.
            moved = [_gradient(sums, np.array([50.0, 0.0])) for sums in ends]
            assert np.linalg.norm(moved[0] - moved[1]) == pytest.approx(1.0)
        else:
            moved = [_gradient(sums, np.zeros(2)) for sums in ends]
            assert np.linalg.norm(moved[0] - moved[1]) == pytest.approx(2 * clip_norm)


@every_loss
def test_a_row_that_makes_nan_inside_enters_as_zero(name):
    # inf * 0: the coefficient overflows on the first feature, which the second row lacks.
    X = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.0]])
    y = make_targets(name, 2, np.random.default_rng(0))
    sums = _sums(name, X, y, np.inf)
    theta = np.zeros(sums.model.shape)
    theta[0], theta[1] = np.inf, -np.inf
    gradient = _gradient(sums, theta)
    assert np.all(np.isfinite(gradient))
    assert np.linalg.norm(gradient) <= 2 * sums.clip_norm


@every_loss
@clips
def test_blocks_of_rows_add_up_to_the_same_sum(name, clip_norm, monkeypatch):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(101, 3)), make_targets(name, 101, rng)
    whole = _sums(name, X, y, clip_norm)
    monkeypatch.setattr(float_entry, "_BLOCK_BYTES", 8 * 3 * 10)
    blocks = _sums(name, X, y, clip_norm)
    theta, chosen = rng.normal(size=whole.model.shape), rng.permutation(101)[:47]
    for rows in (None, chosen, chosen[:0]):
        np.testing.assert_allclose(_gradient(blocks, theta, rows), _gradient(whole, theta, rows),
                                   atol=1e-12)


@every_loss
@clips
def test_a_batch_is_the_sum_over_its_rows_alone(name, clip_norm):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(50, 3)), make_targets(name, 50, rng)
    sums = _sums(name, X, y, clip_norm)
    rows = np.array([3, 8, 9, 40])
    theta = rng.normal(size=sums.model.shape)
    part = _sums(name, X[rows], y[rows], clip_norm)
    np.testing.assert_allclose(_gradient(sums, theta, rows), _gradient(part, theta), atol=1e-13)
    np.testing.assert_array_equal(_gradient(sums, theta, rows[:0]), 0.0)


@dtypes
def test_no_array_of_the_size_of_the_rows_is_made(dtype, monkeypatch):
    # A block is converted to double precision at a time: here one sixteenth of the rows at most.
    monkeypatch.setattr(float_entry, "_BLOCK_BYTES", 1 << 19)
    rng = np.random.default_rng(6)
    X = rng.normal(size=(20_000, 100)).astype(dtype)
    X_before, y = X.copy(), rng.integers(2, size=len(X)).astype(dtype)
    sums = _sums("logistic", X, y, 0.2)
    theta = rng.normal(size=101)
    tracemalloc.start()
    try:
        _gradient(_sums("logistic", X, y, 0.2), theta)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.25 * X.nbytes
    np.testing.assert_array_equal(X, X_before)
    assert sums.n_samples == 20_000


@every_loss
@pytest.mark.parametrize("clip_norm", [1e-100, 1e-160, 1e-200, 1e-290])
def test_a_clip_norm_whose_square_underflows_holds_too(name, clip_norm):
    model, loss = make_model(name, 2, False), make_loss(name)
    y = make_targets(name, 1, np.random.default_rng(0))
    weights = np.array([clip_norm])
    rows = Rows(np.array([[1.0, 0.0]]), y, weights, np.inf)
    sums = float_sums(model, loss, rows, 0.1 * clip_norm)
    for theta in 50.0 * np.array([np.eye(3), -np.eye(3)]).reshape(6, 3):
        point = np.outer([1.0, 0.0], theta) if loss.vector_output else theta[:2]
        assert np.linalg.norm(_gradient(sums, point) / clip_norm) <= 0.1


@pytest.mark.parametrize("cls, order", [(float_sums, 1), (float_sums, 2), (max_norm_sums, 2)])
def test_a_clip_by_a_factor_of_few_bits_holds_too(cls, order):
    model, loss = LinearModel(1, 3, False, 1e10), OneVsRest(SquaredHinge(), 3)
    sums = cls(model, loss, Rows(np.array([[1e10]]), np.array([0])), 1e-10, order)
    # The factors run down to below the smallest number.
    for size in np.geomspace(1e270, 1e297, 400):
        gradient = _gradient(sums, np.array([[0.0, size, 0.0]]))
        assert np.abs(gradient).sum() <= 1e-10
