"""Networks see rows less a mean that was released, and predict from rows as they are."""

import numpy as np
import pytest

from dpsk import DPAUCMaximizer, DPMLPClassifier, DPMLPRegressor
from dpsk.testing import NoiseSeed
from tests.registry import documented_solvers

HIDDEN = {"hidden_layer_sizes": (20,)}
PARAMS = {DPMLPClassifier: HIDDEN, DPMLPRegressor: {**HIDDEN, "target_bounds": (-1.0, 1.0)},
          DPAUCMaximizer: {**HIDDEN, "loss": "auc", "positive_ratio": 0.5, "data_norm": 4.0}}
#: Solvers that train networks, with the loss that they take.
FITS = [pytest.param(cls, {"solver": solver}, id=f"{cls.__name__}-{solver}")
        for cls in PARAMS for solver in sorted(documented_solvers(cls))
        if not (cls is DPAUCMaximizer and solver in ("gd", "sgd"))]
every_network = pytest.mark.parametrize("cls", PARAMS)
every_network_fit = pytest.mark.parametrize(("cls", "params"), FITS)


def rows(n=3000):
    """Rows around (0.8, -0.6), of which the quadrant about their mean decides the target."""
    X = np.random.default_rng(0).uniform(-0.3, 0.3, size=(n, 2))
    return X + np.array([0.8, -0.6]), (X[:, 0] * X[:, 1] > 0).astype(int)


def build(cls, **params):
    return cls(**{"epsilon": 8.0, **PARAMS[cls], "max_iter": 20, **params})


@every_network_fit
def test_released_layers_predict_for_rows_as_they_are(cls, params):
    X, y = rows()
    model = build(cls, precondition=True, **params).fit(X, y)
    h = np.asarray(X, np.float32).astype(float)
    if model.data_norm is not None:
        h = h * np.minimum(1.0, model.data_norm / np.linalg.norm(h, axis=1))[:, None]
    for W, b in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        h = np.maximum(h @ W + b, 0.0)
    raw = (h @ model.coefs_[-1] + model.intercepts_[-1])[:, 0]
    if cls is DPMLPRegressor:
        # Predictions are kept within the bounds on targets, as raw ones may not be.
        found, raw = model.predict(X), np.clip(raw, *model.target_bounds)
    else:
        found, raw = model.decision_function(X), raw - getattr(model, "offset_", 0.0)
    np.testing.assert_allclose(found, raw, atol=1e-4)


@every_network
def test_a_later_fit_without_a_mean_forgets_the_earlier_one(cls):
    X, y = rows()
    model = build(cls, precondition=True).fit(X, y)
    assert model.set_params(precondition=False).fit(X, y).center_ is None
    if cls is DPAUCMaximizer:
        model.set_params(hidden_layer_sizes=(), precondition="auto").fit(X, y)
        assert not hasattr(model, "coefs_")
        assert model.center_ is None


@every_network
def test_by_default_a_mean_is_released_where_its_noise_is_small(cls):
    X, y = rows()
    assert build(cls).fit(X, y).center_ is not None
    assert build(cls, epsilon=0.01).fit(X[:60], y[:60]).center_ is None
    assert build(cls, epsilon=0.001).fit(X, y).center_ is None


@pytest.mark.covering(most=1)
@every_network
def test_centered_rows_are_told_apart_by_their_quadrants(cls):
    X, y = rows(6000)
    model = build(cls, precondition=True, max_iter=None).fit(X, y)
    raw = model.predict(X) - 0.5 if cls is DPMLPRegressor else model.decision_function(X)
    right = np.mean((raw > 0) == y)
    print(f"{right:.3f}")
    assert right > 0.85


@pytest.mark.thorough
def test_one_long_row_moves_the_mean_by_no_more_than_its_bound():
    X, y = rows()
    far = X.copy()
    far[0] = 1e30
    means = [DPMLPClassifier(1e4, precondition=True, max_iter=1).fit(part, y).center_
             for part in (X, far)]
    assert np.linalg.norm(means[0] - means[1]) < 0.01


@every_network
def test_the_same_noise_under_one_seed_and_other_noise_with_another_mean(cls):
    X, y = rows(400)
    fits = [build(cls, precondition=True, random_state=NoiseSeed(3)).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].center_, fits[1].center_)
    for one, other in zip(fits[0].coefs_, fits[1].coefs_, strict=True):
        np.testing.assert_array_equal(one, other)
    noise = [build(cls, precondition=True, random_state=NoiseSeed(seed)).fit(X, y).center_
             for seed in (3, 4)]
    assert np.all(noise[0] != noise[1])
