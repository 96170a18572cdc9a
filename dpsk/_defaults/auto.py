"""The choice of a solver by solver="auto", from public facts."""

import numpy as np

from dpsk._defaults.descent import default_steps
from dpsk._defaults.risks import RISKS
from dpsk._objective.penalties import ConstraintSet, L1Ball

__all__ = ["auto_solver", "solver_in_set"]

#: Measured factors of the two predicted risks inside an l1 ball.
_DESCENT_RISK, _VERTEX_RISK = 0.016, 0.23


def auto_solver(problem):
    """Return the name of the solver whose predicted excess risk is least.

    The penalty is on all coordinates, intercept included. Predictions follow from public facts. L
    bounds a row's gradient and beta its curvature. S is ``n mu / sqrt(d)``, or ``n epsilon / d``
    for pure epsilon. Then ``2 L / S`` is the norm of the noise in one released mean gradient.
    Constants are measured.
    """
    if isinstance(problem.penalty, ConstraintSet):
        return solver_in_set(problem)
    if not problem.loss.convex:
        return "gd" if problem.delta > 0 else "stgd"
    risks = {name: risk(problem) for name, risk in RISKS.items()}
    return min(risks, key=risks.get)


def solver_in_set(problem):
    """Return the name of the solver whose predicted excess risk in a convex set is least.

    The risk of projected descent ("gd") with T steps is mostly bias, ``beta (R rho)^2 / T^2``,
    where R is the l2 norm of a row and rho the radius. The risk of Frank-Wolfe depends on the
    bound X on entries, ``(beta (X rho)^2)^(1/3) (rho X log 2p / (n mu))^(2/3)``. Mirror descent
    was never better than both by more than noise.
    """
    if not isinstance(problem.penalty, L1Ball):
        if problem.delta > 0:
            return "gd"
        return "output_perturbation" if problem.loss.convex else "stgd"
    if problem.delta == 0:
        return "frank_wolfe"
    model, loss = problem.model, problem.loss
    reach = problem.penalty.radius * model.coordinate_bound
    size = problem.n_samples * problem.mu
    noise = reach * np.log(2.0 * model.dimension) / size
    vertices = _VERTEX_RISK * (loss.smoothness * reach**2 * noise**2) ** (1.0 / 3.0)
    length = problem.penalty.radius * model.radius / default_steps(problem)
    descent = _DESCENT_RISK * loss.smoothness * length**2
    return "frank_wolfe" if vertices < descent else "gd"
