"""Saddle losses and the clipped sums over them: derivatives, sets, and enforced clips."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from dpsk._data.source import Rows
from dpsk._models import MLP, LinearModel
from dpsk._objective.losses import Logistic
from dpsk._objective.saddle.auc_square import AUCSquare
from dpsk._objective.saddle.base import Interval, Simplex
from dpsk._objective.saddle.group_risk import GroupRisk
from dpsk._sums.saddle_sums import SaddleSums

LOSSES = {"auc": AUCSquare(0.3), "groups": GroupRisk(Logistic(), (0.5, 0.3, 0.2), 0.1, 10.0)}
MODELS = {"linear": LinearModel(3, None, True, 2.0), "mlp": MLP(3, (5,), None, "tanh"),
          "relu": MLP(3, (5,), None, "relu"), "centered": MLP(3, (16,), None, "relu")}
every_loss = pytest.mark.parametrize("name", sorted(LOSSES))
every_model = pytest.mark.parametrize("kind", sorted(MODELS))


def make(name, kind="linear", n=60, seed=0):
    rng = np.random.default_rng(seed)
    loss, model = LOSSES[name], MODELS[kind]
    X = rng.normal(size=(n, 3))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1) / 2)[:, None]
    y = rng.integers(2, size=n).astype(float)
    if name == "groups":
        y = np.column_stack([y, rng.integers(3, size=n)])
    primal = rng.normal(size=model.dimension + loss.n_extra)
    return loss, model, Rows(X.astype(np.float32) if kind != "linear" else X, y), primal, \
        loss.dual_set.project(rng.random(loss.dual_set.size))


@every_loss
def test_derivatives_are_those_of_the_value(name):
    loss, _, rows, primal, dual = make(name)
    rng = np.random.default_rng(3)
    z, extra = rng.normal(size=len(rows)), primal[len(primal) - loss.n_extra:]
    dz, d_extra, d_dual = loss.gradients(rows.y, z, extra, dual)
    h = 1e-6
    slope = (loss.value(rows.y, z + h, extra, dual) - loss.value(rows.y, z - h, extra, dual))
    np.testing.assert_allclose(dz, slope / (2 * h), atol=1e-6)
    for derivative, place in ((d_extra, "extra"), (d_dual * loss.dual_set.unit, "dual")):
        for j in range(derivative.shape[1]):
            ends = []
            for sign in (1, -1):
                point = {"extra": extra.copy(), "dual": dual.copy()}
                point[place][j] += sign * h
                ends.append(loss.value(rows.y, z, point["extra"], point["dual"]))
            np.testing.assert_allclose(derivative[:, j], (ends[0] - ends[1]) / (2 * h), atol=1e-6)


def test_the_surrogate_is_the_mean_square_over_pairs():
    rng = np.random.default_rng(0)
    y = (np.arange(50) < 15).astype(float)
    z = rng.normal(size=50)
    positive, negative = z[y == 1], z[y == 0]
    loss = AUCSquare(0.3)
    extra = np.array([positive.mean(), negative.mean()])
    dual = np.array([negative.mean() - positive.mean()])
    saddle = loss.value(y, z, extra, dual).mean() - dual[0]**2
    pairs = np.square(1 - positive[:, None] + negative).mean()
    assert saddle + 1 == pytest.approx(pairs)


@pytest.mark.parametrize("seed", range(5))
def test_the_simplex_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    y = 3 * rng.normal(size=6)
    found = Simplex((1 / 6,) * 6, 0.0).project(y)
    assert found.sum() == pytest.approx(1) and found.min() >= 0
    others = rng.dirichlet(np.ones(6), size=500)
    # The variational inequality of a projection.
    assert np.all((others - found) @ (y - found) <= 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_to_capped_weights_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    first = rng.dirichlet(np.ones(6))
    y, most = 3 * rng.normal(size=6), np.minimum(1.7 * first, 1.0)
    found = Simplex(tuple(first), 0.0, tuple(most)).project(y)
    assert found.sum() == pytest.approx(1) and np.all((found >= 0) & (found <= most))
    # From the start, as far as the caps allow towards points of the simplex.
    moves = rng.dirichlet(np.ones(6), size=500) - first
    room = np.where(moves > 0, (most - first) / np.maximum(moves, 1e-300), np.inf).min(axis=1)
    others = first + np.minimum(room, 1.0)[:, None] * moves
    assert np.all((others - found) @ (y - found) <= 1e-12)


@pytest.mark.parametrize("point", [[1e300, -1e300, 0.0], [1e20, 1e20, 1.0], [0.0] * 3,
                                   [-1e17] * 3])
def test_the_simplex_projection_of_far_points_is_on_the_simplex(point):
    found = Simplex((1 / 3,) * 3, 0.0).project(np.array(point))
    assert found.sum() == pytest.approx(1) and found.min() >= 0


def test_the_interval_projection_clips():
    np.testing.assert_array_equal(Interval(2.0, 1.0).project(np.array([-5.0])), [-2.0])


@every_model
@every_loss
def test_blocks_of_one_row_stay_within_their_clips(name, kind):
    loss, model, rows, primal, dual = make(name, kind)
    rows.X[:5] *= 1e15
    for i in range(len(rows)):
        one = Rows(rows.X[i:i + 1], rows.y[i:i + 1])
        with np.errstate(all="ignore"):
            first, second = SaddleSums(model, loss, one, 0.2, 0.1).gradients(primal, dual)
        assert np.linalg.norm(first) <= 0.2 * loss.largest_weight(dual)
        assert np.linalg.norm(second) <= 0.1


def test_the_clip_of_a_group_is_in_proportion_to_its_weight():
    """The direction of a clipped sum is that of clipped losses under the weights of groups."""
    loss, model, rows, primal, _ = make("groups")
    dual = np.array([0.05, 0.15, 0.8])
    parts = []
    for group in range(3):
        chosen = rows.y[:, 1] == group
        part = Rows(rows.X[chosen], rows.y[chosen])
        even = SaddleSums(model, loss, part, 0.2, 0.1).gradients(primal, np.array(loss.shares))[0]
        found = SaddleSums(model, loss, part, 0.2, 0.1).gradients(primal, dual)[0]
        np.testing.assert_allclose(found, dual[group] / loss.shares[group] * even, rtol=1e-12)
        parts.append(found)
    whole = SaddleSums(model, loss, rows, 0.2, 0.1)
    np.testing.assert_allclose(whole.gradients(primal, dual)[0], sum(parts), rtol=1e-12)
    assert whole.primal_bound(dual) == pytest.approx(0.2 * 0.8 / 0.2)


@every_model
@every_loss
def test_wide_clips_leave_the_plain_sums(name, kind):
    loss, model, rows, primal, dual = make(name, kind)
    first, second = SaddleSums(model, loss, rows, 1e6, 1e6).gradients(primal, dual)
    direction = np.random.default_rng(4).normal(size=primal.shape)
    h = 1e-5 if kind == "linear" else 1e-3

    def total(point, y):
        theta = point[:model.dimension]
        raw = (model.predict_raw(theta, rows.X) if model.is_linear
               else model.forward(theta, rows.X).raw.astype(float))
        return loss.value(rows.y, raw, point[model.dimension:], y).sum()

    slope = (total(primal + h * direction, dual) - total(primal - h * direction, dual)) / (2 * h)
    assert first @ direction == pytest.approx(slope, rel=1e-2, abs=0.3)
    for j in range(len(dual)):
        step = h * np.eye(len(dual))[j]
        slope = (total(primal, dual + step) - total(primal, dual - step)) / (2 * h)
        assert (second * loss.dual_set.unit)[j] == pytest.approx(slope, rel=1e-2, abs=0.05)
    alone = SaddleSums(model, loss, rows, 1e6, 1e6).dual_gradient(primal, dual)
    np.testing.assert_allclose(alone, second, rtol=1e-12)


@pytest.mark.covering
@pytest.mark.parametrize("clip", [1e-3, 0.05, 10.0])
@every_model
@every_loss
def test_differences_are_clipped_and_else_the_difference_of_clipped_sums(name, kind, clip):
    loss, model, rows, primal, dual = make(name, kind)
    moved = primal + 0.01
    for i in range(len(rows)):
        sums = SaddleSums(model, loss, Rows(rows.X[i:i + 1], rows.y[i:i + 1]), 0.5, 0.1)
        found = sums.differences((moved, dual), (primal, dual), clip)
        assert np.linalg.norm(found) <= clip
        whole = sums.gradients(moved, dual)[0] - sums.gradients(primal, dual)[0]
        if 2 * np.linalg.norm(whole) < clip:
            np.testing.assert_allclose(found, whole, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("share", [2.0**-20, 2.0**-13, 0.5])
@every_model
@every_loss
def test_replacing_a_row_moves_a_sum_of_differences_by_twice_its_clip(name, kind, share):
    """However far the clip is below that of the gradients whose difference it is of."""
    loss, model, rows, primal, dual = make(name, kind, n=700)
    clip = 0.5 * share
    # Points so far apart that differences are long beside the clip, and more so at the end.
    moved = primal + share
    new = primal + 3.0
    totals = []
    for row, target in ((rows.X[0], 0.0), (-rows.X[0], 1.0), (1e6 * rows.X[1], 1.0)):
        X, y = rows.X.copy(), rows.y.copy()
        X[350] = row
        y[350] = target
        sums = SaddleSums(model, loss, Rows(X, y), 0.5, 0.1)
        totals.append([sums.differences((point, dual), (primal, dual), clip)
                       for point in (moved, new)])
        np.testing.assert_array_equal(X[350], row)
    for here, there in itertools.combinations(totals, 2):
        for one, other in zip(here, there, strict=True):
            assert np.linalg.norm(one - other) <= 2 * clip


@every_model
@every_loss
def test_equal_points_have_no_difference_whatever_the_block(name, kind):
    loss, model, rows, primal, dual = make(name, kind, n=1500)
    point = (primal, dual)
    sums = SaddleSums(model, loss, rows, 0.5, 0.1)
    assert not sums.differences(point, point, 1e-6).any()


@every_loss
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_have_the_sums_of_dense_ones_without_a_dense_copy(name, dtype):
    loss, model, rows, primal, dual = make(name, n=50)
    X = (3 * rows.X * (rows.X > 0)).astype(dtype)
    dense, thin = (SaddleSums(model, loss, Rows(table, rows.y), 0.5, 0.1)
                   for table in (X, sparse.csr_matrix(X)))
    batch = np.array([3, 7, 8, 41])
    for read in (None, batch):
        here, there = (np.concatenate([
            *sums.gradients(primal, dual, read), sums.dual_gradient(primal, dual, read),
            sums.differences((primal + 0.1, dual), (primal, dual), 0.01, read)])
            for sums in (dense, thin))
        np.testing.assert_allclose(here, there, rtol=1e-12, atol=1e-12)


def test_a_row_that_is_not_finite_is_left_out_of_every_sum():
    loss, model, rows, primal, dual = make("auc", "relu")
    hostile = rows.X.copy()
    hostile[7] = 3e38
    rest = np.arange(len(rows)) != 7
    with np.errstate(all="ignore"):
        for ask in (lambda s: s.gradients(primal * 1e20, dual)[0],
                    lambda s: s.gradients(primal * 1e20, dual)[1],
                    lambda s: s.dual_gradient(primal * 1e20, dual),
                    lambda s: s.differences((primal * 1e20, dual), (primal, dual), 0.1)):
            found = ask(SaddleSums(model, loss, Rows(hostile, rows.y), 0.5, 0.1))
            without = ask(SaddleSums(model, loss, Rows(rows.X[rest], rows.y[rest]), 0.5, 0.1))
            assert np.isfinite(found).all()
            np.testing.assert_allclose(found, without, rtol=1e-4, atol=1e-4)
