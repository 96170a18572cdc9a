"""class_weight="balanced": scores of even classes, by shares of the classes that are paid for."""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from dpsk import (
    DPAdditiveClassifier,
    DPGradientBoostingClassifier,
    DPLinearSVC,
    DPLogisticRegression,
    make_dp_pipeline,
)
from dpsk.preprocessing import DPStandardScaler
from dpsk.testing import NoiseSeed
from tests.events import tally
from tests.instruments import watched_ledgers

every_balancing_class = pytest.mark.parametrize("cls", [
    DPAdditiveClassifier, DPGradientBoostingClassifier, DPLogisticRegression])


def rows(n=3000, several=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    signal = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n)
    return X, (signal > 2.5).astype(int) + several * (signal > 1.0)


def fitted(cls, X, y, **params):
    if cls is DPGradientBoostingClassifier:
        params = {"max_iter": 3, **params}
    return cls(**{"epsilon": 6.0, "delta": 1e-6, "random_state": NoiseSeed(0),
                  "class_weight": "balanced", **params}).fit(X, y)


@every_balancing_class
@pytest.mark.parametrize("several", [False, True])
def test_rare_classes_are_found_for_a_part_of_the_same_price(cls, several):
    X, y = rows(several=several)
    plain = fitted(cls, X, y, class_weight=None)
    with watched_ledgers() as ledgers:
        model = fitted(cls, X, y)
    found, before = (balanced_accuracy_score(y, each.predict(X)) for each in (model, plain))
    assert found > before + 0.02
    np.testing.assert_allclose(model.class_shares_, np.bincount(y) / len(y), atol=0.01)
    certificate = model.privacy_
    assert sum((tally(ledger.spent) for ledger in ledgers), Counter()) == tally(certificate.event)
    assert 0.9e-6 <= certificate.delta_at(6.0) <= certificate.delta == 1e-6
    assert "class_shares_" in certificate.released


@every_balancing_class
def test_scores_are_less_the_logarithms_of_shares(cls):
    """Without noise the order of scores is that of a fit without weights."""
    X, y = rows(600)
    with pytest.warns(match="epsilon=inf"):
        model, plain = (fitted(cls, X, y, epsilon=np.inf, class_weight=each)
                        for each in ("balanced", None))
    rare, usual = np.mean(y), 1.0 - np.mean(y)
    shift = plain.decision_function(X) - model.decision_function(X)
    np.testing.assert_allclose(shift, np.log(rare / usual), atol=0.05)


@every_balancing_class
def test_shares_are_those_of_the_last_fit(cls):
    X, y = rows(600)
    model = fitted(cls, X, y)
    scores = model.decision_function(X)
    model.set_params(class_weight=None)
    assert (model.decision_function(X) == scores).all()
    model.fit(X, y)
    assert not hasattr(model, "class_shares_")
    assert "class_shares_" not in model.privacy_.released


def test_it_is_the_last_step_of_a_pipeline():
    X, y = rows(600)
    model = make_dp_pipeline(DPStandardScaler(), DPLogisticRegression(class_weight="balanced"),
                             epsilon=4.0).fit(X, y)
    assert model[-1].class_shares_.shape == (2,)


@pytest.mark.parametrize("cls, params, match", [
    (DPLogisticRegression, {"fit_intercept": False}, "corrects the constant"),
    (DPLogisticRegression, {"delta": 0.0}, "needs delta > 0"),
    (DPLogisticRegression, {"class_weight": "even"}, "class_weight='even': must be"),
    (DPAdditiveClassifier, {"class_weight": "even"}, "'balanced' or a dict"),
    (DPLinearSVC, {}, "'balanced' corrects log-odds")])
def test_what_cannot_be_balanced_is_refused_before_anything_is_drawn(cls, params, match, silent):
    X, y = rows(100)
    with pytest.raises(ValueError, match=match):
        cls(**{"class_weight": "balanced", **params}).fit(X, y)


@pytest.mark.thorough
def test_the_noise_of_coefficients_knows_that_the_classes_are_not_even():
    X, y = rows()
    lengths = []
    for weight in ("balanced", None):
        model = fitted(DPLogisticRegression, X, y, class_weight=weight)
        lengths.append([np.linalg.norm(model.summary().coef_std) for _ in range(5)])
    # Replays that took the classes for even would not recover the model, so all would be NaN. One
    # summary in a hundred is NaN by chance, and one ratio of two lengths passes 1.5.
    np.testing.assert_allclose(*np.nanmedian(lengths, axis=1), rtol=0.5)
