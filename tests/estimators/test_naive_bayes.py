"""Naive Bayes on counts: no surer than the counts are."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.metrics import log_loss
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from dpsk import (
    DPBernoulliNB,
    DPCategoricalNB,
    DPGaussianNB,
    DPGridSearchCV,
    DPLinearDiscriminantAnalysis,
    DPMultinomialNB,
    DPPipeline,
    DPQuadraticDiscriminantAnalysis,
    DPSimpleImputer,
    DPStandardScaler,
    PrivacyBudget,
)
from dpsk.exceptions import PrivacyWarning
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


@pytest.mark.parametrize(("make", "least"), list(zip(MODELS, (0.9, 0.7, 0.9), strict=True)))
def test_differences_of_many_features_are_kept(make, least):
    X, y = flags(0.1)
    fits = [make(1.0, random_state=NoiseSeed(seed)).fit(X, y) for seed in SEEDS]
    assert np.mean([model.score(X, y) for model in fits]) > least
    assert all(model.temperature_ > 1.0 for model in fits)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_flags_of_few_ones_have_two_categories(epsilon):
    """Learned ends are 0, and models of one category per column were constants, .5 right."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    X = (rng.random((4000, 8)) < np.where(y == 1, 0.09, 0.03)[:, None]).astype(int)
    model = DPCategoricalNB(epsilon, min_categories=None, random_state=NoiseSeed(0)).fit(X, y)
    assert model.n_categories_.min() >= 2 and model.score(X, y) > 0.55
    # A column of one code has one category where nothing is hidden.
    exact = DPCategoricalNB(math.inf).fit(X * [0, *[1] * 7], y)
    assert exact.n_categories_.tolist() == [1, *[2] * 7]


@pytest.mark.parametrize("make", MODELS)
def test_without_noise_the_temperature_is_1(make):
    assert make(math.inf).fit(*flags(0.1, n=200)).temperature_ == 1.0


def scores(model, X):
    """Return log probabilities of classes, up to a term per row, by the one temperature."""
    return X @ model.feature_log_prob_.T / model.temperature_ + model.class_log_prior_


def test_rows_that_vary_more_than_counts_are_no_surer_than_their_noise():
    """Rows of 1000 on 8 columns say nothing of their classes, and had losses of 10 to 800."""
    rng = np.random.default_rng(0)
    X, y = np.exp(rng.normal(size=(300, 8)))*[1, 1, 10, 1, 10, 1000, 1, 100], np.arange(300) % 2
    with pytest.warns(PrivacyWarning, match="too few to learn"):
        fits = [DPMultinomialNB(0.1, random_state=NoiseSeed(seed)).fit(X, y) for seed in SEEDS]
    for model in fits:
        # The loss is less than a tenth in each of 300 other fits.
        assert log_loss(y, model.predict_proba(X)) < 0.2 * -log_softmax(
            scores(model, X), axis=1)[np.arange(300), y].mean()
        np.testing.assert_array_equal(model.predict(X), scores(model, X).argmax(axis=1))
        # A longer row is surer up to a limit that noise sets.
        far, farther = (model.decision_function(X * size) for size in (1e9, 1e150))
        np.testing.assert_allclose(far, farther, rtol=1e-3)
        np.testing.assert_allclose(model.predict_proba(csr_array(X)), model.predict_proba(X))


def test_independent_counts_have_the_one_temperature():
    rng = np.random.default_rng(0)
    laws, y = 0.5 / 30 + 0.5 * rng.dirichlet(np.ones(30), 3), rng.integers(3, size=3000)
    X = np.array([rng.multinomial(60, laws[each]) for each in y]).astype(float)
    for seed in SEEDS:
        model = DPMultinomialNB(1.0, random_state=NoiseSeed(seed)).fit(X, y)
        same = np.isclose(model.predict_joint_log_proba(X), scores(model, X)).all(axis=1)
        # One row in six is a standard deviation farther from its class than usual.
        assert same.mean() > 0.75


@pytest.mark.parametrize("make", MODELS)
def test_equal_classes_whose_counts_are_hidden_have_equal_priors(make):
    """Counts of ten classes of 20 rows have noise of 40 and more."""
    X, y = flags(0.0, n=200, d=5)[0], np.repeat(np.arange(10), 20)
    model = make(0.3, classes=range(10), random_state=NoiseSeed(1)).fit(X, y)
    assert np.ptp(model.class_log_prior_) < 1.0


@pytest.mark.parametrize("make", [DPMultinomialNB, DPCategoricalNB])
@pytest.mark.parametrize("wrap", [
    lambda model: model, lambda model: DPPipeline([("model", model)], epsilon=1.0),
    lambda model: DPPipeline([("imputer", DPSimpleImputer()), ("model", model)], epsilon=1.0),
    lambda model: DPGridSearchCV(model, {"alpha": [0.5, 1.0]}, epsilon=1.0)])
def test_negative_numbers_are_refused_before_the_charge(make, wrap):
    X, y = flags(0.1, n=400, d=3)
    X[7, 1] = -1.0
    with PrivacyBudget(3.0, 1e-5) as budget, pytest.raises(ValueError, match="Negative"):
        wrap(make(classes=[0, 1])).fit(X, y)
    assert not any(budget.spent.values())


@pytest.mark.parametrize("make", [DPMultinomialNB, DPCategoricalNB])
def test_negative_numbers_behind_a_private_step_count_as_0(make):
    """A refusal there would tell exactly whether a row lies below what the step has learned."""
    X, y = np.full((400, 2), 5.0), np.arange(400) % 2
    X[7, 0] = -1000.0
    steps = [("scale", DPStandardScaler()), ("model", make(classes=[0, 1]))]
    for _ in range(20):
        DPPipeline(steps, epsilon=1.0, delta=1e-6).fit(X, y)


def test_a_column_near_0_is_fitted():
    """Noise that hides all counts once ended fits after their charge."""
    X, y = np.random.default_rng(0).uniform(0.0, 1e-6, size=(300, 1)), np.arange(300) % 2
    for seed in range(20):
        DPMultinomialNB(0.1, data_norm=1.0, random_state=NoiseSeed(seed)).fit(X, y)


@pytest.mark.filterwarnings("ignore:epsilon=inf")
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize(("make", "counterpart"), list(zip(MODELS, [
    BernoulliNB(), MultinomialNB(), CategoricalNB(min_categories=2)], strict=True)))
def test_pseudo_counts_are_in_the_unit_of_weights(make, counterpart, unit):
    """Rows counted in parts of the largest weight, so one heavy row left the pseudo-counts."""
    X, y = flags(0.2, n=300, d=5)
    weights = np.random.default_rng(0).exponential(size=len(y))
    weights[0] = 1000.0
    weights /= weights.mean()
    expected = counterpart.fit(X, y, sample_weight=weights)
    model = make(math.inf).fit(X, y, sample_weight=unit * weights)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=2e-3)


def test_one_heavy_row_leaves_variances():
    """Counts in parts of the largest weight were below the floor of a row: variances of .04."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 3000, p=[0.8, 0.15, 0.05])
    X = rng.normal(size=(3000, 3)) + y[:, None]
    weights = np.ones(3000)
    weights[0] = 1e4
    model = DPGaussianNB(math.inf, var_smoothing=1e-9).fit(X, y, sample_weight=weights)
    expected = GaussianNB().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.var_, expected.var_, atol=0.02)
    np.testing.assert_allclose(model.class_prior_, expected.class_prior_, atol=1e-3)


@pytest.mark.filterwarnings("ignore:epsilon=inf")
@pytest.mark.parametrize("make", [*MODELS, DPGaussianNB])
def test_weights_too_small_to_count_leave_uniform_classes(make):
    """Without noise, the sum of their counts is 0, and was divided by."""
    X, y = flags(0.2, n=300, d=5)
    model = make(math.inf).fit(X, y, sample_weight=np.full(len(y), 1e-37))
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


@pytest.mark.parametrize(("ours", "theirs"), [
    (DPBernoulliNB, BernoulliNB), (DPMultinomialNB, MultinomialNB),
    (DPCategoricalNB, CategoricalNB)])
def test_a_class_of_no_weight_is_never_predicted_without_noise(ours, theirs):
    X = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [5, 1]])
    y, weights = [0, 0, 0, 1, 1, 2], [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    if ours is not DPMultinomialNB:
        X = np.minimum(X, 1)
    with pytest.warns(PrivacyWarning):
        model = ours(np.inf).fit(X, y, sample_weight=weights)
    expected = theirs().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.class_log_prior_, expected.class_log_prior_, atol=1e-9)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 2], 0.0)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


#: Models of normal classes, with scikit-learn's.
NORMAL = pytest.mark.parametrize(("ours", "theirs"), [
    (DPGaussianNB, GaussianNB), (DPLinearDiscriminantAnalysis, LinearDiscriminantAnalysis),
    (DPQuadraticDiscriminantAnalysis, QuadraticDiscriminantAnalysis)])


@NORMAL
@pytest.mark.parametrize("scale", [1.0, 1e8])
@pytest.mark.parametrize("width", [1, 3])
def test_a_normal_class_of_no_weight_is_never_predicted_without_noise(ours, theirs, scale, width):
    X, y = np.random.default_rng(0).normal(size=(90, width)), np.arange(90) % 2
    X[y == 1] *= scale
    with pytest.warns(PrivacyWarning):
        model = ours(np.inf).fit(X, y, sample_weight=1.0 - y)
    np.testing.assert_array_equal(model.predict(1e3 * X), 0)
    np.testing.assert_array_equal(model.predict_proba(1e3 * X), np.array([[1.0, 0.0]] * 90))


@NORMAL
def test_whole_weights_are_as_repeated_rows_in_scikit_learn(ours, theirs):
    rng = np.random.default_rng(0)
    X, y, times = rng.normal(size=(90, 3)), np.arange(90) % 3, rng.integers(0, 4, 90)
    X[:, 0] += y
    with pytest.warns(PrivacyWarning):
        model = ours(np.inf).fit(X, y, sample_weight=times)
    expected = theirs().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-4)
