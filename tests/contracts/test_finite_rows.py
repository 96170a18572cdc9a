"""Rows that are not finite never get in, whatever the settings around a fit and the storage."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import is_regressor

from dpsk._data.structure import without_duplicates
from dpsk._models import LinearModel
from dpsk.testing import NoiseSeed
from tests.loops import in_a_row
from tests.registry import every_estimator, every_linear_estimator, is_linear, training_rows

dtypes = in_a_row("dtype", ["float32", "float64"])
containers = pytest.mark.parametrize("container", [
    np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
values = in_a_row("value", [np.nan, np.inf, -np.inf])
trust = in_a_row("assume_finite", [False, True])


def _refused(model, *rows, **params):
    """Check that a fit is refused for what is not finite, and leaves nothing behind."""
    before = set(vars(model))
    with pytest.raises(ValueError, match=r"NaN|infinity|finite"):
        model.fit(*rows, **params)
    assert set(vars(model)) - before <= {"n_features_in_"}


@every_estimator
@containers
@dtypes
@values
@trust
def test_rows_that_are_not_finite_are_refused(cls, container, dtype, value, assume_finite):
    model = cls()
    if not is_linear(cls) and container not in (np.asarray, np.asfortranarray):
        pytest.skip("takes no sparse rows")
    X, y = training_rows(model)
    X = X.astype(dtype)
    X[17, 2] = value
    with sklearn.config_context(assume_finite=assume_finite):
        _refused(model, container(X), y)


@every_estimator
@values
@trust
def test_targets_and_weights_that_are_not_finite_are_refused(cls, value, assume_finite):
    X, y = training_rows(cls())
    weights = np.ones(len(y))
    weights[3] = value
    with sklearn.config_context(assume_finite=assume_finite):
        _refused(cls(), X, y, sample_weight=weights)
        if is_regressor(cls()):
            y = y.copy()
            y[3] = value
            _refused(cls(), X, y)


@every_estimator
def test_a_fit_leaves_the_settings_as_they_are(cls):
    model = cls()
    with sklearn.config_context(assume_finite=True):
        model.fit(*training_rows(model))
        assert sklearn.get_config()["assume_finite"]
    assert not sklearn.get_config()["assume_finite"]


def _doubled(X, pieces):
    """Return X in CSR with every entry split into two of the same place, `pieces` of it."""
    whole = sparse.csr_matrix(X)
    data = np.column_stack([whole.data * piece for piece in pieces]).ravel()
    return sparse.csr_matrix((data.astype(X.dtype), np.repeat(whole.indices, 2),
                              2 * whole.indptr), shape=X.shape)


@every_linear_estimator
@dtypes
@trust
def test_entries_of_one_place_that_overflow_together_are_refused(cls, dtype, assume_finite):
    model = cls()
    X, y = training_rows(model)
    rows = _doubled(X.astype(dtype), (0.5, 0.5))
    rows.data[rows.indptr[5]:rows.indptr[5] + 2] = 0.75 * np.finfo(dtype).max
    assert np.all(np.isfinite(rows.data))
    with sklearn.config_context(assume_finite=assume_finite):
        _refused(model, rows, y)


@pytest.mark.parametrize("flags", [{}, {"has_canonical_format": True},
                                   {"has_sorted_indices": True},
                                   {"has_sorted_indices": True, "has_canonical_format": True}])
def test_flags_of_a_matrix_that_are_out_of_date_do_not_hide_repeated_entries(flags):
    X = np.array([[3.0, 0.0, -4.0], [0.0, 0.5, 0.0]])
    rows = _doubled(X, (10.0, -9.0))
    for flag, state in flags.items():
        setattr(rows, flag, state)
    before = rows.data.copy()
    merged = without_duplicates(rows)
    assert merged.nnz == 3
    np.testing.assert_array_equal(merged.toarray(), X)
    # Unmerged, the first row would seem longer than it is, and a row of 3 - 3 far too short.
    _, norms = LinearModel(3, None, False, 100.0).row_scales(merged)
    np.testing.assert_allclose(norms, [5.0, 0.5])
    np.testing.assert_array_equal(rows.data, before)


@every_linear_estimator
def test_a_fit_on_repeated_entries_is_that_on_their_sums_whatever_the_flags_say(cls):
    model = cls(random_state=NoiseSeed(0), precondition=False)
    X, y = training_rows(model)
    expected = model.fit(sparse.csr_matrix(X), y).coef_.copy()
    for canonical in (False, True):
        rows = _doubled(X, (0.5, 0.5))
        rows.has_canonical_format = canonical
        np.testing.assert_array_equal(model.fit(rows, y).coef_, expected)
    # A flag that is out of date does not let an overflow in either.
    rows.data[:2] = 0.75 * np.finfo(float).max
    rows.has_canonical_format = True
    _refused(cls(), rows, y)
