"""Releases of scores: sensitivity, noise, price, exact sums; bins, and errors of metrics."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._defaults.evaluation import JOINED, LOSS_WEIGHT, WIDTHS, WIDTHS_SHARE
from dpsk._mechanism.session import Session
from dpsk._privacy.events import Gaussian, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._statistics.scores import (
    counts_noise,
    loss_noise,
    noisy_counts_and_losses,
    noisy_widths,
    widths_noise,
)
from dpsk.metrics._curves import (
    law_areas,
    lumps,
    orders,
    positives_of,
    slopes,
    unseen_ties,
    won_pairs,
)
from dpsk.metrics._score_cells import ScoreCells
from dpsk.metrics._score_plan import fewer_bins, lone, planned_bins, row_counts
from dpsk.metrics._score_release import ScoreRelease
from dpsk.metrics._scores import ScoreBins, expected_log_losses, log_losses
from dpsk.metrics._table import normal_draws, simulated_ratio

FEW, N_WIDTHS, N, REACH = 3, 3, 30, 0.3
CELLS = FEW**N_WIDTHS
BINS = np.repeat(np.arange(9), 3)
EXPECTED = np.stack([np.linspace(0.0, 1.0, 9), np.linspace(1.0, 0.0, 9)])
HOSTILE = [-np.inf, -1e300, 0.0, 1e-300, 0.3, 1.0, 1e300, np.inf]


@pytest.fixture
def noiseless(monkeypatch):
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))


def opened(plan):
    ledger = Ledger(plan)
    return Session(KeyedStream(bytes(range(16))), ledger), ledger


def table(n=N):
    rng = np.random.default_rng(0)
    return (np.column_stack([rng.integers(CELLS, size=n), rng.uniform(size=n)]),
            rng.integers(2, size=n))


def widths(X, y, mu=1.0):
    found = noisy_widths(Rows(X, y), FEW, N_WIDTHS, mu, opened(Gaussian(mu))[0])
    return np.concatenate([each.ravel() for each in found])


def counts_and_loss(X, y, mu=1.0):
    counts, loss = noisy_counts_and_losses(Rows(X, y), BINS, EXPECTED[None], np.array([REACH]),
                                           LOSS_WEIGHT, mu, opened(Gaussian(mu))[0])
    # Each in the unit of its noise.
    return np.append(counts.ravel(), loss * LOSS_WEIGHT / (2.0 * REACH))


def counts_and_losses(X, y, mu=1.0):
    """Return counts and two sums of losses, of which a row moves both as it moves one."""
    reaches = np.array([REACH, 2.0 * REACH])
    counts, losses = noisy_counts_and_losses(
        Rows(X[:, [0, 1, 1]], y), BINS, np.stack([EXPECTED, 0.5 * EXPECTED]), reaches,
        LOSS_WEIGHT, mu, opened(Gaussian(mu))[0])
    return np.append(counts.ravel(), losses * LOSS_WEIGHT / (2.0 * reaches))


def counts_alone(X, y, mu=1.0):
    return noisy_counts_and_losses(Rows(X[:, :1], y), BINS, EXPECTED[None][:0], np.zeros(0),
                                   LOSS_WEIGHT, mu, opened(Gaussian(mu))[0])[0].ravel()


every_release = pytest.mark.parametrize("release, scale", [
    (widths, lambda mu: widths_noise(N_WIDTHS, mu)),
    (counts_and_loss, lambda mu: counts_noise(LOSS_WEIGHT, mu)),
    (counts_and_losses, lambda mu: counts_noise(LOSS_WEIGHT, mu, 2)),
    (counts_alone, lambda mu: counts_noise(0.0, mu))])


@every_release
def test_a_hostile_row_moves_a_release_by_what_is_priced_at_most_and_as_far(
        noiseless, release, scale):
    X, y = table(6)
    found = []
    for cell, loss, label in itertools.product((0, 7, CELLS - 1), HOSTILE, (0, 1)):
        found.append(release(np.vstack([X[:-1], [cell, loss]]), np.append(y[:-1], label)))
    furthest = max(np.linalg.norm(one - other)
                   for one, other in itertools.combinations(found, 2))
    # Sums of losses are cut to whole units.
    assert furthest == pytest.approx(scale(1.0), rel=1e-5) and furthest <= scale(1.0)
    assert scale(0.5) == pytest.approx(2.0 * scale(1.0))


@every_release
def test_2000_neighbors_are_no_farther_apart_than_is_priced(noiseless, release, scale):
    rng = np.random.default_rng(1)
    X, y = table(40)
    before = release(X, y)
    for _ in range(2000):
        row, cell, loss, label = (rng.integers(40), rng.integers(CELLS), rng.normal(),
                                  rng.integers(2))
        other, labels = X.copy(), y.copy()
        other[row], labels[row] = (cell, loss), label
        assert np.linalg.norm(release(other, labels) - before) <= scale(1.0) * (1.0 + 1e-12)


@every_release
def test_noise_has_the_stated_scale(release, scale, monkeypatch):
    X, y = table()
    noisy = release(X, y, 0.25)
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))
    exact = release(X, y, 0.25)
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.ones(shape))
    np.testing.assert_allclose(release(X, y, 0.25) - exact, scale(0.25), atol=1e-5)
    assert np.all(noisy != exact)


def test_sums_are_those_of_the_rows_in_any_order_and_block(noiseless, monkeypatch):
    X, y = table(500)
    found, sums = widths(X, y), counts_and_loss(X, y)
    cells = X[:, 0].astype(int)
    np.testing.assert_array_equal(found[-2 * CELLS:-CELLS],
                                  np.bincount(cells[y == 0], minlength=CELLS))
    np.testing.assert_array_equal(found[:FEW], [np.sum((cells // 9 == each) & (y == 0))
                                                   for each in range(FEW)])
    np.testing.assert_array_equal(sums[:9], np.bincount(BINS[cells[y == 0]], minlength=9))
    left = np.clip(X[:, 1] - EXPECTED[y, BINS[cells]], -REACH, REACH).sum()
    assert sums[-1] * 2.0 * REACH / LOSS_WEIGHT == pytest.approx(left, abs=500 * 2.0**-20)
    order = np.random.default_rng(1).permutation(500)
    others = [(X[order], y[order])]
    monkeypatch.setattr(blocks, "_ENTRIES", 70)
    for other in (*others, (X, y)):
        np.testing.assert_array_equal(widths(*other), found)
        np.testing.assert_array_equal(counts_and_loss(*other), sums)


@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("score_range, floor", [((0.0, 1.0), None), ((0.0, 1.0), 0.01),
                                                ((0.0, 2.0), None), (None, None)])
def test_a_release_charges_what_it_declares(follows, score_range, floor):
    bins = ScoreBins.of("auto", score_range, 8)
    cells = len(ScoreCells.of(bins).likely) if follows else len(bins)
    rng = np.random.default_rng(0)
    mechanism = ScoreRelease(bins, follows, 500, floor)
    X = np.column_stack([rng.integers(cells, size=500), rng.uniform(size=(500, 2))])
    rows = Rows(X[:, :1 + mechanism.n_losses], rng.integers(2, size=500))
    for noise_multiplier in (0.3, 2.0, 40.0):
        event = mechanism(noise_multiplier)
        session, ledger = opened(event)
        found = mechanism.run(rows, session, noise_multiplier)
        assert tally(ledger.spent) == tally(event)
        assert found.counts.shape == (2, len(found.bins))
        assert found.bins.threshold in found.bins.inner
        share = 1.0 - WIDTHS_SHARE * follows
        assert found.noise == pytest.approx(
            math.sqrt(2.0 + mechanism.n_losses * LOSS_WEIGHT**2) * noise_multiplier
            / math.sqrt(share))
        assert len(found.losses) == len(found.losses_noise) == mechanism.n_losses
        most = np.array([0.5, -math.log(0.01) / 2.0])[:mechanism.n_losses]
        assert np.all(found.losses_noise <= 2.0 * most / LOSS_WEIGHT * found.noise)


@pytest.mark.parametrize("floor, threshold", [
    pytest.param(None, None, marks=pytest.mark.thorough), (0.01, 0.071)])
def test_2000_neighbors_cost_no_more_than_the_budget_in_both_releases_together(
        noiseless, floor, threshold):
    """With the bins given, as the second release follows from the first."""
    rng = np.random.default_rng(2)
    bins = ScoreBins.of("auto", (0.0, 1.0), 8, threshold)
    mechanism = ScoreRelease(bins, True, 50, floor)
    y, scores = rng.integers(2, size=50), rng.beta(0.3, 0.3, size=50)

    def rows(y, scores):
        return Rows(mechanism.features(scores, y), y)

    def levels(table):
        return noisy_widths(table, JOINED, WIDTHS, 1.0, opened(Gaussian(1.0))[0])

    first = levels(rows(y, scores))
    chosen, joined = mechanism.following(first, 0.1)
    expected, reaches, _ = mechanism.losses(chosen, 1.0)

    def released(table):
        counts, losses = noisy_counts_and_losses(table, joined, expected, reaches, LOSS_WEIGHT,
                                                 1.0, opened(Gaussian(1.0))[0])
        widths_part = np.concatenate([each.ravel() for each in levels(table)])
        counts_part = np.append(counts, losses * LOSS_WEIGHT / (2.0 * reaches))
        return np.append(widths_part * math.sqrt(WIDTHS_SHARE / (2.0 * WIDTHS)),
                         counts_part * math.sqrt(1.0 - WIDTHS_SHARE)
                         / counts_noise(LOSS_WEIGHT, 1.0, mechanism.n_losses))

    before, most = released(rows(y, scores)), 0.0
    for _ in range(2000):
        row, own, labels = rng.integers(50), scores.copy(), y.copy()
        own[row] = rng.choice([np.nan, np.inf, -3.0, 0.0, 1.0, 0.5, bins.threshold, rng.uniform()])
        labels[row] = rng.integers(2)
        most = max(most, np.linalg.norm(released(rows(labels, own)) - before))
    assert 0.9 < most <= 1.0 + 1e-9


@pytest.mark.parametrize("share, least, most", [(0.5, 12, 12), (0.05, 6, 7), (0.001, 6, 6)])
def test_rare_labels_have_fewer_bins(share, least, most):
    assert least <= fewer_bins(12, np.array([1.0 - share, share]) * 5000) <= most


@pytest.mark.parametrize("bins", [2, 8, 64, [0.001, 0.5, 0.9]])
def test_no_log_loss_is_cut_off_and_more_is_left_to_counts_than_to_none(bins):
    made = ScoreBins.of(bins, (0.0, 1.0), 8)
    expected, reach = expected_log_losses(made, 0.01, LOSS_WEIGHT)
    p = np.linspace(0.0, 1.0, 5001)
    for label, own in enumerate((1.0 - p, p)):
        left = log_losses(own, 0.01) - expected[label, made.codes(p)]
        assert np.abs(left).max() <= reach * (1.0 + 1e-12)
    assert reach < -math.log(0.01) / 2.0


def test_the_noise_of_losses_is_that_of_the_counts_in_their_unit():
    assert loss_noise(0.3, 0.2, 0.7) == pytest.approx(counts_noise(0.3, 0.7) * 2.0 * 0.2 / 0.3)
    assert widths_noise(WIDTHS, 1.0) == pytest.approx(math.sqrt(2.0 * WIDTHS))


RANGES = [(0.0, 1.0), (0.0, 100.0), (-0.2, 0.9), None]
SIZE = JOINED**WIDTHS


def made(score_range):
    bins = ScoreBins.of("auto", score_range, 12)
    return bins, ScoreCells.of(bins)


def levels_of(cells, y, scores, noise, seed=0):
    rng = np.random.default_rng(seed)
    own = np.searchsorted(cells.edges, scores, "right")
    counts = np.stack([np.bincount(own[y == each], minlength=SIZE) for each in (0, 1)])
    levels = [counts.reshape(2, JOINED**(each + 1), -1).sum(axis=-1) for each in range(WIDTHS)]
    return [level + noise * rng.normal(size=level.shape) for level in levels]


def planned(cells, levels, n, noise, n_bins=12):
    return planned_bins(levels, n, (noise, 0.3 * noise), n_bins, cells.likely, cells.kept,
                        lambda ends, many: np.zeros_like(many))


@pytest.mark.parametrize("score_range", RANGES)
def test_cells_rise_hold_the_middle_and_tell_numbers_that_scores_are_rounded_to(score_range):
    bins, cells = made(score_range)
    assert len(cells.edges) + 1 == len(cells.exact) == len(cells.likely) <= SIZE
    assert np.all(np.diff(cells.edges) > 0.0) and np.all(cells.likely >= 0.0)
    assert cells.edges[cells.kept - 1] == bins.threshold
    low, high = score_range or (-20.0, 20.0)
    numbers = low + (high - low) * np.arange(101) / 100.0 if score_range else np.arange(-20, 21.0)
    numbers[np.argmin(np.abs(numbers - bins.threshold))] = bins.threshold
    own = np.searchsorted(cells.edges, numbers, "right")
    assert np.all(cells.exact[own]) and len(set(own)) == len(numbers)
    beside = np.searchsorted(cells.edges, (numbers[1:] + numbers[:-1]) / 2.0, "right")
    assert not np.any(cells.exact[beside])


def test_cells_tell_sharp_and_crowded_scores_apart():
    for score_range, scores in (((0.0, 1.0), [1e-7, 1e-6, 1e-4, 0.495, 0.498, 1.0 - 1e-6]),
                                (None, [-1e4, -3e-4, 1e-4, 2e-4, 0.31, 0.33, 30.0, 300.0])):
        _, cells = made(score_range)
        assert len(set(np.searchsorted(cells.edges, scores, "right"))) == len(scores)


def test_counts_of_rows_sum_to_all_and_are_as_likely_where_nothing_is_known():
    _, cells = made((0.0, 1.0))
    rng = np.random.default_rng(0)
    hidden = [1e6 * rng.normal(size=JOINED**(each + 1)) for each in range(WIDTHS)]
    rows = row_counts(hidden, 1000, 1e6, cells.likely)
    assert rows.sum() == pytest.approx(1000.0) and rows.min() >= 0.0
    calm = [0.01 * level for level in hidden]
    rows = row_counts(calm, 1000, 1e6, cells.likely)
    np.testing.assert_allclose(rows, 1000.0 * cells.likely / cells.likely.sum(), rtol=1e-9,
                               atol=1e-9)


@pytest.mark.parametrize("noise", [1e-6, 20.0, 1e5])
@pytest.mark.parametrize("score_range", RANGES)
def test_bins_are_about_as_many_as_asked_for_and_keep_the_middle(noise, score_range):
    _, cells = made(score_range)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=5000)
    scores = rng.normal(size=5000) + y if score_range is None else (
        score_range[0] + (score_range[1] - score_range[0]) * rng.beta(2 + y, 3 - y))
    first, rows = planned(cells, levels_of(cells, y, scores, noise), 5000, noise)
    assert cells.kept in first and np.all(np.diff(first) > 0) and 0 < first[0]
    assert 8 <= len(first) + 1 <= 16 and rows.sum() == pytest.approx(5000.0)


def test_bins_follow_crowded_scores_and_part_numbers_that_many_rows_have():
    _, cells = made((0.0, 1.0))
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=5000)
    crowded = 0.5 + 0.02 * np.tanh(rng.normal(size=5000) + y)
    first, _ = planned(cells, levels_of(cells, y, crowded, 20.0), 5000, 20.0)
    held = np.bincount(np.searchsorted(cells.edges[first - 1], crowded, "right"))
    assert held.max() < 0.25 * 5000
    atoms = np.array([0.25, 0.26, 0.7])[rng.integers(3, size=5000)]
    first, rows = planned(cells, levels_of(cells, y, atoms, 20.0), 5000, 20.0)
    bins = ScoreBins.of("auto", (0.0, 1.0), 12).following(first, rows, cells, lone(rows))
    assert len(set(bins.codes([0.25, 0.26, 0.7]))) == 3
    own = bins.codes([0.25, 0.26, 0.7])
    assert np.all(np.array(bins.tied)[own] > 0.7) and np.all(np.array(bins.crowded)[own] < 0.3)
    np.testing.assert_allclose(bins.centers[own], [0.25, 0.26, 0.7], atol=0.01)


def test_a_metric_of_a_large_table_keeps_its_draws_within_memory():
    assert len(normal_draws((2, 16), "noise")) == 800
    assert len(normal_draws((600, 600), "noise")) < 30
    normal_draws.cache_clear()


def test_a_ratio_to_a_hidden_whole_says_that_nothing_is_known():
    draws = 10.0 * np.random.default_rng(0).normal(size=(2, 800))
    for whole in (-5.0, 0.0, 5.0):
        estimate = simulated_ratio((3.0, whole), (draws[0] + 3.0, draws[1] + whole), (0.0, 1.0))
        assert np.isnan(estimate.value) and estimate.interval() == (0.0, 1.0)
    # A whole that is known leaves the error of the part.
    estimate = simulated_ratio((300.0, 1000.0), (300.0 + draws[0], np.full(800, 1000.0)),
                               (0.0, 1.0))
    assert estimate.value == pytest.approx(0.3)
    assert estimate.standard_error == pytest.approx(0.01, rel=0.1)


def test_the_middle_of_a_range_of_scores_is_an_edge():
    rng = np.random.default_rng(0)
    for low, width in np.round(rng.uniform([-5.0, 0.1], [5.0, 9.0], size=(2000, 2)), 2).tolist():
        high = round(low + width, 2)
        bins = ScoreBins.of("auto", (low, high), 16)
        assert bins.threshold in bins.inner and np.all(np.diff(bins.edges) > 0.0)


@pytest.mark.parametrize("share", [lambda u: 0.1 + 0.8 * u, lambda u: u**3,
                                   lambda u: 0.9 - 0.8 * np.abs(1.0 - (3.0 * u) % 2.0)])
def test_pairs_within_bins_follow_the_shares_of_the_bins_beside(share):
    """Of rows of two kinds in one range of scores, too, whose shares rise and fall."""
    own = share((np.arange(24_000) + 0.5) / 24_000)
    fine = np.stack([1.0 - own, own])
    bins = fine.reshape(2, 12, -1).sum(axis=-1)
    rises, shares = slopes(bins, 1e-3)
    assert (rises * bins.sum(axis=0)**2).sum() / 12.0 == pytest.approx(
        won_pairs(fine) - won_pairs(bins), rel=0.02)
    np.testing.assert_allclose(shares, bins[1] / 2000.0)
    # A bin with noise alone says nothing about the share of positives in the next one.
    beside, _ = slopes(np.column_stack([[-3.0, 4.0], bins]), 4.0)
    assert np.abs(beside[1:3] - rises[:2]).max() < 0.05


def test_positives_of_a_cut_bin_are_those_of_rows_in_any_order():
    counts = np.array([[50.0, 30.0, 0.0], [10.0, 10.0, 0.0]])
    found = [positives_of(np.stack([counts, 2.0 * counts]), 0.15, order) for order in (-1, 0, 1)]
    np.testing.assert_allclose(found, [[0.0, 0.0], [3.75, 7.5], [10.0, 20.0]])
    assert positives_of(counts, 0.35, -1.0) == pytest.approx(5.0)


@pytest.mark.parametrize("apart", [-0.9, 0.6, 1.2])
def test_orders_within_bins_and_the_nearest_area_are_those_of_two_normal_laws(apart):
    negative = ndtri((np.arange(4000) + 0.5) / 4000)
    positive = negative[::4] + apart
    ends = [-0.8, -0.2, 0.4, 1.1]
    places = [np.searchsorted(ends, each) for each in (negative, positive)]
    counts = np.stack([np.bincount(each, minlength=5) for each in places]).astype(float)
    exact = [2.0 * np.mean(positive[places[1] == each][:, None] > negative[places[0] == each]) - 1
             for each in range(5)]
    # The area that bins tell is a little nearer to a half.
    np.testing.assert_allclose(orders(counts), exact, atol=0.04)
    area = ndtr(apart / np.sqrt(2.0))
    # The rarer label may be either one.
    for tables in (counts, counts[::-1, ::-1]):
        np.testing.assert_allclose(law_areas(tables, np.stack([tables, tables])), area, atol=0.005)


def test_lumps_are_bins_of_many_pairs_and_ties_are_unseen_under_much_noise():
    counts = np.full((2, 8), 50.0)
    assert not lumps(counts, 1.0, np.ones(8)).any()
    counts[:, 3] = 200.0
    found = lumps(counts, 1.0, np.ones(8))
    assert found[3] == pytest.approx(1.0 - 2.0 * (2500.0 + np.hypot(200.0, 200.0)) / 40_000.0)
    assert np.count_nonzero(found) == 1 and not lumps(counts, 400.0, np.ones(8)).any()
    # Two bins hold all rows, and noise has made few others positive for both labels.
    two = np.array([[0.0, 1000.0, 900.0, 3.0, 0.0, -4.0], [-2.0, 500.0, 600.0, 1.0, 2.0, 5.0]])
    assert np.all(lumps(two, 1.0, np.ones(6))[1:3] > 0.2)
    assert unseen_ties(counts, 1e3).min() > 0.99 and unseen_ties(counts, 0.1).max() < 0.01
