"""One row, however extreme, never moves an answer by more than was declared.

Rows are tried by brute force: of every magnitude that the floating type holds, subnormal
and near overflow included, at points theta of many sizes. Seeded, hence deterministic.
"""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from dpsk import DPHuberRegressor, DPLinearSVC, DPLogisticRegression, DPPoissonRegressor, _fit
from dpsk._data.source import Rows
from dpsk._models import MLP, LinearModel
from dpsk._objective.losses import (
    CappedPoisson,
    Huber,
    HuberizedHinge,
    Logistic,
    Multinomial,
    OneVsRest,
    Pinball,
    Sigmoid,
    Squared,
    SquaredHinge,
)
from dpsk._objective.saddle import AUCSquare, GroupRisk
from dpsk._privacy.noise import streams
from dpsk._privacy.noise.grids import grid_bits
from dpsk._privacy.sensitivity import gradient_descent_sensitivity
from dpsk._queries.least_squares import LeastSquaresOracle
from dpsk._stages import TargetMean
from dpsk._sums.linear_sums import float_sums, grid_sums
from dpsk._sums.saddle_sums import SaddleSums
from tests.estimators.pairs import build
from tests.registry import coefficients, every_fit, is_linear, where_sets_may_be_needed

#: Losses, with their targets.
LOSSES = {
    "logistic": (Logistic(), [0.0, 1.0]),
    "multinomial": (Multinomial(), [0, 1, 2]),
    "huber": (Huber(0.3), [-1.0, 0.3, 1.0]),
    "hinge": (HuberizedHinge(), [-1.0, 1.0]),
    "one_vs_rest": (OneVsRest(HuberizedHinge(), 3), [0, 1, 2]),
    "pinball": (Pinball(0.8), [-1.0, 0.3, 1.0]),
    "poisson": (CappedPoisson(), [0.0, 0.4, 1.0]),
    "sigmoid": (Sigmoid(), [-1.0, 1.0]),
    "squared": (Squared(), [-1.0, 0.3, 1.0]),
    "squared_hinge": (SquaredHinge(), [-1.0, 1.0]),
}


def extreme_rows(rng, dtype, count, d=3):
    """Rows with entries from below the least normal number to just under the greatest."""
    top = np.log10(float(np.finfo(dtype).max))
    exponents = np.where(rng.random(count) < 0.5, rng.uniform(-top - 6, top - 1, size=count),
                         rng.uniform(top - 3, top - 1, size=count))
    scales = 10.0**exponents[:, None]
    # Some rows mix magnitudes.
    mixed = rng.random(count) < 0.3
    scales = np.where(mixed[:, None], scales ** rng.random((count, d)), scales)
    with np.errstate(all="ignore"):
        return (rng.uniform(-1, 1, size=(count, d)) * scales).astype(dtype)


@pytest.mark.covering
@pytest.mark.parametrize("dtype", ["float32", "float64", "grid"])
@pytest.mark.parametrize("clip_norm", [
    pytest.param(clip, marks=() if clip in (1e-12, 1e-3, 0.5) else pytest.mark.audit)
    for clip in (1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.5)])
@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_of_one_row_stays_within_the_clip_norm(name, clip_norm, dtype):
    rng = np.random.default_rng(0)
    loss, targets = LOSSES[name]
    outputs = 3 if loss.vector_output else None
    bits = grid_bits(20, clip_norm, 5 * clip_norm) if dtype == "grid" else None
    dtype = "float64" if bits else dtype
    worst = 0.0
    for data_norm, intercept in itertools.product((1e-3, 1.0, 1e3), (False, True)):
        model = LinearModel(3, outputs, intercept, data_norm)
        for x in extreme_rows(rng, dtype, 60):
            y = np.array([rng.choice(targets)])
            theta = rng.normal(size=model.shape) * 10.0**rng.uniform(-3, 3)
            weights = rng.choice([None, 0.0, 1e-12, 1.0, 7.0, 1e12])
            weights = None if weights is None else np.array([weights], dtype)
            with np.errstate(all="ignore"):
                rows = Rows(x[None], y if outputs else y.astype(dtype), weights,
                            1.0 if weights is None else np.inf)
                sums = (grid_sums(model, loss, rows, clip_norm, bits) if bits
                        else float_sums(model, loss, rows, clip_norm))
                worst = max(worst, np.linalg.norm(sums.gradient(theta)))
    assert worst <= clip_norm
    # The rows tried do reach the bound.
    assert worst > 0.9 * clip_norm


SADDLES = {"auc": AUCSquare(0.01, 0.01), "unscaled": AUCSquare(0.01),
           "groups": GroupRisk(Logistic(), (0.01, 0.99), 0.1, 3.0)}
SADDLE_MODELS = {"linear": (LinearModel(3, None, True, 1.0), "float64"),
                 "single": (LinearModel(3, None, False, 1e3), "float32"),
                 "tanh": (MLP(3, (4,), None, "tanh"), "float32"),
                 "relu": (MLP(3, (4, 2), None, "relu"), "float32"),
                 "centered relu": (MLP(3, (16, 17), None, "relu"), "float32")}


@pytest.mark.covering
@pytest.mark.parametrize("clip_norm", [1e-9, 1e-3, 0.5, 1e3])
@pytest.mark.parametrize("kind", SADDLE_MODELS)
@pytest.mark.parametrize("name", SADDLES)
def test_no_block_of_a_saddle_gradient_and_no_difference_exceeds_its_clip(name, kind, clip_norm):
    rng = np.random.default_rng(0)
    loss, (model, dtype) = SADDLES[name], SADDLE_MODELS[kind]
    worst = np.zeros(3)
    for x in extreme_rows(rng, dtype, 100):
        y = np.array([float(rng.integers(2))])
        y = np.column_stack([y, rng.integers(2, size=1)]) if name == "groups" else y
        weights = rng.choice([None, 0.0, 1e-12, 1.0, 7.0, 1e12, 1e300])
        rows = Rows(x[None], y, None if weights is None else np.array([weights]),
                    1.0 if weights is None else np.inf)
        scale = 10.0**rng.uniform(-3, rng.choice([1, 30, 200]))
        points = []
        # Two points, from beside each other to far apart.
        primal = scale * rng.normal(size=model.dimension + loss.n_extra)
        for share in (0.0, 10.0**rng.uniform(-12, 1)):
            moved = primal + share * scale * rng.normal(size=primal.shape)
            points.append((moved, loss.dual_set.project(rng.normal(size=loss.dual_set.size))))
        small = clip_norm * 10.0**rng.uniform(-6, 0)
        with np.errstate(all="ignore"):
            sums = SaddleSums(model, loss, rows, clip_norm, 2 * clip_norm)
            answers = (*sums.gradients(*points[0]), sums.differences(*points, small))
        lengths = [np.linalg.norm(answer) for answer in answers]
        assert np.isfinite(lengths).all()
        limits = [sums.primal_bound(points[0][1]), 2 * clip_norm, small]
        worst = np.maximum(worst, np.array(lengths) / limits)
    assert worst.max() <= 1.0
    # The rows tried do reach the bounds.
    assert np.all(worst > 0.85) or (clip_norm > 1 and worst[0] > 0.85)


@pytest.mark.covering
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["logistic", "multinomial", "huber", "hinge", "one_vs_rest",
                                  "poisson"])
def test_output_perturbation_moves_by_at_most_its_sensitivity(kind, alpha, dtype, noise_times):
    noise_times(0.0)
    rng = np.random.default_rng(0)
    n, steps, step = 12, 15, 0.4
    X = rng.normal(size=(n, 3)).astype(dtype)
    loss, targets = LOSSES[kind]
    y = np.resize(targets, n)
    cls = {"huber": DPHuberRegressor, "poisson": DPPoissonRegressor, "hinge": DPLinearSVC,
           "one_vs_rest": DPLinearSVC}.get(kind, DPLogisticRegression)
    model = cls(solver="output_perturbation", delta=1e-3, alpha=alpha, max_iter=steps,
                learning_rate=step, precondition=False).fit(X, y)
    radius = np.sqrt(2.0)
    bound = gradient_descent_sensitivity(
        lipschitz=loss.lipschitz * radius, n_samples=n, step=step, n_steps=steps,
        smoothness=loss.smoothness * radius**2, strong_convexity=alpha)
    farthest = 0.0
    for row in extreme_rows(rng, dtype, 40):
        changed, labels = X.copy(), y.copy()
        changed[-1], labels[-1] = row, rng.choice(y)
        other = clone(model).fit(changed, labels)
        farthest = max(farthest, np.hypot(np.linalg.norm(other.coef_ - model.coef_),
                                          np.linalg.norm(other.intercept_ - model.intercept_)))
    # Coefficients of float32 rows are rounded to float32, which is post-processing.
    assert 0.0 < farthest <= bound * (1 + 1e-6)


HOSTILE = [0.0, 1e-300, 1e-30, 1.0, 3.0, 1e10, 1e30, 1e300]


@pytest.mark.covering(most=12)
@where_sets_may_be_needed(every_fit)
@pytest.mark.parametrize("intercept", [True, False])
def test_no_weight_moves_a_row_beyond_its_clip(cls, solver, intercept, noise_times, monkeypatch):
    """One step from zero, or one release: the distance to a neighbor is what is accounted."""
    if solver == "frank_wolfe":
        pytest.skip("releases vertices; test_coordinates bounds how far their scores move")
    # Before the step, and audited by itself.
    monkeypatch.setattr(TargetMean, "applies", lambda *given: False)
    noise_times(0.0)
    rng = np.random.default_rng(0)
    # Two solvers refuse steps beyond the curvature of a loss, of which quantiles have most.
    n, step, clip_norm = 14, 0.3, 0.2
    if solver in ("last_iterate", "output_perturbation"):
        step = 0.01
    # The whole table is the batch, so that both fits read the same rows.
    model = build(cls, solver, delta=1e-3, alpha=0.1 if solver == "last_iterate" else 0.0,
                  max_iter=1, batch_size=n, learning_rate=step, clip_norm=clip_norm,
                  precondition=False, fit_intercept=intercept)
    X, y = rng.normal(size=(n, 3)), np.resize([0, 1], n)
    moments = _recorded_moments(monkeypatch)
    # The changed row is in the half that answers where the gap is small beside the noise.
    monkeypatch.setattr(streams, "random_permutation",
                        lambda stream, count: np.arange(count)[::-1])
    # Every fit of a network from the same point.
    monkeypatch.setattr(_fit, "standard_normal",
                        lambda stream, shape: np.random.default_rng(0).normal(size=shape))
    farthest, answering = 0.0, n // 2 if "stgd" in solver else n
    # Networks refuse rows that are not finite in single precision.
    dtype = "float64" if is_linear(cls) else "float32"
    # Two rows of their own beside every weight.
    for weight, extreme in zip(2 * HOSTILE, extreme_rows(rng, dtype, 2 * len(HOSTILE)),
                               strict=True):
        first, second = rng.permutation(HOSTILE)[:2]
        fits = []
        for row, target, own in ((X[0], 1, first), (extreme, 0, weight), (-X[0], 0, second)):
            table, targets, weights = X.copy(), y.copy(), np.ones(n)
            table[0], targets[0], weights[0] = row, target, own
            fitted = clone(model).fit(table, targets, sample_weight=weights)
            fits.append(coefficients(fitted).astype(float)
                        if solver != "sufficient_statistics" else moments[-1])
        for a, b in itertools.combinations(fits, 2):
            if solver == "sufficient_statistics":
                _check_moments(a, b, radius_squared=1.0 + intercept)
                farthest = 1.0
            else:
                farthest = max(farthest, np.linalg.norm(a - b))
    assert 0.0 < farthest
    if solver == "objective_perturbation":
        # The distance of minimizers, of a certified tolerance, on the ridge that is stated.
        ridge, = (b.value for b in fitted.privacy_.enforced if b.name == "ridge")
        assert farthest <= 2 * clip_norm / (n * ridge) * (1 + 1e-2)
    elif solver != "sufficient_statistics":
        # Coefficients of networks are rounded to float32 beside weights of 1 at the start.
        rounding = 1e-9 if is_linear(cls) else 1e-4
        assert farthest <= 2 * clip_norm * step / answering * (1 + rounding)


def _recorded_moments(monkeypatch):
    answers, method = [], LeastSquaresOracle.moments

    def recorded(self):
        answers.append(method(self))
        return answers[-1]

    monkeypatch.setattr(LeastSquaresOracle, "moments", recorded)
    return answers


def _check_moments(a, b, radius_squared):
    """Check the exact joint bound on squares and products in units of their noise."""
    squares = np.sum((a[0] - b[0])**2) / radius_squared**2
    products = np.sum((a[1] - b[1])**2) / radius_squared
    assert squares + products <= 4.5 * (1 + 1e-9)
