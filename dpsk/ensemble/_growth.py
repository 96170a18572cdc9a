"""Growth of boosted trees: their private releases, and the trees computed from them."""

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

#: Least root mean square, and the largest step of a tree in units of raw predictions.
_LEAST_ROOT, _MOST_STEP = 0.03, 1.0
#: Least weight of a column in draws, over that of the best column.
_LEAST_DRAWN = 0.02
#: Number of trees after which gains count fully in draws.
_KNOWN = 10


@dataclass(frozen=True)
class Growth(Composite):
    """Grow trees one after another: release mean squares of residuals, cuts, and leaf sums.

    Parameters
    ----------
    count : int
        The number of trees.
    depth : int
    learning_rate : float
    loss : Loss
        A pointwise loss of raw predictions.
    counts : bool
        Whether the curvature of a row is its weight, as for squared loss; if not, it is estimated
        from the size of its slope.
    together : tuple of tuple of int, or None
        Sets of columns that a tree may combine; None: all.
    signs : tuple of int
        Monotonic constraint of every column: 1 for increasing, -1 for decreasing, 0 for none.
    """

    count: int
    depth: int
    learning_rate: float
    loss: object
    counts: bool
    together: tuple | None
    # Cuts are drawn independently of the signs.
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
        """Return the residuals (negative gradients) of rows, shaped like raw predictions."""
        several = raw.shape[1] > 1
        found = self.loss.gradient(y, raw.copy() if several else raw[:, 0].copy())
        return -found.reshape(raw.shape)

    def _weighed(self, slopes, weights, clip):
        """Return the weighted slopes and sizes of rows."""
        if self.counts:
            slopes = np.clip(slopes, -clip, clip)
            sizes = np.full_like(slopes, clip)
        else:
            sizes = np.abs(slopes)
        if weights is not None:
            slopes, sizes = slopes * weights[:, None], sizes * weights[:, None]
        return slopes, sizes

    def _values(self, sums, sized, clip, noise, asked):
        """Return the values of the leaves from noisy sums: a damped Newton step."""
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
        """Return the factor of the values of a tree, below 1 for the last trees."""
        last = math.ceil(FADING * self.count)
        return min(1.0, (self.count - place) / (last + 1.0))


def _lengths(slopes, weights):
    """Return the weighted norms of the slopes of rows."""
    lengths = np.sqrt(np.einsum("ij,ij->i", slopes, slopes))
    return lengths if weights is None else lengths * weights


class _Draws:
    """Public draws of cuts, which prefer columns with larger released gains."""

    def __init__(self, sizes, weights, together, draws):
        self._sizes, self._draws, self._gains = sizes, draws, np.zeros(len(sizes))
        # A column with one bin has no cut.
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
        """Draw the columns that the next tree may use."""
        shares = self._masks @ self._weights
        self._mask = self._masks[self._draws.choices(shares[None], np.zeros(1, int))[0]]

    def candidates(self, count, depth):
        """Return `count` candidates of `depth` cuts each, shape (count, depth, 2)."""
        allowed = self._weights * self._mask
        if not allowed.any():
            allowed = self._mask
        columns = self._draws.choices(allowed[None], np.zeros(count * depth, int))
        most = np.maximum(self._sizes[columns] - 1, 1)
        cuts = 1 + np.floor(self._draws.uniforms(len(columns)) * most).astype(int)
        return np.stack([columns, cuts], axis=1).reshape(count, depth, 2)

    def gained(self, asked, sums, noise):
        """Add to each column's gain the squared difference of sums at its cuts, less noise."""
        for (column, _), bits in zip(asked, along(sums), strict=True):
            differences = bits[:, 1] - bits[:, 0]
            energy = np.square(differences).sum() - 2.0 * differences.size * noise**2
            self._gains[column] += max(0.0, energy)
        self._n_trees += 1
