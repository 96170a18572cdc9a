"""Curves and areas of a histogram of scores.

Counts are arrays (..., label, bin), with bins in increasing order. They may be noisy, and so
negative. Functions linear in them, or products of the two labels, use them unchanged, without
bias. Curves use cumulative counts made monotone.
"""

import math

import numpy as np
from scipy.special import ndtr, ndtri

from dpsk.metrics._estimate import REACH

__all__ = ["bent_positives", "first_negatives", "law_areas", "lumps", "mixed_pairs", "monotone",
           "orders", "orders_by_rise", "orders_near", "pairs", "positives_above", "positives_of",
           "precisions", "projected", "ratio", "slopes", "tied_pairs", "told", "unseen_ties",
           "won_pairs"]


#: Areas are clipped to this, as bins cannot tell how far apart better separated labels are.
_MOST_AREA = 0.999
#: Error of the estimated bend of a curve within a bin, relative to the difference of slopes.
_BENT = 0.6
#: Lower bound on the variance of the label in a bin, where it divides the rise of the share.
_FEW = 0.02
#: Numbers of distinct scores that a bin may hold.
_NUMBERS = np.arange(1.0, 17.0)[:, None]
#: Candidate distances of two normal distributions, in standard deviations.
_APART = np.arange(-200, 201)[:, None] / 50.0


def ratio(part, whole):
    """Return ``part / whole`` clipped to [0, 1], with `whole` at least 1."""
    return np.clip(part / np.maximum(whole, 1.0), 0.0, 1.0)


def pairs(counts):
    """Return the number of pairs of a positive and a negative row."""
    return counts.sum(axis=-1).prod(axis=-1)


def won_pairs(counts):
    """Return the number of pairs that the positive row wins; a tie in a bin is half."""
    negative, positive = counts[..., 0, :], counts[..., 1, :]
    below = np.cumsum(negative, axis=-1) - negative / 2.0
    return (positive * below).sum(axis=-1)


def tied_pairs(counts, share=1.0):
    """Return the share of positive-negative pairs that lie in one bin.

    The pairs of each bin are weighted by `share`.
    """
    return (counts.prod(axis=-2) * share).sum(axis=-1) / np.maximum(pairs(counts), 1.0)


def told(counts):
    """Return the area with ties counted as one half, and the share of ties.

    A large share of ties means wide bins. The area between bins then also shows how well scores
    order the rows within bins.
    """
    area = won_pairs(counts) / np.maximum(pairs(counts), 1.0)
    return (np.clip(area, 1.0 - _MOST_AREA, _MOST_AREA), np.clip(tied_pairs(counts), 0.0, 1.0))


def projected(values, totals=None):
    """Project each row of values onto nonnegative ones with sums `totals`, or its own."""
    totals = np.maximum(values.sum(axis=1), 0.0) if totals is None else totals
    falling = -np.sort(-values, axis=1)
    over = np.cumsum(falling, axis=1) - totals[:, None]
    count = np.maximum((falling * np.arange(1, values.shape[1] + 1) > over).sum(axis=1), 1)
    cut = np.take_along_axis(over, count[:, None] - 1, axis=1) / count[:, None]
    return np.maximum(values - cut, 0.0)


def slopes(counts, noise):
    """Return the rise of the share of positives over each bin, and the share itself.

    The rise is estimated from the two neighboring bins. Each bin counts at least as many rows as
    two standard deviations of noise. A bin with no more rows tells its neighbors nothing.
    """
    least = max(2.0 * noise, 1e-9)
    rows = np.maximum(counts.sum(axis=-2), least)
    shares, known = np.clip(counts[..., 1, :] / rows, 0.0, 1.0), 1.0 - (least / rows)**2
    places, rises, length = np.arange(rows.shape[-1]), 0.0, 1e-9
    for step in (-1, 1):
        near = np.clip(places + step, 0, places[-1])
        sure = known[..., near] * (near != places)
        # Between the middles of neighbors; the bin at an end, and beside noise, uses its own.
        length = length + sure * (rows + rows[..., near]) / 2.0
        rises = rises + step * sure**2 * (shares[..., near] - shares)
    return rises * rows / length, shares


def orders(counts):
    """Return the order of positives within bins of one table, from -1 to 1.

    The order is that of two normal distributions with the area between bins, cut into bins with
    the same numbers of rows.
    """
    below, negative, positive, won = _law(counts)
    higher = won - below * positive
    both = negative * positive
    return np.clip(np.where(both > 1e-12, 2.0 * higher / np.maximum(both, 1e-12) - 1.0, 0.0),
                   -1.0, 1.0)


def _law(counts):
    """Return shares of two normal distributions in each bin of one table, shape (n_bins,).

    These are the shares of negatives below the bin and in it, of positives in it, and of pairs
    that the positives of the bin win.
    """
    apart = math.sqrt(2.0) * ndtri(told(counts)[0])
    rows, places = np.maximum(counts.sum(axis=0), 1e-9), np.linspace(-8.0, 8.0, 1601)
    negative, positive = ndtr(places + apart / 2.0), ndtr(places - apart / 2.0)
    won = np.append(0.0, np.cumsum(np.diff(positive) * (negative[1:] + negative[:-1]) / 2.0))
    share = np.clip(counts[1].sum() / rows.sum(), 0.0, 1.0)
    edges = np.interp(np.append(0.0, np.cumsum(rows)) / rows.sum(),
                      negative + share * (positive - negative), places)
    negative, positive, won = (np.interp(edges, places, each) for each in
                               (negative, positive, won))
    return negative[:-1], np.diff(negative), np.diff(positive), np.diff(won)


def first_negatives(counts, noise):
    """Return how many negatives of the highest bin precede, or may precede, all its positives.

    These are the negatives beyond the expected number: half of them, shrunk as far as noise
    explains them (James and Stein), or all and one deviation of noise. The expected share of
    negatives is that of two normal distributions, or that of the next bin if it is smaller.
    """
    _, negative, positive, _ = _law(counts)
    held, sizes = np.maximum(counts, 0.0), counts.sum(axis=1)
    rows = held.sum(axis=0)
    law = ratio(sizes[0] * negative, sizes[0] * negative + sizes[1] * positive)[-1]
    # A single bin is compared with itself.
    expected = rows[-1] * min(law, ratio(held[0] + noise, rows)[-2:][0])
    beyond = max(held[0, -1] - expected, 0.0)
    # The difference of two noisy numbers has twice the variance of one.
    kept = max(beyond - 2.0 * noise**2 / max(beyond, 1e-300), 0.0)
    return kept / 2.0, min(beyond + noise, float(held[0, -1]))


def orders_near(counts):
    """Return `orders` of each bin from it and its neighbors alone, shape (n_bins,)."""
    last = counts.shape[1]
    return np.array([orders(counts[:, max(place - 1, 0):place + 2])[min(place, 1)]
                     for place in range(last)])


def orders_by_rise(counts, noise):
    """Return the order within bins, from -1 to 1, if shares of positives rise linearly."""
    rises, shares = slopes(counts, noise)
    return np.clip(rises / (6.0 * np.maximum(shares * (1.0 - shares), _FEW)), -1.0, 1.0)


def mixed_pairs(counts, spread):
    """Return pairs that positives win within bins beyond those by the common law.

    These are pairs by `orders_near`, which shows more order where rows are of mixed groups; 0 if
    it shows less. The pairs of each bin are weighted by `spread`.
    """
    law, near = (float((order * counts.prod(axis=0) * spread).sum()) / 2.0 for order in (
        orders(counts), orders_near(projected(counts))))
    return near - law if abs(near) > abs(law) else 0.0


def law_areas(counts, tables):
    """Return areas of the binormal models that fit the rarer label's counts best.

    There is one model for each of `tables`. The distribution of the other label over the bins is
    taken from `counts`, of shape (2, n_bins).
    """
    rarer = int(counts[1].sum() <= counts[0].sum())
    below = np.append(0.0, np.cumsum(np.maximum(counts[1 - rarer], 0.0)))
    places = ndtri(np.clip(below / max(below[-1], 1e-300), 1e-9, 1.0 - 1e-9))
    shares = np.diff(ndtr(places - (2 * rarer - 1) * _APART), axis=1)
    shares = shares / np.linalg.norm(shares, axis=1, keepdims=True)
    best = np.argmax(tables[..., rarer, :] @ shares.T, axis=-1)
    return ndtr(_APART[best, 0] / math.sqrt(2.0))


def lumps(counts, noise, share):
    """Return the fraction of each bin's pairs above twice the median or mean bin's pairs.

    The smaller of the two counts. The excess starts two deviations of noise above that. The pairs
    of each bin are weighted by `share`.
    """
    held = np.maximum(counts, 0.0)
    pairs_in = held.prod(axis=0) * share
    # In most bins there may be only noise, and the median bin may be a lump.
    usual = min(np.median(pairs_in[pairs_in > 0.0]) if np.any(pairs_in > 0.0) else 0.0,
                pairs_in.mean())
    beyond = pairs_in - 2.0 * (usual + noise * np.sqrt((held**2).sum(axis=0)))
    return np.maximum(beyond, 0.0) / np.maximum(pairs_in, 1e-9)


def unseen_ties(counts, noise):
    """Return the share of ties in each bin that `noise` on rows of a cell may hide.

    With k distinct numbers in a bin, the share is 1 / k times the probability that none of their
    counts exceeds three deviations. The maximum over k is returned.
    """
    seen = np.maximum(counts.sum(axis=0), 0.0) / _NUMBERS / max(noise, 1e-9)
    return (ndtr(3.0 - seen) / _NUMBERS).max(axis=0)


def precisions(counts, tied, order, first=0.0):
    """Return the sum of precision over the positives of each bin, highest bin first.

    Parameters
    ----------
    counts : ndarray of shape (..., 2, n_bins)
    tied : ndarray of shape (n_bins,)
        Shares of bins whose rows are ties: their precision is that at the lower edge of the bin.
    order : float or ndarray of shape (..., 1) or (n_bins,)
        Order of the other rows in a bin: 1 for positives before all negatives, 0 for a random
        order, -1 for positives after all negatives.
    first : float
        Number of negatives of the highest bin that precede all its other rows.
    """
    falling, tied = np.array(counts[..., ::-1]), tied[::-1]
    falling[..., 0, 0] -= first
    negative, positive = falling[..., 0, :], falling[..., 1, :]
    before = np.cumsum(falling, axis=-1) - falling
    before[..., 0, :] += first
    order = np.atleast_1d(order)[..., ::-1]
    found = tied * _precision(before, positive, negative)
    rows = np.maximum(positive, 0.0)
    # A positive counts itself, so it reaches half a row beyond its position.
    own = np.minimum(rows, 1.0) / 2.0
    # Simpson's rule along the positives of a bin.
    for place, weight in ((0.02, 1.0 / 6.0), (0.5, 4.0 / 6.0), (1.0, 1.0 / 6.0)):
        reached = place * positive + (own if place < 1.0 else 0.0)
        part, *ends = (_precision(before, reached, share * negative) for share in (
            (place * rows + 0.5) / (rows + 1.0), 0.0, 1.0))
        part = part + np.maximum(order, 0.0) * (ends[0] - part) + np.minimum(order, 0.0) * (
            part - ends[1])
        found = found + weight * (1.0 - tied) * part
    return positive * found


def _precision(before, positive, negative):
    """Return the share of positives among rows before a bin and some of its own."""
    held = before[..., 1, :] + positive
    # Values outside [0, 1] are kept within limits, so that noise has both signs.
    return np.clip(held / np.maximum(held + before[..., 0, :] + negative, 0.5), -0.25, 1.25)


def positives_above(counts):
    """Return the number of rows of each label at or above every edge, highest first.

    The first entry is 0 and the last is all rows: shape (..., label, bins + 1).
    """
    falling = np.cumsum(counts[..., ::-1], axis=-1)
    return np.concatenate([np.zeros((*falling.shape[:-1], 1)), falling], axis=-1)


def positives_of(counts, fraction, order=0.0):
    """Return the number of positives in the fraction of rows with the highest scores.

    `order` is that of rows in a bin, a number or an array of shape (n_bins,): 1 for positives
    before all negatives, 0 for a random order, -1 for positives after all negatives.
    """
    above = positives_above(counts)
    every, positive = above.sum(axis=-2), above[..., 1, :]
    wanted = fraction * every[..., -1:]
    place = (monotone(every) <= wanted).sum(axis=-1, keepdims=True) - 1
    place = np.clip(place, 0, every.shape[-1] - 2)
    low, high, below, beyond = (np.take_along_axis(part, place + more, -1)
                                for part in (every, positive) for more in (0, 1))
    taken, rows, held = wanted - low, high - low, beyond - below
    own = np.where(rows > 0.0, np.clip(taken / np.where(rows > 0.0, rows, 1.0), 0.0, 1.0),
                   1.0) * held
    first = np.maximum(np.minimum(taken, held) - own, 0.0)
    last = np.maximum(own - np.maximum(taken - rows + held, 0.0), 0.0)
    order = np.broadcast_to(order, counts.shape[-1:])[::-1][place]
    return (below + own + np.where(order > 0.0, first, last) * order)[..., 0]


def bent_positives(counts, fraction, spread):
    """Return the curvature correction of `positives_of` within a bin, and its error.

    The share of positives is taken to change linearly over the bin, from the bin above to the bin
    below. `spread` are the shares of bins that are not ties or crowds; these have no correction.
    """
    above = positives_above(counts)
    every, positive = monotone(above.sum(axis=-2)), monotone(above[1])
    rows, held = np.diff(every), np.diff(positive)
    place = min(int(np.searchsorted(every, fraction * every[-1], "right")), len(rows)) - 1
    share = np.clip((fraction * every[-1] - every[place]) / max(rows[place], 1.0), 0.0, 1.0)
    own, above, below = ratio(*(part[np.clip([place, place - 1, place + 1], 0, len(rows) - 1)]
                                for part in (held, rows)))
    if place == 0:
        above = min(2.0 * own - below, 1.0)
    elif place == len(rows) - 1:
        below = max(2.0 * own - above, 0.0)
    most = rows[place] * share * (1.0 - share) * spread[::-1][place]
    # The positions of positives within the bin are random as well.
    chance = REACH * np.sqrt(most * own * max(1.0 - own, 0.0))
    return most * (above - below) / 4.0, np.hypot(_BENT * most * np.ptp([own, above, below]),
                                                  chance)


def monotone(above):
    """Return cumulative counts made monotone, from 0 to all rows of a label.

    The result is the middle of the smallest increasing curve above the counts and the largest one
    below.
    """
    upper = np.maximum.accumulate(above, axis=-1)
    lower = np.minimum.accumulate(above[..., ::-1], axis=-1)[..., ::-1]
    total = np.maximum(above[..., -1:], 1.0)
    made = np.clip((upper + lower) / 2.0, 0.0, total)
    made[..., :1], made[..., -1:] = 0.0, total
    return made
