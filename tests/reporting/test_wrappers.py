"""Every wrapper of scikit-learn: a report counts at least the fits that one row was in."""

import inspect
import math
from functools import wraps

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import (  # noqa: F401  # makes them importable
    enable_halving_search_cv,
    enable_iterative_imputer,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.utils import all_estimators

from dpsk import DPLogisticRegression, DPRidge, DPStandardScaler, privacy_report
from dpsk.accounting import compose, epsilon
from tests.instruments import know_all_code

pytestmark = pytest.mark.filterwarnings("ignore")

DELTA, MARK = 1e-6, 0.0625
ALL = dict(all_estimators())
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(120, 3))
#: Every entry of one row is the mark, so that it is found in any part of the columns.
X[0] = MARK
Y = (X[:, 0] > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.3, 0.3])
BOTH = np.c_[Y, 1 - Y]
#: What makes rows of others, and keeps nothing of a fit.
MIXES_WITHOUT_FIT = {"PatchExtractor"}
#: Parameters that take an estimator.
TAKING = {"estimator", "base_estimator", "estimators", "steps", "transformers",
          "transformer_list", "regressor", "final_estimator", "init"}


def linear(**params):
    return DPLogisticRegression(**{"epsilon": 20.0, "delta": DELTA, "solver": "gd", "max_iter": 5,
                                   "data_norm": 2.0, **params})


def ridge():
    return DPRidge(epsilon=0.5, delta=DELTA, data_norm=2.0, target_bounds=(-1.0, 2.0))


def scaler():
    return DPStandardScaler(epsilon=0.5, delta=DELTA)


#: As chains of old and new scikit-learn call it.
CHAINED = next(name for name in ("estimator", "base_estimator")
               if name in inspect.signature(ALL["ClassifierChain"]).parameters)
#: What each wrapper is built with, what it is fitted to, and whether all of it has a guarantee.
BUILT = {
    "AdaBoostClassifier": (
        {"estimator": linear(epsilon=1e8, max_iter=30), "n_estimators": 1}, Y, False),
    "AdaBoostRegressor": ({"estimator": ridge(), "n_estimators": 3}, X[:, 0], False),
    "BaggingClassifier": (
        {"estimator": linear(), "n_estimators": 3, "bootstrap": False}, Y, True),
    "BaggingRegressor": (
        {"estimator": ridge(), "n_estimators": 3, "bootstrap": False}, X[:, 0], True),
    "CalibratedClassifierCV": (
        {"estimator": linear(), "cv": KFold(3), "ensemble": False}, Y, False),
    "ClassifierChain": ({CHAINED: linear()}, BOTH, False),
    "ColumnTransformer": (
        {"transformers": [("a", scaler(), [0, 1]), ("b", scaler(), [1, 2])]}, None, True),
    "FeatureUnion": (
        {"transformer_list": [("a", scaler()), ("b", scaler()), ("c", "passthrough")]}, None,
        True),
    "FixedThresholdClassifier": ({"estimator": linear()}, Y, True),
    "FrozenEstimator": ({"estimator": linear().fit(X, Y)}, Y, True),
    "GradientBoostingClassifier": ({"init": linear(), "n_estimators": 2}, Y, False),
    "GradientBoostingRegressor": ({"init": ridge(), "n_estimators": 2}, X[:, 0], False),
    "GridSearchCV": (
        {"estimator": linear(), "param_grid": {"epsilon": [0.5, 20.0]}, "cv": KFold(3)}, Y, False),
    "HalvingGridSearchCV": (
        {"estimator": linear(), "param_grid": {"epsilon": [0.5, 20.0]}, "cv": KFold(2)}, Y, False),
    # Its first folds have a few rows, perhaps of one class.
    "HalvingRandomSearchCV": (
        {"estimator": linear(classes=[0, 1]), "param_distributions": {"epsilon": [0.5, 20.0]},
         "cv": KFold(2), "n_candidates": 2}, Y, False),
    "IterativeImputer": ({"estimator": ridge(), "max_iter": 2}, None, False),
    "MultiOutputClassifier": ({"estimator": linear()}, BOTH, True),
    "MultiOutputRegressor": ({"estimator": ridge()}, X[:, :2], True),
    "OneVsOneClassifier": ({"estimator": linear()}, THREE, False),
    "OneVsRestClassifier": ({"estimator": linear()}, THREE, True),
    "OutputCodeClassifier": ({"estimator": linear(), "code_size": 2, "random_state": 3}, THREE,
                             True),
    "Pipeline": ({"steps": [("scaler", scaler()), ("model", linear())]}, Y, True),
    "RANSACRegressor": ({"estimator": make_pipeline(ridge()), "max_trials": 3,
                         "min_samples": 60}, X[:, 0], False),
    "RFE": ({"estimator": linear()}, Y, False),
    "RFECV": ({"estimator": linear(), "cv": KFold(2)}, Y, False),
    "RandomizedSearchCV": (
        {"estimator": linear(), "param_distributions": {"alpha": [0.0, 0.1]}, "n_iter": 2,
         "cv": RepeatedKFold(n_splits=2, n_repeats=2)}, Y, False),
    "RegressorChain": ({CHAINED: ridge(), "cv": 2}, X[:, :2], False),
    "SelectFromModel": ({"estimator": linear()}, Y, False),
    "SelfTrainingClassifier": ({"estimator": linear(), "max_iter": 2},
                               np.r_[Y[:100], np.full(20, -1)], False),
    "SequentialFeatureSelector": ({"estimator": linear(), "cv": KFold(2)}, Y, False),
    "StackingClassifier": (
        {"estimators": [("a", linear())], "final_estimator": linear(), "cv": KFold(3)}, Y, False),
    "StackingRegressor": (
        {"estimators": [("a", ridge())], "final_estimator": ridge(), "cv": KFold(3)}, X[:, 0],
        False),
    "TransformedTargetRegressor": ({"regressor": ridge()}, X[:, 0], True),
    "TunedThresholdClassifierCV": ({"estimator": linear(), "cv": KFold(3)}, Y, False),
    "VotingClassifier": ({"estimators": [("a", linear()), ("b", linear())]}, Y, True),
    "VotingRegressor": ({"estimators": [("a", ridge()), ("b", ridge())]}, X[:, 0], True),
}


#: Their own code finds the classes, not that of a private member alone.
TAKE_CLASSES_AS_PUBLIC = {"BaggingClassifier", "OneVsRestClassifier", "OutputCodeClassifier",
                          "StackingClassifier", "VotingClassifier"}


@pytest.fixture
def fits(monkeypatch):
    """Return the events of all fits that the marked row is in, as they are made."""
    made = []
    # Counting is no code of a caller.
    know_all_code(monkeypatch)
    for cls in (DPLogisticRegression, DPRidge, DPStandardScaler):
        monkeypatch.setattr(cls, "fit", counting(cls.fit, made))
    return made


def counting(fit, made):
    @wraps(fit)
    def counted(self, X, *args, **params):
        super_fitted = fit(self, X, *args, **params)
        if (np.isclose(np.asarray(X), MARK).all(axis=1)).any():
            made.append(self.privacy_.event)
        return super_fitted
    return counted


def spent(fits, report):
    return 0.0 if not fits else epsilon(compose(*fits), min(report.delta, 1.0))


def test_every_wrapper_is_tried():
    takers = {name for name, cls in ALL.items() if TAKING & set(inspect.signature(cls).parameters)}
    # These take words and arrays to start from.
    takers = {name for name in takers if name in BUILT or not (
        set(inspect.signature(ALL[name]).parameters) & TAKING == {"init"})}
    assert takers == set(BUILT) & set(ALL)


@pytest.mark.covering(most=12)
@pytest.mark.parametrize("name", BUILT)
def test_a_report_counts_at_least_the_fits_that_a_row_is_in(name, fits):
    params, y, is_private = BUILT[name]
    wrapper = ALL[name](**params)
    # What is fitted before is another fit, which the object holds.
    made = [params["estimator"].privacy_.event] if name == "FrozenEstimator" else fits
    report = privacy_report(wrapper.fit(X) if y is None else wrapper.fit(X, y))
    # These draw their rows, and may draw the marked one never.
    assert made or name in ("AdaBoostRegressor", "RANSACRegressor")
    assert report.is_private == is_private, [part.sentence for part in report.exposed]
    assert report.fits_epsilon >= spent(made, report) * (1 - 1e-9)
    assert report.epsilon == (report.fits_epsilon if is_private else math.inf)
    assert is_private or report.exposed
    public = any("classes that occur in the rows" in note.sentence for note in report.notes)
    assert public == (name in TAKE_CLASSES_AS_PUBLIC)


@pytest.mark.covering(most=20)
@pytest.mark.parametrize("name", sorted(ALL))
def test_what_is_not_fitted_has_learnt_nothing(name):
    """A list may hold templates, as parameters of searches and ensembles are."""
    params = BUILT[name][0] if name in BUILT else {}
    try:
        template = ALL[name](**params)
    except TypeError:
        pytest.skip("is made of tables")
    report = privacy_report([template, scaler().fit(X)])
    assert all("unknown" not in part.sentence and "learnt" not in part.sentence
               for part in report.exposed)
    # What keeps nothing of a fit may be in use.
    assert report.is_private == (name not in MIXES_WITHOUT_FIT)


def test_what_mixes_rows_without_a_fit_is_named_where_it_is_in_use():
    for name in MIXES_WITHOUT_FIT:
        images = np.random.default_rng(0).random((5, 4, 4))
        fitted = ALL[name](patch_size=(2, 2)).fit(images)
        report = privacy_report([fitted, linear().fit(X, Y)])
        assert not report.is_private and "follows from others" in report.exposed[0].sentence


@pytest.mark.parametrize("outer", [
    lambda inner: GridSearchCV(inner, {"n_estimators": [2]}, cv=KFold(2)),
    OneVsRestClassifier, lambda inner: VotingClassifier([("a", inner)])])
def test_ensembles_are_templates_of_wrappers(outer):
    bags = BaggingClassifier(linear(), 2, bootstrap=False)
    report = privacy_report(outer(bags).fit(X, Y))
    assert len(report.private) >= 2
    assert report.is_private == (type(outer(bags)) is not GridSearchCV)


@pytest.mark.covering(most=12)
@pytest.mark.parametrize("name", BUILT)
def test_freezing_a_wrapper_around_private_fits_hides_nothing(name):
    params, y, _ = BUILT[name]
    fitted = ALL[name](**params).fit(*(rows for rows in (X, y) if rows is not None))
    bare, frozen = privacy_report(fitted), privacy_report([FrozenEstimator(fitted)])
    assert [part.sentence for part in frozen.exposed] == [
        part.sentence for part in bare.exposed]
    assert frozen.fits_epsilon == bare.fits_epsilon
    assert frozen.is_private == bare.is_private


@pytest.mark.parametrize("outer", [FrozenEstimator, FixedThresholdClassifier, lambda inner:
                                   make_pipeline(Normalizer(), FrozenEstimator(inner))])
def test_exact_steps_before_a_private_fit_stay_exposed_once_frozen(outer):
    inner = make_pipeline(StandardScaler(), linear()).fit(X, Y)
    report = privacy_report(outer(FrozenEstimator(inner)).fit(X, Y))
    assert not report.is_private
    assert any("StandardScaler" in part.sentence for part in report.exposed)
    assert not report.notes


@pytest.mark.parametrize("ensemble, cv", [(True, 3), (False, 3), ("auto", KFold(4))])
def test_folds_of_calibration_are_counted_or_said_not_to_be(ensemble, cv, fits):
    model = CalibratedClassifierCV(linear(), cv=cv, ensemble=ensemble).fit(X, Y)
    report = privacy_report(model)
    assert report.fits_epsilon >= spent(fits, report)
    # What was not kept has no price, whatever is known of the others.
    assert (report.fits_epsilon == math.inf) == (ensemble is False)


def _shared(scaled):
    """Return two pipelines with one scaler, which the second one has fitted anew."""
    both = []
    for amount in (20.0, 0.1):
        scaled.set_params(epsilon=amount)
        both.append(make_pipeline(scaled, linear()).fit(X, Y))
    return both


@pytest.mark.parametrize("whole", [
    lambda one, other: StackingClassifier([("a", one), ("b", other)], cv="prefit",
                                          final_estimator=linear()),
    lambda one, other: VotingClassifier([("a", FrozenEstimator(one)),
                                         ("b", FrozenEstimator(other))]),
    lambda one, other: FeatureUnion([("a", FrozenEstimator(one[0])),
                                     ("b", FrozenEstimator(other[0]))])])
def test_what_members_share_that_were_fitted_before_may_have_been_another(whole):
    report = privacy_report(whole(*_shared(scaler())).fit(X, Y))
    assert report.epsilon == report.fits_epsilon == math.inf
    assert any("the same object is here more than once" in part.sentence
               for part in report.exposed)


def test_what_is_frozen_may_be_shared_by_members_that_are_fitted_together():
    frozen = FrozenEstimator(scaler().fit(X))
    voting = VotingClassifier([(name, make_pipeline(frozen, linear())) for name in "ab"])
    assert privacy_report(voting.fit(X, Y)).is_private


def test_weights_of_bags_move_other_rows():
    bags = BaggingClassifier(linear(), 2, bootstrap=False, max_samples=0.5)
    assert privacy_report(bags.fit(X, Y)).is_private
    bags.fit(X, Y, sample_weight=np.linspace(0.5, 1.0, len(X)))
    report = privacy_report(bags)
    # Before scikit-learn 1.9 a weight was that of its row alone, and none was kept.
    assert report.is_private == (getattr(bags, "_sample_weight", None) is None)
    assert report.is_private or "weight moves other rows" in report.exposed[0].sentence


def chosen(*columns, **params):
    return ColumnTransformer([("part", scaler(), each) for each in columns], **params).fit(X)


def test_columns_that_a_function_of_the_rows_chose_are_exposed():
    report = privacy_report(chosen(lambda rows: [int(np.argmax(rows.std(axis=0)))]))
    assert report.epsilon == math.inf
    assert "chosen by a function" in report.exposed[0].sentence

    class Selector(make_column_selector):
        def __call__(self, rows):
            return [int(np.argmax(rows.std(axis=0)))]

    assert not privacy_report(chosen(Selector())).is_private
    for columns in ([0, 2], slice(0, 2), [True, False, True]):
        assert privacy_report(chosen(columns)).is_private


def searched(**params):
    return GridSearchCV(linear(epsilon=1.0), {"alpha": [0.0, 0.1]}, cv=KFold(3), **params).fit(
        X, Y)


@pytest.mark.parametrize("changed", [
    {"estimator__epsilon": 0.1}, {"estimator__delta": 1e-3}, {"estimator__solver": "newton"},
    {"estimator__epsilon": 0.1, "refit": False}], ids=str)
def test_parameters_that_were_changed_after_a_search_price_nothing(changed, fits):
    search = searched()
    report = privacy_report(search)
    assert spent(fits, report) <= report.fits_epsilon < math.inf
    report = privacy_report(search.set_params(**changed))
    assert report.fits_epsilon == math.inf
    assert "change no parameters after the fit" in report.exposed[-1].sentence


def test_what_the_best_was_given_confirms_no_other_candidate():
    grid = [{"epsilon": [1.0]}, {"alpha": [0.1]}]
    search = GridSearchCV(linear(epsilon=50.0), grid, cv=KFold(2),
                          scoring=lambda fitted, *_: -fitted.epsilon).fit(X, Y)
    report = privacy_report(search.set_params(estimator__epsilon=1.0))
    assert search.best_params_ == {"epsilon": 1.0}
    assert [part.path for part in report.exposed if "does not follow" in part.sentence] == [
        "GridSearchCV.candidate[1]"]


def test_what_the_best_estimator_says_now_is_held_to_its_certificate():
    search = searched()
    for each in (search.estimator, search.best_estimator_):
        each.set_params(epsilon=0.1)
    assert privacy_report(search).fits_epsilon == math.inf


def test_a_search_without_the_best_estimator_prices_nothing():
    assert privacy_report(searched(refit=False)).fits_epsilon == math.inf


def test_other_folds_than_were_fitted_are_those_of_all_rows():
    search = searched()
    before = privacy_report(search).fits_epsilon
    search.set_params(cv=KFold(2))
    after = privacy_report(search)
    assert after.fits_epsilon > before
    assert {part.count for part in after.private} == {1, 3}
    search.set_params(cv=ShuffleSplit(3))
    assert privacy_report(search).fits_epsilon == after.fits_epsilon


def test_objects_in_a_grid_are_not_what_was_fitted():
    model = linear(epsilon=10.0)
    search = GridSearchCV(make_pipeline(linear()), {"dplogisticregression": [model]}, cv=KFold(2))
    search.fit(X, Y)
    model.set_params(epsilon=0.01)
    assert privacy_report(search).fits_epsilon == math.inf


def test_members_from_before_the_fit_cost_what_they_did():
    given = [("a", linear().fit(X, Y))]
    ready = StackingClassifier(given, linear(), cv="prefit").fit(X, Y)
    report = privacy_report(ready)
    assert report.is_private
    assert len(report.private) == 2
    folded = StackingClassifier(given, linear(), cv=KFold(2)).fit(X, Y).set_params(cv="prefit")
    assert not privacy_report(folded).is_private


def test_a_template_that_was_fitted_before_is_another_fit(fits):
    model = linear().fit(X, Y)
    bags = BaggingClassifier(model, 2, bootstrap=False).fit(X, Y)
    report = privacy_report(bags)
    assert len(fits) == len(report.private) == 3
    assert report.fits_epsilon >= spent(fits, report) * (1 - 1e-9)


@pytest.mark.parametrize("search", [HalvingGridSearchCV, HalvingRandomSearchCV])
@pytest.mark.parametrize("delta", [DELTA, None])
def test_the_default_delta_of_rows_that_halving_does_not_tell_is_not_counted(search, delta):
    """Folds of a first round have a few rows, and 1 / n**2 of them is far above that of all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = DPLogisticRegression(epsilon=0.5, delta=delta, solver="gd", max_iter=2, data_norm=2.0)
    fitted = search(model, {"alpha": [0.1, 1.0, 2.0]}, cv=KFold(3), scoring="accuracy").fit(
        X, X[:, 0] > 0)
    assert privacy_report(fitted).is_counted == (delta is not None)
