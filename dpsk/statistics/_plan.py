"""Mechanisms for ranges of columns, sums within ranges, and intervals of quantiles."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from dpsk._data.groups import units_of
from dpsk._defaults.columns import (
    CUT_SIGMA,
    CUT_TIMES,
    END_REACH,
    MOST_OF_OTHERS,
    extreme_share,
    range_reach,
    range_tail,
)
from dpsk._mechanism.core import Choices, Composite, Mechanism, Share, Statistic, mu_of
from dpsk._privacy.certificate import Enforced
from dpsk._statistics.cells import noisy_decimals, rank_noise
from dpsk._statistics.column_sums import moment_noise, noisy_column_sums
from dpsk._statistics.ends import noisy_ends
from dpsk._statistics.part_sums import noisy_part_sums, part_sum_noise
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning
from dpsk.metrics._table import REACH
from dpsk.preprocessing._statistics_plan import Quantiles

__all__ = ["HEAPED", "CountedPoints", "Points", "Ranges", "Within", "counts_at_least",
           "entry_bound", "within"]

#: For quantiles: share of mu^2 for the counts of values; deviations of noise subtracted from a
#: count; share of integers above which interval ends are integers; and the deviations of noise
#: by which a count of integers may fall below that.
_COUNT_SHARE, _COUNT_REACH, _WHOLE, _DOUBT = 0.05, 3.0, 0.5, 2.0
#: Factor on the tails of ranges, whose distance from the end of the rows is an exponent of 20.
#: Distances in a gap have three quarters of it or more and together weigh up to exp(8.4) times as
#: much as an end, so one end in 10,000 is in a gap, as exp(8.4 - 0.75 * 1.2 * 20).
_TIED = 1.2
#: Least distance of a rank from the end of the rows, in scales of its noise.
_CLEAR = 16.0
#: Message on quantiles with few rows; the columns are filled in.
_FEW = ("are too few for these quantiles of {} within the budget: intervals may be wide, and "
        "without declared bounds far from all rows; declare these, raise epsilon, or ask for "
        "fewer.")
#: What a warning and a note say of columns in which one number hides the ends.
HEAPED = ("a column is mostly one number, so its learned range may be far from the others, and no "
          "interval shows that")
#: Least half width of a range: relative to its middle, as floats are finite, and absolute.
_LEAST_SHARE, _LEAST_WIDTH = 1e-8, 1e-9


@dataclass(frozen=True)
class _Ends(Quantiles):
    """Medians and ends of columns, from which ranges are computed, also with many zeros.

    Among decimals, points below 0 weigh exp(14.2) times as much as 0 itself, the largest ratio of
    all integers. At this exponent, one such end in twenty is wrong; below it, more are. Above it,
    ends are distances from the median, of which few lie in a gap between two numbers.
    """

    least_exponent = 14.2 + math.log(20.0)
    parameter: str = "bounds"
    names: tuple = ()

    def _chosen(self, table, rows, price, session):
        """Return low ends, medians and high ends, shape (n_columns, 3), and two facts.

        These are in which columns one number hides the ends, and whether rows are few. Few rows
        have decimals as ends, like medians, because most of these have common magnitudes.
        """
        few = any(self.columns) and self.shortage(rows, price) > 1.0
        if few:
            found = super()._chosen(table, rows, price, session)
            hidden = np.ptp(found, axis=1) == 0.0
        else:
            found = np.full((len(self.columns), 3), np.nan)
            hidden = np.zeros(len(self.columns), bool)
            for place in np.flatnonzero(self.columns):
                median, low, high, hidden[place] = noisy_ends(
                    rows, place, self.tail, price, price, session, weighted=True)
                found[place] = median + low, median, median + high
        if hidden.any():
            named = ", ".join(np.array(self.names)[hidden])
            # As an error it would lose what is paid for; the note of the result says the same.
            with suppress(PrivacyWarning):
                warn(f"{self.parameter}: {HEAPED} (column {named}); declare them.",
                     PrivacyWarning)
        return found, hidden, few


@dataclass(frozen=True)
class Ranges:
    """Ranges of columns, declared or learned.

    `ends` has shape (n_columns, 2). `hidden` says in which columns one number hid the ends.
    `medians` and `sides` are released medians and the distances of both ends from them, low and
    high, of which a share `tail` of the rows lies beyond each. Both are NaN if unknown or rough.
    Ranges end at `reach` times these distances.
    """

    ends: np.ndarray
    hidden: np.ndarray
    medians: np.ndarray
    sides: np.ndarray
    tail: float
    reach: float

    @classmethod
    def of(cls, edges, tail, reach, found, hidden, few):
        """Return ranges that are declared, or widened from released ends and medians."""
        median, unknown = found[:, 1:2], np.isnan(edges[:, 0])
        away = np.abs(found[:, ::2] - median)
        # An end may be the median, although a share `tail` of equal numbers lies beyond it.
        away = np.maximum(away, 2.0 * tail * away[:, ::-1])
        # Where one number hides the ends, other numbers may be 1 away, as of a flag.
        learnt = np.where(hidden[:, None], found[:, ::2] + (-1.0, 1.0),
                          median + reach * away * (-1.0, 1.0))
        least = np.maximum(_LEAST_SHARE * np.abs(median), _LEAST_WIDTH)
        learnt = np.hstack([np.minimum(learnt[:, :1], median - least),
                            np.maximum(learnt[:, 1:], median + least)])
        # The skew of ends of few rows is noise.
        known = unknown & ~hidden & (not few)
        sides = np.where(known, np.maximum([1.0, -1.0] * (median - found[:, ::2]), 0.0).T, np.nan)
        return cls(np.where(np.isnan(edges), learnt, edges), hidden, median[:, 0], sides, tail,
                   reach)

    def cut(self, mean, square):
        """Return the means of what ranges cut from high numbers, less those from low ones.

        They are estimated by a shifted lognormal distribution through both ends and the median,
        so they are 0 for symmetric columns. Where one end is the median, as of many zeros, the
        other numbers are lognormal. Their share is at least the squared mean distance from the
        median over the mean squared one. `mean` and `square` are means of numbers and of squares,
        NaN if unknown.
        """
        low, high = self.sides
        heap = np.minimum(low, high) == 0.0
        z_t = -float(ndtri(self.tail))
        with np.errstate(all="ignore"):
            least = np.maximum(self.sides.max(axis=0) * math.exp(-CUT_SIGMA[0] * z_t), 1e-300)
            ratio = np.maximum(high, least) / np.maximum(low, least)
            skewed = high * _beyond(ratio, z_t, self.reach) - low * _beyond(
                1.0 / ratio, z_t, self.reach)
            away = mean - self.medians
            others = away**2 / (square - mean**2 + away**2)
            others = np.clip(np.nan_to_num(others, nan=3.0 * self.tail),
                             self.tail / MOST_OF_OTHERS, 0.5)
            heaped = (high - low) * others * _beyond_heap(self.tail / others, self.reach)
        return CUT_TIMES * np.nan_to_num(np.where(heap, heaped, skewed))


def _beyond_heap(share, reach):
    """Return the mean distance of lognormal numbers beyond a range, in units of a side.

    A `share` of them lies beyond the side.
    """
    z_u, sigma = -ndtri(share), CUT_SIGMA[1]
    z = z_u + math.log(reach) / sigma
    return np.maximum(np.exp(0.5 * sigma**2 - sigma * z_u) * ndtr(sigma - z)
                      - reach * ndtr(-z), 0.0)


def _beyond(ratio, z_t, reach):
    """Return the mean distance beyond the end of a range, in units of a side.

    A normal quantile z is at the distance ``(ratio^(z / z_t) - 1) / (ratio - 1)``.
    """
    ratio = np.maximum(ratio, 1.0 + 1e-3)
    growth = np.log(ratio) / z_t
    power = 1.0 + reach * (ratio - 1.0)
    z = np.log(power) / growth
    whole = np.exp(0.5 * growth**2) * ndtr(growth - z) - power * ndtr(-z)
    return np.maximum(whole, 0.0) / (ratio - 1.0)


@dataclass(frozen=True)
class Within(Composite):
    """Ranges of the columns without public ranges, then a sum within the ranges.

    Ranges cost `share` of mu^2; `summed` maps rows, low, high, mu and a session to a noisy sum
    of each of `n_parts` of the rows. Ranges are `widened` for tails or not.
    """

    ranges: Quantiles
    share: float
    summed: Callable[..., Any]
    n_parts: int
    widened: bool

    @property
    def parts(self):
        """tuple of Share : ranges, and the sum."""
        return (Share(self.ranges, self.share), Share(Statistic(self.summed), 1.0 - self.share))

    def run(self, data, session, noise_multiplier):
        """Return `Ranges`, the sum within them, and the mu of the sum."""
        ((table, rows), edges), (chosen, summed) = data, self.parts
        mu, tail = mu_of(summed.own(noise_multiplier)), self.ranges.tail
        reach = END_REACH[1] if not self.widened else range_reach(
            tail, rows.n_units / self.n_parts, mu / math.sqrt(len(edges)))
        ranges = Ranges.of(edges, tail, reach,
                           *chosen.run((table, rows), session, noise_multiplier))
        return ranges, summed.run((rows, *ranges.ends.T), session, noise_multiplier), mu


def within(columns, summed=noisy_column_sums, share=1.0, parameter="bounds", widened=True):
    """Return the mechanism of a sum within ranges for a share of mu^2, and its data.

    `parameter` names the parameter for bounds in messages. Ranges are `widened` for tails, which
    increases the noise of products by more than that of sums.
    """
    ranges, own = _learnt_ranges(replace(columns.budget, n_columns=max(1, len(columns.full))),
                                 columns.edges(), share, parameter,
                                 columns.names)
    plan = Within(ranges, own, summed, columns.n_parts or 1, widened)
    return plan, ((columns.table, columns.rows), columns.edges())


def _learnt_ranges(budget, edges, whole, parameter, names):
    """Return the mechanism for undeclared ranges, and its share of mu^2."""
    unknown = tuple(np.isnan(edges[:, 0]).tolist())
    # The number of choices that would cost the same each if they shared all of mu^2.
    count = 3 * sum(unknown) / whole if any(unknown) else 0
    share = extreme_share(budget, count)
    tail = min(0.25, _TIED * range_tail(budget, count, share, 0.25))
    return _Ends(unknown, (tail, 0.5, 1.0 - tail), parameter, names), share


def entry_bound():
    """Return the entry of a certificate on the bound of summed numbers."""
    return Enforced("entry", 1.0, "derived",
                    "size of a number as it is summed, in half its range; larger ones are cut")


@dataclass(frozen=True)
class Points(Mechanism):
    """Intervals for quantiles of columns, each covering its quantile in 95 % of releases.

    Ranks of chosen points have Laplace noise. The points are chosen at ranks so far below and
    above the quantile that each is on the wrong side in 2.5 % of releases.

    With `population`, the intervals cover quantiles of the population that rows are sampled from.
    With `n_parts`, there are intervals for every part of the rows, chosen by the same queries.
    """

    names: tuple
    levels: tuple
    population: bool = False
    n_parts: int | None = None

    def event(self, noise_multiplier):
        """Return the privacy event of all choices."""
        return self._choices.event(noise_multiplier)

    def run(self, data, session, noise_multiplier):
        """Return the points, and whether columns have too few values for them.

        Points have the shape (n_columns, n_levels, 2), and flags the shape (n_columns,). With
        parts, both have these on their first axis. Points do not decrease with their ranks. Data
        are rows, bounds of columns, estimated counts of values, and whether values are integers
        (then interval ends are integers too).
        """
        few = self._are_few(data[2], self._choices.each(noise_multiplier))
        return self._choices.run(data, session, noise_multiplier), few

    def forewarn(self, rows, noise_multiplier):
        """Warn, by public numbers, if points may be beyond all rows."""
        n = rows.n_units / (self.n_parts or 1)
        if noise_multiplier and self._are_few(n, self._choices.each(noise_multiplier)):
            which = ", ".join(self.names[:3]) + f" and {len(self.names) - 3} more" * (
                len(self.names) > 3)
            parts = "" if self.n_parts is None else f"in {self.n_parts} parts "
            warn(f"n={rows.n_units} {units_of(rows.groups)} {parts}{_FEW.format(which)}",
                 PrivacyWarning, stacklevel=2)

    @property
    def _choices(self):
        return Choices(self._chosen, 2 * len(self.names) * len(self.levels))

    def _noise(self, price, level):
        return rank_noise(price, None if self.n_parts is None else level)

    def _reach(self, level, count, noise):
        """Return the ranks from a quantile to its points."""
        # The rank of a quantile between two numbers may be off by one.
        off = noise * math.log(20.0) + 1.0 if noise else 0.0
        return np.hypot(off, REACH * np.sqrt(self.population * level * (1.0 - level) * count))

    def _chosen(self, rows, edges, counts, whole, price, session):
        counts = np.atleast_2d(counts)
        found = np.empty((*counts.shape, len(self.levels), 2))
        ranks = found.copy()
        for place, held in enumerate(counts.T):
            bounds = None if np.isnan(edges[place]).any() else tuple(edges[place].tolist())
            own = partial(_column, place)
            for (row, level), side in product(enumerate(self.levels), (0, 1)):
                off = (2 * side - 1) * self._reach(level, held, self._noise(price, level))
                ranks[:, place, row, side] = level * held + off
                found[:, place, row, side] = noisy_decimals(
                    rows, own, level, off, price, session, bool(side), bounds,
                    whole=bool(whole[place]), parted=self.n_parts is not None)
        # Points are sorted in the order of their ranks.
        flat, order = (each.reshape(*counts.shape, -1) for each in (found, ranks))
        np.put_along_axis(flat, np.argsort(order, axis=-1, kind="stable"),
                          np.sort(flat, axis=-1), axis=-1)
        # Points between two integers are rounded outwards.
        ends = np.stack([np.floor(found[..., 0]), np.ceil(found[..., 1])], axis=-1)
        found = np.where(np.reshape(whole, (-1, 1, 1)), ends, found)
        return found[0] if self.n_parts is None else found

    def _are_few(self, counts, price):
        """Return whether so few values may have points beyond all of them."""
        few = np.zeros(np.shape(counts), bool)
        for level in self.levels:
            noise = self._noise(price, level)
            needed = np.maximum(self._reach(level, counts, noise), _CLEAR * noise)
            few |= (0.0 < level < 1.0) & (needed > counts * min(level, 1.0 - level))
        return few


@dataclass(frozen=True)
class CountedPoints(Composite):
    """Counts of values and of integers in columns, then intervals for quantiles.

    `whole` says which columns hold only integers, and without parts no missing values, by public
    dtypes. `held` says whether the counts of values are known.
    """

    points: Points
    whole: tuple
    held: bool = False

    @property
    def parts(self):
        """tuple of Share : counts of integers and of all values, those by parts, and points."""
        n_parts = self.points.n_parts
        shares = [0.0 if all(self.whole) else _COUNT_SHARE,
                  0.0 if n_parts is None or self.held else _COUNT_SHARE]
        by_part = partial(noisy_part_sums, n_parts=n_parts)
        return (*map(Share, map(Statistic, (noisy_column_sums, by_part)), shares),
                Share(self.points, 1.0 - sum(shares)))

    def run(self, data, session, noise_multiplier):
        """Return the result of `Points`, and lower bounds on the counts of values.

        Data are rows, bounds of columns, and estimated counts of values or None.
        """
        (rows, edges, counts), (counted, parted, points) = data, self.parts
        n, whole, n_parts = rows.n_units, np.array(self.whole), self.points.n_parts
        present, integers = _kinds(rows)
        if counts is None and n_parts is None:
            counts = np.full(len(whole), float(n))
        if (unsure := ~whole).any():
            # By parts, many noisy counts would add up to more noise.
            flags = [integers[:, unsure]]
            if n_parts is not None or not self.held:
                flags.insert(0, present[:, unsure])
            ends = np.zeros((2, len(flags) * unsure.sum()))
            ends[1] = 1.0
            sums = counted.run((replace(rows, X=np.hstack(flags)), *ends), session,
                               noise_multiplier)[1]
            noise = 0.5 * moment_noise(len(sums), mu_of(counted.own(noise_multiplier)))
            *there, whole_ones = 0.5 * (sums + n).reshape(len(flags), -1)
            total = counts_at_least(there[0], noise, n) if there else counts[unsure]
            if n_parts is None and not self.held:
                counts[unsure] = total
            # If noise hides this, interval ends are rounded, which only widens intervals.
            whole[unsure] = whole_ones > _WHOLE * total - _DOUBT * noise
        if counts is None:
            ends = np.zeros(len(whole)), np.ones(len(whole))
            sums = parted.run((replace(rows, X=present), *ends), session, noise_multiplier)
            counts = counts_at_least(sums, part_sum_noise(
                *ends, mu_of(parted.own(noise_multiplier))), n)
        return *points.run((rows, edges, counts, whole), session, noise_multiplier), counts


def counts_at_least(counts, noise, n_samples):
    """Return lower confidence bounds on how many numbers columns hold."""
    return np.clip(counts - _COUNT_REACH * noise, 1.0, n_samples)


def _kinds(rows):
    """Return indicators of values that are present, and of integers, in any part of the rows."""
    block = rows.take(slice(0, len(rows)))
    inside = (block.y >= 0)[:, None]
    return [(inside & flags).astype(np.float64)
            for flags in (~np.isnan(block.X), np.trunc(block.X) == block.X)]


def _column(place, rows, part):
    return rows.take(part).X[:, place]
