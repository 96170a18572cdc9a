r"""A privately learnt bound on sample weights, by which they are divided.

Weights are rounded up to powers of two, and the noisy number of rows at each power is released.
Replacing a row takes 1 from one count and adds 1 to another, so it moves the counts by at most
sqrt(2). With groups, one publicly drawn row per group is counted, as for quantiles. The bound is
the largest power with a count that stands clear of the noise. Weights are divided by it, exactly,
and larger ones are lowered to it, so multiplying all weights by a power of two changes nothing.

A false count anywhere above the weights would make all of them tiny. At 5 standard deviations of
noise this has a probability below ``N_POWERS * 3e-7``, that is 4e-5. Rows of larger weights than
the bound are then fewer than about 5 standard deviations at each power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.weights import divided_weights
from dpsk._defaults.budgets import WEIGHT_CLEARANCE, WEIGHT_ROWS, WEIGHT_SHARES, mu_of_share
from dpsk._mechanism.core import Composite, Mechanism, Priced
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import Composed, Gaussian
from dpsk._problem import Problem
from dpsk._stages.base import Stage
from dpsk._statistics.class_moments import COUNT_UNIT
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._data.source import Rows, RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Budget
    from dpsk._typing import FloatArray

__all__ = ["WeightBound", "at_most", "weighed", "weighing", "with_weight_bound"]

#: Exponents of the least and of the largest power of two; weights beyond count at these.
_LEAST, _MOST = -64, 64
N_POWERS = _MOST - _LEAST + 1
#: Number of powers in a range that is released if no single one holds enough rows.
_RANGE = 8
#: Least mean of weights over their bound.
_LEAST_MEAN = 0.01
#: How far replacing one row moves the counts.
_MOVED = math.sqrt(2.0)
#: Rows whose weights are read at once.
_PART = 1 << 16


class WeightBound(Stage):
    """Release a bound on sample weights, and divide them by it.

    The rows' public bound on weights, the largest class weight or 1, is the new largest weight.
    Without a budget the bound is the least power of two above all weights.
    """

    takes_groups: ClassVar[bool] = True

    def event(self, problem: Problem | Budget) -> Event:
        """Return the event of the release."""
        return Gaussian(_mu(problem)) if problem.is_private else Composed(())

    def enforced_bounds(self, problem: Any) -> Sequence[Enforced]:
        if not problem.is_private:
            return []
        return [Enforced("weight_bound", self.value, "released", "sample weights, times those of "
                         "classes, are divided by it; greater ones are lowered to it")]

    def release(self, problem: Any, rows: RowSource, session: Session) -> Any:
        """Return the problem with the mean weight, and rows of weights up to their bound."""
        self.value, mean = _released(problem, rows.with_weight_bound(math.inf), session)
        most = rows.weight_bound
        if isinstance(problem, Problem):
            problem = replace(problem, weight_mean=mean)
        return problem, rows.with_weights(divided_weights(self.value, most), most)


@dataclass(frozen=True)
class WithWeightBound(Composite):
    """A mechanism whose data begin with weighted rows, after a `WeightBound` of them."""

    budget: Budget
    mechanism: Mechanism

    @property
    def parts(self):
        """tuple of Mechanism : the bound, and the mechanism."""
        return Priced(WeightBound().event(self.budget), WeightBound().release), self.mechanism

    def run(self, data: Any, session: Session, noise_multiplier: float) -> Any:
        """Return what the mechanism makes of the rows with divided weights."""
        stage, (rows, *rest) = WeightBound(), data
        _, rows = stage.release(self.budget, rows, session)
        session.enforced.extend(stage.enforced_bounds(self.budget))
        return self.mechanism.run((rows, *rest), session, noise_multiplier)


def with_weight_bound(budget: Budget, mechanism: Mechanism) -> tuple[Mechanism,
                                                                      list[Enforced]]:
    """Return a mechanism of weighted rows after their bound, and the bounds not released."""
    if _learns(budget):
        return WithWeightBound(budget, mechanism), []
    return mechanism, [Enforced("sample_weight", 1.0, "default",
                                "greater weights are lowered to it")]


def _learns(problem: Problem | Budget) -> bool:
    """Return whether a bound on weights can be learnt, from public facts; warn if not."""
    if not problem.is_private:
        return True
    reason = "delta=0 leaves out the Gaussian noise that learning a bound on weights takes"
    if problem.delta > 0:
        times = 4.0 * _clear(problem) / problem.n_samples
        if times <= 1.0:
            return True
        reason = (f"n={problem.n_samples} rows at epsilon={problem.epsilon:g} are too few to "
                  f"learn a bound on weights, which takes {times:.3g} times as many")
    warn(f"sample_weight: {reason}. For now weights above 1 are cut, and small ones leave mostly "
         "noise; divide weights by a public bound.", PrivacyWarning, stacklevel=2)
    return False


def weighing(budget: Budget, given: bool) -> list[WeightBound]:
    """Return the stages that bound sample weights, where these are given; at most one."""
    return [WeightBound()] if given and _learns(budget) else []


def at_most(steps: Any, stages: Sequence[WeightBound], rows: Rows, weights: Any) -> Any:
    """Return weights of rows of at most 1: divided by the bound of a stage, or lowered to 1."""
    if weights is None:
        return None
    rows = replace(rows, weights=weights)
    for stage in stages:
        _, rows = steps.learn(stage, rows)
    return np.minimum(rows.weights, 1.0)


def weighed(problem: Problem, given: bool, lowers: bool) -> Any:
    """Return the problem, stages and enforced bounds for sample weights, where these are given.

    If no bound is learnt, gradients are clipped with any weights, unless the solver `lowers`
    weights to the bound because its guarantee rests on it.
    """
    if not given:
        return problem, [], []
    if problem.is_private and _learns(problem):
        return problem, [WeightBound()], []
    if not lowers:
        return replace(problem, weight_bound=math.inf), [], []
    most = float(problem.weight_bound)
    return problem, [], [Enforced("sample_weight", most, "default" if most == 1.0 else "derived",
                                  "greater weights, times those of classes, are lowered to it")]


def _released(problem, rows, session):
    """Return the bound on weights, a power of two, and their mean over it."""
    if not problem.is_private:
        # Drawn rows of groups may all have weights 0.
        held = np.flatnonzero(rows.added(_at_powers))
        return 2.0**(_LEAST + int(held[-1])) if len(held) else 1.0, 1.0
    counts = noisy_powers(rows, _mu(problem), session)
    clear = np.flatnonzero(counts > _clear(problem))
    # Weights of many sizes may leave no power clear, but they fill a range of powers.
    top = clear[-1] if len(clear) else np.convolve(counts, np.ones(_RANGE))[:N_POWERS].argmax()
    shares = counts * 2.0**np.minimum(0, np.arange(N_POWERS) - top) / problem.n_samples
    # Weights are three quarters of their power of two on average.
    return 2.0**(_LEAST + int(top)), float(np.clip(0.75 * shares.sum(), _LEAST_MEAN, 1.0))


def noisy_powers(rows: RowSource, mu: float, session: Session) -> FloatArray:
    """Return the noisy numbers of rows at each power of two, at a cost of `Gaussian(mu)`."""
    def totals(inside: Batch) -> FloatArray:
        return rows.added(_at_powers)

    return session(Gaussian(mu), totals, Sensitivity(_MOVED, unit=COUNT_UNIT))


def _at_powers(rows):
    """Return the number of rows with positive weights at each power of two."""
    counts = np.zeros(N_POWERS)
    for part in rows.shown(_PART):
        weights = rows.beside(part)[1]
        if rows.groups is not None:
            weights = weights * rows.groups.sizes[part]
        shares, powers = np.frexp(weights[weights > 0])
        # A power of two has the share 1/2 of the next one.
        powers = np.clip(powers - (shares == 0.5), _LEAST, _MOST)
        counts += np.bincount(powers - _LEAST, minlength=N_POWERS)
    return counts


def _mu(problem):
    """Return the mu of the counts: at least WEIGHT_ROWS of the rows stand clear of their noise."""
    least, most = (mu_of_share(problem, share) for share in WEIGHT_SHARES)
    return min(most, max(least, WEIGHT_CLEARANCE * _MOVED / (WEIGHT_ROWS * problem.n_samples)))


def _clear(problem):
    """Return the count that stands clear of the noise."""
    return WEIGHT_CLEARANCE * _MOVED / _mu(problem)
