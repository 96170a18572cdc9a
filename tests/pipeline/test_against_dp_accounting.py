"""Certificates of pipelines, against an independent composition of what their steps release."""

import math
from functools import reduce

import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPAUCMaximizer,
    DPLogisticRegression,
    DPMLPClassifier,
    DPMLPRegressor,
    DPRidge,
    DPTableVectorizer,
    make_dp_pipeline,
)
from dpsk.accounting import Disclosure, Gaussian, Pure
from tests.events import tally
from tests.pipeline.fits import delta_beside, table

pytestmark = pytest.mark.covering(most=4)

pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution",
                          reason="dp-accounting is the second opinion")
common = pytest.importorskip("dp_accounting.pld.common")


def _vectorizer():
    return DPTableVectorizer(max_categories=8)


def _columns():
    return ColumnTransformer([("numbers", DPTableVectorizer(), ["age", "wage"]),
                              ("words", _vectorizer(), ["town"])])


def _union():
    return FeatureUnion([("some", DPTableVectorizer(n_knots=3, max_categories=8)),
                         ("more", _vectorizer())])


def _pipeline(*steps, **params):
    return make_dp_pipeline(*steps, delta=1e-5, **params)


#: What is fitted, by name.
PIPELINES = {
    "vectorizer, logistic": lambda: _pipeline(_vectorizer(), DPLogisticRegression()),
    "vectorizer, least squares": lambda: _pipeline(
        _vectorizer(), DPRidge(target_bounds=(0, 1)), epsilon=0.3),
    "vectorizer, moments": lambda: _pipeline(
        _vectorizer(), DPRidge(alpha=0.1, solver="sufficient_statistics",
                               target_bounds=(0, 1)), epsilon=4.0),
    "vectorizer, areas": lambda: _pipeline(_vectorizer(), DPAUCMaximizer(), epsilon=2.0),
    "vectorizer, network by full batches": lambda: _pipeline(
        _vectorizer(), DPMLPClassifier(solver="gd", max_iter=20), epsilon=2.0),
    "vectorizer, network": lambda: _pipeline(_vectorizer(), DPMLPClassifier(max_iter=3)),
    "knots, network": lambda: _pipeline(
        FunctionTransformer(lambda X: X[["age", "wage"]]), DPTableVectorizer(n_knots=3),
        DPMLPRegressor(max_iter=3, target_bounds=(0, 1)), epsilon=3.0),
    "vectorizer, objective": lambda: _pipeline(
        _vectorizer(), DPLogisticRegression(alpha=0.1, solver="objective_perturbation")),
    "columns, logistic": lambda: _pipeline(_columns(), DPLogisticRegression()),
    "columns, network": lambda: _pipeline(_columns(), DPMLPClassifier(max_iter=3)),
    "union, ridge": lambda: _pipeline(_union(), DPRidge(target_bounds=(0, 1))),
    "two steps, ridge": lambda: _pipeline(
        _vectorizer(), DPTableVectorizer(n_knots=3), DPRidge(target_bounds=(0, 1)),
        shares={"dptablevectorizer-1": 0.1, "dptablevectorizer-2": 0.2}),
    "pipeline, logistic": lambda: _pipeline(
        make_dp_pipeline(_vectorizer(), "passthrough"), DPLogisticRegression(),
        shares={"dppipeline": 0.2}),
    "vectorizer, additive": lambda: _pipeline(
        _vectorizer(), DPAdditiveClassifier(interactions=1)),
    "additive classes": lambda: DPAdditiveClassifier(delta=1e-5, interactions=2),
    "additive targets": lambda: DPAdditiveRegressor(2.0, delta=1e-5, interactions=1,
                                                    target_bounds=(0, 1)),
}


def _second_opinion(counts, epsilon):
    """Return delta by dp-accounting, which rounds losses up."""
    options = {"value_discretization_interval": 2e-4 * epsilon}
    parts = []
    for event, count in counts.items():
        if isinstance(event, Gaussian):
            # So many of one mu are one of the root of their number times it.
            parts.append(pld.from_gaussian_mechanism(1.0 / (event.mu * math.sqrt(count)),
                                                     **options))
            continue
        known = (event.epsilon, 0.0) if isinstance(event, Pure) else (0.0, event.delta)
        parts.append(pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(*known), **options).self_compose(count))
    return reduce(lambda total, part: total.compose(part), parts).get_delta_for_epsilon(epsilon)


def _exact(counts, epsilon):
    """Return delta by the formula of a Gaussian beside randomized response and a chance."""
    mu = math.sqrt(sum(count * event.mu**2 for event, count in counts.items()
                       if isinstance(event, Gaussian)))
    (own,) = [event.epsilon for event in counts if isinstance(event, Pure)] or [0.0]
    never = math.prod((1.0 - event.delta) ** count for event, count in counts.items()
                      if isinstance(event, Disclosure))
    return 1.0 - never + never * delta_beside(mu, own, epsilon)


@pytest.mark.parametrize("name", PIPELINES)
def test_the_certificate_agrees_with_an_independent_composition(name):
    """Within half a percent of delta, and not below what the releases cost."""
    X, y = table()
    certificate = PIPELINES[name]().fit(X, y).privacy_
    epsilon, counts = certificate.epsilon, tally(certificate.event)
    assert {type(event) for event in counts} <= {Gaussian, Disclosure, Pure}
    ours = certificate.delta_at(epsilon)
    assert _exact(counts, epsilon) * (1 - 1e-9) <= ours <= certificate.delta
    assert abs(ours / _second_opinion(counts, epsilon) - 1.0) <= 0.005
