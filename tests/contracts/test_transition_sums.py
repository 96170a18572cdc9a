"""Clipped gradients of the projected Bellman error: derivatives, clips, groups."""

import numpy as np
import pytest

from dpsk._data.groups import Groups
from dpsk._data.source import Rows
from dpsk._models.states import LinearValues, NetworkValues
from dpsk._objective.saddle.projected_bellman import Ball, ProjectedBellman
from dpsk._sums import transition_sums
from dpsk._sums.transition_sums import SemiGradientSums, TransitionSums

BOX = np.array([[-1.0, 1.0], [-2.0, 2.0]])
GAMMA = 0.9
MODELS = {"linear": LinearValues(2, BOX),
          "fourier": LinearValues(2, BOX, frequencies=np.array([[1.0, 3.0], [0.5, -4.0]])),
          "network": NetworkValues(2, BOX, width=4)}
every_model = pytest.mark.parametrize("name", MODELS)


def make(name, n=40, clips=(1e6, 1e6), lengths=None, seed=0):
    rng = np.random.default_rng(seed)
    model = MODELS[name]
    columns = [rng.uniform(-1, 1, n), (rng.random(n) < 0.8).astype(float)]
    labels = None if lengths is None else np.repeat(np.arange(len(lengths)), lengths)
    groups = None if labels is None else Groups.of(labels)
    rows = Rows(rng.uniform(-1, 1, (n, 4)), np.column_stack(columns), groups=groups)
    loss = ProjectedBellman(GAMMA, model.dimension, lengths is not None)
    return (TransitionSums(model, loss, rows, *clips), rows, rng.normal(size=model.dimension),
            0.3 * rng.normal(size=model.dimension))


def value(name, rows, primal, dual):
    """Return the sum of losses by their definition."""
    model, now, later = MODELS[name], rows.X[:, :2], rows.X[:, 2:]
    rewards, alive = rows.y[:, :2].T
    delta = rewards + GAMMA * alive * model.values(primal, later) - model.values(primal, now)
    product = model.passed(primal, now).gradients @ dual
    return np.sum(delta * product - 0.5 * product**2)


@every_model
def test_gradients_are_those_of_the_value(name):
    sums, rows, primal, dual = make(name)
    found = sums.gradients(primal, dual)
    h = 1e-6
    for place in (0, 1):
        for j in range(len(primal)):
            ends = []
            for sign in (1, -1):
                point = [primal.copy(), dual.copy()]
                point[place][j] += sign * h
                ends.append(value(name, rows, *point))
            slope = (ends[0] - ends[1]) / (2 * h)
            assert found[place][j] == pytest.approx(slope, abs=2e-6 * (1 + abs(slope)))


def test_the_gradient_of_a_network_has_its_second_derivatives():
    sums, rows, primal, dual = make("network")
    exact = sums.gradients(primal, dual)[0]
    model = MODELS["network"]
    passed = model.passed(primal, rows.X[:, :2])
    h = 1e-6
    turned = (model.passed(primal + h * dual, rows.X[:, :2]).gradients
              - model.passed(primal - h * dual, rows.X[:, :2]).gradients) / (2 * h)
    np.testing.assert_allclose(passed.turned(dual), turned, atol=1e-7)
    without = left_without(sums, rows, primal, dual).sum(axis=0)
    assert np.linalg.norm(exact - without) > 0.05 * np.linalg.norm(exact)


def test_a_weighted_gradient_is_the_sum_of_gradients():
    _, rows, primal, _ = make("network")
    model, states = MODELS["network"], rows.X[:, :2]
    passed = model.passed(primal, states)
    values, total = model.weighted_gradient(primal, states, np.cos)
    np.testing.assert_allclose(values, passed.values, rtol=1e-12)
    np.testing.assert_allclose(total, np.cos(values) @ passed.gradients, rtol=1e-10)


def left_without(sums, rows, primal, dual):
    """Return the gradients without their second derivatives."""
    now = sums.model.passed(primal, rows.X[:, :2])
    later = sums.model.passed(primal, rows.X[:, 2:])
    product = now.gradients @ dual
    return (GAMMA * rows.y[:, 1:2] * later.gradients - now.gradients) * product[:, None]


@every_model
@pytest.mark.parametrize("lengths", [None, [7, 1, 20, 12]])
def test_every_unit_is_clipped_in_both_blocks_and_differences_are(name, lengths, monkeypatch):
    clips = 0.02, 0.03
    sums, _, primal, dual = make(name, clips=clips, lengths=lengths)
    units = np.arange(sums.n_samples)
    assert len(units) == (40 if lengths is None else 4)
    parts = [sums.gradients(primal, dual, units[i:i + 1]) for i in units]
    for place, clip in enumerate(clips):
        norms = [np.linalg.norm(part[place]) for part in parts]
        assert max(norms) <= clip and max(norms) > 0.99 * clip
    whole = sums.gradients(primal, dual)
    for place in (0, 1):
        np.testing.assert_allclose(sum(part[place] for part in parts), whole[place], atol=1e-12)
    np.testing.assert_allclose(sums.dual_gradient(primal, dual), whole[1], atol=1e-12)
    other = primal + 0.1, dual - 0.1
    for i in units:
        assert np.linalg.norm(sums.differences(other, (primal, dual), 0.01, units[i:i + 1])) <= .01
    wide = sums.differences(other, (primal, dual), 1.0)
    np.testing.assert_allclose(wide, sums.gradients(*other)[0] - whole[0], atol=1e-12)
    monkeypatch.setattr(transition_sums, "_ENTRIES", 40)
    short = make(name, clips=clips, lengths=lengths)[0]
    for one, two in zip(short.gradients(primal, dual), whole, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)


def test_a_group_is_the_sum_of_its_transitions_over_the_horizon():
    lengths = [5, 15, 20]
    grouped, _, primal, dual = make("fourier", lengths=lengths)
    single = make("fourier")[0]
    for one, two in zip(grouped.gradients(primal, dual), single.gradients(primal, dual),
                        strict=True):
        np.testing.assert_allclose(one, (1 - GAMMA) * two, rtol=1e-12)


@every_model
def test_gradients_that_are_not_finite_add_nothing(name):
    sums, rows, primal, dual = make(name, clips=(1.0, 1.0))
    rows.y[3, 0] = np.inf
    with np.errstate(all="ignore"):
        found = sums.gradients(primal, dual)
        rest = sums.gradients(primal, dual, np.delete(np.arange(40), 3))
    assert all(np.isfinite(part).all() for part in found)
    np.testing.assert_allclose(found[1], rest[1], atol=1e-12)


@every_model
@pytest.mark.parametrize("lengths", [None, [7, 1, 20, 12]])
def test_semi_gradients_are_differences_times_slopes_and_clipped(name, lengths):
    whole, rows, theta, _ = make(name, lengths=lengths)
    sums = SemiGradientSums(whole.model, whole.loss, rows, 1e6)
    model = MODELS[name]
    delta = (rows.y[:, 0] + GAMMA * rows.y[:, 1] * model.values(theta, rows.X[:, 2:])
             - model.values(theta, rows.X[:, :2]))
    expected = -delta @ model.passed(theta, rows.X[:, :2]).gradients
    scale = 1.0 if lengths is None else 1.0 - GAMMA
    np.testing.assert_allclose(sums.gradient(theta), scale * expected, rtol=1e-10, atol=1e-12)
    short = SemiGradientSums(whole.model, whole.loss, rows, 0.01)
    norms = [np.linalg.norm(short.gradient(theta, np.array([i])))
             for i in range(short.n_samples)]
    assert 0.0099 < max(norms) <= 0.01


def test_the_ball_projects_to_its_bound():
    ball = Ball(3, 2.0)
    np.testing.assert_array_equal(ball.project(np.ones(3)), np.ones(3))
    assert np.linalg.norm(ball.project(np.full(3, 1e100))) == pytest.approx(2.0)
    np.testing.assert_array_equal(ball.project(np.zeros(3)), np.zeros(3))
    np.testing.assert_array_equal(ball.gradient(np.ones(3)), np.zeros(3))
