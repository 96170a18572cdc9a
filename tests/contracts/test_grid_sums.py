"""Sums on the grid are exact: the same bits in any order, on any threads, from any container.

But for rows within rounding of a bound: norms of sparse rows are added up in another order.
"""

import itertools
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._models import LinearModel
from dpsk._privacy.noise.grids import grid_bits
from dpsk._sums import grid_entry
from dpsk._sums.linear_sums import float_sums, grid_sums
from dpsk._sums.truncation import Shares, whole_units
from tests.loops import in_a_row
from tests.registry import (
    every_loss,
    make_loss,
    make_model,
    make_raw,
    make_targets,
    usable_clip,
)

radii = in_a_row("data_norm", [1e-10, 1e-3, 1.0, 40.0, 1e6])
intercepts = in_a_row("fit_intercept", [False, True])


def _sums(name, X, y, clip_norm=0.3, z=3.0, weights=None, data_norm=1.0, fit_intercept=True):
    model, loss = make_model(name, X.shape[1], fit_intercept, data_norm), make_loss(name)
    clip_norm = usable_clip(loss, model, clip_norm * model.radius)
    bits = grid_bits(X.shape[0], clip_norm, z * clip_norm)
    with np.errstate(all="ignore"):
        return grid_sums(model, loss, Rows(X, y, weights, np.inf), clip_norm, bits)


def _gradient(sums, theta):
    with np.errstate(all="ignore"):
        return sums.gradient(theta)


def _rows(name, n, seed=0, data_norm=1.0):
    rng = np.random.default_rng(seed)
    X = data_norm * rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.7)
    return X, make_targets(name, n, rng), rng


@pytest.mark.covering(most=4)
@every_loss
@radii
@intercepts
@in_a_row("weighted", [False, True])
def test_sums_have_the_same_bits_in_any_order(name, data_norm, fit_intercept, weighted):
    X, y, rng = _rows(name, 700, data_norm=data_norm)
    weights = rng.exponential(size=700) if weighted else None
    sums = _sums(name, X, y, weights=weights, data_norm=data_norm, fit_intercept=fit_intercept)
    for scale in (0.0, 1.0, 30.0):
        theta = make_raw(name, sums.model.shape[0], rng, scale / data_norm)
        whole = _gradient(sums, theta)
        for _ in range(2):
            order = rng.permutation(700)
            other = _sums(name, X[order], y[order], data_norm=data_norm,
                          weights=weights[order] if weighted else None,
                          fit_intercept=fit_intercept)
            np.testing.assert_array_equal(_gradient(other, theta), whole)


@pytest.mark.covering(most=3)
@every_loss
@intercepts
def test_sums_have_the_same_bits_in_blocks_of_any_size(name, fit_intercept, monkeypatch):
    X, y, rng = _rows(name, 301)
    sums = _sums(name, X, y, fit_intercept=fit_intercept)
    theta = make_raw(name, sums.model.shape[0], rng)
    whole = _gradient(sums, theta)
    for block in (1, 13, 64):
        monkeypatch.setattr(grid_entry, "_BLOCK_BYTES", 8 * 5 * block)
        monkeypatch.setattr(grid_entry, "_CSR_ROWS", block + 1)
        monkeypatch.setattr(blocks, "_ENTRIES", 5 * (block + 1))
        for form in (X, sparse.csr_matrix(X)):
            parts = _sums(name, form, y, fit_intercept=fit_intercept)
            np.testing.assert_array_equal(_gradient(parts, theta), whole)


@every_loss
@radii
@intercepts
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_csr_rows_give_the_bits_of_dense_ones(name, data_norm, fit_intercept, dtype):
    X, y, rng = _rows(name, 300, data_norm=data_norm)
    X = X.astype(dtype)
    X[0], X[1] = 0.0, np.finfo(dtype).max
    forms = [X, sparse.csr_matrix(X), np.asfortranarray(X)]
    theta = make_raw(name, 5 + fit_intercept, rng, 3.0 / data_norm)
    answers = [_gradient(_sums(name, form, y, data_norm=data_norm, fit_intercept=fit_intercept),
                         theta) for form in forms]
    np.testing.assert_array_equal(answers[1], answers[0])
    np.testing.assert_array_equal(answers[2], answers[0])


def test_sums_have_the_same_bits_on_any_number_of_threads():
    threadpoolctl = pytest.importorskip("threadpoolctl", reason="sets the threads of BLAS")
    X, y, rng = _rows("multinomial", 60_000)
    sums = _sums("multinomial", np.tile(X, 8), y)
    theta = make_raw("multinomial", 41, rng)
    answers = []
    for threads in (1, 2, 4):
        with threadpoolctl.threadpool_limits(limits=threads):
            answers.append(_gradient(sums, theta))
    np.testing.assert_array_equal(answers[1], answers[0])
    np.testing.assert_array_equal(answers[2], answers[0])


@every_loss
@intercepts
def test_whole_units_that_are_kept_are_those_that_are_made_anew(name, fit_intercept, monkeypatch):
    X, y, rng = _rows(name, 701)
    X[::9] *= 1e6
    theta, answers = make_raw(name, 5 + fit_intercept, rng), []
    for kept_below in (0, 1 << 23):
        monkeypatch.setattr(grid_entry, "_SMALL_BYTES", kept_below)
        sums = _sums(name, X, y, fit_intercept=fit_intercept)
        assert (sums.entry._cache is None) == (kept_below == 0)
        answers.append(_gradient(sums, theta))
    np.testing.assert_array_equal(answers[1], answers[0])


@every_loss
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_features_that_were_made_for_a_fit_are_kept_and_add_up_alike(name, container, monkeypatch):
    monkeypatch.setattr(grid_entry, "_SMALL_BYTES", 0)
    X, y, rng = _rows(name, 701)
    X[::9] *= 1e6
    X, theta, answers = container(X.astype(np.float32)), make_raw(name, 6, rng), []
    before = X.copy()
    for made in (False, True):
        plain = _sums(name, X, y)
        sums = grid_sums(plain.model, plain.loss, Rows(X, y, made=made), plain.clip_norm,
                         grid_bits(701, plain.clip_norm, 3.0 * plain.clip_norm))
        assert (sums.entry._cache is None) == (not made)
        answers += [_gradient(sums, theta) for _ in range(2)]
    for other in answers[1:]:
        np.testing.assert_array_equal(other, answers[0])
    assert (X != before).sum() == 0


def test_float_sums_do_depend_on_the_order():
    # What the grid is for: the same test would fail without it.
    X, y, rng = _rows("logistic", 700)
    order, theta = rng.permutation(700), rng.normal(size=6)
    model, loss = make_model("logistic", 5), make_loss("logistic")
    one, other = (float_sums(model, loss, Rows(X[rows], y[rows]), 0.3).gradient(theta)
                  for rows in (np.arange(700), order))
    assert np.any(one != other)


@every_loss
@intercepts
def test_a_sum_is_the_exact_sum_over_its_rows(name, fit_intercept):
    X, y, rng = _rows(name, 60)
    theta = make_raw(name, 5 + fit_intercept, rng)
    sums = _sums(name, X, y, fit_intercept=fit_intercept)
    exact = [Fraction(0)] * theta.size
    for row in range(60):
        alone = _sums(name, X, y, fit_intercept=fit_intercept)
        alone.entry.rows = replace(alone.entry.rows, weights=(np.arange(60) == row).astype(float))
        for i, entry in enumerate(_gradient(alone, theta).ravel()):
            exact[i] += Fraction(float(entry))
    assert [Fraction(float(entry)) for entry in _gradient(sums, theta).ravel()] == exact


@every_loss
@radii
@intercepts
@in_a_row("clip_norm", [1e-8, 0.1, 1.0])
def test_every_sum_is_a_whole_number_of_units(name, data_norm, fit_intercept, clip_norm):
    X, y, rng = _rows(name, 90, data_norm=data_norm)
    sums = _sums(name, X, y, clip_norm, data_norm=data_norm, fit_intercept=fit_intercept)
    total = _gradient(sums, make_raw(name, 5 + fit_intercept, rng, 1.0 / data_norm))
    assert np.log2(sums.resolution) == np.rint(np.log2(sums.resolution))
    np.testing.assert_array_equal(total / sums.resolution, np.rint(total / sums.resolution))
    # The pull of a bounded loss vanishes at predictions as large as these.
    assert np.any(total != 0) or not make_loss(name).convex


@radii
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_raw_predictions_are_exact_so_that_no_derivative_depends_on_the_order(data_norm, scale):
    X, y, rng = _rows("logistic", 40, data_norm=data_norm)
    sums = _sums("logistic", X, y, data_norm=data_norm, fit_intercept=False)
    theta = make_raw("logistic", 5, rng, scale / data_norm)
    point = sums.entry.point(theta)
    rows = sums.entry.take(slice(0, 40))[0]
    for row, prediction in zip(rows.tolist(), (rows @ point).tolist(), strict=True):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(row, point.tolist(), strict=True))
        assert Fraction(prediction) == exact
    # The point is public and hardly moves.
    np.testing.assert_allclose(point, theta, rtol=0, atol=1e-6 * np.linalg.norm(theta))


# The rule for the bits.

_COUNTS = (1, 2, 3, 1000, 2**20, 10**6, 10**9)
_CLIPS = (1e-10, 0.3, 1.0, 1.04, 7e9)
_NOISES = (1e-9, 1e-3, 0.7, 30.0, 1e5, 1e12)


@in_a_row("n, clip_norm, z", list(itertools.product(_COUNTS, _CLIPS, _NOISES)))
def test_sums_and_noise_fit_into_the_bits_of_a_double(n, clip_norm, z):
    noise = z * clip_norm
    bits = grid_bits(n, clip_norm, noise)
    finest = min(52 - np.log2(n * clip_norm + 10 * noise), 40 - np.log2(noise))
    if bits is None:
        # Not one bit more than is lost by rounding bits down would have made it possible.
        assert Fraction(noise) * Fraction(2) ** int(np.floor(finest) - 1) < 2**10
        return
    units = Fraction(2) ** bits
    assert 2**10 <= Fraction(noise) * units <= 2**40
    # All rows at the clip norm and the farthest noise that a double's uniform can give.
    assert n * Fraction(clip_norm) * units <= 2**52
    assert (n * Fraction(clip_norm) + 14 * Fraction(noise)) * units < 2**53
    assert bits > finest - 2


@pytest.mark.parametrize("noise", [1e-30, 1e-12])
def test_noise_below_1024_units_has_no_grid(noise):
    assert grid_bits(1000, 1.0, noise) is None


@pytest.mark.thorough
@radii
@intercepts
@pytest.mark.parametrize("clip_norm, n, z", [
    (1e-9, 2, 1.0), (0.5, 10**6, 20.0), (1.0, 1000, 1e-6), (1.0, 10**6, 1e5)])
def test_the_worst_table_at_full_clip_has_exact_sums(data_norm, fit_intercept, clip_norm, n, z):
    # All rows alike, as long as allowed and clipped: n times a single one, to the last bit.
    n = min(n, 200_000) if fit_intercept else n
    X = np.full((n, 3), data_norm / np.sqrt(3))
    sums = _sums("squared", X, np.full(n, 1e9), clip_norm, z, data_norm=data_norm,
                 fit_intercept=fit_intercept)
    one = _sums("squared", X, np.full(n, 1e9), clip_norm, z, data_norm=data_norm,
                fit_intercept=fit_intercept)
    one.entry.rows = replace(one.entry.rows, weights=(np.arange(n) == n // 2).astype(float))
    theta = np.zeros(sums.model.shape)
    total, single = _gradient(sums, theta), _gradient(one, theta)
    assert [Fraction(float(entry)) for entry in total] == [
        n * Fraction(float(entry)) for entry in single]
    # Truncation leaves most of the row, even where noise and rows are out of all proportion.
    assert 0.9 * sums.clip_norm < np.linalg.norm(single) <= sums.clip_norm


# Truncation is toward zero.

def _hostile(data_norm):
    rng = np.random.default_rng(3)
    rows = [scale * data_norm * rng.normal(size=3) for scale in (1e-300, 1e-9, 0.3, 1.0, 1e9)]
    unit = 2.0**-15
    rows += [np.array([data_norm, 0, 0]), np.array([np.nextafter(data_norm, 1e30), 0, 0]),
             np.zeros(3), np.array([1e308, -1e308, 1e-308]), np.full(3, data_norm / np.sqrt(3)),
             np.array([unit, -unit, unit / 2]), np.array([np.nextafter(unit, 0), 0, unit])]
    return np.array(rows)


@radii
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kept_below", [0, 1 << 23])
def test_truncation_never_lengthens_an_entry_nor_a_row(
        data_norm, container, kept_below, monkeypatch):
    monkeypatch.setattr(grid_entry, "_SMALL_BYTES", kept_below)
    X = _hostile(data_norm)
    with np.errstate(all="ignore"):
        sums = _sums("logistic", container(X), np.zeros(len(X)), data_norm=data_norm)
        kept, _, late, _, _ = sums.entry.take(slice(0, len(X)))
        scale, _ = sums.model.row_scales(X)
    kept = (kept.toarray() if sparse.issparse(kept) else kept) * late[:, None]
    entered = X * scale[:, None]
    assert np.all(np.abs(kept) <= np.abs(entered) * (1.0 + 2.0**-50))
    assert np.all(kept * entered >= 0)
    for row in kept.tolist():
        assert sum(Fraction(entry)**2 for entry in row) <= Fraction(data_norm)**2
    assert np.all(np.abs(entered - kept) < sums.entry._row_unit)
    # Rows that are much too long are scaled before the grid, others after their products.
    assert np.any(late / sums.entry._row_unit < 1.0)
    assert sums.entry._first or sums.entry._cache is not None


@pytest.mark.covering(most=3)
@every_loss
@radii
@intercepts
@in_a_row("clip_norm", [1e-6, 0.2, np.inf])
def test_a_single_hostile_row_never_exceeds_the_clip_norm(
        name, data_norm, fit_intercept, clip_norm):
    rng = np.random.default_rng(4)
    for row in _hostile(data_norm):
        y = make_targets(name, 1, rng)
        sums = _sums(name, row[None], y, clip_norm, data_norm=data_norm,
                     fit_intercept=fit_intercept)
        for scale in (0.0, 1.0, 1e3, 1e200):
            gradient = _gradient(sums, make_raw(name, 3 + fit_intercept, rng, scale / data_norm))
            exact = sum(Fraction(float(entry))**2 for entry in gradient.ravel())
            assert exact <= Fraction(sums.clip_norm)**2


@every_loss
@intercepts
def test_points_that_are_not_finite_or_hard_to_place_do_no_harm(name, fit_intercept):
    X, y, rng = _rows(name, 30)
    sums = _sums(name, X, y, fit_intercept=fit_intercept)
    for scale in (np.nan, np.inf, 1e308, 1e150, 1e-300, 5e-324):
        gradient = _gradient(sums, scale * np.sign(make_raw(name, 5 + fit_intercept, rng)))
        assert np.all(np.isfinite(gradient))
        assert np.linalg.norm(gradient) <= 30 * sums.clip_norm


@every_loss
def test_grid_sums_are_close_to_float_sums(name):
    X, y, rng = _rows(name, 400)
    sums = _sums(name, X, y)
    plain = float_sums(sums.model, sums.loss, Rows(X, y), sums.clip_norm)
    theta = make_raw(name, 6, rng)
    np.testing.assert_allclose(_gradient(sums, theta), _gradient(plain, theta), rtol=0,
                               atol=400 * sums.clip_norm * 2.0**-11)


def _shares(rng, dtype):
    """Return rows of which some are too long, and some much too long."""
    lengths = np.where(rng.random((20_000, 1)) < 0.1, 10.0 ** rng.uniform(-1, 3, (20_000, 1)), 0.1)
    X = rng.normal(size=(20_000, 100)) * 0.1 * lengths
    X[rng.random(X.shape) < 0.5] = 0.0
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_rows_are_neither_copied_nor_overwritten(container, dtype, monkeypatch):
    # A block is truncated at a time: here one fortieth of the rows.
    monkeypatch.setattr(grid_entry, "_BLOCK_BYTES", 8 * 100 * 500)
    monkeypatch.setattr(grid_entry, "_CSR_ROWS", 500)
    # As of a larger table.
    monkeypatch.setattr(grid_entry, "_SMALL_BYTES", 0)
    rng = np.random.default_rng(6)
    X = container(_shares(rng, dtype))
    before, y, theta = X.copy(), rng.integers(2, size=20_000).astype(dtype), rng.normal(size=101)
    size = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    _gradient(_sums("logistic", X[:600], y[:600]), theta)
    tracemalloc.start()
    try:
        _gradient(_sums("logistic", X, y), theta)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.25 * size
    assert (X != before).sum() == 0


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("others", [0, 1, 3, 20])
def test_rows_with_shares_of_their_own_are_multiplied_by_them(container, others):
    rng = np.random.default_rng(7)
    X, shares = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.5), np.ones(40)
    X[3] = 0.0
    shares[:others] = rng.random(others)
    own = Shares(container(X), shares)
    # Some row is always done twice, so that the first one that is too long takes no more time.
    assert (own.whole is None) == (others < 20)
    assert own.whole is not None or len(own.factors) > 0
    found = whole_units(container(X), 2.0**10, own)
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(found, np.trunc(X * (2.0**10 * shares)[:, None]))


@pytest.mark.parametrize("data_norm", [1e-10, 1e-5, 1.0, 1e5, 1e10])
def test_rows_and_derivatives_keep_their_bits_at_any_data_norm(data_norm):
    model = LinearModel(3, None, False, data_norm)
    bits = grid_bits(10**6, 0.5 * data_norm, 10.0 * data_norm)
    row_bits = grid_entry._row_bits(model, 0.5 * data_norm, bits)
    assert data_norm * 2.0**row_bits >= 2.0**12
    assert 0.5 * 2.0 ** (bits - row_bits) >= 2.0**12
