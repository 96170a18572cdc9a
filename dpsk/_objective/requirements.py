"""Requirements of solvers on loss, penalty and budget, and the errors where one is not met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.losses import Squared
from dpsk._objective.penalties import ConstraintSet, L1Ball

if TYPE_CHECKING:
    from typing import Any


__all__ = ["BOUNDED_CURVATURE", "BOUNDED_SLOPE", "CONVEX_LOSS", "FEW_COLUMNS", "FINITE_CLIP",
           "IN_AN_L1_BALL", "IN_A_SET", "L2_PENALTY", "NOT_PIECEWISE", "NO_BUDGET",
           "POSITIVE_DELTA", "RIDGE", "RIDGE_OR_NONE", "SCALAR_PREDICTION", "SQUARED_LOSS",
           "Requirement", "check_requirements"]


#: Larger matrices cost more than all steps of a descent, and are mostly noise.
_MOST_PAIRED = 2001


@dataclass(frozen=True)
class Requirement:
    """Requirement of a solver on the rest of a problem.

    Parameters
    ----------
    is_met : callable, (solver, problem) -> bool
        Of a solver as the caller set it up.
    message : str
        What is said where it is not; may name {solver} and {loss}.
    need : str
        What is needed, in a word or two, for the pages of solvers.
    """

    is_met: object
    message: str
    need: str


FINITE_CLIP = Requirement(
    lambda solver, problem: solver.clip_norm is None or np.isfinite(solver.clip_norm)
    or np.isfinite(problem.lipschitz) or not problem.is_private,
    "clip_norm=inf: {loss}, times whatever sample weights are given, does not bound the "
    "gradient of a row; set a finite clip_norm.",
    "a finite `clip_norm`, unless the loss bounds the gradient of a row")
BOUNDED_SLOPE = Requirement(
    lambda solver, problem: np.isfinite(problem.lipschitz),
    "solver={solver!r} needs a loss of bounded slope, and {loss}, times whatever sample "
    "weights are given, is not one; use solver='gd'.",
    "a loss of bounded slope")
BOUNDED_CURVATURE = Requirement(
    lambda solver, problem: np.isfinite(problem.smoothness),
    "solver={solver!r} needs a loss of bounded curvature, and {loss}, times whatever sample "
    "weights are given, is not one; use solver='gd'.",
    "a loss of bounded curvature")
RIDGE = Requirement(
    lambda solver, problem: problem.penalty.is_smooth
    and problem.penalty.strong_convexity > 0,
    "solver={solver!r} needs penalty='l2' with alpha > 0, which is what makes earlier steps "
    "fade; use solver='gd'.",
    'penalty "l2" with ``alpha > 0``')
CONVEX_LOSS = Requirement(
    lambda solver, problem: problem.loss.convex,
    "solver={solver!r} rests on steps that bring neighboring runs no further apart, which "
    "needs a convex loss, and {loss} is none; use solver='gd'.",
    "a convex loss")
IN_A_SET = Requirement(
    lambda solver, problem: isinstance(problem.penalty, ConstraintSet),
    "solver={solver!r} moves inside a set, so it needs penalty='l1_ball', 'l2_ball', 'box' or "
    "'simplex' with a radius; use solver='gd' for another penalty.",
    'a penalty that is a set: "l1_ball", "l2_ball", "box" or "simplex"')
IN_AN_L1_BALL = Requirement(
    lambda solver, problem: isinstance(problem.penalty, L1Ball),
    "solver={solver!r} goes from vertex to vertex of an l1 ball, so it needs "
    "penalty='l1_ball' with a radius; use solver='gd' for another penalty.",
    'penalty "l1_ball"')
SCALAR_PREDICTION = Requirement(
    lambda solver, problem: not problem.loss.vector_output,
    "solver={solver!r} needs a scalar prediction, and {loss} has several, in which one row "
    "moves several directions of the Hessian. Only binary classification is supported. For "
    "more classes use solver='gd', or solver='output_perturbation' at delta=0.",
    "one score a row: no more than two classes")
NOT_PIECEWISE = Requirement(
    lambda solver, problem: not problem.loss.piecewise,
    "solver={solver!r} goes as far as second derivatives say, and {loss} has parts without any; "
    "use solver='gd'.",
    "a loss with second derivatives everywhere")
FEW_COLUMNS = Requirement(
    lambda solver, problem: problem.model.shape[0] <= _MOST_PAIRED,
    f"solver={{solver!r}} releases a matrix of all pairs of columns, at most {_MOST_PAIRED} with "
    "the constant; use solver='gd'.",
    "at most 2000 columns")
SQUARED_LOSS = Requirement(
    lambda solver, problem: isinstance(problem.loss, Squared),
    "solver={solver!r} solves least squares, and {loss} is another loss; use solver='gd'.",
    "the squared loss")
L2_PENALTY = Requirement(
    lambda solver, problem: problem.penalty.smoothness == problem.penalty.strong_convexity
    and problem.penalty.is_smooth,
    "solver={solver!r} takes penalty='l2' only; use solver='gd' for another penalty.",
    'penalty "l2"')
NO_BUDGET = Requirement(
    lambda solver, problem: not problem.is_private,
    "solver={solver!r} adds no noise, so it runs at epsilon=inf alone; use solver='auto'.",
    "``epsilon=inf``")
RIDGE_OR_NONE = Requirement(lambda solver, problem: problem.penalty.is_smooth,
                            L2_PENALTY.message, 'penalty "l2" or none')
POSITIVE_DELTA = Requirement(
    lambda solver, problem: problem.delta > 0,
    "delta=0.0: solver={solver!r} adds Gaussian noise, which needs delta > 0; leave "
    "delta=None for 1/n**2. For pure epsilon, where the estimator offers it: "
    "solver='objective_perturbation', solver='output_perturbation' with several classes, or "
    "solver='stgd' for a loss that is not convex.",
    "``delta > 0``")


def check_requirements(name: str, solver: Any, problem: Any) -> None:
    """Raise a ValueError naming the first requirement of `solver` that `problem` fails.

    To be called before the solver is configured, which may rely on them.
    """
    if problem.loss.minimax != solver.minimax:
        kind, instead = ("no", "gd") if solver.minimax else ("a", "sgda")
        raise ValueError(f"solver={name!r}: the loss makes {kind} saddle problem; use "
                         f"solver={instead!r}.")
    if not (problem.model.is_linear or solver.minimax or solver.takes_networks):
        raise ValueError(f"solver={name!r} rests on rows that enter linearly, which those of a "
                         "network do not; use solver='gd' or 'sgd'.")
    if not (problem.is_private or solver.without_noise):
        raise ValueError(f"epsilon=inf: solver={name!r} rests on its noise, and there is none; "
                         "leave solver='auto'.")
    for requirement in solver.requires:
        if not requirement.is_met(solver, problem):
            loss = type(problem.loss).__name__
            raise ValueError(requirement.message.format(solver=name, loss=loss))
    _check_curvature(name, solver, problem)


def _check_curvature(name: str, solver: Any, problem: Any) -> None:
    """Raise a ValueError where steps would follow from a curvature that has no bound."""
    if problem.loss.minimax or not problem.model.is_linear or np.isfinite(problem.loss.smoothness):
        return
    if problem.loss.of_transitions:
        # Steps along temporal differences have a default of their own.
        return
    loss = type(problem.loss).__name__
    if {IN_A_SET, IN_AN_L1_BALL} & set(solver.requires):
        raise ValueError(f"solver={name!r} moves by the bounded curvature of a loss, which {loss} "
                         "has not; use solver='gd' with a learning_rate.")
    rule = BOUNDED_CURVATURE not in solver.requires and not getattr(solver, "adaptive", None)
    if rule and getattr(solver, "learning_rate", 1.0) is None:
        raise ValueError(f"learning_rate=None: {loss} has no bounded curvature, from which a step "
                         "would follow; set learning_rate.")
