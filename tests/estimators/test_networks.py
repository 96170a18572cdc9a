"""Networks learn what linear models cannot, and predict from what they release."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from dpsk import DPLogisticRegression, DPMLPClassifier, DPMLPRegressor
from dpsk.testing import NoiseSeed
from tests.registry import is_linear


def _quadrants(n=6000):
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("precondition", ["whitening", True, False])
@pytest.mark.parametrize("sizes", [(), 16])
@pytest.mark.parametrize("several", [False, True])
def test_scores_of_two_classes_are_shortened_and_decide_the_same(
        sizes, precondition, several, monkeypatch):
    X, y = _quadrants(600)
    y = y + 2 * (X[:, 0] > 0.5) if several else y
    model = DPMLPClassifier(8.0, hidden_layer_sizes=sizes, precondition=precondition, max_iter=3,
                            random_state=NoiseSeed(0))
    short = model.fit(X, y).predict_proba(X)
    monkeypatch.setattr("dpsk.neural_network._classifier.USUAL_FACTOR", 1.0)
    long = model.fit(X, y).predict_proba(X)
    odds = [np.log(each) - np.log(each).mean(axis=1, keepdims=True) for each in (short, long)]
    np.testing.assert_allclose(odds[0], (1.0 if several else 0.65) * odds[1], atol=1e-6)
    np.testing.assert_array_equal(short.argmax(axis=1), long.argmax(axis=1))


@pytest.mark.parametrize("activation", [
    pytest.param("tanh", marks=pytest.mark.audit), "relu"])
def test_a_network_learns_quadrants_which_no_linear_score_tells_apart(activation):
    X, y = _quadrants()
    network = DPMLPClassifier(8.0, hidden_layer_sizes=16, activation=activation).fit(X, y)
    line = DPLogisticRegression(8.0).fit(X, y)
    print(f"{activation}: {network.score(X, y):.3f} against {line.score(X, y):.3f}")
    assert network.score(X, y) > 0.85 and line.score(X, y) < 0.65


def test_a_network_learns_digits():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
    score = DPMLPClassifier(8.0).fit(X_train, y_train).score(X_test, y_test)
    print(f"digits at epsilon 8: {score:.3f}")
    assert score > 0.7


@pytest.mark.parametrize("loss", [
    "squared_error", pytest.param("huber", marks=pytest.mark.audit)])
def test_a_network_learns_a_product_on_the_scale_of_the_targets(loss):
    X, _ = _quadrants()
    y = 300 + 100 * X[:, 0] * X[:, 1]
    model = DPMLPRegressor(8.0, hidden_layer_sizes=16, loss=loss, target_bounds=(200, 400))
    score = model.fit(X, y).score(X, y)
    print(f"{loss}: {score:.3f}")
    assert score > 0.6 and (model.offset_, model.scale_) == (300.0, 100.0)


@pytest.mark.parametrize("options", [
    {"adaptive": True},
    pytest.param({"momentum": 0.0, "decay": False}, marks=pytest.mark.audit)])
def test_other_updates_learn_too(options):
    X, y = _quadrants()
    model = DPMLPClassifier(8.0, hidden_layer_sizes=16, solver_options=options).fit(X, y)
    print(f"{options}: {model.score(X, y):.3f}")
    assert model.score(X, y) > 0.75


def by_hand(model, X):
    h = np.asarray(X, np.float32).astype(float)
    for W, b in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        h = h @ W + b
        h = np.tanh(h) if model.activation == "tanh" else np.maximum(h, 0.0)
    raw = h @ model.coefs_[-1] + model.intercepts_[-1]
    return raw if model.linear_coef_ is None else raw + X @ model.linear_coef_


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("hidden", [(), (3,), (4, 3), (20, 3)])
def test_predictions_follow_from_weights_and_biases(hidden, activation):
    X, y = _quadrants(60)
    params = {"hidden_layer_sizes": hidden, "activation": activation}
    model = DPMLPClassifier(**params).fit(X, np.arange(60) % 3)
    np.testing.assert_allclose(model.decision_function(X), by_hand(model, X), rtol=1e-5, atol=1e-4)
    assert [W.shape for W in model.coefs_] == list(
        zip((2, *hidden), (*hidden, 3), strict=True))
    assert model.n_layers_ == len(hidden) + 2
    model = DPMLPRegressor(**params, target_bounds=(0, 10)).fit(X, y)
    # Predictions stay where targets are.
    expected = np.clip(by_hand(model, X)[:, 0] * 5 + 5, 0, 10)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("classes, outputs, activation", [
    (2, 1, "logistic"), (3, 3, "softmax"), (5, 5, "softmax")])
def test_outputs_are_described_as_those_of_scikit_learn_are(classes, outputs, activation):
    X, y = _quadrants(60)
    labels = np.arange(60) % classes
    own = DPMLPClassifier(hidden_layer_sizes=(4,)).fit(X, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = MLPClassifier(hidden_layer_sizes=(4,), max_iter=1).fit(X, labels)
    for name in ("n_outputs_", "out_activation_", "n_layers_"):
        assert getattr(own, name) == getattr(known, name)
    assert (own.n_outputs_, own.out_activation_) == (outputs, activation)
    model = DPMLPRegressor(hidden_layer_sizes=(4,)).fit(X, y)
    assert (model.n_outputs_, model.out_activation_) == (1, "identity")


def test_rows_are_scaled_down_where_a_bound_is_given():
    X, y = _quadrants(60)
    model = DPMLPClassifier(data_norm=0.5).fit(X, y)
    far = 10 * X / np.linalg.norm(X, axis=1)[:, None]
    np.testing.assert_allclose(model.decision_function(far), model.decision_function(100 * far),
                               rtol=1e-5, atol=1e-6)
    free = DPMLPClassifier().fit(X, y)
    assert not np.allclose(free.decision_function(X), free.decision_function(0.5 * X))
    assert not is_linear(type(free))


def test_rows_too_large_for_single_precision_are_refused():
    X, y = _quadrants(60)
    X[3] = 1e39
    with pytest.raises(ValueError, match="infinity or a value too large for dtype"):
        DPMLPClassifier().fit(X, y)


@pytest.mark.parametrize("row", [1e38, 1e20, 1e-45])
def test_extreme_rows_leave_finite_weights(row):
    X, y = _quadrants(60)
    X[::2] = row
    model = DPMLPClassifier(hidden_layer_sizes=(4,), activation="relu").fit(X, y)
    assert all(np.isfinite(part).all() for part in (*model.coefs_, *model.intercepts_))


@pytest.mark.parametrize("solver", ["sgd", "gd", "rrpsgd"])
def test_default_steps_bear_a_strong_penalty(solver):
    X, y = _quadrants(600)
    model = DPMLPClassifier(alpha=1e4, solver=solver, hidden_layer_sizes=16).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_first_fit_that_fails_leaves_nothing_fitted():
    X, y = _quadrants(60)
    model = DPMLPClassifier(solver_options={"nope": 1})
    with pytest.raises(ValueError, match="nope"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")
def test_without_noise_few_rows_are_not_learned_by_heart():
    """2000 steps on 331 rows of diabetes left an R2 of -.24."""
    X, X_test, y, y_test = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    assert DPMLPRegressor(np.inf, random_state=0).fit(X, y).score(X_test, y_test) > 0.1


@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_class_weights_work_at_every_budget(epsilon):
    """Clipped gradients undid the weight: balanced accuracy fell to .60 as epsilon rose to 20."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = (rng.random(6000) < 1.0 / (1.0 + np.exp(3.0 - 1.5 * X[:, 0]))).astype(int)
    weights = {0: 1.0, 1: float((y == 0).sum() / y.sum())}
    scores = []
    for class_weight in (weights, {0: 7.0 * weights[0], 1: 7.0 * weights[1]}):
        model = DPMLPClassifier(epsilon, class_weight=class_weight, classes=[0, 1],
                                random_state=NoiseSeed(0)).fit(X[:4000], y[:4000])
        scores.append(balanced_accuracy_score(y[4000:], model.predict(X[4000:])))
    assert min(scores) > 0.66
