"""What searches refuse, before anything is drawn."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from dpsk import (
    DPGaussianSampler,
    DPGridSearchCV,
    DPGroupDROClassifier,
    DPLogisticRegression,
    DPMinMaxScaler,
    DPRandomizedSearchCV,
    DPRidge,
    DPStandardScaler,
    DPTableVectorizer,
    DPTunedThresholdClassifier,
    make_dp_pipeline,
)
from dpsk._privacy.certificate import GROUP_RELATION
from dpsk._privacy.events import Composed
from dpsk.testing import NoiseSeed
from tests.model_selection.test_searches import grid, rows


@pytest.mark.parametrize("name, value", [
    ("epsilon", 0), ("epsilon", math.inf), ("delta", 0), ("delta", 1.0), ("random_state", 1.5),
    ("verbose", "yes"), ("n_iter", 0.5), ("n_iter", "many"), ("test_size", 0.0),
    ("test_size", 1.0), ("scoring", "roc_auc"), ("scoring", "r2"), ("scoring", len),
    ("score_bound", 2.0), ("param_grid", []), ("param_grid", 3)])
def test_a_bad_value_is_refused_and_named(name, value, silent):
    with pytest.raises(ValueError, match=name):
        grid().set_params(**{name: value}).fit(*rows())


@pytest.mark.parametrize("estimator", [
    LogisticRegression(), GridSearchCV(DPLogisticRegression(), {}), grid(), DPGaussianSampler(),
    DPTableVectorizer(), make_pipeline(DPLogisticRegression()), DPGroupDROClassifier(), 3],
    ids=lambda estimator: type(estimator).__name__)
def test_an_estimator_whose_price_is_not_known_is_refused(estimator, silent):
    with pytest.raises(ValueError, match=f"estimator={type(estimator).__name__}"):
        DPGridSearchCV(estimator, {}).fit(*rows())


@pytest.mark.parametrize("last", [
    grid(), DPTunedThresholdClassifier(DPLogisticRegression(solver="gd"))],
    ids=lambda last: type(last).__name__)
def test_so_is_a_pipeline_that_ends_in_one(last, silent):
    pipeline = make_dp_pipeline(DPStandardScaler(), last)
    for outer in (DPGridSearchCV(pipeline, {}), DPTunedThresholdClassifier(pipeline)):
        with pytest.raises(ValueError, match="estimator=DPPipeline: its price is not known"):
            outer.fit(*rows())


def test_a_pipeline_in_a_pipeline_has_a_price():
    inner = make_dp_pipeline(DPStandardScaler(), DPLogisticRegression(solver="gd"))
    outer = make_dp_pipeline(DPMinMaxScaler(), inner, shares={"dpminmaxscaler": 0.1})
    assert DPTunedThresholdClassifier(outer).fit(*rows()).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("settings, match", [
    ({"epsilon": [1.0]}, "'epsilon' cannot be searched"),
    ({"delta": [1e-6]}, "'delta' cannot be searched"),
    ({"random_state": [0, 1]}, "'random_state' cannot be searched"),
    ({"strength": [1.0]}, "strength"), ({"alpha": [0.1, -1.0]}, "alpha"),
    ({"solver": ["newton", "objective_perturbation"], "batch_size": [3]}, "batch_size")])
@pytest.mark.parametrize("cls", [DPGridSearchCV, DPRandomizedSearchCV])
def test_settings_that_cannot_be_fitted_are_refused(cls, settings, match, silent):
    with pytest.raises(ValueError, match=match):
        cls(DPLogisticRegression(solver="gd"), settings).fit(*rows())


def test_a_seed_of_the_estimator_would_make_runs_alike(silent):
    with pytest.raises(ValueError, match="give the seed to the search"):
        grid(DPLogisticRegression(solver="gd", random_state=NoiseSeed(0))).fit(*rows())


def test_errors_of_numbers_need_a_bound(silent):
    X, y = rows()
    with pytest.raises(ValueError, match=r"score_bound=None.*target_bounds"):
        grid(DPRidge()).fit(X, y)
    for bound in (0.0, math.inf, "wide"):
        with pytest.raises(ValueError, match="score_bound"):
            grid(DPRidge(), score_bound=bound).fit(X, y)


class Blocks:
    n, n_features = 300, 3

    def blocks(self):
        raise AssertionError("rows were read")


def test_rows_that_cannot_be_split_are_refused(silent):
    X, y = rows()
    with pytest.raises(ValueError, match="in memory only"):
        grid().fit(Blocks(), y)
    with pytest.raises(ValueError, match="fewer than 2 rows"):
        grid(test_size=0.9).fit(X[:4], y[:4])
    with pytest.raises(ValueError, match="target y is None"):
        grid().fit(X)
    with pytest.raises(ValueError, match="inconsistent"):
        grid().fit(X, y[:-1])
    with pytest.raises(ValueError, match="class"):
        grid().fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("change", [
    lambda certificate: {"event": Composed((certificate.event,) * 2)},
    lambda certificate: {"relation": GROUP_RELATION}], ids=["price", "relation"])
def test_a_run_that_costs_more_than_declared_is_not_shown(change, monkeypatch):
    fit = DPLogisticRegression.fit

    def dear(self, X, y):
        fit(self, X, y)
        self.privacy_ = replace(self.privacy_, **change(self.privacy_))
        return self

    monkeypatch.setattr(DPLogisticRegression, "fit", dear)
    search = grid()
    with pytest.raises(RuntimeError, match="costs more than its budget"):
        search.fit(*rows())
    assert not hasattr(search, "privacy_")
