"""No draw is used twice: within a fit, by its stages and oracles, or by two fits of a process."""

import numpy as np
import pytest
from sklearn.base import clone

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
    """Of 1e4 draws of 52 bits two are equal, but for the sign, with chance below 1e-7."""
    data = table(cls, variant)
    model = make(cls, solver, variant, max_iter=3)
    draws = np.concatenate([drawn(model, data), drawn(clone(model), data)])
    assert 0 < len(draws) <= 10**4
    assert len(np.unique(draws)) == len(draws)


@every_case
def test_one_seed_draws_anew_for_rows_that_differ(cls, solver, variant):
    model = make(cls, solver, variant, max_iter=3, random_state=NoiseSeed(0))
    first = table(cls, variant)
    draws = np.concatenate([drawn(clone(model), data) for data in (
        first, first.with_row(5, table(cls, variant, "tiny"), 30))])
    assert len(np.unique(draws)) == len(draws)
