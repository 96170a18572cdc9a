"""The loop and the clip norm of groups that two kinds of gradient descent share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpsk._solvers.base import Result, Solver
from dpsk._solvers.steps import first_kept

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._objective.penalties.base import Penalty
    from dpsk._typing import FloatArray

__all__ = ["GroupClipped", "descend"]


@dataclass(frozen=True)
class GroupClipped(Solver):
    """A solver that clips rows' gradients and, for grouped rows, the groups' averages.

    Parameters
    ----------
    group_clip_norm : float or None
        For linear models on grouped rows: clip norm of the average of a group's clipped
        gradients. It replaces C in the noise scale. None: C / 8; inf means C.
    """

    # Not in the repr, so that fits without groups keep their noise key.
    group_clip_norm: float | None = field(default=None, repr=False, kw_only=True)

    takes_groups = True


def descend(oracle: Any, penalty: Penalty, theta: FloatArray, *, step: float, n_steps: int,
            iterate: str, momentum: Callable[..., Any]) -> Result:
    """Take noisy proximal gradient steps from a public start; return a Result.

    `momentum` returns the momentum factor after step ``t = 0, 1, ...``; 0.0 for none.
    """
    first = first_kept(n_steps, iterate)
    point, kept = theta, np.zeros_like(theta)
    for t in range(n_steps):
        gradient = oracle.gradient(point)
        gradient += penalty.gradient(point)
        gradient *= -step
        gradient += point
        following = penalty.prox(gradient, step)
        factor = momentum(t)
        point = following + factor * (following - theta) if factor else following
        theta = following
        if t >= first:
            kept += theta
    return Result(kept / (n_steps - first), n_steps)
