"""Defaults of gradient boosting, from public facts; see docs/results/boosting.md."""

import math

from dpsk._defaults.budgets import mu_of_share
from dpsk._defaults.noiseless import SAMPLE_MU

__all__ = ["BINS_SHARE", "CUTS_AT_ONCE", "CUT_SHARE", "FADING",
           "LIKENESS", "N_SCALES", "RIDGE", "SCALE_SHARE", "SIGNAL_RIDGE",
           "WIDTH", "boosted_share", "n_candidates", "n_trees", "sample_multiplier"]

#: Share of mu^2 of all trees after an additive model, and the ``n mu`` from which trees improve
#: it, for classes and for numbers: residuals of labels are noisier than those of targets.
BOOSTED_SHARE, CLASS_SIGNAL, TARGET_SIGNAL = 0.5, 4e3, 1e3
#: Number of mean squares of residuals, and shares of the trees' mu^2 of these and of cuts.
N_SCALES, SCALE_SHARE, CUT_SHARE = 3, 0.03, 0.25
#: Share of mu^2 of bins without an additive model.
BINS_SHARE = 0.1
#: Least and largest number of trees, and ``n mu`` per tree.
TREES, TREE_SIGNAL = (20, 60), 150.0
#: Least and largest number of candidates of a choice, candidates per column, and cuts of each.
CANDIDATES, COLUMN_CANDIDATES, CUTS_AT_ONCE = (20, 100), 1.5, 3
#: Clip norm over the root mean square.
WIDTH = 1.3
#: Weight of a leaf that differs in one cut, in smoothing.
LIKENESS = 0.2
#: Curvature added to that of a leaf: multiples of the mean curvature and of the noise.
RIDGE, SIGNAL_RIDGE = 0.1, 3.0
#: Share of trees, the last ones, whose values fade out so that their noise averages out.
FADING = 0.15


def boosted_share(budget, is_regression):
    """Return the share of mu^2 of trees after an additive model; 0 where they would not help."""
    if not budget.is_private:
        return BOOSTED_SHARE
    least = TARGET_SIGNAL if is_regression else CLASS_SIGNAL
    return BOOSTED_SHARE if _signal(budget) >= least else 0.0


def n_candidates(n_columns):
    """Return the number of candidate cuts, enough for each column to be in some."""
    least, most = CANDIDATES
    return min(most, max(least, math.ceil(COLUMN_CANDIDATES * n_columns)))


def n_trees(budget):
    """Return the number of trees."""
    if not budget.is_private:
        return TREES[1]
    return min(TREES[1], max(TREES[0], math.ceil(_signal(budget) / TREE_SIGNAL)))


def sample_multiplier(count):
    """Return the noise multiplier by which leaves of `count` trees are shrunk without noise.

    The rows of a fit without noise are still a sample.
    """
    leaves = 1.0 - SCALE_SHARE - CUT_SHARE
    return math.sqrt(count / (BOOSTED_SHARE * leaves)) / SAMPLE_MU


def _signal(budget):
    return budget.n_samples * mu_of_share(budget, 1.0)
