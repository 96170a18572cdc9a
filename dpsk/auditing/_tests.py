"""Tests of a claim, chosen on some fits and judged on others."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import betaincinv

from dpsk.auditing._statistics import Statistic, learnt_statistics

__all__ = ["Evidence", "Test", "chosen_tests"]

_THRESHOLDS = 30
#: Number of standard deviations by which a test must beat a coin to be considered.
_BETTER = 2.0
#: Fraction of fits that statistics are learnt from; the others choose among statistics.
_LEARNING = 0.6


@dataclass(frozen=True)
class Evidence:
    """Result of one test.

    Attributes
    ----------
    pair, statistic, of : str
        The tables, the score, and the published value with the largest weight in it.
    runs : int
        Fits on each of the two tables.
    type_one_errors, type_two_errors : int
        Numbers of fits on the first table attributed to the second, and the reverse.
    type_one_error, type_two_error : float
        Upper confidence limits on the two rates; all limits of an audit hold together.
    allowed : float
        The least type II error that the claim allows at that type I error.
    epsilon : float
        A lower bound on epsilon at the delta of the claim.
    """

    pair: str
    statistic: str
    of: str
    runs: int
    type_one_errors: int
    type_two_errors: int
    type_one_error: float
    type_two_error: float
    allowed: float
    epsilon: float

    @property
    def refutes(self):
        """bool : whether both errors are smaller than the claim allows."""
        return self.type_two_error < self.allowed


@dataclass(frozen=True)
class Test:
    """Attribute a fit to the second table if its score is above a threshold.

    Attributes
    ----------
    statistic : Statistic
    threshold : float
    promise : float
        Expected margin of the refutation in standard deviations, by the fits used to choose.
    """

    statistic: Statistic
    threshold: float
    promise: float = field(compare=False)

    #: Tells pytest that this is not a test class.
    __test__ = False

    def judge(self, pair, claim, first, second, level):
        """Return the evidence of fresh fits, with each of its two limits at error `level`."""
        wrong = int(np.sum(self.statistic.score(first) > self.threshold))
        missed = int(np.sum(self.statistic.score(second) <= self.threshold))
        limits = (_upper_limit(wrong, len(first), level),
                  _upper_limit(missed, len(second), level))
        return Evidence(pair, self.statistic.name, self.statistic.of, len(first), wrong, missed,
                        *(float(limit) for limit in limits),
                        float(claim.type_two_error(limits[0])),
                        float(_epsilon(*limits, claim.delta)))


def chosen_tests(first, second, layout, kinds, claim, runs, level):
    """Return the most promising tests: to refute the claim and to bound epsilon.

    Parameters
    ----------
    first, second : ndarray of shape (n_fits, n_names)
        Published values of fits on the two tables.
    layout : Layout
        Layout of the columns.
    kinds : list of str
    claim : Claim
    runs : int
        Fits on each table that will judge.
    level : float
        Error probability of each limit.

    Returns
    -------
    tests : list of Test
        At most two; empty if no published value ever varied.
    """
    cut = [int(_LEARNING * len(table)) for table in (first, second)]
    statistics = learnt_statistics(first[:cut[0]], second[:cut[1]], layout, kinds)
    refuting, bounding = [], []
    for statistic in statistics:
        scores = statistic.score(first[cut[0]:]), statistic.score(second[cut[1]:])
        thresholds = _thresholds(*scores)
        wrong = _rates(np.mean(scores[0] > thresholds[:, None], axis=1), len(scores[0]))
        missed = _rates(np.mean(scores[1] <= thresholds[:, None], axis=1), len(scores[1]))
        better = ((1.0 - wrong - missed) * np.sqrt(len(scores[0]))
                  / np.sqrt(wrong * (1 - wrong) + missed * (1 - missed)))
        promise = _promise(wrong, missed, claim, len(scores[0]))
        epsilon = _epsilon(_upper_limit(np.rint(wrong * runs), runs, level),
                           _upper_limit(np.rint(missed * runs), runs, level), claim.delta)
        for found, values in ((refuting, promise), (bounding, epsilon)):
            # A test that does not clearly beat a coin is not trusted, however lucky it was.
            values = np.where(better > _BETTER, values, better - 1e3)
            best = int(np.argmax(values))
            found.append((values[best], Test(statistic, float(thresholds[best]),
                                             float(values[best]))))
    best = [max(found, key=lambda each: each[0])[1] for found in (refuting, bounding) if found]
    return list(dict.fromkeys(best))


def _thresholds(first, second):
    """Return midpoints between scores, or between their quantiles if there are many."""
    values = np.unique(np.concatenate([first, second]))
    if len(values) > _THRESHOLDS:
        values = np.unique(np.quantile(values, np.linspace(0, 1, _THRESHOLDS)))
    return values[:-1] / 2 + values[1:] / 2 if len(values) > 1 else values


def _rates(rates, count):
    """Return rates shrunk slightly toward one half, since fits are few."""
    return (rates * count + 0.5) / (count + 1.0)


def _promise(wrong, missed, claim, runs):
    step = 1e-3
    allowed = claim.type_two_error(wrong)
    slope = (allowed - claim.type_two_error(np.minimum(wrong + step, 1.0))) / step
    noise = np.sqrt((missed * (1 - missed) + slope**2 * wrong * (1 - wrong)) / runs)
    return (allowed - missed) / noise


def _upper_limit(count, runs, level):
    """Return the one-sided Clopper-Pearson upper limit on a probability."""
    count = np.asarray(count, dtype=np.float64)
    limit = betaincinv(np.minimum(count, runs - 1) + 1, np.maximum(runs - count, 1), 1 - level)
    return np.where(count >= runs, 1.0, limit)


def _epsilon(wrong, missed, delta):
    """Return the lower bound on epsilon from upper limits on both errors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        either = [np.log(np.maximum(1.0 - a - delta, 1e-300) / b)
                  for a, b in ((wrong, missed), (missed, wrong))]
    return np.maximum(0.0, np.maximum(*either))
