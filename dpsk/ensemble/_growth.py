"""The releases of boosted trees: what they cost, in which order, and what follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpsk._data.source import Rows
from dpsk._defaults.boosting import (
    CUT_SHARE,
    CUTS_AT_ONCE,
    FADING,
    LIKENESS,
    N_SCALES,
    RIDGE,
    SCALE_SHARE,
    SIGNAL_RIDGE,
    WIDTH,
    n_candidates,
    sample_multiplier,
)
from dpsk._mechanism.core import Choices, Composite, Share
from dpsk._mechanism.sensitivity import derived_scale
from dpsk._models.monotone import monotone_leaves
from dpsk._models.trees import Tree, along, blended, leaves_after
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._statistics.leaves import Slopes, best_cuts, noisy_leaf_sums, noisy_mean_square
from dpsk.tree._growth import Ready

__all__ = ["Growth"]

#: The least root of a mean square, and the largest step of a tree in units of raw predictions.
_LEAST_ROOT, _MOST_STEP = 0.03, 1.0
#: The least share of draws of a column, over that of the best one.
_LEAST_DRAWN = 0.02
#: Trees after which gains count fully for draws.
_KNOWN = 10


@dataclass(frozen=True)
class Growth(Composite):
    """Trees one after another: mean squares of what is left, cuts, and sums over leaves.

    Parameters
    ----------
    count : int
        The number of trees.
    depth : int
    learning_rate : float
    loss : Loss
        Pointwise in raw predictions.
    counts : bool
        Whether the curvature of a row is its weight, as that of squares is; else its slope says.
    together : tuple of tuple of int, or None
        Columns that a tree may ask for together; None: all.
    signs : tuple of int
        Of every column, 1 or -1 where values must not fall, or not rise, along it.
    """

    count: int
    depth: int
    learning_rate: float
    loss: object
    counts: bool
    together: tuple | None
    # The same cuts are drawn with any.
    signs: tuple = field(repr=False)

    @property
    def parts(self):
        """tuple of Share : mean squares, cuts, and sums over leaves."""
        n_choices = self.count * math.ceil(self.depth / CUTS_AT_ONCE)
        return (Share(Choices(Ready(noisy_mean_square), N_SCALES), SCALE_SHARE),
                Share(Choices(Ready(best_cuts), n_choices), CUT_SHARE),
                Share(Choices(Ready(noisy_leaf_sums), self.count),
                      1.0 - SCALE_SHARE - CUT_SHARE))

    def run(self, data, session, noise_multiplier):
        """Return the trees.

        `data` are bins, shape (n_columns, n), and their numbers; targets; weights of at most 1,
        or None; raw predictions, shape (n, n_outputs), overwritten; weights of columns in draws;
        the groups of rows, or None; and public draws.
        """
        bins, sizes, y, weights, raw, drawn, members, draws = data
        scales, cuts, leaves = (part.run((), session, noise_multiplier) for part in self.parts)
        sum_event = self.parts[2].mechanism.each(self.parts[2].own(noise_multiplier))
        draw = _Draws(sizes, drawn, self.together, draws)
        trees, clips = [], []
        for place in range(self.count):
            slopes = self._slopes(y, raw)
            if place * N_SCALES // self.count == len(clips):
                square = scales(Rows(bins.T, _lengths(slopes, weights), groups=members))
                clips.append(WIDTH * math.sqrt(max(square, _LEAST_ROOT**2)))
            clip = clips[-1]
            own = Slopes(*self._weighed(slopes, weights, clip), clip, sum_event, members)
            asked, at = np.zeros((0, 2), int), None
            draw.start()
            while len(asked) < self.depth:
                wanted = min(CUTS_AT_ONCE, self.depth - len(asked))
                candidates = draw.candidates(n_candidates(len(sizes)), wanted)
                n_leaves = 2 ** (len(asked) + wanted)
                chosen = candidates[cuts(own, (
                    (leaves_after(bins, each, at), n_leaves) for each in candidates))]
                at, asked = leaves_after(bins, chosen, at), np.concatenate([asked, chosen])
            noise = derived_scale(sum_event, REPLACE_ONE * clip)
            sums, sized = leaves(own.at(at), 2**self.depth, clip, own.unit)
            draw.gained(asked, sums, noise)
            shortens = noise or REPLACE_ONE * clip * sample_multiplier(self.count)
            values = self._values(sums, sized, clip, shortens, asked) * self._fading(place)
            trees.append(Tree(asked, values))
            raw += values[at]
        session.enforced.append(Enforced(
            "slope of a row", [float(clip) for clip in clips], "released",
            "l2 norm of a row's slopes, from some trees on; longer ones are scaled down"))
        return trees

    def _slopes(self, y, raw):
        """Return what is left of the targets of rows, like raw predictions."""
        several = raw.shape[1] > 1
        found = self.loss.gradient(y, raw.copy() if several else raw[:, 0].copy())
        return -found.reshape(raw.shape)

    def _weighed(self, slopes, weights, clip):
        """Return slopes and sizes of rows, at their weights."""
        if self.counts:
            slopes = np.clip(slopes, -clip, clip)
            sizes = np.full_like(slopes, clip)
        else:
            sizes = np.abs(slopes)
        if weights is not None:
            slopes, sizes = slopes * weights[:, None], sizes * weights[:, None]
        return slopes, sizes

    def _values(self, sums, sized, clip, noise, asked):
        """Return what every leaf adds, from noisy sums: a damped Newton step."""
        # A slope y - p has size 2 p (1 - p) on average, twice the curvature.
        scale = clip if self.counts else 2.0
        likeness = (1.0 + LIKENESS**2) ** (0.5 * self.depth)
        step, curvature = blended(sums, LIKENESS), blended(sized / scale, LIKENESS)
        curvature = np.maximum(curvature, 0.0)
        curvature += (RIDGE * curvature.mean(axis=0)
                      + max(SIGNAL_RIDGE * likeness * noise / scale, 1e-9))
        values = np.clip(step / curvature, -_MOST_STEP, _MOST_STEP)
        return monotone_leaves(values, curvature, asked, np.array(self.signs)) * self.learning_rate

    def _fading(self, place):
        """Return what the values of a tree count for."""
        last = math.ceil(FADING * self.count)
        return min(1.0, (self.count - place) / (last + 1.0))


def _lengths(slopes, weights):
    """Return the lengths of rows' slopes."""
    lengths = np.sqrt(np.einsum("ij,ij->i", slopes, slopes))
    return lengths if weights is None else lengths * weights


class _Draws:
    """Public draws of cuts, of columns more often that were worth more by what was released."""

    def __init__(self, sizes, weights, together, draws):
        self._sizes, self._draws, self._gains = sizes, draws, np.zeros(len(sizes))
        # A column of one bin tells nothing apart.
        floor = _LEAST_DRAWN * weights.max() if weights.any() else 1.0
        self._base = (weights + floor) * (sizes > 1)
        if not self._base.any():
            self._base += 1.0
        self._base /= self._base.sum()
        n_sets = 1 if together is None else len(together)
        masks = np.full((n_sets, len(sizes)), float(together is None))
        for mask, places in zip(masks, together or (), strict=False):
            mask[list(places)] = 1.0
        self._masks, self._mask, self._n_trees = masks, masks[0], 0

    @property
    def _weights(self):
        total = self._gains.sum()
        if not total > 0.0:
            return self._base
        return self._base + min(1.0, self._n_trees / _KNOWN) * self._gains / total

    def start(self):
        """Draw the columns that the next tree may ask for."""
        shares = self._masks @ self._weights
        self._mask = self._masks[self._draws.choices(shares[None], np.zeros(1, int))[0]]

    def candidates(self, count, depth):
        """Return so many candidates of so many cuts, an array of shape (count, depth, 2)."""
        allowed = self._weights * self._mask
        if not allowed.any():
            allowed = self._mask
        columns = self._draws.choices(allowed[None], np.zeros(count * depth, int))
        most = np.maximum(self._sizes[columns] - 1, 1)
        cuts = 1 + np.floor(self._draws.uniforms(len(columns)) * most).astype(int)
        return np.stack([columns, cuts], axis=1).reshape(count, depth, 2)

    def gained(self, asked, sums, noise):
        """Note how far noisy sums differ by the answers of every level, beyond their noise."""
        for (column, _), bits in zip(asked, along(sums), strict=True):
            differences = bits[:, 1] - bits[:, 0]
            energy = np.square(differences).sum() - 2.0 * differences.size * noise**2
            self._gains[column] += max(0.0, energy)
        self._n_trees += 1
