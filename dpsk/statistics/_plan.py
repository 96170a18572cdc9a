"""Mechanisms for ranges of columns, and sums within ranges."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from dpsk._defaults.columns import (
    CUT_SIGMA,
    CUT_TIMES,
    END_REACH,
    MOST_OF_OTHERS,
    extreme_share,
    range_reach,
    range_tail,
)
from dpsk._mechanism.core import Composite, Share, Statistic, mu_of
from dpsk._privacy.certificate import Enforced
from dpsk._statistics.column_sums import noisy_column_sums
from dpsk._statistics.ends import noisy_ends
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning
from dpsk.preprocessing._statistics_plan import Quantiles

__all__ = ["HEAPED", "Ranges", "Within", "entry_bound", "within"]

#: Factor on the tails of ranges, whose distance from the end of the rows is an exponent of 20.
#: Distances in a gap have three quarters of it or more and together weigh up to exp(8.4) times as
#: much as an end, so one end in 10,000 is in a gap, as exp(8.4 - 0.75 * 1.2 * 20).
_TIED = 1.2
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
