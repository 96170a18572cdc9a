"""A report adds up what is private, and says of everything else that it is not."""

import html
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import all_estimators

from dpsk import (
    DPLogisticRegression,
    DPRidge,
    DPStandardScaler,
    DPTableVectorizer,
    accounting,
    make_dp_pipeline,
    privacy_report,
)
from dpsk.accounting import Composed, Gaussian, Repeated, to_dp_accounting
from dpsk.testing import NoiseSeed
from tests.events import GROUP_RELATION, gaussian_mu, total_mu

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :4] / X[:, :4].max(axis=0)
DELTA = 1e-6
N = len(X)


def model(epsilon=0.5, **params):
    return DPLogisticRegression(**{"epsilon": epsilon, "delta": DELTA, "solver": "gd",
                                   "max_iter": 3, "data_norm": 2.0, **params})


def scaled(*steps):
    return make_pipeline(FunctionTransformer(), *steps)


#: Wrappers, how many private fits a row is in, and what the report must say of them.
WRAPPED = {
    "alone": (lambda: model(), 1, []),
    "stateless": (lambda: scaled(model()), 1, []),
    "private steps": (lambda: make_pipeline(DPStandardScaler(delta=DELTA), model()), 2, []),
    "one budget": (lambda: make_dp_pipeline(DPTableVectorizer(), model()), 1, []),
    "scaler": (lambda: make_pipeline(StandardScaler(), model()), 1, ["StandardScaler"]),
    "union": (lambda: make_pipeline(FeatureUnion([("a", MaxAbsScaler()), ("b", "passthrough")]),
                                    model()), 1, ["MaxAbsScaler"]),
    "columns": (lambda: make_pipeline(ColumnTransformer(
        [("a", StandardScaler(), [0, 1]), ("b", "drop", [2])], remainder="passthrough"), model()),
        1, ["StandardScaler"]),
    "not private at all": (lambda: scaled(LogisticRegression()), 0, ["LogisticRegression"]),
    "one of two": (lambda: VotingClassifier([("a", model()), ("b", LogisticRegression())]), 1,
                   ["LogisticRegression"]),
    "voting": (lambda: VotingClassifier([("a", model()), ("b", model())]), 2, []),
    "one against the rest": (lambda: OneVsRestClassifier(model()), 1, []),
    "one against one": (lambda: OneVsOneClassifier(model()), 1, ["how many rows a class has"]),
    "bags": (lambda: BaggingClassifier(model(), 3, bootstrap=False), 3, []),
    "bags with replacement": (lambda: BaggingClassifier(model(), 3), 3, ["with replacement"]),
    "out of bag": (lambda: BaggingClassifier(model(), 3, oob_score=True), 3,
                   ["with replacement", "oob_score_"]),
    # Its weights sum to 1, and noise is that of weights of 1 each: with less budget the first
    # member may be worse than a random one, which boosting refuses.
    "boosting": (lambda: AdaBoostClassifier(model(1e8, max_iter=30), n_estimators=1), 1,
                 ["exact errors", "were not kept"]),
    "calibrated": (lambda: CalibratedClassifierCV(model(), cv=KFold(3), method="isotonic"), 3,
                   ["isotonic"]),
    "threshold": (lambda: TunedThresholdClassifierCV(model(), cv=KFold(3)), 1,
                  ["best_threshold_", "were not kept"]),
    "stacking": (lambda: StackingClassifier([("a", model())], model(), cv=KFold(3)), 2,
                 ["were not kept"]),
    "frozen": (lambda: make_pipeline(FrozenEstimator(StandardScaler().fit(X)), model()), 1, []),
    "search": (lambda: GridSearchCV(model(), {"alpha": [0.0, 0.1]}, cv=KFold(3)), 5,
               ["best_score_", "times"]),
    "search of a pipeline": (lambda: GridSearchCV(
        make_pipeline(StandardScaler(), model()), {"dplogisticregression__alpha": [0.0, 0.1]},
        cv=KFold(3)), 5, ["best_score_", "times", "StandardScaler"]),
    "stratified search": (lambda: GridSearchCV(model(), {"alpha": [0.0]}, cv=3), 3,
                          ["best_score_", "times", "stratified"]),
    "shuffled search": (lambda: GridSearchCV(model(), {"alpha": [0.0]}, cv=ShuffleSplit(4)), 5,
                        ["best_score_", "times"]),
    "search of others": (lambda: GridSearchCV(LinearSVC(), {"C": [1.0]}, cv=KFold(2)), 0,
                         ["best_score_", "times", "no private part", "LinearSVC"]),
}
QUICK = pytest.mark.filterwarnings("ignore")


@pytest.mark.covering(most=12)
@QUICK
@pytest.mark.parametrize("name", WRAPPED)
def test_every_fit_counts_and_everything_else_is_named(name):
    make, fits, sentences = WRAPPED[name]
    report = privacy_report(make().fit(X, Y))
    if fits is not None:
        assert sum(part.count for part in report.private) == fits
    said = " ".join(part.sentence for part in report.exposed)
    assert all(sentence in said for sentence in sentences), said
    assert bool(report.exposed) == bool(sentences), said
    assert report.is_private == (not sentences)
    assert report.epsilon == (math.inf if sentences else report.fits_epsilon)
    assert json.loads(report.to_json())["guarantee"] == report.guarantee
    for text in (str(report), report._repr_html_(), report.model_card()):
        assert report.guarantee.split(";")[0] in text.replace("&#x27;", "'")


@QUICK
def test_a_search_costs_what_dp_accounting_says():
    dp = pytest.importorskip("dp_accounting", reason="dp-accounting is the second opinion")
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    search = GridSearchCV(model(), {"alpha": [0.0, 0.1], "epsilon": [0.3, 0.5]}, cv=KFold(4))
    report = privacy_report(search.fit(X, Y))
    fits = [dp.GaussianDpEvent(2.0 / gaussian_mu(epsilon, DELTA))
            for epsilon in [0.3, 0.5] * 2 for _ in range(3)]
    refit = to_dp_accounting(search.best_estimator_.privacy_)
    theirs = PLDAccountant(dp.NeighboringRelation.REPLACE_ONE)
    theirs.compose(dp.ComposedDpEvent([*fits, refit]))
    epsilon = theirs.get_epsilon(1e-5)
    # Theirs is pessimistic as well, and so may be a little above.
    assert epsilon * (1 - 1e-3) <= report.epsilon_at(1e-5) <= epsilon * 1.005


@QUICK
def test_default_deltas_of_candidates_are_those_of_their_folds():
    search = GridSearchCV(model(delta=None), {"alpha": [0.0]}, cv=KFold(5)).fit(X, Y)
    report = privacy_report(search)
    folds = N - math.ceil(N / 5)
    assert report.private[0].certificate.delta == 1.0 / folds**2
    assert report.private[0].count == 4
    assert report.delta == pytest.approx(4 / folds**2 + 1 / N**2)


@QUICK
def test_a_pipeline_of_two_budgets_is_composed_and_not_added():
    fitted = make_pipeline(DPStandardScaler(0.5, delta=DELTA), model()).fit(X, Y)
    report = privacy_report(fitted)
    events = [step.privacy_.event for _, step in fitted.steps]
    assert report.fits_epsilon == accounting.epsilon(Composed(tuple(events)), 2 * DELTA)
    assert report.fits_epsilon < 1.0


@QUICK
def test_cross_validation_counts_what_was_kept():
    results = cross_validate(model(), X, Y, cv=KFold(3), return_estimator=True)
    report = privacy_report(results)
    assert len(report.private) == 3
    assert "exact" in report.exposed[0].sentence
    bare = privacy_report(cross_validate(model(), X, Y, cv=KFold(3)))
    assert any("were not kept" in part.sentence for part in bare.exposed)
    assert bare.private == ()


def test_members_on_disjoint_rows_cost_the_most_of_one():
    half = N // 2
    fits = [model(0.5).fit(X[:half], Y[:half]), model(0.8).fit(X[half:], Y[half:])]
    together, apart = privacy_report(fits), privacy_report(fits, disjoint=True)
    assert apart.delta == DELTA
    assert apart.epsilon == pytest.approx(fits[1].privacy_.epsilon_at(DELTA))
    assert together.delta == 2 * DELTA
    assert together.epsilon > apart.epsilon
    by_name = privacy_report(dict(zip("ab", fits, strict=True)), disjoint=True)
    assert by_name.epsilon == apart.epsilon
    with pytest.raises(ValueError, match="disjoint=True"):
        privacy_report(fits[0], disjoint=True)


def test_regressors_and_their_targets_are_seen():
    y = np.linspace(-1, 1, N)
    fitted = TransformedTargetRegressor(
        DPRidge(delta=DELTA, target_bounds=(-3.0, 3.0), data_norm=2.0),
        transformer=StandardScaler(), check_inverse=False).fit(X, y)
    report = privacy_report(fitted)
    assert [part.path for part in report.exposed] == ["TransformedTargetRegressor.transformer_"]
    assert len(report.private) == 1


@pytest.mark.parametrize("unfitted", [model(), make_pipeline(StandardScaler(), model()),
                                      GridSearchCV(model(), {"alpha": [0.0]})])
def test_what_is_not_fitted_is_refused(unfitted):
    with pytest.raises(NotFittedError):
        privacy_report(unfitted)


@pytest.mark.parametrize("bag", [
    cls for name, cls in all_estimators() if name.startswith("Bagging")])
def test_bags_of_rows_do_not_keep_guarantees_for_groups(bag):
    inner = model() if is_classifier(bag()) else DPRidge(
        delta=DELTA, data_norm=1.0, target_bounds=(0, 1), precondition=False, max_iter=3)
    bags = bag(inner, 2, bootstrap=False).fit(X, Y)
    for member in bags.estimators_:
        member.privacy_ = replace(member.privacy_, relation=GROUP_RELATION)
    (part,) = privacy_report(bags).exposed
    assert "drawn by rows" in part.sentence


def test_a_fit_without_noise_leaves_no_guarantee():
    with pytest.warns(match="not private"):
        report = privacy_report([model().fit(X, Y), model(math.inf).fit(X, Y)])
    assert report.guarantee == "no guarantee: a fit has no noise"
    assert not report.is_private


def forms(report):
    """Return all forms of a report as plain text."""
    page = html.unescape(report._repr_html_())
    return [str(report), page, report.model_card(), report.to_json()]


def test_fits_behind_exact_steps_are_not_said_to_be_private_by_themselves():
    """One row moves all that such a step hands on, which no fit behind it has noise for."""
    report = privacy_report(scaled(StandardScaler(), model()).fit(X, Y))
    assert report.fits_epsilon < math.inf
    for text in forms(report):
        assert "no guarantee for all of it" in text
        assert "only where each row was given to them once, and unchanged by other rows" in text
        assert "private fits alone" not in text


@QUICK
@pytest.mark.parametrize("disjoint", [False, True])
def test_every_form_says_all_that_a_report_holds(disjoint):
    repeated = model(random_state=NoiseSeed(0)).fit(X, Y)
    search = GridSearchCV(model(), {"alpha": [0.0]}, cv=KFold(3)).fit(X, Y)
    scaler = DPStandardScaler(delta=DELTA).fit(X)
    report = privacy_report({"a": repeated, "b": [search, scaler]}, disjoint=disjoint)
    seeded, folds = report.notes
    assert "repeats under a seed" in seeded.sentence and report.exposed
    assert "folds are taken" in folds.sentence
    assert {part.count for part in report.private} == {1, 2}
    written = json.loads(report.to_json())
    assert written == report.to_dict()
    assert (written["relation"], written["disjoint"]) == (report.relation, disjoint)
    assert written["private"] == [
        {"path": part.path, "count": part.count, "certificate": part.certificate.to_dict()}
        for part in report.private]
    for name in ("exposed", "notes"):
        assert written[name] == [{"path": part.path, "sentence": part.sentence}
                                 for part in getattr(report, name)]
    lines = [f"guarantee: {report.guarantee}", f"relation: {report.relation}"]
    for part in report.private:
        times = f"{part.count} x " if part.count > 1 else ""
        lines.append(f"private: {part.path}: {times}{part.certificate.estimator}, "
                     f"{part.certificate.guarantee}")
    lines += [f"NOT PRIVATE: {part.path}: {part.sentence}" for part in report.exposed]
    lines += [f"on trust: {note.path}: {note.sentence}" for note in report.notes]
    assert set(lines) <= {line.strip() for line in str(report).splitlines()}
    card = report.model_card()
    assert "(DPLogisticRegression, DPStandardScaler)" in privacy_report(
        [repeated, scaler]).model_card()
    assert all(part.sentence in card for part in (*report.exposed, *report.notes))
    # What a report within a report says is said.
    again = privacy_report([report])
    assert [part.sentence for part in again.notes] == [part.sentence for part in report.notes]
    assert [part.count for part in again.private] == [part.count for part in report.private]


@pytest.mark.parametrize("fits", [1, 2, "folds"])
def test_that_fits_must_not_follow_from_one_another_is_said_of_several(fits):
    certificate = model().fit(X, Y).privacy_
    report = privacy_report([certificate] * (2 if fits == 2 else 1))
    if fits == "folds":
        report = replace(report, private=(replace(report.private[0], count=2),))
    for text in (str(report), report._repr_html_(), report.model_card()):
        assert ("no result of one fit decided" in text) == (fits != 1)


def test_disjoint_members_are_said_to_be_taken_on_trust():
    fits = [model().fit(X, Y), model().fit(X, Y)]
    for text in forms(privacy_report(fits, disjoint=True))[:3]:
        assert "members are taken to share no row" in text
    for text in forms(privacy_report(fits)):
        assert "share no row" not in text


@QUICK
def test_a_model_card_counts_no_fits_that_cannot_be_counted():
    stacked = StackingClassifier([("a", model())], model(), cv=KFold(3)).fit(X, Y)
    card = privacy_report(stacked).model_card()
    assert "not all private fits in it can be counted" in card
    assert "How many fits a row was used in is not known" in card
    assert "at most" not in card


@pytest.mark.parametrize("fits", [[], [FunctionTransformer()], [StandardScaler().fit(X)],
                                  [model(delta=0.5).fit(X, Y)] * 2], ids=len)
def test_no_number_stands_for_a_guarantee_that_is_not_there(fits):
    report = privacy_report(fits)
    written = json.loads(report.to_json())
    assert not report.is_private
    assert written["epsilon"] == written["fits_epsilon"] == "inf"
    assert len(fits) == 2 or (report.epsilon_at(0.5), report.delta_at(1.0)) == (math.inf, 1.0)


@pytest.mark.parametrize("epsilon, delta, said", [
    (1.0000004, 1.2549e-6, "(1.00001, 1.26e-06)"), (0.25, 1e-6, "(0.25, 1e-06)")])
def test_numbers_in_words_are_rounded_up(epsilon, delta, said):
    report = privacy_report(model(epsilon, delta=delta).fit(X, Y))
    assert report.guarantee.startswith(said)


def test_certificates_alone_will_do():
    certificate = model().fit(X, Y).privacy_
    report = privacy_report([certificate] * 3)
    assert report.events == (Composed((certificate.event,) * 3),)
    mu = total_mu(Repeated(certificate.event, 3))
    assert report.fits_epsilon == accounting.epsilon(Gaussian(mu), 3 * DELTA)


@pytest.mark.thorough
def test_a_report_within_one_counts():
    model = DPLogisticRegression(epsilon=0.5, delta=1e-6, data_norm=30.0).fit(X, Y)
    report = privacy_report([model, LogisticRegression().fit([[0.0], [1.0]], [0, 1])])
    nested = privacy_report({"first": report, "second": model})
    assert [part.path for part in nested.private] == ["['first'].[0]", "['second']"]
    assert [part.path for part in nested.exposed] == ["['first'].[1]"]
    assert nested.epsilon_at(1e-6) == privacy_report([model, model]).epsilon_at(1e-6)
    (circle := [model]).append(circle)
    with pytest.raises(ValueError, match="holds itself"):
        privacy_report(circle)


@pytest.mark.parametrize("cv, moves", [
    (KFold(3), True), (GroupKFold(3), True), (GroupShuffleSplit(3), False),
    (GroupShuffleSplit(3, random_state=0), True), (GroupKFold(3, shuffle=True), False),
    (GroupKFold(3, shuffle=True, random_state=0), True)])
def test_a_group_may_be_in_every_fold_and_move_others(cv, moves):
    """As folds of rows, and those that are filled by sizes, follow from a group's size, and those
    that a seed shuffles from the places of sorted labels.
    """
    groups = np.arange(len(X)) % 60
    with config_context(enable_metadata_routing=True):
        model = DPLogisticRegression(solver="gd", max_iter=2, data_norm=1.0,
                                     delta=1e-5).set_fit_request(groups=True)
        search = GridSearchCV(model, {"alpha": [1e-3]}, cv=cv).fit(X, Y, groups=groups)
        report = privacy_report(search)
    assert {part.count for part in report.private} == {1, 3}
    assert any("one group moves others" in part.sentence for part in report.exposed) == moves
    assert any("np.random.seed" in str(note) for note in report.notes) != moves


def test_a_model_card_counts_the_fits_that_one_row_is_in():
    fits = [DPLogisticRegression(solver="gd", max_iter=2, data_norm=1.0, delta=1e-3,
                                 classes=[0, 1]).fit(X, Y) for _ in range(4)]
    report = privacy_report({"one": fits[:3], "other": fits[3]}, disjoint=True)
    assert "in at most 3 fits" in report.model_card()
    assert "in at most 4 fits" in privacy_report(fits).model_card()


@QUICK
def test_a_row_pays_for_all_fits_of_the_disjoint_member_that_it_is_in():
    fits = [model(0.5).fit(X, Y) for _ in range(4)]
    one, other = privacy_report(fits[:3]), privacy_report(fits[3:])
    for members in ({"one": fits[:3], "other": fits[3]}, [fits[3], {"a": fits[:2], "b": fits[2]}]):
        report = privacy_report(members, disjoint=True)
        assert report.delta == pytest.approx(3 * DELTA) == one.delta
        assert report.epsilon == report.fits_epsilon == pytest.approx(one.epsilon)
        assert report.epsilon > other.epsilon
        for epsilon in (0.1, 1.0):
            assert report.delta_at(epsilon) == pytest.approx(one.delta_at(epsilon))
            assert report.epsilon_at(1e-2 * epsilon) == pytest.approx(
                one.epsilon_at(1e-2 * epsilon))
        written = report.to_dict()
        assert (written["epsilon"], written["delta"]) == (report.epsilon, report.delta)
