"""Sums over leaves and cuts: what one row moves, exact sums, what is chosen, trees and bins."""

import itertools
import math

import numpy as np
import pytest

from dpsk._data.columns import Column
from dpsk._data.groups import Groups
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models.table_code import Indicators, LinearSplineBasis, TableCode
from dpsk._models.trees import SplitTree, TableBins, Tree, below, blended, leaves_after
from dpsk._privacy.events import Gaussian, Pure
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._statistics.leaves import (
    Slopes,
    best_cuts,
    best_labels,
    best_splits,
    noisy_label_counts,
    noisy_leaf_sums,
    noisy_mean_square,
)
from tests.contracts.tapes import taped

EVENT, CLIP = Gaussian(0.5), 0.7
HOSTILE = (math.nan, math.inf, -1.7e308, 1.7e308, 5e-324, -0.7, 0.7, -0.2, 0.4, 3.0)


def asked(ask, *args, event=EVENT):
    """Return the answer of one release, the exact total and its noise."""
    with taped() as tape, np.errstate(all="ignore"):
        answer = ask(*args, event, Session(EntropyStream(), Ledger(event)))
    assert tape.events == [(event,)]
    ((total,), (part,)) = tape.totals[0], tape.parts[0]
    return answer, total, part


def sums(slopes, sizes, leaves, n_leaves=4, groups=None):
    own = Slopes(np.asarray(slopes, float), np.asarray(sizes, float), CLIP, EVENT, groups)
    return asked(noisy_leaf_sums, own.at(np.asarray(leaves, np.uint8)), n_leaves, CLIP, own.unit)


def units(rows, one):
    """Return rows of which the first is `one`: a slope, a size and a leaf."""
    slopes, sizes, leaves = (np.array(part) for part in rows)
    slopes, sizes, leaves = slopes.copy(), sizes.copy(), leaves.copy()
    slopes[0], sizes[0], leaves[0] = one
    return slopes, sizes, leaves


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_no_replaced_row_moves_the_sums_by_more_than_two_clip_norms_and_some_do(n_outputs):
    """By pairs of hostile slopes and sizes, in one leaf and in two."""
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(6, n_outputs)), rng.random((6, n_outputs)), rng.integers(4, size=6))
    numbers = [np.resize(pair, n_outputs) for pair in itertools.product(HOSTILE, repeat=2)]
    ones = [(slope, size, leaf) for slope in numbers[::7] for size in numbers[1::9]
            for leaf in (0, 3)]
    # A row at the clip whose slope is its size, of either sign.
    ones += [(sign * np.eye(n_outputs)[0] * 9.0, np.eye(n_outputs)[0] * 9.0, leaf)
             for sign in (1, -1) for leaf in (0, 3)]
    found = []
    for one in ones:
        _, total, part = sums(*units(rows, one))
        found.append(np.ravel(total))
        assert part.sensitivity.moved == 2.0 * CLIP
    distances = np.linalg.norm(np.array(found)[:, None] - np.array(found), axis=2)
    assert 1.999 * CLIP <= distances.max() <= 2.0 * CLIP


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_no_replaced_group_moves_the_sums_by_more_than_a_row_does(n_outputs):
    """By groups of 1 to 1000 hostile rows, in one leaf and in many."""
    rng, found, squares = np.random.default_rng(3), [], []
    slopes, sizes = rng.normal(size=(6, n_outputs)), rng.random((6, n_outputs))
    leaves, others = rng.integers(4, size=6), np.array([1, 1, 2, 3, 3, 3])
    for place, length in enumerate(np.resize([1, 3, 7, 49, 1000], 60)):
        own = rng.choice(HOSTILE, size=(2, length, n_outputs))
        if place % 2:
            # Rows at the clip whose slopes are their sizes, of either sign.
            own = np.broadcast_to(9.0 * np.eye(n_outputs)[0], own.shape)
            own = own * np.array([(-1) ** (place // 2), 1])[:, None, None]
        groups = Groups.of(np.append(others, np.zeros(length, int)))
        inside = rng.integers(4, size=length) if place % 3 else np.full(length, place % 4)
        given = [np.concatenate(pair) for pair in zip((slopes, sizes, leaves), (*own, inside),
                                                      strict=True)]
        _, total, part = sums(*given, groups=groups)
        assert part.sensitivity.moved == 2.0 * CLIP
        found.append(np.ravel(total))
        rows = Rows(np.zeros((len(inside) + 6, 1)), given[0][:, 0], groups=groups)
        _, total, part = asked(noisy_mean_square, rows)
        assert part.sensitivity.moved == 1.0
        squares.append(total[0])
    distances = np.linalg.norm(np.array(found)[:, None] - np.array(found), axis=2)
    assert 1.99 * CLIP <= distances.max() <= 2.0 * CLIP
    assert 0.9 <= max(squares) - min(squares) <= 1.0


def test_no_replaced_row_moves_scores_of_cuts_apart_by_more_than_four_clip_norms():
    rng = np.random.default_rng(1)
    leaves = rng.integers(8, size=(5, 30)).astype(np.uint8)
    furthest = {}
    for n_outputs in (1, 3):
        slopes, sizes = rng.normal(size=(30, n_outputs)), 2.0 * rng.random((30, n_outputs))
        scores = []
        for _ in range(300):
            slopes[0], sizes[0] = 3.0 * rng.normal(size=n_outputs), 3.0 * rng.random(n_outputs)
            own = Slopes(slopes, sizes, CLIP, EVENT)
            moved = leaves.copy()
            moved[:, 0] = rng.integers(8, size=5)
            _, total, part = asked(best_cuts, own, ((each, 8) for each in moved))
            scores.append(total)
            assert 4.0 * CLIP <= part.sensitivity.moved <= 4.0 * CLIP * (1.0 + 1e-8)
        changes = np.array(scores)[:, None] - np.array(scores)
        furthest[n_outputs] = (changes.max(axis=2) - changes.min(axis=2)).max()
    assert max(furthest.values()) <= 4.0 * CLIP
    assert furthest[1] > 2.0 * CLIP


def test_no_replaced_row_moves_splits_of_all_nodes_apart_by_more_than_four_clip_norms():
    """A candidate is one split for each node: the furthest apart are the best and the worst."""
    rng = np.random.default_rng(4)
    bins, at = rng.integers(4, size=(3, 30)), rng.integers(4, size=30)
    splits = TableBins((np.arange(3.0), np.arange(3.0), np.arange(4)), (True, True, False)).splits
    furthest = {}
    for n_outputs in (1, 3):
        slopes, sizes = rng.normal(size=(30, n_outputs)), 2.0 * rng.random((30, n_outputs))
        scores = []
        for _ in range(200):
            slopes[0], sizes[0] = 3.0 * rng.normal(size=n_outputs), 3.0 * rng.random(n_outputs)
            bins[:, 0], at[0] = rng.integers(4, size=3), rng.integers(4)
            own = Slopes(slopes, sizes, CLIP, EVENT)
            chosen, total, part = asked(best_splits, own, at, 4, bins, splits)
            assert chosen.shape == (4,) and total.shape == (4, len(splits))
            scores.append(total)
            assert 4.0 * CLIP <= part.sensitivity.moved <= 4.0 * CLIP * (1.0 + 1e-8)
        changes = np.array(scores)[:, None] - np.array(scores)
        furthest[n_outputs] = (changes.max(axis=3) - changes.min(axis=3)).sum(axis=2).max()
    assert max(furthest.values()) <= 4.0 * CLIP
    assert furthest[1] > 2.0 * CLIP


def labelled(rng, event, law, groups=None):
    """Return rows of three classes, and four drawn trees of them of two and four leaves."""
    weights = np.resize([1.0, 0.3, 1.0, 7.0, math.nan], (25, 1)) if groups is None else (
        np.ones((25, 1)))
    return [Slopes(weights, weights, 1.0, event, groups, law), rng.integers(3, size=25), 3,
            [(rng.integers(size, size=25).astype(np.uint8), size) for size in (2, 4, 2, 4)]]


def furthest_labels(event, grouped, count):
    """Return how far two candidates, trees with classes of leaves, move apart, by what may."""
    rng = np.random.default_rng(6)
    members = np.r_[np.zeros(4, int), np.arange(1, 22)] if grouped else np.arange(25)
    rows, found = labelled(rng, event, "gumbel", Groups.of(members) if grouped else None), []
    own, before = np.flatnonzero(members == 0), None
    for _ in range(count):
        rows[1][own] = rng.integers(3, size=len(own))
        for leaves, size in rows[3]:
            leaves[own] = rng.integers(size, size=len(own))
        _, total, part = asked(best_labels, *rows, event=event)
        free, ends = total[:4] / part.scale, []
        counts = np.split(total[4:] / part.scale, np.cumsum([6, 12, 6]))
        # The logarithm of the law of a tree, and of the class of each of its leaves.
        laws = [each.reshape(-1, 3) - np.log(np.exp(each.reshape(-1, 3)).sum(axis=1))[:, None]
                for each in counts]
        if before is not None:
            for tree in range(4):
                moved = laws[tree] - before[1][tree]
                start = free[tree] - before[0][tree]
                ends.append((start + moved.max(axis=1).sum(), start + moved.min(axis=1).sum()))
            found.append((max(high for high, _ in ends) - min(low for _, low in ends))
                         * part.scale / part.sensitivity.moved)
        before = free, laws
    return max(found)


@pytest.mark.parametrize("event", [EVENT, Pure(1.7)])
@pytest.mark.parametrize("grouped", [False, True])
def test_no_replaced_unit_moves_the_laws_of_labeled_trees_apart_by_more_than_the_price(
        event, grouped):
    assert 0.5 < furthest_labels(event, grouped, 60) <= 1.0


def test_rounding_of_the_laws_of_labeled_trees_is_within_their_sensitivity():
    """One class has all rows, and each of many adds little more than half of the last bit."""
    n_classes, size, event = 1500, 32, Pure(0.5)
    leaves = np.repeat(np.arange(size, dtype=np.uint8), 133)
    ones = np.ones((len(leaves), 1))
    own = Slopes(ones, ones, 1.0, event, None, "gumbel")
    _, total, part = asked(best_labels, own, np.zeros(len(leaves), int), n_classes,
                           [(leaves, size)], event=event)
    counts = total[1] / part.scale
    each = math.fsum([counts, math.log1p((n_classes - 1) * math.exp(-counts)),
                      -math.log(n_classes)])
    off = abs(total[0] - part.scale * size * each) / part.unit
    assert 4.0 * off <= (part.sensitivity.moved - 2.0) / part.unit


@pytest.mark.parametrize("event", [Gaussian(300.0), Pure(3000.0)])
def test_the_labeled_tree_that_most_rows_agree_with_is_chosen_where_noise_is_small(event):
    rows = labelled(np.random.default_rng(7), event, "gumbel")
    (place, classes), _, _ = asked(best_labels, *rows, event=event)
    counts = [np.array([[rows[0].whole[1][(leaves == leaf) & (rows[1] == label)].sum()
                         for label in range(3)] for leaf in range(size)])
              for leaves, size in rows[3]]
    best = [each.max(axis=1).sum() for each in counts]
    assert place == np.argmax(best)
    chosen = counts[place][np.arange(len(classes)), classes]
    np.testing.assert_array_equal(chosen, counts[place].max(axis=1))


@pytest.mark.parametrize("event, law, order", [(EVENT, "standard_normal", 2),
                                               (Pure(1.7), "laplace", 1)])
def test_no_replaced_row_moves_the_counts_of_classes_by_more_than_their_sensitivity(
        event, law, order):
    slopes, labels, _, trees = labelled(np.random.default_rng(8), event, law)
    leaves, totals = trees[1][0], []
    for labels[0], leaves[0] in itertools.product(range(3), range(4)):
        rows = slopes.at(3 * leaves + labels)
        (noisy, noise), total, part = asked(noisy_label_counts, rows, (4, 3), 1.0, slopes.unit,
                                            event=event)
        assert noisy.shape == (4, 3)
        assert noise == pytest.approx(part.scale * (1.0 if order == 2 else math.sqrt(2.0)))
        totals.append(total.ravel())
    moved = [np.linalg.norm(np.subtract(*pair), order)
             for pair in itertools.combinations(totals, 2)]
    assert 0.999 * part.sensitivity.moved < max(moved) <= part.sensitivity.moved


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_scores_of_splits_are_those_of_the_leaves_that_they_make(n_outputs):
    rng = np.random.default_rng(5)
    bins, at = rng.integers(4, size=(2, 200)), rng.integers(2, size=200).astype(np.uint8)
    splits = TableBins((np.arange(3.0), np.arange(4)), (True, False)).splits
    own = Slopes(0.1 * rng.normal(size=(200, n_outputs)), np.ones((200, n_outputs)), CLIP, EVENT)
    _, total, _ = asked(best_splits, own, at, 2, bins, splits)
    for place, split in enumerate(splits):
        leaves = below(bins, np.stack([split, split]), at)
        sums = np.stack([np.bincount(leaves, each, 4) for each in own.whole[:n_outputs]])
        found = own.unit * np.sqrt(np.square(sums).sum(axis=0)).reshape(2, 2).sum(axis=1)
        np.testing.assert_allclose(total[:, place], found, atol=2.0 * own.unit)


def test_every_node_has_the_best_split_where_noise_is_small():
    bins = np.resize(np.arange(4), (1, 80_000)) // np.array([[1], [2]]) % 2
    at = np.repeat([0, 1], 40_000).astype(np.uint8)
    slopes = np.where(bins[at, np.arange(80_000)] > 0, 0.5, -0.5)[:, None]
    own = Slopes(slopes, np.abs(slopes), CLIP, EVENT)
    # Scores are 20,000 and 0; the scale of the noise is about 6.
    chosen, _, _ = asked(best_splits, own, at, 2, bins, np.array([[0, 1, 2], [1, 1, 2]]))
    assert chosen.tolist() == [0, 1]


def test_the_best_cuts_are_chosen_where_noise_is_small():
    slopes = np.repeat([0.5, -0.5], 50_000)[:, None]
    own = Slopes(slopes, np.abs(slopes), CLIP, EVENT)
    right = (slopes[:, 0] > 0).astype(np.uint8)
    wrong = np.resize(np.array([0, 1], np.uint8), len(slopes))
    # Scores are 50,000 and 0; the scale of the noise is about 6.
    place, _, _ = asked(best_cuts, own, iter([(wrong, 2), (right, 2), (wrong, 2)]))
    assert place == 1


def test_sums_are_those_of_the_definition_and_the_same_bits_in_any_order():
    rng = np.random.default_rng(2)
    slopes, sizes = rng.normal(size=(500, 2)), 0.3 * rng.random((500, 2))
    leaves = rng.integers(4, size=500)
    _, total, part = sums(slopes, sizes, leaves)
    inside = np.clip(slopes, -sizes, sizes)
    for leaf in range(4):
        found = np.concatenate([inside, sizes], axis=1)[leaves == leaf].sum(axis=0)
        np.testing.assert_allclose(total[:, leaf], found, atol=500 * part.unit)
    order = rng.permutation(500)
    _, other, _ = sums(slopes[order], sizes[order], leaves[order])
    np.testing.assert_array_equal(total, other)
    # The noise is what the price says.
    assert part.scale == 2.0 * CLIP / EVENT.mu


def test_the_mean_square_counts_no_row_as_more_than_one():
    for lengths, wanted in (([0.5, 2.0, math.nan, -3.0], 0.5625), ([0.0] * 4, 0.0)):
        _, total, part = asked(noisy_mean_square, Rows(np.zeros((4, 1)), np.array(lengths)))
        assert total[0] / 4 == pytest.approx(wanted, abs=1e-5)
        assert part.sensitivity.moved == 1.0


def test_bins_follow_knots_and_the_order_of_categories():
    code = TableCode((LinearSplineBasis(np.array([0.0, 1.0])), Indicators(["a", "b"])))
    order = [None, np.array([2.0, -1.0, 0.5])]
    bins = TableBins.of(code, order, [Column("a", float, edges=(0.0, 1.0, 2.0)),
                                      Column("b", object, ["a", "b"])])
    assert bins.sizes.tolist() == [3, 3] and bins.condition(0, 2) == ("< 1", ">= 1")
    rows = np.array([[math.nan, 0], [-5.0, 1], [0.0, -1], [0.5, 0], [1.0, 1]])
    assert bins.dense(rows).tolist() == [[0, 0, 1, 1, 2], [2, 0, 1, 2, 0]]
    wide = TableBins((np.arange(300.0),), (True,))
    assert wide.dense(np.array([[1e9]])).tolist() == [[300]]


def test_a_released_knot_has_a_bin_of_its_own():
    """It may be a number that many rows share; of one with more digits it has the first nine."""
    knots = np.array([-1.0, 0.0, 40.0])
    bins = TableBins.of(TableCode((LinearSplineBasis(knots),)), [None], [Column("a", float)])
    assert bins.sizes.tolist() == [7] and len(bins.splits) == 6
    rows = np.array([-2.0, -1.0, 0.0, 5e-324, 1e-3, 39.9999, 40.0 - 3e-7, 40.0001, math.nan])
    assert bins.dense(rows[:, None]).tolist() == [[0, 1, 3, 3, 4, 4, 5, 6, 0]]
    assert [bins.condition(0, low) for low in (5, 6)] == [("< 40", ">= 40"), ("<= 40", "> 40")]


def test_a_tree_adds_the_value_of_the_leaf_of_every_row():
    bins = np.array([[0, 1, 2, 3], [5, 0, 5, 0]], np.uint8)
    tree = Tree(np.array([[0, 2], [1, 5]]), np.arange(4.0)[:, None])
    raw = np.ones((4, 1))
    tree.add(bins, raw)
    assert raw[:, 0].tolist() == [2.0, 1.0, 4.0, 3.0]
    half = leaves_after(bins, tree.cuts[:1])
    np.testing.assert_array_equal(leaves_after(bins, tree.cuts[1:], half),
                                  leaves_after(bins, tree.cuts))


def test_a_tree_of_splits_ends_where_nodes_are_not_split():
    splits = (np.array([[0, 2, 4]]), np.array([[1, 0, 1], [1, 1, 3]]))
    tree = SplitTree(splits, (np.array([True]), np.array([False, True])), np.zeros((7, 1)),
                     np.zeros(7), np.zeros(7))
    bins = np.array([[0, 1, 2, 3], [0, 1, 0, 2]])
    assert tree.leaves(bins).tolist() == [1, 1, 5, 6]
    assert (tree.n_leaves, tree.depth) == (3, 2)
    assert tree.indicator(bins).toarray().tolist() == [
        [1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 1, 0],
        [1, 0, 1, 0, 0, 0, 1]]


def test_leaves_are_blended_by_the_cuts_that_they_differ_in():
    found = blended(np.eye(8)[:, :1].copy(), 0.2)[:, 0]
    assert found == pytest.approx([0.2 ** bin(leaf).count("1") for leaf in range(8)])
