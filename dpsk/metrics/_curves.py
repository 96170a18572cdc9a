"""Curves and areas of a histogram of scores: arrays of counts (..., label, bin), bins rising.

Counts may be noisy, and so negative. What is linear in them, or a product of the two labels, is
taken as it is, without bias; for curves cumulative counts are made to increase.
"""

import numpy as np
from sklearn.isotonic import isotonic_regression

__all__ = ["average_precision", "brier", "hidden_positives", "joined", "monotone",
           "positives_above", "positives_of", "ratio", "roc_area"]


def ratio(part, whole):
    """Return a share in [0, 1]; of less than one row it is that of one."""
    return np.clip(part / np.maximum(whole, 1.0), 0.0, 1.0)


def joined(counts):
    """Return the counts of neighboring bins in pairs; of an odd number the last is alone."""
    return np.add.reduceat(counts, np.arange(0, counts.shape[-1], 2), axis=-1)


def roc_area(counts):
    """Return the area under the ROC curve; rows of one bin are ties."""
    negative, positive = counts[..., 0, :], counts[..., 1, :]
    below = np.cumsum(negative, axis=-1) - negative / 2.0
    pairs = np.maximum(negative.sum(axis=-1), 1.0) * np.maximum(positive.sum(axis=-1), 1.0)
    return np.clip((positive * below).sum(axis=-1) / pairs, 0.0, 1.0)


def average_precision(counts):
    """Return the mean precision at the positives, in the middle of a bin for all of it."""
    counts = np.maximum(counts, 0.0)
    falling = counts[..., ::-1]
    middle = np.cumsum(falling, axis=-1) - falling / 2.0
    precision = middle[..., 1, :] / np.maximum(middle.sum(axis=-2), 0.5)
    positive = falling[..., 1, :]
    return ratio((positive * precision).sum(axis=-1), positive.sum(axis=-1))


def brier(counts, places):
    """Return the mean square between label and probability, all of a bin at its place."""
    losses = np.stack([places**2, (1.0 - places)**2])
    return np.clip((counts * losses).sum(axis=(-1, -2))
                   / np.maximum(counts.sum(axis=(-1, -2)), 1.0), 0.0, 1.0)


def positives_above(counts):
    """Return rows at or above every edge, for each label, from the highest edge to the lowest.

    The first is none and the last is all: shape (..., label, bins + 1).
    """
    falling = np.cumsum(counts[..., ::-1], axis=-1)
    return np.concatenate([np.zeros((*falling.shape[:-1], 1)), falling], axis=-1)


def positives_of(counts, fraction):
    """Return the share of all positives that a fraction of all rows holds, the highest scores."""
    every, positive = _cumulative(counts)
    flat = zip(every.reshape(-1, every.shape[-1]), positive.reshape(-1, every.shape[-1]),
               strict=True)
    found = [np.interp(fraction * rows[-1], rows, held) / max(held[-1], 1.0)
             for rows, held in flat]
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
    """Return the nearest cumulative counts that increase from 0 to all of a label's rows."""
    total = np.maximum(above[..., -1:], 1.0)
    flat = above.reshape(-1, above.shape[-1])
    tops = np.broadcast_to(total, above.shape).reshape(flat.shape)[:, 0]
    made = np.stack([isotonic_regression(row, y_min=0.0, y_max=top)
                     for row, top in zip(flat, tops, strict=True)]).reshape(above.shape)
    made[..., :1], made[..., -1:] = 0.0, total
    return made
