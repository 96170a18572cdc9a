"""Sample weights in searches and thresholds: cut with the parts, and refused by name."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline

from dpsk import (
    DPPCA,
    DPGridSearchCV,
    DPLogisticRegression,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped

kinds = pytest.mark.parametrize("kind", ["search", "threshold"])


def rows(n=4000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) / 2.0
    return X, (X[:, 0] > 0).astype(int)


def model(kind, estimator=None, **params):
    estimator = DPLogisticRegression() if estimator is None else estimator
    given = {"epsilon": 8.0, "random_state": NoiseSeed(0), **params}
    if kind == "threshold":
        return DPTunedThresholdClassifier(estimator, **given)
    return DPGridSearchCV(estimator, {"precondition": [True]}, n_iter=1.0, **given)


@kinds
def test_rows_of_weight_0_teach_nothing(kind):
    """Half of the labels are swapped, and only the others have a weight."""
    X, y = rows()
    swapped = np.random.default_rng(1).random(len(y)) < 0.6
    labels = np.where(swapped, 1 - y, y)
    found = [model(kind).fit(X, labels, sample_weight=each).predict_proba(X)[:, 1]
             for each in (None, np.where(swapped, 0.0, 1.0))]
    assert np.mean((found[0] > 0.5) == y) < 0.5
    assert np.mean((found[1] > 0.5) == y) > 0.9


def steps(**requests):
    """Return a pipeline whose last step requests weights, or not, and its setting."""
    last = DPLogisticRegression().set_fit_request(**requests)
    return make_dp_pipeline(DPStandardScaler(), last), {"dplogisticregression__precondition":
                                                        [True]}


@pytest.mark.parametrize("kind, n_jobs", [("search", None), ("search", 2), ("threshold", None)])
def test_weights_reach_steps_that_request_them_by_metadata_routing(kind, n_jobs):
    """As above; in 100 fits the least share of right answers was 0.986."""
    X, y = rows()
    swapped = np.random.default_rng(1).random(len(y)) < 0.6
    labels, weights = np.where(swapped, 1 - y, y), np.where(swapped, 0.0, 1.0)
    with config_context(enable_metadata_routing=True):
        estimator, grid = steps(sample_weight=True)
        for nested in (False, True):
            if nested:
                estimator = make_dp_pipeline(DPStandardScaler(), estimator)
                grid = {f"dppipeline__{key}": value for key, value in grid.items()}
            search = DPGridSearchCV(estimator, grid, n_iter=2.0, epsilon=8.0, n_jobs=n_jobs)
            if kind == "threshold":
                search = DPTunedThresholdClassifier(estimator, epsilon=8.0)
            found = search.fit(X, labels, sample_weight=weights).predict_proba(X)[:, 1]
            assert np.mean((found > 0.5) == y) > 0.9


@kinds
@pytest.mark.parametrize("requests, error", [
    ({}, UnsetMetadataPassedError), ({"sample_weight": False}, TypeError)])
def test_weights_that_no_step_requests_are_refused_before_the_charge(kind, requests, error,
                                                                     silent):
    X, y = rows(300)
    with config_context(enable_metadata_routing=True):
        estimator, grid = steps(**requests)
        search = model(kind, estimator)
        if kind == "search":
            search.set_params(param_grid=grid)
        with PrivacyBudget(9.0, 1e-2) as budget, pytest.raises(error, match="sample_weight"):
            search.fit(X, y, sample_weight=np.ones(300))
    assert not budget.charges


@kinds
def test_other_weights_have_other_noise(kind):
    """A seed must not add the same noise to what other weights give."""
    X, y = rows(500)
    noise = []
    for weight in (1.0, 0.5):
        weights = np.ones(len(y))
        weights[0] = weight
        with taped() as tape:
            model(kind).fit(X, y, sample_weight=weights)
        noise.append(tape.noise)
    assert not any(map(np.array_equal, *noise))


@kinds
def test_what_takes_no_weights_is_refused_by_name(kind, silent):
    X, y = rows(300)
    estimator = make_dp_pipeline(DPPCA(2), DPLogisticRegression())
    if kind == "search":
        found = DPGridSearchCV(estimator, {"dplogisticregression__alpha": [0.0]}, epsilon=8.0)
    else:
        found = model(kind, estimator)
    with pytest.raises(ValueError, match=r"sample_weight: DPPipeline\.fit has no such .*use"):
        found.fit(X, y, sample_weight=np.ones(300))
    with pytest.raises(ValueError, match="sample_weight: must be finite"):
        model(kind).fit(X, y, sample_weight=np.full(300, -1.0))


def test_a_pipeline_says_where_weights_go():
    X, y = rows(300)
    pipeline = make_dp_pipeline(DPStandardScaler(), DPLogisticRegression(), epsilon=8.0)
    with pytest.raises(ValueError, match=r"fit\(X, y, dplogisticregression__sample_weight="):
        pipeline.fit(X, y, sample_weight=np.ones(300))
    search = model("search")
    make_pipeline(search).fit(X, y, dpgridsearchcv__sample_weight=np.ones(300))
