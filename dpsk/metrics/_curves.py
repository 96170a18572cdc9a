"""Curves and areas of a histogram of scores: arrays of counts (..., label, bin), bins rising.

Counts may be noisy, and so negative. What is linear in them, or a product of the two labels, is
taken as it is, without bias; for curves cumulative counts are made to increase.
"""

import numpy as np

__all__ = ["brier", "hidden_positives", "monotone", "pairs", "positives_above", "positives_of",
           "precisions", "ratio", "steps", "tied_pairs", "won_pairs"]


def ratio(part, whole):
    """Return a share in [0, 1]; of less than one row it is that of one."""
    return np.clip(part / np.maximum(whole, 1.0), 0.0, 1.0)


def steps(metric, counts, edges):
    """Return a third of how much less a metric of neighboring bins in pairs is, for both pairings.

    The metric is a function of counts and edges whose error is as the square of a bin: so much
    is missing.
    """
    size, whole = counts.shape[-1], metric(counts, edges)
    found = []
    for first in (np.arange(0, size, 2), np.append(0, np.arange(1, size, 2))):
        pairs = np.add.reduceat(counts, first, axis=-1)
        found.append((whole - metric(pairs, np.append(edges[first], edges[-1]))) / 3.0)
    return found


def pairs(counts):
    """Return the number of pairs of a positive and a negative row."""
    return counts.sum(axis=-1).prod(axis=-1)


def won_pairs(counts, edges):
    """Return in how many pairs the positive row scores higher; rows of one bin are ties, a half.
    """
    negative, positive = counts[..., 0, :], counts[..., 1, :]
    below = np.cumsum(negative, axis=-1) - negative / 2.0
    return (positive * below).sum(axis=-1)


def tied_pairs(counts):
    """Return the share of pairs of a positive and a negative row that are in one bin."""
    return counts.prod(axis=-2).sum(axis=-1) / np.maximum(pairs(counts), 1.0)


def precisions(counts, edges):
    """Return the sum of precision over the positives, in the middle of a bin for all of it."""
    falling = counts[..., ::-1]
    middle = np.cumsum(falling, axis=-1) - falling / 2.0
    precision = np.clip(middle[..., 1, :] / np.maximum(middle.sum(axis=-2), 0.5), 0.0, 1.0)
    return (falling[..., 1, :] * precision).sum(axis=-1)


def brier(counts, edges):
    """Return the sum of squares between label and probability, all of a bin in its middle."""
    places = (edges[:-1] + edges[1:]) / 2.0
    losses = np.stack([places**2, (1.0 - places)**2])
    return (counts * losses).sum(axis=(-1, -2))


def positives_above(counts):
    """Return rows at or above every edge, for each label, from the highest edge to the lowest.

    The first is none and the last is all: shape (..., label, bins + 1).
    """
    falling = np.cumsum(counts[..., ::-1], axis=-1)
    return np.concatenate([np.zeros((*falling.shape[:-1], 1)), falling], axis=-1)


def positives_of(counts, fraction):
    """Return how many positives a fraction of all rows holds, those of the highest scores."""
    above = positives_above(counts)
    every, positive = monotone(above.sum(axis=-2)), above[..., 1, :]
    flat = zip(every.reshape(-1, every.shape[-1]), positive.reshape(-1, every.shape[-1]),
               strict=True)
    found = [np.interp(fraction * rows[-1], rows, held) for rows, held in flat]
    return np.reshape(found, every.shape[:-1])


def hidden_positives(counts, fraction):
    """Return by how much a line between two edges may be off in `positives_of`, about.

    The curve lies between that line and those of the bins beside: at most a quarter of the bin
    times the difference of their slopes.
    """
    every, positive = _cumulative(counts)
    rows, held = np.diff(every), np.diff(positive)
    place = min(int(np.searchsorted(every, fraction * every[-1], "right")), len(rows)) - 1
    beside = slice(max(place - 1, 0), place + 2)
    slopes = ratio(held[beside], rows[beside])
    return rows[place] * (slopes.max() - slopes.min()) / 4.0 / max(positive[-1], 1.0)


def _cumulative(counts):
    """Return all rows, and the positive ones, at or above every edge from the highest."""
    above = positives_above(np.maximum(counts, 0.0))
    return above.sum(axis=-2), above[..., 1, :]


def monotone(above):
    """Return cumulative counts that increase from 0 to all of a label's rows.

    In the middle between the least increasing curve above these counts and the greatest below.
    """
    upper = np.maximum.accumulate(above, axis=-1)
    lower = np.minimum.accumulate(above[..., ::-1], axis=-1)[..., ::-1]
    total = np.maximum(above[..., -1:], 1.0)
    made = np.clip((upper + lower) / 2.0, 0.0, total)
    made[..., :1], made[..., -1:] = 0.0, total
    return made
