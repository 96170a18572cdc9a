"""What samplers make of their releases: projections, forests, conditionals, subspaces, draws."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2

from dpsk._data.columns import bin_edges
from dpsk._models.bins import BinnedRows
from dpsk._models.ranges import RangedRows
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.events import tally
from dpsk._privacy.noise.public import PublicDraws
from dpsk._problem import Budget
from dpsk._stages.centered import spread_rule
from dpsk._stages.class_models import (
    class_models,
    class_shares,
    column_models,
    kept_of,
    principal,
    roots,
    shared_model,
    smoothed,
)
from dpsk._stages.class_plan import GaussianPlan, range_rule
from dpsk._stages.class_shares import flag_shares, log_distributions
from dpsk._stages.column_bounds import bounds_rule
from dpsk._statistics.class_moments import ClassMoments
from dpsk.generative._margins import (
    conditional,
    grown_forest,
    least_distance,
    nearest,
    pooled,
)
from dpsk.generative._tree_plan import usual_bins


def test_the_nearest_counts_are_no_farther_than_any_others():
    rng = np.random.default_rng(0)
    noisy, totals = 10 * rng.normal(size=(40, 5)), rng.uniform(0, 30, size=40)
    totals[0] = 0.0
    found = nearest(noisy, totals)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), totals, atol=1e-9)
    for _ in range(50):
        others = rng.dirichlet(np.ones(5), size=40) * totals[:, None]
        assert np.all(np.linalg.norm(found - noisy, axis=1)
                      <= np.linalg.norm(others - noisy, axis=1) + 1e-9)
    np.testing.assert_allclose(nearest(found, totals), found, atol=1e-9)
    np.testing.assert_allclose(class_shares(np.array([-5.0, 30.0, 75.0]), 100), [0, 0.275, 0.725])


def test_pooled_tables_weigh_by_noise_and_without_it_are_the_first():
    tables = [np.array([1.0, 2.0]), np.array([5.0, 6.0])]
    np.testing.assert_allclose(pooled(tables, [1.0, 2.0]), [1.8, 2.8])
    np.testing.assert_array_equal(pooled(tables, [0.0, 0.0]), tables[0])


def _grown(worth):
    """Return the forest by exact choices, and how many were made."""
    pairs, asked = list(worth), []

    def best(chosen):
        asked.append(chosen)
        open_worth = np.append(np.where(chosen, list(worth.values()), -np.inf), 0.0)
        place = int(np.argmax(open_worth))
        return place if place < len(pairs) else None

    return grown_forest(5, pairs, best), len(asked)


def test_the_forest_is_of_largest_worth_and_parents_come_first():
    rng = np.random.default_rng(1)
    for _ in range(20):
        worth = {pair: rng.normal() for pair in itertools.combinations(range(5), 2)}
        found, asked = _grown(worth)
        assert asked == 4
        assert all(worth[tuple(sorted(pair))] > 0 for pair in found)
        children = [child for _, child in found]
        assert _is_forest(found) and len(set(children)) == len(children)
        for place, (parent, _) in enumerate(found):
            assert parent not in children[place:]
    positive = {pair: abs(rng.normal()) for pair in itertools.combinations(range(5), 2)}
    best = max(sum(positive[pair] for pair in chosen)
               for chosen in itertools.combinations(positive, 4) if _is_forest(chosen))
    found = sum(positive[tuple(sorted(pair))] for pair in _grown(positive)[0])
    assert found == pytest.approx(best)


def _is_forest(pairs):
    members = list(range(5))
    for one, other in pairs:
        if members[one] == members[other]:
            return False
        members = [members[one] if member == members[other] else member for member in members]
    return True


def test_pairs_with_many_cells_are_worth_less_under_noise():
    assert least_distance([2, 3, 40], 2, (0, 1), 0.0) == 0.0
    assert least_distance([2, 3, 40], 2, (1, 2), 1.0) == pytest.approx(
        0.5 * 240 * math.sqrt(2 / math.pi))


@pytest.mark.parametrize("noise", [0.0, 3.0, 300.0])
def test_conditionals_are_shares_that_keep_both_margins(noise):
    rng = np.random.default_rng(2)
    exact = rng.integers(0, 60, size=(2, 4, 3)).astype(float)
    exact[0, 1] = 0.0
    parent, child = exact.sum(axis=2), exact.sum(axis=1)
    found = conditional(exact + noise * rng.normal(size=exact.shape), parent, child, noise)
    np.testing.assert_allclose(found.sum(axis=2), 1.0, atol=1e-9)
    assert (found >= 0).all()
    np.testing.assert_allclose(np.einsum("ca,cab->cb", parent, found), child, rtol=0.02)
    if not noise:
        some = parent > 0
        np.testing.assert_allclose(found[some], exact[some] / parent[some][:, None], atol=1e-6)


def test_conditionals_of_a_class_without_rows_are_even():
    found = conditional(np.zeros((1, 2, 4)), np.zeros((1, 2)), np.zeros((1, 4)), 1.0)
    np.testing.assert_allclose(found, 0.25)


def test_main_directions_stand_clear_of_noise_and_are_corrected_for_it():
    """Noise of deviation s alone has eigenvalues to ``s sqrt(2 d)``; 1.1 of it has chance 1e-8."""
    rng = np.random.default_rng(3)
    d, s = 400, 1.0
    values = np.zeros(d)
    values[:3] = [150.0, 90.0, 60.0]
    noise = np.triu(rng.normal(size=(d, d)), 1) * math.sqrt(0.5)
    noise += noise.T + np.diag(rng.normal(size=d))
    assert np.linalg.eigvalsh(noise)[-1] < 1.1 * s * math.sqrt(2 * d)
    basis, found, rest = principal(np.diag(values) + noise, s, None)
    assert basis.shape == (d, 3) and (rest >= 0).all()
    # What rows have in the directions found, which noise has turned a little.
    exact = np.einsum("ij,i,ij->j", basis, values, basis)
    np.testing.assert_allclose(found, exact, rtol=0.05)
    assert principal(noise, s, None)[0].shape == (d, 1)
    assert principal(noise, s, 7)[0].shape == (d, 7)


def test_a_class_of_noise_alone_has_the_pooled_model_and_one_without_noise_its_own():
    rng = np.random.default_rng(4)
    own = [np.diag([4.0, 1.0]), np.diag([1.0, 3.0])]
    counts, sums = np.array([50.0, 50.0]), np.array([[25.0, 0.0], [0.0, -25.0]])
    means = sums / 50
    moments = np.array([50 * (one + np.outer(mean, mean))
                        for one, mean in zip(own, means, strict=True)])
    exact = ClassMoments(counts, sums, moments, 0.0, 0.0, 0.0)
    shares, found, covariances, noise = class_models(exact, None, 0.0, 100)
    np.testing.assert_allclose(shares, 0.5)
    np.testing.assert_allclose(found, means)
    np.testing.assert_allclose(covariances, own)
    np.testing.assert_array_equal(noise, 0.0)
    noise = rng.normal(size=(2, 2, 2))
    noise += np.swapaxes(noise, 1, 2)
    noisy = ClassMoments(counts, sums, moments + noise, 0.0, 1e3, 1e4)
    _, found, covariances, left = class_models(noisy, None, 0.0, 100)
    np.testing.assert_array_equal(found, 0.0)
    np.testing.assert_allclose(covariances[0], covariances[1])
    # Of the mean of two covariances of a hundred rows, and of squares of means of fifty.
    np.testing.assert_allclose(left, math.hypot(math.sqrt(2) * 1e4 / 100, (1e3 / 50)**2))


def _of_columns(noise):
    counts, means = np.array([60.0, 40.0]), np.array([[0.5, 0.0], [-0.5, 0.2]])
    variances = np.array([[0.04, 0.09], [0.09, 0.01]])
    squares = counts[:, None] * (variances + means**2)
    return (means, variances), ClassMoments(counts, counts[:, None] * means, squares, noise,
                                            noise, noise)


def test_columns_have_their_own_variances_without_noise_and_common_ones_of_noise_alone():
    (means, variances), exact = _of_columns(0.0)
    shares, found, kept, pooled = column_models(exact, 100)
    np.testing.assert_allclose(shares, [0.6, 0.4])
    np.testing.assert_allclose(found, means)
    np.testing.assert_allclose(kept, variances)
    np.testing.assert_allclose(pooled, [0.06, 0.058])
    _, found, kept, pooled = column_models(_of_columns(1e4)[1], 100)
    # What is left unknown of a mean is in its variance, and none is less than the noise.
    assert np.abs(found).max() < 10.0 and kept.min() >= 1e4 * math.sqrt(2) / 100
    assert np.ptp(kept / kept.mean()) < 1.0


def test_one_covariance_is_that_within_classes():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 3
    X[:, 0] += 3.0 * y
    sums = np.array([X[y == label].sum(axis=0) for label in range(3)])
    shares, means, covariance, noise = shared_model(
        ClassMoments(np.bincount(y) * 1.0, sums, X.T @ X, 0.0, 0.0, 0.0), 300)
    np.testing.assert_allclose(shares, 1 / 3)
    np.testing.assert_allclose(means, sums / 100)
    within = sum(np.cov(X[y == label].T, bias=True) for label in range(3)) / 3
    np.testing.assert_allclose(covariance, within, atol=1e-12)
    assert noise == 0.0


@pytest.mark.parametrize("shared", [True, False])
def test_noise_on_a_covariance_within_classes_counts_that_on_means(shared):
    """The error of a deviation of 1000 normal draws is 2 %."""
    rng = np.random.default_rng(6)
    counts, means, of_sum = np.full(20, 50.0), rng.normal(size=(20, 2)), 20.0
    moments = 50.0 * (np.eye(2) + np.einsum("ci,cj->cij", means, means))
    found, stated = [], []
    for _ in range(500):
        noisy = ClassMoments(counts, 50.0 * means + of_sum * rng.normal(size=means.shape),
                             moments.sum(axis=0) if shared else moments, 0.0, of_sum, 0.0)
        shares, _, covariance, noise = (shared_model(noisy, 1000) if shared
                                        else class_models(noisy, None, 0.0, 1000))
        found += list(np.diag(covariance if shared else np.tensordot(shares, covariance, 1)))
        stated.append(np.min(noise))
    assert abs(np.mean(found) - 1.0) < 0.3 * np.std(found)
    # A class's covariance has some noise of its own as well.
    assert 0.85 < np.mean(stated) / np.std(found) < (1.15 if shared else 2.0)


def test_shares_are_smoothed_by_noise_and_counts_without_it():
    np.testing.assert_allclose(smoothed(np.array([1.0, 0.0]), 0.0), [1.0, 0.0])
    np.testing.assert_allclose(smoothed(np.array([1.0, 0.0]), 0.5), [0.75, 0.25])
    table, counts = np.array([[8.0, 2.0, 0.0], [1.0, 1.0, 8.0]]), np.array([10.0, 10.0])
    (found,), (stds,), temperature = log_distributions([table], counts, 0.0, 1.0)
    np.testing.assert_allclose(np.exp(found), (table + 1.0) / 13.0)
    assert temperature == 1.0 and not stds.any()
    (noisy,), _, temperature = log_distributions([table], counts, 1e6, 1.0)
    np.testing.assert_allclose(np.exp(noisy).sum(axis=1), 1.0)
    assert np.all(np.isfinite(noisy)) and np.abs(noisy[0] - noisy[1]).max() < 1.0
    assert 1.0 < temperature < 2.0
    counts = np.array([10.0, 20.0])
    shares, temperature = flag_shares(counts, np.array([[4.0, 0.0], [5.0, 20.0]]), 0.0, 1.0)
    np.testing.assert_allclose(shares, [[5 / 12, 1 / 12], [6 / 22, 21 / 22]])
    assert temperature == 1.0
    noisy, temperature = flag_shares(counts, np.array([[-40.0, 70.0], [5.0, 20.0]]), 30.0, 0.0)
    assert np.all((noisy > 0.0) & (noisy < 1.0)) and temperature > 1.0


@pytest.mark.parametrize("least", [0.0, 1.0])
def test_of_noise_alone_what_is_kept_is_nothing_or_what_noise_may_hide(least):
    found, noise = np.zeros(50), np.full(50, 4.0)
    kept = kept_of(found, np.ones(50), noise, least)
    signal = least * math.sqrt(2.0 * 50) * 4.0 / 50
    np.testing.assert_allclose(kept, signal / (signal + 4.0))


def test_roots_drop_what_is_negative():
    matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    factors = roots(np.array([matrix, -matrix]))
    np.testing.assert_allclose(factors[0] @ factors[0].T, matrix)
    np.testing.assert_array_equal(factors[1], 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_brought_to_their_ranges_and_back(dtype):
    low, high, center = np.array([0.0, -4.0]), np.array([2.0, 4.0]), np.array([0.5, -0.25])
    X = np.array([[0.0, 4.0], [2.0, 0.0], [9.0, -9e30]]).astype(dtype)
    out = np.empty((3, 2), dtype)
    ranged = RangedRows(center, low, high, dtype)
    ranged.dense(X, out)
    np.testing.assert_allclose(out, np.array([[-1, 1], [1, 0], [1, -1]]) - center)
    np.testing.assert_allclose(ranged.undone(out.astype(float)), [[0, 4], [2, 0], [2, -4]])
    RangedRows(center, None, None, dtype).dense(X, out)
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out[:2], X[:2] - center)


def test_bins_hold_their_numbers():
    edges = bin_edges(0.0, 10.0, 4, False)
    np.testing.assert_allclose(edges, [0, 2.5, 5, 7.5, 10])
    np.testing.assert_allclose(bin_edges(0, 2, 8, True), [-0.5, 0.5, 1.5, 2.5])
    whole = bin_edges(1, 16, 5, True)
    assert whole[0] == 0.5 and whole[-1] == 16.5 and np.all(whole % 1 == 0.5)
    assert len(np.unique(whole)) == 6 and len(bin_edges(0.2, 0.4, 5, True)) == 2
    out = np.empty((4, 2), np.int64)
    BinnedRows([edges, None]).dense(np.array([[-9.0, 0], [2.5, 1], [9.9, 2], [1e300, 3]]), out)
    np.testing.assert_array_equal(out, [[0, 0], [1, 1], [3, 2], [3, 3]])


def test_public_draws_have_their_laws():
    """Chi-square at level 1e-8; draws of another table are rejected."""
    draws = PublicDraws(0, "a test")
    weights = np.array([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0], [0.0, 1e-9, 1.0]])
    chosen = np.arange(30_000) % 3
    places = draws.choices(weights, chosen)
    for row, weight in enumerate(weights):
        counts = np.bincount(places[chosen == row], minlength=3)
        expected = 10_000 * weight / weight.sum()
        assert np.all(counts[expected == 0] == 0)
        some = expected > 1
        excess = np.sum((counts - expected)[some]**2 / expected[some])
        assert excess < chi2.isf(1e-8, max(1, some.sum() - 1))
    uniforms = draws.uniforms(10_000)
    assert 0 <= uniforms.min() and uniforms.max() < 1
    assert abs(uniforms.mean() - 0.5) < 6 / math.sqrt(12 * 10_000)
    assert np.array_equal(PublicDraws(3, "x").uniforms(5), PublicDraws(3, "x").uniforms(5))
    assert not np.array_equal(PublicDraws(3, "x").uniforms(5), PublicDraws(3, "y").uniforms(5))
    assert not np.array_equal(PublicDraws(None).uniforms(5), PublicDraws(None).uniforms(5))


def test_rules_follow_the_signal():
    small, large = Budget(1000, 10, 1.0, 1e-5), Budget(10**7, 10, 8.0, 1e-6)
    assert usual_bins(small) < usual_bins(large) == 32
    assert usual_bins(Budget(1000, 10, math.inf, 1e-5)) == 32
    assert spread_rule(Budget(10**5, 50, 1.0, 1e-5))[1] > spread_rule(large)[1] > 0
    for budget, share in ((Budget(100, 10, 1.0, 1e-5), 0.3), (large, 0.03)):
        for reduces in (False, True):
            plan = GaussianPlan(budget, 3, None, reduces, False, 1.0, 1.0)
            events = [event for event, _ in tally(plan(0.5)).items()]
            assert len(events) == 2 + reduces
            assert sum(event.mu**2 for event in events) == pytest.approx(4.0)
            assert events[0].mu == pytest.approx(2.0 * math.sqrt(share))
    with pytest.raises(ValueError, match="columns: n=1000"):
        bounds_rule(small, 10, "columns")
    event, tail, median = bounds_rule(large, 10, "columns")
    assert bounds_rule(large, 40, "columns")[0].mu < event.mu and tail == 0.015
    # None stay beyond the ranges of a normal law as n or epsilon grows.
    assert range_rule(large)[0] == event and range_rule(large)[1] < 1e-3
    # A median costs next to nothing of many rows, and few do without.
    assert 0.0 < median.mu < 1e-3 * event.mu
    assert range_rule(Budget(2100, 10, 1.0, 1e-5))[2] is None
    for n_samples in (3000, 10_000):
        event, _, median = range_rule(Budget(n_samples, 10, 1.0, 1e-5))
        spent = 10 * (2 * event.mu**2 + median.mu**2)
        assert spent <= (1.0 + 1e-9) * 0.4 * gaussian_mu(1.0, 1e-5)**2
