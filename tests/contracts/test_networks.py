"""The multilayer perceptron: derivatives, norms without per-sample gradients, clips."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._models import MLP
from dpsk._models.mlp import ACTIVATIONS
from dpsk._objective.losses import Multinomial, Squared
from dpsk._sums.network_sums import NetworkSums

every_activation = pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
every_output = pytest.mark.parametrize("outputs", [None, 3])


every_path = pytest.mark.parametrize("path", [None, 0.3])


def make(activation="tanh", outputs=None, hidden=(18, 4), n=7, scale=1.0, seed=0, path=None):
    rng = np.random.default_rng(seed)
    model = MLP(3, hidden, outputs, activation, hidden_scale=path)
    theta = 0.7 * rng.normal(size=model.shape)
    X = (scale * rng.normal(size=(n, 3))).astype(np.float32)
    y = rng.integers(3, size=n) if outputs else rng.normal(size=n)
    return model, theta, X, y, Multinomial() if outputs else Squared()


def row_gradients(model, theta, X, y, loss):
    """Per-sample gradients, one row at a time."""
    gradients = []
    for i in range(len(X)):
        forward = model.forward(theta, X[i:i + 1])
        forward.backward(loss.gradient(y[i:i + 1], forward.raw.copy()))
        out = np.zeros(model.shape)
        forward.add_gradient(np.ones(1), out)
        gradients.append(out)
    return np.array(gradients)


def plain_layers(X, weights, biases, activation):
    """Return raw predictions of layers that know of no means, in double precision."""
    h = X.astype(float)
    for W, b in zip(weights[:-1], biases[:-1], strict=True):
        h = ACTIVATIONS[activation].value(h @ W + b)
    return h @ weights[-1] + biases[-1]


@every_path
@every_output
@pytest.mark.parametrize("hidden", [(), (5,), (18, 4), (20, 18)])
@every_activation
def test_released_layers_predict_as_plain_ones_and_pack_without_loss(activation, hidden, outputs,
                                                                     path):
    if not hidden:
        # A linear path stands beside hidden layers only.
        path = None
    model, theta, X, *_ = make(activation, outputs, hidden, path=path)
    weights, biases = model.unpacked(np.append(theta, [7.0, 8.0]))
    assert all(part.dtype == np.float32 for part in weights + biases)
    raw = model.forward(theta, X, np.float64).raw
    linear, plain = model.linear(theta), plain_layers(X, weights, biases, activation)
    if path is not None:
        plain += X @ linear
        model = replace(model, hidden_scale=1.0)
    np.testing.assert_allclose(plain.reshape(raw.shape), raw, atol=1e-4)
    packed = model.packed(weights, biases, linear)
    np.testing.assert_allclose(model.forward(packed, X, np.float64).raw, raw, atol=1e-4)


@every_activation
def test_shifted_parameters_do_for_rows_what_theta_does_for_centered_ones(activation):
    model, theta, X, *_ = make(activation)
    center = np.array([1.0, -2.0, 0.5], np.float32)
    before = theta.copy()
    np.testing.assert_allclose(model.forward(model.before_map(theta, center), X, np.float64).raw,
                               model.forward(theta, X - center, np.float64).raw, atol=1e-5)
    np.testing.assert_array_equal(theta, before)


@every_path
@every_activation
def test_parameters_before_a_map_do_for_rows_what_theta_does_for_mapped_ones(activation, path):
    model, theta, X, *_ = make(activation, path=path)
    center = np.array([1.0, -2.0, 0.5], np.float32)
    matrix = np.random.default_rng(3).normal(size=(3, 3))
    own = model.before_map(theta, center, matrix)
    np.testing.assert_allclose(model.forward(own, X, np.float64).raw,
                               model.forward(theta, (X - center) @ matrix, np.float64).raw,
                               atol=1e-4)


@every_output
def test_with_a_linear_path_a_network_starts_at_zero_and_keeps_the_length_of_rows(outputs):
    model = MLP(50, (400, 100), outputs, hidden_scale=0.5)
    rng = np.random.default_rng(1)
    theta = model.initial(lambda shape: rng.normal(size=shape))
    forward = model.forward(theta, rng.normal(size=(200, 50)).astype(np.float32))
    assert theta.shape == model.shape
    assert not forward.raw.any()
    lengths = [np.linalg.norm(part, axis=1).mean() for part in (*forward.inputs[:1],
                                                                *forward._units)]
    # Units less their mean are somewhat shorter.
    np.testing.assert_allclose(lengths, lengths[0], rtol=0.25)


def test_the_linear_path_has_its_own_gradient():
    """By differences in double precision, beside a hidden layer that counts 0.3 times."""
    model, theta, X, y, loss = make(path=0.3)
    found = row_gradients(model, theta, X, y, loss).sum(axis=0)
    rng = np.random.default_rng(1)

    def total(point):
        return loss.value(y, model.forward(point, X, np.float64).raw).sum()

    for _ in range(8):
        direction = rng.normal(size=theta.shape)
        slope = (total(theta + 1e-6 * direction) - total(theta - 1e-6 * direction)) / 2e-6
        assert found @ direction == pytest.approx(slope, rel=2e-3, abs=2e-3)


@every_output
@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)])
def test_packing_undoes_unpacking_of_the_networks_own_numbers(hidden, outputs):
    model, theta, *_ = make(outputs=outputs, hidden=hidden)
    weights, biases = model.unpacked(np.append(theta, [7.0, 8.0]))
    assert [part.shape for part in weights] == [(i, o) for i, o in pairwise(model.sizes)]
    assert [part.shape for part in biases] == [(o,) for o in model.sizes[1:]]
    np.testing.assert_array_equal(model.packed(weights, biases), theta.astype(np.float32))


@every_output
@pytest.mark.parametrize("hidden", [(), (5,), (18, 4), (20, 18)])
@every_activation
def test_gradients_are_those_of_the_loss(activation, hidden, outputs):
    model, theta, X, y, loss = make(activation, outputs, hidden)
    found = row_gradients(model, theta, X, y, loss).sum(axis=0)
    rng = np.random.default_rng(1)

    def total(point):
        # In double precision, as differences of float32 values would be rough; weights after
        # wide one-sided layers count less the mean of their columns.
        layers = model.layers(point)
        weights = [W - W.mean(axis=0) * (i > 0 and activation == "relu" and len(W) >= 16)
                   for i, (W, _) in enumerate(layers)]
        z = plain_layers(X, weights, [b for _, b in layers], activation)
        return loss.value(y, z[:, 0] if outputs is None else z).sum()

    for _ in range(8):
        direction = rng.normal(size=theta.shape)
        slope = (total(theta + 1e-6 * direction) - total(theta - 1e-6 * direction)) / 2e-6
        assert found @ direction == pytest.approx(slope, rel=2e-3, abs=2e-3)


@every_path
@every_output
@every_activation
def test_norms_are_those_of_the_rows_gradients(activation, outputs, path):
    model, theta, X, y, loss = make(activation, outputs, path=path)
    forward = model.forward(theta, X)
    forward.backward(loss.gradient(y, forward.raw.copy()))
    expected = np.square(row_gradients(model, theta, X, y, loss)).sum(axis=1)
    np.testing.assert_allclose(forward.square_norms(), expected, rtol=1e-4)


@every_activation
def test_norms_of_differences_are_bounded_from_above_and_closely(activation):
    model, theta, X, y, loss = make(activation, n=40)
    rng = np.random.default_rng(2)
    for distance in (1e-6, 1e-2, 1.0):
        passes, explicit = [], []
        for point in (theta, theta + distance * rng.normal(size=theta.shape)):
            forward = model.forward(point, X)
            forward.backward(loss.gradient(y, forward.raw.copy()))
            passes.append(forward)
            explicit.append(row_gradients(model, point, X, y, loss))
        factors = rng.random(len(X)), rng.random(len(X))
        change = factors[0][:, None] * explicit[0] - factors[1][:, None] * explicit[1]
        bound = np.sqrt(passes[0].less(passes[1], *factors).square_norms())
        norms = np.linalg.norm(change, axis=1)
        assert np.all(bound >= norms * (1 - 1e-4) - 1e-6)
        assert np.median(bound / norms) < 1.5


@pytest.mark.parametrize("clip_norm", [1e-3, 0.5, 100.0])
@every_path
@every_output
@every_activation
def test_no_row_contributes_more_than_the_clip(activation, outputs, clip_norm, path):
    model, theta, X, y, loss = make(activation, outputs, n=30, path=path)
    X[:10] *= np.logspace(0, 38, 10, dtype=np.float64).astype(np.float32)[:, None] / 10
    with np.errstate(all="ignore"):
        for i in range(len(X)):
            alone = NetworkSums(model, loss, Rows(X[i:i + 1], y[i:i + 1]), clip_norm)
            assert np.linalg.norm(alone.gradient(theta)) <= clip_norm


@pytest.mark.parametrize(("entry", "width", "weight", "clip_norm"), [
    pytest.param(1e18, 1, 1e-24, 1e-10, id="the square of the error underflows"),
    pytest.param(1e18, 1, 1.4e17, 1e-10, id="the factor is rounded up"),
    pytest.param(1e28, 4097, 2.2e15, 1.0, id="the factor of a long row is rounded up"),
])
def test_no_row_contributes_more_where_single_precision_ends(entry, width, weight, clip_norm):
    model = MLP(width, (), None)
    sums = NetworkSums(model, Squared(), Rows(np.full((1, width), entry, np.float32), np.ones(1),
                                              np.array([weight]), np.inf), clip_norm)
    with np.errstate(all="ignore"):
        assert np.linalg.norm(sums.gradient(np.zeros(model.shape))) <= clip_norm


def test_no_clip_norm_lets_a_sum_overflow():
    rows = Rows(np.full((3, 1), 1.5e19, np.float32), np.ones(3), np.full(3, 1.5e19), np.inf)
    sums = NetworkSums(MLP(1, (), None), Squared(), rows, 1e100)
    assert np.isfinite(sums.gradient(np.zeros(2))).all()


def test_no_row_enters_longer_than_its_bound():
    model = MLP(1, (), None, data_norm=1e-10)
    rows = np.logspace(-20, 38, 1000, dtype=np.float64).astype(np.float32)[:, None]
    for dtype in (np.float32, np.float64):
        assert np.abs(model.forward(np.zeros(2), rows, dtype).inputs[0]).max() <= 1e-10


@every_path
@every_output
def test_a_row_that_is_not_finite_adds_nothing(outputs, path):
    model, theta, X, y, loss = make("relu", outputs, n=8, path=path)
    hostile = X.copy()
    hostile[3] = 3e38
    others = np.arange(8) != 3
    with np.errstate(all="ignore"):
        found = NetworkSums(model, loss, Rows(hostile, y), 1.0).gradient(theta * 1e30)
        expected = NetworkSums(model, loss, Rows(X[others], y[others]), 1.0).gradient(theta * 1e30)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_sums_do_not_depend_on_blocks_and_take_batches_and_weights():
    model, theta, X, y, loss = make(n=1300)
    weights = np.linspace(0.0, 2.0, 1300)
    sums = NetworkSums(model, loss, Rows(X, y, weights, 1.5), 0.3)
    rows = np.arange(100, 1250)
    explicit = row_gradients(model, theta, X, y, loss) * np.minimum(weights, 1.5)[:, None]
    norms = np.linalg.norm(explicit, axis=1)
    explicit *= np.minimum(1.0, 0.3 / np.maximum(norms, 1e-30))[:, None]
    np.testing.assert_allclose(sums.gradient(theta), explicit.sum(axis=0), rtol=5e-3, atol=0.05)
    np.testing.assert_allclose(sums.gradient(theta, rows), explicit[rows].sum(axis=0),
                               rtol=5e-3, atol=0.05)


def test_starting_weights_follow_the_draws_and_predict_zero():
    model = MLP(3, (4, 4), None, "relu")
    theta = model.initial(lambda shape: np.ones(shape))
    first = model.layers(theta)[0][0]
    assert first[0, 0] == pytest.approx(np.sqrt(2 / 3))
    assert not model.forward(theta, np.ones((2, 3), np.float32)).raw.any()
