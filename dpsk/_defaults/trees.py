"""How trees grow, from public facts; docs/results/trees.md."""

import math

from dpsk._defaults.budgets import mu_of_share

__all__ = ["BINS_SHARE", "CLIP_WIDTH", "CUT_SHARE", "EVEN_BINS", "LEVEL_SHARE", "MOST_LEVELS",
           "PRUNED", "REACH", "RIDGE", "SCALE_SHARE", "TARGET_SHARE", "n_levels"]

#: Shares of mu^2 of a fit: of bins, and of the ends of targets, where they are learnt.
BINS_SHARE, TARGET_SHARE = 0.1, 0.1
#: Bins of equal width between declared bounds.
EVEN_BINS = 32
#: Shares of the tree's mu^2: of the mean and the spread of targets, of splits, and of sums of
#: inner nodes.
SCALE_SHARE, CUT_SHARE, LEVEL_SHARE = 0.04, 0.4, 0.1
#: The clip on targets about their mean, and that of a choice of splits, in standard deviations.
CLIP_WIDTH, REACH = 3.0, 1.3
#: A node starts from its parent's mean, which counts as so many rows: a constant, and deviations
#: of the noise on its own count.
RIDGE = 1.0, 1.0
#: Splits are dropped of which both sides differ by less than so many deviations of their noise.
PRUNED = 0.25
#: The least and the largest number of levels.
LEVELS, MOST_LEVELS = (4, 8), 8


def n_levels(budget):
    """Return how many questions a tree asks one after another: more where noise hides less."""
    if not budget.is_private:
        return LEVELS[1]
    least, most = LEVELS
    signal = budget.n_samples * mu_of_share(budget, 1.0)
    return min(most, max(least, round(0.5 * math.log2(max(signal, 1.0)))))
