"""Estimators with solvers: the pairs that docstrings offer, and those that are refused."""

import re

import numpy as np
import pytest

from dpsk._solvers import SOLVERS
from dpsk._solvers.base import REQUIREMENTS
from tests.registry import ESTIMATORS, documented_solvers, is_linear, make_estimator

REFUSED = [pytest.param(cls, solver, id=f"{name}-{solver}")
           for name, cls in sorted(ESTIMATORS.items())
           for solver in sorted(set(SOLVERS) - documented_solvers(cls))]
every_refusal = pytest.mark.parametrize("cls, solver", REFUSED)


def build(cls, solver, **params):
    """Return an estimator with `solver`, leaving out what that solver has no use for."""
    return make_estimator(cls, solver, **{key: value for key, value in params.items()
                                          if key not in SOLVERS[solver].ignores})


def bounds_gradients(cls):
    """Whether the loss bounds the gradient of a row, so that clip_norm=inf is accepted."""
    if not is_linear(cls):
        return False
    model = cls()
    loss = model._loss() if hasattr(model, "_loss") else model._binary_loss()
    return bool(np.isfinite(loss.lipschitz))


def requirement_texts(solver):
    """Return patterns of what the requirements of `solver` say when they are not met."""
    return [re.escape(REQUIREMENTS[name][1].format(solver=solver, loss="LOSS"))
            .replace("LOSS", r"\w+") for name in SOLVERS[solver].requires] + [
        f"solver='{solver}' rests on rows that enter linearly.*use solver='gd' or 'sgd'\\."]
