"""What keys noise that repeats: other parameters, other noise."""

import numpy as np
import pytest
from scipy.stats import loguniform, randint, rv_histogram, uniform
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRandomizedSearchCV,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.model_selection._settings import settings_text
from dpsk.testing import NoiseSeed
from tests.model_selection.test_searches import rows

GRID = np.linspace(0.45, 0.55, 1201)
OTHER = np.concatenate([GRID[:3], np.linspace(0.6, 0.9, 1195), GRID[-3:]])


def tuned(thresholds, **params):
    return DPTunedThresholdClassifier(DPLogisticRegression(solver="gd"), thresholds=thresholds,
                                      scoring="accuracy", **params)


def drawn(distribution):
    return DPRandomizedSearchCV(DPLogisticRegression(), {"alpha": distribution})


def behind(step):
    return DPGridSearchCV(make_dp_pipeline(step, DPLogisticRegression()), {"passthrough": [None]})


def frozen(scale):
    X = np.random.default_rng(0).normal(size=(50, 3))
    return FrozenEstimator(StandardScaler().fit(scale * X))


def nested(value):
    return DPGridSearchCV(DPLogisticRegression(), [{"class_weight": [{0: value, 1: 1.0}]}])


PAIRS = {
    "long arrays": (lambda: tuned(GRID), lambda: tuned(OTHER)),
    "near arrays": (lambda: tuned(np.array([0.5])), lambda: tuned(np.array([0.500000004]))),
    "dtypes": (lambda: tuned(np.array([0, 1])), lambda: tuned(np.array([0, 4607182418800017408]))),
    "objects": (lambda: tuned(np.array([0.5, None])), lambda: tuned(np.array([0.6, None]))),
    "families": (lambda: drawn(uniform(1, 5)), lambda: drawn(loguniform(1, 5))),
    "arguments": (lambda: drawn(uniform(0, 1)), lambda: drawn(uniform(0, 2))),
    "names": (lambda: drawn(uniform(loc=1)), lambda: drawn(uniform(scale=1))),
    "whole numbers": (lambda: drawn(randint(1, 5)), lambda: drawn(randint(1, 6))),
    "histograms": (lambda: drawn(rv_histogram(([1, 2], [0, 1, 2]))),
                   lambda: drawn(rv_histogram(([2, 1], [0, 1, 2])))),
    "functions": (lambda: behind(FunctionTransformer(np.abs)),
                  lambda: behind(FunctionTransformer(np.square))),
    "what is frozen": (lambda: behind(frozen(1.0)), lambda: behind(frozen(2.0))),
    "dicts of arrays": (lambda: nested(GRID), lambda: nested(OTHER)),
    "kinds": (lambda: tuned([0.5]), lambda: tuned((0.5,)))}


@pytest.mark.parametrize("one, other", PAIRS.values(), ids=PAIRS)
def test_other_parameters_have_another_text(one, other):
    assert settings_text(one()) == settings_text(one()) == settings_text(clone(one()))
    assert settings_text(one()) != settings_text(other())


def test_seed_and_verbosity_are_no_settings():
    assert settings_text(tuned(GRID)) == settings_text(tuned(GRID, random_state=3, verbose=1))


def test_draws_from_a_distribution_leave_its_text():
    search = drawn(loguniform(1, 5))
    text = settings_text(search)
    search.param_distributions["alpha"].rvs(3, random_state=0)
    search.param_distributions["alpha"].rvs(3)
    assert settings_text(search) == text


@pytest.mark.parametrize("one, other", [
    (GRID, OTHER), (np.array([0.5]), np.array([0.500000004]))], ids=["elided", "rounded"])
def test_fits_with_other_parameters_share_no_noise(one, other):
    X, y = rows()
    first, second, again = (tuned(each, random_state=NoiseSeed(0)).fit(X, y)
                            for each in (one, other, one))
    assert (first.estimator_.coef_ != second.estimator_.coef_).all()
    np.testing.assert_array_equal(first.estimator_.coef_, again.estimator_.coef_)


@pytest.mark.parametrize("function", [lambda X: X, (_ for _ in ())], ids=["lambda", "generator"])
def test_what_cannot_be_told_apart_is_refused_by_name(function, silent):
    X, y = rows()
    step = FunctionTransformer()
    search = DPGridSearchCV(make_dp_pipeline(step, DPLogisticRegression()), {},
                            random_state=NoiseSeed(0))
    # Whatever is in the place of a function: steps are cloned once they are checked.
    step.func = function
    with PrivacyBudget(5.0, 1e-3) as budget, pytest.raises(
            ValueError, match=r"estimator__functiontransformer__func of type .* NoiseSeed"):
        search.fit(X, y)
    assert not budget.charges


def test_without_a_seed_a_lambda_is_as_good_as_any():
    X, y = rows()
    step = FunctionTransformer(lambda X: X)
    DPGridSearchCV(make_dp_pipeline(step, DPLogisticRegression(solver="gd")), {}).fit(X, y)
