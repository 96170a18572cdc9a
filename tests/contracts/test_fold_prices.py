"""The folds that cost a row most."""

import numpy as np

from dpsk.accounting import Gaussian, SampledGaussian, compose, delta
from dpsk.metrics._cross_validation import _worst


class _Priced:
    def __init__(self, event):
        self.event = event


def test_where_prices_have_no_order_all_trainings_count():
    members = ~np.eye(3, dtype=bool)
    gaussians = [_Priced(Gaussian(mu)) for mu in (0.1, 0.3, 0.2)]
    assert _worst(gaussians, members) == gaussians[1:]
    same = [_Priced(SampledGaussian(0.1, 2.0)) for _ in range(3)]
    assert len(_worst(same, members)) == 2
    mixed = [*same[:2], _Priced(SampledGaussian(0.2, 2.0))]
    assert _worst(mixed, members) == mixed
    # A row that is in the two dearest pays for them.
    uneven = np.array([[1, 0, 1], [0, 1, 0], [0, 1, 1]], bool)
    assert delta(compose(*(each.event for each in _worst(gaussians, uneven))), 0.1) == \
        delta(compose(Gaussian(0.3), Gaussian(0.2)), 0.1)
