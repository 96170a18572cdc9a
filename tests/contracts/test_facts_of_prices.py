"""A price that rests on a fact of what is handed over: where the fact is another, nothing is."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import LinAlgError

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Gaussian, Pure
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._queries import objective
from dpsk._queries.objective import ObjectiveOracle
from dpsk._solvers import SOLVERS
from dpsk._sums.linear_sums import float_sums
from dpsk.metrics._cross_validation import _worst
from tests.contracts.tapes import taped
from tests.registry import make_problem, make_targets

N = 50


def opened(name, problem, rows=None, **declared):
    """Return the oracle of a solver over rows of a problem, what it asks, and the solver."""
    solver = SOLVERS[name]().configured(problem)
    asked = dataclasses.replace(solver.queries(problem), **declared)
    z = calibrate(asked, problem.epsilon, problem.delta)
    if rows is None:
        rng = np.random.default_rng(0)
        rows = Rows(rng.normal(size=(N, problem.model.n_features)),
                    make_targets("logistic", N, rng))
    oracle = asked.run((problem, rows), Session(EntropyStream(), Ledger(asked(z))), z)
    return oracle, asked, solver


@pytest.mark.parametrize("name, factor", [
    ("last_iterate", 0.5), ("last_iterate", 2.0), ("objective_perturbation", 1e3)])
def test_another_penalty_than_the_declared_one_is_refused_before_any_draw(name, factor):
    """Less curvature contracts less than was declared; more has another minimizer."""
    problem = make_problem(n_samples=N, alpha=0.1)
    oracle, *_ = opened(name, problem)
    other = make_problem(n_samples=N, alpha=0.1 * factor).penalty
    with taped() as tape, pytest.raises(ValueError, match="solver="):
        getattr(oracle, "descend" if name == "last_iterate" else "minimize")(
            np.zeros(problem.model.shape), other)
    assert not tape.events and not tape.noise


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("tolerance", [1e-30, 1e-15, 1e-10, 1e-3, 1.0])
def test_the_second_noise_is_for_the_tolerance_that_rounding_allows(tolerance, delta):
    """Two points that miss the minimizer by what was reached, and by what rounding hides."""
    problem = make_problem(n_samples=N, delta=delta)
    oracle, asked, solver = opened("objective_perturbation", problem, tolerance=tolerance)
    with taped() as tape:
        solver.minimize(oracle, problem.penalty, np.zeros(problem.model.shape))
    ((part,),) = tape.parts
    missed = max(tolerance, oracle._rounding) + oracle._rounding
    assert part.sensitivity.moved >= 2.0 * missed / asked.ridge


@dataclasses.dataclass
class Priced:
    """A training, by what it cost."""

    event: object


@pytest.mark.parametrize("seed", range(40))
def test_no_row_pays_more_than_the_one_that_is_said_to_pay_most(seed):
    rng = np.random.default_rng(seed)
    members = rng.random((rng.integers(1, 6), 30)) < rng.uniform(0.1, 0.9)
    prices = rng.choice([0.1, 1.0, 3.0], size=len(members))
    paid = _worst([Priced(Gaussian(mu)) for mu in prices], members)
    assert sum(each.event.mu**2 for each in paid) >= (prices**2 @ members).max() - 1e-12
    # There is no order of these: all count.
    mixed = [Priced(Pure(mu) if i % 2 else Gaussian(mu)) for i, mu in enumerate(prices)]
    if len(mixed) > 1:
        assert _worst(mixed, members) == mixed


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


@pytest.mark.thorough
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
    X = _hostile(rng, width, kind)
    rows = Rows(sparse.csr_matrix(X) if kind == "sparse" else X, make_targets(loss, N, rng))
    oracle, declared, solver = opened("objective_perturbation", problem, rows)
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
