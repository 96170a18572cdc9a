"""Metrics of noisy counts are those of scikit-learn up to noise and bins, and say how far."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import dpsk.metrics as dpm
from dpsk.metrics import BinaryEvaluation, Estimate, MulticlassEvaluation, RegressionEvaluation
from dpsk.testing import NoiseSeed


@pytest.fixture(scope="module")
def scored():
    """Return labels, and probabilities that are not quite calibrated."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 2.0, size=8000)
    return (rng.uniform(size=len(p)) < p**1.2).astype(int), p


def exact(scored, **more):
    return BinaryEvaluation.from_predictions(*scored, epsilon=np.inf, **more)


def all_metrics(evaluation):
    return {"roc_auc": evaluation.roc_auc(), "average_precision": evaluation.average_precision(),
            "brier": evaluation.brier_score(), "accuracy": evaluation.accuracy(),
            "balanced": evaluation.balanced_accuracy(), "lift": evaluation.lift(),
            "f1": evaluation.f1()}


def true_metrics(y, p):
    best = np.argsort(-p)[:len(p) // 10]
    return {"roc_auc": metrics.roc_auc_score(y, p),
            "average_precision": metrics.average_precision_score(y, p),
            "brier": metrics.brier_score_loss(y, p), "accuracy": np.mean((p >= 0.5) == y),
            "balanced": metrics.balanced_accuracy_score(y, p >= 0.5),
            "lift": y[best].mean() / y.mean(), "f1": metrics.f1_score(y, p >= 0.5)}


def test_at_an_edge_metrics_without_noise_are_exact(scored):
    y, p = scored
    for bins, threshold in (("auto", None), ([0.2, 0.7], 0.2)):
        evaluation, at = exact(scored, bins=bins), threshold or 0.5
        matrix = evaluation.confusion_matrix(threshold)
        np.testing.assert_allclose(matrix.value, metrics.confusion_matrix(y, p >= at))
        for name, score in {"recall": metrics.recall_score, "precision": metrics.precision_score,
                            "f1": metrics.f1_score, "accuracy": metrics.accuracy_score,
                            "balanced_accuracy": metrics.balanced_accuracy_score}.items():
            value, error = getattr(evaluation, name)(threshold)
            assert value == pytest.approx(score(y, p >= at), abs=1e-12) and error < 1e-9
    assert float(evaluation.prevalence()) == pytest.approx(y.mean())


def test_without_noise_other_metrics_are_exact_up_to_bins(scored):
    expected = true_metrics(*scored)
    for name, found in all_metrics(exact(scored, bins=512)).items():
        assert float(found) == pytest.approx(expected[name], rel=5e-3), name
    coarse = all_metrics(exact(scored, bins=16))
    assert float(coarse["roc_auc"]) == pytest.approx(expected["roc_auc"], abs=3e-3)


def test_curves_without_noise_are_those_of_scikit_learn_at_the_edges(scored):
    y, p = scored
    evaluation = exact(scored)
    fpr, tpr, thresholds = evaluation.roc_curve()
    for each in range(1, len(thresholds)):
        above = p >= thresholds[each]
        assert tpr[each] == pytest.approx(above[y == 1].mean())
        assert fpr[each] == pytest.approx(above[y == 0].mean())
    assert (fpr[0], tpr[0], thresholds[0]) == (0.0, 0.0, np.inf)
    precision, recall, cuts = evaluation.precision_recall_curve()
    assert len(cuts) == len(recall) - 1 and (precision[-1], recall[-1]) == (1.0, 0.0)
    for each, cut in enumerate(cuts):
        assert recall[each] == pytest.approx(np.mean(p[y == 1] >= cut))
        if np.any(p >= cut):
            assert precision[each] == pytest.approx(y[p >= cut].mean())
    for strategy in ("quantile", "uniform"):
        shares, means = exact(scored, bins=512).calibration_curve(8, strategy=strategy)
        exact_shares, exact_means = calibration_curve(y, p, n_bins=8, strategy=strategy)
        np.testing.assert_allclose(shares.value, exact_shares, atol=0.03)
        np.testing.assert_allclose(means, exact_means, atol=0.05)


def test_noisy_curves_increase_and_bands_hold_them(scored):
    for epsilon in (0.02, 1.0):
        evaluation = BinaryEvaluation.from_predictions(*scored, epsilon=epsilon)
        fpr, tpr, _ = evaluation.roc_curve()
        assert np.all(np.diff(fpr) >= 0) and np.all(np.diff(tpr) >= 0)
        assert (fpr[-1], tpr[-1]) == (1.0, 1.0)
        for _, value, low, high in (evaluation.roc_band(), evaluation.precision_recall_band()):
            assert np.all((low <= value) & (value <= high) & (low >= 0) & (high <= 1))


def covered(scored, epsilon, draws):
    """Return how often stated intervals of 95 % cover each metric."""
    truth = true_metrics(*scored)
    hits = dict.fromkeys(truth, 0)
    for _ in range(draws):
        found = all_metrics(BinaryEvaluation.from_predictions(*scored, epsilon=epsilon))
        for name, estimate in found.items():
            low, high = estimate.interval()
            hits[name] += low <= truth[name] <= high
    return hits


@pytest.mark.thorough
def test_stated_intervals_cover(scored):
    """A coverage of .93 fails it with a chance below 1e-8 a metric, of which there are seven."""
    assert min(covered(scored, 1.0, 100).values()) >= binom.ppf(1e-8, 100, 0.93)


@pytest.mark.audit
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 8.0])
def test_stated_intervals_cover_in_many_draws(scored, epsilon):
    """A coverage of .93 fails it with a chance below 1e-8 a metric; one of .84 is found out."""
    least = binom.ppf(1e-8, 800, 0.93)
    assert least > binom.ppf(0.99, 800, 0.84)
    assert min(covered(scored, epsilon, 800).values()) >= least


def test_errors_a_third_as_large_do_not_cover(scored):
    truth = true_metrics(*scored)["accuracy"]
    hits = 0
    for _ in range(100):
        value, error = BinaryEvaluation.from_predictions(*scored).accuracy()
        hits += abs(value - truth) < 1.96 * error / 3
    assert hits < binom.ppf(1e-8, 100, 0.93)


def test_errors_for_the_population_hold_those_of_a_sample(scored):
    evaluation = exact(scored)
    value, error = evaluation.for_population().accuracy()
    assert value == evaluation.accuracy().value
    assert error == pytest.approx(np.sqrt(value * (1 - value) / len(scored[0])), rel=0.1)
    wider = BinaryEvaluation.from_predictions(*scored)
    assert wider.for_population().roc_auc().standard_error > wider.roc_auc().standard_error


def test_there_are_about_as_many_bins_as_a_public_rule_says(scored):
    y, p = scored
    counts = [len(BinaryEvaluation.from_predictions(y, p, epsilon=epsilon,
                                                    random_state=NoiseSeed(0)).bins)
              for epsilon in (0.01, 1.0, 8.0, np.inf)]
    np.testing.assert_allclose(counts, [8, 11, 24, 64], atol=2)


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()])
def test_a_fitted_classifier_is_scored_by_probabilities_or_decisions(model):
    X, y = make_classification(3000, random_state=0)
    y = np.array(["no", "yes"])[y]
    model.fit(X[:1000], y[:1000])
    evaluation = BinaryEvaluation.from_estimator(model, X[1000:], y[1000:], epsilon=np.inf)
    assert evaluation.labels == ("no", "yes")
    assert float(evaluation.accuracy()) == pytest.approx(model.score(X[1000:], y[1000:]))
    area = metrics.roc_auc_score(y[1000:] == "yes", model.decision_function(X[1000:]))
    assert float(evaluation.roc_auc()) == pytest.approx(area, abs=2e-3)
    other = BinaryEvaluation.from_estimator(model, X[1000:], y[1000:], epsilon=np.inf,
                                            pos_label="no")
    assert other.labels == ("yes", "no")
    if hasattr(model, "predict_proba"):
        assert float(other.roc_auc()) == pytest.approx(area, abs=2e-3)
    else:
        with pytest.raises(ValueError, match="score_range"):
            evaluation.brier_score()


def test_a_table_of_labels_has_the_metrics_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=2000)
    guesses = np.where(rng.uniform(size=2000) < 0.7, y, rng.integers(4, size=2000))
    found = MulticlassEvaluation.from_predictions(y, guesses, epsilon=np.inf)
    np.testing.assert_allclose(found.confusion_matrix().value,
                               metrics.confusion_matrix(y, guesses))
    assert float(found.accuracy()) == pytest.approx(np.mean(y == guesses))
    assert float(found.balanced_accuracy()) == pytest.approx(
        metrics.balanced_accuracy_score(y, guesses))
    for name, score in {"recall": metrics.recall_score, "precision": metrics.precision_score,
                        "f1": metrics.f1_score}.items():
        np.testing.assert_allclose(getattr(found, name)().value, score(y, guesses, average=None))
    noisy = MulticlassEvaluation.from_predictions(y, guesses, epsilon=2.0).accuracy()
    assert abs(noisy.value - np.mean(y == guesses)) < 6 * noisy.standard_error


def test_moments_have_the_errors_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 3))
    y = X @ [1.0, -0.5, 0.2] + 0.1 * rng.standard_normal(3000)
    model = LinearRegression().fit(X[:500], y[:500])
    X, y = X[500:], y[500:]
    guesses = model.predict(X)
    truth = {"mean_absolute_error": metrics.mean_absolute_error(y, guesses),
             "mean_squared_error": metrics.mean_squared_error(y, guesses),
             "root_mean_squared_error": np.sqrt(metrics.mean_squared_error(y, guesses)),
             "r2": metrics.r2_score(y, guesses), "mean_residual": np.mean(y - guesses),
             "clipped_share": 0.0}
    options = {"residual_bound": 1.0, "target_bounds": (-3.0, 3.0)}
    found = RegressionEvaluation.from_estimator(model, X, y, epsilon=np.inf, **options)
    # Sums are cut to a public unit.
    for name, value in truth.items():
        assert float(getattr(found, name)()) == pytest.approx(value, abs=1e-6), name
    hits = dict.fromkeys(truth, 0)
    for _ in range(60):
        noisy = RegressionEvaluation.from_predictions(y, guesses, epsilon=2.0, **options)
        for name, value in truth.items():
            low, high = getattr(noisy, name)().interval()
            hits[name] += low <= value <= high
    # Six metrics, as in `test_stated_intervals_cover`.
    assert min(hits.values()) >= binom.ppf(1e-8, 60, 0.93)


def test_single_metrics_carry_the_certificate_of_their_release(scored):
    y, p = scored
    found = {name: getattr(dpm, f"dp_{name}")(y, p, epsilon=4.0)
             for name in ("roc_auc_score", "average_precision_score", "brier_score_loss")}
    found["accuracy_score"] = dpm.dp_accuracy_score(y, (p > 0.5).astype(int), epsilon=4.0)
    bounds = {"epsilon": 4.0, "target_bounds": (0.0, 1.0), "residual_bound": 1.0}
    found |= {name: getattr(dpm, f"dp_{name}")(y, p, **bounds)
              for name in ("mean_squared_error", "mean_absolute_error", "r2_score")}
    for name, estimate in found.items():
        assert estimate.privacy_.epsilon == 4.0
        score = getattr(metrics, name)
        truth = score(y, p > 0.5) if name == "accuracy_score" else score(y, p)
        assert abs(float(estimate) - truth) < 6 * estimate.standard_error, name


@pytest.mark.parametrize("n_labels", [2, 5])
def test_a_log_loss_is_that_of_scikit_learn_where_no_probability_is_below_the_floor(n_labels):
    """Of 60 draws with fixed seeds 54 or more are covered, as of Gaussian noise of that scale."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(n_labels, 3.0), size=2000).clip(0.02)
    p /= p.sum(axis=1, keepdims=True)
    y = (np.cumsum(p, axis=1) < rng.uniform(size=(2000, 1))).sum(axis=1)
    truth = metrics.log_loss(y, p)
    assert float(dpm.dp_log_loss(y, p, epsilon=np.inf)) == pytest.approx(truth, abs=1e-6)
    hits = 0
    for seed in range(60):
        low, high = dpm.dp_log_loss(y, p, epsilon=4.0, random_state=NoiseSeed(seed)).interval()
        hits += low <= truth <= high
    assert hits >= 54
    with pytest.raises(ValueError, match="a column for each" if n_labels > 2 else "rows and"):
        dpm.dp_log_loss(y, p[:1900, 1])


def test_probabilities_below_the_floor_or_none_count_as_it():
    y, p = [0, 1, 1, 0], [0.2, np.nan, 1e-9, 1.5]
    truth = pytest.approx(-(np.log(0.8) + 3.0 * np.log(0.1)) / 4.0, abs=1e-6)
    assert float(dpm.dp_log_loss(y, p, floor=0.1, epsilon=np.inf)) == truth
    found = dpm.MulticlassEvaluation.from_predictions(y, y, y_proba=p, log_loss_floor=0.1,
                                                      epsilon=np.inf)
    assert float(found.log_loss()) == truth


def test_a_log_loss_of_many_classes_is_released_where_it_is_asked_for():
    """Of 60 draws with fixed seeds 54 or more are covered, as of Gaussian noise of that scale."""
    X, y = make_classification(2000, n_informative=5, n_classes=4, random_state=0)
    model = LogisticRegression(max_iter=500).fit(X, y)
    truth = -np.log(model.predict_proba(X)[np.arange(2000), y].clip(0.01)).mean()
    found = [dpm.MulticlassEvaluation.from_estimator(
        model, X, y, epsilon=4.0, log_loss_floor=0.01, random_state=NoiseSeed(seed))
        for seed in range(60)]
    ends = np.array([each.log_loss().interval() for each in found])
    assert np.sum((ends[:, 0] <= truth) & (truth <= ends[:, 1])) >= 54
    without = dpm.MulticlassEvaluation.from_estimator(model, X, y, epsilon=4.0)
    assert 1.0 < found[0].noise_scale / without.noise_scale < 1.03
    assert "log_loss_left" in found[0].privacy_.released != without.privacy_.released
    assert (found[0].for_population().log_loss().standard_error
            > found[0].log_loss().standard_error)
    assert "log_loss" in found[0]._repr_html_() and "log_loss" not in without._repr_html_()
    with pytest.raises(ValueError, match="log_loss_floor=None"):
        without.log_loss()
    with pytest.raises(ValueError, match="folds of several classes"):
        dpm.dp_cross_validate(model, X, y, log_loss_floor=0.01)


def test_a_log_loss_of_an_evaluation_is_released_where_it_is_asked_for(scored):
    y, p = scored
    truth = -np.log(np.clip(np.where(y == 1, p, 1.0 - p), 0.05, 1.0)).mean()
    for bins in ("auto", 2, [0.3]):
        found = exact(scored, bins=bins, log_loss_floor=0.05)
        assert float(found.log_loss()) == pytest.approx(truth, abs=1e-5)
    given = {"epsilon": 4.0, "random_state": NoiseSeed(0)}
    with_it = BinaryEvaluation.from_predictions(y, p, log_loss_floor=0.05, **given)
    without = BinaryEvaluation.from_predictions(y, p, **given)
    value, error = with_it.log_loss()
    assert abs(value - truth) < 4.0 * error < 0.05
    assert with_it.for_population().log_loss().standard_error > error
    assert 1.0 < with_it.noise_scale / without.noise_scale < 1.03
    assert "log_loss_left" not in without.privacy_.released
    with pytest.raises(ValueError, match="log_loss_floor=None"):
        without.log_loss()


def test_levels_beside_the_ends_have_intervals():
    for level in (1e-310, 0.5, np.nextafter(1.0, 0.0)):
        assert Estimate(0.5, np.inf, (0.0, 1.0)).interval(level) == (0.0, 1.0)
        assert Estimate(0.5, 0.0, (0.0, 1.0)).interval(level) == (0.5, 0.5)


def test_an_interval_ends_where_the_metric_does():
    estimate = Estimate(np.array([0.5, 0.99]), np.array([0.1, 0.1]), (0.0, 1.0))
    low, high = estimate.interval(0.9)
    np.testing.assert_allclose(low, estimate.value - 0.16448536, atol=1e-6)
    assert high[1] == 1.0
    with pytest.raises(ValueError, match=r"level=1"):
        estimate.interval(1)


@pytest.mark.parametrize("shift", [0.0, -0.35])
def test_an_area_of_scores_that_crowd_into_few_bins_says_that_it_is_rough(shift):
    rng = np.random.default_rng(1)
    margins = rng.normal(size=4000)
    y, margins = (margins + 1.5 * rng.normal(size=4000) > 0.0).astype(int), 0.02 * margins + shift
    crowded = BinaryEvaluation.from_predictions(y, margins, score_range=None, bins=8,
                                                random_state=NoiseSeed(0))
    low, high = crowded.roc_auc().interval()
    assert "bins= edges" in crowded.roc_auc().note
    assert crowded.average_precision().note == crowded.roc_auc().note
    assert low <= metrics.roc_auc_score(y, margins) <= high
    spread = [BinaryEvaluation.from_predictions(y, margins, random_state=NoiseSeed(0), **given)
              for given in ({"score_range": (shift - 0.06, shift + 0.06)}, {"score_range": None})]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for each in spread:
            assert each.roc_auc().standard_error < 0.03


def test_an_estimate_shows_a_certificate_only_where_it_has_one(scored):
    assert repr(Estimate(0.5, 0.1, (0.0, 1.0))) == (
        "Estimate(value=0.5, standard_error=0.1, bounds=(0.0, 1.0))")
    assert "privacy_=<(1, " in repr(dpm.dp_roc_auc_score(*scored))
