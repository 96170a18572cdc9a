"""Base class of solvers: what they are given, must offer, and return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from dpsk._objective.requirements import (
    BOUNDED_CURVATURE,
    IN_A_SET,
    L2_PENALTY,
    SQUARED_LOSS,
)
from dpsk._problem import full_clip_norm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._privacy.certificate_fields import Enforced
    from dpsk._problem import Problem
    from dpsk._queries.base import Queries
    from dpsk._typing import FloatArray

__all__ = ["NAMED_OPTIONS", "Result", "Solver", "bounded_step", "check_monotone"]

#: Fields of solvers that are parameters of estimators by name; others are solver options.
NAMED_OPTIONS = ("batch_size", "clip_norm", "learning_rate", "max_iter")


@dataclass(frozen=True)
class Result:
    """Result of a solver.

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

    #: The class of its queries; the fit runs them, and the rows stay inside.
    asks: ClassVar[type[Queries]]
    #: Requirements of what the rest of the problem must offer.
    requires: ClassVar[tuple] = ()
    #: Whether whitened rows help; a method that solves exactly has no use for them.
    whitens: ClassVar[bool] = True
    #: Whether its scores may be rescaled after it, along its own oracle's ray.
    takes_temperature: ClassVar[bool] = False
    #: Whether neither plan nor price depends on a penalty, so that it may be in a released unit.
    if TYPE_CHECKING:
        # Constants or properties; a field of those that clip.
        @property
        def takes_unit(self) -> bool: ...
        @property
        def clip_measure(self) -> str: ...
        clip_norm: Any
    else:
        takes_unit = False
        #: What of one row's gradient is at most `clip_norm`.
        clip_measure = "l2 norm"
    #: Whether nothing that it asks depends on the strength of a penalty, so that models of other
    #: strengths follow from its answers.
    penalizes_after: ClassVar[bool] = False
    #: Whether it runs at an infinite epsilon, with the noise multiplier 0.
    without_noise: ClassVar[bool] = False
    #: Whether all that it releases is Gaussian, at delta > 0 and whatever the problem.
    is_gaussian: ClassVar[bool] = False
    #: Whether it asks for nothing but sums to which a group of rows adds what one row may.
    takes_groups: ClassVar[bool] = False
    #: Parameters that estimators offer by name but this solver has no use for.
    ignores: ClassVar[tuple]
    #: Whether it has a `clip_norm` for gradients.
    clips: ClassVar[bool]
    #: Whether it solves saddle problems, and then only these.
    minimax: ClassVar[bool]
    #: Whether it trains networks, whose gradients have no bound but the clip.
    takes_networks: ClassVar[bool]
    #: Whether the guarantee rests on the bound on weights, so that greater ones are lowered.
    lowers_weights: ClassVar[bool]
    #: Whether the guarantee needs every coordinate, intercept included, to be penalized.
    penalizes_intercept: ClassVar[bool]

    def __init_subclass__(cls):
        # What fields and queries say already is not said again by every solver.
        own = {name for kind in cls.__mro__ for name in vars(kind).get("__annotations__", ())}
        cls.ignores = tuple(name for name in NAMED_OPTIONS if name not in own)
        cls.clips = "clip_norm" in own
        cls.lowers_weights = bool({BOUNDED_CURVATURE, SQUARED_LOSS} & set(cls.requires))
        asks = getattr(cls, "asks", None)
        if asks is not None:
            cls.minimax = asks.minimax
            cls.takes_networks = asks.takes_networks and IN_A_SET not in cls.requires
            cls.penalizes_intercept = asks.penalizes_intercept or bool(
                {IN_A_SET, L2_PENALTY} & set(cls.requires))

    @property
    def wants_holdout(self) -> bool:
        """bool : whether it takes public rows, which no guarantee covers."""
        return getattr(self, "holdout", None) == "public"

    @abstractmethod
    def configured(self, problem: Problem) -> Self:
        """Return a copy with every field set, by a documented rule of public facts."""

    def drawn(self, planned: Any, draw_index: Callable[[int], int]) -> Self:
        """Return a copy with its public random choices made, before anything is planned.

        `planned` is this solver configured. A random iterate is the last of as many steps as are
        drawn; solvers with other choices make them here. `draw_index` returns a uniform index
        below its argument. Its stream is not that of the noise, and the rows do not key it, so
        plan and noise may follow the outcome and the outcome may be published.
        """
        if getattr(planned, "iterate", None) != "random":
            return self
        solver: Any = self
        return replace(solver, max_iter=1 + draw_index(planned.max_iter), iterate="last")

    @abstractmethod
    def queries(self, problem: Problem) -> Queries:
        """Return the mechanism that it asks: how many answers, of what kind, at which clips.

        Its price must not depend on what stages release before it; clips may.
        """

    def public_facts(self, problem: Problem) -> tuple[str, ...]:
        """Return what the certificate should say of the run beside its events, as strings."""
        return ()

    @abstractmethod
    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        """Run from the public start `theta` and return a Result."""

    def noise_gain(self, curvatures: FloatArray) -> FloatArray | None:
        """Return by how much noise of scale 1 on every answer moves the result, or None.

        The standard deviation in directions in which the objective, a square, has some
        `curvatures`, shape (n_directions,); None where nothing is known of it.
        """
        return None

    def enforced_bounds(self) -> Sequence[Enforced]:
        """Return what the certificate states besides the clip norm, a list of Enforced."""
        return []

    @classmethod
    def options(cls) -> list[str]:
        """Return the names of the fields, sorted."""
        return sorted(f.name for f in fields(cast("Any", cls)))


def check_monotone(problem: Problem, clip_norm: float) -> None:
    """Raise a ValueError where clipping would void an argument by nonexpansive steps."""
    if problem.loss.vector_output and clip_norm < full_clip_norm(problem):
        raise ValueError(
            f"clip_norm={clip_norm!r} clips gradients of a vector-valued prediction, which are "
            "then not the gradients of any convex loss; set clip_norm=inf or use solver='gd'.")


def bounded_step(step: float, curvature: float, rule: str) -> float:
    """Return `step`, at most ``2 / curvature``; raise a ValueError where it is longer.

    The longest step is lowered by as much as rounding could lengthen it; `rule` says in the
    message what it is.
    """
    longest = 2.0 / curvature
    if step > longest * (1.0 + 1e-12):
        raise ValueError(f"learning_rate={step!r}: must be at most {longest!r}, {rule}; leave "
                         "learning_rate=None, or use solver='gd'.")
    return min(step, longest * (1.0 - 2.0**-50))
