r"""Noisy sums over the leaves of a tree, and cuts that are chosen under noise.

A row enters one leaf by its slopes g and by sizes a, one of each an output, with ``|g_k| <= a_k``
and ``|a| <= C``. Two rows in different leaves move the sums by the root of

    |g|^2 + |a|^2 + |g'|^2 + |a'|^2 <= 2 (|a|^2 + |a'|^2) <= 4 C^2,

and two in one leaf by no more, as ``(g_k - g'_k)^2 + (a_k - a'_k)^2 <= (a_k + a'_k)^2 +
(a_k - a'_k)^2 = 2 (a_k^2 + a'_k^2)``. So replacing a row moves the sums of slopes and of sizes
together by at most 2 C, which is what those of slopes alone move by: curvatures, or counts, come
at no price.

A group of k rows enters by the average of what its rows enter by. Two averages are no further
apart than two of the rows that they are of, as the norm is convex, and so nothing above or below
moves by more.

The score of some cuts is the sum over leaves of the norm of the leaf's sum of slopes. A row that
leaves changes it by at most C and so does one that comes: one score may rise by 4 C more than
another. Only which cuts are best leaves.

Where every node of a level has a split of its own, a candidate is one split for each of them, and
its score the sum of theirs. Of independent Gumbel noise on all splits of all nodes the best ones
are the best such candidate by the same law: so a level costs what one choice does.

Of trees that are drawn publicly and the classes of their leaves a candidate is one tree with one
class for every leaf, and its score the weight of rows that it classifies right. A row is worth at
most 1 there: one score may rise by 2 more than another. Of Gumbel noise of scale s the best
candidate has a probability in proportion to ``exp(score / s)``. Summed over the classes of leaves
that is ``exp(f / s)`` for a tree, with f the sum over its leaves of ``s log sum_c exp(n_c / s)``,
and given the tree each leaf has its class in proportion to ``exp(n_c / s)``: so the best f under
noise, and then the best count of every leaf of that tree under noise of its own, have the law of
one choice, although candidates are far too many to be counted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._data.source import Rows
from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._models.clipping import shortened
from dpsk._privacy.events import Pure
from dpsk._privacy.noise.grids import exact_bits
from dpsk._privacy.sensitivity import REPLACE_ONE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import FloatArray, IntArray

__all__ = ["Slopes", "best_cuts", "best_labels", "best_splits", "noisy_label_counts",
           "noisy_leaf_sums", "noisy_mean_square"]

#: Squares and their noise are multiples of this.
_SQUARE_UNIT = 2.0**-20
#: Rows that are squared at once.
_PART = 1 << 16
#: Leaves are numbered in eight bits.
_MOST_LEAVES = 256
#: Leaves of candidates that are summed over at once.
_JOINT_LEAVES = 1 << 12
#: The root of a half, rounded up.
_HALF_ROOT = math.nextafter(math.sqrt(0.5), 1.0)
#: Entries a row, of blocks that are summed over.
_WIDTH = 4


class Slopes:
    """Slopes and sizes of rows in whole units, so that every sum of them is exact.

    Parameters
    ----------
    slopes : ndarray of shape (n, n_outputs)
    sizes : ndarray of shape (n, n_outputs)
        No size counts as less than 0, and no slope as more than the size.
    clip : float
        Released; longer rows of sizes are scaled down to it, with their slopes.
    event : Event
        What a release of sums costs.
    groups : Groups or None
        Each row of a group counts as one over their number.
    law : str
        Of the noise.

    Attributes
    ----------
    clip, unit : float
    whole : ndarray of shape (2 n_outputs, n)
        Slopes, then sizes, of every output.
    """

    def __init__(self, slopes: FloatArray, sizes: FloatArray, clip: float,
                 event: Elementary, groups: Any = None, law: str = "standard_normal") -> None:
        n, n_outputs = slopes.shape
        self.clip = clip
        # What is public: not the number of rows in groups.
        n_units = n if groups is None else groups.count
        scale = derived_scale(event, REPLACE_ONE * clip, law)
        self.unit = 2.0 ** -exact_bits(n_units * clip, scale)
        self.whole = np.empty((2 * n_outputs, n))
        for part in row_blocks(n, 4 * n_outputs):
            given = np.maximum(np.nan_to_num(sizes[part], nan=0.0), 0.0)
            with np.errstate(all="ignore"):
                bounds = shortened(given.copy(), clip)
                own = np.nan_to_num(slopes[part] * np.nan_to_num(bounds / given), nan=0.0)
            own = np.clip(own, -bounds, bounds)
            if groups is not None:
                own /= groups.sizes[part][:, None]
                bounds /= groups.sizes[part][:, None]
            # Toward zero: no row becomes longer, and no slope more than its size.
            self.whole[:n_outputs, part] = np.trunc(own.T / self.unit)
            self.whole[n_outputs:, part] = np.trunc(bounds.T / self.unit)

    def at(self, leaves: IntArray) -> Rows:
        """Return rows of which features are the leaf, and targets slopes and sizes in units."""
        return Rows(leaves[:, None], self.whole.T)


def noisy_mean_square(rows: RowSource, event: Elementary, session: Session) -> float:
    """Return the noisy mean of the squares of rows' targets, each counted as at most 1.

    Of groups the mean of the means of their rows.
    """
    def total(batch: Batch) -> FloatArray:
        whole = 0.0
        for part in rows.blocks(_PART):
            _, lengths, shares = rows.take(part)
            squares = np.square(np.clip(np.nan_to_num(lengths, nan=1.0), 0.0, 1.0))
            if shares is not None:
                squares *= shares
            whole += np.trunc(squares / _SQUARE_UNIT).sum()
        return np.array([whole * _SQUARE_UNIT])

    noisy = session(event, total, Sensitivity(1.0, unit=_SQUARE_UNIT), divisor=rows.n_units)
    return float(noisy[0])


def best_cuts(slopes: Slopes, leaves: Any, event: Elementary,
              session: Session) -> int:
    """Return the place of the candidate whose leaves tell slopes apart best.

    Parameters
    ----------
    slopes : Slopes
    leaves : iterable of (ndarray of int, int)
        Of every candidate the leaf of every row, and the number of leaves; read once.
    event : Event
    session : Session
    """
    n_outputs = len(slopes.whole) // 2

    def scores(batch: Batch) -> FloatArray:
        found = [_lengths(sums).sum() for sums in _sums_of_each(slopes, leaves, n_outputs)]
        return slopes.unit * np.array(found)

    return int(session(event, scores, _of_scores(slopes), select=np.argmax))


def best_splits(slopes: Slopes, at: IntArray, n_nodes: int, bins: IntArray, asked: IntArray,
                event: Elementary, session: Session, tried: Any = None) -> IntArray:
    """Return for every node of a level the place of the split that tells slopes apart best.

    Parameters
    ----------
    slopes : Slopes
    at : ndarray of int
        The node of every row.
    n_nodes : int
        At most 128.
    bins : ndarray of int, shape (n_columns, n)
    asked : ndarray of int, shape (n_splits, 3)
        A column, and the least and the least higher bin of what goes right; columns in order.
    event : Event
    session : Session
    tried : ndarray of bool, shape (n_nodes, n_splits), or None
        Public: the splits that a node may have, None: all.
    """
    n_outputs = len(slopes.whole) // 2

    def scores(batch: Batch) -> FloatArray:
        columns, starts = np.unique(asked[:, 0], return_index=True)
        parts = []
        for column, own in zip(columns, np.split(asked, starts[1:]), strict=True):
            size = int(own[:, 2].max())
            places = Rows(at.astype(np.intp)[:, None] * size + bins[column][:, None],
                          slopes.whole.T)
            below = np.zeros((n_outputs, n_nodes, size + 1))
            np.cumsum(_sums(places, n_nodes * size, n_outputs).reshape(n_outputs, n_nodes, size),
                      axis=2, out=below[:, :, 1:])
            right = below[:, :, own[:, 2]] - below[:, :, own[:, 1]]
            parts.append(_lengths(right) + _lengths(below[:, :, -1:] - right))
        return slopes.unit * np.concatenate(parts, axis=1)

    def select(noisy: FloatArray) -> IntArray:
        return np.argmax(noisy if tried is None else np.where(tried, noisy, -np.inf), axis=1)

    return np.asarray(session(event, scores, _of_scores(slopes), select=select))


def best_labels(slopes: Slopes, labels: IntArray, n_classes: int, leaves: Any, event: Elementary,
                session: Session) -> tuple[int, IntArray]:
    """Return the place of a drawn tree, and the classes of its leaves, that most rows agree with.

    Parameters
    ----------
    slopes : Slopes
        Of one output; sizes are the weights of rows.
    labels : ndarray of int
        The class of every row.
    n_classes : int
    leaves : iterable of (ndarray of int, int)
        Of every tree the leaf of every row, and the number of leaves; read once. The trees do not
        follow from the rows.
    event : Event
    session : Session
    """
    # What is summed in floating point is off by a unit a class and five: logarithms are of sums
    # of no more than 2^52 units, and each step of theirs is off by less than 2^-52 of that.
    slack = 4.0 * (n_classes + 5.0) * slopes.unit
    moved = Sensitivity(REPLACE_ONE * slopes.clip + slack, "gumbel", unit=slopes.unit,
                        rounded=False)
    scale = derived_scale(event, moved.moved, "gumbel") / slopes.unit
    sizes: list[int] = []

    def scores(batch: Batch) -> FloatArray:
        free, parts = [], []
        for own, n_leaves in leaves:
            counts = _label_counts(slopes, labels, n_classes, own, n_leaves)
            each = np.logaddexp.reduce(counts / scale, axis=1)
            free.append(np.rint(scale * (each.sum() - n_leaves * math.log(n_classes))))
            parts.append(counts.ravel())
            sizes.append(n_leaves)
        return slopes.unit * np.concatenate([free, *parts])

    def select(noisy: FloatArray) -> tuple[int, IntArray]:
        place = int(np.argmax(noisy[:len(sizes)]))
        first = len(sizes) + n_classes * sum(sizes[:place])
        counts = noisy[first:first + n_classes * sizes[place]].reshape(-1, n_classes)
        return place, np.argmax(counts, axis=1)

    found: tuple[int, IntArray] = session(event, scores, moved, select=select)
    return found


def noisy_label_counts(rows: RowSource, shape: tuple[int, int], clip: float, unit: float,
                       event: Elementary, session: Session) -> tuple[FloatArray, float]:
    """Return noisy weights of the classes in leaves, shape (n_leaves, n_classes), and the noise.

    Rows are from `Slopes.at`, of the place of a row's leaf and class in that shape.
    Replacing a row moves two of them by at most 1 each, or one. The noise is a standard deviation.
    """
    # Of a pure price the noise is Laplace's, of which the deviation is 1.4 scales.
    pure, root = isinstance(event, Pure), math.sqrt(2.0)
    moved = Sensitivity(REPLACE_ONE * clip * (1.0 if pure else _HALF_ROOT),
                        "laplace" if pure else "standard_normal", unit=unit)
    noisy = session(event, lambda batch: unit * _sums(rows, math.prod(shape), None)[1].reshape(
        shape), moved)
    return noisy, derived_scale(event, moved.moved, moved.law) * (root if pure else 1.0)


def _label_counts(slopes: Slopes, labels: IntArray, n_classes: int, leaves: IntArray,
                  n_leaves: int) -> FloatArray:
    """Return the weights of the classes in leaves in whole units, which are exact."""
    places = leaves.astype(np.intp) * n_classes + labels
    found = np.zeros(n_leaves * n_classes)
    found += np.bincount(places, slopes.whole[1], len(found))
    return found.reshape(n_leaves, n_classes)


def _lengths(sums: FloatArray) -> FloatArray:
    """Return the lengths of sums along their first axis, in whole units."""
    return np.abs(sums[0]) if len(sums) == 1 else np.rint(np.sqrt(np.square(sums).sum(axis=0)))


def _of_scores(slopes: Slopes) -> Sensitivity:
    """Return how far the scores of a choice move."""
    # Of several outputs norms are rounded to whole units, each off by less than two.
    slack = 0.0 if len(slopes.whole) == 2 else 8.0 * _MOST_LEAVES * slopes.unit
    return Sensitivity(4.0 * slopes.clip + slack, "gumbel", unit=slopes.unit, rounded=False)


def noisy_leaf_sums(rows: RowSource, n_leaves: int, clip: float, unit: float, event: Elementary,
                    session: Session) -> Any:
    """Return noisy sums of slopes and of sizes, both of shape (n_leaves, n_outputs).

    Parameters
    ----------
    rows : RowSource
        From `Slopes.at`.
    n_leaves : int
    clip, unit : float
        Of the `Slopes`.
    event : Event
    session : Session
    """
    noisy = session(event, lambda batch: unit * _sums(rows, n_leaves, None),
                    Sensitivity(REPLACE_ONE * clip, unit=unit))
    return np.split(noisy.T, 2, axis=1)


def _sums(rows: RowSource, n_leaves: int, count: int | None) -> FloatArray:
    """Return the sums of so many targets in every leaf, shape (count, n_leaves)."""
    block = rows.take(slice(0, len(rows)))
    targets = block.y.T[:count]
    found = np.zeros((len(targets), n_leaves))
    # Sums are exact, so that blocks change none.
    for part in row_blocks(len(rows), _WIDTH):
        # One conversion for all of them.
        places = block.X[part, 0].astype(np.intp)
        for own, each in zip(found, targets, strict=True):
            own += np.bincount(places, each[part], n_leaves)
    return found


def _sums_of_each(slopes: Slopes, leaves: Any, count: int) -> Iterator[FloatArray]:
    """Yield the sums of so many targets over the leaves of every candidate.

    Several candidates are one whose leaves are those of all, and each has sums of its sums.
    """
    sizes: list[int] = []
    joint: Any = None
    for own, n_leaves in leaves:
        if sizes and math.prod(sizes) * n_leaves > _JOINT_LEAVES:
            yield from _parted(_sums(slopes.at(joint), math.prod(sizes), count), sizes)
            sizes = []
        joint = joint.astype(np.uint16) * np.uint16(n_leaves) + own if sizes else own
        sizes.append(n_leaves)
    yield from _parted(_sums(slopes.at(joint), math.prod(sizes), count), sizes)


def _parted(sums: FloatArray, sizes: list[int]) -> Iterator[FloatArray]:
    """Yield for every size the sums over all others."""
    table = sums.reshape(-1, *sizes)
    for place in range(len(sizes)):
        others = tuple(axis for axis in range(1, table.ndim) if axis != place + 1)
        yield table.sum(axis=others)
