r"""Step sizes and numbers of steps by the theorems of Wang, Ye and Xu (2017).

All constants are explicit. Write L for the smoothness of the objective, G for the clip norm, p
for the number of coefficients, ``F0`` for the public bound on the loss at 0, mu for the budget
and m for the constant of the Polyak-Lojasiewicz inequality. T released gradients have noise of
variance ``4 G^2 T / (n mu)^2`` per coordinate. With step size ``1 / L``:

- "convex": the mean loss of the iterates exceeds the minimum by at most
  ``L B^2 / (2 T) + p 4 G^2 T / ((n mu)^2 L)``; ``T = B L n mu / (sqrt(8 p) G)``. The solver
  returns the average. B bounds the distance to the minimizer and is set to 5 over the rows'
  radius.
- "pl" (Theorem 6.2): the last iterate exceeds the minimum by at most
  ``F0 exp(-T m / L) + p 4 G^2 T / (2 m (n mu)^2)``;
  ``T = (L / m) log(F0 m^2 (n mu)^2 / (2 L p G^2))``.
- "strongly_convex": as "pl", with the curvature of the penalty as m.
- "nonconvex" (Theorem 6.3): the squared norm of the gradient at a random iterate is at most
  ``2 L F0 / T + p 4 G^2 T / (n mu)^2``; ``T = sqrt(L F0 / (2 p)) n mu / G``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._problem import Problem

__all__ = ["ITERATE", "check_schedule", "scheduled_steps"]

#: Iterate that each theorem bounds.
ITERATE = {"convex": "average", "nonconvex": "random", "pl": "last", "strongly_convex": "last"}
_FEWEST, _MOST = 1, 5000


def check_schedule(schedule: Any, problem: Problem, pl_constant: Any) -> None:
    """Raise a ValueError if the assumptions of a schedule's theorem do not hold."""
    if not problem.model.is_linear:
        raise ValueError(f"solver_options: schedule={schedule!r}: its theorem needs a bound on "
                         "the curvature, which a network has not; leave schedule='default'.")
    if schedule in ("convex", "strongly_convex") and not problem.loss.convex:
        raise ValueError(f"solver_options: schedule={schedule!r}: needs a convex loss, which "
                         f"{type(problem.loss).__name__} is not; use schedule='nonconvex'.")
    if schedule == "strongly_convex" and not problem.penalty.strong_convexity:
        raise ValueError("solver_options: schedule='strongly_convex': needs penalty='l2' with "
                         "alpha > 0 on all coordinates; set alpha and fit_intercept=False, or "
                         "use schedule='pl' with a pl_constant.")
    if schedule == "pl" and not pl_constant:
        raise ValueError("solver_options: schedule='pl': needs the constant of the inequality; "
                         "set pl_constant to a public number > 0.")
    if schedule in ("nonconvex", "pl") and not problem.penalty.is_smooth:
        raise ValueError(f"solver_options: schedule={schedule!r}: its theorem is about a smooth "
                         "objective; use penalty='l2', or another schedule.")


def scheduled_steps(schedule: Any, problem: Problem, clip_norm: float, step: float,
                    pl_constant: Any) -> Any:
    """Return T by the theorem of a schedule, a key of ITERATE, from public facts."""
    smoothness, risk = 1.0 / step, problem.risk_at_zero
    # The signal-to-noise ratio of one gradient.
    signal = problem.n_samples * problem.mu / (
        clip_norm * math.sqrt(problem.model.dimension))
    if schedule == "convex":
        steps = 5.0 / problem.model.radius * smoothness * signal / math.sqrt(8.0)
    elif schedule == "nonconvex":
        steps = math.sqrt(0.5 * smoothness * risk) * signal
    else:
        gain = risk * (pl_constant * signal)**2 / (2.0 * smoothness)
        steps = smoothness / pl_constant * math.log(max(gain, 1.0))
    return int(np.clip(round(min(steps, _MOST)), _FEWEST, _MOST))
