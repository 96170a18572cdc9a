"""Every estimator, with every solver, works with the rest of scikit-learn."""

import inspect
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from dpsk.testing import NoiseSeed
from tests.estimators.pairs import bounds_gradients, build
from tests.registry import (
    coefficients,
    every_estimator,
    every_fit,
    every_linear_fit,
    every_row_estimator,
    is_linear,
    training_rows,
)


def _real_rows(model):
    """Return a data set bundled with scikit-learn, with features of order one."""
    load = load_breast_cancer if is_classifier(model) else load_diabetes
    X, y = load(return_X_y=True)
    return X / np.abs(X).max(axis=0), y if is_classifier(model) else (y - 187) / 162


@pytest.mark.covering
@every_fit
def test_works_in_a_pipeline(cls, solver):
    model = build(cls, solver)
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


@pytest.mark.thorough
@every_estimator
def test_grid_search_over_epsilon_in_workers(cls):
    model = cls()
    X, y = _real_rows(model)
    grid = {"epsilon": [0.5, 5.0]}
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        search = GridSearchCV(model, grid, n_jobs=2, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.privacy_.epsilon == search.best_params_["epsilon"]
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


@pytest.mark.covering(most=12)
@every_fit
def test_cross_val_predict_predicts_every_row(cls, solver):
    model = build(cls, solver)
    X, y = _real_rows(model)
    predicted = cross_val_predict(model, X, y, cv=3)
    assert predicted.shape == y.shape and np.all(np.isfinite(predicted))
    if hasattr(model, "predict_proba"):
        assert cross_val_predict(model, X, y, cv=3, method="predict_proba").shape == (len(y), 2)


@pytest.mark.covering(most=12)
@every_fit
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_works_under_calibrated_classifier(cls, solver, method):
    if not is_classifier(cls()):
        assert not hasattr(cls, "predict_proba")
        return
    X, y = _real_rows(cls())
    probability = CalibratedClassifierCV(build(cls, solver), method=method, cv=3).fit(
        X, y).predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)


@pytest.mark.covering(most=12)
@every_fit
def test_joblib_dump_and_load_keep_predictions_and_certificate(cls, solver, tmp_path):
    model = build(cls, solver)
    X, y = training_rows(model)
    model.fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.privacy_ == model.privacy_
    # A loaded model draws new noise.
    assert np.any(coefficients(loaded.fit(X, y)) != coefficients(model))


@pytest.mark.covering(most=12)
@every_fit
def test_clone_and_set_params_keep_parameters_and_drop_the_fit(cls, solver):
    model = build(cls, solver, epsilon=3.0, alpha=0.2)
    X, y = training_rows(model)
    copy = clone(model.fit(X, y))
    assert copy.get_params() == model.get_params()
    assert not [name for name in vars(copy) if name.endswith("_")]
    copy.set_params(epsilon=0.5).fit(X, y)
    assert copy.privacy_.epsilon == 0.5 and model.privacy_.epsilon == 3.0


@every_row_estimator
def test_fit_leaves_constructor_parameters_alone(cls):
    model = cls()
    before = model.get_params()
    model.fit(*training_rows(model))
    assert model.get_params() == before


@every_row_estimator
def test_only_the_budget_is_positional(cls):
    assert cls(2.5).epsilon == 2.5
    with pytest.raises(TypeError, match="positional"):
        cls(2.5, 1e-5)


@pytest.mark.covering
@every_fit
def test_float32_is_kept_from_rows_to_predictions(cls, solver):
    model = build(cls, solver)
    X, y = training_rows(model)
    model.fit(X.astype(np.float32), y)
    if is_linear(cls):
        assert model.coef_.dtype == np.float32
    else:
        # Networks are of float32 whatever the rows are, and predict in double precision.
        assert {part.dtype for part in model.coefs_} == {np.dtype(np.float32)}
        return
    if is_classifier(model):
        assert coefficients(model).dtype == np.float32
        assert model.decision_function(X.astype(np.float32)).dtype == np.float32
        if hasattr(model, "predict_proba"):
            assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    else:
        assert model.predict(X.astype(np.float32)).dtype == np.float32


@pytest.mark.covering
@every_fit
@pytest.mark.parametrize("clip_norm", [None, np.inf, 1.0])
def test_extreme_rows_leave_finite_coefficients_under_the_largest_bound(cls, solver, clip_norm):
    if clip_norm == np.inf and not bounds_gradients(cls, solver):
        pytest.skip("refused, as bad parameters are")
    model = build(cls, solver, data_norm=1e10, clip_norm=clip_norm, max_iter=3)
    X, y = training_rows(model)
    X = X.astype(np.float32)
    X[::2] = 1e27
    assert np.all(np.isfinite(coefficients(model.fit(X, y))))


@pytest.mark.covering(most=12)
@every_fit
def test_storage_order_makes_no_difference_under_a_seed(cls, solver):
    model = build(cls, solver, random_state=NoiseSeed(0))
    X, y = training_rows(model)
    rows = [X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2],
            np.hstack([X, X])[:, :X.shape[1]]]
    coefs = [coefficients(model.fit(array, y)) for array in rows]
    for coef in coefs[1:]:
        np.testing.assert_allclose(coef, coefs[0], rtol=1e-10)


@pytest.mark.covering(most=12)
@every_fit
def test_lists_frames_and_integers_are_read_as_numbers(cls, solver):
    model = build(cls, solver, random_state=NoiseSeed(0))
    X, y = training_rows(model)
    X = np.rint(10 * X)
    coef = coefficients(model.fit(X, y))
    for rows in (X.tolist(), X.astype(int), pd.DataFrame(X, columns=list("abcd")),
                 X.astype(object)):
        np.testing.assert_allclose(coefficients(model.fit(rows, y)), coef, rtol=1e-10)


@every_linear_fit
def test_predictions_are_linear_in_rows_of_any_length(cls, solver):
    model = build(cls, solver)
    X, y = training_rows(model)
    model.fit(X, y)
    score = model.decision_function if is_classifier(model) else model._predict_raw
    offset = getattr(model, "offset_", 0.0)
    for rows in (X, 1e3 * X, sparse.csr_matrix(X), sparse.coo_matrix(X)):
        expected = (rows @ model.coef_.T + model.intercept_).reshape(len(y), -1) - offset
        np.testing.assert_allclose(score(rows).reshape(len(y), -1), expected, rtol=1e-12)


@every_estimator
def test_a_constructor_stores_each_parameter_as_it_is_and_nothing_else(cls):
    names = list(inspect.signature(cls).parameters)
    given = {name: object() for name in names}
    assert vars(cls(**given)) == given
    assert pickle.loads(pickle.dumps(cls(**{name: 7 for name in names}))).get_params() == {
        name: 7 for name in names}


@every_estimator
def test_a_subclass_may_have_a_signature_of_its_own(cls):
    class Narrow(cls):
        def __init__(self, epsilon=0.5, *, note="", max_iter=None):
            super().__init__(epsilon, max_iter=max_iter)
            self.note = note

    model = clone(Narrow(2.0, note="mine", max_iter=3))
    assert model.get_params() == {"epsilon": 2.0, "note": "mine", "max_iter": 3}
    assert model.solver == cls().solver
    X, y = training_rows(cls())
    assert model.set_params(max_iter=None).fit(X, y).privacy_.epsilon == 2.0
    model.delta = 1.5
    with pytest.raises(ValueError, match=r"delta=1\.5: must be"):
        model.fit(X, y)


@pytest.mark.covering
@every_fit
def test_the_printed_plan_has_plain_numbers_of_six_digits(cls, solver, capsys):
    model = build(cls, solver, verbose=1)
    model.fit(*training_rows(model))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{cls.__name__}: ") and "noise multiplier" in line
    numbers = re.findall(r"[-+\d.]+(?:e[-+]?\d+)?", line)
    assert "np." not in line and numbers
    for number in numbers:
        digits = re.sub(r"e.*|[-+.]", "", number).lstrip("0")
        assert len(digits) <= 6 or (digits.isdigit() and "." not in number), line
