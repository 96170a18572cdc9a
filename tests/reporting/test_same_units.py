"""What a sum rests on: groups that are the same people, and objects that keep their last fit."""

import json
import math
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from dpsk import Certificate, DPLogisticRegression, DPStandardScaler, PrivacyBudget, privacy_report
from dpsk.accounting import total

#: The line on groups that are taken to be the same people.
SAME_GROUPS = ("unverified assumption: groups are the same people in all of these fits; if they "
               "differ in one fit, this total does not hold")

pytestmark = pytest.mark.filterwarnings("ignore")

DELTA, N = 1e-6, 200
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
Y = np.arange(N) % 2
GROUPINGS = np.arange(N) // 4, np.arange(N) % 50


def model(epsilon=0.5):
    return DPLogisticRegression(epsilon=epsilon, delta=DELTA, solver="gd", max_iter=2,
                                data_norm=2.0, classes=[0, 1])


@pytest.fixture(scope="module")
def of_groups():
    return [model().fit(X, Y, groups=groups) for groups in GROUPINGS]


@pytest.mark.parametrize("added", [
    lambda fits: total(*fits), lambda fits: fits[0].privacy_ + fits[1].privacy_,
    lambda fits: sum(fit.privacy_ for fit in fits)], ids=["total", "plus", "sum"])
def test_a_sum_over_groups_says_which_groups_it_takes_for_the_same(of_groups, added):
    certificate = added(of_groups)
    for text in (str(certificate), certificate._repr_html_(), certificate.to_json()):
        assert SAME_GROUPS in text
    again = Certificate.from_json(certificate.to_json()) + of_groups[0].privacy_
    assert again.public.count(SAME_GROUPS) == 1
    assert SAME_GROUPS in str(privacy_report(certificate))


@pytest.mark.parametrize("together", [
    lambda fits: fits, lambda fits: dict(zip("ab", fits, strict=True)),
    lambda fits: [privacy_report(fits), fits[0].privacy_],
    lambda fits: VotingClassifier([("a", model()), ("b", model())]).fit(X, Y)],
    ids=["list", "dict", "report", "rows"])
def test_so_does_a_report(of_groups, together):
    report = privacy_report(together(of_groups))
    said = [note["sentence"] for note in json.loads(report.to_json())["notes"]]
    grouped = "groups" in report.relation
    assert said.count(f"{SAME_GROUPS}.") == grouped
    assert (SAME_GROUPS in str(report)) == (SAME_GROUPS in report.model_card()) == grouped
    assert report.is_private and report.epsilon < math.inf


def test_folds_of_one_grouping_still_add_up():
    groups = GROUPINGS[0]
    folds = [model().fit(X[fold], Y[fold], groups=groups[fold])
             for fold, _ in GroupKFold(3).split(X, Y, groups)]
    report = privacy_report(folds)
    assert report.is_private and SAME_GROUPS in str(report)


@pytest.mark.parametrize("fits", [
    lambda: model().fit(X, Y, groups=GROUPINGS[0]),
    lambda: [model().fit(X, Y), model().fit(X, Y)]], ids=["one fit", "rows"])
def test_where_nothing_is_added_over_groups_nothing_is_said(fits):
    fits = fits()
    assert SAME_GROUPS not in str(privacy_report(fits))
    if isinstance(fits, list):
        assert SAME_GROUPS not in str(total(*fits))


def test_so_does_a_budget_of_groups():
    budgets = {unit: PrivacyBudget(1.0, 1e-5, unit=unit) for unit in ("row", "group")}
    for unit, budget in budgets.items():
        for text in (str(budget), budget._repr_html_()):
            assert (SAME_GROUPS in text) == (unit == "group")


def refitted(make):
    shared = make()
    return [shared.set_params(**{name: epsilon for name in shared.get_params()
                                 if name.split("__")[-1] == "epsilon"}).fit(X, Y)
            for epsilon in (10.0, 1.0, 0.1)]


def behind_a_step(shared):
    return make_pipeline(FunctionTransformer(), shared)


def one_model_in_two_pipelines():
    shared = model()
    return [behind_a_step(shared.set_params(epsilon=epsilon)).fit(X, Y) for epsilon in (10.0, 0.1)]


@pytest.mark.parametrize("make", [
    lambda: refitted(model), lambda: dict(enumerate(refitted(model))),
    lambda: tuple(refitted(lambda: behind_a_step(model()))), one_model_in_two_pipelines,
    lambda: [[refitted(model)[0]], {"a": model().fit(X, Y)}, *refitted(model)[:2]],
    lambda: refitted(lambda: VotingClassifier([("a", model())])),
    lambda: [FrozenEstimator(each) for each in refitted(model)],
    lambda: [make_pipeline(frozen, model()).fit(X, Y)
             for frozen in [FrozenEstimator(DPStandardScaler(delta=DELTA).fit(X))] * 2]],
    ids=["list", "dict", "pipeline", "step", "nested", "voting", "frozen", "frozen step"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_an_object_that_was_fitted_again_has_forgotten_earlier_fits(make, disjoint):
    report = privacy_report(make(), disjoint=disjoint)
    assert not report.is_private and not report.is_counted
    assert report.epsilon == report.fits_epsilon == math.inf
    assert "the same object" in str(report) and "fit clones" in str(report)


def test_reports_of_each_fit_before_the_next_one_add_up():
    shared = model()
    reports = [privacy_report(shared.set_params(epsilon=epsilon).fit(X, Y))
               for epsilon in (10.0, 0.1)]
    assert 9.0 < privacy_report(reports).epsilon < math.inf


@pytest.mark.parametrize("make", [
    lambda: [clone(model()).fit(X, Y) for _ in range(2)],
    lambda: [model().fit(X, Y).privacy_] * 2,
    lambda: [make_pipeline(FrozenEstimator(deepcopy(scaler)), model()).fit(X, Y)
             for scaler in [DPStandardScaler(delta=DELTA).fit(X)] * 2],
    lambda: [make_pipeline(frozen, model()).fit(X, Y)
             for frozen in [FrozenEstimator(StandardScaler().fit(X))] * 2],
    lambda: [VotingClassifier([("a", base)]).fit(X, Y) for base in [model().fit(X, Y)] * 2],
    lambda: cross_validate(model(), X, Y, cv=2, return_estimator=True)["estimator"]],
    ids=["clones", "certificates", "copies", "public", "template", "folds"])
def test_what_is_shared_and_not_fitted_again_is_counted(make):
    report = privacy_report(make())
    assert report.is_private and report.epsilon < math.inf
