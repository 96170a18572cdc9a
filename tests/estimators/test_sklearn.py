"""Every estimator, with every solver, is a scikit-learn estimator without reservations."""

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import DPHuberRegressor, DPLogisticRegression
from dpsk._solvers import SOLVERS
from tests.registry import ESTIMATORS, every_estimator, every_fit, training_rows

_CHECKS = parametrize_with_checks([cls(solver=solver) for _, cls in sorted(ESTIMATORS.items())
                                   for solver in ["auto", *sorted(SOLVERS)]])


# scikit-learn 1.6 gives the cases as a generator, which newer versions of pytest deprecate.
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), **_CHECKS.kwargs)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def _real_rows(model):
    """Return a data set bundled with scikit-learn, with features of order one."""
    load = load_breast_cancer if is_classifier(model) else load_diabetes
    X, y = load(return_X_y=True)
    return X / np.abs(X).max(axis=0), y if is_classifier(model) else (y - 187) / 162


@every_estimator
def test_tags_claim_no_more_than_is_measured(cls):
    assert is_classifier(cls()) != is_regressor(cls())
    tags = cls().__sklearn_tags__()
    assert tags.target_tags.required
    assert not tags.input_tags.sparse and not tags.input_tags.allow_nan
    assert not tags.non_deterministic and not tags.no_validation


@every_fit
def test_works_in_a_pipeline(cls, solver):
    model = cls(solver=solver)
    X, y = _real_rows(model)
    pipeline = make_pipeline(Normalizer(), model).fit(X, y)
    assert pipeline.predict(X[:7]).shape == (7,)
    assert pipeline[-1].privacy_.epsilon == 1.0


@every_estimator
def test_set_output_in_a_pipeline_carries_names_through(cls):
    X, y = training_rows(cls())
    frame = pd.DataFrame(X, columns=list("abcd"))
    halve = FunctionTransformer(lambda part: part / 2, feature_names_out="one-to-one")
    pipeline = make_pipeline(halve, cls()).set_output(transform="pandas").fit(frame, y)
    np.testing.assert_array_equal(pipeline[-1].feature_names_in_, list("abcd"))
    assert pipeline.predict(frame).shape == (len(X),)


@every_fit
def test_grid_search_over_epsilon_in_workers(cls, solver):
    model = cls(solver=solver)
    X, y = _real_rows(model)
    grid = {"epsilon": [0.5, 5.0]}
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        search = GridSearchCV(model, grid, n_jobs=2, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.privacy_.epsilon == search.best_params_["epsilon"]
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


@every_fit
def test_cross_val_predict_predicts_every_row(cls, solver):
    model = cls(solver=solver)
    X, y = _real_rows(model)
    predicted = cross_val_predict(model, X, y, cv=3)
    assert predicted.shape == y.shape and np.all(np.isfinite(predicted))
    if is_classifier(model):
        assert cross_val_predict(model, X, y, cv=3, method="predict_proba").shape == (len(y), 2)


@every_fit
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_works_under_calibrated_classifier(cls, solver, method):
    if not is_classifier(cls()):
        assert not hasattr(cls, "predict_proba")
        return
    X, y = _real_rows(cls())
    probability = CalibratedClassifierCV(cls(solver=solver), method=method, cv=3).fit(
        X, y).predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)


@every_fit
def test_joblib_dump_and_load_keep_predictions_and_certificate(cls, solver, tmp_path):
    model = cls(solver=solver)
    X, y = training_rows(model)
    model.fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.privacy_ == model.privacy_
    # A loaded model draws new noise.
    assert np.any(loaded.fit(X, y).coef_ != model.coef_)


@every_fit
def test_clone_and_set_params_keep_parameters_and_drop_the_fit(cls, solver):
    model = cls(epsilon=3.0, solver=solver, alpha=0.2)
    X, y = training_rows(model)
    copy = clone(model.fit(X, y))
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_") and not hasattr(copy, "privacy_")
    copy.set_params(epsilon=0.5).fit(X, y)
    assert copy.privacy_.epsilon == 0.5 and model.privacy_.epsilon == 3.0


@every_estimator
def test_fit_leaves_constructor_parameters_alone(cls):
    model = cls()
    before = model.get_params()
    model.fit(*training_rows(model))
    assert model.get_params() == before


@every_estimator
def test_only_the_budget_is_positional(cls):
    assert cls(2.5).epsilon == 2.5
    with pytest.raises(TypeError, match="positional"):
        cls(2.5, 1e-5)


@every_fit
def test_float32_is_kept_from_rows_to_predictions(cls, solver):
    model = cls(solver=solver)
    X, y = training_rows(model)
    model.fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    if is_classifier(model):
        assert model.intercept_.dtype == np.float32
        assert model.decision_function(X.astype(np.float32)).dtype == np.float32
        assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    else:
        assert model.predict(X.astype(np.float32)).dtype == np.float32


@every_fit
@pytest.mark.parametrize("clip_norm", [None, np.inf, 1.0])
def test_extreme_rows_leave_finite_coefficients_under_the_largest_bound(cls, solver, clip_norm):
    model = cls(solver=solver, data_norm=1e10, clip_norm=clip_norm, max_iter=3)
    X, y = training_rows(model)
    X = X.astype(np.float32)
    X[::2] = 1e27
    assert np.all(np.isfinite(model.fit(X, y).coef_))


@every_fit
def test_storage_order_makes_no_difference_under_a_seed(cls, solver):
    model = cls(solver=solver, random_state=0)
    X, y = training_rows(model)
    rows = [X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2],
            np.hstack([X, X])[:, :X.shape[1]]]
    coefs = [model.fit(array, y).coef_.copy() for array in rows]
    for coef in coefs[1:]:
        np.testing.assert_allclose(coef, coefs[0], rtol=1e-10)


@every_fit
def test_lists_frames_and_integers_are_read_as_numbers(cls, solver):
    model = cls(solver=solver, random_state=0)
    X, y = training_rows(model)
    X = np.rint(10 * X)
    coef = model.fit(X, y).coef_.copy()
    for rows in (X.tolist(), X.astype(int), pd.DataFrame(X, columns=list("abcd")),
                 X.astype(object)):
        np.testing.assert_allclose(model.fit(rows, y).coef_, coef, rtol=1e-10)


@every_fit
def test_predictions_see_rows_scaled_to_the_norm_bound(cls, solver):
    model = cls(solver=solver, fit_intercept=False)
    X, y = training_rows(model)
    model.fit(X, y)
    score = getattr(model, "decision_function", model.predict)
    long = 1e6 * X / np.linalg.norm(X, axis=1)[:, None]
    np.testing.assert_allclose(score(long), score(10 * long), atol=1e-9)


def test_string_labels_come_back_as_given():
    X, y = load_iris(return_X_y=True)
    for names in (np.array(["setosa", "versicolor"]), np.array(["a", "b", "c"], dtype=object)):
        labels = names[y % len(names)]
        model = DPLogisticRegression().fit(X, labels)
        np.testing.assert_array_equal(model.classes_, np.unique(labels))
        assert set(model.predict(X)) <= set(names)


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_the_number_of_classes_gives_the_shapes(solver):
    X, y = load_iris(return_X_y=True)
    for n_classes, rows in [(2, 1), (3, 3)]:
        model = DPLogisticRegression(solver=solver).fit(X, y % n_classes)
        assert model.coef_.shape == (rows, 4) and model.intercept_.shape == (rows,)
        probability = model.predict_proba(X)
        assert probability.shape == (150, n_classes)
        np.testing.assert_allclose(probability.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probability, atol=1e-12)
        np.testing.assert_array_equal(model.predict(X),
                                      model.classes_[probability.argmax(axis=1)])


def test_declared_classes_need_not_occur():
    X, y = load_iris(return_X_y=True)
    model = DPLogisticRegression(classes=[3, 0, 1, 2]).fit(X, y)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3])
    one = DPLogisticRegression(classes=["no", "yes"]).fit(X, np.repeat("no", 150))
    assert one.predict_proba(X).shape == (150, 2)


def _linear_rows(n=5000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(n, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.1


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_with_little_noise_the_models_learn(solver):
    X, signal = _linear_rows()
    labels = signal > 0
    # Both scores lie ten standard deviations and more above these over repeated fits.
    assert DPLogisticRegression(20, solver=solver).fit(X, labels).score(X, labels) > 0.8
    assert DPHuberRegressor(20, solver=solver).fit(X, signal).score(X, signal) > 0.9


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_the_regression_is_on_the_scale_of_the_declared_targets(solver):
    X, signal = _linear_rows()
    y = 100 * signal + 400
    model = DPHuberRegressor(20, solver=solver, target_bounds=(200, 600)).fit(X, y)
    assert model.intercept_ == pytest.approx(410, abs=40)
    norms = np.linalg.norm(X, axis=1)
    assert norms.max() < 1
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_targets_beyond_the_bounds_count_as_the_bounds(solver):
    X, signal = _linear_rows()
    far = np.where(signal > 0.4, 1e12, signal)
    near = np.where(signal > 0.4, 1.0, signal)
    a, b = (DPHuberRegressor(solver=solver, random_state=0).fit(X, y) for y in (far, near))
    np.testing.assert_array_equal(a.coef_, b.coef_)


@every_estimator
def test_metadata_routing_offers_no_sample_weight(cls):
    # Weights would have to be part of the clipped row; until then asking is an error.
    model = cls()
    X, y = training_rows(model)
    assert model.get_metadata_routing() is not None
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.ones(len(y)))
