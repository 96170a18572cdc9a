"""Pipelines that protect groups of rows: every step is told whose row is whose, or refuses."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from dpsk import (
    DPAdditiveRegressor,
    DPGridSearchCV,
    DPGroupDROClassifier,
    DPLogisticRegression,
    DPMLPClassifier,
    DPOneHotEncoder,
    DPPipeline,
    DPSimpleImputer,
    DPStandardScaler,
    DPTableVectorizer,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.exceptions import BudgetExceededError
from tests.events import GROUP_RELATION

G = 300


def rows(seed=0):
    rng = np.random.default_rng(seed)
    people = rng.permutation(np.repeat(np.arange(G), np.resize([1, 3, 6, 2], G)))
    n = len(people)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.uniform(size=n),
                      "word": rng.choice(["x", "y"], size=n)})
    return X, (X["a"] > 0).to_numpy().astype(int), people


def model(**params):
    return DPLogisticRegression(**{"max_iter": 3, **params})


NUMBERS = FunctionTransformer(lambda X: X[["a", "b"]])
WIDE = FunctionTransformer(lambda X: np.tile(X[["a", "b"]], 100))
PROJECTED = GaussianRandomProjection(eps=0.9)
PIPELINES = {
    "vectorizer": lambda: make_dp_pipeline(DPTableVectorizer(), model()),
    "scalers": lambda: make_dp_pipeline(NUMBERS, DPSimpleImputer(), DPStandardScaler(), model()),
    "parts": lambda: make_dp_pipeline(ColumnTransformer([
        ("scale", DPStandardScaler(), ["a", "b"]), ("words", DPOneHotEncoder(), ["word"])]),
        model(), shares={"columntransformer__scale": 0.1, "columntransformer__words": 0.1}),
    "within": lambda: make_dp_pipeline(DPPipeline([("table", DPTableVectorizer()),
                                                   ("model", model())])),
    "network": lambda: make_dp_pipeline(NUMBERS, DPStandardScaler(), DPMLPClassifier(
        hidden_layer_sizes=(3,), max_iter=3)),
}
every_pipeline = pytest.mark.parametrize("name", PIPELINES)


@every_pipeline
def test_the_certificate_is_that_of_groups_and_leaves_the_number_of_rows_out(name):
    X, y, people = rows()
    fitted = PIPELINES[name]().fit(X, y, groups=people)
    certificate = fitted.privacy_
    assert certificate.relation == GROUP_RELATION and certificate.delta == 1.0 / G**2
    assert certificate.public[0] == "number of groups of rows, and not that of rows"
    assert not any("number of rows" in fact for fact in certificate.public)
    assert all(each.relation == GROUP_RELATION for each in fitted.step_certificates_.values())
    assert type(certificate).from_json(certificate.to_json()).verify() == certificate
    assert fitted.predict(X).shape == y.shape


@every_pipeline
def test_a_budget_of_groups_admits_fits_with_groups_alone(name):
    X, y, people = rows()
    with PrivacyBudget(3.0, 1e-3, unit="group") as budget:
        with pytest.raises(BudgetExceededError, match="protects single rows"):
            PIPELINES[name]().fit(X, y)
        PIPELINES[name]().fit(X, y, groups=people)
    (charge,) = budget.charges
    assert charge.of_groups and not any("number of rows" in fact for fact in charge.public)


def test_shares_and_prices_are_those_of_as_many_rows():
    X, y, people = rows()
    one, other = (PIPELINES["vectorizer"]().fit(*table, groups=whose).step_certificates_
                  for *table, whose in ((X, y, people), (X[:G], y[:G], np.arange(G))))
    step = "dptablevectorizer"
    assert one[step].event == other[step].event
    alone = PIPELINES["vectorizer"]().fit(X[:G], y[:G]).step_certificates_
    assert one[step].event == alone[step].event


@pytest.mark.parametrize("make, params, message", [
    (lambda: make_dp_pipeline(DPTableVectorizer(), DPGroupDROClassifier()), {},
     "groups: step 'dpgroupdroclassifier', DPGroupDROClassifier, protects rows"),
    (lambda: make_dp_pipeline(NUMBERS, DPStandardScaler(), make_dp_pipeline(
        DPStandardScaler(), DPGroupDROClassifier())), {}, "DPGroupDROClassifier, protects rows"),
    (lambda: make_dp_pipeline(DPTableVectorizer(), model(solver="newton")), {},
     "groups: solver='newton' protects rows"),
    (lambda: make_dp_pipeline(WIDE, PROJECTED, model()), {},
     "groups: step 'gaussianrandomprojection': n_components='auto' follows from the number"),
    (lambda: make_dp_pipeline(WIDE, FeatureUnion([("few", SparseRandomProjection(eps=0.9)), (
        "scaled", DPStandardScaler())]), model()), {}, "groups: step 'featureunion__few'"),
    (lambda: make_dp_pipeline(WIDE, DPStandardScaler(), make_dp_pipeline(PROJECTED, model())), {},
     "n_components='auto'"),
    (lambda: DPGridSearchCV(make_dp_pipeline(WIDE, PROJECTED, model()), {
        "dplogisticregression__alpha": [0.0, 0.1]}), {}, "n_components='auto'"),
    (lambda: make_dp_pipeline(DPTableVectorizer(), model(data_norm=None), epsilon=0.01), {},
     "data_norm=None: n="),
    (lambda: make_dp_pipeline(NUMBERS, DPStandardScaler(), DPAdditiveRegressor(
        target_bounds=None), epsilon=0.01), {}, "target_bounds=None: n="),
    (PIPELINES["vectorizer"], {"dplogisticregression__groups": np.arange(900)},
     "give groups to the fit of the pipeline itself"),
    (PIPELINES["vectorizer"], {"groups": np.zeros(900)}, "one group alone"),
    (PIPELINES["vectorizer"], {"groups": np.arange(9)}, "groups of (length|shape)")])
def test_what_cannot_protect_groups_is_refused_by_name_before_any_charge(make, params, message):
    X, y, people = rows()
    with (PrivacyBudget(3.0, 1e-3, unit="group") as budget,
          pytest.raises(ValueError, match=message)):
        make().fit(X, y, **{"groups": people, **params})
    assert not budget.charges


def test_groups_travel_by_metadata_routing():
    X, y, people = rows()
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = PIPELINES["vectorizer"]().set_fit_request(groups=True)
        search = GridSearchCV(pipeline, {"epsilon": [1.0, 2.0]}, cv=GroupKFold(2))
        search.fit(X, y, groups=people)
    assert search.best_estimator_.privacy_.relation == GROUP_RELATION
