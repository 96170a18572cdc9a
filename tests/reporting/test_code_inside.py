"""Code of one's own inside of estimators of scikit-learn may make fits, and is named."""

import math
from collections import OrderedDict
from functools import partial
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.linalg import LinearOperator
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import (
    RFECV,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    mutual_info_classif,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    check_cv,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from dpsk import DPLogisticRegression, DPRidge, PrivacyBudget, privacy_report
from tests.reporting.test_wrappers import ALL, BUILT, X, Y, linear

pytestmark = pytest.mark.filterwarnings("ignore")


def private_mean(column):
    """Make a private fit, as a careful user may, where nothing counts it."""
    model = DPRidge(epsilon=5.0, delta=1e-6, data_norm=1.0, target_bounds=(-1, 1))
    return float(model.fit(np.zeros((len(column), 1)), column).intercept_)


def distance(a, b):
    return float(np.abs(a - b).sum())


def importance(fitted):
    return np.abs(fitted.coef_)


class OwnFolds:
    """Folds that may look at rows, and fit models."""

    def get_n_splits(self, *args, **params):
        return 3

    def split(self, X, y=None, groups=None):
        return KFold(3).split(X)


def patched_scaler():
    scaler = StandardScaler().fit(X)
    scaler.transform = lambda rows: rows - private_mean(rows[:, 0])
    return scaler


def holding(value):
    """Return a fitted scaler on which somebody put something."""
    scaler = StandardScaler().fit(X)
    scaler.extra = value
    return scaler


#: Estimators that learn without noise and hold code of one's own.
HOLDERS = {
    "strategy": lambda: SimpleImputer(strategy=private_mean).fit(X),
    "metric": lambda: KNeighborsClassifier(metric=distance).fit(X, Y),
    "importances": lambda: SelectFromModel(LogisticRegression(),
                                           importance_getter=importance).fit(X, Y),
    "folds": lambda: LogisticRegressionCV(cv=OwnFolds(), max_iter=50).fit(X, Y),
    "vectorized": lambda: SimpleImputer(
        strategy=np.vectorize(private_mean, signature="(n)->()")).fit(X),
    "ufunc": lambda: SelectFromModel(
        LogisticRegression(), importance_getter=np.frompyfunc(importance, 1, 1)).fit(X, Y),
    "partial": lambda: SimpleImputer(strategy=partial(private_mean)).fit(X),
    "in a column": lambda: holding(pd.Series([linear().fit(X, Y)])),
    "masked": lambda: holding(np.ma.masked_array(np.array([private_mean, None], dtype=object))),
    "in a list": lambda: holding([{"a": (private_mean,)}]),
    "object": lambda: holding(OwnFolds()),
    "bound": lambda: holding(OwnFolds().split),
    "operator": lambda: holding(LinearOperator((3, 3), matvec=private_mean, dtype=float)),
    "folds of a wrapper": lambda: CalibratedClassifierCV(linear(), cv=OwnFolds()).fit(X, Y),
    "method": patched_scaler}


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.parametrize("frozen", [False, True])
def test_fits_that_code_of_ones_own_may_make_are_not_counted(name, frozen):
    holder = HOLDERS[name]()
    model = linear().fit(X, Y)
    whole = [FrozenEstimator(holder) if frozen else holder, model]
    report = privacy_report(whole)
    assert not report.is_private and report.fits_epsilon == math.inf
    assert any("unknown code" in part.sentence for part in report.exposed)


#: What is of Python, NumPy, SciPy or scikit-learn itself.
PLAIN = {
    "ufunc": lambda: holding(np.multiply), "special": lambda: holding(expit),
    "method of str": lambda: CountVectorizer(tokenizer=str.split, token_pattern=None).fit(["a b"]),
    "getter": lambda: SelectFromModel(LogisticRegression(),
                                      importance_getter=attrgetter("coef_")).fit(X, Y),
    "ordered": lambda: CountVectorizer(vocabulary=OrderedDict(a=0, b=1)).fit(["a b"]),
    "partial": lambda: SelectKBest(partial(mutual_info_classif, random_state=0), k=1).fit(X, Y),
    "kernel": lambda: GaussianProcessRegressor(RBF()).fit(X[:20], Y[:20]),
    "spline": lambda: SplineTransformer().fit(X), "boosting": lambda: (
        HistGradientBoostingClassifier(max_iter=2).fit(X, Y)),
    "isotonic": lambda: IsotonicRegression().fit(X[:, 0], Y)}


@pytest.mark.parametrize("name", PLAIN)
def test_code_of_known_packages_is_not_called_unknown(name):
    report = privacy_report([PLAIN[name](), linear().fit(X, Y)])
    assert not any("unknown" in part.sentence for part in report.exposed)
    assert report.fits_epsilon < math.inf


@pytest.mark.parametrize("wrap", [
    list, check_cv, lambda folds: PredefinedSplit(np.argmax([
        np.isin(np.arange(len(X)), test) for _, test in folds], axis=0))],
    ids=["list", "checked", "predefined"])
def test_folds_that_were_handed_over_are_named(wrap):
    """How they were chosen nobody knows, whatever splitter made them."""
    folds = wrap(list(StratifiedKFold(3).split(X, Y)))
    report = privacy_report(GridSearchCV(linear(), {"alpha": [0.0]}, cv=folds).fit(X, Y))
    assert report.fits_epsilon == math.inf
    assert any("handed over" in part.sentence for part in report.exposed)


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()])
def test_folds_of_groups_are_named_where_rows_are_protected(cv):
    search = GridSearchCV(linear(), {"alpha": [0.0]}, cv=cv).fit(
        X, Y, groups=np.arange(len(X)) % 3)
    assert any("groups of all rows" in part.sentence for part in privacy_report(search).exposed)


def test_a_frozen_step_that_makes_private_fits_is_not_taken_for_public():
    budget = PrivacyBudget(200.0, 1e-2)
    with budget:
        imputer = SimpleImputer(strategy=private_mean).fit(X)
        whole = make_pipeline(FrozenEstimator(imputer), linear()).fit(X, Y)
    assert len(budget.charges) == X.shape[1] + 1
    assert not privacy_report(whole).is_private


@pytest.mark.covering(most=12)
@pytest.mark.parametrize("name", BUILT)
def test_code_that_stands_in_any_wrapper_is_named(name):
    params, y, _ = BUILT[name]
    fitted = ALL[name](**params).fit(*(rows for rows in (X, y) if rows is not None))
    fitted.own_code_ = lambda rows: private_mean(rows[:, 0])
    report = privacy_report(fitted)
    assert not report.is_private and report.fits_epsilon == math.inf
    assert any("own_code_" in f"{part.path} {part.sentence}" for part in report.exposed)


@pytest.mark.parametrize("first", [0, 1])
def test_labels_that_no_row_has_get_no_private_fit_and_are_named(first):
    labels = np.column_stack([np.zeros_like(Y), Y])
    labels[0, 0] = first
    model = DPLogisticRegression(epsilon=1.0, delta=1e-6, data_norm=2.0, classes=[0, 1],
                                 solver="gd", max_iter=3)
    report = privacy_report(OneVsRestClassifier(model).fit(X, labels))
    # Of two neighbors neither may be called private.
    assert not report.is_private
    assert any("gets no private fit" in part.sentence for part in report.exposed)


#: Wrappers that fit members to folds, by what they are made with.
FOLDED = {
    "CalibratedClassifierCV": lambda cv: CalibratedClassifierCV(linear(), cv=cv),
    "StackingClassifier": lambda cv: StackingClassifier([("a", linear())], linear(), cv=cv),
    "TunedThresholdClassifierCV": lambda cv: TunedThresholdClassifierCV(linear(), cv=cv),
    "GridSearchCV": lambda cv: GridSearchCV(linear(), {"alpha": [0.0]}, cv=cv),
    "RFECV": lambda cv: RFECV(linear(), cv=cv),
    "SequentialFeatureSelector": lambda cv: SequentialFeatureSelector(linear(), cv=cv)}


@pytest.mark.covering
@pytest.mark.parametrize("name", FOLDED)
@pytest.mark.parametrize("cv", [None, 3, StratifiedKFold(3, shuffle=True), KFold(3)], ids=str)
def test_stratified_folds_of_every_wrapper_are_named(name, cv):
    wrapper = FOLDED[name](cv)
    report = privacy_report(wrapper.fit(X, Y))
    # Once, whoever says it.
    assert sum("stratified" in part.sentence for part in report.exposed) == (
        type(cv) is not KFold)


def test_chains_without_folds_have_none_that_are_stratified():
    chain = ClassifierChain(linear()).fit(X, np.column_stack([Y, 1 - Y]))
    assert not any("stratified" in part.sentence for part in privacy_report(chain).exposed)


def test_voting_around_a_frozen_search_of_ones_own_folds_is_not_private():
    frozen = FrozenEstimator(LogisticRegressionCV(cv=OwnFolds(), max_iter=50).fit(X, Y))
    whole = VotingClassifier([("a", frozen), ("b", linear())]).fit(X, Y)
    assert not privacy_report(whole).is_private
