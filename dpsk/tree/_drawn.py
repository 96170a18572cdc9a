"""Classification trees for few rows, chosen among publicly drawn trees."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsk._defaults.trees import CANDIDATES, LABEL_SHARE, LABEL_TRUST, PURE_LABEL_SHARE
from dpsk._mechanism.core import Mechanism, mu_of
from dpsk._models.trees import SplitTree, below
from dpsk._privacy.events import Composed, Pure, gaussian
from dpsk._statistics.leaves import Slopes, best_labels, noisy_label_counts
from dpsk.tree._growth import DrawnSplits, estimated

__all__ = ["DrawnTree"]


@dataclass(frozen=True)
class DrawnTree(Mechanism):
    """Choose a tree and the classes of its leaves among drawn trees, then release leaf counts.

    Parameters
    ----------
    depth : int
        Largest depth of a drawn tree.
    pure : bool
        Whether the privacy cost is a pure epsilon, one over the noise multiplier.
    """

    depth: int
    pure: bool = False

    def prices(self, noise_multiplier):
        """Return the events of the choice and of the counts."""
        mu = mu_of(noise_multiplier)
        if self.pure:
            return Pure(PURE_LABEL_SHARE * mu), Pure((1.0 - PURE_LABEL_SHARE) * mu)
        return tuple(gaussian(math.sqrt(each) * mu) for each in (LABEL_SHARE, 1.0 - LABEL_SHARE))

    def event(self, noise_multiplier):
        """Return the composed event of both."""
        return Composed(self.prices(noise_multiplier))

    def run(self, data, session, noise_multiplier):
        """Return the tree, in a list; `data` are those of `NodeSums`."""
        bins, asked, targets, weights, members, draws = data
        price, price_of_counts = self.prices(noise_multiplier)
        several = targets.shape[1] > 1
        labels = targets.argmax(axis=1) if several else (targets[:, 0] > 0).astype(np.intp)
        n_classes, ones = targets.shape[1] if several else 2, weights[:, None]
        trees = _candidates(asked, draws, self.depth)
        place, classes = best_labels(
            Slopes(ones, ones, 1.0, price, members, "gumbel"), labels, n_classes,
            ((_leaves(bins, splits), 2 ** len(splits)) for splits in trees), price, session)
        splits, depth = trees[place], len(trees[place])
        own = Slopes(ones, ones, 1.0, price_of_counts, members,
                     "laplace" if self.pure else "standard_normal")
        counts, noise = noisy_label_counts(
            own.at(n_classes * _leaves(bins, splits).astype(np.intp) + labels),
            (2**depth, n_classes), 1.0, own.unit, price_of_counts, session)
        whole = counts.sum(axis=1, keepdims=True)
        sums, noise = (counts, noise) if several else (
            counts[:, 1:] - counts[:, :1], noise * math.sqrt(2.0))
        levels = [(np.zeros((2**level, targets.shape[1] + 1)), math.inf) for level in range(depth)]
        levels.append((np.concatenate([sums, whole], axis=1), noise))
        means, counts, noise = estimated(levels, likely=_likely(classes, targets.shape[1]))
        agreed = _agreed(classes)
        # The choice of leaf classes is far more accurate than the counts.
        _say(means, np.concatenate(agreed))
        kept = tuple(each < 0 for each in agreed[:-1])
        return [SplitTree(splits, kept, means, counts, noise)]


def _candidates(asked, draws, depth):
    """Return drawn trees of up to `depth` levels, each as the splits of every level."""
    drawn, found = DrawnSplits(asked, draws, anywhere=True), []
    for own in range(1, depth + 1):
        splits = drawn.of(CANDIDATES * (2**own - 1)).reshape(CANDIDATES, -1, 3)
        found += [tuple(np.split(each, 2 ** np.arange(1, own) - 1)) for each in splits]
    return found


def _leaves(bins, splits):
    """Return the leaf of every row."""
    at = np.zeros(bins.shape[1], np.uint8)
    for own in splits:
        at = below(bins, own, at)
    return at


def _likely(classes, n_outputs):
    """Return by level the means that chosen leaf classes imply; for inner nodes the average."""
    if n_outputs == 1:
        found = [LABEL_TRUST * (2.0 * classes[:, None] - 1.0)]
    else:
        found = [(1.0 - LABEL_TRUST) / n_outputs + LABEL_TRUST * np.eye(n_outputs)[classes]]
    while len(found[0]) > 1:
        found.insert(0, 0.5 * (found[0][::2] + found[0][1::2]))
    return found


def _agreed(classes):
    """Return by level the common class of all leaves below a node, -1 where they differ."""
    found = [classes]
    while len(found[0]) > 1:
        left, right = found[0][::2], found[0][1::2]
        found.insert(0, np.where(left == right, left, -1))
    return found


def _say(means, classes):
    """Swap means in place, so that the class of a node, if it has one, has the largest mean."""
    own = np.flatnonzero(classes >= 0)
    if means.shape[1] == 1:
        means[own, 0] = np.abs(means[own, 0]) * (2.0 * classes[own] - 1.0)
        return
    largest, said = means[own].argmax(axis=1), classes[own]
    means[own, largest], means[own, said] = means[own, said], means[own, largest]
