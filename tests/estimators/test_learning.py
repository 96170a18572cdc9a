"""Labels, targets and what is learnt from them where there is little noise."""

import inspect

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_iris

from dpsk import DPLinearSVC, DPLogisticRegression, DPPoissonRegressor, DPQuantileRegressor
from dpsk.testing import NoiseSeed
from tests.estimators.pairs import build
from tests.registry import (
    ESTIMATORS,
    SETS,
    SOLVER_PARAMS,
    coefficients,
    every_estimator,
    every_fit,
    is_linear,
    plain_bounds,
    takes_several_classes,
    where_sets_may_be_needed,
)


def _every(choose):
    return pytest.mark.parametrize("cls, solver", [
        case for case in every_fit.args[1] if choose(case.values[0])])


every_classifier_fit = _every(lambda cls: is_classifier(cls()))
every_regressor_fit = _every(lambda cls: not is_classifier(cls()))


def test_string_labels_come_back_as_given():
    X, y = load_iris(return_X_y=True)
    for cls in (cls for cls in ESTIMATORS.values() if is_classifier(cls())):
        for names in (np.array(["setosa", "versicolor"]),
                      np.array(["a", "b", "c"], dtype=object))[:1 + takes_several_classes(cls)]:
            labels = names[y % len(names)]
            model = cls().fit(X, labels)
            np.testing.assert_array_equal(model.classes_, np.unique(labels))
            assert set(model.predict(X)) <= set(names)


@every_classifier_fit
def test_the_number_of_classes_gives_the_shapes(cls, solver):
    X, y = load_iris(return_X_y=True)
    for n_classes, rows in [(2, 1), (3, 3)][:1 + takes_several_classes(cls, solver)]:
        model = build(cls, solver).fit(X, y % n_classes)
        if is_linear(cls):
            assert model.coef_.shape == (rows, 4) and model.intercept_.shape == (rows,)
        else:
            assert model.coefs_[-1].shape[1] == len(model.intercepts_[-1]) == rows
        scores = model.decision_function(X)
        assert scores.shape == ((150,) if n_classes == 2 else (150, 3))
        codes = scores > 0 if n_classes == 2 else scores.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), model.classes_[codes.astype(int)])
        if not hasattr(model, "predict_proba"):
            continue
        probability = model.predict_proba(X)
        assert probability.shape == (150, n_classes)
        np.testing.assert_allclose(probability.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probability, atol=1e-12)
        # Scores of a few rounding errors, as vertices that cancel leave, round to a tie.
        told = np.abs(np.diff(np.sort(probability, axis=1)[:, -2:], axis=1).ravel()) > 1e-9
        np.testing.assert_array_equal(model.predict(X)[told],
                                      model.classes_[probability.argmax(axis=1)][told])


def test_declared_classes_need_not_occur():
    X, y = load_iris(return_X_y=True)
    for cls in (cls for cls in ESTIMATORS.values() if is_classifier(cls())):
        if takes_several_classes(cls):
            model = cls(classes=[3, 0, 1, 2]).fit(X, y)
            np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3])
            assert model.decision_function(X).shape == (150, 4)
        assert cls(classes=["no", "yes"]).fit(X, np.repeat("no", 150)).decision_function(
            X).shape == (150,)
    one = DPLogisticRegression(classes=["no", "yes"]).fit(X, np.repeat("no", 150))
    assert one.predict_proba(X).shape == (150, 2)


def _linear_rows(n=5000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(n, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.1


@pytest.mark.covering(most=8)
@every_classifier_fit
def test_with_little_noise_the_classifiers_learn(cls, solver):
    X, signal = _linear_rows()
    # The score lies ten standard deviations and more above this over repeated fits.
    model = build(cls, solver, epsilon=20, **_weak_ridge(cls, solver), **_patience(solver))
    model.fit(X, signal > 0)
    score = model.score(X, signal > 0)
    print(f"{cls.__name__} {solver}: {score:.3f}")
    assert score > 0.8


@pytest.mark.covering(most=8)
@where_sets_may_be_needed(every_regressor_fit)
def test_with_little_noise_the_regressors_learn(cls, solver):
    X, signal = _linear_rows()
    y = np.exp(signal - 1.1) if cls is DPPoissonRegressor else signal
    # The few units and steps of other tests depend on their start.
    effort = {} if is_linear(cls) else {"hidden_layer_sizes": (32,), "max_iter": 100}
    model = build(cls, solver, epsilon=20, **_weak_ridge(cls, solver), **_patience(solver),
                  **effort)
    score = model.fit(X, y).score(X, y)
    print(f"{cls.__name__} {solver}: {score:.3f}")
    # One noisy release shows more after the exponential, and steps no longer than a corner is
    # wide do not get far.
    fewer = {DPPoissonRegressor: 0.8, DPQuantileRegressor: 0.6}
    assert score > fewer.get(cls, 0.9)


def _patience(solver):
    """Without acceleration 20 steps do not get far."""
    return {"max_iter": 200} if "stgd" in solver else {}


def _weak_ridge(cls, solver):
    """Return a penalty that hardly binds, or a set that holds the signal."""
    own = SOLVER_PARAMS.get(solver, {})
    weak = {"alpha": 1e-3} if "alpha" in own else {}
    in_a_set = "penalty" in own or cls().get_params().get("penalty") in SETS
    return {**weak, "radius": 5.0} if in_a_set else weak


@pytest.mark.covering(most=8)
@every_regressor_fit
def test_the_regression_is_on_the_scale_of_the_declared_targets(cls, solver):
    X, signal = _linear_rows()
    model = build(cls, solver, epsilon=20, target_bounds=(200, 600)).fit(X, 100 * signal + 400)
    assert model.predict(X).mean() == pytest.approx(410, abs=40)
    if cls is not DPPoissonRegressor:
        # Its offset is the logarithm of the upper bound, far from the middle.
        assert model.predict(np.zeros((1, 3))) == pytest.approx(410, abs=40)


@every_regressor_fit
def test_targets_beyond_the_bounds_count_as_the_bounds(cls, solver):
    X, signal = _linear_rows(300)
    far = np.where(signal > 0.4, 1e12, np.where(signal < -0.2, -1e12, signal))
    model = build(cls, solver, random_state=NoiseSeed(0))
    near = np.clip(far, *plain_bounds(model))
    a, b = (build(cls, solver, random_state=NoiseSeed(0)).fit(X, y) for y in (far, near))
    np.testing.assert_array_equal(coefficients(a), coefficients(b))


@pytest.mark.parametrize("model", [
    DPLogisticRegression(), *(DPLinearSVC(loss=loss) for loss in (
        "huberized_hinge", "squared_hinge", "sigmoid"))], ids=str)
def test_rows_far_from_zero_are_told_apart_without_whitening(model):
    """Accuracy .85 to .93 of 15 fits each; .65 at most where steps are too short for a constant
    that rows far from 0 need."""
    rng = np.random.default_rng(0)
    X = 2.0 + rng.normal(size=(4000, 6))
    y = X.sum(axis=1) + 0.5 * rng.normal(size=4000) > 12.0
    model.set_params(epsilon=1.0, precondition=False, data_norm=8.0)
    assert model.fit(X, y).score(X, y) > 0.7


@every_estimator
def test_docstrings_list_every_parameter_and_fitted_attribute(cls):
    text = inspect.getdoc(cls)
    params = text[text.index("Parameters\n"):text.index("Attributes\n")]
    attributes = text[text.index("Attributes\n"):text.index("Raises\n")]
    X, y = load_iris(return_X_y=True)
    model = cls().fit(X, y % 2)
    assert not [name for name in model.get_params() if f"{name}" not in params]
    fitted = [name for name in vars(model) if name.endswith("_")]
    assert not [name for name in fitted if f"\n{name} :" not in attributes]
