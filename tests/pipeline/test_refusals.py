"""What pipelines refuse, before anything is drawn."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils.discovery import all_estimators

from dpsk import (
    DPPCA,
    DPAdditiveClassifier,
    DPAUCMaximizer,
    DPLinearSVC,
    DPLogisticRegression,
    DPMLPClassifier,
    DPRidge,
    DPTableVectorizer,
    PrivacyBudget,
    make_dp_pipeline,
)
from tests.pipeline.fits import model, table
from tests.registry import every_fit, make_estimator, training_rows, where_sets_may_be_needed


@pytest.mark.parametrize("name, value", [
    ("epsilon", 0), ("epsilon", math.nan), ("delta", 0), ("delta", 1.0), ("random_state", 1.5),
    ("verbose", "yes"), ("shares", 0.5), ("shares", {"dptablevectorizer": 0.0}),
    ("shares", {"dptablevectorizer": 1.5}),
    ("shares", {"dptablevectorizer": 0.6, "dplogisticregression": 0.6})])
def test_a_bad_value_is_refused_before_rows_are_looked_at(name, value, silent):
    with pytest.raises(ValueError, match=name):
        model(**{name: value}).fit(object(), object())


@pytest.mark.parametrize("step", [
    StandardScaler(), KBinsDiscretizer(), OneHotEncoder(), make_pipeline(StandardScaler()),
    GridSearchCV(make_pipeline(DPTableVectorizer()), {}), make_pipeline(DPTableVectorizer()),
    GridSearchCV(ColumnTransformer([]), {})], ids=lambda step: type(step).__name__)
def test_a_step_that_learns_from_rows_is_refused(step, silent):
    with pytest.raises(ValueError, match=f"step '{type(step).__name__.lower()}': .* learn from "
                                         "rows without a guarantee.*FrozenEstimator"):
        model(step).fit(*table())


@pytest.mark.filterwarnings("ignore")
def test_a_step_that_is_fitted_already_is_refused_as_before():
    """It would be fitted anew, to these rows; of all transformers that scikit-learn has."""
    X, y = np.abs(np.random.default_rng(0).normal(size=(60, 3))) + 0.1, np.arange(60) % 2
    told = {}
    for name, cls in all_estimators(type_filter="transformer"):
        if not hasattr(cls, "transform"):
            continue
        try:
            fitted = cls().fit(X, y)
        except (AttributeError, TypeError, ValueError):
            continue
        told[name] = [_refusal(make_dp_pipeline(step, DPLogisticRegression(
            solver="gd", max_iter=1, data_norm=1.0)), X, y) for step in (cls(), fitted)]
        assert told[name][0] == told[name][1], name
    assert len(told) > 50 and sum(before is not None for before, _ in told.values()) > 30


def _refusal(pipeline, X, y):
    """Return what the fit of a pipeline is refused with, or None."""
    try:
        pipeline.fit(X, y)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("pipeline, match", [
    (make_dp_pipeline(Normalizer()), "none of them is private"),
    (model(shares={"normalizer": 0.1}), "shares has 'normalizer', which is no private step"),
    (model(last=DPMLPClassifier(), shares={"dpmlpclassifier": 0.5}), "not known to be Gaussian"),
    (model(shares={"dptablevectorizer": 1.0}), "nothing is left for step 'dplogistic"),
    (model(shares={"dplogisticregression": 0.999}), "nothing is left for step 'dptablevec"),
    (model(DPTableVectorizer()), "no rule for the share of step 'dptablevectorizer-2'"),
    (model(last=DPLogisticRegression(data_norm=-1.0)), "data_norm=-1.0"),
    (model(last=DPLogisticRegression(class_weight={"x": 1.0})), "class_weight has 'x'"),
    (model(last=DPLogisticRegression(classes=[5, 6])), "y holds a label outside"),
    (model(last=DPRidge(solver="gd", solver_options={"foo": 1})), "solver_options has 'foo'"),
    (model(last=DPRidge(solver="sufficient_statistics", learning_rate=0.1)), "no use for it"),
    (model(DPLinearSVC()), "transform"),
    (model(last=make_dp_pipeline(DPTableVectorizer(), DPRidge(alpha=-1.0))), "alpha=-1.0"),
    (model(last=make_dp_pipeline("passthrough", DPLogisticRegression(classes=[5, 6]))),
     "y holds a label outside"),
    (make_dp_pipeline(make_dp_pipeline(DPTableVectorizer(), DPMLPClassifier()), DPRidge(),
                      shares={"dppipeline": 0.5}), "transform"),
    (make_dp_pipeline(*[DPTableVectorizer() for _ in range(9)], DPAdditiveClassifier()),
     "nothing of delta is left")])
def test_what_does_not_go_together_is_refused(pipeline, match, silent):
    with pytest.raises((TypeError, ValueError), match=match):
        pipeline.fit(*table())


@pytest.mark.parametrize("params, match", [
    ({"sample_weight": 1}, r"'sample_weight' is no parameter of DPPipeline\.fit, .* as "
                           r"fit\(X, y, dplogisticregression__sample_weight=\.\.\.\)"),
    ({"logistic__sample_weight": 1}, "dplogisticregression__sample_weight="),
    ({"normalizer__y": 1}, "no private step"),
    ({"dplogisticregression__unknown": 1}, "'dplogisticregression__unknown' .* no private step"),
    ({"dplogisticregression__X": 1}, "'dplogisticregression__X' .* no private step"),
    ({"dplogisticregression__sample_weight": np.full(600, np.nan)}, "sample_weight")])
def test_what_fit_is_given_beside_rows_is_checked_first(params, match, silent):
    with pytest.raises(ValueError, match=match):
        model().fit(*table(), **params)


@pytest.mark.parametrize("parameter, match", [
    ("sample_weight", "sample_weight"), ("unknown", "no private step"), ("groups", "same people")])
def test_what_a_pipeline_inside_is_given_is_checked_first(parameter, match, silent):
    last = make_dp_pipeline(DPLogisticRegression())
    with pytest.raises(ValueError, match=match):
        model(last=last).fit(*table(), **{
            f"dppipeline__dplogisticregression__{parameter}": np.full(600, np.nan)})


@pytest.mark.parametrize("last, y, match", [
    (DPAUCMaximizer(), np.arange(600) % 3, "Only binary classification"),
    (DPRidge(), np.array(["a", "b"] * 300), "y must be numeric"),
    (DPRidge(), None, "This DPRidge estimator requires y")], ids=["auc", "words", "none"])
def test_targets_that_a_kind_of_model_does_not_take_are_refused_first(last, y, match, silent):
    with pytest.raises(ValueError, match=match):
        model(last=last).fit(table()[0], y)


@pytest.mark.parametrize("last, match", [
    (DPLogisticRegression(solver="last_iterate"), "needs penalty='l2' with alpha > 0"),
    (DPLogisticRegression(solver="newton", clip_norm=np.inf, penalty="l1", alpha=0.1),
     "takes penalty='l2' only"),
    (DPRidge(solver="frank_wolfe"), "needs penalty='l1_ball'"),
    (DPRidge(solver="sufficient_statistics", precondition="whitening"), "precondition="),
    (DPRidge(target_bounds=None), "target_bounds=None")], ids=repr)
def test_what_a_solver_lacks_is_said_before_anything_is_drawn(last, match, silent):
    with pytest.raises(ValueError, match=match):
        model(last=last, epsilon=0.1).fit(*table())


def test_a_solver_of_two_classes_refuses_three_before_anything_is_drawn(silent):
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        model(last=DPLogisticRegression(solver="newton")).fit(table()[0], np.arange(600) % 3)


def test_a_transformer_that_refuses_its_price_costs_nothing():
    """It would by itself draw nothing either, but the pipeline is charged before its steps."""
    pipeline = make_dp_pipeline(DPPCA(data_norm=None), DPRidge(target_bounds=(0.0, 1.0)),
                                epsilon=0.1, delta=1e-6, shares={"dppca": 0.3})
    rows = np.linspace(0.0, 1.0, 180).reshape(60, 3)
    with PrivacyBudget(10.0, 1e-3) as budget, pytest.raises(ValueError, match="too few to learn"):
        pipeline.fit(rows, rows[:, 0])
    assert budget.charges == []


@where_sets_may_be_needed(every_fit)
def test_what_is_fitted_is_not_refused_beforehand(cls, solver):
    estimator = make_estimator(cls, solver, delta=1e-4)
    rows, y = training_rows(estimator)[:2]
    if hasattr(estimator, "_check_fit"):
        estimator._check_fit(len(rows), np.asarray(y))


@pytest.mark.parametrize("y", [np.zeros(600), np.full(600, np.nan), np.zeros(599), None])
def test_targets_are_checked_before_anything_is_drawn(y, silent):
    with pytest.raises(ValueError):
        model().fit(table()[0], y)


@pytest.mark.parametrize("last", [
    GridSearchCV(DPLogisticRegression(), {"alpha": [0.0, 0.1]}),
    BaggingClassifier(DPLogisticRegression()), CalibratedClassifierCV(DPLogisticRegression()),
    OneVsRestClassifier(DPLogisticRegression())], ids=lambda last: type(last).__name__)
def test_what_fits_a_private_model_several_times_is_no_step(last, silent):
    with pytest.raises(ValueError, match="learn from rows without a guarantee"):
        model(last=last).fit(*table())


def test_a_step_that_changes_the_number_of_rows_is_refused(silent):
    pipeline = make_dp_pipeline(FunctionTransformer(lambda X: X[:-1]), DPTableVectorizer())
    with pytest.raises(ValueError, match="changes the number of rows"):
        pipeline.fit(table()[0])


@pytest.mark.parametrize("rows", [
    np.zeros(600), np.zeros(600, dtype=[("a", float), ("b", float)]), "dask"],
    ids=["one column", "records", "dask"])
def test_columns_are_taken_of_tables_in_memory(rows, silent):
    if isinstance(rows, str):
        frame = pd.DataFrame(np.zeros((600, 2)), columns=["a", "b"])
        rows = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    columns = ColumnTransformer([("a", Normalizer(), [0])])
    with pytest.raises(ValueError, match=r"Expected 2D array|in memory only"):
        make_dp_pipeline(columns, DPRidge()).fit(rows, np.zeros(600))


def test_errors_of_functions_of_rows_are_not_quoted(silent):
    def failing(X):
        raise KeyError(f"secret {X.iloc[0, 0]}")

    with pytest.raises(ValueError, match="withheld") as caught:
        make_dp_pipeline(FunctionTransformer(failing), DPRidge()).fit(*table())
    assert "secret" not in str(caught.value) and caught.value.__context__ is None


def test_errors_of_later_rows_are_not_quoted_either():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    words = np.array([["secret", 1.0]], dtype=object)
    for step in (Normalizer(), FunctionTransformer(lambda X: np.asarray(X, dtype=float))):
        fitted = make_dp_pipeline(step, DPRidge()).fit(X, y)
        with pytest.raises(ValueError, match="must be numeric") as caught:
            fitted.predict(words)
        assert "secret" not in str(caught.value) and caught.value.__context__ is None
