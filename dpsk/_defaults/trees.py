"""How trees grow, from public facts; docs/results/trees.md."""

import math

from dpsk._defaults.budgets import mu_of_share

__all__ = ["BAG", "BINS_SHARE", "CANDIDATES", "CANDIDATE_LEVELS", "CLIP_WIDTH", "CUT_SHARE",
           "EVEN_BINS", "LABEL_SHARE", "LABEL_TRUST", "LEAST_SHARE", "LEVEL_SHARE", "MOST_LEVELS",
           "NOISELESS_KNOTS", "PRUNED", "PURE_LABEL_SHARE", "REACH", "RIDGE", "ROOT_SHARE",
           "SPREAD", "forest_levels", "has_chosen_splits", "has_drawn_candidates", "n_levels",
           "n_trees", "scale_share"]

#: The share of mu^2 of bins.
BINS_SHARE = 0.1
#: Bins of equal width between declared bounds.
EVEN_BINS = 32
#: Of the tree's mu^2: the least and the largest share of the mean and the spread of targets, and
#: the ``n mu`` at which it would be all; of what is left those of splits, and of sums of inner
#: nodes.
SCALE_SHARES, CUT_SHARE, LEVEL_SHARE = (0.04, 0.6, 90.0), 0.4, 0.1
#: The clip on targets about their mean over the end of the octave in which most distances from it
#: lie, of a normal law three standard deviations; and that of a choice of splits over this.
CLIP_WIDTH, REACH = 2.0, 1.3 / 3.0
#: A node starts from its parent's mean, which counts as so many rows: a constant, and deviations
#: of the noise on its own count.
RIDGE = 1.0, 1.0
#: Splits are dropped of which both sides differ by less than so many deviations of their noise.
PRUNED = 0.25
#: The least and the largest number of levels.
LEVELS, MOST_LEVELS = (4, 8), 8
#: Of numbers there are fewer than this many levels for few rows: at this ``n mu`` none, at twice
#: that one, and so on.
QUESTION_SIGNAL = 64.0

#: Of a tree of few rows: the ``n mu`` below which it is one of those that are drawn publicly, how
#: many these are of every depth, and the most levels; the share of the choice among them and among
#: the classes of their leaves, of mu^2 and of a pure epsilon; and how much such a class counts.
CANDIDATE_SIGNAL, CANDIDATES, CANDIDATE_LEVELS = 300.0, 100, 5
LABEL_SHARE, PURE_LABEL_SHARE, LABEL_TRUST = 0.7, 0.85, 0.5

#: Of forests: the variance of means about their parents', the least share of a class, and the
#: ``n mu`` over the root of the number of trees from which on splits are chosen; of k classes
#: over half of k^2.
SPREAD, LEAST_SHARE, CHOSEN_SIGNAL = 0.5, 0.01, 140.0
#: Share of the trees' mu^2 of the root that all trees of drawn splits have.
ROOT_SHARE = 0.15
#: The least and the largest number of trees, and the ``n mu`` of one: of drawn and chosen splits.
DRAWN_TREES, DRAWN_SIGNAL = (10, 40), 8.0
CHOSEN_TREES, TREE_SIGNAL = (2, 8), 2000.0
#: Without noise one tree is as deep as at this mu, as rows are a sample, and those of a forest
#: differ by their rows: how many there are, the share of rows of each, and the number of knots of
#: a column.
NOISELESS_MU, BAGGED_TREES, BAG, NOISELESS_KNOTS = 8.0, 40, 0.63, 65
#: The least number of levels of drawn splits.
DRAWN_LEVELS = 2


def n_levels(budget, scaled):
    """Return how many questions a tree asks one after another: more where noise hides less.

    `scaled` is whether targets are numbers.
    """
    signal = _signal(budget) if budget.is_private else NOISELESS_MU * budget.n_samples
    usual = _levels(signal, LEVELS[0])
    return min(usual, max(0, round(math.log2(signal / QUESTION_SIGNAL)))) if scaled else usual


def has_drawn_candidates(budget):
    """Return whether a tree of classes is one of some that are drawn publicly."""
    return _signal(budget) < CANDIDATE_SIGNAL


def has_chosen_splits(budget, n_classes, count=None):
    """Return whether a forest of so many trees has splits that are chosen under noise."""
    count = count or _trees(_signal(budget), CHOSEN_TREES, TREE_SIGNAL)
    return _signal(budget) >= CHOSEN_SIGNAL * max(1.0, n_classes**2 / 2.0) * math.sqrt(count)


def scale_share(budget):
    """Return the share of the mean and the spread of targets: larger for fewer rows.

    None without noise, where no bound is needed.
    """
    if not budget.is_private:
        return 0.0
    least, most, signal = SCALE_SHARES
    return min(most, max(least, (signal / _signal(budget))**2))


def n_trees(budget, chosen):
    """Return how many trees a forest has."""
    if not budget.is_private:
        return BAGGED_TREES
    rule = (CHOSEN_TREES, TREE_SIGNAL) if chosen else (DRAWN_TREES, DRAWN_SIGNAL)
    return _trees(_signal(budget), *rule)


def forest_levels(budget, n_classes, count, chosen):
    """Return the depth of the trees of a forest."""
    if chosen:
        return _levels(_signal(budget) / math.sqrt(count), LEVELS[0])
    # Noise of drawn splits averages out over trees, and each class has a part of the rows.
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
