"""Estimators with solvers: the pairs that docstrings offer, and those that are refused."""

import re

import numpy as np
import pytest

from dpsk import DPGroupDROClassifier
from tests.registry import ALL_SOLVERS, ESTIMATORS, documented_solvers, is_linear, make_estimator

REFUSED = [pytest.param(cls, solver, id=f"{name}-{solver}")
           for name, cls in sorted(ESTIMATORS.items())
           for solver in sorted(set(cls._solvers) - documented_solvers(cls))]
every_refusal = pytest.mark.parametrize("cls, solver", REFUSED)


def build(cls, solver, **params):
    """Return an estimator with `solver`, leaving out what that solver has no use for."""
    return make_estimator(cls, solver, **{key: value for key, value in params.items()
                                          if key not in ALL_SOLVERS[solver].ignores})


def bounds_gradients(cls, solver="auto"):
    """Whether the loss bounds the gradient of a row, so that clip_norm=inf is accepted."""
    saddle = all(ALL_SOLVERS[name].minimax for name in
                 (documented_solvers(cls) if solver == "auto" else [solver]))
    if saddle:
        # Weights of groups come after the clip.
        return cls is DPGroupDROClassifier
    if not is_linear(cls):
        return False
    model = cls()
    loss = model._loss() if hasattr(model, "_loss") else model._binary_loss()
    return bool(np.isfinite(loss.lipschitz))


def ranks_pairs(cls, solver):
    """Whether a fit is by the loss of pairs, whose threshold is midway between mean scores."""
    return "positive_ratio" in cls().get_params() and ALL_SOLVERS[solver].minimax


def requirement_texts(solver):
    """Return patterns of what the requirements of `solver` say when they are not met."""
    return [re.escape(requirement.message.format(solver=solver, loss="LOSS"))
            .replace("LOSS", r"\w+") for requirement in ALL_SOLVERS[solver].requires] + [
        f"solver='{solver}' rests on rows that enter linearly.*use solver='gd' or 'sgd'\\."]
