"""Budgets that protect nobody are right all the same, or refused by name: up to 1e12."""

import math

import numpy as np
import pytest

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRidge,
    DPStandardScaler,
    DPTreeSampler,
    make_dp_pipeline,
)
from dpsk.metrics import get_scorer
from tests.registry import ESTIMATORS, documented_solvers, make_estimator, takes_groups

#: Every decade and a half, and where searches used to end.
GRID = [*np.geomspace(1e2, 1e12, 8), 0.9e9, 1e9, 1.1e9]
_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(80, 3))
LABELS, TARGETS = (X[:, 0] > 0).astype(int), np.clip(X[:, 0], -1.0, 1.0)
OTHERS = {
    "transformer": DPStandardScaler(), "sampler": DPTreeSampler(),
    "pipeline": make_dp_pipeline(DPStandardScaler(), DPRidge(solver="gd", max_iter=3)),
    "search": DPGridSearchCV(DPLogisticRegression(solver="gd", max_iter=2), {"alpha": [0.0]}),
}


def solvers():
    """Return (class, solver) such that every solver is there once."""
    found = {}
    for _, cls in sorted(ESTIMATORS.items()):
        for solver in documented_solvers(cls):
            found.setdefault(solver, cls)
    return [pytest.param(cls, solver, id=solver) for solver, cls in sorted(found.items())]


def certificate(model, epsilon):
    y = TARGETS if hasattr(model, "target_bounds") else LABELS
    more = {"groups": LABELS} if takes_groups(type(model)) else {}
    return model.set_params(epsilon=epsilon).fit(X, y, **more).privacy_


def assert_right(certify, grid):
    """Check that budgets are met, and that more of one is never more noise."""
    multipliers = []
    for epsilon in sorted(grid):
        found = certify(epsilon)
        multipliers.append(found.noise_multiplier)
        assert 0.0 < multipliers[-1] < math.inf
        assert found.delta_at(epsilon) <= found.delta
        # What is spent is most of what was given, and no infinite part of it.
        assert found.epsilon_at(found.delta) <= epsilon * (1.0 + 2e-6)
    return multipliers


@pytest.mark.parametrize("name", OTHERS)
def test_large_budgets_are_met(name):
    found = assert_right(lambda epsilon: certificate(OTHERS[name], epsilon), GRID)
    assert found == sorted(found, reverse=True)


@pytest.mark.covering(most=4)
@pytest.mark.parametrize("cls, solver", solvers())
def test_every_solver_meets_large_budgets(cls, solver):
    # Beside a ridge no minimum is far away.
    model = make_estimator(cls, solver, alpha=0.1)
    if "max_iter" in model.get_params() and solver in ("gd", "sgd"):
        model.set_params(max_iter=3)
    # Its minimizer takes seconds in between, where noise is small and rows are few.
    grid = [1e2, 1e12] if solver == "objective_perturbation" else [1e2, 1e6, 1e9, 1e12]
    assert_right(lambda epsilon: certificate(model, epsilon), grid)


@pytest.mark.parametrize("epsilon", [1.1e12, 1e18, 1e50, 1e100, 1e300])
@pytest.mark.parametrize("model", [*OTHERS.values(), DPLogisticRegression()],
                         ids=[*OTHERS, "model"])
def test_what_no_double_tells_is_refused_by_name(model, epsilon):
    with pytest.raises(ValueError, match=r"epsilon=.*at most 1e12"):
        certificate(model, epsilon)
    with pytest.raises(ValueError, match=r"epsilon=.*at most 1e12"):
        get_scorer("dp_accuracy", epsilon=epsilon)
