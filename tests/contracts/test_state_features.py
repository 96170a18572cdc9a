"""Features of states: no longer than one."""

import numpy as np
import pytest

from dpsk._models.states import LinearValues


@pytest.mark.parametrize("bounds", [(1.0, 1.0 + 2.0**-52), (1.6e18, 1.6e18 + 256), (-3.0, 5.0)])
def test_features_are_no_longer_than_one_at_the_ends_of_any_bounds(bounds):
    ends = np.array(bounds)[np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0]])]
    features = LinearValues(3, np.array([bounds] * 3)).features(ends)
    assert np.einsum("ij,ij->i", features, features).max() <= 1.0
