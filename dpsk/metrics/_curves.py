"""Curves and areas of a histogram of scores: arrays of counts (..., label, bin), bins rising.

Counts may be noisy, and so negative. What is linear in them, or a product of the two labels, is
taken as it is, without bias; for curves cumulative counts are made to increase.
"""

import numpy as np

__all__ = ["hidden_positives", "monotone", "pairs", "positives_above",
           "positives_of", "precisions", "ratio", "tied_pairs", "won_pairs"]


def ratio(part, whole):
    """Return a share in [0, 1]; of less than one row it is that of one."""
    return np.clip(part / np.maximum(whole, 1.0), 0.0, 1.0)


def pairs(counts):
    """Return the number of pairs of a positive and a negative row."""
    return counts.sum(axis=-1).prod(axis=-1)


def won_pairs(counts):
    """Return in how many pairs the positive row scores higher; rows of one bin are ties, a half.
    """
    negative, positive = counts[..., 0, :], counts[..., 1, :]
    below = np.cumsum(negative, axis=-1) - negative / 2.0
    return (positive * below).sum(axis=-1)


def tied_pairs(counts, share=1.0):
    """Return the share of pairs of a positive and a negative row that are in one bin.

    Times a share of each bin.
    """
    return (counts.prod(axis=-2) * share).sum(axis=-1) / np.maximum(pairs(counts), 1.0)


def precisions(counts, tied, order):
    """Return the sum of precision over the positives.

    Parameters
    ----------
    counts : ndarray of shape (..., 2, n_bins)
    tied : ndarray of shape (n_bins,)
        Shares of bins whose rows are ties: precision there is that below the bin.
    order : float or ndarray of shape (n_bins,)
        How far positives come first within other bins: 1 before all negatives, 0 as often as not,
        -1 after them.
    """
    falling, tied = counts[..., ::-1], tied[::-1]
    negative, positive = falling[..., 0, :], falling[..., 1, :]
    before = np.cumsum(falling, axis=-1) - falling
    order = np.broadcast_to(order, tied.shape)[::-1]
    found = tied * _precision(before, positive, negative)
    # Simpson's rule along the positives of a bin.
    for place, weight in ((0.02, 1.0 / 6.0), (0.5, 4.0 / 6.0), (1.0, 1.0 / 6.0)):
        part = _precision(before, place * positive, place * negative)
        ends = [_precision(before, place * positive, end * negative) for end in (0.0, 1.0)]
        part = part + np.maximum(order, 0.0) * (ends[0] - part) + np.minimum(order, 0.0) * (
            part - ends[1])
        found = found + weight * (1.0 - tied) * part
    return (positive * found).sum(axis=-1)


def _precision(before, positive, negative):
    """Return the share of positives among rows before a bin and some of its own."""
    held = before[..., 1, :] + positive
    return np.clip(held / np.maximum(held + before[..., 0, :] + negative, 0.5), 0.0, 1.0)


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
