"""Helpers of saddle solvers: checks, the dual bound, the mean of late iterates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._parameters import check_real
from dpsk._privacy.certificate import Enforced
from dpsk._solvers.steps import check_iterate, first_kept

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["TailMean", "check_saddle", "dual_bound"]


class TailMean:
    """Mean of the last of `n_steps` iterates, by one of ITERATES.

    "random" is the last iterate of a number of steps that was drawn before.
    """

    def __init__(self, n_steps, iterate):
        self._first = first_kept(n_steps, iterate)
        self._seen, self._total = 0, 0.0

    def add(self, primal: FloatArray, dual: FloatArray) -> None:
        """Add the next iterate."""
        if self._seen >= self._first:
            self._total = self._total + np.concatenate([primal, dual])
        self._seen += 1

    def mean(self) -> FloatArray:
        """Return the mean: primal variables followed by dual variables."""
        return self._total / (self._seen - self._first)


def check_saddle(solver: Any) -> None:
    """Check the options that all saddle solvers take; raise a ValueError."""
    check_iterate(solver.iterate)
    for name in ("dual_clip_norm", "dual_learning_rate"):
        value = getattr(solver, name)
        if value is not None:
            check_real(f"solver_options: {name}", value, low=1e-10, high=1e10,
                       remedy="None, or a number in [1e-10, 1e10]")


def dual_bound(dual_clip_norm: float) -> Enforced:
    """Return the bound on a row's dual gradient, for the certificate."""
    return Enforced("dual_clip_norm", float(dual_clip_norm), "default, or declared in "
                    "solver_options", "l2 norm of one row's gradient in the dual variable; "
                    "longer ones are scaled down to it, infinite or undefined ones count as zero")
