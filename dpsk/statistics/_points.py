"""Mechanisms for intervals of quantiles, whose ends are points between the numbers of a column."""

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from dpsk._data.groups import units_of
from dpsk._mechanism.core import Choices, Composite, Mechanism, Share, Statistic, mu_of
from dpsk._statistics.cells import noisy_decimals, rank_noise
from dpsk._statistics.column_sums import noisy_flag_counts
from dpsk._statistics.decimals import multiples_about
from dpsk._statistics.part_sums import noisy_part_sums, part_sum_noise
from dpsk._statistics.steps import noisy_steps
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning
from dpsk.metrics._table import REACH

__all__ = ["CountedPoints", "Points", "counts_at_least"]

#: Share of mu^2 for each release of counts; deviations of noise subtracted from a count; share of
#: integers above which interval ends are integers; and the deviations of noise by which a count of
#: integers may fall below that.
_COUNT_SHARE, _COUNT_REACH, _WHOLE, _DOUBT = 0.05, 3.0, 0.5, 2.0
#: Least distance of a rank from the end of the rows, in scales of its noise.
_CLEAR = 16.0
#: Message on quantiles with few rows; the columns are filled in.
_FEW = ("are too few for these quantiles of {} within the budget: intervals may be wide, and "
        "without declared bounds far from all rows; declare these, raise epsilon, or ask for "
        "fewer.")


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
        are rows, bounds of columns, estimated counts of values, and the steps of columns or 0
        (interval ends are multiples of a step too).
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

    def _chosen(self, rows, edges, counts, steps, price, session):
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
                    step=float(steps[place]), parted=self.n_parts is not None)
        # Points are sorted in the order of their ranks.
        flat, order = (each.reshape(*counts.shape, -1) for each in (found, ranks))
        np.put_along_axis(flat, np.argsort(order, axis=-1, kind="stable"),
                          np.sort(flat, axis=-1), axis=-1)
        # Points between two multiples are rounded outwards.
        for place in np.flatnonzero(steps):
            for side in (0, 1):
                found[:, place, :, side] = multiples_about(
                    found[:, place, :, side], steps[place], bool(side))
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
    """Counts of values and of multiples of steps in columns, then intervals for quantiles.

    `whole` says which columns hold only integers, and without parts no missing values, by public
    dtypes. `held` says whether the counts of values are known.
    """

    points: Points
    whole: tuple
    held: bool = False

    @property
    def parts(self):
        """tuple of Share : counts of integers and of all, those by parts, steps, and points."""
        n_parts = self.points.n_parts
        shares = [0.0 if all(self.whole) else _COUNT_SHARE,
                  0.0 if n_parts is None or self.held else _COUNT_SHARE, _COUNT_SHARE]
        by_part = partial(noisy_part_sums, n_parts=n_parts)
        asked = noisy_flag_counts, by_part, noisy_steps
        return (*map(Share, map(Statistic, asked), shares),
                Share(self.points, 1.0 - sum(shares)))

    def run(self, data, session, noise_multiplier):
        """Return the result of `Points`, and lower bounds on the counts of values.

        Data are rows, bounds of columns, and estimated counts of values or None.
        """
        (rows, edges, counts), (counted, parted, stepped, points) = data, self.parts
        n, whole, n_parts = rows.n_units, np.array(self.whole), self.points.n_parts
        present, integers = _kinds(rows)
        if counts is None and n_parts is None:
            counts = np.full(len(whole), float(n))
        if (unsure := ~whole).any():
            # By parts, many noisy counts would add up to more noise.
            flags = [integers[:, unsure]]
            if n_parts is not None or not self.held:
                flags.insert(0, present[:, unsure])
            found, noise = counted.run((replace(rows, X=np.hstack(flags)),), session,
                                       noise_multiplier)
            *there, whole_ones = found.reshape(len(flags), -1)
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
        steps = stepped.run((rows, np.array(self.whole)), session, noise_multiplier)
        steps = np.maximum(steps, whole)
        return *points.run((rows, edges, counts, steps), session, noise_multiplier), counts


def counts_at_least(counts, noise, n_samples):
    """Return lower confidence bounds on how many numbers columns hold."""
    return np.clip(counts - _COUNT_REACH * noise, 1.0, n_samples)


def _kinds(rows):
    """Return indicators of values that are present, and of integers, in any part of the rows."""
    block = rows.take(slice(0, len(rows)))
    inside = (block.y >= 0)[:, None]
    return [(inside & flags).astype(np.int8)
            for flags in (~np.isnan(block.X), np.trunc(block.X) == block.X)]


def _column(place, rows, part):
    return rows.take(part).X[:, place]
