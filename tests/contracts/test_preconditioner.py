"""Whatever matrix was released, mapped rows have norm at most 1 and stay rows."""

import numpy as np
import pytest
from scipy import sparse

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._models import LinearModel, Preconditioner
from dpsk._models.clipping import HEADROOM

_N, _FEATURES = 40, 3
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])


def _rows(dtype="float64"):
    top = np.finfo(dtype).max
    X = np.random.default_rng(0).normal(size=(_N, _FEATURES)).astype(dtype)
    X[:6] = [[0, 0, 0], [top, 0, 0], [top, -top, top], [np.finfo(dtype).tiny, 0, 0],
             [1e30, 1.0, 0], [0, 1e-30, 0]]
    return X


def _matrices(size):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(size, size))
    regular = A @ A.T
    singular = np.outer(A[0], A[0])
    broken = regular.copy()
    broken[0, 0] = np.inf
    void = regular.copy()
    void[0, 0] = np.nan
    return {"identity": np.eye(size), "regular": regular, "singular": singular,
            "indefinite": regular - 3 * np.eye(size), "zero": np.zeros((size, size)),
            "huge": 1e200 * regular, "overflowing": 1e308 * np.sign(A + A.T),
            "tiny": 1e-100 * regular, "vanishing": 1e-161 * regular, "denormal":
            1e-322 * np.ones((size, size)), "infinite": broken, "nan": void,
            "graded": np.diag(10.0 ** np.linspace(-150, 150, size))}


matrices = pytest.mark.parametrize("kind", sorted(_matrices(2)))


def _map(kind, fit_intercept, data_norm=1.0):
    model = LinearModel(_FEATURES, None, fit_intercept, data_norm)
    return Preconditioner(model, _matrices(model.shape[0])[kind], normalizes=True)



def _mapped(row_map, X):
    return Rows(X, np.zeros(len(X))).mapped(row_map).X


@matrices
@intercepts
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("data_norm", [1e-6, 1.0, 1e6])
def test_every_mapped_row_is_finite_and_has_norm_at_most_one(
        kind, fit_intercept, dtype, data_norm):
    with np.errstate(all="ignore"):
        rows = _mapped(_map(kind, fit_intercept, data_norm), _rows(dtype))
    assert rows.dtype == np.float64 and rows.shape == (_N, _FEATURES + fit_intercept)
    assert np.all(np.isfinite(rows))
    assert np.linalg.norm(rows, axis=1).max() <= 1.0


@matrices
@intercepts
def test_changing_one_row_changes_its_own_image_only(kind, fit_intercept):
    X = _rows()
    mapped = _map(kind, fit_intercept)
    with np.errstate(all="ignore"):
        before = _mapped(mapped, X)
        for hostile in ([0.0, 0.0, 0.0], [1e308, -1e308, 1.0], [1e-320, 0.0, 0.0]):
            changed = X.copy()
            changed[17] = hostile
            after = _mapped(mapped, changed)
            others = np.arange(_N) != 17
            np.testing.assert_array_equal(after[others], before[others])


@intercepts
def test_an_image_has_the_direction_of_the_mapped_scaled_row(fit_intercept):
    mapped = _map("regular", fit_intercept, 0.5)
    X = _rows()[6:]
    entered = X * np.minimum(1.0, 0.5 * HEADROOM / np.linalg.norm(X, axis=1))[:, None]
    if fit_intercept:
        entered = np.column_stack([entered, np.ones(len(X))])
    images = entered @ mapped.matrix
    expected = images * (HEADROOM / np.linalg.norm(images, axis=1, keepdims=True))
    np.testing.assert_allclose(_mapped(mapped, X), expected, rtol=1e-9)


@intercepts
def test_an_image_that_vanishes_gets_no_direction(fit_intercept):
    mapped = _map("zero", fit_intercept)
    np.testing.assert_array_equal(_mapped(mapped, _rows()[:1]), 0.0)


@intercepts
@pytest.mark.parametrize("outputs", [(), (3,)])
def test_raw_predictions_are_those_of_mapped_rows(fit_intercept, outputs):
    X = _rows()
    X[np.random.default_rng(2).random(X.shape) < 0.4] = 0.0
    mapped = _map("regular", fit_intercept)
    theta = np.random.default_rng(3).normal(size=(_FEATURES + fit_intercept, *outputs))
    coef = (mapped.matrix @ theta)[:_FEATURES]
    intercept = (mapped.matrix @ theta)[-1] if fit_intercept else np.zeros(outputs)
    with np.errstate(all="ignore"):
        expected = _mapped(mapped, X) @ theta
        for rows in (X, sparse.csr_matrix(X)):
            np.testing.assert_allclose(mapped.predict_raw(coef, intercept, rows), expected,
                                       rtol=1e-9, atol=1e-12)


def test_blocks_make_no_difference(monkeypatch):
    mapped, X = _map("regular", True), _rows()
    with np.errstate(all="ignore"):
        theta = np.ones(_FEATURES), 1.0
        whole = _mapped(mapped, X), mapped.predict_raw(*theta, X)
        monkeypatch.setattr(blocks, "_ENTRIES", 7 * 4)
        parts = _mapped(mapped, X), mapped.predict_raw(*theta, X)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-300)
