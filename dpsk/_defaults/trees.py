"""Defaults of decision trees and forests, from public facts; see docs/results/trees.md."""

import math

from dpsk._defaults.budgets import mu_of_share

__all__ = ["BAG", "BINS_SHARE", "CANDIDATES", "CANDIDATE_LEVELS", "CLIP_WIDTH", "CUT_SHARE",
           "EVEN_BINS", "LABEL_SHARE", "LABEL_TRUST", "LEAST_SHARE", "LEVEL_SHARE", "MOST_LEVELS",
           "NOISELESS_KNOTS", "PRUNED", "PURE_LABEL_SHARE", "REACH", "RIDGE", "ROOT_SHARE",
           "SPREAD", "forest_levels", "has_chosen_splits", "has_drawn_candidates",
           "has_one_tree", "n_levels", "n_trees", "scale_share"]

#: Share of mu^2 of bins.
BINS_SHARE = 0.1
#: Number of bins of equal width between declared bounds.
EVEN_BINS = 32
#: Shares of the trees' mu^2. Of the mean and spread of targets: least, largest, and the ``n mu``
#: at which they would take all. Then of splits, and of sums of inner nodes, in the remaining
#: budget.
SCALE_SHARES, CUT_SHARE, LEVEL_SHARE = (0.04, 0.6, 90.0), 0.4, 0.1
#: Clip on targets about their mean, over the end of the octave with most distances from it; for a
#: normal distribution it is three standard deviations. Then the clip for splits, over this clip.
CLIP_WIDTH, REACH = 2.0, 1.3 / 3.0
#: The mean of a node is shrunk to its parent's, which counts as this many rows: a constant, plus
#: a multiple of the noise on the count of the node.
RIDGE = 1.0, 1.0
#: A split is pruned if its sides differ by less than this many standard deviations of noise.
PRUNED = 0.25
#: Least and largest default number of levels, and the largest allowed.
LEVELS, MOST_LEVELS = (4, 8), 8
#: Trees for regression have fewer levels with few rows: none at this ``n mu``, one at twice that,
#: two at four times.
QUESTION_SIGNAL = 64.0

#: Classification with few rows: below this ``n mu`` a tree is chosen among publicly drawn ones,
#: this many per depth, with at most so many levels. Then the share of the choice of the tree and
#: of its leaf classes, of mu^2 and of a pure epsilon, and the weight of such a class in a mean.
CANDIDATE_SIGNAL, CANDIDATES, CANDIDATE_LEVELS = 300.0, 100, 5
#: A forest is one such tree below this ``n mu``, or below this multiple of the number of columns
#: over that of classes: drawn splits ask all columns alike.
ONE_TREE_SIGNAL, ONE_TREE_COLUMNS = 100.0, 10.0
LABEL_SHARE, PURE_LABEL_SHARE, LABEL_TRUST = 0.7, 0.85, 0.5

#: Forests: the variance of means about their parents', and the least share of a class. Then the
#: ``n mu`` over the square root of the number of trees from which splits are chosen; k classes
#: multiply it by ``k^2 / 2``.
SPREAD, LEAST_SHARE, CHOSEN_SIGNAL = 0.5, 0.01, 140.0
#: Share of the trees' mu^2 of the root, which all trees with drawn splits have in common.
ROOT_SHARE = 0.15
#: Least and largest number of trees, and ``n mu`` per tree, for drawn and for chosen splits.
DRAWN_TREES, DRAWN_SIGNAL = (10, 40), 8.0
CHOSEN_TREES, TREE_SIGNAL = (2, 8), 2000.0
#: Without noise rows are still a sample: one tree is as deep as at this mu. Trees of a forest
#: differ by their rows: the number of trees, the share of rows of each, and knots of a column.
NOISELESS_MU, BAGGED_TREES, BAG, NOISELESS_KNOTS = 8.0, 40, 0.63, 65
#: Least number of levels of drawn splits.
DRAWN_LEVELS = 2


def n_levels(budget, scaled):
    """Return the number of levels of a tree: more where noise is smaller.

    `scaled` says whether targets are numbers.
    """
    signal = _signal(budget) if budget.is_private else NOISELESS_MU * budget.n_samples
    usual = _levels(signal, LEVELS[0])
    return min(usual, max(0, round(math.log2(signal / QUESTION_SIGNAL)))) if scaled else usual


def has_drawn_candidates(budget):
    """Return whether a classification tree is chosen among publicly drawn ones."""
    return _signal(budget) < CANDIDATE_SIGNAL


def has_one_tree(budget, n_classes):
    """Return whether a classification forest is one tree, chosen among publicly drawn ones."""
    least = max(ONE_TREE_SIGNAL, ONE_TREE_COLUMNS * budget.n_columns / n_classes)
    return has_drawn_candidates(budget) and _signal(budget) < least


def has_chosen_splits(budget, n_classes, count=None):
    """Return whether a forest of `count` trees chooses its splits privately."""
    count = count or _trees(_signal(budget), CHOSEN_TREES, TREE_SIGNAL)
    return _signal(budget) >= CHOSEN_SIGNAL * max(1.0, n_classes**2 / 2.0) * math.sqrt(count)


def scale_share(budget):
    """Return the share of the mean and the spread of targets: larger for fewer rows.

    It is 0 without noise, where no bound is needed.
    """
    if not budget.is_private:
        return 0.0
    least, most, signal = SCALE_SHARES
    return min(most, max(least, (signal / _signal(budget))**2))


def n_trees(budget, chosen):
    """Return the number of trees of a forest."""
    if not budget.is_private:
        return BAGGED_TREES
    rule = (CHOSEN_TREES, TREE_SIGNAL) if chosen else (DRAWN_TREES, DRAWN_SIGNAL)
    return _trees(_signal(budget), *rule)


def forest_levels(budget, n_classes, count, chosen):
    """Return the depth of the trees of a forest."""
    if chosen:
        return _levels(_signal(budget) / math.sqrt(count), LEVELS[0])
    # Noise averages out over trees with drawn splits, and each class has only part of the rows.
    return _levels(2.0 * _signal(budget) / max(n_classes, 2), DRAWN_LEVELS)


def _levels(signal, least):
    if not signal < math.inf:
        return LEVELS[1]
    return min(MOST_LEVELS, max(least, round(0.5 * math.log2(max(signal, 1.0)))))


def _trees(signal, bounds, of_one):
    least, most = bounds
    return min(most, max(least, round(min(signal / of_one, most))))


def _signal(budget):
    """Return ``n mu``, infinite without privacy."""
    return budget.n_samples * mu_of_share(budget, 1.0) if budget.is_private else math.inf
