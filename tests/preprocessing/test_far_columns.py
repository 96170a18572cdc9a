"""Columns far from 0, as degrees in a city and time stamps, are learned from as near 0."""

import numpy as np
import pytest
from scipy import stats

from dpsk import DPMinMaxScaler
from dpsk.testing import NoiseSeed

#: Distances from 0 in standard deviations.
OFFSETS = (0.0, 1e2, -1e4, 1e6)


def rows(offset, n=6000):
    return np.random.default_rng(0).normal(size=(n, 10)) + offset


@pytest.mark.parametrize("offset", OFFSETS)
def test_ends_are_those_of_a_column_near_0(offset):
    """Of ten columns at 1e6, some end was at 0 or -6e7 in most fits, so the column was constant.

    At most .21 of the rows lie beyond each end on purpose, give or take the noise on ranks.
    """
    scaler = DPMinMaxScaler(epsilon=1.0, random_state=NoiseSeed(0)).fit(rows(offset))
    shares = stats.norm.cdf([scaler.data_min_ - offset, offset - scaler.data_max_])
    assert shares.min() > 1e-3 and shares.max() < 0.25
    assert scaler.transform(rows(offset)).std(axis=0).min() > 0.2
