"""Columns far from 0, as degrees in a city and time stamps, are learned from as near 0."""

import numpy as np
import pytest
from scipy import stats

from dpsk import DPAdditiveRegressor, DPMinMaxScaler, DPQuantileTransformer
from dpsk.testing import NoiseSeed

#: Distances from 0 in standard deviations.
every_offset = pytest.mark.parametrize("offset", [0.0, 1e2, -1e4, 1e6])


def rows(offset, n=6000, width=10):
    return np.random.default_rng(0).normal(size=(n, width)) + offset


@every_offset
def test_ends_are_those_of_a_column_near_0(offset):
    """Of ten columns at 1e6, some end was at 0 or -6e7 in most fits, so the column was constant.

    At most .21 of the rows lie beyond each end on purpose, give or take the noise on ranks.
    """
    scaler = DPMinMaxScaler(epsilon=1.0, random_state=NoiseSeed(0)).fit(rows(offset))
    shares = stats.norm.cdf([scaler.data_min_ - offset, offset - scaler.data_max_])
    assert shares.min() > 1e-3 and shares.max() < 0.25
    assert scaler.transform(rows(offset)).std(axis=0).min() > 0.2


@every_offset
def test_knots_are_those_of_a_column_near_0(offset):
    """Most columns had a quartile far from all rows, so that they were constant."""
    X = rows(offset, n=3000, width=8)
    scaler = DPQuantileTransformer(epsilon=0.4, random_state=NoiseSeed(0)).fit(X)
    assert scaler.transform(X).std(axis=0).min() > 0.15


@every_offset
def test_shape_functions_are_those_of_columns_near_0(offset):
    """From afar scores were those of a constant."""
    X = rows(offset, n=3000, width=8)
    y = (X - offset) @ [1.0, -1.0, 0.7, 0.0, 0.5, 0.0, 0.0, 0.0]
    model = DPAdditiveRegressor(epsilon=0.7, target_bounds=(-5.0, 5.0), random_state=NoiseSeed(0))
    assert model.fit(X, y).score(X, y) > 0.85
