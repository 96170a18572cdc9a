"""What a report cannot know it calls not private, or prices at what it may cost at most."""

import math
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score, fbeta_score, get_scorer, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline

from dpsk import (
    DPLogisticRegression,
    DPStandardScaler,
    privacy_report,
)
from dpsk.metrics import dp_accuracy_score
from dpsk.metrics import get_scorer as private_scorer

pytestmark = pytest.mark.filterwarnings("ignore")

N, DELTA = 200, 1e-6
X = np.random.default_rng(0).normal(size=(N, 2))
Y = np.arange(N) % 2
GROUPS = np.r_[np.zeros(N - 20), np.arange(1, 21)]


def model(**params):
    return DPLogisticRegression(**{"epsilon": 0.5, "delta": DELTA, "solver": "gd", "max_iter": 2,
                                   "data_norm": 1.0, "classes": [0, 1], **params})


def said(report):
    return " ".join(part.sentence for part in (*report.exposed, *report.notes))


def test_a_predictor_that_needs_no_fit_learns_all_the_same():
    assert not privacy_report(make_pipeline(DPStandardScaler(delta=DELTA),
                                            GaussianProcessRegressor()).fit(X, Y)).is_private


@pytest.mark.parametrize("own", [False, True])
def test_a_fit_of_ours_without_its_certificate_learnt_without_noise(own):
    """Whatever was put in its place."""
    fitted = model().fit(X, Y)
    del fitted.privacy_
    if own:
        fitted.privacy_ = "differentially private"
    report = privacy_report([fitted, model().fit(X, Y)])
    assert not report.is_private and len(report.private) == 1
    assert "DPLogisticRegression has no certificate: what it learnt from rows" in said(report)


def test_deltas_that_add_up_to_one_guarantee_nothing():
    report = privacy_report([model(delta=0.5).fit(X, Y)] * 2)
    assert not report.is_private
    assert report.epsilon == math.inf
    assert "add up to 1 or more" in report.guarantee
    ensemble = VotingClassifier([(name, model(delta=0.3)) for name in "abc"]).fit(X, Y)
    assert privacy_report(ensemble).is_private


@pytest.mark.parametrize(("cv", "rows"), [
    (KFold(3), 133), (StratifiedKFold(4), 150), (RepeatedKFold(n_splits=5, n_repeats=2), 160),
    (RepeatedStratifiedKFold(n_splits=4, n_repeats=2), 150),
    (GroupKFold(2), None), (TimeSeriesSplit(8), None), (ShuffleSplit(3, test_size=100), None),
    (ShuffleSplit(3, train_size=0.1), None), ([(np.arange(20), np.arange(20, N))], None)],
    ids=str)
def test_default_deltas_of_folds_of_unknown_size_have_no_price(cv, rows):
    search = GridSearchCV(model(delta=None), {"alpha": [0.0]}, cv=cv)
    search.fit(X, Y, **({"groups": GROUPS} if isinstance(cv, GroupKFold) else {}))
    report = privacy_report(search)
    assert [part.certificate.delta for part in report.private[:-1]] == (
        [] if rows is None else [1.0 / rows**2])
    assert ("does not follow from what was kept" in said(report)) == (rows is None)


def test_a_delta_that_was_declared_does_not_tell_how_many_rows_there_are():
    search = GridSearchCV(model(), {"delta": [None, 1e-12]}, cv=KFold(3), scoring=lambda m, *_: (
        -1.0 if m.delta is None else 1.0)).fit(X, Y)
    assert search.best_params_ == {"delta": 1e-12}
    report = privacy_report(search)
    assert [part.certificate.delta for part in report.private] == [1e-12, 1e-12]
    assert "does not follow from what was kept" in said(report)


#: What a report says of scores that are not known to be exact.
PRIVATE, UNKNOWN = "of private scores is not counted here", "not known to be exact ones"
#: Scorers of one metric, and what is said of their scores: nothing where they are exact.
SCORERS = {
    "default": (lambda: None, None),
    "name": (lambda: "roc_auc", None),
    "scorer": (lambda: get_scorer("balanced_accuracy"), None),
    "exact function": (lambda: make_scorer(fbeta_score, beta=2), None),
    "private scorer": (lambda: private_scorer("dp_accuracy", epsilon=20.0), PRIVATE),
    "private function": (lambda: make_scorer(dp_accuracy_score, epsilon=20.0), PRIVATE),
    "private function of a partial": (
        lambda: make_scorer(partial(dp_accuracy_score, epsilon=20.0)), PRIVATE),
    "function without noise": (lambda: make_scorer(dp_accuracy_score, epsilon=math.inf), UNKNOWN),
    "single precision without noise": (
        lambda: make_scorer(dp_accuracy_score, epsilon=np.float32("inf")), UNKNOWN),
    "function that fits": (lambda: partial(cross_val_score, cv=ShuffleSplit(1)), UNKNOWN),
    "function without noise of a partial": (
        lambda: make_scorer(partial(dp_accuracy_score, epsilon=math.inf)), UNKNOWN),
    "own function": (lambda: lambda fitted, X, y: fitted.score(X, y), UNKNOWN),
    "own metric": (lambda: make_scorer(lambda y, found: 0.0), UNKNOWN)}
#: Searches and choices that score private models as asked, without fits that are not kept.
SCORING = {
    "search": lambda scoring: GridSearchCV(model(), {"alpha": [0.0]}, cv=KFold(2),
                                           scoring=scoring),
    "random search": lambda scoring: RandomizedSearchCV(
        model(), {"alpha": [0.0]}, n_iter=1, cv=KFold(2), scoring=scoring),
    "search in a pipeline": lambda scoring: make_pipeline(GridSearchCV(
        model(), {"alpha": [0.0]}, cv=KFold(2), scoring=scoring)),
    "threshold": lambda scoring: TunedThresholdClassifierCV(
        model().fit(X, Y), scoring=scoring or "balanced_accuracy", cv="prefit", refit=False),
    "exact model": lambda scoring: make_pipeline(
        DPStandardScaler(delta=DELTA), LogisticRegressionCV(
            Cs=2, cv=KFold(2), scoring=scoring)),
    "selection": lambda scoring: VotingClassifier([("a", model()), ("b", make_pipeline(
        SequentialFeatureSelector(RidgeClassifier(), n_features_to_select=1, cv=KFold(2),
                                  scoring=scoring), RidgeClassifier()))])}


@pytest.mark.covering
@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("place", SCORING)
def test_scores_that_are_not_known_to_be_exact_are_not_counted(place, scorer):
    make, words = SCORERS[scorer]
    if place == "threshold" and scorer in ("private scorer", "own function",
                                           "function that fits"):
        pytest.skip("scikit-learn takes scores of labels only")
    report = privacy_report(SCORING[place](make()).fit(X, Y))
    exact = words is None
    assert [each for each in (PRIVATE, UNKNOWN) if each in said(report)] == [words] * (not exact)
    # That a search's scores are exact is said where one of them may be.
    if "search" in place:
        assert ("exact scores of rows" in said(report)) == (words != PRIVATE)
    assert exact or (report.fits_epsilon == math.inf and not report.is_counted)
    # The fits that select features are not kept.
    assert (report.fits_epsilon < math.inf) == (exact and place != "selection")


@pytest.mark.parametrize("scoring", [
    {"a": "accuracy", "b": private_scorer("dp_accuracy", epsilon=20.0)},
    private_scorer("dp_accuracy", epsilon=math.inf),
    make_scorer(dp_accuracy_score, epsilon=math.inf)], ids=["several", "without noise", "made"])
def test_scores_that_are_exact_are_named_beside_private_ones(scoring):
    search = GridSearchCV(model(), {"alpha": [0.0]}, cv=KFold(2), scoring=scoring,
                          refit="a" if isinstance(scoring, dict) else True).fit(X, Y)
    assert "exact scores of rows" in said(privacy_report(search))


def test_several_metrics_are_exact_where_each_of_them_is():
    exact, private = ("balanced_accuracy", make_scorer(dp_accuracy_score, epsilon=20.0))
    for several, known in (([exact, "roc_auc"], True), ({"a": exact}, True),
                           ({"a": exact, "b": private}, False)):
        search = GridSearchCV(model(), {"alpha": [0.0]}, cv=KFold(2), scoring=several,
                              refit=next(iter(several)))
        assert privacy_report(search.fit(X, Y)).is_counted == known


@pytest.mark.parametrize("metric, exact", [
    (True, True), (balanced_accuracy_score, True),
    (partial(dp_accuracy_score, epsilon=20.0), False)], ids=["default", "exact", "private"])
def test_a_forest_may_have_scored_what_is_out_of_its_bags_privately(metric, exact):
    forest = RandomForestClassifier(30, max_depth=1, oob_score=metric, random_state=0).fit(X, Y)
    report = privacy_report([model().fit(X, Y), forest])
    assert report.is_counted == (report.fits_epsilon < math.inf) == exact


@pytest.mark.parametrize("cv", [KFold(2), "prefit"], ids=["folds", "prefit"])
def test_a_threshold_around_fits_that_were_not_kept_is_known_whatever_cv_says_now(cv):
    tuned = TunedThresholdClassifierCV(model().fit(X, Y), cv=cv, refit=cv != "prefit").fit(X, Y)
    tuned.cv = "prefit"
    assert privacy_report(tuned).is_counted == (cv == "prefit")


@pytest.mark.parametrize("scoring", ["accuracy", make_scorer(dp_accuracy_score, epsilon=20.0)],
                         ids=["exact", "private"])
def test_scores_of_cross_validation_do_not_say_what_made_them(scoring):
    results = cross_validate(model(), X, Y, cv=KFold(2), scoring=scoring, return_estimator=True)
    report = privacy_report(results)
    assert not report.is_counted
    assert report.fits_epsilon == math.inf
    assert len(report.private) == 2


@pytest.mark.parametrize("solver", ["gd", "sgd"])
def test_candidates_without_noise_leave_no_guarantee(solver):
    search = GridSearchCV(model(solver=solver), {"epsilon": [0.5, math.inf]}, cv=KFold(2))
    report = privacy_report(search.fit(X, Y))
    assert report.fits_epsilon == math.inf
    assert report.to_json()
