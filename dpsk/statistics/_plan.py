"""Mechanisms for ranges of columns, sums within ranges, and intervals of quantiles."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpsk._data.groups import units_of
from dpsk._defaults.columns import END_REACH, extreme_share, range_tail
from dpsk._mechanism.core import Choices, Composite, Mechanism, Share, Statistic, mu_of
from dpsk._privacy.certificate import Enforced
from dpsk._statistics.cells import noisy_decimal, rank_noise
from dpsk._statistics.column_sums import moment_noise, noisy_column_sums
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning
from dpsk.metrics._table import REACH
from dpsk.preprocessing._statistics_plan import Quantiles

__all__ = ["CountedPoints", "Points", "Within", "counts_at_least", "entry_bound", "within"]

#: For quantiles: share of mu^2 for the counts of values; deviations of noise subtracted from a
#: count; share of integers above which interval ends are integers; and the deviations of noise
#: by which a count of integers may fall below that.
_COUNT_SHARE, _COUNT_REACH, _WHOLE, _DOUBT = 0.05, 3.0, 0.5, 2.0
#: Factor on the tails of ranges, whose distance from the end of the rows is an exponent of 20. If
#: the quantile is 0, one end in 10,000 is wrong, as exp(14.2 - 1.2 * 20).
_TIED = 1.2
#: Least distance of a rank from the end of the rows, in scales of its noise.
_CLEAR = 16.0
#: Least half width of a range: relative to its middle, as floats are finite, and absolute.
_LEAST_SHARE, _LEAST_WIDTH = 1e-8, 1e-9


@dataclass(frozen=True)
class _Ends(Quantiles):
    """Quantiles from which ranges are computed, also for columns with many zeros.

    Points below 0 weigh exp(14.2) times as much as 0 itself, the largest ratio of all integers.
    At this exponent, one such end in twenty is wrong; below it, more are.
    """

    least_exponent = 14.2 + math.log(20.0)
    parameter: str = "bounds"


@dataclass(frozen=True)
class Within(Composite):
    """Ranges of the columns without public ranges, then a sum within the ranges.

    Ranges cost `share` of mu^2; `summed` maps rows, low, high, mu and a session to a noisy sum.
    """

    ranges: Quantiles
    share: float
    summed: Callable[..., Any] = noisy_column_sums

    @property
    def parts(self):
        """tuple of Share : ranges, and the sum."""
        return (Share(self.ranges, self.share), Share(Statistic(self.summed), 1.0 - self.share))

    def run(self, data, session, noise_multiplier):
        """Return ranges, shape (n_columns, 2), the sum, and the mu of the sum."""
        ((table, rows), edges), (chosen, summed) = data, self.parts
        ranges = _ranges_of(edges, chosen.run((table, rows), session, noise_multiplier))
        found = summed.run((rows, *ranges.T), session, noise_multiplier)
        return ranges, found, mu_of(summed.own(noise_multiplier))


def within(columns, summed=noisy_column_sums, share=1.0, parameter="bounds"):
    """Return the mechanism of a sum within ranges for a share of mu^2, and its data.

    `parameter` names the parameter for bounds in messages.
    """
    ranges, own = _learnt_ranges(replace(columns.budget, n_columns=max(1, len(columns.full))),
                                 columns.edges(), share, parameter)
    return Within(ranges, own, summed), ((columns.table, columns.rows), columns.edges())


def _learnt_ranges(budget, edges, whole, parameter):
    """Return the mechanism for undeclared ranges, and its share of mu^2."""
    unknown = tuple(np.isnan(edges[:, 0]).tolist())
    # The number of choices that would cost the same each if they shared all of mu^2.
    count = 3 * sum(unknown) / whole if any(unknown) else 0
    share = extreme_share(budget, count)
    tail = min(0.25, _TIED * range_tail(budget, count, share, 0.25))
    return _Ends(unknown, (tail, 0.5, 1.0 - tail), parameter), share


def _ranges_of(edges, found):
    """Return declared ranges, and learned ranges widened from medians, shape (n_columns, 2)."""
    median = found[:, 1:2]
    learnt = median + END_REACH[1] * (found[:, ::2] - median)
    # A column with equal quantiles gets the width of a flag.
    least = np.where(np.ptp(learnt, axis=1, keepdims=True) == 0.0, 1.0,
                     np.maximum(_LEAST_SHARE * np.abs(median), _LEAST_WIDTH))
    learnt = np.column_stack([np.minimum(learnt[:, 0], (median - least)[:, 0]),
                              np.maximum(learnt[:, 1], (median + least)[:, 0])])
    return np.where(np.isnan(edges), learnt, edges)


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
    """

    n_columns: int
    levels: tuple
    population: bool = False

    def event(self, noise_multiplier):
        """Return the privacy event of all choices."""
        return self._choices.event(noise_multiplier)

    def run(self, data, session, noise_multiplier):
        """Return the points, shape (n_columns, n_levels, 2), not decreasing with their ranks.

        Data are rows, bounds of columns, estimated counts of values, whether values are integers
        (then interval ends are integers too), and names of columns.
        """
        *data, names = data
        if noise_multiplier:
            self._warn_of_few_rows(data[0], data[2], names, self._choices.each(noise_multiplier))
        return self._choices.run(data, session, noise_multiplier)

    @property
    def _choices(self):
        return Choices(self._chosen, 2 * self.n_columns * len(self.levels))

    def _reach(self, level, count, noise):
        """Return the ranks from a quantile to its points."""
        # The rank of a quantile between two numbers may be off by one.
        off = noise * math.log(20.0) + 1.0 if noise else 0.0
        return math.hypot(off, REACH * math.sqrt(self.population * level * (1.0 - level) * count))

    def _chosen(self, rows, edges, counts, whole, price, session):
        found, noise = np.empty((self.n_columns, len(self.levels), 2)), rank_noise(price)
        for place, count in enumerate(counts):
            ranks = np.clip([[level + side * self._reach(level, count, noise) / count
                              for side in (-1.0, 1.0)] for level in self.levels], 0.0, 1.0)
            bounds = None if np.isnan(edges[place]).any() else tuple(edges[place].tolist())
            own = partial(_column, place)
            points = [noisy_decimal(rows, own, rank, price, session, bool(side), bounds, True,
                                    bool(whole[place]))
                      for (_, side), rank in np.ndenumerate(ranks)]
            # Points are sorted in the order of their ranks.
            flat = found[place].reshape(-1)
            flat[np.argsort(ranks, axis=None, kind="stable")] = np.sort(points)
            if whole[place]:
                # Points between two integers are rounded outwards.
                found[place] = np.stack([np.floor(flat[::2]), np.ceil(flat[1::2])], axis=-1)
        return found

    def _warn_of_few_rows(self, rows, counts, names, price):
        """Warn, by public or released values, if points may be beyond all rows."""
        noise = rank_noise(price)
        few = [name for name, count in zip(names, counts, strict=True)
               if any(max(self._reach(level, count, noise), _CLEAR * noise)
                      > count * min(level, 1.0 - level) for level in self.levels
                      if 0.0 < level < 1.0)]
        if few:
            which = ", ".join(few[:3]) + f" and {len(few) - 3} more" * (len(few) > 3)
            warn(
                f"n={rows.n_units} {units_of(rows.groups)} are too few for these quantiles of "
                f"{which} within the budget: intervals may be wide, and without declared "
                "bounds far from all rows; declare these, raise epsilon, or ask for fewer.",
                PrivacyWarning, stacklevel=2)


@dataclass(frozen=True)
class CountedPoints(Composite):
    """Counts of values and of integers in columns, then intervals for quantiles.

    `full` says which columns hold only integers and have no missing values, by public dtypes.
    """

    points: Points
    full: tuple

    @property
    def parts(self):
        """tuple of Share : counts, and interval ends."""
        share = 0.0 if all(self.full) else _COUNT_SHARE
        return Share(Statistic(noisy_column_sums), share), Share(self.points, 1.0 - share)

    def run(self, data, session, noise_multiplier):
        """Return the interval ends of `Points`.

        Data are rows, bounds of columns, estimated counts of values or None, and names of columns.
        """
        (rows, edges, held, names), (counted, points) = data, self.parts
        n, whole = rows.n_units, np.array(self.full)
        counts, gappy = np.full(len(whole), float(n)) if held is None else held, ~whole
        if gappy.any():
            flags = _kinds(rows, gappy)[int(held is not None):]
            ends = np.zeros((2, len(flags) * gappy.sum()))
            ends[1] = 1.0
            sums = counted.run((replace(rows, X=np.hstack(flags)), *ends), session,
                               noise_multiplier)[1]
            noise = 0.5 * moment_noise(len(sums), mu_of(counted.own(noise_multiplier)))
            *there, whole_ones = 0.5 * (sums + n).reshape(len(flags), -1)
            if held is None:
                counts[gappy] = counts_at_least(there[0], noise, n)
            # If noise hides this, interval ends are rounded, which only widens intervals.
            whole[gappy] = whole_ones > _WHOLE * counts[gappy] - _DOUBT * noise
        return points.run((rows, edges, counts, whole, names), session, noise_multiplier)


def counts_at_least(counts, noise, n_samples):
    """Return lower confidence bounds on how many numbers columns hold."""
    return np.clip(counts - _COUNT_REACH * noise, 1.0, n_samples)


def _kinds(rows, columns):
    """Return indicators of values that are present, and of integers."""
    X = rows.take(slice(0, len(rows))).X[:, columns]
    return [flags.astype(np.float64) for flags in (~np.isnan(X), np.trunc(X) == X)]


def _column(place, rows, part):
    return rows.take(part).X[:, place]
