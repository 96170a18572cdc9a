"""A row moves no sum about a released center beyond its price, and shows in nothing else."""

import numpy as np
import pytest

from dpsk import DPLinearRegression, DPLogisticRegression, DPMLPClassifier, DPRidge
from dpsk._sums import grid_entry
from tests.contracts.test_group_neighbors import largest_share

N, D, WHO = 120, 4, 5
_BOUNDS = {"target_bounds": (0.0, 1.0)}
FITS = {
    "whitened": (DPLogisticRegression, {"max_iter": 3}),
    "plain": (DPLogisticRegression, {"max_iter": 3, "precondition": False}),
    "scaled": (DPLogisticRegression, {"max_iter": 3, "precondition": "unit_norm"}),
    "sampled": (DPLinearRegression, {"solver": "sgd", "batch_size": 20, "max_iter": 3, **_BOUNDS}),
    "moments": (DPRidge, _BOUNDS),
    "network": (DPMLPClassifier, {"hidden_layer_sizes": (3,), "max_iter": 3}),
}


def table(offset, dtype, order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * rng.choice([0.1, 1.0, 3.0], size=(N, 1))
    return np.asarray(X + offset, dtype, order), (X[:, 0] > 0.0).astype(int)


def others(center):
    """Yield rows far from a center, at it, just off it, and in other octaves about it."""
    # Networks refuse longer rows than single precision holds, by the public dtype.
    largest = float(np.finfo(np.float32).max)
    yield from (np.full(D, each) for each in (largest, -largest, 1e-45, -0.0))
    yield np.array([largest, -largest, largest, 0.0])
    yield center
    yield np.nextafter(center, np.inf)
    for power in (-20, 1, 5, 39, 60):
        yield center + 2.0**power
        yield center - 2.0**power


@pytest.mark.covering
@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("offset, dtype, order", [(30.0, np.float32, "C"), (1e6, float, "F"),
                                                  (0.0, float, "C")], ids=["near", "far", "at"])
def test_a_row_moves_no_total_beyond_its_price_and_shows_in_nothing_else(
        name, offset, dtype, order, monkeypatch):
    # Later passes read rows again.
    monkeypatch.setattr(grid_entry, "_SMALL_BYTES", 0)
    cls, params = FITS[name]

    def job(X, y):
        model = cls(epsilon=50.0, delta=1e-4, random_state=0, **params).fit(X, y)
        (rounds,) = (line.value for line in model.privacy_.enforced
                     if line.name == "center_norms")
        assert len(rounds) == 4
        return model

    def neighbors(X, y):
        for row in others(np.asarray(job(X, y).center_, float)):
            changed, turned = X.copy(order="K"), y.copy()
            changed[WHO], turned[WHO] = row, 1 - y[WHO]
            yield changed, turned

    rows = table(offset, dtype, order)
    assert largest_share(job, rows, neighbors(*rows)) > 0.3
