"""Whitened rows of a network: a map of each row by itself, finite whatever the row."""

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._models import MLP
from dpsk._stages.network_whitening import WhitenedRows


def mapped(X, center=(0.5, -1.0, 0.0), matrix=None, data_norm=None):
    matrix = np.diag([1.0, 1e3, 1e-3]) if matrix is None else matrix
    row_map = WhitenedRows(MLP(3, (4,), None, data_norm=data_norm),
                           np.array(center, np.float32), matrix.astype(np.float32))
    with np.errstate(all="ignore"):
        return Rows(X.astype(np.float32), np.zeros(len(X))).mapped(row_map).X


def test_rows_are_centered_then_multiplied():
    X = np.random.default_rng(0).normal(size=(50, 3))
    matrix = np.random.default_rng(1).normal(size=(3, 3))
    np.testing.assert_allclose(mapped(X, matrix=matrix), (X - [0.5, -1.0, 0.0]) @ matrix,
                               atol=1e-5)


@pytest.mark.parametrize("entry", [1e30, 3e38, -3e38, 1e-40])
def test_a_row_that_is_replaced_moves_no_other_and_stays_finite(entry):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    far = X.copy()
    far[7] = entry
    before, after = mapped(X), mapped(far)
    others = np.arange(len(X)) != 7
    np.testing.assert_array_equal(before[others], after[others])
    assert np.isfinite(after).all()
    if abs(entry) > 1.0:
        assert not after[7].any()


def test_a_declared_bound_shortens_rows_before_the_map():
    X = np.array([[1e30, 0.0, 0.0], [0.1, 0.0, 0.0]])
    found = mapped(X, center=(0.0, 0.0, 0.0), matrix=np.eye(3), data_norm=2.0)
    np.testing.assert_allclose(found[:, 0], [2.0, 0.1], rtol=1e-5)
