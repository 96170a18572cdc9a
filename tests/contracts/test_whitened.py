"""Whitened rows that are never made: bounds, exactness, units, and what a fit makes of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression

from dpsk import DPHuberRegressor, DPLinearRegression, DPLogisticRegression, DPRidge
from dpsk._data.source import Rows
from dpsk._mechanism.sensitivity import rounding_margin
from dpsk._models import LinearModel, WhitenedModel
from dpsk._models.image_norms import ImageNorms
from dpsk._objective.losses import Logistic, Multinomial, Squared
from dpsk._privacy.events import tally
from dpsk._stages.diagonal_plus import DiagonalPlus
from dpsk._stages.whitening import InverseRoot, _largest, _on_grid
from dpsk._sums.linear_sums import float_sums, whitened_grid_sums
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped

_N, _D, _CLIP = 60, 4, 0.3
kinds = pytest.mark.parametrize("make", [float_sums, whitened_grid_sums])
intercepts = pytest.mark.parametrize("intercept", [False, True])
constants = pytest.mark.parametrize("homogeneous", [False, True])
units = pytest.mark.parametrize("unit", [2.0**-32, 1.0, 300.0])


def _model(rng, intercept, homogeneous, outputs=None, unit=1.0, spread=3.0):
    size = _D + intercept
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    sizes = 10.0 ** rng.uniform(-spread, 0.0, size)
    matrix, sizes = _on_grid((turn * sizes) @ turn.T, sizes)
    rows = LinearModel(_D, outputs, intercept, 1.0, unit=unit, homogeneous=homogeneous)
    return WhitenedModel.of(rows, matrix, sizes)


def _rows(rng, unit, outputs=None):
    X = unit * rng.normal(size=(_N, _D)) * 10.0 ** rng.uniform(-2, 2, size=(_N, 1))
    X[rng.random(X.shape) < 0.3] = 0.0
    return X, rng.integers(outputs or 2, size=_N)


def _images(model, X):
    """Return the rows that products stand for, made one by one."""
    plain = model.rows
    scale, _ = plain.row_scales(X)
    entering = X * scale[:, None]
    if plain.fit_intercept:
        entering = np.column_stack([entering, plain.constants(scale)])
    images = entering @ model.matrix
    return images / np.maximum(1.0, np.linalg.norm(images, axis=1))[:, None]


@kinds
@intercepts
@constants
@units
@pytest.mark.parametrize("outputs", [None, 3])
def test_a_sum_is_that_over_the_images_of_rows(make, intercept, homogeneous, unit, outputs):
    rng = np.random.default_rng(0)
    model, (X, y) = _model(rng, intercept, homogeneous, outputs, unit), _rows(rng, unit, outputs)
    loss, theta = Multinomial() if outputs else Logistic(), rng.normal(size=model.shape)
    images = _images(model, X)
    dz = loss.gradient(y, images @ theta).reshape(_N, -1)
    limits = _CLIP / np.maximum(np.linalg.norm(images, axis=1), 1e-150)
    dz *= np.minimum(1.0, limits / np.linalg.norm(dz, axis=1))[:, None]
    expected = (images.T @ dz).reshape(model.shape)
    for rows in (X, sparse.csr_matrix(X)):
        found = make(model, loss, Rows(rows, y), _CLIP).gradient(theta)
        np.testing.assert_allclose(found, expected, atol=2e-4 * _CLIP)


@kinds
@intercepts
@units
def test_whole_equations_are_those_of_rows_times_one_number(make, intercept, unit):
    """Row, constant and target of an equation are scaled by what its features alone say."""
    rng = np.random.default_rng(7)
    model, (X, _) = _model(rng, intercept, True, unit=unit), _rows(rng, unit)
    model = WhitenedModel.of(replace(model.rows, whole=True), model.matrix, model.sizes)
    y, theta = rng.uniform(-1.0, 1.0, _N), rng.normal(size=model.shape)
    equations = np.column_stack([X / unit, np.ones((_N, int(intercept)))])
    scales = np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(X / unit, axis=1), 1e-150))
    images = scales[:, None] * equations @ model.matrix
    shortened = np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(images, axis=1), 1e-150))
    images *= shortened[:, None]
    dz = images @ theta - scales * shortened * y
    limits = _CLIP / np.maximum(np.linalg.norm(images, axis=1), 1e-150)
    expected = images.T @ np.clip(dz, -limits, limits)
    for rows in (X, sparse.csr_matrix(X)):
        found = make(model, Squared(), Rows(rows, y), _CLIP).gradient(theta)
        np.testing.assert_allclose(found, expected, atol=2e-3 * _CLIP)


@pytest.mark.parametrize("cls", [DPHuberRegressor, DPLinearRegression, DPRidge])
@pytest.mark.parametrize("share", [0.5, 0.7])
def test_a_bound_on_rows_that_is_a_little_small_ruins_no_regression(cls, share):
    """R2 is at most .1 below that without privacy; with unscaled targets it was below 0."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(5000, 8))
    y = X @ rng.uniform(-2.0, 2.0, 8) + 0.5 * rng.normal(size=5000)
    norm = share * float(np.median(np.linalg.norm(X, axis=1)))
    bounds = (float(y.mean()) - 6.0, float(y.mean()) + 6.0)
    assert cls(epsilon=4.0, delta=1e-6, data_norm=norm, target_bounds=bounds).fit(
        X, y).score(X, y) > LinearRegression().fit(X, y).score(X, y) - 0.1


@pytest.mark.covering
@kinds
@intercepts
@constants
@units
def test_no_row_adds_more_than_its_clip(make, intercept, homogeneous, unit):
    rng, worst = np.random.default_rng(1), 0.0
    for _ in range(30):
        model = _model(rng, intercept, homogeneous, unit=unit, spread=rng.uniform(0, 5))
        X, y = _rows(rng, unit)
        X[:3] *= 10.0 ** rng.choice([-200, -150, 100, 290], size=(3, 1))
        weights = 10.0 ** rng.choice([-300.0, 0.0, 3.0, 300.0], size=_N)
        theta = 5.0 * rng.normal(size=model.shape)
        for row in range(0, _N, 7):
            one = Rows(X[[row]], y[[row]], weights[[row]], np.inf)
            with np.errstate(all="ignore"):
                found = make(model, Logistic(), one, _CLIP).gradient(theta)
            worst = max(worst, float(np.linalg.norm(found)) / _CLIP)
    assert 0.99 < worst <= 1.0


@intercepts
def test_exact_totals_are_the_same_in_any_order_and_container(intercept):
    rng = np.random.default_rng(2)
    model, (X, y) = _model(rng, intercept, True), _rows(rng, 1.0)
    order, theta = rng.permutation(_N), rng.normal(size=model.shape)
    totals = [whitened_grid_sums(model, Logistic(), Rows(rows, labels), _CLIP).gradient(theta)
              for rows, labels in ((X, y), (X[order], y[order]), (np.asfortranarray(X), y),
                                   (sparse.csr_matrix(X), y))]
    for total in totals[1:]:
        np.testing.assert_array_equal(total, totals[0])


@pytest.mark.parametrize("floor", [1e-12, 1e-6, 1.0])
@pytest.mark.parametrize("size", [1, 5, 60])
def test_a_map_shortens_no_row_more_than_its_sizes_say(floor, size):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2 * size, size)) * 10.0 ** rng.uniform(-6, 0, size)
    root = InverseRoot.of(rows.T @ rows, floor)
    matrix, least = _on_grid(root.matrix, root.sizes)
    model = WhitenedModel.of(LinearModel(size, None, False, 1.0), matrix, least)
    found = np.linalg.svd(matrix, compute_uv=False)
    assert model.inverse_norm >= (1.0 - 1e-9) / found.min()
    bound = np.linalg.norm(matrix) * np.linalg.norm(1.0 / found)
    assert model.spread >= (1.0 - 1e-9) * bound
    if floor == 1.0:
        assert model.spread < 1.01 * bound


@pytest.mark.parametrize("size", [2, 128, 129, 300])
def test_the_largest_direction_is_found(size):
    rng = np.random.default_rng(0)
    rows, noise = rng.normal(size=(2 * size, size)) / size, rng.normal(size=(size, size))
    moment = rows.T @ rows + 1e-3 * (noise + noise.T)
    matrix = np.diag(rng.uniform(0.5, 2.0, size))
    expected = np.linalg.eigvalsh(matrix @ moment @ matrix)[-1]
    assert _largest(matrix, moment) == pytest.approx(expected, rel=0.02)
    assert _largest(matrix, np.zeros((size, size))) == 0.0


def test_short_rows_in_a_small_unit_stay_within_the_clip():
    """Squares of such entries underflow; in a unit of 2^-32 their sum would be long."""
    model = LinearModel(10**5, None, False, 1.0, unit=2.0**-32)
    rows = Rows(np.full((1, 10**5), 1.5e-162), np.array([1], np.int8), np.array([1e300]), np.inf)
    total = float_sums(model, Logistic(), rows, 1.0).gradient(np.zeros(10**5))
    assert np.linalg.norm(total) <= 1.0


@pytest.mark.parametrize("norm", [1e-8, 1e-3, 1.0, 1e5])
def test_the_unit_of_a_declared_bound_does_not_matter(norm):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    y = X @ [0.5, -0.3, 0.2] + 0.4 + 0.02 * rng.normal(size=3000)
    model = DPHuberRegressor(4.0, data_norm=norm, target_bounds=(-2, 2),
                             random_state=NoiseSeed(0)).fit(norm * X, y)
    assert model.score(norm * X, y) > 0.95


@pytest.mark.covering
@pytest.mark.parametrize("options", [{}, {"schedule": "convex"}, {"schedule": "strongly_convex"},
                                     {"schedule": "nonconvex"}, {"schedule": "pl"}], ids=str)
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("precondition", ["auto", False])
def test_what_is_released_before_changes_no_plan(options, alpha, precondition, ledgers):
    rng = np.random.default_rng(4)
    X = 1e-3 * rng.normal(size=(4000, 3))
    y = (X[:, 0] > 0).astype(int)
    model = DPLogisticRegression(4.0, solver="gd", alpha=alpha, precondition=precondition,
                                 solver_options=options or None)
    with taped() as tape:
        try:
            model.fit(X, y)
        except ValueError:
            # What cannot be had is refused before anything is released.
            assert not tape.answers
            return
    (ledger,) = ledgers
    assert tally(ledger.spent) == tally(ledger.plan) == tally(model.privacy_.event)


def test_squares_are_fitted_through_whitened_rows_as_through_their_images():
    rng = np.random.default_rng(5)
    model, (X, _) = _model(rng, True, False), _rows(rng, 1.0)
    y, theta = rng.normal(size=_N), rng.normal(size=model.shape)
    sums = float_sums(model, Squared(), Rows(X, y), 1e6)
    images = _images(model, X)
    np.testing.assert_allclose(sums.hessian(theta), images.T @ images, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n_rows, size", [(2, 60), (40, 8), (500, 3)])
@intercepts
def test_rounding_of_a_mapped_sum_is_within_what_its_terms_say(n_rows, size, intercept):
    """Whatever the number of rows and of columns: of few rows it is the map that rounds."""
    rng = np.random.default_rng(0)
    whole = size + intercept
    turn = np.linalg.qr(rng.normal(size=(whole, whole)))[0]
    matrix = (turn * np.geomspace(1e-3, 1.0, whole)) @ turn.T
    model = WhitenedModel.of(LinearModel(size, None, intercept, 10.0), matrix)
    assert model.rounding_terms(n_rows)**2 >= n_rows * (n_rows + whole) * model.spread
    X = np.tile(rng.normal(size=size), (n_rows, 1)) + 1e-3 * rng.normal(size=(n_rows, size))
    slopes, total = rng.uniform(0.5, 1.0, size=n_rows), np.zeros(whole)
    scale, lengths = model.row_scales(X)
    model.gradient_sum(slopes.copy(), X, scale, total)
    rows = [[Fraction(float(slope)) * Fraction(float(own)) * Fraction(float(entry))
             for entry in row] + [Fraction(float(slope)) * Fraction(float(one))] * intercept
            for slope, (own, one), row in zip(slopes, scale, X, strict=True)]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    exact = [sum(Fraction(float(entry)) * each for entry, each in zip(column, sums, strict=True))
             for column in matrix.T]
    off = np.linalg.norm([float(Fraction(float(a)) - b)
                          for a, b in zip(total, exact, strict=True)])
    margin = rounding_margin(model.rounding_terms(n_rows)) - 1.0
    assert 0.0 < off <= margin * float((slopes * lengths).max())


def test_a_map_without_an_inverse_has_no_bound_on_rounding():
    model = WhitenedModel.of(LinearModel(2, None, False, 1.0), np.diag([1.0, 0.0]))
    with pytest.raises(ValueError, match="matrix: must be regular"):
        model.rounding_terms(10)


@intercepts
@constants
@units
def test_a_constant_point_predicts_that_constant_of_rows_that_are_not_shortened(
        intercept, homogeneous, unit):
    rng = np.random.default_rng(5)
    model = _model(rng, intercept, homogeneous, 3, unit, spread=0.5)
    X, _ = _rows(rng, unit)
    point, (scale, _) = model.constant(-2.0), model.row_scales(X)
    raw = model.predict_raw(point, X, scale)
    np.testing.assert_allclose(raw, -2.0 * intercept * np.repeat(scale[:, 1:], 3, axis=1),
                               atol=1e-12)
    plain = LinearModel(_D, 3, intercept, 1.0)
    np.testing.assert_array_equal(plain.predict_raw(plain.constant(-2.0), X), -2.0 * intercept)


_MANY, _WIDE, _UNIT, _FLOOR = 300, 95, 2.0**-17, 0.02
#: How many directions stand out, and whether columns vary alike.
parts = pytest.mark.parametrize("k, alike", [(0, True), (1, True), (6, True), (3, False)])


def _parts(rng, size, k, alike):
    factors = rng.normal(size=(size, k)) * np.geomspace(0.1, 2.0, k)
    diagonal = np.full(size, 0.3) if alike else rng.uniform(0.0, 1.0, size)
    diagonal[-1] = 0.0
    return DiagonalPlus(diagonal, factors)


def _dense(moment):
    return np.diag(moment.diagonal) + moment.factors @ moment.factors.T


def _wide_model(rng, intercept, k, alike):
    moment = _parts(rng, _WIDE + intercept, k, alike)
    root = InverseRoot.of(_dense(moment), _FLOOR, 1.0, moment)
    matrix, sizes = _on_grid(root.matrix / 1.2, root.sizes / 1.2)
    norms = ImageNorms.of(matrix, *(part / 1.2 for part in moment.inverse(_FLOOR)))
    assert norms is not None
    return WhitenedModel.of(LinearModel(_WIDE, None, intercept, 1.0), matrix, sizes, norms)


def _whole(rng, model):
    """Return rows in whole units, some of them along single directions, and their scale."""
    rows = rng.normal(size=(_MANY, _WIDE))
    rows[:40] = np.linalg.svd(model.matrix)[0][:_WIDE, -40:].T
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    rows[40:80] *= rng.uniform(0.0, 1.0, (40, 1))
    return np.trunc(rows / _UNIT), _UNIT * rng.uniform(0.25, 1.0, _MANY)


def _factors(model, X, scale, constants):
    lengths = np.linalg.norm(X.toarray() if sparse.issparse(X) else X, axis=1) * scale
    return model.factors_of_multiples(X.copy(), lengths, constants, scale)


@intercepts
@parts
def test_a_norm_is_at_least_that_of_the_image_and_hardly_more(intercept, k, alike):
    rng = np.random.default_rng(0)
    model = _wide_model(rng, intercept, k, alike)
    X, scale = _whole(rng, model)
    entering = X * scale[:, None]
    if intercept:
        entering = np.column_stack([entering, scale / _UNIT])
    images = np.linalg.norm(entering @ model.matrix, axis=1)
    factors, norms = _factors(model, X, scale, 1.0 / _UNIT)
    assert (norms >= factors * images).all()
    assert (norms <= 1.0).all() and factors.min() < 0.9
    # A root of what is off, for images that are far shorter than most.
    more = np.sqrt(2.0 * model.norms.error) * np.linalg.norm(entering, axis=1)
    usual = norms > 0.3
    assert usual.sum() > 100
    np.testing.assert_allclose(norms[usual], (factors * images)[usual], rtol=1e-3)
    assert (norms <= (images + more) * (1.0 + 1e-9)).all()


@intercepts
@parts
def test_a_triangle_finds_the_same_norms(intercept, k, alike):
    rng = np.random.default_rng(1)
    model = _wide_model(rng, intercept, k, alike)
    X, scale = _whole(rng, model)
    constants = np.trunc(rng.uniform(0.5, 1.0, _MANY) / _UNIT)
    found, expected = (_factors(each, X, scale, constants)
                       for each in (model, replace(model, norms=None)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=0.03)


@intercepts
@parts
def test_every_row_is_measured_by_itself_with_the_same_bits(intercept, k, alike):
    rng = np.random.default_rng(2)
    model = _wide_model(rng, intercept, k, alike)
    X, scale = _whole(rng, model)
    constants = np.trunc(rng.uniform(0.5, 1.0, _MANY) / _UNIT)
    whole = _factors(model, X, scale, constants)
    for block in (1, 7, 64):
        found = [_factors(model, X[part], scale[part], constants[part])
                 for part in (slice(at, at + block) for at in range(0, _MANY, block))]
        for one, other in zip(map(np.concatenate, zip(*found, strict=True)), whole, strict=True):
            np.testing.assert_array_equal(one, other)
    for one, other in zip(_factors(model, sparse.csr_matrix(X), scale, constants), whole,
                          strict=True):
        np.testing.assert_array_equal(one, other)
    # By a triangle, and with the first columns fuller than the others.
    X[:, 70:][rng.random((_MANY, _WIDE - 70)) < 0.96] = 0.0
    model = replace(model, norms=None)
    for one, other in zip(*(_factors(model, each, scale, constants)
                            for each in (X, sparse.csr_matrix(X))), strict=True):
        np.testing.assert_array_equal(one, other)


@intercepts
@parts
def test_sums_are_the_same_in_any_order_and_container_and_no_row_adds_more(intercept, k, alike):
    rng = np.random.default_rng(3)
    model = _wide_model(rng, intercept, k, alike)
    X = rng.normal(size=(_MANY, _WIDE)) * 10.0 ** rng.uniform(-3, 2, (_MANY, 1))
    y, order = rng.integers(2, size=_MANY), rng.permutation(_MANY)
    theta = rng.normal(size=model.shape)
    totals = [whitened_grid_sums(model, Logistic(), Rows(rows, labels), 0.3).gradient(theta)
              for rows, labels in ((X, y), (X[order], y[order]), (np.asfortranarray(X), y),
                                   (sparse.csr_matrix(X), y))]
    for total in totals[1:]:
        np.testing.assert_array_equal(total, totals[0])
    for row in range(0, _MANY, 7):
        one = Rows(X[[row]], y[[row]], np.array([1e9]), np.inf)
        found = whitened_grid_sums(model, Logistic(), one, 0.3).gradient(theta)
        assert np.linalg.norm(found) <= 0.3


def test_a_map_that_is_no_such_one_is_measured_by_a_triangle():
    rng = np.random.default_rng(4)
    moment = _parts(rng, _WIDE, 3, True)
    sizes, directions = moment.inverse(_FLOOR)
    matrix = InverseRoot.of(_dense(moment), _FLOOR).matrix
    assert ImageNorms.of(matrix, sizes, directions) is not None
    assert ImageNorms.of(1.1 * matrix, sizes, directions) is None
    assert ImageNorms.of(matrix, sizes, directions[:, :2]) is None
    assert ImageNorms.of(matrix, np.full(_WIDE, np.nan), directions) is None
    assert ImageNorms.of(matrix[:40, :40], sizes[:40], directions[:40]) is None
    assert ImageNorms.of(matrix, sizes, np.tile(directions, 5)) is None
