"""Searches and thresholds that protect groups of rows, each of which is in one part of the two."""

import numpy as np
import pytest

from dpsk import (
    DPGridSearchCV,
    DPGroupDROClassifier,
    DPLogisticRegression,
    DPRandomizedSearchCV,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.exceptions import BudgetExceededError
from dpsk.testing import NoiseSeed
from tests.events import GROUP_RELATION

G = 300
RNG = np.random.default_rng(0)
PEOPLE = RNG.permutation(np.repeat(np.arange(G), np.resize([1, 3, 6, 2], G)))
X = RNG.normal(size=(len(PEOPLE), 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=len(PEOPLE)) > 0).astype(int)


def model(**params):
    return DPLogisticRegression(**{"solver": "gd", "max_iter": 3, "data_norm": 3.0, **params})


MAKERS = {
    "threshold": lambda estimator, **params: DPTunedThresholdClassifier(estimator, **params),
    "grid": lambda estimator, **params: DPGridSearchCV(
        estimator, {"alpha": [0.0, 0.01]}, **params),
    "random": lambda estimator, **params: DPRandomizedSearchCV(
        estimator, {"alpha": [0.0, 0.01]}, **params),
    "grid of thresholds": lambda estimator, **params: DPGridSearchCV(
        estimator, {"max_iter": [2, 3]}, post_params={"threshold": [0.4, 0.5]}, **params)}
every_maker = pytest.mark.parametrize("name", MAKERS)


def fitted(name, groups=PEOPLE, estimator=None, **params):
    estimator = model() if estimator is None else estimator
    return MAKERS[name](estimator, **{"epsilon": 4.0, "test_size": 0.25, **params}).fit(
        X, Y, groups=groups)


@every_maker
def test_the_certificate_is_that_of_groups_and_leaves_the_number_of_rows_out(name):
    found = fitted(name)
    certificate, plan = found.privacy_, found.plan_
    assert certificate.relation == GROUP_RELATION and certificate.delta == 1.0 / G**2
    assert plan.n_train == 225 and plan.n_holdout == 75 and "225 groups of rows" in str(plan)
    assert "split of groups of rows, by their index" in certificate.public
    assert not any("number of rows" in fact for fact in certificate.public)
    assert type(certificate).from_json(certificate.to_json()).verify() == certificate
    assert set(found.predict(X)) <= {0, 1}


@every_maker
def test_the_price_is_that_of_as_many_rows(name):
    rows = MAKERS[name](model(), epsilon=4.0, test_size=0.25).fit(X[:G], Y[:G])
    assert fitted(name).privacy_.event == rows.privacy_.event


@every_maker
def test_a_budget_of_groups_admits_fits_with_groups_alone(name):
    with PrivacyBudget(30.0, 1e-3, unit="group") as budget:
        with pytest.raises(BudgetExceededError, match="protects single rows"):
            fitted(name, None)
        fitted(name)
    (charge,) = budget.charges
    assert charge.of_groups and not any("number of rows" in fact for fact in charge.public)


@every_maker
@pytest.mark.parametrize("groups, estimator, message", [
    (PEOPLE[:-1], None, "groups of (length|shape)"), (np.zeros(len(X)), None, "one group alone"),
    (PEOPLE, model(solver="newton", max_iter=None), "groups: solver='newton' protects rows"),
    (PEOPLE, DPGroupDROClassifier(), "it is fitted with groups, which")])
def test_what_cannot_protect_groups_is_refused_by_name_before_any_draw(
        name, groups, estimator, message, silent):
    with pytest.raises(ValueError, match=message):
        fitted(name, groups, estimator)


def test_pipelines_are_searched():
    estimator = make_dp_pipeline(DPStandardScaler(), DPLogisticRegression())
    found = DPTunedThresholdClassifier(estimator, epsilon=8.0).fit(X, Y, groups=PEOPLE)
    assert found.privacy_.relation == GROUP_RELATION
    assert found.estimator_.named_steps_.dpstandardscaler.privacy_.relation == GROUP_RELATION


@every_maker
def test_another_grouping_is_never_answered_with_the_same_noise(name):
    """Averages of others under the same noise would give their difference away."""
    swapped = PEOPLE.copy()
    swapped[0], swapped[1] = PEOPLE[1], PEOPLE[0]
    assert PEOPLE[0] != PEOPLE[1]
    one, same, other = (fitted(name, groups, random_state=NoiseSeed(2)).best_score_
                        for groups in (PEOPLE, PEOPLE, swapped))
    assert one == same != other


def test_people_with_many_rows_count_no_more_than_others_in_scores():
    """At so large an epsilon noise of a score is 1e-4 at most."""
    n_more = 4000
    rows = np.vstack([X, np.full((n_more, 3), 5.0)])
    labels = np.append(Y, np.zeros(n_more, int))
    people = np.append(PEOPLE, np.zeros(n_more, int))
    found = DPGridSearchCV(model(max_iter=30), {"alpha": [0.0]}, epsilon=1e4,
                           random_state=NoiseSeed(0)).fit(rows, labels, groups=people)
    assert found.best_score_ > 0.8
