"""Several transformers before a model: rules for each, one price, bounds that are known."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPLogisticRegression,
    DPMinMaxScaler,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSimpleImputer,
    DPStandardScaler,
    DPTableVectorizer,
    make_dp_pipeline,
)
from dpsk.testing import NoiseSeed
from tests.events import gaussian_delta, tally
from tests.pipeline.fits import costs


def table(n=2000, seed=0):
    """Return a table of numbers of several scales with gaps, and labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(40.0, 12.0, n), "wage": rng.exponential(2e3, n)})
    y = (X["age"] + 5.0 * rng.normal(size=n) > 40.0).astype(int)
    return X.mask(rng.random(X.shape) < 0.05), y


def model(*steps, **params):
    return make_dp_pipeline(*steps, **{"epsilon": 2.0, "delta": 1e-6,
                                       "random_state": NoiseSeed(0), **params})


def mu(event):
    return math.sqrt(sum(count * each.mu**2 for each, count in tally(event).items()))


@pytest.mark.parametrize("scaler", [
    DPMinMaxScaler(), DPQuantileTransformer(), DPRobustScaler(), DPStandardScaler(),
    DPStandardScaler(columns={1: (0.0, 1e4)})], ids=repr)
@pytest.mark.parametrize("imputer", [
    DPSimpleImputer(), DPSimpleImputer(strategy="constant", add_indicator=True)], ids=repr)
def test_every_step_has_a_share_by_its_rule_and_all_cost_the_budget(imputer, scaler):
    X, y = table()
    pipeline = model(imputer, scaler, DPLogisticRegression()).fit(X, y)
    certificate = pipeline.privacy_
    # Without the accountant: squares of mu add, of all steps.
    own = [mu(own.event) for own in costs(pipeline)]
    assert certificate.delta_at(2.0) == pytest.approx(gaussian_delta(math.hypot(*own), 2.0))
    assert 0.99e-6 < certificate.delta_at(2.0) <= 1e-6
    _, fitted, linear = [step for _, step in pipeline.steps_]
    assert linear.data_norm_ == fitted.row_norm_
    assert pipeline.score(X, y) > 0.6


def test_names_go_with_frames_through_several_steps():
    X, y = table()
    steps = DPSimpleImputer(add_indicator=["wage"]), DPRobustScaler(columns={"wage": (0, 1e5)})
    pipeline = model(*steps, DPLogisticRegression()).set_output(transform="pandas").fit(X, y)
    assert pipeline.steps_[-1][1].feature_names_in_.tolist() == [
        "age", "wage", "missingindicator_wage"]


@pytest.mark.parametrize("steps, match", [
    # Rows come as an array, whose columns have no names.
    ((DPSimpleImputer(), DPRobustScaler(columns={"wage": (0, 1e5)})), "columns has 'wage'"),
    ((DPTableVectorizer(), DPRobustScaler()), "no rule for the share of step 'dprobustscaler'"),
    ((DPSimpleImputer(), FunctionTransformer(np.square), DPRobustScaler()), "no rule"),
    ((DPSimpleImputer(add_indicator=["x"]), DPRobustScaler()), "add_indicator has 'x'")])
def test_what_later_steps_would_refuse_is_refused_first(steps, match, silent):
    with pytest.raises(ValueError, match=match):
        model(*steps, DPLogisticRegression()).fit(*table())
