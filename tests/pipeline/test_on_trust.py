"""Certificates state that classes of others are trusted, alone and as parts of a whole."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from dpsk import (
    DPAdditiveClassifier,
    DPLogisticRegression,
    DPPipeline,
    DPRandomizedSearchCV,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    PrivacyBudget,
)
from dpsk.metrics import dp_cross_validate

X = np.random.default_rng(0).normal(size=(300, 2))
Y = (X[:, 1] > 0).astype(int)
PRICE = {"epsilon": 1.0, "delta": 1e-6}


class Scaled(DPLogisticRegression):
    """Could learn anything from rows in its own methods."""

    def fit(self, X, y, sample_weight=None, *, groups=None):
        return super().fit(np.asarray(X) / np.abs(X).max(), y, sample_weight)


class ScaledColumns(DPStandardScaler):
    """A transformer whose methods may be others."""

    def fit(self, X, y=None, groups=None):
        return super().fit(X, y)


class Foreign(ClassifierMixin, BaseEstimator):
    """A class of another package, with a certificate."""

    def __init__(self, epsilon=1.0, delta=None):
        self.epsilon = epsilon
        self.delta = delta

    def fit(self, X, y):
        self.model_ = DPLogisticRegression(self.epsilon, delta=self.delta, data_norm=3.0).fit(X, y)
        self.privacy_, self.classes_ = self.model_.privacy_, self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


class Additive(DPAdditiveClassifier):
    """A model in several steps."""


class Piped(DPPipeline):
    """A pipeline whose methods may be others."""


class Search(DPRandomizedSearchCV):
    """So may those of a search."""


def searched(model, cls=DPRandomizedSearchCV):
    return cls(model, {"alpha": [0.0, 0.1]}, **PRICE)


def said(cls, name=""):
    return f"{name}that {cls.__name__} releases no more than its certificate says"


PLAIN = DPLogisticRegression(data_norm=3.0)
WHOLES = {
    "model": (Scaled(data_norm=3.0, **PRICE), [said(Scaled)]),
    "transformer": (ScaledColumns(**PRICE), [said(ScaledColumns)]),
    "model in steps": (Additive(**PRICE), [said(Additive)]),
    "own pipeline": (Piped([("s", DPStandardScaler()), ("m", PLAIN)], **PRICE), [said(Piped)]),
    "own pipeline of a step": (Piped([("m", PLAIN)], **PRICE), [said(Piped)]),
    "own search": (searched(PLAIN, Search), [said(Search)]),
    "pipeline": (DPPipeline([("s", ScaledColumns()), ("m", Scaled(data_norm=3.0))], **PRICE),
                 [said(ScaledColumns, "s: "), said(Scaled, "m: ")]),
    "last step alone": (DPPipeline([("m", Foreign())], **PRICE), [said(Foreign, "m: ")]),
    "foreign step": (DPPipeline([("s", DPStandardScaler()), ("m", Foreign())], **PRICE),
                     [said(Foreign, "m: ")]),
    "search": (searched(Scaled(data_norm=3.0)), [said(Scaled)]),
    "threshold": (DPTunedThresholdClassifier(Scaled(data_norm=3.0), **PRICE), [said(Scaled)]),
    "search in a pipeline": (DPPipeline([("m", searched(Scaled(data_norm=3.0)))], **PRICE),
                             [said(Scaled, "m: ")]),
}


@pytest.mark.parametrize("whole", WHOLES)
def test_a_certificate_and_a_budget_state_that_a_class_is_trusted(whole):
    model, facts = WHOLES[whole]
    with PrivacyBudget(50.0, 1e-3) as budget:
        certificate = model.fit(X, Y).privacy_
    assert [line for line in certificate.assumed if "releases no more" in line] == facts
    assert {f"{fact} (all releases)" for fact in facts} <= {*budget.certificate().assumed}


def test_a_cross_validation_states_that_a_class_is_trusted():
    with PrivacyBudget(50.0, 1e-3) as budget:
        found = dp_cross_validate(Scaled(data_norm=3.0, **PRICE), X, Y, cv=2, **PRICE)
    assert said(Scaled) in found.privacy_.assumed
    assert f"{said(Scaled)} (releases 1, 2)" in budget.certificate().assumed


def test_classes_of_this_package_are_not_named():
    model = DPPipeline([("s", DPStandardScaler()), ("m", PLAIN)], **PRICE)
    assert not [line for line in model.fit(X, Y).privacy_.assumed if "releases no more" in line]
