"""Pipelines under one budget: scikit-learn's checks, copies, names, seeds."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import (
    DPPCA,
    DPAdditiveClassifier,
    DPGroupDROClassifier,
    DPKMeans,
    DPLinearRegression,
    DPLogisticRegression,
    DPMLPClassifier,
    DPPipeline,
    DPRidge,
    DPStandardScaler,
    DPTableVectorizer,
    make_dp_pipeline,
    privacy_report,
)
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import tally
from tests.pipeline.fits import costs, model, table
from tests.sklearn_checks import ids_of, run_check

_CHECKS = parametrize_with_checks([
    make_dp_pipeline(*steps, random_state=seed) for seed in (NoiseSeed(0), None)
    for steps in [(DPTableVectorizer(), DPLogisticRegression()),
                  ("passthrough", DPLinearRegression()), (Normalizer(), DPTableVectorizer())]])


@pytest.mark.covering
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=ids_of(_CHECKS))
def test_scikit_learns_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


def test_steps_of_the_user_stay_as_they_are():
    X, y = table()
    steps = [DPTableVectorizer(epsilon=9.0), DPLogisticRegression(epsilon=7.0)]
    pipeline = make_dp_pipeline(*steps, random_state=3, verbose=1).fit(X, y)
    assert vars(steps[0]) == vars(DPTableVectorizer(epsilon=9.0))
    assert vars(steps[1]) == vars(DPLogisticRegression(epsilon=7.0))
    linear = pipeline.named_steps_.dplogisticregression
    assert linear.data_norm == linear.data_norm_ == math.sqrt(3) and linear.random_state == 3
    copy = clone(pipeline)
    assert not hasattr(copy, "steps_") and not hasattr(copy, "privacy_")
    assert copy.get_params()["dptablevectorizer__epsilon"] == 9.0
    copy.set_params(dptablevectorizer__n_knots=5, dplogisticregression="passthrough")
    assert copy.steps[0][1].n_knots == 5 and copy.steps[1][1] == "passthrough"
    assert steps[0].n_knots == "auto"


@pytest.mark.parametrize("more, last, norm", [
    ((), DPLogisticRegression(data_norm=0.5), 0.5), (("passthrough",), DPRidge(), math.sqrt(3)),
    ((Normalizer(),), DPRidge(data_norm=1.0), 1.0)])
def test_a_bound_that_is_known_is_declared_where_none_is(more, last, norm):
    pipeline = model(*more, last=last).fit(*table())
    assert pipeline.steps_[-1][1].data_norm == norm
    # What is between changes the norm.
    behind = model(FunctionTransformer(np.square), last=DPRidge()).fit(*table())
    assert behind.steps_[-1][1].data_norm == "auto"


def test_what_was_fitted_to_public_data_is_a_fixed_map():
    X, y = table()
    scaler = StandardScaler().fit(table(seed=1)[0][["age", "wage"]])
    pipeline = make_dp_pipeline(FunctionTransformer(lambda X: X[["age", "wage"]]),
                                FrozenEstimator(scaler), DPLogisticRegression())
    mean = scaler.mean_.copy()
    pipeline.fit(X, y)
    assert (scaler.mean_ == mean).all() and len(tally(pipeline.privacy_.event))
    assert "frozenestimator: that it maps each row by itself" in str(pipeline.privacy_)
    words = make_dp_pipeline(HashingVectorizer(n_features=16), DPRidge())
    assert words.fit(["a b", "c"] * 50, np.arange(100.0)).predict(["a"]).shape == (1,)


def test_methods_are_those_of_the_last_step():
    X, y = table()
    linear = model().fit(X, y)
    assert is_classifier(linear) and not is_regressor(linear)
    assert linear.predict_proba(X).shape == (600, 2) and linear.classes_.tolist() == [0, 1]
    features = linear.steps_[0][1].transform(X)
    inner = linear.steps_[1][1]
    np.testing.assert_array_equal(linear.predict(X), inner.predict(features))
    np.testing.assert_array_equal(linear.decision_function(X), inner.decision_function(features))
    assert linear.score(X, y) == inner.score(features, y) > 0.7
    assert not hasattr(linear, "transform") and linear.n_features_in_ == 3
    assert linear.feature_names_in_.tolist() == ["age", "wage", "town"]
    ridge = model(last=DPRidge()).fit(X, y)
    assert is_regressor(ridge) and not hasattr(ridge, "predict_proba")
    assert not hasattr(ridge, "classes_")
    groups = np.where(X["town"] == "a", "north", "south")
    grouped = model(last=DPGroupDROClassifier(max_iter=5)).fit(
        X, y, dpgroupdroclassifier__groups=groups)
    assert grouped.named_steps_.dpgroupdroclassifier.group_weights_.shape == (2,)
    weighted = model().fit(X, y, dplogisticregression__sample_weight=np.ones(600))
    assert weighted.privacy_.delta_at(2.0) <= 1e-5


def test_what_steps_request_reaches_them_by_metadata_routing():
    X, y = table()
    weights = np.linspace(0.0, 2.0, 600)
    expected = model(random_state=NoiseSeed(0)).fit(
        X, y, dplogisticregression__sample_weight=weights)[-1].coef_
    with config_context(enable_metadata_routing=True):
        with taped() as tape, pytest.raises(UnsetMetadataPassedError, match="set_fit_request"):
            model().fit(X, y, sample_weight=weights)
        assert not tape.noise
        asking = DPLogisticRegression().set_fit_request(sample_weight=True)
        found = model(last=asking, random_state=NoiseSeed(0)).fit(X, y, sample_weight=weights)
        inside = model(last=make_dp_pipeline(DPStandardScaler(), asking), epsilon=8.0)
        inside.set_score_request(sample_weight=True)
        scores = cross_val_score(inside, X, y, params={"sample_weight": weights}, cv=2)
    np.testing.assert_array_equal(found[-1].coef_, expected)
    assert np.isfinite(scores).all()


def test_features_have_names_and_come_as_frames():
    X, y = table()
    coder = model(last="passthrough").set_output(transform="pandas").fit(X, y)
    names = coder.get_feature_names_out().tolist()
    assert coder.transform(X).columns.tolist() == names and "town_other" in names
    assert coder.fit_transform(X).shape == (600, len(names))
    linear = model().set_output(transform="pandas").fit(X, y)
    assert linear.steps_[1][1].feature_names_in_.tolist() == (
        linear.get_feature_names_out().tolist())
    # As of a pipeline of scikit-learn's, also once it is fitted.
    assert model().fit(X, y).set_output(transform="pandas").steps_[0][1].transform(X).columns[
        -1] == "town_other"


def test_a_search_over_the_budget_finds_the_larger_one():
    X, y = table(2000)
    search = GridSearchCV(model(), {"epsilon": [1e-3, 8.0],
                                    "dptablevectorizer__n_knots": [3, 5]}, cv=KFold(2))
    best = search.fit(X, y).best_estimator_
    assert best.epsilon == 8.0 and best.privacy_.epsilon == 8.0


def test_a_seed_repeats_a_fit_and_an_int_does_not():
    def trained(**params):
        fitted = model(**params).fit(*table())
        return fitted.steps_[1][1].coef_.tolist()

    assert trained() == trained() != trained(random_state=NoiseSeed(1))
    assert trained(random_state=0) != trained(random_state=0)
    # A seed of one step is on the certificate of all.
    mixed = make_dp_pipeline(DPTableVectorizer(random_state=NoiseSeed(0)), DPRidge())
    certificate = mixed.fit(*table()).privacy_
    assert certificate.reproducible and "not private" in certificate.noise_source
    assert model().fit(*table()).privacy_.reproducible
    assert not model(random_state=None).fit(*table()).privacy_.reproducible


@pytest.mark.parametrize("last", [DPLogisticRegression(classes=[0, 1]), DPRidge()], ids=repr)
def test_all_that_a_fit_shows_follows_from_its_releases(last, capfd):
    """What releases answered for one table, handed back in a fit to another."""
    X, y = table()
    others = [table(seed=1), (X.assign(age=1e6 * X["age"]), 1 - y),
              (X.assign(wage=0.0, town=X["town"].to_numpy()[::-1]), y)]

    def shown(X, y, answers=None):
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            fitted = model(last=last, random_state=None, verbose=1).fit(X, y)
        return {"said": capfd.readouterr(), "warned": [str(one.message) for one in warned],
                "fit": pickle.dumps([vars(step) for _, step in fitted.steps_]),
                "certificate": fitted.privacy_.to_json(), "public": tape.public}, tape

    faces, tape = shown(X, y)
    assert tape.answers and faces["said"].out
    for other in others:
        found, _ = shown(*other, tape.answers)
        assert [name for name in faces if faces[name] != found[name]] == []
    assert shown(*others[0])[0]["fit"] != faces["fit"]


def test_without_a_budget_nothing_is_private_and_the_certificate_says_so():
    pipeline = model(epsilon=np.inf, last=DPRidge(target_bounds=(0, 1))).fit(*table())
    assert not pipeline.privacy_.is_private and pipeline.score(*table()) > 0.4
    assert model(epsilon=np.inf, last=DPMLPClassifier(max_iter=2)).fit(*table()).score(
        *table()) > 0


def test_without_noise_coefficients_of_curves_are_penalized_unless_alpha_says_how():
    X, y = table()
    for epsilon, given, wanted in ((np.inf, 0.0, 0.3 / len(y)), (np.inf, 0.1, 0.1), (8, 0.0, 0.0)):
        last = DPLogisticRegression(alpha=given)
        fitted = model(epsilon=epsilon, last=last).fit(X, y)
        assert fitted.steps_[-1][1].alpha == pytest.approx(wanted)


def test_it_is_shown_as_a_pipeline():
    html = model()._repr_html_()
    assert "DPTableVectorizer" in html and "DPLogisticRegression" in html
    assert "dptablevectorizer" in repr(model())
    named = DPPipeline([("table", DPTableVectorizer()), ("linear", DPRidge())])
    assert [name for name, _ in named.fit(*table()).steps_] == ["table", "linear"]


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("epsilon, delta", [(1e-3, 0.3), (1.0, None), (300.0, 1e-12)])
def test_few_rows_and_odd_budgets_are_fitted(n, epsilon, delta):
    X, _ = table(n)
    for last in (DPLogisticRegression(), DPMLPClassifier(max_iter=2)):
        pipeline = model(last=last, epsilon=epsilon, delta=delta).fit(X, np.arange(n) % 2)
        assert pipeline.privacy_.delta_at(epsilon) <= pipeline.privacy_.delta * (1 + 1e-9)


def _norm(certificate):
    return next((bound.value, bound.origin) for bound in certificate.enforced
                if bound.name == "data_norm")


def test_a_bound_that_follows_from_the_step_before_is_not_called_declared():
    X, y = table()
    cases = (DPLogisticRegression(), DPLogisticRegression(data_norm=1.0))
    behind, told = (make_dp_pipeline(DPTableVectorizer(), case, epsilon=4.0).fit(X, y)
                    for case in cases)
    assert _norm(costs(behind)[-1]) == (behind.steps_[0][1].row_norm_, "derived")
    assert _norm(costs(told)[-1]) == (1.0, "declared")
    last = clone(behind.steps_[-1][1]).set_params(data_norm=3.0)
    assert _norm(last.fit(behind.steps_[0][1].transform(X), y).privacy_) == (3.0, "declared")


def test_the_bound_on_features_of_an_additive_model_is_derived(monkeypatch):
    seen, linear = [], DPAdditiveClassifier._linear

    def noted(self, **params):
        seen.append(linear(self, **params))
        return seen[-1]

    monkeypatch.setattr(DPAdditiveClassifier, "_linear", noted)
    DPAdditiveClassifier(epsilon=4.0, interactions=0).fit(*table())
    assert _norm(seen[0].privacy_) == (math.sqrt(3.0), "derived")


def test_steps_are_found_as_in_scikit_learn():
    X, y = table()
    pipeline = DPPipeline([("table", DPTableVectorizer()), ("linear", DPLogisticRegression())],
                          shares={"table": 0.3}, epsilon=4.0)
    assert len(pipeline) == 2 and pipeline[-1] is pipeline["linear"] is pipeline.steps[1][1]
    assert pipeline.named_steps.table is pipeline[0]
    first = pipeline[:1]
    assert type(first) is DPPipeline and first.steps == pipeline.steps[:1]
    assert first.shares == {"table": 0.3} and pipeline[1:].shares == {} and first.epsilon == 4.0
    assert not hasattr(first, "privacy_")
    pipeline.fit(X, y)
    assert pipeline.named_steps.linear is pipeline[1] is pipeline.steps_[1][1]
    before = pipeline[:-1]
    np.testing.assert_array_equal(pipeline["linear"].predict(before.transform(X)),
                                  pipeline.predict(X))
    assert before.get_feature_names_out().tolist() == list(
        pipeline["table"].get_feature_names_out())
    # A part of what was released has the guarantee of all of it.
    assert before.privacy_ is pipeline.privacy_ and privacy_report(before).is_private
    assert list(before.step_certificates_) == ["table"]
    with pytest.raises(ValueError, match="step=-1"):
        pipeline[::-1]
    with pytest.raises(KeyError):
        pipeline["none"]
    with pytest.raises(IndexError):
        pipeline[2]


@pytest.mark.parametrize("container", ["pandas", "default"])
def test_set_output_is_that_of_the_steps(container):
    X, _ = table()
    pipeline = DPPipeline([("table", DPTableVectorizer())]).set_output(transform=container)
    assert hasattr(pipeline.fit(X).transform(X), "iloc") == (container == "pandas")


@pytest.mark.parametrize("last, drawn", [
    (DPLogisticRegression(classes=[False, True]), True),
    (DPRidge(target_bounds=(0.0, 1.0)), True),
    (DPLogisticRegression(classes=[False, True], penalty="l2_ball", radius=50.0), False)],
    ids=["logistic", "ridge", "ball"])
def test_new_categories_have_the_mean_of_the_others_where_none_was_there(last, drawn):
    """Else their coefficient is noise alone; seeds are fixed."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice(["a", "b", "c"], 4000), "x": rng.normal(size=4000)})
    y = (X["x"] + (X["town"] == "a") + rng.logistic(size=4000) > 0.0).to_numpy()
    fits = [make_dp_pipeline(DPTableVectorizer(columns={"town": ["a", "b", "c"]}), last,
                             random_state=NoiseSeed(seed)).fit(X, y) for seed in range(6)]
    places = [f"town_{each}" for each in ("a", "b", "c", "other")]
    names = fits[0][:-1].get_feature_names_out().tolist()
    known, other = np.split(np.array([np.ravel(fit[-1].coef_)[[
        names.index(each) for each in places]] for fit in fits]), [3], axis=1)
    off = np.median(np.abs(other[:, 0] - known.mean(axis=1)) / np.ptp(known, axis=1))
    # Coefficients that are held in a set stay there.
    assert off < 0.05 if drawn else off > 0.5


@pytest.mark.parametrize("last", [DPLogisticRegression(classes=[False, True]),
                                  DPRidge(target_bounds=(0.0, 1.0))])
def test_missing_values_without_rows_have_the_mean_of_the_column(last):
    """Else their coefficients are noise alone; seeds are fixed."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3.0, 3.0, size=4000)
    first = DPTableVectorizer(columns={"x": (-3.0, 0.0, 3.0)}, missing_indicator=["x"])
    X, y, off = pd.DataFrame({"x": x}), x + rng.logistic(size=4000) > 0.0, []
    for seed in range(6):
        fit = make_dp_pipeline(first, last, random_state=NoiseSeed(seed), epsilon=1.0).fit(X, y)
        seen = fit[:-1].transform(X).mean(axis=0)
        coef = np.ravel(fit[-1].coef_)
        off.append(np.abs(coef[seen == 0.0] - coef @ seen) / np.std(coef[seen > 0.0]))
    assert np.median(np.concatenate(off)) < 0.2


def test_a_model_without_intercept_fits_behind_a_table():
    X, y = table()
    pipeline = make_dp_pipeline(DPTableVectorizer(), DPLogisticRegression(
        fit_intercept=False), epsilon=4.0).fit(X, y)
    assert pipeline[-1].intercept_ == 0.0


def test_clusters_and_scores_of_rows_are_those_of_the_last_step():
    X = np.random.default_rng(0).normal(size=(600, 3))
    clusters = DPPipeline([("scale", DPStandardScaler()), ("last", DPKMeans(3))], epsilon=4.0)
    np.testing.assert_array_equal(clusters.fit_predict(X), clusters.predict(X))
    components = DPPipeline([("scale", DPStandardScaler()), ("last", DPPCA(2))], epsilon=4.0)
    scaled = components.fit(X)[:-1].transform(X)
    np.testing.assert_array_equal(components.score_samples(X),
                                  components[-1].score_samples(scaled))
    assert not hasattr(components, "fit_predict") and not hasattr(clusters, "score_samples")
