"""Constraints of parameters, each stated once."""

import math

import numpy as np
import pytest

from dpsk import DPHuberRegressor, DPTDRegressor
from dpsk._objective.losses import Loss
from dpsk._parameters import PARAMETER_CONSTRAINTS
from dpsk._solvers import VALUE_SOLVERS
from tests.estimators.pairs import build
from tests.estimators.test_bad_parameters import refusal
from tests.registry import (
    ALL_SOLVERS,
    ESTIMATORS,
    SAMPLERS,
    documented_solvers,
    training_rows,
)

pytestmark = pytest.mark.usefixtures("silent")


def test_every_shared_constraint_is_of_some_parameter():
    known = {name for cls in ESTIMATORS.values() for name in cls().get_params()}
    assert set(PARAMETER_CONSTRAINTS) <= known


def test_an_unknown_argument_of_a_fit_is_refused_by_the_name_of_the_class():
    """Python names the base class that defines `fit`, such as Sampler."""
    for name, cls in [*ESTIMATORS.items(), *SAMPLERS.items()]:
        with pytest.raises(TypeError, match=rf"^{name}\.fit: .*unheard_of"):
            cls().fit([[1.0]], [0], unheard_of=1)


class _Ramp(Loss):
    """The absolute residual: a slope of 1, and a corner."""

    lipschitz, smoothness = 1.0, math.inf

    def value(self, y, z):
        return np.abs(z - y)

    def gradient(self, y, z):
        return np.sign(z - y)

    def hessian(self, y, z):
        return np.zeros(len(z))


class _Median(DPHuberRegressor):
    def _loss(self):
        return _Ramp()


@pytest.mark.parametrize("solver", sorted(documented_solvers(DPHuberRegressor)))
@pytest.mark.parametrize("options", [None, {"schedule": "convex"}])
def test_no_step_of_length_zero_is_made_of_a_loss_without_curvature(solver, options):
    if options and "schedule" not in ALL_SOLVERS[solver].options():
        options = None
    text = refusal(build(_Median, solver, solver_options=options))
    assert "learning_rate=None" in text or "bounded curvature" in text
    if "learning_rate=None" in text:
        with pytest.raises(pytest.fail.Exception, match="noise was drawn"):
            build(_Median, solver, learning_rate=0.5).fit(*training_rows(_Median()))


def test_the_docstring_offers_every_solver():
    assert documented_solvers(DPTDRegressor) == set(VALUE_SOLVERS)
