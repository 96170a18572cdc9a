"""Growth of trees from noisy sums of targets: the releases, and estimates from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpsk._data.source import Rows
from dpsk._defaults.trees import (
    CLIP_WIDTH,
    CUT_SHARE,
    LEVEL_SHARE,
    PRUNED,
    REACH,
    RIDGE,
    ROOT_SHARE,
    SPREAD,
)
from dpsk._mechanism.core import Choices, Composite, Share
from dpsk._mechanism.sensitivity import derived_scale
from dpsk._models.trees import SplitTree, below
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._stages.bounds import SHORT, targets_above
from dpsk._statistics.leaves import Slopes, best_splits, noisy_leaf_sums
from dpsk._statistics.quantiles import noisy_octaves, sizes_above

__all__ = ["DrawnSplits", "NodeSums", "Ready", "estimated"]

#: The least distance from their mean at which targets in [-1, 1] are clipped.
_LEAST_REACH = 0.03
#: Number of publicly drawn samples to find the mean square of a sum of trees.
_N_DRAWN = 2000


@dataclass(frozen=True)
class Ready:
    """Binds a query to its event and session."""

    ask: object

    def __call__(self, event, session):
        return lambda *args, **public: self.ask(*args, event, session, **public)


@dataclass(frozen=True)
class NodeSums(Composite):
    """Grow trees one after another: release sums of nodes for each level, then their splits.

    Parameters
    ----------
    count : int
        The number of trees.
    depth : int
    scales : float
        Share of the mean and spread of numeric targets, which determine the clipping; 0 for
        classes.
    chosen : bool
        Whether splits are chosen privately; if not, they are drawn publicly.
    n_tried : int or None
        Number of publicly drawn columns that a split is chosen among; None: all.
    averaged : bool
        Whether predictions of all trees are averaged, which averages their noise.
    bag : float
        Share of publicly drawn rows that a tree grows from.
    """

    count: int
    depth: int
    scales: float
    chosen: bool = True
    n_tried: int | None = None
    averaged: bool = False
    bag: float = 1.0

    @property
    def parts(self):
        """tuple of Share : mean and spread of targets, splits, sums of nodes and of leaves."""
        cuts, inner, n_levels = CUT_SHARE, LEVEL_SHARE, self.count * self.depth
        if not self.chosen:
            cuts, inner, n_levels = 0.0, ROOT_SHARE, 1
        if not self.depth:
            cuts = inner = 0.0
        left = 1.0 - self.scales
        return (Share(Choices(Ready(noisy_leaf_sums), 1), 0.5 * self.scales),
                Share(Choices(Ready(noisy_octaves), 1), 0.5 * self.scales),
                Share(Choices(Ready(best_splits), n_levels), cuts * left),
                Share(Choices(Ready(noisy_leaf_sums), n_levels), inner * left),
                Share(Choices(Ready(noisy_leaf_sums), self.count), (1.0 - cuts - inner) * left))

    def run(self, data, session, noise_multiplier):
        """Return the trees.

        `data` are the bins of all columns, shape (n_columns, n); the splits to choose among;
        targets, shape (n, k): numbers or signs in one column, or indicators of several classes;
        weights of at most 1; the groups of rows, or None; and public draws.
        """
        bins, asked, targets, weights, members, draws = data
        given = [(part.run((), session, noise_multiplier),
                  part.mechanism.each(part.own(noise_multiplier))) if part.share else (None, None)
                 for part in self.parts]
        middle, unit = 0.0, 1.0
        if self.scales:
            middle, unit = _center(bins, targets, weights, members, *given[:2])
            targets = np.clip((targets - middle) / unit, -1.0, 1.0)
            session.enforced.append(Enforced(
                "targets", [middle - unit, middle + unit], "released",
                "targets in half of their bounds, from the middle; those outside are clipped"))
        inner, leaves = _sums_of(targets, weights, members, given[3:])
        trees, sums, drawn = [], [], None if self.chosen else DrawnSplits(asked, draws)
        root = None if self.chosen or not self.depth else inner.of(
            np.zeros(bins.shape[1], np.uint8), 0)
        for _ in range(self.count):
            own = weights
            if self.bag < 1.0:
                own = weights * (draws.uniforms(len(weights)) < self.bag)
                inner, leaves = _sums_of(targets, own, members, given[3:])
            at, splits, levels = np.zeros(bins.shape[1], np.uint8), [], []
            for level in range(self.depth):
                if drawn is not None:
                    # All trees share one root; other inner nodes have no sums of their own.
                    levels.append((np.zeros((2**level, targets.shape[1] + 1)), math.inf)
                                  if level else root)
                    splits.append(drawn.of(2**level))
                else:
                    levels.append(inner.of(at, level))
                    means = estimated(levels)[0][2**level - 1:]
                    slopes = (targets - means[at]) / self._reach(means)[at][:, None]
                    slopes *= own[:, None]
                    ask, event = given[2]
                    chosen = ask(Slopes(slopes, np.abs(slopes), 1.0, event, members), at,
                                 2**level, bins, asked,
                                 tried=self._tried(asked, draws, 2**level))
                    splits.append(asked[chosen])
                at = below(bins, splits[-1], at)
            sums.append(leaves.of(at, self.depth))
            means, counts, noise = estimated([*levels, sums[-1]], self.averaged)
            kept = _kept(means, noise, self.depth)
            trees.append(SplitTree(tuple(splits), kept, middle + unit * means, counts,
                                   unit * noise))
        if drawn is not None and not self.scales:
            return _added_up(trees, sums, root[1] if self.depth else 0.0, asked, draws)
        return trees

    def _tried(self, asked, draws, n_nodes):
        """Return a mask of the splits allowed at each node, (n_nodes, n_splits); None: all."""
        columns, places = np.unique(asked[:, 0], return_inverse=True)
        if self.n_tried is None or self.n_tried >= len(columns):
            return None
        order = draws.uniforms(n_nodes * len(columns)).reshape(n_nodes, -1).argsort(axis=1)
        return (order.argsort(axis=1) < self.n_tried)[:, places]

    def _reach(self, means):
        """Return the largest distance of a target from the mean of each node."""
        if self.scales:
            return np.full(len(means), REACH)
        if means.shape[1] == 1:
            return 1.0 + np.abs(means[:, 0])
        return np.sqrt(1.0 + np.square(means).sum(axis=1) - 2.0 * means.min(axis=1))


def _center(bins, targets, weights, members, mean, spread):
    """Return the released mean of targets, and the distance from it at which they are clipped."""
    (ask, event), (ask_octave, _) = mean, spread
    own = Slopes(targets * weights[:, None], weights[:, None], 1.0, event, members)
    sums, counts = ask(own.at(np.zeros(bins.shape[1], np.uint8)), 1, 1.0, own.unit)
    middle = float(np.clip(sums[0, 0] / max(counts[0, 0], 1.0), -1.0, 1.0))
    away = partial(sizes_above, 0.0, partial(targets_above, middle))
    end = ask_octave(Rows(bins.T, targets[:, 0], groups=members), away, 1, SHORT)
    return middle, float(np.clip(CLIP_WIDTH * end, _LEAST_REACH, 2.0))


class DrawnSplits:
    """Publicly drawn splits: columns in turn, and numeric thresholds near the middle bin.

    With `anywhere`, every other threshold is at a uniformly drawn bin.
    """

    def __init__(self, asked, draws, anywhere=False):
        self._anywhere = anywhere
        self._asked, self._draws, self._turns = asked, draws, np.zeros(0, int)
        self._starts, self._sizes = np.unique(asked[:, 0], return_index=True,
                                              return_counts=True)[1:]
        first = asked[self._starts]
        self._words = first[:, 2] == first[:, 1] + 1

    def of(self, count):
        """Return the next `count` splits."""
        while len(self._turns) < count:
            order = np.argsort(self._draws.uniforms(len(self._starts)))
            self._turns = np.append(self._turns, order)
        own, self._turns = np.split(self._turns, [count])
        drawn = self._draws.uniforms(3 * count).reshape(3, count)
        even = self._words[own] | (self._anywhere & (np.arange(count) % 2 > 0))
        places = np.where(even, drawn[0], drawn.mean(axis=0))
        return self._asked[self._starts[own] + (places * self._sizes[own]).astype(int)]


@dataclass(frozen=True, eq=False)
class _Sums:
    """Query for noisy sums and counts of nodes."""

    slopes: Slopes
    ask: object
    noise: float
    classes: bool

    def of(self, at, level):
        """Return sums and counts of the nodes of a level, shape (2**level, k + 1), and noise."""
        sums, sizes = self.ask(self.slopes.at(at), 2**level, 1.0, self.slopes.unit)
        if not self.classes:
            return np.concatenate([sums, sizes], axis=1), self.noise
        # Sums and sizes are two noisy copies of the same counts.
        counts = 0.5 * (sums + sizes)
        return np.concatenate([counts, counts.sum(axis=1, keepdims=True)], axis=1), (
            self.noise / math.sqrt(2.0))


def _sums_of(targets, weights, members, given):
    """Return the queries for sums of inner nodes and of leaves, None for those without a share."""
    classes = targets.shape[1] > 1
    weighed = targets * weights[:, None]
    # The size of a row is its weight; with several classes the indicators are counts themselves.
    sizes = weighed if classes else weights[:, None]
    return [None if ask is None else _Sums(Slopes(weighed, sizes, 1.0, event, members), ask,
                                           derived_scale(event, REPLACE_ONE), classes)
            for ask, event in given]


def estimated(levels, averaged=False, likely=None):
    """Return means, counts and the noise on means of all nodes, from sums of the first levels.

    First, the sums of nodes and of their children are combined into best unbiased estimates (Hay,
    Rastogi, Miklau, Suciu 2010). Then each mean is shrunk, by its noise, to that of its parent, or
    to the `likely` mean of the node if given.
    """
    upward, (sums, noise) = [], levels[-1]
    variance = noise**2
    for own, own_noise in reversed(levels[:-1]):
        upward.append((sums, variance))
        sums, variance = sums[::2] + sums[1::2], 2.0 * variance
        share = variance / (variance + own_noise**2) if variance + own_noise else 0.5
        sums = share * own + (1.0 - share) * sums
        variance *= 1.0 - share
    several = sums.shape[1] > 2
    start = np.full((1, sums.shape[1] - 1), 1.0 / (sums.shape[1] - 1) if several else 0.0)
    draw = _linear if averaged else _drawn
    found = [draw(sums, start if likely is None else likely[0], variance, several, None)]
    for part, own in reversed(upward):
        sums = part + np.repeat(0.5 * (sums - part[::2] - part[1::2]), 2, axis=0)
        means, counts = (np.repeat(each, 2, axis=0) for each in found[-1][:2])
        if likely is not None:
            means = likely[len(found)]
        found.append(draw(sums, means, own, several, counts))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _drawn(sums, parents, variance, several, _):
    """Return means of nodes shrunk to those of their parents, counts, and noise on means."""
    counts, noise = sums[:, -1], math.sqrt(variance)
    weight = RIDGE[0] + RIDGE[1] * noise
    inside = np.maximum(counts, 0.0)[:, None]
    own = np.maximum(sums[:, :-1], 0.0) if several else np.clip(sums[:, :-1], -inside, inside)
    whole = (own.sum(axis=1, keepdims=True) if several else inside) + weight
    return (own + weight * parents) / whole, counts, noise / whole[:, 0]


def _linear(sums, parents, variance, several, above):
    """Return the same with means linear in the sums, so that noise averages out over trees."""
    counts, noise = sums[:, -1], math.sqrt(variance)
    of_counts = variance * (sums.shape[1] - 1 if several else 1.0)
    if above is not None:
        usual = 0.5 * above
        known = 0.25 * usual**2
        counts = usual + known / (known + of_counts) * (counts - usual)
    counts = np.maximum(counts, 1.0)
    whole = counts + RIDGE[0] + of_counts / (SPREAD * counts)
    means = parents + (sums[:, :-1] - sums[:, -1:] * parents) / whole[:, None]
    return means, counts, noise / whole


def _added_up(trees, sums, root_noise, asked, draws):
    """Return trees with drawn splits, whose deviations from the root are added up, not averaged.

    Their sum is multiplied by ``min(C / E, V / C)``. C estimates its covariance with the targets,
    without the part due to noise, and is at least 0. E is its mean square over uniform bins, and
    V the variance of targets, which no prediction exceeds where columns depend on each other.
    `sums` holds the noisy sums and counts of the leaves of each tree, and their noise; the noise
    on those of the root is `root_noise`.
    """
    if not trees[0].splits:
        return trees
    common = 0.0
    for tree, (own, noise) in zip(trees, sums, strict=True):
        inner, root = len(own) - 1, tree.means[0]
        parents = np.repeat(tree.means[inner // 2:inner], 2, axis=0)
        shared = parents @ root
        # With several classes the count is the sum of the sums, noise included.
        hidden = 1.0 + shared if len(root) == 1 else len(root) * (1.0 + shared) - 2.0
        found = np.sum((own[:, :-1] - own[:, -1:] * root) * (tree.means[inner:] - root))
        hidden = noise**2 * hidden @ _response(tree, own[:, -1], noise, root_noise)
        common += (found - hidden) / max(1.0, tree.counts[0])
    sizes = np.ones(asked[:, 0].max() + 1, int)
    np.maximum.at(sizes, asked[:, 0], asked[:, 2])
    bins = (draws.uniforms(_N_DRAWN * len(sizes)).reshape(len(sizes), -1)
            * sizes[:, None]).astype(np.intp)
    drawn = sum(tree.means[tree.leaves(bins)] - tree.means[0] for tree in trees)
    square = float(np.square(drawn).sum(axis=1).mean())
    middle = np.mean([tree.means[0] for tree in trees], axis=0)
    most = max(0.0, float(1.0 - np.square(middle).sum()))
    factor = len(trees) * min(common / square, most / common) if min(common, square) > 0.0 else 0.0
    return [replace(tree, means=tree.means[0] + factor * (tree.means - tree.means[0]),
                    noise=factor * tree.noise) for tree in trees]


def _response(tree, counts, noise, root_noise):
    """Return how much the mean of each leaf follows its noisy sum, shape (n_leaves,)."""
    width, found = len(counts), np.zeros((1, len(counts)))
    # Sums of leaves are made to agree with the root.
    agreed = noise**2 / (width * noise**2 + root_noise**2)
    counts = counts + (tree.counts[0] - counts.sum()) / width
    for level in range(1, len(tree.splits) + 1):
        nodes, width = slice(2**level - 1, 2 ** (level + 1) - 1), width // 2
        # The rows that a node counts as include those of its parent, to which it is shrunk.
        whole = noise * math.sqrt(width) / tree.noise[nodes]
        kept = 1.0 - counts.reshape(2**level, width).sum(axis=1) / whole
        of_sums = np.repeat(np.eye(2**level), width, axis=1) - agreed * width
        found = kept[:, None] * np.repeat(found, 2, axis=0) + of_sums / whole[:, None]
    return found.diagonal()


def _kept(means, noise, depth):
    """Return by level which nodes stay split: those with a difference below beyond noise."""
    found, after = [], np.zeros(2**depth, bool)
    for level in reversed(range(depth)):
        pairs = slice(2 ** (level + 1) - 1, 2 ** (level + 2) - 1)
        apart = np.linalg.norm(means[pairs][1::2] - means[pairs][::2], axis=1)
        hidden = np.hypot(noise[pairs][::2], noise[pairs][1::2])
        after = (apart > PRUNED * hidden) | after[::2] | after[1::2]
        found.append(after)
    return tuple(found[::-1])
