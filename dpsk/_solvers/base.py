"""What a solver is told, what it must offer, and what it hands back."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from dpsk._losses import Loss
from dpsk._models import LinearModel
from dpsk._models.linear import headroom
from dpsk._penalties import Penalty

__all__ = ["Problem", "Result", "Solver", "check_requirements", "full_clip_norm"]


@dataclass(frozen=True)
class Problem:
    """The public facts of one fit.

    Parameters
    ----------
    n_samples : int
    model : LinearModel
    loss : Loss
    penalty : Penalty
    epsilon, delta : float
        The budget.
    dtype : str
        Name of the floating type that sums are made in.
    """

    n_samples: int
    model: LinearModel
    loss: Loss
    penalty: Penalty
    epsilon: float
    delta: float
    dtype: str = "float64"

    @property
    def lipschitz(self):
        """float : norm bound of one row's gradient without clipping."""
        return self.loss.lipschitz * self.model.radius

    @property
    def smoothness(self):
        """float : smoothness of one row's loss in theta."""
        return self.loss.smoothness * self.model.radius**2


@dataclass(frozen=True)
class Result:
    """What a solver returns.

    Attributes
    ----------
    theta : ndarray
        A function of noisy answers and public numbers only.
    n_iter : int
        The planned number of steps.
    """

    theta: np.ndarray
    n_iter: int


class Solver(ABC):
    """An algorithm: a frozen dataclass of public hyper-parameters.

    A field left at None is filled by `configured` from public facts. A solver holds no rows:
    it asks an oracle, whose every answer is noisy and charged.
    """

    #: Names in REQUIREMENTS of what the rest of the problem must offer.
    requires: ClassVar[tuple] = ()
    #: Whether the guarantee needs every coordinate, intercept included, to be penalised.
    penalizes_intercept: ClassVar[bool] = False
    #: The floating type the guarantee needs, or None to keep that of the rows.
    working_dtype: ClassVar[str | None] = None
    #: Parameters that estimators offer by name but this solver has no use for.
    ignores: ClassVar[tuple] = ()

    @abstractmethod
    def configured(self, problem):
        """Return a copy with every field set, by a documented rule of public facts."""

    @abstractmethod
    def plan(self, problem):
        """Return the declaration: a hashable function from a noise multiplier to an Event."""

    @abstractmethod
    def oracle(self, problem, sums, noise_multiplier, stream, ledger):
        """Return the oracle that this solver asks, at the given noise multiplier."""

    @abstractmethod
    def minimize(self, oracle, penalty, theta):
        """Run from the public start `theta` and return a Result."""

    @classmethod
    def options(cls):
        """Return the names of the fields, sorted."""
        return sorted(f.name for f in fields(cls))


#: name -> (test of (solver, problem), what to say when it fails)
REQUIREMENTS = {
    "finite clip": (
        lambda solver, problem: np.isfinite(solver.clip_norm),
        "clip_norm=inf: {loss} does not bound the gradient of a row; set a finite clip_norm."),
    "loss.lipschitz": (
        lambda solver, problem: np.isfinite(problem.loss.lipschitz),
        "solver={solver!r} needs a loss with bounded slope, which {loss} has not; "
        "use solver='gd' with a finite clip_norm."),
    "loss.smoothness": (
        lambda solver, problem: np.isfinite(problem.loss.smoothness),
        "solver={solver!r} needs a smooth loss, which {loss} is not; use solver='gd'."),
    "delta > 0": (
        lambda solver, problem: problem.delta > 0,
        "delta=0.0: solver={solver!r} adds Gaussian noise, which needs delta > 0; leave "
        "delta=None for 1/n**2, or use solver='output_perturbation' for pure epsilon."),
}


def check_requirements(name, solver, problem):
    """Raise a ValueError naming the first requirement of `solver` that `problem` fails."""
    for requirement in solver.requires:
        met, message = REQUIREMENTS[requirement]
        if not met(solver, problem):
            loss = type(problem.loss).__name__
            raise ValueError(message.format(solver=name, loss=loss))


def full_clip_norm(problem):
    """Return the smallest clip norm that clips nothing, head-room included."""
    return problem.lipschitz / headroom(problem.dtype)
