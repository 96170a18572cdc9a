"""Privately learnt bounds on rows and on targets; see docs/theory/quantiles.md."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import ndtri

from dpsk._data.parted import on_threads
from dpsk._data.targets import clipped_targets
from dpsk._defaults.budgets import (
    AMPLE_SIGNAL,
    CLEARANCE,
    MEDIAN_CLEARANCE,
    MOST_OF_MEDIAN,
    NARROW_SIGNAL,
    NORM_OCTAVES,
    NORM_TAILS,
    OCTAVES_CLEARANCE,
    OCTAVES_REACH,
    PURE_OCTAVES,
    PURE_QUANTILE_SHARES,
    QUANTILE_SHARES,
    SPREAD_FILLING,
    TARGET_OCTAVES,
    TARGET_REACH,
    TARGET_TAILS,
    mu_of_share,
)
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Repeated
from dpsk._privacy.plans import choice_event
from dpsk._stages.base import Stage
from dpsk._stages.target_place import around, leaves_rest, place_rule, placed_bounds, too_few
from dpsk._stages.target_spread import DOUBLE, apart, away_from, released_spread
from dpsk._statistics.cells import noisy_decimal
from dpsk._statistics.quantiles import (
    UNIT_END,
    distance_grid,
    noisy_octaves,
    noisy_quantile,
    noisy_tails,
    octaves_range,
    positive_grid,
    sizes_above,
)
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Elementary, Event
    from dpsk._problem import Budget, Problem
    from dpsk._typing import AnyArray, FloatArray

__all__ = ["SHORT", "NormBound", "StateNormBound", "TargetBounds", "can_learn", "norm_rule",
           "quantile_rule", "released_norm", "row_norm_rule", "target_rule",
           "targets_above", "widened"]

#: The octave, last or first, for which a number 0 counts, and its weight. A norm bound that is too
#: large leaves only the constant; other bounds that are too small keep predictions near 0.
_LONG, SHORT, _NONE, _SAME = (-1, 1.0), (0, 1.0), (0, 0.0), (UNIT_END, 0.5)


class NormBound(Stage):
    """Release a bound on the norms of the rows, and use it as the unit of the rows.

    The bound is a high quantile of the norms. With too few rows for a quantile, it is the end of
    the octave that holds most nonzero norms, provided that most norms are not 0.

    `model` is that of the original rows, with `data_norm` 1. For all later stages the rows are
    bounded by 1, before the release and after it, so no plan depends on the released bound. So it
    is 1 in the problem and in `row_stage`, which maps rows next. `check` gets problem and bound.
    """

    attribute = "data_norm_"
    takes_groups: ClassVar[bool] = True

    def __init__(self, model, row_stage=None, check=lambda problem, norm: None):
        self._model, self._row_stage, self._check = model, row_stage, check

    def event(self, problem: Problem) -> Event:
        """Return the event of the release; raise ValueError with too few rows."""
        return norm_rule(problem, self._model)[0]

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        words = "" if self._row_stage is None else self._row_stage.words
        return [Enforced("data_norm", self.value, "released", "l2 norm of one row of features; "
                         "longer rows are scaled down to it in training" + words)]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem of rows in the new unit, and the rows."""
        self.value = released_norm(rows, norm_rule(problem, self._model), session)
        self._check(problem, self.value)
        if self._row_stage is not None:
            self._row_stage.take_unit(self.value)
            return problem, rows
        # The penalty stays on the coefficients of the original rows.
        return replace(problem, model=replace(problem.model, unit=self.value),
                       penalty=problem.penalty.in_unit(self.value)), rows

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        """Return parameters, or a preconditioner, for the original rows; an intercept stays."""
        result = np.array(theta)
        result[:self._model.n_features] /= self.value
        return result


class StateNormBound(NormBound):
    """A `NormBound` of states in training and prediction, so parameters do not change."""

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("data_norm", self.value, "released", "l2 norm of a state; longer ones "
                         "are scaled down, in training and in prediction")]

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return theta


class TargetBounds(Stage):
    """Release a low and a high quantile of the targets, and clip targets to bounds about them.

    The median is released first, by a choice among very many points. It is found in any unit and
    far from 0, where the tails of few rows would not stand out. The quantiles are of distances
    from the median. With too few rows for quantiles, the bounds follow from the octave that holds
    most nonzero distances, if these are at least a third. Where a median would cost too much, and
    for few counts, the bounds are a window of most targets (`placed_bounds`). The rows must come
    with their targets in double precision. A given `lowest` is the low bound, and only the high
    bound is released, unless few targets are far from it.

    Parameters
    ----------
    target_map : callable, (y, low, high) -> ndarray
        Maps clipped targets to those that the loss takes.
    dtype : dtype
        The dtype of mapped targets.
    lowest : float or None
        A public low bound; targets below it are clipped to it.
    unit_of : callable, (low, high) -> float, or None
        Returns the unit of mapped targets, in which the l1 penalty is then.
    """

    attribute = "target_bounds_"
    takes_groups: ClassVar[bool] = True
    #: End of octaves for which targets equal to the median count in the spread, to make empty
    #: octaves unlikely. Targets that are mostly one number often have others 1 away from it.
    _median_end: ClassVar[int] = UNIT_END
    _widened = staticmethod(lambda low, high, tail, median: widened(low, high, tail, DOUBLE))

    def __init__(self, target_map, dtype, lowest=None, unit_of=None):
        self._target_map, self._dtype, self._lowest = target_map, dtype, lowest
        self._unit_of = unit_of

    def event(self, problem: Problem) -> Event:
        """Return the event of the releases; raise ValueError with too few rows."""
        rule = target_rule(problem)
        if rule is None:
            return Composed(self._median_and_octaves(problem) or place_rule(problem))
        event, _ = rule
        quantiles = Repeated(event, 3 if self._lowest is None else 1)
        return Composed((quantiles, spread_rule(problem)[0]))

    def leaves_rest(self, problem: Problem) -> bool:
        return bool(target_rule(problem) or self._median_and_octaves(problem)
                    or leaves_rest(problem))

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("target_bounds", list(self.value), "released",
                         "targets outside are clipped")]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem and the rows, with clipped and mapped targets."""
        self.value = self._found(problem, rows, session)
        if self._unit_of is not None:
            problem = replace(problem, penalty=problem.penalty.for_targets(
                self._unit_of(*self.value)))
        return problem, rows.with_targets(partial(clipped_targets, self._target_map,
                                                  self.value, self._dtype))

    def _found(self, problem, rows, session):
        """Return the released bounds."""
        if target_rule(problem) is not None:
            found = self._by_quantiles if self._lowest is None else self._above_lowest
            return found(problem, rows, session)
        events = self._median_and_octaves(problem)
        if not events:
            return placed_bounds(problem, rows, session, self._lowest)
        median, octaves = events
        middle = noisy_decimal(rows, partial(targets_above, 0.0), 0.5, median, session)
        sizes = away_from(middle, partial(targets_above, middle))
        reach = OCTAVES_REACH * noisy_octaves(rows, sizes, TARGET_OCTAVES[0], _SAME, octaves,
                                              session)
        return around(middle, reach)

    def _median_and_octaves(self, problem):
        """Return the events of a median and of octaves about it; none where they cost too much."""
        median = None if self._lowest is not None else median_rule(problem)
        return () if median is None else (median, _octaves_rule("target_bounds", problem,
                                                                *TARGET_OCTAVES[1:]))

    def _by_quantiles(self, problem, rows, session):
        event, tail = target_rule(problem)
        of_spread, clear = spread_rule(problem)
        median = noisy_decimal(rows, partial(targets_above, 0.0), 0.5, event, session)
        away = partial(targets_above, median)
        spread = released_spread(rows, away, median, (self._median_end, clear), of_spread, session)
        low, high = noisy_tails(rows, away, tail, distance_grid(), event, session)
        ends = self._widened(median + low, median + high, tail, median)
        found = apart(median, spread, *ends)
        if found != ends and self._median_end == UNIT_END:
            warn("target_bounds='auto': the targets are mostly one number, so the bounds may be "
                 "far from the others; declare target_bounds, such as (0, 1).", PrivacyWarning)
        return found

    def _above_lowest(self, problem, rows, session):
        (event, tail), lowest = target_rule(problem), self._lowest
        spread = noisy_octaves(rows, partial(_counts_above, lowest), 1, _NONE,
                               spread_rule(problem)[0], session)
        (reach,) = noisy_tails(rows, partial(targets_above, lowest), tail, positive_grid(), event,
                               session, ends=(1,))
        # Extrapolate to the usual tail as for an exponential distribution; 2 rows have the tail 1.
        reach *= max(1.0, math.log(TARGET_TAILS[0]) / math.log(min(tail, 0.9)))
        return lowest, apart(lowest, spread, lowest, lowest + reach)[1]


def widened(low: float, high: float, tail: float, least: float = 1e-6) -> tuple[float, float]:
    """Return bounds about two released quantiles, extrapolated as normal to a small tail.

    Equal quantiles count as different by the share `least` of them, as single precision requires.
    """
    center = 0.5 * (low + high)
    half = max(0.5 * abs(high - low), least * abs(center), 1e-9)
    half *= max(1.0, float(ndtri(TARGET_REACH) / ndtri(tail)))
    return center - half, center + half


def can_learn(name: str, given: str | None, plain: float | tuple[float, float] | None,
              rule: Callable[..., Any], effect: str = "anything beyond is clipped to it",
              instead: str | None = None) -> bool:
    """Return whether a bound that is `given` as None or "auto" can be learnt.

    `rule` raises a ValueError if it cannot. For None the error is raised. Otherwise it becomes a
    warning, which states the `effect` of the `plain` value used then, or what is done `instead`.
    """
    try:
        rule()
    except ValueError as error:
        reason = str(error).replace(name, f"{name}={given!r}", 1)
    else:
        return True
    if given is None:
        raise ValueError(reason)
    now = instead or f"{name}={plain!r} holds, and {effect}"
    warn(f"{reason} For now {now}.", PrivacyWarning, stacklevel=2)
    return False


def quantile_rule(name: str, problem: Problem | Budget, tails: tuple[float, float],
                  shares: tuple[float, float] = QUANTILE_SHARES,
                  clearance: float = CLEARANCE) -> tuple[Elementary, float]:
    """Return the event of one quantile, and its tail: the share of rows beyond it.

    The tail is the least within `tails` that keeps the quantile clear of the last row at the usual
    privacy cost. If that is too large, the cost grows instead. If it grew too much, a ValueError
    names the bound `name`; it depends on public facts only.
    """
    usual, largest = (_range(problem, *each) for each in
                      zip(shares, PURE_QUANTILE_SHARES, strict=True))
    least, most = tails
    # The loss range at which a tail of all rows would be clear.
    whole = 2.0 * clearance / problem.n_samples
    if whole > most * largest:
        raise too_few(name, problem, whole / (most * largest))
    width = max(usual, whole / most)
    # Candidates beyond the last row are all equally good: keep two rows there at any epsilon.
    return _choice(problem, width), max(least, whole / width, 2.0 / problem.n_samples)


def _range(problem, share, pure_share):
    """Return the range of the privacy loss of a choice that gets a share of the budget."""
    if problem.delta == 0:
        return pure_share * problem.epsilon
    return bounded_range_epsilon(mu_of_share(problem, share))


def norm_rule(problem: Problem, model: Any) -> tuple[Elementary, float | None]:
    """Return the event of a bound on norms, and its tail: the share of rows beyond it.

    The tail is None with too few rows for a quantile: the fullest octave is then released. With
    too few rows for that as well, raise a ValueError.

    Rows that are scaled as a whole keep the sign of their score. A narrow bound, with less noise,
    then costs nothing while noise dominates. As n or epsilon grows, the tail vanishes.
    """
    signal = problem.signal_to_noise * problem.model.shape[0] / model.shape[0]
    least = NORM_TAILS[0] / max(1.0, signal / AMPLE_SIGNAL)
    if model.homogeneous:
        least = min(max(least, NARROW_SIGNAL / signal), NORM_TAILS[1])
    return row_norm_rule(problem, (least, NORM_TAILS[1]))


def row_norm_rule(problem: Problem | Budget,
                  tails: tuple[float, float]) -> tuple[Elementary, float | None]:
    """Return event and tail of a bound on norms of any rows, for a range of tails."""
    try:
        return quantile_rule("data_norm", problem, tails)
    except ValueError:
        return _octaves_rule("data_norm", problem, *NORM_OCTAVES[1:]), None


def released_norm(rows: RowSource, rule: tuple[Elementary, float | None], session: Session,
                  zeros: tuple[int, float] = _LONG) -> float:
    """Return a bound on the norms of rows, released with the event and tail of `rule`.

    `zeros` holds the octave, first or last, for which rows of zeros count, and their weight.
    """
    event, tail = rule
    rows = on_threads(rows)
    if tail is None:
        return noisy_octaves(rows, partial(sizes_above, 0.0, _norms), NORM_OCTAVES[0], zeros,
                             event, session)
    return noisy_quantile(rows, _norms, 1.0 - tail, positive_grid(), event, session)


def target_rule(problem: Problem) -> tuple[Elementary, float] | None:
    """Return the event of one quantile of targets, and its tail: the share of rows beyond it.

    None with too few rows for a quantile. As n or epsilon grows, the tail vanishes.
    """
    least = TARGET_TAILS[0] / max(1.0, problem.signal_to_noise / AMPLE_SIGNAL)
    try:
        return quantile_rule("target_bounds", problem, (least, TARGET_TAILS[1]))
    except ValueError:
        return None


def median_rule(problem: Problem) -> Elementary | None:
    """Return the event of the median for octaves of targets, from public facts.

    Its loss range makes the very many candidates beyond all rows less likely than one between
    rows. None where that would cost too much.
    """
    width = 4.0 * MEDIAN_CLEARANCE / problem.n_samples
    most = _range(problem, MOST_OF_MEDIAN, PURE_OCTAVES * MOST_OF_MEDIAN)
    return _choice(problem, width) if width <= most else None


def spread_rule(problem: Problem) -> tuple[Elementary, float]:
    """Return event and weight of a target on the median for spreads, where quantiles are learnt.

    The weight keeps empty octaves unlikely.
    """
    usual = _range(problem, QUANTILE_SHARES[0], PURE_QUANTILE_SHARES[0])
    width = max(usual, octaves_range(problem.n_samples, SPREAD_FILLING, CLEARANCE))
    return _choice(problem, width), octaves_range(problem.n_samples, width, OCTAVES_CLEARANCE)


def _octaves_rule(name, problem, filling, largest):
    """Return the event of the choice of an octave that holds the share `filling` of the rows.

    Empty octaves are as unlikely as empty points are for quantiles, if that costs no more than a
    quantile may. Otherwise they are more likely, and the choice may cost up to the share
    `largest` of the budget. With too few rows, a ValueError names the bound `name`; it depends on
    public facts only.
    """
    width = partial(octaves_range, problem.n_samples, filling)
    least, most = width(OCTAVES_CLEARANCE), _range(problem, largest, PURE_OCTAVES * largest)
    if least > most:
        raise too_few(name, problem, least / most)
    usual = _range(problem, QUANTILE_SHARES[1], PURE_QUANTILE_SHARES[1])
    return _choice(problem, min(width(CLEARANCE), max(least, usual)))


def _choice(problem, width):
    """Return the event of a choice with this range of its privacy loss."""
    return choice_event(width, pure=problem.delta == 0)


def _norms(rows, part):
    return rows.norms(part)


def targets_above(lowest: float, rows: RowSource, part: Any) -> AnyArray:
    """Return targets less a public number."""
    return rows.beside(part)[0] - lowest


def _counts_above(lowest, rows, part):
    """Return counts above the lowest; 0 is replaced by 1, as the unit of counts is 1."""
    above = targets_above(lowest, rows, part)
    return np.where(above > 0.0, above, 1.0)
