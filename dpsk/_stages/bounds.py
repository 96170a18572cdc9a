"""Bounds on rows and on targets, learnt from them under noise; docs/theory/quantiles.md."""

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
from dpsk._stages.target_spread import apart, away_from, released_spread
from dpsk._statistics.cells import noisy_decimal
from dpsk._statistics.quantiles import (
    N_OCTAVES,
    distance_grid,
    noisy_octaves,
    noisy_quantile,
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

#: Which end of all octaves rows of zeros count for, and other numbers that are 0, and for how
#: much. Too large a norm leaves a constant; too small a bound, means and predictions near 0.
_LONG, SHORT, _SMALL, _NONE = (-1, 1.0), (0, 1.0), (0, 0.5), (0, 0.0)


class NormBound(Stage):
    """Release a bound on the rows' norms, and take the rows in its unit.

    It is a high quantile of them; where rows are too few for one, the end of the octave in which
    most of those lie that are not 0, if these are most.

    `model` is that of the rows as they came, their `data_norm` 1.

    To all that follows, the rows are bounded by 1, before the release as after it: no plan depends
    on what was released. The problem's `data_norm` therefore is 1, and so is that of what maps
    rows after this, `row_stage`.
    """

    attribute = "data_norm_"
    takes_groups: ClassVar[bool] = True

    def __init__(self, model, row_stage=None):
        self._model, self._n_features, self._row_stage = model, model.n_features, row_stage

    def event(self, problem: Problem) -> Event:
        """Return what the release costs; a ValueError where rows are too few to learn from."""
        return norm_rule(problem, self._model)[0]

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        words = "" if self._row_stage is None else self._row_stage.words
        return [Enforced("data_norm", self.value, "released", "l2 norm of one row of features; "
                         "longer rows are scaled down to it in training" + words)]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem of rows in that unit, and the rows."""
        self.value = released_norm(rows, norm_rule(problem, self._model), session)
        if self._row_stage is not None:
            self._row_stage.take_unit(self.value)
            return problem, rows
        # A penalty stays on the coefficients of the rows as they came.
        return replace(problem, model=replace(problem.model, unit=self.value),
                       penalty=problem.penalty.in_unit(self.value)), rows

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        """Return parameters, or a preconditioner, of rows as they came: an intercept stays."""
        result = np.array(theta)
        result[:self._n_features] /= self.value
        return result


class StateNormBound(NormBound):
    """A `NormBound` of states, in whose unit they enter wherever they are used.

    Parameters are those of what is made of them, and stay as they are.
    """

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("data_norm", self.value, "released", "l2 norm of a state; longer ones "
                         "are scaled down, in training and in prediction")]

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return theta


class TargetBounds(Stage):
    """Release a low and a high quantile of the targets, and map targets within bounds about them.

    The median is released before them, which a choice from very many points finds in any unit and
    far from 0, where the tails of few rows would not stand out; quantiles are distances from it.
    Where rows are too few for these, bounds on both sides of the median, or of 0 where it would
    cost too much, follow from the octaves of most distances that are not 0, if these are a third
    or more. Rows come with their targets in
    double precision as they are. Where `lowest` is given it is the low bound, and only the high
    one is released.

    Parameters
    ----------
    target_map : callable, (y, low, high) -> ndarray
        What the loss takes in the place of targets within the bounds.
    dtype : dtype
        What mapped targets are stored in.
    lowest : float or None
        A public bound; targets below it count as equal to it.
    """

    attribute = "target_bounds_"
    takes_groups: ClassVar[bool] = True
    #: Whether targets on their median count in the spread: it then is clear of nothing.
    _counts_median: ClassVar[bool] = True

    def __init__(self, target_map, dtype, lowest=None):
        self._target_map, self._dtype, self._lowest = target_map, dtype, lowest

    def event(self, problem: Problem) -> Event:
        """Return what the releases cost; a ValueError where rows are too few to learn from."""
        event, tail = target_rule(problem)
        if tail is None:
            median = None if self._lowest is not None else median_rule(problem)
            return event if median is None else Composed((median, event))
        quantiles = Repeated(event, 3 if self._lowest is None else 1)
        return Composed((quantiles, spread_rule(problem)[0]))

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("target_bounds", list(self.value), "released",
                         "targets outside are clipped")]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem as it was, and the rows with clipped and mapped targets."""
        self.value = self._found(problem, rows, session)
        return problem, rows.with_targets(partial(clipped_targets, self._target_map,
                                                  self.value, self._dtype))

    def _found(self, problem, rows, session):
        """Return bounds that are released."""
        _, tail = target_rule(problem)
        found = (self._by_octaves if tail is None
                 else self._by_quantiles if self._lowest is None else self._above_lowest)
        return found(problem, rows, session)

    def _by_octaves(self, problem, rows, session):
        lowest, middle = self._lowest, 0.0
        if lowest is None:
            median = median_rule(problem)
            if median is not None:
                middle = noisy_decimal(rows, partial(targets_above, 0.0), 0.5, median, session)
            sizes = away_from(middle, partial(targets_above, middle))
        else:
            sizes = partial(_counts_above, lowest)
        reach = OCTAVES_REACH * noisy_octaves(rows, sizes, TARGET_OCTAVES[0], _SMALL,
                                              target_rule(problem)[0], session)
        return (middle - reach, middle + reach) if lowest is None else (lowest, lowest + reach)

    def _by_quantiles(self, problem, rows, session):
        event, tail = target_rule(problem)
        of_spread, clear = spread_rule(problem)
        median = noisy_decimal(rows, partial(targets_above, 0.0), 0.5, event, session)
        away = partial(targets_above, median)
        spread = released_spread(rows, away, median, clear if self._counts_median else 0.0,
                                 of_spread, session)
        low, high = (median + noisy_quantile(rows, away, q, distance_grid(), event, session,
                                             q > 0.5)
                     for q in (tail, 1.0 - tail))
        return apart(median, spread, *widened(low, high, tail))

    def _above_lowest(self, problem, rows, session):
        (event, tail), lowest = target_rule(problem), self._lowest
        spread = noisy_octaves(rows, partial(_counts_above, lowest), 1, _NONE,
                               spread_rule(problem)[0], session)
        reach = noisy_quantile(rows, partial(targets_above, lowest), 1.0 - tail, positive_grid(),
                               event, session)
        # Tails that fall off like those of an exponential law.
        reach *= max(1.0, math.log(TARGET_TAILS[0]) / math.log(tail))
        return lowest, apart(lowest, spread, lowest, lowest + reach)[1]


def widened(low: float, high: float, tail: float) -> tuple[float, float]:
    """Return bounds about two released quantiles, as far out as those of a small tail.

    In the proportions of a normal law. Quantiles that are the same count as apart by what single
    precision tells apart.
    """
    center = 0.5 * (low + high)
    half = max(0.5 * abs(high - low), 1e-6 * abs(center), 1e-9)
    half *= max(1.0, float(ndtri(TARGET_REACH) / ndtri(tail)))
    return center - half, center + half


def can_learn(name: str, given: str | None, plain: float | tuple[float, float] | None,
              rule: Callable[..., Any], effect: str = "anything beyond is clipped to it",
              instead: str | None = None) -> bool:
    """Return whether a bound is learnt where it is `given` as None or "auto".

    `rule` raises a ValueError where it cannot be: of None, and else that is a warning, which says
    the `effect` of the `plain` value that then holds, or what is done `instead`.
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
    """Return the event of one quantile, and the share of rows beyond it.

    That is the least within `tails` that keeps clear of the end of the rows at the usual price;
    where that is too large, the price grows. A ValueError, of public facts, where it would grow
    too much for a bound called `name`.
    """
    usual, largest = (_range(problem, *each) for each in
                      zip(shares, PURE_QUANTILE_SHARES, strict=True))
    least, most = tails
    # The range of the loss over which a tail of all rows would be clear.
    whole = 2.0 * clearance / problem.n_samples
    if whole > most * largest:
        raise _too_few(name, problem, whole / (most * largest))
    width = max(usual, whole / most)
    # Beyond the last row all points are alike: two rows stay there at any epsilon.
    return _choice(problem, width), max(least, whole / width, 2.0 / problem.n_samples)


def _too_few(name, problem, times):
    """Return the error of a bound that cannot be learnt."""
    return ValueError(
        f"{name}: n={problem.n_samples} rows at epsilon={problem.epsilon:g} are too few to learn "
        f"a bound, which takes {times:.3g} times as many; declare {name}, or raise epsilon.")


def _range(problem, share, pure_share):
    """Return the range of the loss of a choice that costs a share of the budget."""
    if problem.delta == 0:
        return pure_share * problem.epsilon
    return bounded_range_epsilon(mu_of_share(problem, share))


def norm_rule(problem: Problem, model: Any) -> tuple[Elementary, float | None]:
    """Return the event of a bound on norms, and the share of rows beyond it.

    That is None where rows are too few for a quantile, and the fullest octave is released; where
    they are too few for that as well, a ValueError.

    Rows that are scaled as a whole keep the sign of their score, so that a narrow bound, with less
    noise, costs nothing while noise is what matters. As n or epsilon grows, none stays beyond.
    """
    signal = problem.signal_to_noise * problem.model.shape[0] / model.shape[0]
    least = NORM_TAILS[0] / max(1.0, signal / AMPLE_SIGNAL)
    if model.homogeneous:
        least = min(max(least, NARROW_SIGNAL / signal), NORM_TAILS[1])
    return row_norm_rule(problem, (least, NORM_TAILS[1]))


def row_norm_rule(problem: Problem | Budget,
                  tails: tuple[float, float]) -> tuple[Elementary, float | None]:
    """Return the same for norms of any rows, with the least and the largest share beyond."""
    return _rule("data_norm", problem, tails, NORM_OCTAVES)


def released_norm(rows: RowSource, rule: tuple[Elementary, float | None], session: Session,
                  zeros: tuple[int, float] = _LONG) -> float:
    """Return a bound on the norms of rows, released by a rule: its event and tail.

    `zeros` says which end of all octaves rows of zeros count for, and for how much.
    """
    event, tail = rule
    # Groups are not parted.
    rows = on_threads(rows) if rows.groups is None else rows
    if tail is None:
        return noisy_octaves(rows, partial(sizes_above, 0.0, _norms), NORM_OCTAVES[0], zeros,
                             event, session)
    return noisy_quantile(rows, _norms, 1.0 - tail, positive_grid(), event, session)


def target_rule(problem: Problem) -> tuple[Elementary, float | None]:
    """Return the event of one of the bounds on targets, and the share of rows beyond one of them.

    That is None as for norms. As n or epsilon grows, none stays beyond.
    """
    least = TARGET_TAILS[0] / max(1.0, problem.signal_to_noise / AMPLE_SIGNAL)
    return _rule("target_bounds", problem, (least, TARGET_TAILS[1]), TARGET_OCTAVES)


def median_rule(problem: Problem) -> Elementary | None:
    """Return the event of a median about which octaves of targets are chosen, from public facts.

    Points beyond all rows, which are as many as there are digits, are then less likely than one
    within them. None where that would cost too much, so that octaves are those of sizes.
    """
    width = 4.0 * MEDIAN_CLEARANCE / problem.n_samples
    most = _range(problem, MOST_OF_MEDIAN, PURE_OCTAVES * MOST_OF_MEDIAN)
    return _choice(problem, width) if width <= most else None


def spread_rule(problem: Problem) -> tuple[Elementary, float]:
    """Return the event of the spread of targets, where rows are enough for their quantiles.

    And what a target on the median counts, so that an octave of nothing is as unlikely.
    """
    usual = _range(problem, QUANTILE_SHARES[0], PURE_QUANTILE_SHARES[0])
    log_ends = math.log(N_OCTAVES)
    width = max(usual, 2.0 * (CLEARANCE + log_ends) / (SPREAD_FILLING * problem.n_samples))
    clear = 2.0 * (OCTAVES_CLEARANCE + log_ends) / (width * problem.n_samples)
    return _choice(problem, width), clear


def _rule(name, problem, tails, octaves):
    """Return event and tail of a quantile, or where rows are too few, of octaves."""
    try:
        return quantile_rule(name, problem, tails)
    except ValueError:
        return _octaves_rule(name, problem, *octaves[1:]), None


def _octaves_rule(name, problem, filling, largest):
    """Return the event of octaves that hold a share of the rows.

    They are as clear of empty ones as quantiles are of empty points, as far as that costs no more
    than a quantile may; then less clear, at up to the `largest` share. A ValueError, of public
    facts, where rows are too few for a bound called `name`.
    """
    def width(clearance):
        return 2.0 * (clearance + math.log(N_OCTAVES)) / (filling * problem.n_samples)

    least, most = width(OCTAVES_CLEARANCE), _range(problem, largest, PURE_OCTAVES * largest)
    if least > most:
        raise _too_few(name, problem, least / most)
    usual = _range(problem, QUANTILE_SHARES[1], PURE_QUANTILE_SHARES[1])
    return _choice(problem, min(width(CLEARANCE), max(least, usual)))


def _choice(problem, width):
    """Return the event of a choice whose loss has a range."""
    return choice_event(width, pure=problem.delta == 0)


def _norms(rows, part):
    return rows.norms(part)


def targets_above(lowest: float, rows: RowSource, part: Any) -> AnyArray:
    """Return targets less a public number."""
    return rows.beside(part)[0] - lowest


def _counts_above(lowest, rows, part):
    """Return targets above the lowest; of counts 0 is as good as 1, and there is no other unit."""
    above = targets_above(lowest, rows, part)
    return np.where(above > 0.0, above, 1.0)
