"""Tests of distributions that hold for any seed.

Each check rejects a correct sampler with probability at most `LEVEL`, so that a test of ten
checks does with at most 1e-7, and the samples are large enough to reject a wrong one with a
probability of error below 1e-7 too.
"""

import numpy as np
from scipy import stats

LEVEL = 1e-8


def follows(sample, distribution):
    """Whether the Kolmogorov-Smirnov test accepts `distribution` at `LEVEL`."""
    return stats.kstest(np.ravel(sample), distribution.cdf).pvalue > LEVEL


def binomial_fits(successes, trials, probability):
    """Whether the exact two-sided binomial test accepts `probability` at `LEVEL`."""
    law = stats.binom(trials, probability)
    return min(law.cdf(successes), law.sf(successes - 1)) > LEVEL / 2


def dispersion_fits(counts, mean, variance):
    """Whether independent `counts` have this mean and variance, by a chi-square at `LEVEL`.

    The normal approximation of a count with variance above 50 leaves the level below 2e-8.
    """
    total = np.sum((np.asarray(counts) - mean)**2) / variance
    law = stats.chi2(len(counts))
    return min(law.cdf(total), law.sf(total)) > LEVEL / 2
