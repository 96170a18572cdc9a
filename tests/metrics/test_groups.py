"""Evaluations that protect groups of rows: averages of groups, their certificates, refusals."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, recall_score
from sklearn.model_selection import KFold

from dpsk import (
    DPAdditiveClassifier,
    DPGroupDROClassifier,
    DPLogisticRegression,
    DPStandardScaler,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.exceptions import BudgetExceededError
from dpsk.metrics import (
    BinaryEvaluation,
    DPRocCurveDisplay,
    MulticlassEvaluation,
    RegressionEvaluation,
    dp_accuracy_score,
    dp_cross_validate,
    dp_r2_score,
    dp_roc_auc_score,
    get_scorer,
)
from dpsk.testing import NoiseSeed
from tests.events import GROUP_RELATION
from tests.instruments import ordered_groups

G = 500
RNG = np.random.default_rng(0)
PEOPLE = RNG.permutation(np.repeat(np.arange(G), RNG.integers(1, 9, size=G)))
N = len(PEOPLE)
SHARES = 1.0 / np.bincount(PEOPLE)[PEOPLE]
SCORES = RNG.uniform(size=N)
LABELS = (RNG.uniform(size=N) < SCORES).astype(int)
TARGETS = np.clip(SCORES + 0.2 * RNG.normal(size=N), 0.0, 1.0)
MANY = RNG.integers(3, size=N)
GUESSES = np.where(RNG.uniform(size=N) < 0.5, MANY, RNG.integers(3, size=N))
CALLS = {
    "scores": (BinaryEvaluation.from_predictions, (LABELS, SCORES), {}),
    "public bins": (BinaryEvaluation.from_predictions, (LABELS, SCORES), {"bins": 10}),
    "labels": (MulticlassEvaluation.from_predictions, (MANY, GUESSES), {}),
    "numbers": (RegressionEvaluation.from_predictions, (TARGETS, SCORES),
                {"target_bounds": (0.0, 1.0)})}
every_call = pytest.mark.parametrize("name", CALLS)


def evaluated(name, groups=PEOPLE, **params):
    call, data, more = CALLS[name]
    return call(*data, groups=groups, **{"epsilon": 1.0, **more, **params})


@every_call
def test_the_certificate_is_that_of_groups_and_leaves_the_number_of_rows_out(name):
    evaluation = evaluated(name)
    certificate = evaluation.privacy_
    assert certificate.relation == GROUP_RELATION and certificate.delta == 1.0 / G**2
    assert evaluation.n_samples == G
    assert "number of groups of rows, and not that of rows" in certificate.public
    assert not any(fact == "number of rows" or "no row here" in fact
                   for fact in certificate.public)
    assert not any("row moves" in str(bound) for bound in certificate.enforced)
    assert str(N) not in certificate.to_json()
    assert type(certificate).from_json(certificate.to_json()).verify() == certificate


@pytest.mark.filterwarnings("ignore:epsilon=inf")
def test_without_noise_everybody_counts_alike():
    found = evaluated("labels", epsilon=np.inf)
    assert found.counts.sum() == pytest.approx(G)
    assert float(found.accuracy()) == pytest.approx(
        accuracy_score(MANY, GUESSES, sample_weight=SHARES), abs=1e-5)
    chances = np.random.default_rng(0).dirichlet(np.ones(len(found.labels)), size=N)
    found = evaluated("labels", epsilon=np.inf, y_proba=chances, log_loss_floor=0.01)
    _, places = np.unique(MANY, return_inverse=True)
    assert float(found.log_loss()) == pytest.approx(np.average(
        -np.log(chances[np.arange(N), places].clip(0.01)), weights=SHARES), abs=1e-4)
    found = evaluated("public bins", epsilon=np.inf)
    assert float(found.recall(0.5)) == pytest.approx(
        recall_score(LABELS, SCORES >= 0.5, sample_weight=SHARES), abs=1e-4)
    assert float(found.brier_score()) == pytest.approx(
        np.average((SCORES - LABELS)**2, weights=SHARES), abs=1e-4)
    found = evaluated("numbers", epsilon=np.inf)
    assert float(found.mean_absolute_error()) == pytest.approx(
        mean_absolute_error(TARGETS, SCORES, sample_weight=SHARES), abs=1e-9)
    assert float(found.r2()) == pytest.approx(r2_score(TARGETS, SCORES, sample_weight=SHARES))


@every_call
def test_the_noise_is_that_of_as_many_rows(name):
    call, data, more = CALLS[name]
    rows = call(*(values[:G] for values in data), epsilon=1.0, **more)
    groups = evaluated(name)
    assert groups.privacy_.event == rows.privacy_.event
    assert groups.noise_scale == rows.noise_scale


@every_call
def test_groups_of_one_row_are_evaluated_as_rows_are(name):
    call, data, more = CALLS[name]
    alone, rows = (call(*data, epsilon=1.0, random_state=NoiseSeed(0), **more, **given)
                   for given in ({"groups": np.arange(N)}, {}))
    numbers = "moments" if name == "numbers" else "counts"
    assert getattr(alone, numbers).shape == getattr(rows, numbers).shape
    assert alone.privacy_.event == rows.privacy_.event


@every_call
@pytest.mark.parametrize("groups, message", [
    (PEOPLE[:-1], "groups of length|groups of shape"), (np.zeros(N), "one group alone"),
    (np.where(PEOPLE, 1.0, np.nan), "groups contains NaN")])
def test_groups_that_are_none_are_refused_before_any_draw(name, groups, message, silent):
    with pytest.raises(ValueError, match=message):
        evaluated(name, groups)


def test_a_budget_of_groups_admits_evaluations_with_groups_alone():
    model = LogisticRegression().fit(SCORES[:, None], LABELS)
    with PrivacyBudget(8.0, 1e-3, unit="group") as budget:
        for name in CALLS:
            with pytest.raises(BudgetExceededError, match="protects single rows"):
                evaluated(name, None)
            evaluated(name, epsilon=0.5, delta=1e-5)
        more = {"groups": PEOPLE, "epsilon": 0.5, "delta": 1e-5}
        dp_roc_auc_score(LABELS, SCORES, **more)
        dp_accuracy_score(MANY, GUESSES, **more)
        dp_r2_score(TARGETS, SCORES, target_bounds=(0.0, 1.0), **more)
        BinaryEvaluation.from_estimator(model, SCORES[:, None], LABELS, **more)
        scorer = get_scorer("dp_accuracy", epsilon=0.5, delta=1e-5)
        found = scorer(model, SCORES[:, None], LABELS, groups=PEOPLE)
        assert found.privacy_.relation == GROUP_RELATION
    assert len(budget.charges) == 9 and all(charge.of_groups for charge in budget.charges)


def test_a_picture_of_people():
    pytest.importorskip("matplotlib").use("agg")
    display = DPRocCurveDisplay.from_predictions(
        LABELS, SCORES, epsilon=1.0, evaluation_kw={"groups": PEOPLE})
    assert display.privacy_.relation == GROUP_RELATION


def model(**params):
    return DPLogisticRegression(**{"solver": "gd", "max_iter": 3, "data_norm": 1.0, **params})


def folds(**params):
    return dp_cross_validate(**{"estimator": model(), "X": SCORES[:, None], "y": LABELS, "cv": 4,
                                "groups": PEOPLE, **params})


@pytest.mark.parametrize("estimator", [model(), DPAdditiveClassifier(), make_dp_pipeline(
    DPStandardScaler(), DPLogisticRegression(solver="gd", max_iter=3))], ids=str)
def test_folds_of_people_are_charged_to_a_budget_of_groups(estimator):
    with PrivacyBudget(9.0, 1e-3, unit="group") as budget:
        found = folds(estimator=estimator.set_params(delta=1e-5), delta=1e-5)
    assert found.privacy_.relation == GROUP_RELATION and found.n_trainings == 3
    assert all(each.privacy_.relation == GROUP_RELATION for each in found.estimators)
    assert found.evaluation.n_samples == G and found.evaluation.privacy_.delta == 1e-5
    assert "a group is in 3 trainings at most, and in one evaluation" in found.privacy_.public
    assert not any(word in fact for fact in found.privacy_.public
                   for word in ("number of rows", "trained the model"))
    assert len(budget.charges) == 5 and all(charge.of_groups for charge in budget.charges)


@pytest.mark.filterwarnings("ignore:epsilon=inf")
def test_all_rows_of_a_person_are_in_one_fold():
    with ordered_groups():
        found = folds(estimator=DPLogisticRegression(epsilon=np.inf, alpha=0.1), cv=KFold(4))
    for estimator, held in zip(found.estimators, np.split(np.arange(G), 4), strict=True):
        inside = ~np.isin(PEOPLE, held)
        again = DPLogisticRegression(epsilon=np.inf, alpha=0.1).fit(
            SCORES[inside, None], LABELS[inside], groups=PEOPLE[inside])
        np.testing.assert_allclose(estimator.coef_, again.coef_)


@pytest.mark.parametrize("params, message", [
    ({"cv": [(np.arange(9), np.arange(9, 20))]}, "cv: given splits could separate"),
    ({"estimator": DPGroupDROClassifier()}, "groups: DPGroupDROClassifier protects rows"),
    ({"estimator": model(solver="newton", max_iter=None)}, "groups: solver='newton'"),
    ({"cv": G + 1}, "cv="), ({"groups": PEOPLE[1:]}, "groups of (length|shape)")])
def test_folds_that_cannot_be_of_people_are_refused_before_any_draw(params, message):
    with (PrivacyBudget(9.0, 1e-3, unit="group") as budget,
          pytest.raises(ValueError, match=message)):
        folds(**params)
    assert not budget.charges
