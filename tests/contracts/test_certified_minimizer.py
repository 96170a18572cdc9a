"""The tolerance that the second noise is made for holds on every path to a minimizer."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import LinAlgError

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._queries import objective
from dpsk._queries.objective import ObjectiveOracle
from dpsk._solvers import SOLVERS
from dpsk._sums.linear_sums import float_sums
from tests.contracts.tapes import taped
from tests.registry import make_problem, make_targets

pytestmark = pytest.mark.thorough

N = 50


def _no_factor(*args, **kwargs):
    raise LinAlgError


def _stalled(oracle, theta, gradient, factor, linear):
    return None


def _wandering(oracle, theta, gradient, factor, linear):
    # Steps that get nowhere, and far away.
    theta = theta + 10.0
    return theta, oracle._gradient(theta, linear)


#: What is wrong with Newton's steps, as (where, attribute, in its place).
PATHS = {"newton": (objective, "_MOST_CHEAP_STEPS", 400),
         "one step": (objective, "_MOST_FACTORISATIONS", 1),
         "no step": (objective, "_MOST_FACTORISATIONS", 0),
         "few cheap steps": (objective, "_MOST_CHEAP_STEPS", 1),
         "no factor": (objective, "cho_factor", _no_factor),
         "stalled": (ObjectiveOracle, "_with_factor", _stalled),
         "wandering": (ObjectiveOracle, "_with_factor", _wandering)}


def _hostile(rng, width, kind):
    X = rng.normal(size=(N, width))
    if kind == "long":
        X *= 10.0 ** rng.uniform(-3, 200, size=(N, 1))
    elif kind == "alike":
        X[:] = X[0]
    elif kind == "sparse":
        X[:, 3:] = 0.0
    return X


@pytest.mark.parametrize("kind", ["long", "alike", "sparse"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("loss", ["logistic", "huber", "huberized_hinge"])
@pytest.mark.parametrize("width, path", [*((6, path) for path in PATHS), (620, "newton")])
def test_the_point_under_the_second_noise_is_within_the_tolerance(
        width, path, loss, delta, kind, monkeypatch):
    monkeypatch.setattr(*PATHS[path])
    pulls, pull = [], ObjectiveOracle._pull
    monkeypatch.setattr(ObjectiveOracle, "_pull",
                        lambda *args: pulls.append(pull(*args)) or pulls[-1])
    rng = np.random.default_rng(0)
    problem = make_problem(loss, n_samples=N, n_features=width, delta=delta)
    solver = SOLVERS["objective_perturbation"]().configured(problem)
    declared = solver.queries(problem)
    z = calibrate(declared, problem.epsilon, problem.delta)
    X = _hostile(rng, width, kind)
    rows = Rows(sparse.csr_matrix(X) if kind == "sparse" else X, make_targets(loss, N, rng))
    oracle = declared.run((problem, rows), Session(EntropyStream(), Ledger(declared(z))), z)
    with np.errstate(all="ignore"), taped() as tape:
        solver.minimize(oracle, problem.penalty, np.zeros(problem.model.shape))
    (((exact,),), ((part,),), (linear,)) = tape.totals, tape.parts, pulls
    sums = float_sums(problem.model, problem.loss, rows, solver.clip_norm)
    left = sums.gradient(exact) / N + declared.ridge * exact + linear
    # The noise is for two points that each miss the minimizer by the tolerance over the ridge.
    covered = 0.5 * part.sensitivity.moved * declared.ridge
    assert np.linalg.norm(left) <= covered
    assert covered <= 2.0 * declared.tolerance + 1e-6
    assert part.scale >= part.sensitivity.moved / declared.tail
