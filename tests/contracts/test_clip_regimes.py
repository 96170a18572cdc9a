"""Differences of gradients: in every regime of their bound one row moves what is paid for.

A bound follows the distance of two points, up to where the clips of both gradients take over.
Rows and points are searched for the largest move of a sum by a row that is replaced; the worst
come near twice the bound, so that a bound that is too large would show as well.
"""

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import MLP, LinearModel
from dpsk._objective.losses import Logistic
from dpsk._objective.saddle import AUCSquare, GroupRisk
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Differences, SaddleDifferences
from dpsk._queries.differences import DifferenceOracle
from dpsk._queries.saddle_difference import SaddleDifferenceOracle
from dpsk._sums.differences import DifferenceSums
from dpsk._sums.saddle_sums import SaddleSums
from tests.contracts.tapes import taped
from tests.registry import every_loss, make_loss, make_model

pytestmark = pytest.mark.covering

CLIP = 0.3
#: Distances of the points, as what they let a gradient change by over the clip norm.
REGIMES = {"beside": 1e-5, "near": 0.3, "between": 1.5, "beyond": 40.0}
QUADRATIC = ("huber", "huberized_hinge", "squared", "squared_hinge")
every_regime = pytest.mark.parametrize("regime", REGIMES)


def _targets(name, classes):
    if classes:
        return [0, 1, 2]
    signs = "hinge" in name or name == "sigmoid"
    return [-1.0, 1.0] if signs else [0.0, 1.0] if name in ("logistic", "capped_poisson") else [
        -1.0, 0.0, 1.0]


def _worst(moves):
    """Return the largest distance between what two rows add."""
    moves = np.array(moves).reshape(len(moves), -1)
    return max(float(np.linalg.norm(moves - one, axis=1).max()) for one in moves)


def _released(ask):
    """Return the exact total of what is asked for last, and how far its noise says it moves."""
    with taped() as tape:
        ask()
    return tape.totals[-1][0], tape.parts[-1][0].sensitivity.moved


@every_regime
@every_loss
def test_a_replaced_row_moves_a_difference_by_at_most_twice_its_bound(name, regime):
    loss, model = make_loss(name), make_model(name, fit_intercept=False)
    rng, alone, apart = np.random.default_rng(0), 0.0, 0.0
    away, beside = np.linalg.qr(rng.normal(size=(3, 3)))[0][:, :2].T
    # Between two classes, the third far below, a vector of scores has its greatest slope.
    code = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0) if loss.vector_output else np.ones(1)
    far = np.outer(away, [0.0, 0.0, -30.0]) if loss.vector_output else 0.0
    angles = np.array([0.0, 1.3, 1.54])
    rows = np.array([sign * np.cos(angle) * away + turn * np.sin(angle) * beside
                     for angle in angles for turn in (-1, 1) for sign in (-1, 1)])
    rows = np.concatenate([rows, 0.3 * rows[:2], 1e300 * rows[:2]])
    targets = _targets(name, loss.vector_output)
    table = Rows(np.repeat(rows, len(targets), axis=0), np.tile(targets, len(rows)))
    move = REGIMES[regime] * CLIP / loss.smoothness * np.outer(away, code)
    for place in np.linspace(-1.5, 1.5, 7):
        anchor = (place * np.outer(away, code) + far).reshape(model.shape)
        theta = anchor + move.reshape(model.shape)
        declared = Differences(*2 * [NoisySums(FullBatch(), 1)], CLIP)
        sums = DifferenceSums(model, loss, table, CLIP)
        oracle = DifferenceOracle(sums, declared, 2.0,
                                  Session(EntropyStream(), Ledger(declared(2.0))))
        oracle.gradient(anchor)
        total, moved = _released(lambda oracle=oracle, theta=theta, anchor=anchor:
                                oracle.difference(theta, anchor))
        moves = [sums.difference(theta, anchor, 0.5 * moved, np.array([i]))
                 for i in range(len(table))]
        np.testing.assert_allclose(np.sum(moves, axis=0), total, rtol=0, atol=1e-9 * CLIP)
        largest = loss.gradient_diameter * CLIP
        assert 0.5 * moved == largest if regime == "beyond" else 0.5 * moved <= largest
        assert _worst(moves) <= moved * (1.0 + 1e-9)
        alone = max(alone, max(map(np.linalg.norm, moves)) / (0.5 * moved))
        apart = max(apart, _worst(moves) / moved)
    # Piecewise quadratic losses have their greatest curvature, or slope, all along a way.
    least = 0.1 if loss.vector_output else 0.4
    if name in QUADRATIC:
        least = 0.6 if regime == "between" else 0.8
    assert alone > least, alone
    # Where clips do not act, curvature lets no two rows of a convex loss go opposite ways.
    assert apart > 0.9 * least or regime != "beyond", apart


SADDLES = {"auc": AUCSquare(0.4), "groups": GroupRisk(Logistic(), (0.6, 0.4), 0.1, 3.0)}
MODELS = {"linear": LinearModel(3, None, True, 1.0), "network": MLP(3, (4,), None, "tanh"),
          "relu": MLP(3, (4,), None, "relu")}


@every_regime
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", SADDLES)
def test_a_replaced_row_moves_a_saddle_difference_by_at_most_twice_its_bound(name, kind, regime):
    loss, model = SADDLES[name], MODELS[kind]
    rng, closest = np.random.default_rng(1), 0.0
    for size in (0.3, 3.0, 30.0):
        old, new = (
            (size * rng.normal(size=model.dimension + loss.n_extra),
             loss.dual_set.project(rng.normal(size=loss.dual_set.size))) for _ in range(2))
        distances = [np.linalg.norm(a - b) for a, b in zip(new, old, strict=True)]
        # Slopes that put the distance into the regime, whatever the points are.
        slope = REGIMES[regime] * CLIP / (2.0 * distances[0])
        slopes = slope, slope * distances[0] / max(distances[1], 1e-3)
        declared = SaddleDifferences(*3 * [NoisySums(FullBatch(), 1)], CLIP, CLIP, slopes)
        moves = []
        for x in (*rng.normal(size=(12, 3)), *(1e6 * rng.normal(size=(3, 3))), np.zeros(3)):
            for y in (0.0, 1.0):
                target = np.array([y]) if name == "auc" else np.array([[y, rng.integers(2)]])
                rows = Rows(x[None] if kind == "linear" else x[None].astype(np.float32), target)
                sums = SaddleSums(model, loss, rows, CLIP, CLIP)
                oracle = SaddleDifferenceOracle(
                    sums, declared, 2.0, Session(EntropyStream(), Ledger(declared(2.0))))
                total, moved = _released(lambda oracle=oracle, new=new, old=old:
                                        oracle.difference(new, old))
                moves.append(total)
        assert _worst(moves) <= moved * (1.0 + 1e-9)
        assert 0.5 * moved <= 1.001 * sum(sums.primal_bound(dual) for _, dual in (new, old))
        closest = max(closest, _worst(moves) / moved)
    assert closest > (0.8 if regime in ("beside", "near") else 0.3), closest
