"""The releases of trees whose nodes are sums of targets: what they cost, and what follows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsk._data.source import Rows
from dpsk._defaults.trees import (
    CLIP_WIDTH,
    CUT_SHARE,
    LEVEL_SHARE,
    PRUNED,
    REACH,
    RIDGE,
    SCALE_SHARE,
)
from dpsk._mechanism.core import Choices, Composite, Share
from dpsk._mechanism.sensitivity import derived_scale
from dpsk._models.trees import SplitTree, below
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._statistics.leaves import Slopes, best_splits, noisy_leaf_sums, noisy_mean_square

__all__ = ["NodeSums", "Ready"]

#: The least root of a mean square, where targets lie in [-1, 1].
_LEAST_ROOT = 0.01


@dataclass(frozen=True)
class Ready:
    """Makes releases of one price, as they are asked for."""

    ask: object

    def __call__(self, event, session):
        return lambda *args: self.ask(*args, event, session)


@dataclass(frozen=True)
class NodeSums(Composite):
    """Trees one after another: for every level sums of its nodes, then a split of each.

    Parameters
    ----------
    count : int
        The number of trees.
    depth : int
    scaled : bool
        Whether targets are numbers, which are clipped about their released mean; else classes.
    """

    count: int
    depth: int
    scaled: bool

    @property
    def parts(self):
        """tuple of Share : mean and spread of targets, splits, sums of nodes and of leaves."""
        scales = SCALE_SHARE if self.scaled else 0.0
        cuts, inner = (CUT_SHARE, LEVEL_SHARE) if self.depth else (0.0, 0.0)
        n_levels = self.count * self.depth
        return (Share(Choices(Ready(noisy_leaf_sums), 1), 0.5 * scales),
                Share(Choices(Ready(noisy_mean_square), 1), 0.5 * scales),
                Share(Choices(Ready(best_splits), n_levels), cuts),
                Share(Choices(Ready(noisy_leaf_sums), n_levels), inner),
                Share(Choices(Ready(noisy_leaf_sums), self.count), 1.0 - scales - cuts - inner))

    def run(self, data, session, noise_multiplier):
        """Return the trees.

        `data` are the bins of all columns, shape (n_columns, n); the splits to choose among;
        targets, shape (n, k): numbers or signs in one column, or indicators of several classes;
        and weights of at most 1.
        """
        bins, asked, targets, weights = data
        given = [(part.run((), session, noise_multiplier),
                  part.mechanism.each(part.own(noise_multiplier))) if part.share else (None, None)
                 for part in self.parts]
        middle, unit = 0.0, 1.0
        if self.scaled:
            middle, unit = _center(bins, targets, weights, *given[:2])
            targets = np.clip((targets - middle) / unit, -1.0, 1.0)
            session.enforced.append(Enforced(
                "targets", [middle - unit, middle + unit], "released",
                "targets in half of their bounds, from the middle; those outside are clipped"))
        classes = targets.shape[1] > 1
        weighed = targets * weights[:, None]
        # One of signs counts as one row; of several classes the indicators are counts themselves.
        sizes = weighed if classes else weights[:, None]
        inner, leaves = (
            None if ask is None else _Sums(Slopes(weighed, sizes, 1.0, event), ask,
                                           derived_scale(event, REPLACE_ONE), classes)
            for ask, event in given[3:])
        trees = []
        for _ in range(self.count):
            at, splits, levels = np.zeros(bins.shape[1], np.uint8), [], []
            for level in range(self.depth):
                levels.append(inner.of(at, level))
                means, _, _ = _estimated(levels)
                means = means[2**level - 1:]
                slopes = (targets - means[at]) / self._reach(means)[at][:, None] * weights[:, None]
                ask, event = given[2]
                chosen = ask(Slopes(slopes, np.abs(slopes), 1.0, event), at, 2**level, bins, asked)
                splits.append(asked[chosen])
                at = below(bins, splits[-1], at)
            means, counts, noise = _estimated([*levels, leaves.of(at, self.depth)])
            trees.append(SplitTree(tuple(splits), _kept(means, noise, self.depth),
                                   middle + unit * means, counts, unit * noise))
        return trees

    def _reach(self, means):
        """Return the most that a target is from the mean of each node."""
        if self.scaled:
            return np.full(len(means), REACH / CLIP_WIDTH)
        if means.shape[1] == 1:
            return 1.0 + np.abs(means[:, 0])
        return np.sqrt(1.0 + np.square(means).sum(axis=1) - 2.0 * means.min(axis=1))


def _center(bins, targets, weights, mean, spread):
    """Return the released mean of targets, and how far from it they are clipped."""
    (ask, event), (ask_square, _) = mean, spread
    own = Slopes(targets * weights[:, None], weights[:, None], 1.0, event)
    sums, counts = ask(own.at(np.zeros(bins.shape[1], np.uint8)), 1, 1.0, own.unit)
    middle = float(np.clip(sums[0, 0] / max(counts[0, 0], 1.0), -1.0, 1.0))
    square = ask_square(Rows(bins.T, np.abs(targets[:, 0] - middle) * np.sqrt(weights)))
    return middle, CLIP_WIDTH * math.sqrt(max(square, _LEAST_ROOT**2))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Noisy sums of nodes, and their counts, as they are asked for."""

    slopes: Slopes
    ask: object
    noise: float
    classes: bool

    def of(self, at, level):
        """Return sums and counts of the nodes of a level, shape (2**level, k + 1), and noise."""
        sums, sizes = self.ask(self.slopes.at(at), 2**level, 1.0, self.slopes.unit)
        if not self.classes:
            return np.concatenate([sums, sizes], axis=1), self.noise
        # The same counts twice.
        counts = 0.5 * (sums + sizes)
        return np.concatenate([counts, counts.sum(axis=1, keepdims=True)], axis=1), (
            self.noise / math.sqrt(2.0))


def _estimated(levels):
    """Return means, counts and the noise on means of all nodes, by sums of some first levels.

    Sums of a node and of those below it tell of each other: the best unbiased estimates first
    (Hay, Rastogi, Miklau, Suciu 2010), then each mean drawn to its parent's by its noise.
    """
    upward, (sums, noise) = [], levels[-1]
    variance = noise**2
    for own, own_noise in reversed(levels[:-1]):
        upward.append((sums, variance))
        sums, variance = sums[::2] + sums[1::2], 2.0 * variance
        share = variance / (variance + own_noise**2) if variance else 0.5
        sums = share * own + (1.0 - share) * sums
        variance *= 1.0 - share
    several = sums.shape[1] > 2
    start = np.full((1, sums.shape[1] - 1), 1.0 / (sums.shape[1] - 1) if several else 0.0)
    found = [_drawn(sums, start, variance, several)]
    for part, own in reversed(upward):
        sums = part + np.repeat(0.5 * (sums - part[::2] - part[1::2]), 2, axis=0)
        found.append(_drawn(sums, np.repeat(found[-1][0], 2, axis=0), own, several))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _drawn(sums, parents, variance, several):
    """Return means of nodes drawn to their parents', counts, and the noise on means."""
    counts, noise = sums[:, -1], math.sqrt(variance)
    weight = RIDGE[0] + RIDGE[1] * noise
    inside = np.maximum(counts, 0.0)[:, None]
    own = np.maximum(sums[:, :-1], 0.0) if several else np.clip(sums[:, :-1], -inside, inside)
    whole = (own.sum(axis=1, keepdims=True) if several else inside) + weight
    return (own + weight * parents) / whole, counts, noise / whole[:, 0]


def _kept(means, noise, depth):
    """Return by level which nodes are split: where what is below differs beyond its noise."""
    found, after = [], np.zeros(2**depth, bool)
    for level in reversed(range(depth)):
        pairs = slice(2 ** (level + 1) - 1, 2 ** (level + 2) - 1)
        apart = np.linalg.norm(means[pairs][1::2] - means[pairs][::2], axis=1)
        hidden = np.hypot(noise[pairs][::2], noise[pairs][1::2])
        after = (apart > PRUNED * hidden) | after[::2] | after[1::2]
        found.append(after)
    return tuple(found[::-1])
