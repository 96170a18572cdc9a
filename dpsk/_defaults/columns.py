"""Defaults of knots, categories and pairs of table columns; see docs/theory/tables.md."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from dpsk._defaults.budgets import CLEARANCE, mu_of_share
from dpsk._defaults.noiseless import PAIR_MU, SAMPLE_MU, SAMPLE_PRECISION
from dpsk._privacy.closed_forms import bounded_range_epsilon

__all__ = ["ATOMS", "ATOM_DEVIATIONS", "ATOM_ROWS", "BUCKETS", "CHOSEN_LEVELS", "CLASS_PAIRS",
           "CLASS_SHARE", "COUNT_SHARE", "CUT_SIGMA", "CUT_TIMES", "DISCLOSURE_SHARE",
           "END_REACH", "EXTREMES", "FIRST_SHARE", "MOMENTS", "MOST_CATEGORIES",
           "MOST_OF_OTHERS", "MOST_SKEW", "OCCUPIED", "RARE_SCARCITY", "RARE_SIGNALS",
           "REMAINDER", "SPREADS", "SPREAD_MIDDLE", "TARGET_PAIRS", "PairRule", "category_share",
           "class_log_odds", "class_scarcity", "curve_penalty", "end_medians_share",
           "extreme_share", "hashing_pays",
           "knot_levels", "knot_share", "knot_signal", "median_share", "moment_share",
           "odds_of_rare", "range_points", "range_reach", "range_tail", "skew_error",
           "spread_share", "spreads_pay"]

#: Least share of mu^2 of all knots, and the largest where all columns are numeric. In between, the
#: share gives each choice this ``n mu``, so that ranks are off by a share of the rows.
KNOT_SHARES, KNOT_SIGNAL = (0.03, 0.25), 100.0
#: Least and largest share of mu^2 of finding categories, and the ``n mu`` per column in between;
#: categories with about a fiftieth of the rows then stand out.
CATEGORY_SHARES, CATEGORY_SIGNAL = (0.01, 0.15), 350.0
#: Medians, medians with wide spreads, and ends of ranges: least and largest share of mu^2 of all
#: columns, and the ``n mu`` of each choice in between.
MEDIANS, SPREADS, EXTREMES = (0.01, 0.25, 60.0), (0.01, 0.15, 100.0), (0.02, 0.2, 400.0)
#: The same for counts, sums and sums of squares; ``n mu`` over the square root of the columns.
MOMENTS = (0.01, 0.1, 124.0)
#: Least share of rows beyond an end of a range.
LEAST_TAIL = 0.005
#: The ``n mu`` at which a median is found at any distance from 0; the largest fraction that such
#: medians take of the share of ends; and the least ``n mu`` of each choice with them.
END_MEDIAN_SIGNAL, MOST_OF_ENDS, LEAST_END_SIGNAL = 73.0, 1.0 / 3.0, 50.0
#: Number of buckets that other categories are hashed into, if these have more rows than so many
#: standard deviations of the noise.
BUCKETS, REMAINDER = 32, 2.0
#: Share of mu^2 of counts in buckets and in ranges of numbers, and the standard deviations of
#: noise from which each counts as occupied. A bucket that is left out is lost, a range is not.
COUNT_SHARE, OCCUPIED = 0.05, {"buckets": 0.5, "ranges": 3.0}
#: Ends of ranges of numbers: powers of this base, from the first to the last exponent, and their
#: negatives.
_RANGE_BASE, _RANGE_POWERS = 4.0, (-5, 15)
#: Integers that columns with few values consist of, such as flags, grades and codes; least number
#: of rows over the noise of a count at which columns are searched for them; and the standard
#: deviations of noise from which an integer counts as occupied, and from which other numbers do.
ATOMS, ATOM_ROWS, ATOM_DEVIATIONS = np.arange(-1.0, 21.0), 12.0, (4.0, 6.0)
#: Share of delta for the event that a category of a single row is released.
DISCLOSURE_SHARE = 0.1
#: Largest number of categories of a column by default.
MOST_CATEGORIES = 24
#: Distance of the ends beyond the outer medians, over the distance of these from the first median,
#: for few knots and for more.
END_REACH = (2.0, 3.0)
#: For intervals of means: the largest sigma of the lognormal distribution that estimates what a
#: range cuts, its sigma beside a number of many rows, and a factor on this estimate.
CUT_SIGMA, CUT_TIMES = (1.5, 1.0), 2.5
#: Ratio of the noise of a mean to the sampling error of normal numbers, up to which ranges are
#: widened for heavy tails.
_NOISE_OF_ERROR = 0.1
#: Largest share of the numbers beside a number of many rows that lies beyond an end.
MOST_OF_OTHERS = 0.9
#: Largest ratio of the quartiles' distances from the median that scaling corrects; about that of a
#: lognormal distribution with sigma 3.
MOST_SKEW = 8.0
#: Largest number of pairs of columns, and ``n mu`` per pair.
MOST_PAIRS, PAIR_SIGNAL = 4, 5000.0
#: Share of mu^2 of a first model, whose residuals determine the pairs.
FIRST_SHARE = 0.1
#: Least levels of medians that are chosen, as ends follow from them, and the most; the cube of the
#: number of intervals between knots at a signal of 1.
CHOSEN_LEVELS, _INTERVALS = (2, 6), 0.7
#: Tables of more columns of numbers than the first have a spread in the place of a second level of
#: medians, where the exponent of a median, its score at the end of the rows, is below the second.
#: Least `knot_signal` at which the median is a knot with it. Chosen on generated tables, adult,
#: credit and wine.
SPREAD_COLUMNS, SPREAD_EXPONENT, SPREAD_MIDDLE = 15, 18.0, 14.0
#: Share of mu^2 of the counts of two classes, and the standard deviations of noise that are added
#: to the count of the rarer class.
CLASS_SHARE, _CLASS_DEVIATIONS = 0.01, 2.0
#: Least `class_scarcity` at which descent starts from the odds of a rare class, without momentum;
#: least ``n mu`` over the number of features, and the largest over both.
RARE_SCARCITY, RARE_SIGNALS = 2.0, (70.0, 100.0)


def knot_signal(budget, n_numeric):
    """Return ``0.7 n mu`` over the number of numeric columns.

    Without noise, mu is `SAMPLE_MU`. Shape functions have about its cube root of intervals.
    """
    return max(1.0, _INTERVALS * _whole_signal(budget) / n_numeric) if n_numeric else 1.0


def curve_penalty(budget):
    """Return the factor of the squared penalty on shape functions, added to the mean loss.

    It is 0 under a budget, where the defaults of private fits keep coefficients small. Without
    noise, levels with few rows or rows of one class could have coefficients of any size.
    """
    return 0.0 if budget.is_private else SAMPLE_PRECISION / budget.n_samples


def knot_levels(signal, scarcity=1.0):
    """Return how often the range of a numeric column is halved, at a `knot_signal`.

    The signal is divided by `scarcity`, at least 1: the number of pairs of classes, as each class
    has fewer rows, or the `class_scarcity` of two classes. The division never reduces the result
    below 1.
    """
    if signal == math.inf:
        return CHOSEN_LEVELS[1]
    levels = math.floor(math.log2(signal) / 3.0)
    fewer = max(1, math.floor(math.log2(max(1.0, signal / scarcity)) / 3.0))
    return min(CHOSEN_LEVELS[1], levels, fewer)


def skew_error(n_samples, noise):
    """Return the standard deviation of the log ratio of quartile distances.

    Each distance, of a quartile from the median, spans ``n / 4`` ranks. The ranks of the three
    quantiles have Laplace noise of scale `noise`, that of the median in both distances. The
    counts between them also have the sampling error of n rows.
    """
    return math.sqrt(192.0 * (noise / n_samples)**2 + 8.0 / n_samples)


def class_log_odds(counts, noise):
    """Return the log-odds of the second of two classes.

    `noise` is the standard deviation on the two `counts`. It is allowed for, so that noise alone
    makes no class rare.
    """
    total = counts.sum()
    rarer = np.clip(counts.min() + _CLASS_DEVIATIONS * noise, 1.0, 0.5 * total) / total
    odds = math.log(rarer / (1.0 - rarer))
    return odds if counts[1] < counts[0] else -odds


def class_scarcity(log_odds):
    """Return 1 over four times the variance of the labels of two classes.

    Rows carry that much less information on a score than with classes of equal size, so there are
    fewer knots.
    """
    return math.cosh(0.5 * log_odds)**2


def odds_of_rare(budget, width, log_odds):
    """Return the log-odds that descent on `width` features starts from; 0 if no class is rare.

    It is 0 also where noise allows few steps, which need momentum, and where noise is negligible.
    """
    scarcity, (least, most) = class_scarcity(log_odds), RARE_SIGNALS
    if not budget.is_private or scarcity < RARE_SCARCITY:
        return 0.0
    return log_odds if least <= _whole_signal(budget) / (width + 1) < most * scarcity else 0.0


def knot_share(budget, n_choices, n_numeric, n_columns):
    """Return the share of mu^2 of `n_choices` choices of knots."""
    least, most = KNOT_SHARES
    if not budget.is_private:
        return least
    wanted = n_choices * (KNOT_SIGNAL / _whole_signal(budget)) ** 2
    return min(max(wanted, least), most * n_numeric / n_columns)


def spreads_pay(budget, n_columns, n_choices, share):
    """Return whether columns have a median and a spread; `n_choices` have a share of mu^2.

    The outer medians of a second level have a quarter of the rows beyond them. With few rows for
    the budget, the many points far from all rows outvote these. A spread, the median distance
    from a released median, has half of the rows beyond it.
    """
    if n_columns <= SPREAD_COLUMNS or not budget.is_private:
        return False
    width = bounded_range_epsilon(mu_of_share(budget, share / n_choices))
    return 0.25 * width * budget.n_samples < SPREAD_EXPONENT


def range_points():
    """Return public ends of ranges of numbers, in increasing order."""
    low, high = _RANGE_POWERS
    powers = _RANGE_BASE ** np.arange(low, high + 1)
    return np.concatenate([-powers[::-1], [0.0], powers])


def category_share(budget, n_words):
    """Return the share of mu^2 of finding the categories of `n_words` columns."""
    least, most = CATEGORY_SHARES
    if not budget.is_private:
        return least
    return min(most, max(least, n_words * (CATEGORY_SIGNAL / _whole_signal(budget)) ** 2))


def median_share(budget, n_choices):
    """Return the share of mu^2 of `n_choices` medians."""
    return _choice_share(budget, n_choices, MEDIANS)


def spread_share(budget, n_choices):
    """Return the share of mu^2 of `n_choices` medians and wide spreads."""
    return _choice_share(budget, n_choices, SPREADS)


def extreme_share(budget, n_choices):
    """Return the share of mu^2 of `n_choices` ends of ranges."""
    return _choice_share(budget, n_choices, EXTREMES)


def end_medians_share(budget, n_columns, share):
    """Return the fraction, for medians, of the share of mu^2 of medians and ends of columns.

    It is 0 where rows are too few for both, and without noise, as ends are then exact.
    """
    if not (n_columns and budget.is_private):
        return 0.0
    each = _whole_signal(budget)**2 * share / n_columns
    if MOST_OF_ENDS * each < LEAST_END_SIGNAL**2:
        return 0.0
    return min(MOST_OF_ENDS, END_MEDIAN_SIGNAL**2 / each)


def moment_share(budget):
    """Return the share of mu^2 of counts, sums and sums of squares of all columns."""
    least, most, signal = MOMENTS
    if not budget.is_private:
        return least
    return min(most, max(least, budget.n_columns * (signal / _whole_signal(budget)) ** 2))


def range_tail(budget, n_choices, share, most):
    """Return the share of rows beyond one of `n_choices` ends, which divide a share of mu^2.

    It is the least that keeps clear of the last row, and at most `most`.
    """
    if not n_choices:
        return most
    if not budget.is_private:
        return min(most, max(LEAST_TAIL, 1.0 / budget.n_samples))
    width = bounded_range_epsilon(mu_of_share(budget, share / n_choices))
    return min(most, max(LEAST_TAIL, 2.0 * CLEARANCE / (budget.n_samples * width)))


def range_reach(tail, n_samples, mu):
    """Return how far a range ends from a median, over the point with a share of rows beyond it.

    `mu` is that of the sum of one column. With exponential tails, one in ``n mu`` rows lies
    beyond the end, so the sum loses less than its noise. Where this noise is small beside the
    sampling error of normal numbers, the range is wider, as tails may be heavier.
    """
    signal = n_samples * mu
    if not 1.0 < signal < math.inf:
        return END_REACH[1]
    return max(END_REACH[1], math.log(0.5 * signal) / -math.log(2.0 * tail),
               _NOISE_OF_ERROR * math.sqrt(n_samples) * mu / -float(ndtri(tail)))


def _choice_share(budget, n_choices, rule):
    least, most, signal = rule
    if not n_choices:
        return 0.0
    if not budget.is_private:
        return least
    return min(most, max(least, n_choices * (signal / _whole_signal(budget)) ** 2))


@dataclass(frozen=True)
class PairRule:
    """Rule for the choice of pairs of columns, for one kind of model.

    Parameters
    ----------
    least : float
        The ``n mu`` from which pairs are chosen by default.
    share : float
        Share of mu^2 of the choice.
    cell : float
        Least ``n mu`` per product of features.
    clip : float
        Bound on residuals, of probabilities or of targets in units of half their range.
    """

    least: float
    share: float
    cell: float
    clip: float

    def count(self, budget):
        """Return the default number of pairs."""
        signal = _whole_signal(budget, PAIR_MU)
        if signal < self.least:
            return 0
        return min(MOST_PAIRS, max(1, round(signal / PAIR_SIGNAL)))

    def pays(self, budget, scarcity):
        """Return whether there are enough rows for one pair, at a `class_scarcity`."""
        return _whole_signal(budget, PAIR_MU) >= scarcity * min(self.least, PAIR_SIGNAL)

    def largest(self, budget):
        """Return the largest number of features that the product of two columns may have."""
        return _whole_signal(budget, PAIR_MU) / self.cell


#: Residuals of labels are noisier than those of targets.
CLASS_PAIRS, TARGET_PAIRS = PairRule(1e4, 0.1, 150.0, 0.5), PairRule(2e3, 0.05, 20.0, 0.3)


def hashing_pays(budget, n_words):
    """Return whether the categories of `n_words` columns are hashed by default, at no cost.

    They are, where the largest share would not find categories with a fiftieth of the rows.
    """
    return budget.is_private and category_share(budget, n_words) >= CATEGORY_SHARES[1]


def _whole_signal(budget, noiseless=SAMPLE_MU):
    return budget.n_samples * (mu_of_share(budget, 1.0) if budget.is_private else noiseless)
