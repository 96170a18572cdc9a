"""One row of a table, or one group, replaced by hostile ones: what it moves, and what it shows.

Answers of a fit are replayed in fits to neighbors under one stream, so that both ask at the same
points. Then exact totals tell of the sensitivity, and nothing else may differ.
"""

import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import dpsk
from tests.contracts.tapes import fixed_streams, spent, taped
from tests.events import tally

N, D, ROW = 90, 3, 5
NORMAL = ("DPGaussianNB", "DPLinearDiscriminantAnalysis", "DPQuadraticDiscriminantAnalysis")
SETTINGS = {
    "learnt ranges": {"epsilon": 60.0},
    "learnt norms": {"epsilon": 60.0, "feature_range": None},
    "declared norm": {"feature_range": None, "data_norm": 1e-10},
    "far range": {"feature_range": (-1e30, 1e30), "data_norm": 1e10},
    "few rows": {"feature_range": (-2, 2), "epsilon": 0.3},
    "weights": {"feature_range": (-2, 2)},
    "groups": {"feature_range": (-2, 2)},
}
COUNTED = {
    "DPBernoulliNB": {"plain": {}, "weights": {"binarize": 0.5}, "groups": {"binarize": None}},
    "DPMultinomialNB": {"learnt norms": {"epsilon": 60.0}, "few rows": {"epsilon": 0.3},
                        "weights": {"data_norm": 1e-10}, "groups": {"data_norm": 1.0},
                        "sparse": {"data_norm": 1.0}},
    "DPCategoricalNB": {"learnt codes": {"epsilon": 60.0}, "few rows": {"epsilon": 0.3},
                        "weights": {"min_categories": 3}, "groups": {"min_categories": [1, 2, 3]}},
}
CASES = {**{f"{name}, {case}": (name, case, params) for name in NORMAL
            for case, params in SETTINGS.items()},
         **{f"{name}, {case}": (name, case, params) for name, own in COUNTED.items()
            for case, params in own.items()}}
every_case = pytest.mark.parametrize("name", CASES)
pytestmark = [pytest.mark.covering(most=8),
              pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")]


def tables(dtype):
    """Yield features, the indices of classes, weights, and whose rows they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).astype(dtype)
    even, weights = np.arange(N) % 3, rng.uniform(size=N)
    owners = np.arange(N) // 3
    yield X, even, weights, owners
    yield np.ones_like(X), np.minimum(even, 1), np.ones(N), owners
    yield X * dtype(np.finfo(dtype).max / 8.0), np.minimum(even, 1), weights, owners


def neighbors(table, of_groups):
    """Yield tables with hostile rows in the place of one, of its class or of another.

    Of groups in the place of all of its rows, one of which may go over to it from no other.
    """
    X, y, weights, owners = table
    info = np.finfo(X.dtype)
    own = np.flatnonzero(owners == owners[ROW]) if of_groups else [ROW]
    for label, row in enumerate((
            [info.max] * 3, [info.max, -info.max, 0.0], [-info.max, info.max, 1.0],
            [0.0, -0.0, 0.0], [info.smallest_subnormal] * 3, [1e12, 1e-12, 1.0],
            [-1.0, 1.0, 1.0], [-2.0, -2.0, -2.0])):
        changed, labels, others = X.copy(), y.copy(), weights.copy()
        changed[own], labels[own], others[own] = row, (label + np.arange(len(own))) % 3, (
            (0.0, 1.0, 1e9)[label % 3])
        yield changed, labels, others, owners


def fitted(name, table, answers=None):
    """Return all that a fit shows, and the tape of its releases."""
    (cls, case, params), (X, y, weights, owners) = CASES[name], table
    params = {"epsilon": 3.0, "delta": 1e-4, "random_state": 0, "classes": [0, 1, 2], **params}
    X = np.abs(X) if cls in COUNTED else X
    X = sparse.csr_matrix(X) if case == "sparse" else X
    more = {"weights": {"sample_weight": weights}, "groups": {"groups": owners}}.get(case, {})
    with fixed_streams(), taped(answers) as tape, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = getattr(dpsk, cls)(**params).fit(X, y, **more)
    said = [str(one.message) for one in warned]
    return model, pickle.dumps((vars(model), said, model.privacy_.to_json())), tape


@every_case
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_hostile_row_moves_no_total_beyond_its_price_and_shows_in_nothing_else(name, dtype):
    largest = 0.0
    for table in tables(dtype):
        model, face, tape = fitted(name, table)
        charged = Counter(event for (event,) in tape.events)
        assert charged == tally(model.privacy_.event)
        for other in neighbors(table, name.endswith("groups")):
            _, changed, replayed = fitted(name, other, tape.answers)
            assert changed == face and repr(replayed.public) == repr(tape.public)
            assert all(map(np.array_equal, replayed.noise, tape.noise))
            for (event,), parts, here, there in zip(tape.events, tape.parts, tape.totals,
                                                    replayed.totals, strict=True):
                share = spent(event, parts, [a - b for a, b in zip(here, there, strict=True)])
                assert share <= 1.0 + 1e-9
                largest = max(largest, share)
    assert largest > 0.5
