"""How finely columns of a table are told apart, from public facts; docs/theory/tables.md."""

import math
from dataclasses import dataclass

import numpy as np

from dpsk._defaults.budgets import CLEARANCE, mu_of_share
from dpsk._defaults.noiseless import PAIR_MU, SAMPLE_MU, SAMPLE_PRECISION
from dpsk._privacy.closed_forms import bounded_range_epsilon

__all__ = ["ATOMS", "ATOM_DEVIATIONS", "ATOM_ROWS", "BUCKETS", "CHOSEN_LEVELS", "CLASS_PAIRS",
           "CLASS_SHARE", "COUNT_SHARE", "DISCLOSURE_SHARE", "END_REACH", "EXTREMES",
           "FIRST_SHARE", "MOMENTS", "MOST_CATEGORIES", "MOST_SKEW", "OCCUPIED", "RARE_SCARCITY",
           "RARE_SIGNALS", "REMAINDER", "SPREADS", "TARGET_PAIRS", "PairRule", "category_share",
           "class_log_odds", "class_scarcity", "curve_penalty", "extreme_share", "hashing_pays",
           "knot_levels", "knot_share", "knot_signal", "median_share", "moment_share",
           "odds_of_rare", "range_points", "range_tail", "skew_error", "spread_share"]

#: The least share of mu^2 of all knots, the largest where all columns are numbers, and the signal
#: of a choice that it buys in between: ``n mu`` of one, so that ranks are off by a share of rows.
KNOT_SHARES, KNOT_SIGNAL = (0.03, 0.25), 100.0
#: The least and the largest share of mu^2 of categories that are found, and the ``n mu`` a column
#: in between: those of about a fiftieth of the rows stand out.
CATEGORY_SHARES, CATEGORY_SIGNAL = (0.01, 0.15), 350.0
#: Of medians, of those with wide spreads, and of ends of ranges: the least and the largest share
#: of mu^2 of all columns, and the ``n mu`` of each choice in between.
MEDIANS, SPREADS, EXTREMES = (0.01, 0.25, 60.0), (0.01, 0.15, 100.0), (0.02, 0.2, 400.0)
#: The same of counts, sums and sums of squares, the ``n mu`` over the root of the columns.
MOMENTS = (0.01, 0.1, 124.0)
#: The least share of rows beyond an end of a range.
LEAST_TAIL = 0.005
#: How many buckets categories are hashed into that are not found, where these are more rows than
#: so many standard deviations of the noise.
BUCKETS, REMAINDER = 32, 2.0
#: The share of mu^2 of which buckets and ranges of numbers hold rows, and from how many standard
#: deviations of noise on they seem to: a bucket that is left out is lost, and a range not.
COUNT_SHARE, OCCUPIED = 0.05, {"buckets": 0.5, "ranges": 3.0}
#: The powers of this number from the first to the last one, and their negatives, are the ends of
#: ranges of numbers.
_RANGE_BASE, _RANGE_POWERS = 4.0, (-5, 15)
#: Whole numbers that columns of few values stand on, such as flags, grades and codes; the least
#: number of rows over the noise of a count at which columns are looked at for them; and from how
#: many standard deviations of noise on one of them holds rows, and other numbers do.
ATOMS, ATOM_ROWS, ATOM_DEVIATIONS = np.arange(-1.0, 21.0), 12.0, (4.0, 6.0)
#: The share of delta at which a category that a single row brought may show.
DISCLOSURE_SHARE = 0.1
#: At most so many categories of a column are told apart by default.
MOST_CATEGORIES = 24
#: Ends are so many times as far beyond the outer medians as these are from the first one: of few
#: knots, and of more.
END_REACH = (2.0, 3.0)
#: The largest ratio of the quartiles' distances from the median on which curves are evened out:
#: that of a lognormal law of three.
MOST_SKEW = 8.0
#: The most pairs of columns, and ``n mu`` of each.
MOST_PAIRS, PAIR_SIGNAL = 4, 5000.0
#: The share of mu^2 of a first model, whose residuals tell pairs.
FIRST_SHARE = 0.1
#: The least levels of medians that are chosen, as ends follow from them, and the most; intervals
#: between knots at a signal of 1, to the third power.
CHOSEN_LEVELS, _INTERVALS = (2, 6), 0.7
#: The share of mu^2 of how many rows are of either of two classes, and by how many standard
#: deviations of its noise the number of the rarer one is taken for larger.
CLASS_SHARE, _CLASS_DEVIATIONS = 0.01, 2.0
#: The `class_scarcity` from which on descent starts from the odds of a rare class, without
#: momentum, and the least ``n mu`` over the number of features, and the most over both.
RARE_SCARCITY, RARE_SIGNALS = 2.0, (70.0, 100.0)


def knot_signal(budget, n_numeric):
    """Return ``0.7 n mu`` over the number of columns of numbers, without noise at a mu of rows.

    Curves have about as many intervals as its cube root.
    """
    return max(1.0, _INTERVALS * _whole_signal(budget) / n_numeric) if n_numeric else 1.0


def curve_penalty(budget):
    """Return the factor of the squared penalty on curves beside a mean loss.

    None under a budget, where noise and its defaults keep them short. Without it levels with few
    rows, or with rows of one class, would have curves of any size.
    """
    return 0.0 if budget.is_private else SAMPLE_PRECISION / budget.n_samples


def knot_levels(signal, scarcity=1.0):
    """Return how often the range of a column of numbers is halved, at a `knot_signal`.

    That is over a `scarcity` of 1 or more: the number of pairs of classes, as each class has so
    many rows fewer, or what `class_scarcity` says of two. Once at least where it would be
    without.
    """
    if signal == math.inf:
        return CHOSEN_LEVELS[1]
    levels = math.floor(math.log2(signal) / 3.0)
    fewer = max(1, math.floor(math.log2(max(1.0, signal / scarcity)) / 3.0))
    return min(CHOSEN_LEVELS[1], levels, fewer)


def skew_error(n_samples, noise):
    """Return a standard deviation of the logarithm of the ratio of quartiles' distances.

    Each spans ``n / 4`` ranks. The ranks of the three are off by Laplace noise of that scale, that
    of the median on both sides, and the counts between them as those of any n rows.
    """
    return math.sqrt(192.0 * (noise / n_samples)**2 + 8.0 / n_samples)


def class_log_odds(counts, noise):
    """Return the log-odds of the second of two classes.

    The two `counts` have noise of a standard deviation, and noise makes no class rare.
    """
    total = counts.sum()
    rarer = np.clip(counts.min() + _CLASS_DEVIATIONS * noise, 1.0, 0.5 * total) / total
    odds = math.log(rarer / (1.0 - rarer))
    return odds if counts[1] < counts[0] else -odds


def class_scarcity(log_odds):
    """Return 1 over four times the variance of labels of two classes: what knots are fewer by.

    Rows say so much less of a score than where both classes are as large.
    """
    return math.cosh(0.5 * log_odds)**2


def odds_of_rare(budget, width, log_odds):
    """Return log-odds that descent on so many features starts from, 0 where no class is rare.

    Nor where noise allows few steps, which momentum lengthens, or drowns beside all rows say.
    """
    scarcity, (least, most) = class_scarcity(log_odds), RARE_SIGNALS
    if not budget.is_private or scarcity < RARE_SCARCITY:
        return 0.0
    return log_odds if least <= _whole_signal(budget) / (width + 1) < most * scarcity else 0.0


def knot_share(budget, n_choices, n_numeric, n_columns):
    """Return the share of mu^2 of so many choices of knots."""
    least, most = KNOT_SHARES
    if not budget.is_private:
        return least
    wanted = n_choices * (KNOT_SIGNAL / _whole_signal(budget)) ** 2
    return min(max(wanted, least), most * n_numeric / n_columns)


def range_points():
    """Return the ends of ranges of numbers of which nothing is known, increasing."""
    low, high = _RANGE_POWERS
    powers = _RANGE_BASE ** np.arange(low, high + 1)
    return np.concatenate([-powers[::-1], [0.0], powers])


def category_share(budget, n_words):
    """Return the share of mu^2 of finding the categories of so many columns."""
    least, most = CATEGORY_SHARES
    if not budget.is_private:
        return least
    return min(most, max(least, n_words * (CATEGORY_SIGNAL / _whole_signal(budget)) ** 2))


def median_share(budget, n_choices):
    """Return the share of mu^2 of so many choices of medians."""
    return _choice_share(budget, n_choices, MEDIANS)


def spread_share(budget, n_choices):
    """Return the share of mu^2 of so many choices of medians and wide spreads."""
    return _choice_share(budget, n_choices, SPREADS)


def extreme_share(budget, n_choices):
    """Return the share of mu^2 of so many ends of ranges."""
    return _choice_share(budget, n_choices, EXTREMES)


def moment_share(budget):
    """Return the share of mu^2 of counts, sums and sums of squares of all columns."""
    least, most, signal = MOMENTS
    if not budget.is_private:
        return least
    return min(most, max(least, budget.n_columns * (signal / _whole_signal(budget)) ** 2))


def range_tail(budget, n_choices, share, most):
    """Return the share of rows beyond an end, of so many that share a share of mu^2.

    The least that keeps clear of the end of the rows, `most` at most.
    """
    if not n_choices:
        return most
    if not budget.is_private:
        return min(most, max(LEAST_TAIL, 1.0 / budget.n_samples))
    width = bounded_range_epsilon(mu_of_share(budget, share / n_choices))
    return min(most, max(LEAST_TAIL, 2.0 * CLEARANCE / (budget.n_samples * width)))


def _choice_share(budget, n_choices, rule):
    least, most, signal = rule
    if not n_choices:
        return 0.0
    if not budget.is_private:
        return least
    return min(most, max(least, n_choices * (signal / _whole_signal(budget)) ** 2))


@dataclass(frozen=True)
class PairRule:
    """How pairs of columns are chosen for a kind of model.

    Parameters
    ----------
    least : float
        The ``n mu`` from which on some are chosen by default.
    share : float
        Of mu^2, of their choice.
    cell : float
        The ``n mu`` of each product of features at least.
    clip : float
        Bound on residuals: of probabilities, or of targets in half their range.
    """

    least: float
    share: float
    cell: float
    clip: float

    def count(self, budget):
        """Return how many pairs are chosen by default."""
        signal = _whole_signal(budget, PAIR_MU)
        if signal < self.least:
            return 0
        return min(MOST_PAIRS, max(1, round(signal / PAIR_SIGNAL)))

    def pays(self, budget, scarcity):
        """Return whether rows at a `class_scarcity` are enough for one pair."""
        return _whole_signal(budget, PAIR_MU) >= scarcity * min(self.least, PAIR_SIGNAL)

    def largest(self, budget):
        """Return how many features the product of two columns may have."""
        return _whole_signal(budget, PAIR_MU) / self.cell


#: Errors of labels are noisier than those of targets.
CLASS_PAIRS, TARGET_PAIRS = PairRule(1e4, 0.1, 150.0, 0.5), PairRule(2e3, 0.05, 20.0, 0.3)


def hashing_pays(budget, n_words):
    """Return whether categories of so many columns are hashed, which costs nothing, by default.

    Where those of a fiftieth of the rows could not be found for the largest share.
    """
    return budget.is_private and category_share(budget, n_words) >= CATEGORY_SHARES[1]


def _whole_signal(budget, noiseless=SAMPLE_MU):
    return budget.n_samples * (mu_of_share(budget, 1.0) if budget.is_private else noiseless)
