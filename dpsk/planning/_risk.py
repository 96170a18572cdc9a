"""Predicted excess risk of fits at their defaults, and what they spend before coefficients."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
from scipy.special import entr

from dpsk._defaults.budgets import whitening_pays
from dpsk._defaults.risks import RISKS, USUAL_SPREAD, fit_risk
from dpsk._models import LinearModel
from dpsk._objective.losses import LOSSES
from dpsk._objective.penalties import PENALTIES
from dpsk._privacy import accountant
from dpsk._privacy.events import Composed
from dpsk._problem import Budget, Problem
from dpsk._stages import ColumnScaling, NormBound, RowCentering, Whitening
from dpsk._stages.bounds_within import BoundsWithin, tighter_pays

__all__ = ["NAMES", "constant_risk", "excess_risk", "good_enough", "learning_share", "training"]

#: Names of losses, with the loss objects that the plan uses with default parameters.
NAMES = {"logistic": "logistic", "hinge": "huberized_hinge", "squared": "squared"}
#: Acceptable excess risk if half of the rows are cases; the logistic loss of a model that knows
#: only the class shares is then .69. Other shares scale it in proportion to that loss.
_ENOUGH = 0.02


def _known(loss, share):
    """Return the loss of the best constant, over its largest value for any targets."""
    if loss == "squared":
        return USUAL_SPREAD**2
    return float((entr(share) + entr(1.0 - share)) / math.log(2.0)) if loss == "logistic" else (
        2.0 * min(share, 1.0 - share))


def good_enough(loss, share):
    """Return the acceptable excess risk, relative to the loss of the best constant."""
    return _ENOUGH * _known(loss, share)


def constant_risk(loss, share):
    """Return the loss of the best constant, which exceeds the least by at most that."""
    return {"logistic": math.log(2.0), "hinge": 1.0, "squared": 0.5}[loss] * _known(loss, share)


def training(n_samples, n_features, epsilon, delta, loss, alpha):
    """Return the problem of a linear model with intercept on rows of norm <= 1."""
    return Problem(
        n_samples=n_samples, loss=LOSSES[NAMES[loss]](), epsilon=epsilon, delta=delta,
        model=LinearModel(n_features, None, True, 1.0, homogeneous=loss != "squared"),
        penalty=PENALTIES["l2"](alpha=alpha, l1_ratio=0.0, radius=1.0, unpenalized=1))


def learning_share(problem):
    """Return the share of mu^2 for scales, center and bounds, as fits to features learn them."""
    rows = SimpleNamespace(n_features=problem.model.n_features, is_sparse=False, groups=None)
    bounds = [NormBound(problem.model)]
    if not problem.model.homogeneous and tighter_pays(
            Budget(problem.n_samples, 1, problem.epsilon, problem.delta), True):
        bounds.append(BoundsWithin(None, np.float64, (-1.0, 1.0)))
    if whitening_pays(problem):
        problem = Whitening(problem.model, np.float64, True).prepared(problem)
    stages = [*ColumnScaling.stages(problem, rows), *RowCentering.stages(problem, rows), *bounds]
    try:
        events = [stage.event(problem) for stage in stages]
    except ValueError:  # With too few rows for a bound, fits learn none of these.
        return 0.0
    return (accountant.merge(Composed(tuple(events))).rest.mu / problem.mu)**2


def excess_risk(problem, most):
    """Return the predicted excess risk, at most that of a constant."""
    # Descent is in `fit_risk`. Newton's method is sharp where it runs, but seldom reached.
    others = (risk(problem) for name, risk in RISKS.items() if name not in ("gd", "newton"))
    return min(fit_risk(problem), most, *others)
