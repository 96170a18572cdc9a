"""What is missing is refused before anything is charged, unless a step sees to it in time."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer, Normalizer, PolynomialFeatures

from dpsk import (
    DPPCA,
    DPAdditiveClassifier,
    DPGridSearchCV,
    DPLogisticRegression,
    DPMinMaxScaler,
    DPMLPClassifier,
    DPPipeline,
    DPQuantileTransformer,
    DPRidge,
    DPRobustScaler,
    DPSimpleImputer,
    DPStandardScaler,
    DPTableVectorizer,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
    metrics,
    model_selection,
)
from dpsk.testing import NoiseSeed
from tests.registry import ALL_ESTIMATORS

LAST = DPLogisticRegression(solver="gd")
NETWORK = DPMLPClassifier(hidden_layer_sizes=3, max_iter=2)


def rows(gap=True):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1, size=(200, 3))
    y = (X[:, 0] > 0.5).astype(int)
    if gap:
        X[17, 1] = np.nan
    return X, y


def gap_of_a_row(X):
    return np.where(X == X[17:18, :1], np.nan, X)


def filled(X):
    return np.nan_to_num(X)


def columns(**parts):
    return ColumnTransformer([(name, each, [place])
                              for place, (name, each) in enumerate(parts.items())])


REFUSED = {
    **{type(step).__name__: make_dp_pipeline(step, LAST) for step in (
        DPMinMaxScaler(), DPStandardScaler(), DPRobustScaler(), DPQuantileTransformer())},
    "nothing between": make_dp_pipeline(DPMinMaxScaler(), "passthrough", LAST),
    "two scalers": make_dp_pipeline(DPMinMaxScaler(), DPStandardScaler(), LAST),
    "network": make_dp_pipeline(DPMinMaxScaler(), DPMLPClassifier(max_iter=2)),
    "components": make_dp_pipeline(DPMinMaxScaler(), DPPCA(), LAST, shares={"dppca": 0.1}),
    "normalizer": make_dp_pipeline(DPMinMaxScaler(), Normalizer(), LAST),
    "function": make_dp_pipeline(DPMinMaxScaler(), FunctionTransformer(np.sqrt), LAST),
    "too late": make_dp_pipeline(DPMinMaxScaler(), Normalizer(), DPSimpleImputer(), LAST),
    "columns": make_dp_pipeline(columns(a=DPMinMaxScaler(), b=DPStandardScaler()), LAST,
                                shares={"columntransformer__a": 0.1,
                                        "columntransformer__b": 0.1}),
    "other part": make_dp_pipeline(columns(a=DPMinMaxScaler(), b=DPPCA()), LAST,
                                   shares={"columntransformer__a": 0.1,
                                           "columntransformer__b": 0.1}),
    "rest": make_dp_pipeline(ColumnTransformer([("a", DPMinMaxScaler(), [0])],
                                               remainder="passthrough"), LAST,
                             shares={"columntransformer__a": 0.1}),
    "public part": make_dp_pipeline(
        columns(a=DPMinMaxScaler(), b=FunctionTransformer(np.negative)), LAST,
        shares={"columntransformer__a": 0.1}),
    "union": make_dp_pipeline(FeatureUnion([("a", DPMinMaxScaler())]), LAST,
                              shares={"featureunion__a": 0.1})}

TAKEN = {
    "imputer": make_dp_pipeline(DPSimpleImputer(), DPStandardScaler(), LAST),
    "imputer behind": make_dp_pipeline(DPStandardScaler(), DPSimpleImputer(), LAST),
    "function": make_dp_pipeline(DPStandardScaler(), FunctionTransformer(filled), LAST),
    "table": make_dp_pipeline(DPTableVectorizer(), LAST),
    "table behind": make_dp_pipeline(DPStandardScaler(), DPTableVectorizer(), LAST,
                                     shares={"dptablevectorizer": 0.2}),
    "additive": make_dp_pipeline(DPMinMaxScaler(), DPAdditiveClassifier()),
    "columns": make_dp_pipeline(
        ColumnTransformer([("a", DPMinMaxScaler(), [0]), ("b", DPSimpleImputer(), [1])]), LAST,
        shares={"columntransformer__a": 0.1, "columntransformer__b": 0.1}),
    "public part": make_dp_pipeline(columns(a=DPMinMaxScaler(), b=FunctionTransformer(filled)),
                                    LAST, shares={"columntransformer__a": 0.1}),
    "dropped": make_dp_pipeline(columns(a=DPMinMaxScaler(), b="drop", c="passthrough"), LAST,
                                shares={"columntransformer__a": 0.1})}


def around(pipeline):
    """Return a pipeline by itself and in searches."""
    return [pipeline, DPTunedThresholdClassifier(pipeline, epsilon=2.0),
            DPGridSearchCV(pipeline, {}, n_iter=2, epsilon=2.0)]


@pytest.mark.covering(most=6)
@pytest.mark.parametrize("pipeline", REFUSED.values(), ids=REFUSED)
def test_gaps_that_a_later_step_refuses_are_refused_first(pipeline, silent):
    for model in around(pipeline):
        for X in (rows()[0], pd.DataFrame(rows()[0]), rows()[0].tolist()):
            with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises(ValueError, match="NaN"):
                clone(model).fit(X, rows()[1])
            assert not budget.charges


@pytest.mark.parametrize("last", [
    DPTunedThresholdClassifier(LAST), DPGridSearchCV(LAST, {}, n_iter=2),
    DPGridSearchCV(DPTunedThresholdClassifier(LAST), {}, n_iter=2)],
    ids=["threshold", "search", "both"])
def test_gaps_that_the_model_of_a_last_step_refuses_are_refused_first(last, silent):
    with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises(ValueError, match="NaN"):
        make_dp_pipeline(DPStandardScaler(), last).fit(*rows())
    assert not budget.charges


def test_numbers_that_an_imputer_keeps_and_a_network_refuses_are_refused_first(silent):
    X, y = rows()
    X[5, 0] = 1e39
    model = make_dp_pipeline(DPSimpleImputer(), NETWORK)
    with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises(ValueError, match="float32"):
        model.fit(X, y)
    assert not budget.charges


def behind_a_function(last, **params):
    """Return a pipeline of which it is unknown before the fit what its last step takes."""
    return make_dp_pipeline(DPSimpleImputer(), FunctionTransformer(), last, **params)


CUT = {
    "function": behind_a_function(NETWORK),
    "columns": make_dp_pipeline(ColumnTransformer(
        [("a", DPSimpleImputer(), [0, 1])], remainder="passthrough"), NETWORK),
    "search": behind_a_function(DPGridSearchCV(NETWORK, {}, n_iter=2, n_jobs=2)),
    "threshold": behind_a_function(DPTunedThresholdClassifier(NETWORK)),
    "within a search": DPGridSearchCV(behind_a_function(NETWORK), {}, n_iter=2),
    "within a threshold": DPTunedThresholdClassifier(behind_a_function(NETWORK)),
}


@pytest.mark.parametrize("name", CUT)
def test_numbers_beyond_single_precision_are_cut_where_they_are_known_after_the_charge(name):
    X, y = rows(gap=False)
    X[::2, 0] = 1e39
    with PrivacyBudget(9.0, 1e-2) as budget, parallel_config("threading"):
        clone(CUT[name]).fit(X, y)
    assert len(budget.charges) == 1


def test_numbers_that_are_cut_count_as_the_largest_ones():
    X, y = rows(gap=False)
    fits = []
    for value in (-1e39, -float(np.finfo("f4").max)):
        X[5, 0] = value
        fits.append(behind_a_function(NETWORK, random_state=NoiseSeed(0)).fit(X, y)[-1])
    np.testing.assert_array_equal(*(each.coefs_[0] for each in fits))
    np.testing.assert_array_equal(*(each.decision_function(X) for each in fits))


@pytest.mark.covering(most=5)
@pytest.mark.parametrize("name", sorted({*ALL_ESTIMATORS} - {
    "DPPipeline", "DPTDRegressor", *model_selection.__all__}))
def test_no_last_step_refuses_a_number_after_the_charge(name):
    X, y = rows(gap=False)
    last = ALL_ESTIMATORS[name]()
    short = {"max_iter": 2, "hidden_layer_sizes": (2,)}
    last.set_params(**{key: short[key] for key in short if key in last.get_params()})
    for value in (1e39, -1e308):
        X[5, 0] = value
        with PrivacyBudget(9.0, 1e-2) as budget:
            try:
                behind_a_function(clone(last), delta=1e-5).fit(X, y)
            except ValueError:
                assert not budget.charges


def frame(X):
    return pd.DataFrame(np.asarray(X), columns=[f"c{place}" for place in range(X.shape[1])])


def with_odd(*cells):
    """Return a function that makes objects, among them odd ones from a row in twelve."""
    def change(X):
        X = X.astype(object)
        X[::12, 1] = [cells[place % len(cells)] for place in range(len(X[::12]))]
        return X
    return change


def log(change):
    """Return a function that makes missing values, and a table of another kind of its result."""
    return FunctionTransformer(lambda X: change(np.log(np.asarray(X))))


KERNELS = [("a", AdditiveChi2Sampler(), [0]), ("b", SkewedChi2Sampler(skewedness=0.5), [1])]
REFUSING = {
    "infinite": (DPSimpleImputer(), PolynomialFeatures(2)),
    "missing": (DPStandardScaler(), FunctionTransformer(np.log)),
    "negative": (DPStandardScaler(), AdditiveChi2Sampler()),
    "too small": (DPStandardScaler(), SkewedChi2Sampler(skewedness=0.5)),
    "objects": (DPStandardScaler(), log(lambda X: X.astype(object))),
    "nullable": (DPStandardScaler(), log(lambda X: frame(X).convert_dtypes())),
    "flags": (DPStandardScaler(), log(lambda X: frame(X).assign(flag=frame(X).c0 > 0).astype(
        {"flag": "category"}))),
    "cells": (DPStandardScaler(), log(with_odd(pd.NA, pd.NaT, 2**1100, -2**1100, "inf",
                                               Fraction(10**400), Decimal("sNaN"), 1j))),
    "strings": (DPStandardScaler(), log(lambda X: X.astype(str))),
    "long": (DPStandardScaler(), log(lambda X: X.astype(np.longdouble) - np.longdouble("1e400"))),
    "whole": (DPStandardScaler(), log(lambda X: np.nan_to_num(X).clip(-9, 9).astype(int)),
              SkewedChi2Sampler(skewedness=0.5)),
    "lists": (DPStandardScaler(), FunctionTransformer(lambda X: sparse.lil_matrix(
        np.exp(1e3 * np.asarray(X))))),
    "columns": (DPStandardScaler(), ColumnTransformer(KERNELS, remainder=PolynomialFeatures(2))),
    "columns of a function": (DPStandardScaler(), log(frame), ColumnTransformer(
        [("a", PolynomialFeatures(2), ["c1"])], remainder="passthrough")),
    "parts": (DPStandardScaler(), FeatureUnion([each[:2] for each in KERNELS])),
}


@pytest.mark.covering(most=6)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", REFUSING)
def test_no_step_refuses_numbers_that_follow_from_a_private_step(name):
    """The refusal would compare a row exactly with what the private step has learned."""
    X, y = rows(gap=False)
    # A search trains on some of these rows and predicts others.
    X[::40, 0] = -1e200
    model = make_dp_pipeline(*REFUSING[name], LAST, delta=1e-5)
    frames = clone(model).set_output(transform="pandas")
    for whole in (model, frames, make_dp_pipeline(DPMinMaxScaler(), clone(model), delta=1e-5),
                  DPGridSearchCV(model, {}, n_iter=2, delta=1e-5)):
        with PrivacyBudget(9.0, 1e-2) as budget:
            assert np.isfinite(clone(whole).fit(X, y).decision_function(X)).all()
        assert len(budget.charges) == 1
    metrics.dp_cross_validate(model, X, y, cv=2)


def test_no_first_step_of_an_inner_pipeline_refuses_numbers():
    X, y = rows(gap=False)
    inner = make_dp_pipeline(KERNELS[1][1], LAST)
    for last in (inner, DPGridSearchCV(inner, {}, n_iter=2)):
        make_dp_pipeline(DPStandardScaler(), last, delta=1e-5).fit(X, y).decision_function(X)


def test_gaps_of_a_function_that_a_private_step_keeps_are_not_refused():
    X, y = rows(gap=False)
    steps = [("a", DPStandardScaler()), ("log", log(np.array)), ("b", DPMinMaxScaler())]
    model = DPPipeline([*steps, ("c", LAST)], epsilon=100.0, delta=1e-5, shares={"b": 0.2},
                       random_state=NoiseSeed(0)).fit(X, y)
    assert np.isnan(model[:-1].transform(X)).any()
    model.decision_function(X)


def test_only_columns_of_parts_that_refuse_numbers_are_changed():
    X, y = rows(gap=False)
    kept = []
    model = make_dp_pipeline(DPStandardScaler(), ColumnTransformer(
        [("a", AdditiveChi2Sampler(), [0]), ("b", FunctionTransformer(
            lambda X: kept.append(X) or X), [1])], remainder="passthrough"), LAST,
        epsilon=100.0, random_state=NoiseSeed(0)).fit(X, y)
    scaled = model[0].transform(X)
    np.testing.assert_array_equal(kept[0], scaled[:, [1]])
    assert (scaled[:, 1] < 0.0).any()
    np.testing.assert_array_equal(model[:2].transform(X)[:, -1], scaled[:, 2])


@pytest.mark.covering(most=4)
@pytest.mark.parametrize("pipeline", TAKEN.values(), ids=TAKEN)
def test_gaps_that_a_step_takes_are_not_refused(pipeline):
    for model in around(pipeline):
        clone(model).set_params(epsilon=4.0).fit(*rows())


@pytest.mark.parametrize("pipeline", [
    make_dp_pipeline(DPStandardScaler(), FunctionTransformer(np.reciprocal), LAST),
    make_dp_pipeline(DPStandardScaler(), FunctionTransformer(lambda X: X / X), LAST)],
    ids=["infinite", "none"])
def test_functions_that_zeros_say_nothing_of_are_left_to_the_fit(pipeline):
    """No row is zero, and a step that fills gaps is not refused for what zeros become."""
    X, y = rows(gap=False)
    clone(pipeline).fit(X + 1.0, y)


def test_a_step_before_the_first_private_one_may_fill_gaps_and_make_them(silent):
    X, y = rows(gap=False)
    pipeline = make_dp_pipeline(FunctionTransformer(gap_of_a_row), DPMinMaxScaler(), LAST)
    for model in around(pipeline):
        with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises(ValueError, match="NaN"):
            clone(model).fit(X, y)
        assert not budget.charges


def test_settings_with_other_steps_are_looked_at_as_well(silent):
    pipeline = make_dp_pipeline(DPSimpleImputer(), LAST)
    search = DPGridSearchCV(pipeline, {"dpsimpleimputer": [DPSimpleImputer(), DPMinMaxScaler()]})
    with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises(ValueError, match="NaN"):
        search.fit(*rows())
    assert not budget.charges


def test_public_rows_that_are_not_there_are_missed_first(silent):
    last = DPRidge(solver="stgd", solver_options={"holdout": "public"}, target_bounds=(0, 1))
    for model in (make_dp_pipeline(DPMinMaxScaler(), last), DPGridSearchCV(last, {}),
                  DPGridSearchCV(make_dp_pipeline(DPMinMaxScaler(), last), {})):
        with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises(ValueError, match="public_X"):
            model.fit(*rows(gap=False))
        assert not budget.charges


BEFORE = [DPStandardScaler(), DPMinMaxScaler(), DPSimpleImputer(), DPPCA(n_components=2),
          DPPCA(n_components="auto"), make_dp_pipeline(DPStandardScaler(), Normalizer())]
NOT_THERE = {
    "columns": DPAdditiveClassifier(columns={3: (0.0, 1.0)}),
    "interactions": DPAdditiveClassifier(interactions=[(0, 3)]),
    "bounds": make_dp_pipeline(DPMinMaxScaler(columns={3: (0.0, 1.0)}), LAST),
    "indicators": make_dp_pipeline(DPTableVectorizer(missing_indicator=[3]), LAST,
                                   shares={"dptablevectorizer": 0.2}),
    "components": make_dp_pipeline(DPPCA(n_components=4), LAST, shares={"dppca": 0.2})}


@pytest.mark.parametrize("last", NOT_THERE.values(), ids=NOT_THERE)
def test_columns_that_cannot_come_are_refused_first(last, silent):
    for number, first in enumerate(BEFORE):
        steps = [("first", first), ("public", Normalizer()), ("last", last)]
        model = DPPipeline(steps, shares={"first": 0.1})
        with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises(
                ValueError, match=r"no column|number of features"):
            model.fit(*rows(gap=False))
        assert not budget.charges, number


@pytest.mark.parametrize("steps", [
    (DPMinMaxScaler(), FunctionTransformer(lambda X: np.hstack([X, X]))),
    (FunctionTransformer(lambda X: np.hstack([X, X])), DPStandardScaler()),
    (DPSimpleImputer(add_indicator=True), DPMinMaxScaler()),
    (DPMinMaxScaler(), make_dp_pipeline(DPSimpleImputer(add_indicator=True), DPMinMaxScaler()))])
def test_columns_that_come_are_taken(steps):
    shares = {f"step{place}": 0.1 for place, step in enumerate(steps)
              if hasattr(step, "epsilon")}
    named = [(f"step{place}", step) for place, step in enumerate(steps)]
    last = DPAdditiveClassifier(columns={5: (0.0, 1.0)}, interactions=[(0, 5)])
    DPPipeline([*named, ("last", last)], shares=shares, epsilon=9.0).fit(*rows(gap=False))


@pytest.mark.parametrize("first, name", [
    (DPMinMaxScaler(), "b"), (DPPCA(n_components=2), "dppca1")])
def test_names_that_frames_get_are_taken(first, name):
    X = pd.DataFrame(rows(gap=False)[0], columns=["a", "b", "c"])
    last = DPAdditiveClassifier(columns={name: (0.0, 1.0)})
    DPPipeline([("first", first.set_output(transform="pandas")), ("last", last)],
               shares={"first": 0.1}).fit(X, rows()[1])


def test_public_data_may_fill_gaps():
    from sklearn.frozen import FrozenEstimator

    public = FrozenEstimator(SimpleImputer().fit(rows(gap=False)[0]))
    for steps in ((public, DPMinMaxScaler()), (DPMinMaxScaler(), public)):
        make_dp_pipeline(*steps, LAST).fit(*rows())
