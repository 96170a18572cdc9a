"""A generator and its critic: gradients are exact, and only the critic's are charged."""

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import MLP
from dpsk._models.column_code import ColumnCode
from dpsk._models.generator import Generator
from dpsk._objective.penalties import PENALTIES
from dpsk._objective.saddle.critic import CriticScore
from dpsk._privacy.batches import batch_plan
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.public import PublicDraws
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._problem import Problem
from dpsk._queries import CriticGradients
from dpsk._solvers import ADVERSARIAL_SOLVERS
from dpsk._sums.network_sums import NetworkSums

_GENERATOR = Generator(4, (7, 6), 9, 3, ((2, 5), (6, 8)))
every_solver = pytest.mark.parametrize("name", sorted(ADVERSARIAL_SOLVERS))


def _slopes(value, at, step):
    ends = np.eye(len(at)) * step
    return np.array([(value(at + e) - value(at - e)) / (2 * step) for e in ends])


def test_the_gradient_of_a_generator_is_that_of_its_rows():
    rng = np.random.default_rng(0)
    theta = _GENERATOR.initial(rng.standard_normal).astype(np.float64)
    theta += 0.1 * rng.standard_normal(theta.shape)
    noise, classes = rng.standard_normal((20, 4)), rng.integers(3, size=20)
    weights = rng.standard_normal((20, 9))

    def value(theta):
        return float((_GENERATOR.forward(theta, noise, classes).rows * weights).sum())

    found = _GENERATOR.forward(theta, noise, classes).gradient(weights)
    np.testing.assert_allclose(found, _slopes(value, theta, 1e-6), atol=1e-6)


def test_runs_of_generated_rows_are_shares_and_numbers_are_within_their_bounds():
    rng = np.random.default_rng(1)
    theta = 5.0 * rng.standard_normal(_GENERATOR.dimension)
    rows = _GENERATOR.forward(theta, rng.standard_normal((50, 4)), rng.integers(3, size=50)).rows
    assert np.abs(rows).max() <= 1.0
    for start, stop in _GENERATOR.groups:
        np.testing.assert_allclose((rows[:, start:stop] + 1.0).sum(axis=1), 2.0)


@pytest.mark.parametrize("outputs", [None, 3])
def test_the_pull_is_the_gradient_of_minus_the_mean_score(outputs):
    rng = np.random.default_rng(2)
    oracle, theta, rows, classes = _oracle(rng, outputs)[:4]
    rows = rows[:6]

    def value(flat):
        z = oracle.critic.forward(theta, flat.reshape(rows.shape), np.float64).raw
        return -float(np.mean(z if outputs is None else z[np.arange(6), classes[:6]]))

    found = oracle.pull(theta, rows, classes[:6])
    expected = _slopes(value, rows.ravel().astype(np.float64), 1e-5)
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-4)


@pytest.mark.parametrize("outputs", [None, 3])
def test_generated_rows_pull_the_critic_the_other_way(outputs):
    rng = np.random.default_rng(3)
    oracle, theta, rows, classes, sums = _oracle(rng, outputs)
    found = oracle.opposed(theta, rows, classes)
    # Rows of the table, had they been generated, would leave nothing to learn.
    np.testing.assert_allclose(found, -sums.gradient(theta) / len(rows), atol=1e-6)
    assert np.linalg.norm(found) > 0


def _ridge(critic):
    return PENALTIES["l2"](alpha=0.01, l1_ratio=0.0, radius=None, unpenalized=critic.n_biases)


def _oracle(rng, outputs):
    charged = NoisySums(batch_plan(40, 10), 3)
    critic = MLP(5, (6,), outputs)
    rows = rng.standard_normal((40, 5)).astype(np.float32)
    classes = rng.integers(outputs or 1, size=40)
    theta = rng.standard_normal(critic.dimension)
    loss = CriticScore((1.0 / (outputs or 1),) * (outputs or 1))
    problem = Problem(40, critic, loss, _ridge(critic), 1.0,
                      1e-5)
    table = Rows(rows, classes)
    oracle = CriticGradients(charged, 0.5).run(
        (problem, table), Session(EntropyStream(), Ledger(charged(2.0))), 2.0)
    return oracle, theta, rows, classes, NetworkSums(critic, loss, table, 0.5)


def test_only_noisy_gradients_are_charged():
    oracle, theta, rows, classes, _ = _oracle(np.random.default_rng(4), 3)
    for _ in range(3):
        oracle.gradient(theta)
        oracle.opposed(theta, rows, classes)
        oracle.pull(theta, rows, classes)
    with pytest.raises(RuntimeError):
        oracle.gradient(theta)


class _Tape:
    """Answers that follow from nothing but the points asked about."""

    def __init__(self, oracle):
        self._oracle, self.asked = oracle, 0

    def gradient(self, theta):
        self.asked += 1
        return np.sin(np.arange(len(theta)) + self.asked)

    def __getattr__(self, name):
        return getattr(self._oracle, name)


@every_solver
def test_a_run_follows_from_answers_and_its_key_and_asks_as_often_as_planned(name):
    rng = np.random.default_rng(5)
    oracle, theta, *_ = _oracle(rng, 3)
    problem = Problem(40, oracle.critic, CriticScore((0.5, 0.25, 0.25)),
                      _ridge(oracle.critic), 1.0, 1e-5)
    solver = ADVERSARIAL_SOLVERS[name](max_iter=4, generator=Generator(3, (5,), 5, 3))
    keyed = [solver.drawn(solver, lambda stop, key=key: key).configured(problem)
             for key in (7, 7, 8)]
    results = []
    for one in keyed:
        tape = _Tape(oracle)
        results.append(one.minimize(tape, problem.penalty, theta.copy()).theta)
        assert tape.asked == one.max_iter * one.critic_steps == one.queries(problem).answers.count
    np.testing.assert_array_equal(results[0], results[1])
    assert np.any(results[0] != results[2])
    assert len(results[0]) == oracle.critic.dimension + solver.generator.dimension


def test_rows_of_a_network_go_back_to_the_columns_they_came_from():
    rng = np.random.default_rng(6)
    code = ColumnCode(((-2.0, 6.0), None, (0.0, 1.0)), (1, 3, 1))
    X = np.column_stack([rng.uniform(-2, 6, 30), rng.integers(3, size=30), rng.random(30)])
    out = np.empty((30, code.width), np.float32)
    code.dense(X, out)
    assert code.groups == ((1, 4),) and np.abs(out).max() <= 1.0
    found = code.undone(out, PublicDraws(NoiseSeed(0), "test"))
    np.testing.assert_allclose(np.column_stack(found), X, atol=1e-6)


def test_what_is_far_outside_of_its_bounds_is_at_an_end():
    code = ColumnCode(((0.0, 1.0),), (1,))
    out = np.empty((3, 1), np.float32)
    code.dense(np.array([[-1e300], [1e300], [0.5]]), out)
    np.testing.assert_array_equal(out.ravel(), [-1.0, 1.0, 0.0])
