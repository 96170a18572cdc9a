"""Naive Bayes on counts: no surer than the counts are."""

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss

from dpsk import DPBernoulliNB, DPCategoricalNB, DPMultinomialNB
from dpsk.testing import NoiseSeed

MODELS = [DPBernoulliNB, DPMultinomialNB,
          lambda epsilon, **given: DPCategoricalNB(epsilon, min_categories=2, **given)]
#: The `NoiseSeed`s of fits whose mean is compared.
SEEDS = range(4)


def flags(signal, n=4000, d=200, seed=0):
    """Return flags and two classes; `signal` is the largest difference of a share."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    shares = 0.2 + signal * np.where(y[:, None] == 1, 1.0, -1.0) * rng.random(d)
    return (rng.random((n, d)) < shares).astype(float), y


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.2])
def test_noise_alone_makes_no_model_sure(make, epsilon):
    """A constant has .67; noise that was added up over features once made 2 to 18 of it."""
    X, y = flags(0.0)
    losses = [log_loss(y, make(epsilon, random_state=NoiseSeed(seed)).fit(X, y).predict_proba(X))
              for seed in SEEDS]
    assert np.mean(losses) < 0.67 + 0.2


@pytest.mark.parametrize(("make", "least"), zip(MODELS, (0.9, 0.7, 0.9), strict=True))
def test_differences_of_many_features_are_kept(make, least):
    X, y = flags(0.1)
    fits = [make(1.0, random_state=NoiseSeed(seed)).fit(X, y) for seed in SEEDS]
    assert np.mean([model.score(X, y) for model in fits]) > least
    assert all(model.temperature_ > 1.0 for model in fits)


@pytest.mark.parametrize("make", MODELS)
def test_without_noise_the_temperature_is_1(make):
    assert make(math.inf).fit(*flags(0.1, n=200)).temperature_ == 1.0


@pytest.mark.parametrize("make", MODELS)
def test_equal_classes_whose_counts_are_hidden_have_equal_priors(make):
    """Counts of ten classes of 20 rows have noise of 40 and more."""
    X, y = flags(0.0, n=200, d=5)[0], np.repeat(np.arange(10), 20)
    model = make(0.3, classes=range(10), random_state=NoiseSeed(1)).fit(X, y)
    assert np.ptp(model.class_log_prior_) < 1.0
