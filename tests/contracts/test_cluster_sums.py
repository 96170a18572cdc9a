"""Noisy sums of clusters: how far one row moves them, and that they are exact."""

import itertools

import numpy as np
import pytest

from dpsk._data import blocks
from dpsk._mechanism.session import Session
from dpsk._models.ranges import RangedRows
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._stages.cluster_laws import ClusterLaws
from dpsk._statistics.class_moments import noisy_class_moments, on_grid
from dpsk._statistics.cluster_sums import NearestRows, noisy_cluster_sums
from tests.contracts.tapes import spent, taped

_KEY, MU = bytes(range(16)), 0.5
radii = pytest.mark.parametrize("radius", [1e-3, 1.0, 1e4])


def source(X, points, radii=1.0, bound=4.0, weights=None, basis=None):
    row_map = RangedRows(np.zeros(X.shape[1]), None, None, X.dtype)
    return NearestRows(X, np.zeros(len(X)), weights, row_map=row_map, scale=np.ones(X.shape[1]),
                       bound=bound, basis=basis, points=points,
                       radii=np.broadcast_to(radii, len(points)))


def totals(rows, mu=MU):
    """Return exact totals, the event, and the noise of every part."""
    with taped() as tape, np.errstate(all="ignore"):
        noisy_cluster_sums(rows, mu, Session(KeyedStream(_KEY), Ledger(Gaussian(mu))))
    return tape.totals[0], tape.events[0][0], tape.parts[0]


@radii
@pytest.mark.parametrize("mu", [1e-5, 0.5, 40.0])
def test_replacing_a_row_stays_within_the_price_and_reaches_it(radius, mu):
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    points, radii = radius * np.array([[0.0, 0.0], [5.0, 0.0]]), radius * np.array([1.0, 0.125])
    rows = np.vstack([radius * circle, 0.7 * radius * circle, 3 * radius * circle,
                      points[1] + radius * circle, [[0.0, 0.0], [1e300, -1e300]]])
    for weights in (None, [1.0, 0.5, 0.25], [0.3, 1.0, 1.0]):
        weights = None if weights is None else np.array(weights)
        found = [totals(source(np.vstack([row, np.full((2, 2), 0.1)]), points, radii,
                               16 * radius, weights), mu) for row in rows]
        shares = [spent(one[1], one[2], [a - b for a, b in zip(one[0], other[0], strict=True)])
                  for one, other in itertools.combinations(found, 2)]
        assert max(shares) <= 1.0 + 1e-9
        assert weights is not None or max(shares) > 0.999


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_are_the_same_bits_in_blocks_of_any_length(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    X, points = rng.normal(size=(700, 3)).astype(dtype), rng.normal(size=(5, 3))
    basis = on_grid(np.linalg.qr(rng.normal(size=(3, 2)))[0])
    inside, weights = rng.normal(size=(4, 2)), rng.uniform(size=700)

    def found():
        with taped() as tape:
            session = Session(KeyedStream(_KEY), Ledger(Gaussian(MU)))
            noisy_class_moments(source(X, inside, basis=basis), 4, np.eye(2), 1.3, MU, session)
        whole, _, _ = totals(source(X, points, 1.1, weights=weights))
        return [*whole, *tape.totals[0]]

    usual = found()
    monkeypatch.setattr(blocks, "_ENTRIES", 21)
    monkeypatch.setattr(blocks, "_FEW_ROWS", 1)
    for one, other in zip(usual, found(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_sums_are_those_of_the_nearest_points():
    rng = np.random.default_rng(1)
    X, points = rng.normal(size=(300, 3)), rng.normal(size=(4, 3))
    session = Session(KeyedStream(_KEY), Ledger(Gaussian(1e9)))
    sums = noisy_cluster_sums(source(X, points, [50.0, 20.0, 40.0, 80.0], 100.0), 1e9, session)
    nearest = ((X[:, None] - points)**2).sum(axis=2).argmin(axis=1)
    for place, point in enumerate(points):
        own = X[nearest == place] - point
        assert sums.counts[place] == pytest.approx(len(own), abs=1e-4)
        np.testing.assert_allclose(sums.sums[place], own.sum(axis=0), atol=1e-2)
        assert sums.squares[place] == pytest.approx((own**2).sum(), abs=1e-2)


def test_laws_are_split_where_they_are_wide_and_merged_where_they_are_near():
    covariances = np.array([np.diag([9.0, 1.0]), np.eye(2) * 0.1, np.eye(2) * 0.1])
    laws = ClusterLaws.of(np.array([100.0, 50.0, 50.0]),
                          np.array([[0.0, 0.0], [40.0, 0.0], [40.5, 0.0]]), covariances)
    again = laws.rearranged(3)
    assert again.weights.sum() == pytest.approx(200.0)
    np.testing.assert_allclose(np.sort(again.means[:, 0]),
                               [-np.sqrt(18 / np.pi), np.sqrt(18 / np.pi), 40.25])
    assert len(laws.rearranged(7)) == 7 and len(laws.rearranged(1)) == 1
    np.testing.assert_allclose(laws.rearranged(1).means, [[20.125, 0.0]])


def test_rounding_does_not_choose_among_directions_of_equal_variance():
    """Kernels of BLAS round differently, and would else split clusters another way."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    for values in ((1.0, 1.0, 1.0, 1.0), (0.2, 1.0, 1.0, 1.0), (0.1, 0.2, 0.3, 1.0)):
        covariance, found = (turn * values) @ turn.T, []
        for _ in range(20):
            noise = 1e-14 * rng.normal(size=(4, 4))
            found.append(ClusterLaws.of([1.0], np.zeros((1, 4)), (
                covariance + noise + noise.T)[None]).steps[0])
        np.testing.assert_allclose(found, np.tile(found[0], (20, 1)), atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(found[0])**2, 2.0 / np.pi)
        np.testing.assert_allclose(found[0] @ covariance, found[0], atol=1e-9)


@pytest.mark.parametrize("method", ["subset", "mapped", "viewed", "clipped_by", "with_features"])
def test_rows_about_their_nearest_points_are_read_in_sums_alone(method):
    """Their own rows would else be handed out, as those that were mapped but not moved."""
    rows = source(np.zeros((3, 2)), np.zeros((1, 2)))
    with pytest.raises(NotImplementedError, match="sums alone"):
        getattr(rows, method)(None)
