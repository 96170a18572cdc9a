"""How much is boosted, from public facts; docs/results/boosting.md."""

import math

from dpsk._defaults.budgets import mu_of_share
from dpsk._defaults.noiseless import SAMPLE_MU

__all__ = ["BINS_SHARE", "CUTS_AT_ONCE", "CUT_SHARE", "FADING",
           "LIKENESS", "N_SCALES", "RIDGE", "SCALE_SHARE", "SIGNAL_RIDGE",
           "WIDTH", "boosted_share", "n_candidates", "n_trees", "sample_multiplier"]

#: Share of mu^2 of all trees beside an additive model, and the ``n mu`` from which on they pay:
#: errors of labels are noisier than those of targets.
BOOSTED_SHARE, CLASS_SIGNAL, TARGET_SIGNAL = 0.5, 4e3, 1e3
#: Shares of the trees' mu^2: of mean squares of what is left, and of cuts.
N_SCALES, SCALE_SHARE, CUT_SHARE = 3, 0.03, 0.25
#: The share of mu^2 of bins where there is no additive model.
BINS_SHARE = 0.1
#: The least and the largest number of trees, and the ``n mu`` of one.
TREES, TREE_SIGNAL = (20, 60), 150.0
#: The least and the largest number of candidates of a choice, those of a column, and the cuts of
#: each.
CANDIDATES, COLUMN_CANDIDATES, CUTS_AT_ONCE = (20, 100), 1.5, 3
#: The clip norm over the root of the mean square.
WIDTH = 1.3
#: What a leaf that differs in one cut counts for.
LIKENESS = 0.2
#: Curvature that is added to a leaf's: so many means, and so many deviations of its noise.
RIDGE, SIGNAL_RIDGE = 0.1, 3.0
#: The last trees, whose values fade out so that their noise averages out.
FADING = 0.15


def boosted_share(budget, is_regression):
    """Return the share of mu^2 of trees beside an additive model; 0 where they would not pay."""
    if not budget.is_private:
        return BOOSTED_SHARE
    least = TARGET_SIGNAL if is_regression else CLASS_SIGNAL
    return BOOSTED_SHARE if _signal(budget) >= least else 0.0


def n_candidates(n_columns):
    """Return among how many candidates cuts are chosen: each column is to be in some."""
    least, most = CANDIDATES
    return min(most, max(least, math.ceil(COLUMN_CANDIDATES * n_columns)))


def n_trees(budget):
    """Return how many trees are grown."""
    if not budget.is_private:
        return TREES[1]
    return min(TREES[1], max(TREES[0], math.ceil(_signal(budget) / TREE_SIGNAL)))


def sample_multiplier(count):
    """Return the noise multiplier, of sums over leaves of so many trees, that shortens leaves.

    Without noise, where rows are still a sample.
    """
    leaves = 1.0 - SCALE_SHARE - CUT_SHARE
    return math.sqrt(count / (BOOSTED_SHARE * leaves)) / SAMPLE_MU


def _signal(budget):
    return budget.n_samples * mu_of_share(budget, 1.0)
