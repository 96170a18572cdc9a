"""Answers about differences: clipped by public points, noised at scale, charged first."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.events import Gaussian, Repeated, SampledGaussian, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream, poisson_batches
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Differences
from dpsk._queries.differences import DifferenceOracle
from dpsk._sums.differences import DifferenceSums
from tests.contracts.units import assert_whole, unit_and_scale
from tests.registry import every_loss, make_loss, make_model, make_targets, usable_clip

_KEY = bytes(range(16))
_Z, _RATIO, _N = 1.7, 2.5, 50


class CountingStream(KeyedStream):
    """A keyed stream that counts what is drawn from it."""

    drawn = 0

    def words(self, count):
        self.drawn += count
        return super().words(count)


def _sums(name="logistic", n=_N, clip_norm=0.3, weights=None, bound=1.0, as_rows=np.asarray):
    rng = np.random.default_rng(0)
    model, loss = make_model(name), make_loss(name)
    rows = Rows(as_rows(rng.normal(size=(n, 3))), make_targets(name, n, rng), weights, bound)
    return DifferenceSums(model, loss, rows, usable_clip(loss, model, clip_norm))


def _oracle(sums, batches, anchors=2, differences=3, plan=None):
    declared = Differences(NoisySums(FullBatch(), anchors, _RATIO),
                           NoisySums(batches, differences), sums.clip_norm)
    stream, ledger = CountingStream(_KEY), Ledger(plan or declared(_Z))
    return DifferenceOracle(sums, declared, _Z, Session(stream, ledger)), stream, ledger


def _points(sums, distance=1.0, seed=1):
    rng = np.random.default_rng(seed)
    anchor, move = rng.normal(size=(2, *sums.model.shape))
    return anchor + distance * move / np.linalg.norm(move), anchor


def _differences(sums, theta, anchor):
    """Return every row's difference of clipped gradients, as one sum of that row each."""
    return [sums.gradient(theta, np.array([i])) - sums.gradient(anchor, np.array([i]))
            for i in range(sums.n_samples)]


@pytest.mark.covering
@every_loss
@pytest.mark.parametrize("clip_norm", [0.01, 0.3, np.inf])
@pytest.mark.parametrize("distance", [1e-9, 1e-3, 1.0, 1e3])
def test_with_a_true_smoothness_the_public_bound_clips_nothing(name, clip_norm, distance):
    sums = _sums(name, clip_norm=clip_norm)
    theta, anchor = _points(sums, distance)
    bound = sums.bound(theta, anchor)
    sums.anchor_gradient(anchor)
    parts = _differences(sums, theta, anchor)
    assert max(map(np.linalg.norm, parts)) <= bound * (1 + 1e-6)
    total = sums.difference(theta, anchor, bound)
    np.testing.assert_allclose(total, np.sum(parts, axis=0), rtol=1e-6, atol=1e-6 * bound)


@pytest.mark.covering
@every_loss
@pytest.mark.parametrize("share", [1e-6, 1e-2, 0.3])
def test_a_bound_below_the_differences_is_enforced_row_by_row(name, share):
    sums = _sums(name)
    theta, anchor = _points(sums, 3.0)
    sums.anchor_gradient(anchor)
    exact = _differences(sums, theta, anchor)
    bound = share * max(map(np.linalg.norm, exact))
    expected = []
    for i, part in enumerate(exact):
        clipped = sums.difference(theta, anchor, bound, np.array([i]))
        assert np.linalg.norm(clipped) <= bound
        expected.append(part * min(1.0, bound / max(np.linalg.norm(part), 1e-300)))
        np.testing.assert_allclose(clipped, expected[-1], rtol=1e-6, atol=1e-6 * bound)
    np.testing.assert_allclose(sums.difference(theta, anchor, bound), np.sum(expected, axis=0),
                               rtol=1e-6, atol=1e-6 * bound)


def test_the_bound_is_of_both_clips_and_of_the_distance():
    sums = _sums()
    theta, anchor = _points(sums, 1e-3)
    smooth = sums.smoothness * np.linalg.norm(theta - anchor)
    assert smooth < sums.bound(theta, anchor) < smooth * (1 + 1e-11)
    assert sums.bound(*_points(sums, 1e6)) == sums.clip_norm
    signed = _sums("huber")
    assert signed.bound(*_points(signed, 1e6)) == 2 * signed.clip_norm
    nearby = np.nextafter(anchor, np.inf)
    assert sums.bound(nearby, anchor) == 2.0**-30 * sums.clip_norm
    assert sums.bound(anchor.copy(), anchor) == 0.0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_points_that_overflow_are_bounded_by_the_two_clips(value):
    sums = _sums()
    theta, anchor = np.full(4, value), np.full(4, -1e308)
    with np.errstate(all="ignore"):
        bound = sums.bound(theta, anchor)
        sums.anchor_gradient(anchor)
        total = sums.difference(theta, anchor, bound)
    assert bound == sums.clip_norm
    assert np.all(np.isfinite(total))


@every_loss
def test_weights_and_sparse_rows_enter_differences_as_they_enter_gradients(name):
    weights = np.random.default_rng(2).uniform(0, 3, size=_N)
    dense = _sums(name, weights=weights, bound=2.0)
    theta, anchor = _points(dense, 0.5)
    bound = dense.bound(theta, anchor)
    at_anchor = dense.anchor_gradient(anchor)
    np.testing.assert_allclose(at_anchor, dense.gradient(anchor), rtol=1e-12)
    total = dense.difference(theta, anchor, bound)
    np.testing.assert_allclose(total, dense.gradient(theta) - dense.gradient(anchor), atol=1e-6)
    same = _sums(name, weights=weights, bound=2.0, as_rows=sparse.csr_matrix)
    same.anchor_gradient(anchor)
    np.testing.assert_allclose(same.difference(theta, anchor, bound), total, atol=1e-12)


@every_loss
def test_answers_are_means_plus_noise_of_the_declared_scales(name):
    sums, rate = _sums(name), 0.13
    oracle, _, _ = _oracle(sums, PoissonBatches(rate))
    same = KeyedStream(_KEY)
    noise = iter(samplers.standard_normal(same, (5, *sums.model.shape)))
    batches = iter(list(poisson_batches(same, _N, rate, 3)))
    theta, anchor = _points(sums, 0.1)
    answer = oracle.gradient(anchor)
    unit, scale = unit_and_scale(_RATIO * _Z, sums.clip_norm, anchor.size)
    np.testing.assert_allclose(answer - sums.gradient(anchor) / _N,
                               scale * next(noise) / _N, rtol=0, atol=2 * unit / _N)
    assert_whole(answer * _N / unit)
    for distance in (1e-4, 0.1, 100.0):
        theta, _ = _points(sums, distance)
        bound = sums.bound(theta, anchor)
        exact = sums.difference(theta, anchor, bound, next(batches))
        # Held since the oracle was asked for it.
        assert np.array_equal(anchor, sums._anchor)
        unit, scale = unit_and_scale(_Z, bound, anchor.size)
        expected = (exact + scale * next(noise)) / (rate * _N)
        answer = oracle.difference(theta, anchor)
        np.testing.assert_allclose(answer, expected, rtol=0, atol=2 * unit / (rate * _N))
        assert_whole(answer * (rate * _N) / unit)


@pytest.mark.parametrize("batches, event", [
    (FullBatch(), Gaussian(2 / _Z)), (PoissonBatches(0.2), SampledGaussian(0.2, _Z))])
def test_every_answer_is_charged_as_the_plan_states_it(batches, event):
    sums = _sums()
    oracle, _, ledger = _oracle(sums, batches)
    theta, anchor = _points(sums)
    for t in (1, 2):
        oracle.gradient(anchor)
        oracle.difference(theta, anchor)
        assert tally(ledger.spent) == {Gaussian(2 / (_RATIO * _Z)): t, event: t}


def test_at_the_anchor_nothing_is_asked_drawn_or_charged():
    sums = _sums()
    oracle, stream, ledger = _oracle(sums, PoissonBatches(0.2))
    _, anchor = _points(sums)
    sums.difference = None
    for _ in range(10):
        np.testing.assert_array_equal(oracle.difference(anchor.copy(), anchor), np.zeros(4))
    assert stream.drawn == 0 and ledger.spent.events == ()


@pytest.mark.parametrize("batches", [FullBatch(), PoissonBatches(0.2)])
@pytest.mark.parametrize("ask", ["gradient", "difference"])
def test_more_answers_than_declared_are_refused_before_anything_is_drawn(batches, ask):
    sums = _sums()
    oracle, stream, _ = _oracle(sums, batches)
    points = _points(sums)
    if ask == "difference":
        oracle.gradient(points[1])
    points = points[1:] if ask == "gradient" else points
    for _ in range(2 if ask == "gradient" else 3):
        getattr(oracle, ask)(*points)
    drawn = stream.drawn
    sums.anchor_gradient = sums.difference = None
    with pytest.raises(RuntimeError, match="plan"):
        getattr(oracle, ask)(*points)
    assert stream.drawn == drawn


def test_a_difference_from_another_anchor_is_refused():
    sums = _sums()
    oracle, _, _ = _oracle(sums, PoissonBatches(0.2))
    theta, anchor = _points(sums)
    with pytest.raises(ValueError, match="anchor"):
        oracle.difference(theta, anchor)
    oracle.gradient(theta)
    with pytest.raises(ValueError, match="anchor"):
        oracle.difference(theta + 1.0, anchor)


def test_the_declaration_composes_anchors_and_differences():
    event = Differences(NoisySums(FullBatch(), 4, 5.0), NoisySums(PoissonBatches(0.1), 90),
                        1.0)(2.0)
    assert event.events == (Repeated(Gaussian(0.2), 4),
                            Repeated(SampledGaussian(0.1, 2.0), 90))


def _hostile(rng, count):
    """Rows and points of magnitudes from subnormal to near overflow."""
    for _ in range(count):
        row = rng.uniform(-1, 1, size=3) * 10.0**rng.uniform(-314, 307)
        points = rng.normal(size=(2, 4)) * 10.0**rng.uniform(-12, 12, size=(2, 1))
        if rng.random() < 0.5:
            points[1] = points[0] * (1 + 10.0**rng.uniform(-16, 0))
        yield row, points


@pytest.mark.covering
@every_loss
@pytest.mark.parametrize("clip_norm", [1e-12, 1e-3, 0.5])
def test_no_row_exceeds_the_public_bound(name, clip_norm):
    rng = np.random.default_rng(3)
    loss, closest = make_loss(name), 0.0
    weights = itertools.cycle([None, 1e-12, 1.0, 1e12])
    for row, points in _hostile(rng, 60):
        model = make_model(name, fit_intercept=True, data_norm=10.0**rng.uniform(-3, 3))
        weight = next(weights)
        weight = None if weight is None else np.array([weight])
        sums = DifferenceSums(model, loss, Rows(row[None], make_targets(name, 1, rng), weight,
                                                1e12), clip_norm)
        if loss.vector_output:
            points = np.stack([points * scale for scale in (1.0, -2.0, 0.5)], axis=-1)
        with np.errstate(all="ignore"):
            sums.anchor_gradient(points[1])
            # A bound as if the smoothness had been claimed a thousand times too small.
            for factor in (1.0, 1e-3):
                bound = factor * sums.bound(*points)
                length = np.linalg.norm(sums.difference(*points, bound))
                assert length <= bound
                closest = max(closest, length / max(bound, 1e-300))
    # The rows tried do reach the bound.
    assert closest > 0.999
