"""Networks on few columns see whitened rows beside a linear path, and predict for plain ones."""

import inspect

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import rankdata

from dpsk import DPAUCMaximizer, DPMLPClassifier, DPMLPRegressor
from dpsk.testing import NoiseSeed
from tests.registry import ESTIMATORS

#: Every model that may have hidden layers. Saddle solvers do not scale features under noise.
EVERY = [*(pytest.param(cls, {"epsilon": epsilon}, id=f"{name}-{epsilon}")
           for name, cls in ESTIMATORS.items() for epsilon in (20.0, np.inf)
           if "hidden_layer_sizes" in inspect.signature(cls).parameters),
         pytest.param(DPAUCMaximizer, {"epsilon": np.inf, "loss": "auc"}, id="loss of pairs")]
every_network = pytest.mark.parametrize("cls", [DPMLPClassifier, DPMLPRegressor])
WHITENED = {"hidden_layer_sizes": (20, 6), "max_iter": 5, "precondition": "whitening"}


def rows(n=3000, p=3):
    """Correlated columns of very different size far from 0, and a label that they decide."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, p))
    mixed = Z @ (np.eye(p) + 0.3)
    X = 0.4 + mixed * 10.0 ** -np.linspace(0.5, 2.0, p)
    return X, (Z @ np.ones(p) + 0.3 * rng.normal(size=n) > 0).astype(int)


def raw_by_hand(model, X):
    h = np.asarray(X, np.float32).astype(float)
    if model.data_norm is not None:
        h = h * np.minimum(1.0, model.data_norm / np.linalg.norm(h, axis=1))[:, None]
    path = 0.0 if model.linear_coef_ is None else h @ model.linear_coef_
    activation = np.tanh if model.activation == "tanh" else lambda z: np.maximum(z, 0.0)
    for W, b in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        h = activation(h @ W + b)
    return (h @ model.coefs_[-1] + model.intercepts_[-1] + path)[:, 0]


@every_network
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("norm", [None, 0.8])
@pytest.mark.parametrize("hidden", [(), (5,), (20, 18)])
def test_released_weights_predict_for_rows_as_they_are(cls, activation, norm, hidden):
    X, y = rows()
    model = cls(8.0, activation=activation, data_norm=norm,
                **{**WHITENED, "hidden_layer_sizes": hidden}).fit(X, y)
    expected = raw_by_hand(model, X)
    if cls is DPMLPRegressor:
        expected = model.offset_ + model.scale_ * np.clip(expected, -1.0, 1.0)
        found = model.predict(X)
    else:
        found = model.decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert (model.linear_coef_ is None) == (not hidden)


@every_network
def test_by_default_rows_of_few_columns_are_whitened_where_the_budget_allows(cls):
    X, y = rows(600, 3)
    def fitted(part, **params):
        return cls(**{"epsilon": 2.0, "hidden_layer_sizes": (4,), "max_iter": 1, **params}).fit(
            part, y[:len(part)])
    assert fitted(X).preconditioner_ is not None
    assert fitted(X[:60], epsilon=0.05).preconditioner_ is None
    assert fitted(X, precondition=True).preconditioner_ is None
    assert fitted(X, precondition=True).center_ is not None
    wide = np.random.default_rng(1).normal(size=(600, 201))
    assert fitted(wide, epsilon=20.0).preconditioner_ is None
    assert fitted(wide[:, :200], epsilon=20.0).preconditioner_ is not None
    ranking = DPAUCMaximizer(2.0, hidden_layer_sizes=(4,), max_iter=1).fit(X, y)
    assert ranking.preconditioner_ is not None


@pytest.mark.covering(most=2)
@pytest.mark.filterwarnings("ignore:epsilon=inf")
@pytest.mark.parametrize("cls, params", EVERY)
def test_units_of_features_do_not_matter(cls, params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    score = X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    y = score if "target_bounds" in inspect.signature(cls).parameters else (score > 0).astype(int)
    found = []
    for units in (np.zeros(6), np.array([0.0, 3.0, -2.0, 1.0, 4.0, 2.0])):
        rows = X * 10.0**units
        model = cls(hidden_layer_sizes=(16,), **params).fit(rows, y)
        raw = model.predict(rows) if y is score else model.decision_function(rows)
        found.append(np.corrcoef(rankdata(raw), rankdata(score))[0, 1])
    print(np.round(found, 3))
    # The column of the middle unit alone has 0.67.
    assert min(found) > 0.75


@every_network
def test_a_later_fit_of_plain_rows_forgets_the_map(cls):
    X, y = rows(600)
    model = cls(2.0, **WHITENED).fit(X, y)
    model.set_params(precondition=False).fit(X, y)
    assert model.preconditioner_ is model.center_ is model.linear_coef_ is None


@every_network
def test_without_a_budget_rows_are_not_mapped(cls):
    X, y = rows(300)
    with pytest.warns(match="not private"):
        model = cls(np.inf, **WHITENED).fit(X, y)
    assert model.preconditioner_ is None


@every_network
def test_pure_epsilon_is_refused_as_for_plain_rows(cls):
    X, y = rows(300)
    for precondition in ("whitening", False):
        with pytest.raises(ValueError, match=r"delta=0.0: solver='sgd' adds Gaussian noise"):
            cls(delta=0.0, **{**WHITENED, "precondition": precondition}).fit(X, y)


def test_other_names_are_refused():
    with pytest.raises(ValueError, match=r"precondition='unit_norm'.*'whitening'"):
        DPMLPClassifier(precondition="unit_norm").fit(*rows(50))


@pytest.mark.audit
def test_one_long_row_moves_the_mean_by_no_more_than_its_bound():
    X, y = rows()
    far = X.copy()
    far[0] = 1e30
    centers = [DPMLPClassifier(1e6, **WHITENED, data_norm=2.0).fit(part, y).center_
               for part in (X, far)]
    # From one end of a ball of radius 2 to the other, beside next to no noise.
    assert np.linalg.norm(centers[0] - centers[1]) < 1.1 * 4.0 / len(X)


@pytest.mark.audit
def test_without_noise_a_network_without_hidden_layers_finds_the_least_loss():
    """Whitening changes the way there, not where it leads: the loss of L-BFGS, within 1e-3."""
    X, y = rows(600)
    # Noise on a gradient has 1e-4 of the length of a usual one: it moves the loss by 1e-5.
    model = DPMLPClassifier(1e10, hidden_layer_sizes=(), precondition="whitening", solver="gd",
                            clip_norm=100.0, max_iter=3000, learning_rate=0.5).fit(X, y)

    def loss(raw):
        return np.mean(np.logaddexp(0.0, raw) - y * raw)

    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    least = minimize(lambda w: loss(scaled @ w[:3] + w[3]), np.zeros(4)).fun
    assert least < 0.3
    assert loss(model.decision_function(X)) <= least + 1e-3


@every_network
def test_repeats_under_one_seed(cls):
    X, y = rows(400)
    fits = [cls(2.0, random_state=NoiseSeed(3), **WHITENED).fit(X, y) for _ in range(2)]
    for name in ("preconditioner_", "center_", "linear_coef_"):
        np.testing.assert_array_equal(*(getattr(model, name) for model in fits))


def test_columns_of_any_size_are_learnt_from():
    """Signal 30 standard errors above the threshold; about 95 % of rows can be told apart."""
    X, y = rows(6000)
    model = DPMLPClassifier(2.0).fit(X, y)
    print(f"{model.score(X, y):.3f}")
    assert model.score(X, y) > 0.85

@every_network
def test_networks_without_noise_bear_features_of_any_unit_and_offset(cls):
    """An accuracy of .5 and an R2 of -5 were left of columns from 1e-9 to 1e9."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    signal = X @ [1.0, -1.0, 0.5, 1.0]
    y = (signal > 0).astype(int) if cls is DPMLPClassifier else signal
    unlike = np.column_stack([X * [1e-9, 1.0, 1e3, 1e9] + [0.0, 1e3, 0.0, 0.0], np.full(500, 7.0)])
    model = cls(np.inf, max_iter=200, random_state=0).fit(unlike, y)
    assert model.score(unlike, y) > 0.9
    # A constant column may be another constant then.
    unlike[:, -1] = 1e6
    assert model.score(unlike, y) > 0.9
    np.testing.assert_allclose(model.center_[[1, 4]], [unlike[:, 1].mean(), 7.0], rtol=1e-6)
