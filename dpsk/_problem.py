"""The problem that a solver minimizes, its budget and its rows, in public numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpsk._models.clipping import HEADROOM
from dpsk._privacy.closed_forms import gaussian_mu

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._objective.penalties import Penalty
    from dpsk._typing import FloatArray

__all__ = ["Budget", "Geometry", "Problem", "full_clip_norm"]


@dataclass(frozen=True)
class Budget:
    """Budget of releases without a solver, and the size of the table.

    Parameters
    ----------
    n_samples, n_columns : int
    epsilon, delta : float
        epsilon=inf means no budget.
    grouped : bool
        Whether `n_samples` are groups of rows.
    """

    n_samples: int
    n_columns: int
    epsilon: float
    delta: float
    # Not in the repr, because the key of the noise includes the groups already.
    grouped: bool = field(default=False, repr=False)

    @property
    def unit(self) -> str:
        """str : the unit of privacy, a row or a group of rows."""
        return "group" if self.grouped else "row"

    @property
    def is_private(self) -> bool:
        """bool : whether there is a budget, and so noise; not at an infinite epsilon."""
        return self.epsilon < math.inf

    @property
    def signal_to_noise(self) -> float:
        """float : ``n mu`` over the number of columns; infinite without noise."""
        if not self.is_private:
            return math.inf
        return self.n_samples * gaussian_mu(self.epsilon, self.delta) / self.n_columns


@dataclass(frozen=True)
class Geometry:
    """Geometry of rows that a stage has transformed: assumed at first, then released.

    Parameters
    ----------
    effective_rank : float
        Effective number of directions of rows of norm at most 1: their second moment is about
        the identity divided by it.
    unevenness : float
        The largest second moment of transformed rows in a direction; 1 or more.
    usual_norm : float
        Norm of a typical row.
    """

    effective_rank: float
    unevenness: float = 1.0
    usual_norm: float = 1.0


@dataclass(frozen=True)
class Problem:
    """Objective, budget, table and geometry of one fit.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    model : LinearModel or MLP
    loss : Loss
    penalty : Penalty
        The objective is the mean of ``loss(y, model(x))`` and the penalty.
    epsilon, delta : float
        The budget; an infinite epsilon is none.
    geometry : Geometry or None
        None for untransformed rows.
    weight_bound : float
        Public bound on the rows' weights; inf if there is none.
    grouped : bool
        Whether `n_samples` are groups of rows.
    log_odds : float
        Released log-odds of the second of two classes, from which descent starts if one of them
        is rare; else 0. No privacy cost depends on it.
    weight_mean : float
        Released mean of sample weights over their bound, for the steps of networks alone.
    """

    n_samples: int
    # Models are linear, networks, or of states; losses are per row or of a saddle problem.
    model: Any
    loss: Any
    penalty: Penalty
    epsilon: float
    delta: float
    geometry: Geometry | None = None
    weight_bound: float = 1.0
    # Not in the repr: the key of the noise includes the groups, and odds that are not 0.
    grouped: bool = field(default=False, repr=False)
    log_odds: float = field(default=0.0, repr=False)
    weight_mean: float = field(default=1.0, repr=False)

    @cached_property
    def lipschitz(self) -> float:
        """float : norm bound of one row's gradient without clipping."""
        return self.weight_bound * self.loss.lipschitz * self.model.radius

    @property
    def smoothness(self) -> float:
        """float : smoothness of one row's loss in theta."""
        return self.weight_bound * self.loss.smoothness * self.model.radius**2

    @cached_property
    def is_private(self) -> bool:
        """bool : whether there is a budget, and so noise; not at an infinite epsilon."""
        return self.epsilon < math.inf

    @cached_property
    def mu(self) -> float:
        """float : the budget as mu of Gaussian releases; infinite without a budget."""
        return gaussian_mu(self.epsilon, self.delta)

    @cached_property
    def signal_to_noise(self) -> float:
        """float : ``n mu`` over the number of columns, the constant included.

        With pure epsilon, epsilon replaces mu.
        """
        mu = self.mu if self.delta > 0 else self.epsilon
        return self.n_samples * mu / self.model.shape[0]

    def start(self, normals: Callable[..., FloatArray]) -> FloatArray:
        """Return the start of a solver: the model's own, then zeros for variables of the loss.

        `normals` returns public standard normals of a shape.
        """
        theta = self.model.initial(normals)
        # A constraint set may not contain that point; its solvers start from the center.
        if self.loss.vector_output and self.loss.first_score and self.penalty.is_smooth:
            theta = self.model.constant(self.loss.first_score)
        if self.log_odds:
            theta = self.model.constant(self.log_odds)
        return np.append(theta, np.zeros(self.loss.n_extra)) if self.loss.n_extra else theta

    @cached_property
    def usual_weight(self) -> float:
        """float : the bound on weights, or 1 if there is none, for defaults that need a number."""
        return self.weight_bound if np.isfinite(self.weight_bound) else 1.0

    @property
    def risk_at_zero(self) -> float:
        """float : public bound on the mean loss at theta = 0; unbounded weights count as 1."""
        return self.usual_weight * self.loss.at_zero(self.model.n_outputs)


def full_clip_norm(problem: Problem) -> float:
    """Return the smallest clip norm that clips no gradient, with rounding slack."""
    return problem.lipschitz / HEADROOM
