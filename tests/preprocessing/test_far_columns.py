"""Columns far from 0, as degrees in a city and time stamps, are learned from as near 0."""

import numpy as np
import pytest
from scipy import stats

from dpsk import (
    DPAdditiveRegressor,
    DPMinMaxScaler,
    DPQuantileTransformer,
    DPSplineTransformer,
)
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


def test_ends_of_many_columns_on_few_rows_lie_among_the_rows():
    """Half of 30 columns had an outer median far from all rows; one has a median or spread."""
    units = 10.0 ** np.arange(-3, 3).repeat(5)
    X = rows(0.0, n=2000, width=30)
    model = DPAdditiveRegressor(epsilon=1.0, target_bounds=(-5.0, 5.0),
                                random_state=NoiseSeed(0)).fit(units * X, X[:, 0])
    ends = np.array([term.axes[0].knots[[0, -1]] for term in model.terms_]).T / units
    assert (np.abs(ends).max(axis=0) > 4.0).sum() <= 8
    assert (ends[1] - ends[0]).min() > 0.3


def test_flags_among_many_columns_keep_both_values():
    """Their spread is 0, and so would be the distance of the ends."""
    X = rows(0.0, n=1500, width=30)
    X[:, :10] = np.abs(X[:, :10]) > 1.5
    coder = DPSplineTransformer(epsilon=0.4, random_state=NoiseSeed(0)).fit(X)
    features = coder.transform([[0.0] * 30, [1.0] * 30])
    widths = [len(knots) for knots in coder.knots_.values()]
    for column in np.split(features, np.cumsum(widths)[:-1], axis=1)[:10]:
        assert np.abs(np.diff(column, axis=0)).max() == 1.0


def test_ends_about_a_median_far_beyond_its_spread_stay_apart():
    """After rounding, they were one knot, and a column of the planned width was lost."""
    for seed in range(30, 34):
        coder = DPSplineTransformer(epsilon=0.8, random_state=NoiseSeed(seed))
        knots = coder.fit(np.full((300, 17), np.nan)).knots_.values()
        assert min(map(len, knots)) >= 2
