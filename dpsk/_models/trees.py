"""Decision trees on released bins, with one split per level or one per node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import row_blocks
from dpsk._models.bins import places_among

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import BoolArray, FloatArray, IntArray

__all__ = ["SplitTree", "TableBins", "Tree", "along", "below", "blended", "indicators",
           "leaves_after"]

#: Knots have nine digits, and at least this distance: a number differs by less from its knot.
_CLOSE, _LEAST = 1.01e-8, 1.01e-11
#: Width that blocks of rows are cut for: one column is read at a time.
_BLOCK_WIDTH = 8


@dataclass(frozen=True, eq=False)
class TableBins:
    """Map each column of a table, independently of the others, to ordered bins.

    Parameters
    ----------
    parts : tuple of ndarray
        For a numeric column, the numbers that separate the bins; missing values go to the first
        bin. For a categorical column, the bin of each category, and of any other category last.
    numeric : tuple of bool
        Whether each column is numeric.
    paired : tuple of int
        The columns whose separators are pairs, below and above each released knot.
    """

    parts: tuple
    numeric: tuple
    paired: tuple = ()

    @classmethod
    def of(cls, code: Any, order: Any, columns: Any) -> TableBins:
        """Return the bins of a released `TableCode`, with categories in a given order.

        `order` has one array per column, by whose numbers its categories are sorted. A knot that
        is not declared by the `columns` may be a number of many rows, so it has its own bin.
        """
        numeric = tuple(hasattr(part, "knots") for part in code.parts)
        paired = tuple(place for place, column in enumerate(columns)
                       if numeric[place] and len(column.edges or ()) < 3)
        return cls(tuple(
            np.argsort(np.argsort(own, kind="stable")) if not known else
            _both_sides(part.knots) if place in paired else np.asarray(part.knots)
            for place, (part, known, own) in enumerate(zip(code.parts, numeric, order,
                                                           strict=True))), numeric, paired)

    @property
    def sizes(self) -> IntArray:
        """ndarray of int : the number of bins of every column."""
        return np.array([len(part) + known for part, known in
                         zip(self.parts, self.numeric, strict=True)])

    @property
    def splits(self) -> IntArray:
        """ndarray of int, shape (n_splits, 3) : all splits that a `SplitTree` may have.

        A split cuts a numeric column between two bins, or separates one category from the rest.
        """
        found = [(place, low, size if known else low + 1)
                 for place, (size, known) in enumerate(zip(self.sizes, self.numeric, strict=True))
                 for low in range(1 if known or size < 3 else 0, size)]
        splits: IntArray = np.array(found, dtype=int).reshape(-1, 3)
        return splits

    def dense(self, values: FloatArray) -> IntArray:
        """Return the bins of numbers and category positions, shape (n_columns, n)."""
        small = self.sizes.max() <= np.iinfo(np.uint8).max + 1
        bins = np.empty(values.shape[::-1], np.uint8 if small else np.uint16)
        for block in row_blocks(len(values), _BLOCK_WIDTH):
            for place, (part, known) in enumerate(zip(self.parts, self.numeric, strict=True)):
                own = values[block, place]
                if known:
                    found = places_among(part, own)
                    found[np.isnan(own)] = 0
                else:
                    # Position -1 stands for any other category, whose bin is last.
                    found = part[own.astype(np.intp)]
                bins[place, block] = found
        return bins

    def condition(self, column: int, low: int) -> tuple[str, str]:
        """Return what numbers below the bin `low` meet, and the others, as text."""
        own, place = self.parts[column], low - 1
        if column not in self.paired:
            return f"< {own[place]:.6g}", f">= {own[place]:.6g}"
        knot = f"{0.5 * own[place - place % 2] + 0.5 * own[place - place % 2 + 1]:.6g}"
        return (f"<= {knot}", f"> {knot}") if place % 2 else (f"< {knot}", f">= {knot}")


def _both_sides(knots: FloatArray) -> FloatArray:
    """Return a number below and one above every knot; numbers between them count as the knot."""
    gaps = np.diff(knots, prepend=-np.inf, append=np.inf)
    # Declared bounds may be closer.
    away = np.minimum(np.maximum(_CLOSE * np.abs(knots), _LEAST),
                      0.25 * np.minimum(gaps[:-1], gaps[1:]))
    both: FloatArray = np.column_stack([knots - away, knots + away]).ravel()
    return both


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree with one cut per level and one value per leaf.

    A leaf's number has one bit per level, the first level's highest: 1 for bins above the cut.

    Parameters
    ----------
    cuts : ndarray of int, shape (depth, 2)
        The column that each level cuts, and the lowest bin above the cut.
    values : ndarray of shape (2**depth, n_outputs)
    """

    cuts: np.ndarray
    values: np.ndarray

    def add(self, bins: IntArray, raw: FloatArray) -> None:
        """Add the values of rows to raw predictions, shape (n, n_outputs)."""
        for part in row_blocks(len(raw), 8):
            raw[part] += self.values[leaves_after(bins[:, part], self.cuts)]


def leaves_after(bins: IntArray, cuts: IntArray, before: IntArray | None = None) -> IntArray:
    """Return every row's leaf after some cuts, uint8, from `before` or the root."""
    leaves: IntArray = np.zeros(bins.shape[1], np.uint8) if before is None else before.copy()
    for column, cut in cuts:
        # Adding bytes is much faster than shifting them, and needs no conversion.
        leaves += leaves
        leaves += (bins[column] >= int(cut)).view(np.uint8)
    return leaves


def blended(sums: FloatArray, likeness: float) -> FloatArray:
    """Return sums of leaves plus ``likeness**d`` times the other leaves' sums.

    d is the number of cuts in which two leaves differ. `sums`, (2**depth, k), is overwritten.
    """
    for bits in along(sums):
        low, high = bits[:, 0].copy(), bits[:, 1].copy()
        bits[:, 0] += likeness * high
        bits[:, 1] += likeness * low
    return sums


def along(values: FloatArray) -> Any:
    """Yield a view of leaf values for each level, with the level's answer second."""
    depth = len(values).bit_length() - 1
    for level in range(depth):
        yield values.reshape(2**level, 2, -1)



@dataclass(frozen=True, eq=False)
class SplitTree:
    """A released tree, noise included, whose nodes each have their own split.

    Node i of level l has the number ``2**l - 1 + i``, and nodes 2 i and 2 i + 1 as children.

    Parameters
    ----------
    splits : tuple of ndarray of int, shape (2**l, 3)
        For every level but the last: a column, and the first bin that goes to the second child
        and the first higher bin that does not.
    kept : tuple of ndarray of bool, shape (2**l,)
        Whether a node is split; no node below an unsplit one is.
    means : ndarray of shape (n_nodes, n_outputs)
    counts : ndarray of shape (n_nodes,)
        Noisy total weight of each node's rows.
    noise : ndarray of shape (n_nodes,)
        Standard deviation of the noise on each mean.
    """

    splits: tuple
    kept: tuple
    means: np.ndarray
    counts: np.ndarray
    noise: np.ndarray

    def leaves(self, bins: IntArray) -> IntArray:
        """Return the leaf number of every row of `bins`, shape (n_columns, n)."""
        return self.paths(bins)[-1]

    def paths(self, bins: IntArray) -> IntArray:
        """Return every row's node number at each level; a leaf's number repeats below it."""
        at: IntArray = np.zeros(bins.shape[1], np.uint8)
        found = np.zeros((len(self.splits) + 1, bins.shape[1]), np.intp)
        for level, (asked, kept) in enumerate(zip(self.splits, self.kept, strict=True)):
            goes_on = kept[at] & (found[level] == np.add(2**level - 1, at, dtype=np.intp))
            at = below(bins, asked, at)
            # Node numbers do not fit in eight bits.
            number = np.add(2 ** (level + 1) - 1, at, dtype=np.intp)
            found[level + 1] = np.where(goes_on, number, found[level])
        return found

    def indicator(self, bins: IntArray) -> Any:
        """Return a sparse array, 1 where a row passes a node, shape (n, n_nodes)."""
        paths = self.paths(bins)
        first = np.ones(paths.shape, bool)
        first[1:] = paths[1:] != paths[:-1]
        rows = np.broadcast_to(np.arange(paths.shape[1]), paths.shape)[first]
        return sparse.csr_array((np.ones(len(rows), np.int64), (rows, paths[first])),
                                shape=(paths.shape[1], len(self.counts)))

    @property
    def n_leaves(self) -> int:
        """int : number of leaves."""
        return int(self.ends.sum())

    @property
    def ends(self) -> BoolArray:
        """ndarray of bool, shape (n_nodes,) : which nodes are leaves."""
        split, inner = np.zeros(len(self.counts), bool), len(self.counts) // 2
        split[:inner] = np.concatenate([split[:0], *self.kept])
        # The root has no parent; every other node is one of two children.
        found: BoolArray = ~split & np.append(True, np.repeat(split[:inner], 2))
        return found

    @property
    def depth(self) -> int:
        """int : number of levels on which some node is split."""
        return int(sum(kept.any() for kept in self.kept))

    def gains(self, n_columns: int) -> FloatArray:
        """Return the sum of squares that each column's splits explain, shape (n_columns,)."""
        found = np.zeros(n_columns)
        for level, (asked, kept) in enumerate(zip(self.splits, self.kept, strict=True)):
            first = 2**level - 1
            for place in np.flatnonzero(kept):
                node = first + place
                pair = slice(2 * node + 1, 2 * node + 3)
                apart = np.square(self.means[pair] - self.means[node]).sum(axis=1)
                found[asked[place, 0]] += np.maximum(self.counts[pair], 0.0) @ apart
        return found


def indicators(trees: Any, bins: IntArray) -> tuple[Any, IntArray]:
    """Return the indicators of trees side by side, and where each begins, and the last ends."""
    found = [tree.indicator(bins) for tree in trees]
    return sparse.hstack(found, format="csr"), np.cumsum([0, *(each.shape[1] for each in found)])


def below(bins: IntArray, asked: IntArray, at: IntArray) -> IntArray:
    """Return every row's child node, uint8, by the splits `asked` at its node `at`."""
    own = asked[at]
    found = bins[own[:, 0], np.arange(len(at))]
    return (2 * at + ((found >= own[:, 1]) & (found < own[:, 2]))).astype(np.uint8)
