"""Private metrics are scores for scikit-learn's tools, and each is charged as an evaluation is."""

import copy
import itertools
import math
import numbers
import pickle

import numpy as np
import pytest
import sklearn.metrics
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.svm import LinearSVC

from dpsk import DPLogisticRegression, PrivacyBudget, metrics
from dpsk.metrics import Estimate, get_scorer, get_scorer_names
from dpsk.testing import NoiseSeed

X, Y = make_classification(600, random_state=0)
TARGETS = np.clip(X[:, 0], -2.0, 2.0)
BOUNDS = {"target_bounds": (-2.0, 2.0)}
METRICS = {name: getattr(metrics, name) for name in metrics.__all__
           if name.startswith("dp_") and name not in ("dp_cross_validate", "dp_confusion_matrix")}
OF_CHANCES = ("dp_brier_score_loss", "dp_log_loss")
LOSSES = {*OF_CHANCES, "dp_mean_absolute_error", "dp_mean_squared_error"}


def budget():
    return PrivacyBudget(1e4, 0.5)


def of_numbers(name):
    return "mean_" in name or "r2" in name


def scorer_of(name, **options):
    return get_scorer(name, **(BOUNDS if of_numbers(name) else {}), **options)


def scored(name):
    """Return a model, its rows and targets, for a scorer."""
    return (LinearRegression(), X, TARGETS) if of_numbers(name) else (LogisticRegression(), X, Y)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_scorer_after_that_of_scikit_learn(name):
    """Named as there, of the same sign, and as near it as its error says, without noise."""
    exact = name.removeprefix("dp_").removesuffix("_loss").removesuffix("_score")
    known = {one.removesuffix("_score").removesuffix("_loss").removeprefix("neg_"): one
             for one in sklearn.metrics.get_scorer_names()}
    theirs = known[exact]
    assert f"dp_{theirs}" in get_scorer_names()
    model, rows, y = scored(name)
    model = model.fit(rows, y)
    mine = scorer_of(f"dp_{theirs}", epsilon=np.inf)(model, rows, y)
    wanted = sklearn.metrics.get_scorer(theirs)(model, rows, y)
    assert mine.value == pytest.approx(wanted, abs=0.05) and mine.privacy_.epsilon == np.inf


def test_there_is_a_metric_for_every_scorer():
    averages = {f"dp_f1_{average}" for average in ("macro", "micro", "weighted")}
    assert averages < set(get_scorer_names())
    assert len(get_scorer_names()) == len(METRICS) + len(averages)


@pytest.mark.parametrize("options, match", [
    ({}, "average='binary': there are 3 classes"), ({"pos_label": 5}, "pos_label=5"),
    ({"average": "none"}, "average='none'"),
    ({"average": "macro", "pos_label": 1}, "pos_label=1")])
def test_an_f1_that_has_no_meaning_is_refused_before_a_release(options, match):
    y = np.arange(600) % (3 if not options else 2)
    with budget() as spent:
        with pytest.raises(ValueError, match=match):
            metrics.dp_f1_score(y, y, **options)
        if "average" not in options:
            with pytest.raises(ValueError, match=match):
                get_scorer("dp_f1", **options)(LogisticRegression().fit(X[:, :2], y), X[:, :2], y)
    assert spent.charges == []


@pytest.mark.parametrize("average, n_labels", [
    ("binary", 2), *itertools.product(["macro", "micro", "weighted"], [2, 7])])
def test_f1_is_averaged_as_in_scikit_learn(average, n_labels):
    y = np.arange(4000) % n_labels
    guess = np.where(np.arange(4000) % 5, y, 0)
    exact = sklearn.metrics.f1_score(y, guess, average=average)
    found = metrics.dp_f1_score(y, guess, average=average, epsilon=np.inf)
    assert found.value == pytest.approx(exact) and found.standard_error < 1e-9
    noisy = metrics.dp_f1_score(y, guess, average=average, random_state=NoiseSeed(0))
    assert abs(noisy - exact) < 4 * noisy.standard_error < 0.1 and noisy.privacy_.epsilon == 1.0


def test_an_average_of_labels_that_noise_hides_is_known_roughly():
    """Of 40 labels with 12 rows each nothing is known, and the interval says so."""
    y = np.arange(480) % 40
    found = metrics.dp_f1_score(y, np.where(np.arange(480) % 3, y, 0), average="macro")
    assert found.standard_error > 0.2


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_a_confusion_matrix_is_normalized_as_in_scikit_learn(normalize):
    y = np.arange(3000) % 3
    guess = np.where(np.arange(3000) % 5, y, 0)
    exact = sklearn.metrics.confusion_matrix(y, guess, normalize=normalize)
    found = metrics.dp_confusion_matrix(y, guess, normalize=normalize, epsilon=np.inf)
    np.testing.assert_allclose(found.value, exact)
    noisy = metrics.dp_confusion_matrix(y, guess, normalize=normalize, random_state=NoiseSeed(0))
    assert np.all(np.abs(noisy.value - exact) <= 5 * noisy.standard_error)
    assert noisy.privacy_.epsilon == 1.0
    with pytest.raises(ValueError, match="normalize='rows'"):
        metrics.dp_confusion_matrix(y, guess, normalize="rows")


@pytest.mark.parametrize("name", get_scorer_names())
def test_scorers_give_numbers_and_each_score_is_charged(name):
    with budget() as spent:
        scorer = scorer_of(name, epsilon=8.0, delta=1e-5)
        scores = cross_val_score(*scored(name), cv=3, scoring=scorer)
        assert scores.shape == (3,) and scores.dtype == float and np.isfinite(scores).all()
        assert len(spent.charges) == 3


@pytest.mark.parametrize("name", METRICS)
def test_what_make_scorer_makes_of_a_metric_gives_numbers_too(name):
    options = {"epsilon": 8.0, "delta": 1e-5, **(BOUNDS if of_numbers(name) else {})}
    if not of_numbers(name) and name not in ("dp_accuracy_score", "dp_f1_score"):
        options["response_method"] = ("decision_function", "predict_proba")
    if name in OF_CHANCES:
        options["response_method"] = "predict_proba"
    scorer = make_scorer(METRICS[name], greater_is_better=name not in LOSSES, **options)
    with budget() as spent:
        found = cross_val_score(*scored(name), cv=3, scoring=scorer, error_score="raise")
        assert np.isfinite(found).all() and len(spent.charges) == 3
    assert np.all(found <= 0.0) == (name in LOSSES)


def test_private_and_exact_scorers_go_together():
    scoring = {"private": get_scorer("dp_accuracy"), "exact": "accuracy",
               "made": make_scorer(metrics.dp_accuracy_score),
               "area": get_scorer("dp_roc_auc", bins=16)}
    with budget() as spent:
        found = cross_validate(LogisticRegression(), X, Y, cv=3, scoring=scoring)
        assert len(spent.charges) == 9
    assert all(found[f"test_{name}"].dtype == float for name in scoring)


def test_a_search_chooses_by_private_scores():
    scorer = get_scorer("dp_accuracy", epsilon=np.inf)
    search = GridSearchCV(LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=scorer, cv=3)
    exact = clone(search).set_params(scoring="accuracy")
    assert search.fit(X, Y).best_params_ == exact.fit(X, Y).best_params_
    np.testing.assert_allclose(search.cv_results_["mean_test_score"],
                               exact.cv_results_["mean_test_score"], atol=1e-9)
    assert "get_scorer('dp_accuracy', epsilon=inf)" in repr(search)


@pytest.mark.parametrize("name", sorted(set(METRICS) - set(OF_CHANCES)))
def test_a_plain_search_with_made_scorers_has_no_nan(name):
    model, rows, y = scored(name)
    options = {"epsilon": 1.0, **(BOUNDS if of_numbers(name) else {})}
    if "roc" in name or "precision" in name:
        options["response_method"] = "predict_proba"
    search = GridSearchCV(model, {"fit_intercept": [True, False]}, cv=2,
                          scoring=make_scorer(METRICS[name], **options)).fit(rows, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert type(search.best_score_) in (float, np.float64)


def test_labels_are_those_of_the_estimator():
    """A fold without a class tells nothing, and is no error."""
    model, few = LogisticRegression().fit(X, Y), np.flatnonzero(Y)
    score = get_scorer("dp_accuracy", epsilon=8.0)(model, X[few], Y[few])
    assert "the set of 2 class labels (declared)" in score.privacy_.public


def test_scores_without_probabilities_are_taken_as_they_are():
    model = LinearSVC().fit(X, Y)
    score = get_scorer("dp_roc_auc", epsilon=np.inf, bins=256)(model, X, Y)
    assert abs(score - sklearn.metrics.get_scorer("roc_auc")(model, X, Y)) < 0.02


def test_probabilities_are_asked_for_before_anything_is_charged():
    with budget() as spent, pytest.raises(ValueError, match="one of probabilities"):
        get_scorer("dp_neg_brier_score")(LinearSVC().fit(X, Y), X, Y)
    assert spent.charges == []


def test_a_scorer_survives_what_tools_do_to_it():
    scorer = get_scorer("dp_neg_mean_squared_error", epsilon=0.5, **BOUNDS)
    assert repr(scorer) == ("get_scorer('dp_neg_mean_squared_error', epsilon=0.5, "
                            "target_bounds=(-2.0, 2.0))")
    for other in (pickle.loads(pickle.dumps(scorer)), copy.deepcopy(scorer)):
        assert repr(other) == repr(scorer) and other == scorer


@pytest.mark.parametrize("name, options, match", [
    ("accuracy", {}, "name='accuracy': must be one of dp_accuracy"),
    ("dp_accuracy", {"epsilon": -1.0}, "epsilon=-1.0"), ("dp_accuracy", {"delta": 0}, "delta=0"),
    ("dp_accuracy", {"bins": 8}, "'bins': 'dp_accuracy' has no such option"),
    ("dp_roc_auc", {"bins": "many"}, "bins='many'"), ("dp_r2", {}, "residual_bound=None"),
    ("dp_roc_auc", {"log_loss_floor": 3}, "log_loss_floor=3"),
    ("dp_r2", {"residual_bound": 1.0}, "target_bounds=None"),
    ("dp_accuracy", {"random_state": 0.5}, "random_state")])
def test_what_a_scorer_would_refuse_is_refused_before_any_fit(name, options, match):
    with pytest.raises((TypeError, ValueError), match=match):
        get_scorer(name, **options)


def test_operators_in_place_make_another_number():
    first = score = Estimate(0.8, 0.1, (0.0, 1.0))
    score += 1
    assert score == pytest.approx(1.8)
    score = first
    score *= 2
    assert score.standard_error == pytest.approx(0.2)
    assert first == 0.8
    total = np.ones(2)
    total += first
    assert total.tolist() == [1.8, 1.8]


def test_an_estimate_is_a_number():
    estimate = Estimate(0.75, 0.1, (0.0, 1.0))
    assert isinstance(estimate, numbers.Real) and estimate.item() == float(estimate) == 0.75
    assert f"{estimate:.1f}" == "0.8" and str(estimate).startswith("Estimate(value=0.75")
    assert estimate == 0.75 and estimate != 0.5 and estimate != "word" and estimate > 0.5
    assert max(estimate, 0.5) is estimate and hash(estimate) == hash(0.75) and bool(estimate)
    assert (round(estimate), math.floor(estimate), math.ceil(estimate), int(estimate)) == (
        1, 0, 1, 0)
    for found, wanted in ((1 / estimate, 1 / 0.75), (estimate**2, 0.5625), (estimate // 2, 0.0),
                          (estimate * estimate, 0.5625), (abs(-estimate), 0.75),
                          (np.sqrt(estimate), 0.75**0.5)):
        assert type(found) is float and found == wanted
    assert np.mean([estimate, estimate]) == 0.75
    assert np.asarray([estimate, estimate]).dtype == float


@pytest.mark.parametrize("made, wanted", [
    (lambda one, _: one + 1, (1.75, 0.3, (1.0, 2.0))),
    (lambda one, _: np.float64(1) - one, (0.25, 0.3, (0.0, 1.0))),
    (lambda one, _: one / 3, (0.25, 0.1, (0.0, 1.0 / 3.0))),
    (lambda one, _: -one, (-0.75, 0.3, (-1.0, 0.0))),
    (lambda one, _: +one, (0.75, 0.3, (0.0, 1.0))),
    (lambda one, other: one - other, (0.25, 0.7, (-3.0, 1.0))),
    (lambda one, other: one + other, (1.25, 0.7, (0.0, 4.0))),
    (lambda one, other: sum([one, other]) / 2, (0.625, 0.35, (0.0, 2.0)))])
def test_what_is_linear_in_estimates_is_an_estimate(made, wanted):
    found = made(Estimate(0.75, 0.3, (0.0, 1.0)), Estimate(0.5, 0.4, (0.0, 3.0)))
    assert isinstance(found, Estimate)
    assert (found.value, found.standard_error, *found.bounds) == pytest.approx(
        (*wanted[:2], *wanted[2]))


def test_errors_of_both_sides_are_kept_apart():
    one = Estimate(0.5, 0.2, (0.0, 2.0), errors=(0.1, 0.2))
    assert one.interval() == pytest.approx((0.5 - 0.196, 0.5 + 0.392), abs=1e-3)
    assert (1 - one).errors == (-one / 2 * 2).errors == (0.2, 0.1)
    assert (one / 2).errors == (0.05, 0.1) and "errors=(0.1, 0.2)" in repr(one)
    other = Estimate(0.5, 0.4, (0.0, 1.0))
    assert (other - one).errors == pytest.approx((0.6, 0.5))
    assert (one + other).standard_error == pytest.approx(0.6) and (other + other).errors is None


def test_errors_of_two_releases_add_up_in_squares():
    """As far as noise is independent; an estimate and itself move together."""
    y = np.arange(600) % 2
    one, other = (metrics.dp_accuracy_score(y, y, epsilon=epsilon) for epsilon in (0.5, 1.0))
    both = one - other
    assert both.standard_error == pytest.approx(math.hypot(
        one.standard_error, other.standard_error))
    assert both.privacy_ is None and (1 - one).privacy_ is one.privacy_
    assert (one + one).standard_error == pytest.approx(2 * one.standard_error)
    several = Estimate(np.array([0.25, 0.5]), np.array([0.1, 0.2])) - 1
    assert several.value.tolist() == [-0.75, -0.5]
    assert several.standard_error.tolist() == [0.1, 0.2]


def test_errors_of_differences_are_right():
    """Noise repeats, so that this is the same in every run."""
    y, rng = np.arange(600) % 2, np.random.default_rng(0)
    guesses = [np.where(rng.random(600) < share, 1 - y, y) for share in (0.2, 0.3)]
    truth = np.mean(guesses[0] == y) - np.mean(guesses[1] == y)
    covered = 0
    for seed in range(100):
        one, other = (metrics.dp_accuracy_score(y, guess, random_state=NoiseSeed(2 * seed + k))
                      for k, guess in enumerate(guesses))
        low, high = (one - other).interval()
        covered += low <= truth <= high
    assert 0.9 <= covered / 100 <= 0.99


def test_notebooks_show_metrics_with_their_errors():
    y, p = np.arange(600) % 2, np.linspace(0.0, 1.0, 600)
    estimate = metrics.dp_accuracy_score(y, y, epsilon=8.0)
    assert f"<td style='text-align:left'>{estimate.value:.4g}</td>" in estimate._repr_html_()
    shown = {
        ("roc_auc", "brier_score", "f1"): metrics.BinaryEvaluation.from_predictions(y, p),
        ("accuracy", "balanced_accuracy"): metrics.MulticlassEvaluation.from_predictions(y, y),
        ("r2", "mean_squared_error"): metrics.RegressionEvaluation.from_predictions(
            p, p, target_bounds=(0.0, 1.0)),
        ("n_splits=3", "roc_auc"): metrics.dp_cross_validate(
            DPLogisticRegression(data_norm=5.0), X, Y, cv=3)}
    for words, evaluation in shown.items():
        text = evaluation._repr_html_()
        assert all(word in text for word in words) and text.count("<tr>") > 2
    margins = metrics.BinaryEvaluation.from_predictions(y, p, score_range=None)._repr_html_()
    assert "brier_score" not in margins
    assert "and 44 more" in metrics.MulticlassEvaluation.from_predictions(
        np.arange(640) % 8, np.arange(640) % 8).confusion_matrix()._repr_html_()


@pytest.mark.parametrize("times", [lambda one, by: by * one, lambda one, by: one * by])
@pytest.mark.parametrize("factor", [-1, -2.5, 0, 3, np.float64(2.0)])
def test_a_multiple_of_an_estimate_keeps_what_is_known_of_it(times, factor):
    y = np.arange(600) % 2
    loss = metrics.dp_accuracy_score(y, y, random_state=NoiseSeed(0))
    found = times(loss, factor)
    assert found.value == factor * loss.value and found.privacy_ is loss.privacy_
    assert found.standard_error == abs(factor) * loss.standard_error
    low, high = found.interval()
    assert low <= found.value <= high
    assert found.bounds == tuple(sorted((0.0, float(factor))))
    back = pickle.loads(pickle.dumps(found))
    assert back == found and back.standard_error == found.standard_error
    assert back.privacy_ == loss.privacy_
    assert len(pickle.dumps(found)) < len(pickle.dumps(loss.privacy_)) + 400


def test_estimates_of_several_values_are_arrays_and_no_single_score():
    several = Estimate(np.array([0.25, 0.5]), np.array([0.1, 0.2]))
    assert (several > 0.3).tolist() == [False, True] and (2 * several).value.tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match="one number is asked"):
        several.item()


def test_scikit_learn_keeps_standard_errors_where_it_is_asked_to():
    """The mean of folds is off by as much as the errors of folds say, over many draws."""
    scorer = get_scorer("dp_accuracy", epsilon=1.0, delta=1e-5, return_error=True)
    with budget() as spent:
        found = cross_validate(LogisticRegression(), X, Y, cv=8, scoring=scorer)
        assert len(spent.charges) == 8
    exact = cross_val_score(LogisticRegression(), X, Y, cv=8)
    scores, errors = found["test_score"], found["test_standard_error"]
    assert np.all((scores >= 0.0) & (scores <= 1.0)) and np.all(errors > 0.0)
    # Of 5 standard errors: by chance once in a million runs.
    assert abs(scores.mean() - exact.mean()) < 5.0 * np.sqrt(np.sum(errors**2)) / 8
    assert repr(scorer).endswith("return_error=True)")


def test_a_search_goes_with_standard_errors():
    scorer = get_scorer("dp_accuracy", epsilon=np.inf, return_error=True)
    search = GridSearchCV(LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=scorer, cv=3,
                          refit="score").fit(X, Y)
    assert search.cv_results_["mean_test_standard_error"].max() < 1e-6
    with pytest.raises(ValueError, match="return_error='yes'"):
        get_scorer("dp_accuracy", return_error="yes")


@pytest.mark.parametrize("name", get_scorer_names())
def test_scores_under_large_noise_lie_within_their_range_or_are_nan_and_say_so(name):
    model, rows, y = scored(name)
    scorer = scorer_of(name, epsilon=0.02, random_state=NoiseSeed(0))
    score = scorer(model.fit(rows, y), rows, y)
    low, high = score.bounds
    assert low <= score.value <= high or "NaN" in score.note
    assert low <= high and score.standard_error > 0.0
