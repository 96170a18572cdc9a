"""A part of what was fitted under one budget states the guarantee of the whole, not its share."""

import functools
import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPPipeline,
    DPRandomizedSearchCV,
    DPRidge,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    make_dp_pipeline,
    model_selection,
    privacy_report,
)
from dpsk.accounting import compose, epsilon
from tests.registry import ADDITIVE, SAMPLERS

pytestmark = pytest.mark.filterwarnings("ignore")

N = 300
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 3))
Y = (X[:, 0] > 0).astype(int)


def linear():
    return DPLogisticRegression(solver="gd", max_iter=3, data_norm=2.0, classes=[0, 1])


def scaled(*steps):
    return make_dp_pipeline(*steps, linear(), epsilon=1.0, delta=1e-6)


def parts():
    return ColumnTransformer([("a", DPStandardScaler(), [0]), ("b", DPStandardScaler(), [1, 2])])


def union():
    return FeatureUnion([("a", DPStandardScaler()), ("b", DPStandardScaler())])


GRID = {"dplogisticregression__alpha": [0.0, 0.1]}
#: Everything of this package that has several fits under one budget.
WHOLES = {
    "DPPipeline": lambda: scaled(DPStandardScaler()),
    "columns": lambda: scaled(parts()),
    "union": lambda: scaled(union()),
    "pipeline of pipelines": lambda: scaled(
        make_dp_pipeline(DPStandardScaler(), "passthrough")).set_params(
            shares={"dppipeline": 0.3}),
    "DPGridSearchCV": lambda: DPGridSearchCV(scaled(parts()), GRID),
    "DPRandomizedSearchCV": lambda: DPRandomizedSearchCV(scaled(union()), GRID, n_iter=2),
    "DPTunedThresholdClassifier": lambda: DPTunedThresholdClassifier(scaled(DPStandardScaler())),
    **{name: cls for name, cls in {**ADDITIVE, **SAMPLERS}.items()},
}


def fitted(name):
    whole = WHOLES[name]()
    try:
        return whole.fit(X, Y)
    except TypeError:
        return whole.fit(X)


def test_every_search_is_here():
    assert {name for name in model_selection.__all__ if name.startswith("DP")} <= set(WHOLES)


@pytest.mark.parametrize("name", ["DPPipeline", "columns", "union"])
def test_what_each_step_cost_stays_visible(name):
    pipeline = fitted(name)
    own = pipeline.step_certificates_
    last, others = "dplogisticregression", set(own) - {"dplogisticregression"}
    assert last in own and others
    assert all(each.epsilon < pipeline.privacy_.epsilon for each in own.values())
    together = epsilon(compose(*(each.event for each in own.values())), 1e-6)
    assert together == pytest.approx(1.0, rel=1e-3)
    assert set(clone(pipeline).fit(X, Y).step_certificates_) == set(own)


def test_what_the_caller_had_fitted_keeps_its_own():
    before = DPStandardScaler(epsilon=5.0, delta=1e-6).fit(X)
    own = before.privacy_
    first = scaled(FrozenEstimator(before), DPStandardScaler())
    first.fit(X, Y)
    assert before.privacy_ is own
    assert first.steps_[1][1].privacy_ is first.privacy_
    again = first.steps_[1][1]
    kept = again.privacy_
    first.fit(X, Y)
    assert again.privacy_ is kept and kept is not first.privacy_


def test_a_report_of_parts_costs_at_least_the_whole():
    pipeline = fitted("DPPipeline")
    for several in (pipeline.steps_[0][1], pipeline.named_steps_, dict(pipeline.steps_)):
        report = privacy_report(several)
        assert report.is_private
        assert privacy_report(pipeline).epsilon <= report.epsilon < math.inf


def _bound(function):
    return function


def _partial(function):
    return functools.partial(function)


@pytest.mark.parametrize("held", [_bound, _partial])
def test_a_copy_of_what_was_fitted_before_keeps_its_own_certificate(held):
    """Cloning a step copies what its function holds, which cost what it cost."""
    before = DPStandardScaler(epsilon=50.0, delta=1e-4).fit(X)
    whole = DPPipeline([("before", FunctionTransformer(held(before.transform))),
                        ("model", DPRidge(target_bounds=(-3, 3)))],
                       epsilon=1.0, delta=1e-3).fit(X, X[:, 0])
    function = whole.steps_[0][1].func
    copy = getattr(function, "func", function).__self__
    assert copy is not before and copy.privacy_ == before.privacy_
    assert privacy_report(copy).guarantee == privacy_report(before).guarantee
    assert whole.steps_[1][1].privacy_ == whole.privacy_
