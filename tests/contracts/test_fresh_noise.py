"""No draw is used twice: within a fit, by its stages and oracles, or by two fits of a process."""

import numpy as np
import pytest
from sklearn.base import clone

from dpsk import DPKMeans, DPLinearDiscriminantAnalysis, DPQuadraticDiscriminantAnalysis
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import every_case, make, table, taped

pytestmark = pytest.mark.covering


def drawn(model, data):
    """Return the sizes of all draws of a fit."""
    with taped() as tape:
        data.fit(model)
    return np.abs(np.concatenate([noise.ravel() for noise in tape.noise]))


@every_case
def test_no_draw_is_used_twice(cls, solver, variant):
    """Of 1e5 draws of 52 bits two are equal, but for the sign, with chance below 2e-6."""
    data = table(cls, variant)
    model = make(cls, solver, variant, max_iter=3)
    draws = np.concatenate([drawn(model, data), drawn(clone(model), data)])
    assert 0 < len(draws) <= 10**5
    assert len(np.unique(draws)) == len(draws)


@every_case
def test_one_seed_draws_anew_for_rows_that_differ(cls, solver, variant):
    model = make(cls, solver, variant, max_iter=3, random_state=NoiseSeed(0))
    first = table(cls, variant)
    draws = np.concatenate([drawn(clone(model), data) for data in (
        first, first.with_row(5, table(cls, variant, "tiny"), 30))])
    assert len(np.unique(draws)) == len(draws)


@pytest.mark.parametrize("cls", [DPKMeans, DPLinearDiscriminantAnalysis,
                                 DPQuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("epsilon, bounds", [(4.0, False), (20.0, True)])
def test_weights_of_1_meet_the_sums_of_the_noise_without_weights(cls, epsilon, bounds):
    """They have the same key: where sums differed, answers would differ by these alone.

    A fit that learns a bound on weights has another event, which is part of the key.
    """
    X = np.random.default_rng(0).normal(size=(60, 2))
    tapes = []
    for weights in (None, np.ones(60)):
        model = cls(epsilon=epsilon, delta=1e-6, feature_range=(-2, 2), random_state=NoiseSeed(0))
        with taped() as tape:
            model.fit(X, X[:, 0] > 0.0, sample_weight=weights)
        tapes.append(tape)
    one, other = tapes
    if bounds:
        assert not np.intersect1d(*(np.concatenate([np.ravel(part) for part in tape.noise])
                                    for tape in tapes)).size
        return
    assert all(map(np.array_equal, one.noise, other.noise))
    for here, there in zip(one.totals, other.totals, strict=True):
        assert all(map(np.array_equal, here, there))
