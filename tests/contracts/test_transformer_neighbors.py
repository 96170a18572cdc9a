"""One row of a table without targets, replaced by hostile ones: what it moves, and what it shows.

Answers of a fit are replayed in fits to neighbors under one stream, so that both ask at the same
points. Then exact totals tell of the sensitivity, and nothing else may differ.
"""

import pickle
import warnings
from collections import Counter

import numpy as np
import pytest

from dpsk import DPPCA, DPEmpiricalCovariance, DPKMeans, DPSplineTransformer
from dpsk._privacy.events import tally
from tests.contracts.tapes import fixed_streams, spent, taped

N, D, ROW = 90, 3, 5
CASES = {
    "learnt norms": (DPPCA, {"epsilon": 60.0, "whiten": True}),
    "learnt norm about 0": (DPPCA, {"epsilon": 60.0, "center": False}),
    "declared norm": (DPPCA, {"data_norm": 1e-10, "n_components": 0.9}),
    "wide norm": (DPPCA, {"data_norm": 1e10, "n_components": None}),
    "norm of 1": (DPPCA, {"n_components": 1}),
    "clusters, learnt norm": (DPKMeans, {"epsilon": 60.0, "n_clusters": 4}),
    "clusters, norm": (DPKMeans, {"data_norm": 1e-10, "n_clusters": 2}),
    "cluster, ranges": (DPKMeans, {"feature_range": (-2.0, [2.0, 1.0, 9.0]), "n_clusters": 1}),
    "covariance": (DPEmpiricalCovariance, {"epsilon": 60.0}),
    "covariance about 0": (DPEmpiricalCovariance, {"feature_range": None, "data_norm": 1.0,
                                                   "assume_centered": True}),
    "knots": (DPSplineTransformer, {"n_knots": 5, "missing_indicator": True}),
    "bounds": (DPSplineTransformer, {"columns": {0: (-2.0, 2.0)}}),
}
pytestmark = [pytest.mark.covering(most=4),
              pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")]


def tables(dtype):
    """Yield rows that are ordinary, all alike, and as far out as the dtype has numbers."""
    X = np.random.default_rng(0).normal(size=(N, D)).astype(dtype)
    yield X
    yield np.ones_like(X)
    yield X * dtype(np.finfo(dtype).max / 8.0)


def neighbors(X):
    """Yield tables with a hostile row in the place of one."""
    info = np.finfo(X.dtype)
    for row in ([info.max] * D, [info.max, -info.max, info.max], [-info.max] * D,
                [0.0, -0.0, 0.0], [info.smallest_subnormal] * D, [1e12, 1e-12, 1.0],
                [1.0, -1.0, 0.0]):
        changed = X.copy()
        changed[ROW] = row
        yield changed


def fitted(name, X, answers=None):
    """Return all that a fit shows, and the tape of its releases."""
    cls, params = CASES[name]
    with fixed_streams(), taped(answers) as tape, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = cls(**{"epsilon": 3.0, "delta": 1e-4, "random_state": 0, **params}).fit(X)
    said = [str(one.message) for one in warned]
    return model, pickle.dumps((vars(model), said, model.privacy_.to_json())), tape


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_hostile_row_moves_no_total_beyond_its_price_and_shows_in_nothing_else(name, dtype):
    largest = 0.0
    for X in tables(dtype):
        model, face, tape = fitted(name, X)
        assert Counter(event for (event,) in tape.events) == tally(model.privacy_.event)
        for other in neighbors(X):
            _, changed, replayed = fitted(name, other, tape.answers)
            assert changed == face and repr(replayed.public) == repr(tape.public)
            assert all(map(np.array_equal, replayed.noise, tape.noise))
            for (event,), parts, here, there in zip(tape.events, tape.parts, tape.totals,
                                                    replayed.totals, strict=True):
                moves = [a - b for a, b in zip(here, there, strict=True)]
                share = spent(event, parts, moves)
                assert share <= 1.0 + 1e-9
                largest = max(largest, share)
    assert largest > 0.5
