"""Coefficients of whitened rows end in a set, at the point that changes predictions least."""

import numpy as np
import pytest

from dpsk import DPLasso, DPLinearRegression
from dpsk._models import LinearModel
from dpsk._objective.penalties import PENALTIES
from dpsk._privacy.events import Composed
from dpsk._stages import IntoSet, Whitening
from dpsk._stages.whitening import Spectrum
from dpsk.testing import NoiseSeed

P, UNIT, FLOOR = 5, 3.0, 0.05


def stage_of(name, radius=0.4, seed=0):
    """Return the stage, what whitening released before it, and the metric."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(P, P))
    directions, _ = np.linalg.qr(rng.normal(size=(P + 1, P + 1)))
    sizes = rng.uniform(1.0, 6.0, P + 1)
    matrix = (directions * sizes) @ directions.T
    whitening = Whitening(LinearModel(P, None, True, UNIT), np.float64)
    whitening.spectrum = Spectrum(directions, np.ones(P + 1), sizes, matrix, root @ root.T,
                                  np.append(rng.normal(size=P), 0.7), np.zeros(P + 1))
    whitening.scales = 1.0, FLOOR
    penalty = PENALTIES[name](alpha=0.0, l1_ratio=0.0, radius=radius, unpenalized=0)
    stage = IntoSet(whitening, penalty)
    assert stage.event(None) == Composed(())
    return stage, whitening.spectrum, root @ root.T + FLOOR * np.eye(P)


@pytest.mark.parametrize("name, norm", [
    ("l1_ball", lambda w: np.abs(w).sum()), ("l2_ball", np.linalg.norm),
    ("box", lambda w: np.abs(w).max())])
def test_the_nearest_point_of_the_set_is_found_and_the_mean_prediction_stays(name, norm):
    stage, spectrum, metric = stage_of(name)
    theta = np.random.default_rng(1).normal(size=P + 1)
    found = stage.release(None, None, theta)
    before, after = spectrum.matrix @ theta, spectrum.matrix @ found
    np.testing.assert_allclose(spectrum.mean @ after, spectrum.mean @ before, atol=1e-9)
    before, after = before[:-1], after[:-1]
    # The set is one of coefficients of rows as they came, of norm UNIT at most.
    assert norm(after / UNIT) <= 0.4 * (1 + 1e-9)

    def distance(w):
        return (w - before) @ metric @ (w - before)

    inside = stage._penalty.in_unit(UNIT)
    rng = np.random.default_rng(2)
    for size in (1.0, 1e-1, 1e-2, 1e-3):
        for _ in range(200):
            other = inside.prox(after + size * rng.normal(size=P), 1.0)
            assert distance(after) <= distance(other) * (1 + 1e-9)


def test_what_is_in_the_set_stays_and_what_is_no_number_raises_nothing():
    stage, *_ = stage_of("l1_ball", radius=1e3)
    theta = np.random.default_rng(1).normal(size=P + 1)
    assert stage.release(None, None, theta) is theta
    endless = np.full(P + 1, np.inf)
    with np.errstate(all="ignore"):
        assert stage.release(None, None, endless) is endless


X = np.random.default_rng(0).normal(size=(2000, 10)) * 3.0 + 1.0
Y = X[:, 0] - X[:, 1] + 0.1 * np.random.default_rng(1).normal(size=2000)


@pytest.mark.parametrize("data_norm", ["auto", 12.0])
@pytest.mark.parametrize("radius", [0.05, 0.2, 1.0])
def test_the_lasso_is_in_its_ball_on_whitened_rows(radius, data_norm):
    model = DPLasso(epsilon=2.0, target_bounds=(-12, 12), radius=radius, data_norm=data_norm,
                    random_state=NoiseSeed(0)).fit(X, Y)
    assert model.preconditioner_ is not None and model.privacy_.solver == "gd"
    # On the scale of targets mapped to [-1, 1].
    assert np.abs(model.coef_ / 12).sum() <= radius * (1 + 1e-9)
    # What predicts most is left where little may be.
    assert np.abs(model.coef_[:2]).sum() > 0.7 * np.abs(model.coef_).sum()
    assert model.predict(X).mean() == pytest.approx(Y.mean(), abs=0.5)


@pytest.mark.parametrize("rows", [X, np.zeros_like(X)], ids=["rows", "zeros"])
@pytest.mark.parametrize("radius", [1e-12, 1e-4])
def test_rounding_leads_out_of_no_small_ball(rows, radius):
    model = DPLasso(epsilon=2.0, target_bounds=(-1, 1), radius=radius, data_norm=1e-6).fit(rows, Y)
    assert model.preconditioner_ is not None
    assert np.abs(model.coef_).sum() <= radius * (1 + 1e-9)


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e7, 1e12])
@pytest.mark.parametrize("shape", [(P,), (P, 2)])
def test_a_change_is_made_whatever_the_map_was_rounded_by(spread, shape):
    rng = np.random.default_rng(3)
    directions, _ = np.linalg.qr(rng.normal(size=(P, P)))
    sizes = np.geomspace(1.0, 1.0 / spread, P)
    matrix = np.rint(2.0**22 * (directions * sizes) @ directions.T) / 2.0**22
    spectrum = Spectrum(directions, np.ones(P), sizes, matrix, np.eye(P))
    change = rng.normal(size=shape)
    np.testing.assert_allclose(matrix @ spectrum.moved(change), change, atol=1e-7)


@pytest.mark.parametrize("size", [1e-9, 0.0, -0.01, 0.003])
def test_a_mean_of_constants_that_is_noise_moves_no_constant_far(size):
    """Where rows are far longer than their bound constants are near 0."""
    noise = np.append(np.full(P, 0.014), 0.04)
    spectrum = Spectrum(np.eye(P + 1), np.ones(P + 1), np.ones(P + 1), np.eye(P + 1), np.eye(P),
                        np.append(np.full(P, 0.02), size), noise)
    change = spectrum.moved(np.ones(P))
    assert abs(change[-1]) < 0.02 * P / 0.04


def test_a_ball_that_holds_all_changes_nothing():
    wide, free = (model.fit(X, Y).coef_ for model in (
        DPLasso(epsilon=2.0, target_bounds=(-12, 12), radius=1e6, random_state=NoiseSeed(0)),
        DPLinearRegression(epsilon=2.0, target_bounds=(-12, 12), random_state=NoiseSeed(0))))
    np.testing.assert_allclose(np.abs(wide).sum(), np.abs(free).sum(), rtol=0.1)


@pytest.mark.parametrize("params", [{"precondition": False}, {"solver": "gd"},
                                    {"solver": "frank_wolfe"}, {"delta": 0.0}])
def test_what_is_asked_for_is_fitted_inside_the_ball(params):
    model = DPLasso(epsilon=2.0, target_bounds=(-12, 12), data_norm=12.0, radius=1.0, **params)
    assert model.fit(X, Y).preconditioner_ is None
