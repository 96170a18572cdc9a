"""Base class of solvers, and their result."""

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

#: Fields that estimators have as parameters of the same name; other fields are solver options.
NAMED_OPTIONS = ("batch_size", "clip_norm", "learning_rate", "max_iter")


@dataclass(frozen=True)
class Result:
    """Result of a solver.

    Attributes
    ----------
    theta : ndarray
        Coefficients, computed from noisy answers and public numbers only. For a saddle problem,
        the primal variables followed by the dual variables.
    n_iter : int
        The planned number of steps, fixed or drawn at random.
    """

    theta: np.ndarray
    n_iter: int


class Solver(ABC):
    """An algorithm: a frozen dataclass of public hyperparameters.

    `configured` sets fields that are None from public facts. A solver holds no rows. It queries
    an oracle, whose answers are noisy and charged to the budget.
    """

    #: The class of the solver's queries; the fit runs them, so the solver never sees rows.
    asks: ClassVar[type[Queries]]
    #: Requirements on the rest of the problem.
    requires: ClassVar[tuple] = ()
    #: Whether whitened rows help; they do not help a method that solves exactly.
    whitens: ClassVar[bool] = True
    #: Whether the scores may be rescaled afterwards, with the oracle's `along`.
    takes_temperature: ClassVar[bool] = False
    #: Whether plan and privacy cost do not depend on the penalty, so that it may be in a
    #: released unit.
    if TYPE_CHECKING:
        # Constants or properties; `clip_norm` is a field of solvers that clip.
        @property
        def takes_unit(self) -> bool: ...
        @property
        def clip_measure(self) -> str: ...
        clip_norm: Any
    else:
        takes_unit = False
        #: The measure of one row's gradient that `clip_norm` bounds.
        clip_measure = "l2 norm"
    #: Whether no query depends on the strength of a penalty, so that the same answers yield
    #: models for other strengths.
    penalizes_after: ClassVar[bool] = False
    #: Whether it runs at an infinite epsilon, with the noise multiplier 0.
    without_noise: ClassVar[bool] = False
    #: Whether all its mechanism outputs are Gaussian for every problem with delta > 0.
    is_gaussian: ClassVar[bool] = False
    #: Whether all its queries are sums in which a group's contribution is bounded like a row's.
    takes_groups: ClassVar[bool] = False
    #: Parameters of estimators that this solver does not use.
    ignores: ClassVar[tuple]
    #: Whether it has a `clip_norm` for gradients.
    clips: ClassVar[bool]
    #: Whether it solves saddle problems, and then only these.
    minimax: ClassVar[bool]
    #: Whether it trains networks, whose gradients are bounded by the clip only.
    takes_networks: ClassVar[bool]
    #: Whether the guarantee relies on a bound on weights, so that larger weights are lowered.
    lowers_weights: ClassVar[bool]
    #: Whether the guarantee needs every coordinate, intercept included, to be penalized.
    penalizes_intercept: ClassVar[bool]

    def __init_subclass__(cls):
        # These attributes follow from fields, queries and requirements.
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
        """bool : whether it uses public rows, which no guarantee covers."""
        return getattr(self, "holdout", None) == "public"

    @abstractmethod
    def configured(self, problem: Problem) -> Self:
        """Return a copy with every field set by documented rules from public facts."""

    def drawn(self, planned: Any, draw_index: Callable[[int], int]) -> Self:
        """Return a copy with its public random choices made, before anything is planned.

        `planned` is this solver after `configured`. A random iterate is the last one after a
        random number of steps. Solvers with other random choices override this method.
        `draw_index` returns a uniform index below its argument. Its random stream is separate
        from the noise and independent of the rows. The plan and the noise may therefore depend on
        the outcome, and the outcome may be published.
        """
        if getattr(planned, "iterate", None) != "random":
            return self
        solver: Any = self
        return replace(solver, max_iter=1 + draw_index(planned.max_iter), iterate="last")

    @abstractmethod
    def queries(self, problem: Problem) -> Queries:
        """Return the solver's queries: number and kind of answers, and clip norms.

        Their privacy cost must not depend on outputs of earlier stages; clip norms may.
        """

    def public_facts(self, problem: Problem) -> tuple[str, ...]:
        """Return additional public facts about the run for the certificate, as strings."""
        return ()

    @abstractmethod
    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        """Run from the public start `theta` and return a Result."""

    def noise_weights(self, curvatures: FloatArray) -> FloatArray | None:
        """Return how far one unit of noise on each answer moves the result down, or None.

        The objective is quadratic, with each of the `curvatures`, shape (n_directions,). The
        result has shape (n_directions, n_answers). None if it is unknown.
        """
        return None

    def enforced_bounds(self) -> Sequence[Enforced]:
        """Return the enforced bounds for the certificate, besides the clip norm."""
        return []

    @classmethod
    def options(cls) -> list[str]:
        """Return the names of the fields, sorted."""
        return sorted(f.name for f in fields(cast("Any", cls)))


def check_monotone(problem: Problem, clip_norm: float) -> None:
    """Raise a ValueError if clipping would invalidate a proof by nonexpansive steps."""
    if problem.loss.vector_output and clip_norm < full_clip_norm(problem):
        raise ValueError(
            f"clip_norm={clip_norm!r} clips gradients of a vector-valued prediction, which are "
            "then not the gradients of any convex loss; set clip_norm=inf or use solver='gd'.")


def bounded_step(step: float, curvature: float, rule: str) -> float:
    """Return `step`, or raise a ValueError if it is longer than ``2 / curvature``.

    The limit is lowered by a rounding slack. `rule` explains the limit in the message.
    """
    longest = 2.0 / curvature
    if step > longest * (1.0 + 1e-12):
        raise ValueError(f"learning_rate={step!r}: must be at most {longest!r}, {rule}; leave "
                         "learning_rate=None, or use solver='gd'.")
    return min(step, longest * (1.0 - 2.0**-50))
