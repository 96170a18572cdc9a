"""What a budget is charged for a fit is no less than what its certificate states."""

from functools import partial
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPPCA,
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPGridSearchCV,
    DPLogisticRegression,
    DPMLPClassifier,
    DPOneHotEncoder,
    DPTableVectorizer,
    DPTreeSampler,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.accounting import Composed, Disclosure, delta
from tests.registry import ALL_ESTIMATORS, ESTIMATORS, make_estimator, plain_solver, training_rows

RNG = np.random.default_rng(0)
WORDS = RNG.choice(["a", "b", "c"], size=3000)
TABLE = pd.DataFrame({"word": WORDS, "x": RNG.normal(size=3000), "z": RNG.uniform(size=3000)})
Y = (TABLE["x"] + (WORDS == "a") > 0).astype(int).to_numpy()
NUMBERS = TABLE[["x", "z"]].to_numpy()
LINEAR = DPLogisticRegression(solver="gd", max_iter=3, data_norm=2.0)
ON_TABLES = {
    "additive": (DPAdditiveClassifier(2.0), TABLE),
    "pairs": (DPAdditiveClassifier(2.0, interactions=1), TABLE),
    "no pairs": (DPAdditiveClassifier(2.0, interactions=0), TABLE),
    "regressor": (DPAdditiveRegressor(2.0, target_bounds=(0, 1)), TABLE),
    "vectorizer": (DPTableVectorizer(2.0), TABLE),
    "categories": (DPOneHotEncoder(epsilon=2.0), TABLE[["word"]]),
    "directions": (DPPCA(epsilon=2.0), NUMBERS),
    "pipeline": (make_dp_pipeline(DPTableVectorizer(), LINEAR, epsilon=2.0), TABLE),
    "sampled": (make_dp_pipeline(DPTableVectorizer(), DPMLPClassifier(
        solver="sgd", max_iter=3, hidden_layer_sizes=(2,)), epsilon=2.0), TABLE),
    "search": (DPGridSearchCV(LINEAR, {"alpha": [0.0, 0.1]}, epsilon=2.0), NUMBERS),
    "search of tables": (DPGridSearchCV(make_dp_pipeline(DPTableVectorizer(), LINEAR), {},
                                        n_iter=2, epsilon=2.0), TABLE),
    "threshold": (DPTunedThresholdClassifier(DPAdditiveClassifier(), epsilon=2.0), TABLE),
    "sampler": (DPTreeSampler(2.0, columns={0: (-3, 3), 1: (0, 1)}), NUMBERS),
}


def charged_and_stated(fitted, *args):
    budget = PrivacyBudget(60.0, 0.2)
    with budget:
        fitted.fit(*args)
    (charge,) = budget.charges
    return charge.event, fitted.privacy_.event


def covers(charged, stated):
    for epsilon in (0.0, 0.1, 1.0, 3.0, 8.0, 30.0):
        # What tells all by chance stays at every epsilon.
        assert delta(charged, epsilon) >= delta(stated, epsilon) * (1 - 1e-6)
    return True


@pytest.mark.covering(most=6)
@pytest.mark.parametrize("name", ON_TABLES)
def test_a_charge_covers_the_certificate(name):
    fitted, rows = ON_TABLES[name]
    assert covers(*charged_and_stated(fitted, rows, Y))


def test_what_may_tell_all_is_charged_as_well():
    """So that the test above would see a charge without it."""
    _, stated = charged_and_stated(DPAdditiveClassifier(2.0), TABLE, Y)
    chances = [event for event in _flat(stated) if isinstance(event, Disclosure)]
    rest = Composed(tuple(event for event in _flat(stated) if not isinstance(event, Disclosure)))
    assert chances
    with pytest.raises(AssertionError):
        covers(rest, stated)


def _flat(event):
    if isinstance(event, Composed):
        return [each for part in event.events for each in _flat(part)]
    return [event]


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_charge_covers_the_certificate_of_every_estimator(name):
    cls = ALL_ESTIMATORS[name]
    fitted = make_estimator(cls, plain_solver(cls), max_iter=3)
    assert covers(*charged_and_stated(fitted, *training_rows(fitted)))


def test_a_budget_states_that_no_release_repeats_a_row_as_bags_of_pipelines_do():
    mapped = make_dp_pipeline(FunctionTransformer(partial(np.multiply, 0.5)), LINEAR, epsilon=0.5,
                              delta=1e-6)
    watched = mock.patch.object(DPLogisticRegression, "fit", autospec=True,
                                side_effect=DPLogisticRegression.fit)
    with PrivacyBudget(9.0, 0.1) as budget, watched as fit:
        BaggingClassifier(mapped, 1, random_state=0).fit(NUMBERS, Y)
    assert len(np.unique(fit.call_args.args[1][:, 0])) < 0.7 * len(NUMBERS)
    assert "each once in a release" in budget.certificate().assumed[0]
