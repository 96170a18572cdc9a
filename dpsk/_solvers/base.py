"""What a solver is told, what it must offer, and what it hands back."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from dpsk._losses import Loss, Squared
from dpsk._models import LinearModel
from dpsk._models.linear import HEADROOM
from dpsk._penalties import ConstraintSet, L1Ball, Penalty

__all__ = ["Problem", "Result", "Solver", "bounded_step", "check_monotone",
           "check_requirements", "full_clip_norm"]


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
    directions : float or None
        None for rows as they are. For whitened rows, of norm at most 1, the number of directions
        in which they vary alike: their second moment is about the identity over it.
    weight_bound : float
        Public bound on the rows' weights; inf where there is none.
    unevenness : float
        The largest second moment, as released, that whitening left in a direction; 1 or more.
    """

    n_samples: int
    model: LinearModel
    loss: Loss
    penalty: Penalty
    epsilon: float
    delta: float
    directions: float | None = None
    weight_bound: float = 1.0
    unevenness: float = 1.0

    @property
    def lipschitz(self):
        """float : norm bound of one row's gradient without clipping."""
        return self.weight_bound * self.loss.lipschitz * self.model.radius

    @property
    def smoothness(self):
        """float : smoothness of one row's loss in theta."""
        return self.weight_bound * self.loss.smoothness * self.model.radius**2

    def start(self, normals):
        """Return where a solver starts: the model's own start, then zeros for what a loss adds.

        Parameters
        ----------
        normals : callable
            From a shape to public standard normals.
        """
        theta = self.model.initial(normals)
        return np.append(theta, np.zeros(self.loss.n_extra)) if self.loss.n_extra else theta

    @property
    def usual_weight(self):
        """float : the bound on weights, 1 where there is none: for defaults that need a number."""
        return self.weight_bound if np.isfinite(self.weight_bound) else 1.0

    @property
    def risk_at_zero(self):
        """float : public bound on the mean loss at theta = 0; unbounded weights count as 1."""
        return self.usual_weight * self.loss.at_zero(self.model.n_outputs)


@dataclass(frozen=True)
class Result:
    """What a solver returns.

    Attributes
    ----------
    theta : ndarray
        A function of noisy answers and public numbers only. Of a saddle problem the primal
        numbers, then the dual ones.
    n_iter : int
        The planned number of steps, drawn at random or not.
    """

    theta: np.ndarray
    n_iter: int


class Solver(ABC):
    """An algorithm: a frozen dataclass of public hyper-parameters.

    A field left at None is filled by `configured` from public facts. A solver holds no rows:
    it asks an oracle, whose every answer is noisy and charged.
    """

    #: The class of the oracle that this solver asks; the fit opens it, the rows stay inside.
    oracle: ClassVar[type]
    #: Names in REQUIREMENTS of what the rest of the problem must offer.
    requires: ClassVar[tuple] = ()
    #: Whether the guarantee needs every coordinate, intercept included, to be penalised.
    penalizes_intercept: ClassVar[bool] = False
    #: Whether whitened rows help; a method that solves exactly has no use for them.
    whitens: ClassVar[bool] = True
    #: Whether it has a `clip_norm` for gradients.
    clips: ClassVar[bool] = True
    #: What of one row's gradient is at most `clip_norm`.
    clip_measure = "l2 norm"
    #: Parameters that estimators offer by name but this solver has no use for.
    ignores: ClassVar[tuple] = ()
    #: Whether it solves saddle problems, and then only these.
    minimax: ClassVar[bool] = False
    #: Whether it trains networks, whose gradients have no bound but the clip.
    takes_networks: ClassVar[bool] = False
    #: Whether its scores may be rescaled after it, along its own oracle's ray.
    tempers: ClassVar[bool] = False
    #: Whether it takes public rows, which no guarantee covers.
    wants_holdout = False

    @abstractmethod
    def configured(self, problem):
        """Return a copy with every field set, by a documented rule of public facts."""

    def drawn(self, problem, draw_index):
        """Return a copy with its public random choices made, before anything is planned.

        `draw_index` returns a uniform index below its argument. Its stream is not that of the
        noise, and the rows do not key it, so plan and noise may follow the outcome and the
        outcome may be published.
        """
        return self

    @property
    def clip_bounds(self):
        """float, tuple of float or None : what its oracle clips at, None where it does not."""
        return self.clip_norm if self.clips else None

    @abstractmethod
    def plan(self, problem):
        """Return the declaration: a hashable function from a noise multiplier to an Event."""

    def public_facts(self, problem):
        """Return what the certificate should say of the run beside its events, as strings."""
        return ()

    @abstractmethod
    def minimize(self, oracle, penalty, theta):
        """Run from the public start `theta` and return a Result."""

    def stated(self):
        """Return what the certificate states besides the clip norm, a list of Enforced."""
        return []

    @classmethod
    def options(cls):
        """Return the names of the fields, sorted."""
        return sorted(f.name for f in fields(cls))


#: name -> (test of (solver, problem), what to say when it fails)
REQUIREMENTS = {
    "finite clip": (
        lambda solver, problem: solver.clip_norm is None or np.isfinite(solver.clip_norm)
        or np.isfinite(problem.lipschitz),
        "clip_norm=inf: {loss}, times whatever sample weights are given, does not bound the "
        "gradient of a row; set a finite clip_norm."),
    "loss.lipschitz": (
        lambda solver, problem: np.isfinite(problem.lipschitz),
        "solver={solver!r} needs a loss of bounded slope, and {loss}, times whatever sample "
        "weights are given, is not one; use solver='gd'."),
    "loss.smoothness": (
        lambda solver, problem: np.isfinite(problem.smoothness),
        "solver={solver!r} needs a loss of bounded curvature, and {loss}, times whatever sample "
        "weights are given, is not one; use solver='gd'."),
    "ridge": (
        lambda solver, problem: problem.penalty.is_smooth
        and problem.penalty.strong_convexity > 0,
        "solver={solver!r} needs penalty='l2' with alpha > 0, which is what makes earlier steps "
        "fade; use solver='gd'."),
    "convex loss": (
        lambda solver, problem: problem.loss.convex,
        "solver={solver!r} rests on steps that bring neighbouring runs no further apart, which "
        "needs a convex loss, and {loss} is none; use solver='gd'."),
    "constraint set": (
        lambda solver, problem: isinstance(problem.penalty, ConstraintSet),
        "solver={solver!r} moves inside a set, so it needs penalty='l1_ball', 'l2_ball', 'box' or "
        "'simplex' with a radius; use solver='gd' for another penalty."),
    "l1 ball": (
        lambda solver, problem: isinstance(problem.penalty, L1Ball),
        "solver={solver!r} goes from vertex to vertex of an l1 ball, so it needs "
        "penalty='l1_ball' with a radius; use solver='gd' for another penalty."),
    "scalar prediction": (
        lambda solver, problem: not problem.loss.vector_output,
        "solver={solver!r} needs a scalar prediction, and {loss} has several, in which one row "
        "moves several directions of the Hessian. Only binary classification is supported. For "
        "more classes use solver='gd', or solver='output_perturbation' at delta=0."),
    "squared loss": (
        lambda solver, problem: isinstance(problem.loss, Squared),
        "solver={solver!r} solves least squares, and {loss} is another loss; use solver='gd'."),
    "l2 penalty": (
        lambda solver, problem: problem.penalty.smoothness == problem.penalty.strong_convexity
        and problem.penalty.is_smooth,
        "solver={solver!r} takes penalty='l2' only; use solver='gd' for another penalty."),
    "delta > 0": (
        lambda solver, problem: problem.delta > 0,
        "delta=0.0: solver={solver!r} adds Gaussian noise, which needs delta > 0; leave "
        "delta=None for 1/n**2. For pure epsilon, where the estimator offers it: "
        "solver='objective_perturbation', solver='output_perturbation' with several classes, or "
        "solver='stgd' for a loss that is not convex."),
}


def check_requirements(name, solver, problem):
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
    for requirement in solver.requires:
        met, message = REQUIREMENTS[requirement]
        if not met(solver, problem):
            loss = type(problem.loss).__name__
            raise ValueError(message.format(solver=name, loss=loss))


def check_monotone(problem, clip_norm):
    """Raise a ValueError where clipping would void an argument by nonexpansive steps."""
    if problem.loss.vector_output and clip_norm < full_clip_norm(problem):
        raise ValueError(
            f"clip_norm={clip_norm!r} clips gradients of a vector-valued prediction, which are "
            "then not the gradients of any convex loss; set clip_norm=inf or use solver='gd'.")


def bounded_step(step, curvature, rule):
    """Return `step`, at most ``2 / curvature``; raise a ValueError where it is longer.

    The longest step is lowered by as much as rounding could lengthen it.

    Parameters
    ----------
    step : float
        The learning rate given.
    curvature : float
    rule : str
        What the longest step is, for the message.
    """
    longest = 2.0 / curvature
    if step > longest * (1.0 + 1e-12):
        raise ValueError(f"learning_rate={step!r}: must be at most {longest!r}, {rule}; leave "
                         "learning_rate=None, or use solver='gd'.")
    return min(step, longest * (1.0 - 2.0**-50))


def full_clip_norm(problem):
    """Return the smallest clip norm that clips nothing, head-room included."""
    return problem.lipschitz / HEADROOM
