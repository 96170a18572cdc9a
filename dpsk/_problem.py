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
        An infinite epsilon is none.
    grouped : bool
        Whether `n_samples` are groups of rows.
    """

    n_samples: int
    n_columns: int
    epsilon: float
    delta: float
    # Who is whose, or what stands for them, is in the key of the noise already.
    grouped: bool = field(default=False, repr=False)

    @property
    def unit(self) -> str:
        """str : what is protected, a row or a group of rows."""
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
    """Geometry of rows that a stage has mapped: assumed at first, then released.

    Parameters
    ----------
    effective_rank : float
        The number of directions in which rows of norm at most 1 vary alike: their second moment
        is about the identity over it.
    unevenness : float
        The largest second moment that the map left in a direction; 1 or more.
    usual_norm : float
        Norm of a usual row.
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
        Of the table.
    model : LinearModel or MLP
    loss : Loss
    penalty : Penalty
        The objective is the mean of ``loss(y, model(x))`` and the penalty.
    epsilon, delta : float
        The budget; an infinite epsilon is none.
    geometry : Geometry or None
        None for rows as they are.
    weight_bound : float
        Of the table: public bound on the rows' weights; inf where there is none.
    grouped : bool
        Whether `n_samples` are groups of rows.
    log_odds : float
        Released ones of the second of two classes, where one is rare, which descent starts from
        without momentum; else 0. No price follows from it.
    """

    n_samples: int
    # Models are linear, networks or of states; losses are of one row or of a saddle problem.
    model: Any
    loss: Any
    penalty: Penalty
    epsilon: float
    delta: float
    geometry: Geometry | None = None
    weight_bound: float = 1.0
    # Who is whose key is in that of the noise already, and so are rows that odds follow from.
    grouped: bool = field(default=False, repr=False)
    log_odds: float = field(default=0.0, repr=False)

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
        """float : the budget as that of Gaussian releases; infinite without one."""
        return gaussian_mu(self.epsilon, self.delta)

    @cached_property
    def signal_to_noise(self) -> float:
        """float : ``n mu`` over the number of columns, the constant included.

        For pure epsilon that stands for mu.
        """
        mu = self.mu if self.delta > 0 else self.epsilon
        return self.n_samples * mu / self.model.shape[0]

    def start(self, normals: Callable[..., FloatArray]) -> FloatArray:
        """Return where a solver starts: the model's own start, then zeros for what a loss adds.

        `normals` gives public standard normals of a shape.
        """
        theta = self.model.initial(normals)
        # Sets may be without that point, and solvers inside them start from their middle.
        if self.loss.vector_output and self.loss.first_score and self.penalty.is_smooth:
            theta = self.model.constant(self.loss.first_score)
        if self.log_odds:
            theta = self.model.constant(self.log_odds)
        return np.append(theta, np.zeros(self.loss.n_extra)) if self.loss.n_extra else theta

    @cached_property
    def usual_weight(self) -> float:
        """float : the bound on weights, 1 where there is none: for defaults that need a number."""
        return self.weight_bound if np.isfinite(self.weight_bound) else 1.0

    @property
    def risk_at_zero(self) -> float:
        """float : public bound on the mean loss at theta = 0; unbounded weights count as 1."""
        return self.usual_weight * self.loss.at_zero(self.model.n_outputs)


def full_clip_norm(problem: Problem) -> float:
    """Return the smallest clip norm that clips nothing, head-room included."""
    return problem.lipschitz / HEADROOM
