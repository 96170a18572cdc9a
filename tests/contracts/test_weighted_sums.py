"""A weight is part of its row: it comes before the clip, and no weight gets around the clip."""

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models.clipping import HEADROOM
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Gradients
from dpsk._sums.linear_sums import float_sums, grid_sums
from tests.loops import in_a_row
from tests.registry import (
    every_loss,
    make_loss,
    make_model,
    make_problem,
    make_raw,
    make_targets,
    usable_clip,
)

_BITS = 30


def _float(model, loss, rows, clip_norm):
    return float_sums(model, loss, rows, clip_norm)


def _grid(model, loss, rows, clip_norm):
    return grid_sums(model, loss, rows, clip_norm, _BITS)


every_arithmetic = pytest.mark.parametrize("make_sums", [_float, _grid], ids=["float", "grid"])
intercepts = in_a_row("fit_intercept", [False, True])


def _sums(make_sums, name, X, y, weights, clip_norm=0.2, bound=np.inf, fit_intercept=True):
    model, loss = make_model(name, X.shape[1], fit_intercept), make_loss(name)
    with np.errstate(all="ignore"):
        return make_sums(model, loss, Rows(X, y, weights, bound), usable_clip(
            loss, model, clip_norm))


def _gradient(sums, theta):
    with np.errstate(all="ignore"):
        return sums.gradient(theta)


@every_loss
@every_arithmetic
@in_a_row("clip_norm", [0.05, 0.3, np.inf])
def test_a_row_is_weighted_and_then_clipped(name, make_sums, clip_norm):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), make_targets(name, 60, rng)
    weights = rng.exponential(size=60)
    weights[:5] = 0.0
    sums = _sums(make_sums, name, X, y, weights, clip_norm)
    theta = make_raw(name, 4, rng)
    expected = np.zeros(sums.model.shape)
    for row, target, weight in zip(X, y, weights, strict=True):
        entered = np.append(row * min(1.0, HEADROOM / np.linalg.norm(row)), 1.0)
        slope = sums.loss.gradient(np.array([target]), (entered @ theta)[None])[0]
        gradient = weight * np.multiply.outer(entered, slope)
        longest = sums.clip_norm * HEADROOM
        expected += gradient * min(1.0, longest / max(np.linalg.norm(gradient), 1e-300))
    atol = 60 * sums.clip_norm * (1e-10 if make_sums is _float else 2e-3)
    np.testing.assert_allclose(_gradient(sums, theta), expected, rtol=0, atol=atol)


@pytest.mark.covering(most=4)
@every_loss
@every_arithmetic
@intercepts
@in_a_row("weight", [1e-320, 1e-150, 1.0, 3e38, 1e200, 1.7e308, np.inf])
def test_no_weight_lifts_a_row_over_the_clip_norm(name, make_sums, fit_intercept, weight):
    rng = np.random.default_rng(1)
    top = np.finfo(float).max
    rows = [[0.6, 0.0, -0.8], [0.0, 0.0, 0.0], [1e-170, -1e-170, 0.0], [5e-324, 0.0, 0.0],
            [1e-160, 1e-150, 0.0], [top, -top, 1.0], [1e-8, 0.0, 0.0]]
    for row in rows:
        for target in make_targets(name, 4, rng):
            sums = _sums(make_sums, name, np.array([row]), np.array([target]),
                         np.array([weight]), fit_intercept=fit_intercept)
            for theta in (np.zeros(sums.model.shape), rng.normal(size=sums.model.shape),
                          np.full(sums.model.shape, 1e200)):
                gradient = _gradient(sums, theta)
                assert np.all(np.isfinite(gradient))
                assert np.linalg.norm(gradient) <= sums.clip_norm


@every_loss
@every_arithmetic
def test_a_row_of_weight_zero_contributes_nothing_and_still_counts(name, make_sums):
    rng = np.random.default_rng(2)
    X, y, weights = rng.normal(size=(10, 3)), make_targets(name, 10, rng), rng.random(10)
    weights[3] = 0.0
    theta = make_raw(name, 4, rng)
    with_row = _sums(make_sums, name, X, y, weights)
    kept = np.arange(10) != 3
    without = _sums(make_sums, name, X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(_gradient(with_row, theta), _gradient(without, theta), atol=1e-14)
    assert (with_row.n_samples, without.n_samples) == (10, 9)


@every_arithmetic
def test_a_product_that_is_not_finite_contributes_nothing(make_sums):
    X, y = np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]), np.array([1.0, 1.0])
    # The second row is fitted exactly: inf times 0.
    sums = _sums(make_sums, "squared", X, y, np.array([np.inf, np.inf]), fit_intercept=False)
    np.testing.assert_array_equal(_gradient(sums, np.array([0.0, 2.0, 0.0])), 0.0)


@every_loss
@every_arithmetic
def test_weights_above_the_public_bound_count_as_the_bound(name, make_sums):
    rng = np.random.default_rng(3)
    X, y, weights = rng.normal(size=(30, 3)), make_targets(name, 30, rng), 3 * rng.random(30)
    theta = make_raw(name, 4, rng)
    bounded = _sums(make_sums, name, X, y, weights, np.inf, bound=0.5)
    lowered = _sums(make_sums, name, X, y, np.minimum(weights, 0.5), np.inf)
    np.testing.assert_array_equal(_gradient(bounded, theta), _gradient(lowered, theta))
    assert bounded.smoothness == 0.5 * bounded.loss.smoothness * bounded.model.radius**2


@every_loss
@every_arithmetic
def test_replacing_a_row_and_its_weight_moves_the_sum_by_at_most_twice_the_clip_norm(
        name, make_sums):
    rng = np.random.default_rng(4)
    X, y, weights = rng.normal(size=(20, 3)), make_targets(name, 20, rng), rng.random(20)
    sums = _sums(make_sums, name, X, y, weights)
    furthest = 0.0
    for weight in (0.0, 1.0, 1e308, np.inf):
        for sign in (-1e9, 0.0, 1e-170, 1e9):
            X_other, y_other, other_weights = X.copy(), y.copy(), weights.copy()
            X_other[0], other_weights[0] = sign * np.eye(3)[0], weight
            y_other[0] = rng.choice(make_targets(name, 9, rng))
            other = _sums(make_sums, name, X_other, y_other, other_weights)
            for theta in (make_raw(name, 4, rng), np.zeros(sums.model.shape)):
                moved = _gradient(sums, theta) - _gradient(other, theta)
                furthest = max(furthest, np.linalg.norm(moved))
    assert 0.2 * sums.clip_norm < furthest <= 2 * sums.clip_norm


@pytest.mark.parametrize("z", [1.0, 1e-12], ids=["grid", "float"])
def test_the_divisor_is_the_number_of_rows_whatever_the_weights_sum_to(z):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 3)), rng.integers(2, size=40).astype(float)
    declared = Gradients(NoisySums(FullBatch(), 1), 2.0)
    answers = []
    for weights in (np.ones(40), np.r_[np.ones(20), np.zeros(20)]):
        problem = make_problem(n_samples=40, weight_bound=1.0)
        session = Session(KeyedStream(bytes(16)), Ledger(declared(z)))
        oracle = declared.run((problem, Rows(X, y, weights)), session, z)
        answers.append(oracle.gradient(np.zeros(4)))
    # The noise is the same, so the difference is that of the sums, over 40.
    half = _sums(_float, "logistic", X[20:], y[20:], None, 2.0).gradient(np.zeros(4))
    np.testing.assert_allclose(answers[0] - answers[1], half / 40, atol=1e-6)


@every_loss
def test_float32_weights_do_not_lift_a_row_over_the_clip_norm(name):
    model, loss = make_model(name, 3, False), make_loss(name)
    rng = np.random.default_rng(6)
    for size in (1e-45, 1e-38, 1e-20, 1.0, 1e38):
        for weight in (1e-45, 1.0, 3e38, np.inf):
            y = make_targets(name, 1, rng)
            X, weights = np.full((1, 3), size, np.float32), np.array([weight], np.float32)
            with np.errstate(all="ignore"):
                sums = float_sums(model, loss, Rows(X, y if y.dtype == int else y.astype("f4"),
                                                 weights, np.inf), 1e-3)
            assert np.linalg.norm(_gradient(sums, np.zeros(model.shape))) <= 1e-3


def test_a_bound_on_weights_holds_in_single_precision_too():
    for bound in (0.1, 0.3, 1 / 3, 0.7):
        weights = np.array([bound, 5.0, 0.01], np.float32)
        rows = Rows(np.zeros((3, 1), np.float32), np.zeros(3), weights, bound)
        lowered = rows.take(slice(0, 3)).weights
        assert lowered.dtype == np.float64 and np.all(lowered <= bound)
