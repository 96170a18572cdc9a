"""Pipelines under one budget: prices, refusals, copies, names, seeds."""

import math
import pickle
import warnings
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import (
    Certificate,
    DPAdditiveClassifier,
    DPAUCMaximizer,
    DPGaussianSampler,
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPMLPClassifier,
    DPPipeline,
    DPRidge,
    DPTableVectorizer,
    _fit,
    make_dp_pipeline,
)
from dpsk._privacy.certificate import GROUP_RELATION
from dpsk._privacy.closed_forms import gaussian_delta, gaussian_mu
from dpsk._privacy.events import Composed, Disclosure, Gaussian, Pure, SampledGaussian, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import streams
from dpsk._problem import Budget
from dpsk._steps import Steps
from dpsk.preprocessing._code_plan import CodePlan
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped

#: scikit-learn's checks that fit twice under one int and compare, whatever the tags say.
_REPEATS = {"check_classifier_data_not_an_array", "check_regressor_data_not_an_array",
            "check_supervised_y_2d", "check_regressors_int", "check_fit_idempotent"}
_CHECKS = parametrize_with_checks([
    make_dp_pipeline(*steps, random_state=seed) for seed in (NoiseSeed(0), None)
    for steps in [(DPTableVectorizer(), DPLogisticRegression()),
                  ("passthrough", DPLinearRegression()), (Normalizer(), DPTableVectorizer())]])


def table(n=600, seed=0, n_towns=3):
    """Return a table of numbers and words, with labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(size=n), "wage": rng.exponential(size=n),
                      "town": rng.choice(["a", "b", "c", "d", "e"][:n_towns], size=n)})
    return X, (X["age"] + 0.3 * rng.normal(size=n) > 0).astype(int)


def model(*more, last=None, **params):
    last = DPLogisticRegression() if last is None else last
    return make_dp_pipeline(DPTableVectorizer(), *more, last, **{
        "epsilon": 2.0, "delta": 1e-5, "random_state": NoiseSeed(0), **params})


@pytest.fixture
def silent(monkeypatch):
    """Fail where noise is drawn."""
    for stream in (streams.EntropyStream, streams.KeyedStream):
        monkeypatch.setattr(stream, "words", lambda self, count: pytest.fail("noise was drawn"))


def _set_noise_seed(estimator, random_state=0):
    estimator.set_params(random_state=NoiseSeed(random_state))


@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=_CHECKS.kwargs["ids"])
def test_scikit_learns_checks(estimator, check, monkeypatch):
    if estimator.random_state is not None:
        # The checks set an int, under which noise is fresh: the seed would be lost.
        monkeypatch.setattr(estimator_checks, "set_random_state", _set_noise_seed)
    elif check.func.__name__ in _REPEATS:
        pytest.skip("wants one int to repeat the noise")
    check(estimator)


@pytest.mark.parametrize("name, value", [
    ("epsilon", 0), ("epsilon", math.nan), ("delta", 0), ("delta", 1.0), ("random_state", 1.5),
    ("verbose", "yes"), ("shares", 0.5), ("shares", {"dptablevectorizer": 0.0}),
    ("shares", {"dptablevectorizer": 1.5}),
    ("shares", {"dptablevectorizer": 0.6, "dplogisticregression": 0.6})])
def test_a_bad_value_is_refused_before_rows_are_looked_at(name, value, silent):
    with pytest.raises(ValueError, match=name):
        model(**{name: value}).fit(object(), object())


@pytest.mark.parametrize("step", [
    StandardScaler(), KBinsDiscretizer(), OneHotEncoder(), make_pipeline(StandardScaler()),
    ColumnTransformer([("scale", StandardScaler(), [0])])], ids=lambda step: type(step).__name__)
def test_a_step_that_learns_from_rows_is_refused(step, silent):
    with pytest.raises(ValueError, match=f"step '{type(step).__name__.lower()}': .* learns from "
                                         "rows without a guarantee.*FrozenEstimator"):
        model(step).fit(*table())


@pytest.mark.parametrize("pipeline, match", [
    (make_dp_pipeline(Normalizer()), "none of them is private"),
    (model(shares={"normalizer": 0.1}), "shares has 'normalizer', which is no private step"),
    (model(last=DPMLPClassifier(), shares={"dpmlpclassifier": 0.5}), "not known to be Gaussian"),
    (model(shares={"dptablevectorizer": 1.0}), "nothing is left for step 'dplogistic"),
    (model(DPTableVectorizer()), "no rule for the share of step 'dptablevectorizer-2'"),
    (model(last=DPLogisticRegression(data_norm=-1.0)), "data_norm=-1.0"),
    (model(last=DPLogisticRegression(class_weight={"x": 1.0})), "class_weight has 'x'"),
    (model(last=DPLogisticRegression(classes=[5, 6])), "y holds a label outside"),
    (model(DPLinearSVC()), "transform")])
def test_what_does_not_go_together_is_refused(pipeline, match, silent):
    with pytest.raises((TypeError, ValueError), match=match):
        pipeline.fit(*table())


@pytest.mark.parametrize("params, match", [
    ({"sample_weight": 1}, "'sample_weight': no private step"),
    ({"normalizer__y": 1}, "no private step"),
    ({"dplogisticregression__groups": 1}, "protects single rows"),
    ({"dplogisticregression__sample_weight": np.full(600, np.nan)}, "sample_weight")])
def test_what_fit_is_given_beside_rows_is_checked_first(params, match, silent):
    with pytest.raises(ValueError, match=match):
        model().fit(*table(), **params)


@pytest.mark.parametrize("y", [np.zeros(600), np.full(600, np.nan), np.zeros(599), None])
def test_targets_are_checked_before_anything_is_drawn(y, silent):
    with pytest.raises(ValueError):
        model().fit(table()[0], y)


def test_a_step_that_changes_the_number_of_rows_is_refused(silent):
    pipeline = make_dp_pipeline(FunctionTransformer(lambda X: X[:-1]), DPTableVectorizer())
    with pytest.raises(ValueError, match="changes the number of rows"):
        pipeline.fit(table()[0])


def test_errors_of_functions_of_rows_are_not_quoted(silent):
    def failing(X):
        raise KeyError(f"secret {X.iloc[0, 0]}")

    with pytest.raises(ValueError, match="withheld") as caught:
        make_dp_pipeline(FunctionTransformer(failing), DPRidge()).fit(*table())
    assert "secret" not in str(caught.value) and caught.value.__context__ is None


def _composed(events):
    """Return (mu, chance) of Gaussian events: squares of mu add up, and chances."""
    counts = tally(Composed(tuple(events)))
    assert {type(event) for event in counts} <= {Gaussian, Disclosure}
    mu = math.sqrt(sum(count * event.mu**2 for event, count in counts.items()
                       if isinstance(event, Gaussian)))
    never = math.prod((1.0 - event.delta) ** count for event, count in counts.items()
                      if isinstance(event, Disclosure))
    return mu, 1.0 - never


@pytest.mark.parametrize("last", [
    DPLogisticRegression(), DPLinearSVC(), DPRidge(), DPAUCMaximizer(), DPAdditiveClassifier(),
    DPMLPClassifier(solver="gd", max_iter=20), DPLogisticRegression(alpha=0.1, solver="gd")],
    ids=repr)
def test_squares_of_mu_add_up_to_the_budget(last):
    pipeline = model(last=last).fit(*table())
    certificate = pipeline.privacy_
    events = [step.privacy_.event for _, step in pipeline.steps_]
    assert tally(certificate.event) == tally(Composed(tuple(events)))
    mu, chance = _composed(events)
    delta = chance + (1.0 - chance) * gaussian_delta(mu, 2.0)
    assert certificate.delta_at(2.0) == pytest.approx(delta, rel=1e-6)
    # What is not spent is what additive models leave for categories that are not there.
    assert 0.85e-5 < delta <= certificate.delta == 1e-5
    assert all(name in certificate.solver for name, _ in pipeline.steps_)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.arithmetic == pipeline.steps_[-1][1].privacy_.arithmetic


def test_the_vectorizer_takes_what_its_plan_is_worth_of_the_whole():
    X, y = table()
    pipeline = model().fit(X, y)
    columns = [mock.Mock(categories=None, edges=None)] * 2 + [mock.Mock(categories=[])]
    share = CodePlan.of(Budget(len(X), 3, 2.0, 1e-5), columns).share
    mu, chance = _composed([pipeline.steps_[0][1].privacy_.event])
    whole = gaussian_mu(2.0, 1e-5 - 1e-6)
    assert chance == pytest.approx(1e-6, rel=1e-6)
    # Its own delta pays for the chance once more.
    assert 0.97 * share < (mu / whole) ** 2 <= share * (1 + 1e-5)
    given = model(shares={"dptablevectorizer": 0.5}).fit(X, y)
    mu, _ = _composed([given.steps_[0][1].privacy_.event])
    assert 0.48 < (mu / whole) ** 2 <= 0.5 * (1 + 1e-5)


def _delta_beside(mu, own, epsilon):
    """Return the delta of N(0, 1) against N(mu, 1) beside randomized response at `own`."""
    def gaussian(epsilon):
        return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)

    truth = 1.0 / (1.0 + math.exp(-own))
    return truth * gaussian(epsilon - own) + (1.0 - truth) * gaussian(epsilon + own)


@pytest.mark.parametrize("last", [
    DPMLPClassifier(max_iter=5), DPLasso(target_bounds=(0, 1), data_norm=2.0),
    DPLogisticRegression(alpha=0.1), DPAUCMaximizer(loss="auc", max_iter=5),
    DPGaussianSampler()], ids=repr)
def test_a_last_step_of_another_kind_has_a_fixed_price(last):
    pipeline = model(last=last).fit(*table())
    first, own = (step.privacy_ for _, step in pipeline.steps_)
    certificate = pipeline.privacy_
    (pure,) = [event for event in tally(certificate.event) if isinstance(event, Pure)]
    assert pure.epsilon == own.epsilon and own.delta == pytest.approx(0.4e-5)
    assert own.delta_at(own.epsilon) <= own.delta
    mu, chance = _composed([first.event])
    both = 1.0 - (1.0 - chance) * (1.0 - own.delta)
    delta = both + (1.0 - both) * _delta_beside(mu, own.epsilon, 2.0)
    assert certificate.delta_at(2.0) == pytest.approx(delta, rel=1e-3)
    assert 0.85e-5 < certificate.delta_at(2.0) <= 1e-5
    # Three quarters of epsilon or so, which squares of mu would not have left.
    assert 0.5 < own.epsilon < 1.9
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_the_price_of_another_kind_holds_for_any_of_its_guarantee():
    """Randomized response that tells all at its delta, beside the Gaussian steps before it.

    The worst that a step of that (epsilon', delta') can be, on a grid of the Gaussian loss.
    """
    budget = Budget(1000, 3, 1.0, 1e-3)
    own, delta = Steps(None, budget, 1e-4, random_state=None, verbose=0).last_price(0.2)
    mu = math.sqrt(0.2) * gaussian_mu(1.0, (1e-3 - 1e-4) / (1 - 1e-4))
    ends = np.linspace(-12, 12 + mu, 200_001)
    base, moved = np.diff(ndtr(ends)), np.diff(ndtr(ends - mu))
    truth = 1.0 / (1.0 + math.exp(-own))
    law = (1 - delta) * np.array([truth, 1 - truth])
    excess = np.maximum(moved[:, None] * law - math.e * base[:, None] * law[::-1], 0.0)
    spent = 1e-4 + (1 - 1e-4) * (delta + excess.sum())
    assert 0.99e-3 < spent <= 1e-3


def test_a_single_private_step_has_all_of_the_budget_whatever_its_kind():
    X, y = table()
    for steps in [(FunctionTransformer(lambda X: X[["age", "wage"]]), Normalizer()),
                  (DPTableVectorizer(columns={"age": (-2.0, 0.0, 2.0), "wage": (0.0, 1.0, 5.0),
                                              "town": ["a", "b"]}),)]:
        pipeline = make_dp_pipeline(*steps, DPMLPClassifier(max_iter=5), epsilon=2.0).fit(X, y)
        own = pipeline.steps_[-1][1].privacy_
        assert (own.epsilon, own.delta) == (2.0, 600.0**-2)
        assert tally(pipeline.privacy_.event) == tally(own.event)
        assert any(isinstance(event, SampledGaussian) for event in tally(own.event))


def test_no_budget_is_exceeded():
    """Random pipelines: what is released is what is declared, within epsilon and delta."""
    rng = np.random.default_rng(0)
    lasts = [DPLogisticRegression(), DPLinearSVC(alpha=0.01), DPMLPClassifier(max_iter=3),
             DPAdditiveClassifier(), DPRidge(), DPTableVectorizer(), DPLasso()]
    for _ in range(25):
        epsilon, delta = float(10 ** rng.uniform(-2, 1.5)), float(10 ** rng.uniform(-12, -2))
        last = lasts[rng.integers(len(lasts))]
        shares = None
        if isinstance(last, DPTableVectorizer):
            shares = {"dptablevectorizer-1": float(rng.uniform(0.1, 0.9))}
        n = int(rng.choice([30, 300, 3000]))
        ledgers = []

        class Kept(Ledger):
            def __init__(self, plan, kept=ledgers):
                super().__init__(plan)
                kept.append(self)

        with mock.patch.object(_fit, "Ledger", Kept):
            pipeline = model(last=last, epsilon=epsilon, delta=delta, shares=shares).fit(*table(n))
        certificate = pipeline.privacy_.verify()
        assert certificate.delta_at(epsilon) <= delta * (1 + 1e-9)
        spent = [event for ledger in ledgers for event in tally(ledger.spent).elements()]
        own = [step.privacy_.event for _, step in pipeline.steps_]
        assert tally(Composed(tuple(spent))) == tally(Composed(tuple(own)))


def test_what_the_first_step_finds_does_not_change_the_price_of_the_second():
    found = set()
    for seed, n_towns in enumerate([1, 3, 5]):
        for last in (DPLogisticRegression(), DPMLPClassifier(max_iter=3)):
            X, y = table(seed=seed, n_towns=n_towns)
            if seed:
                # As many numbers as knots at the most.
                X["age"] = np.round(X["age"])
            pipeline = model(last=last).fit(X, y)
            first, second = (step for _, step in pipeline.steps_)
            found.add((type(last), first.privacy_.epsilon, first.privacy_.event,
                       second.privacy_.epsilon, second.privacy_.delta))
            widths = first.transform(X).shape[1]
            assert widths == second.n_features_in_
        found.add(widths)
    assert len([each for each in found if isinstance(each, tuple)]) == 2
    assert len([each for each in found if isinstance(each, int)]) > 1


class Overdrawn(TransformerMixin, BaseEstimator):
    """A step of somebody else's, with a certificate of another price, relation or none."""

    def __init__(self, epsilon=1.0, delta=None, change=None):
        self.epsilon, self.delta, self.change = epsilon, delta, change

    def fit(self, X, y=None):
        if self.change is not None:
            inner = DPTableVectorizer(self.epsilon, delta=self.delta).fit(X)
            self.privacy_ = self.change(inner.privacy_)
        return self

    def transform(self, X):
        return X


def _changed(**change):
    from dataclasses import replace
    return lambda certificate: replace(certificate, **change)


@pytest.mark.parametrize("change, match", [
    (None, "left no certificate"), (lambda _: "(1, 0)", "left no certificate"),
    (_changed(relation=GROUP_RELATION), "left no certificate for single rows"),
    (_changed(event=Gaussian(1.0)), "costs more than the share"),
    (_changed(event=Pure(0.01)), "costs more than the share"),
    (_changed(event=Disclosure(1e-6)), "costs more than the share")])
def test_a_step_that_costs_more_than_its_share_ends_the_fit(change, match):
    pipeline = make_dp_pipeline(FunctionTransformer(lambda X: X[["age", "wage"]]),
                                Overdrawn(change=change), DPRidge(),
                                shares={"overdrawn": 0.05}, epsilon=1.0, delta=1e-5)
    with pytest.raises(RuntimeError, match=match):
        pipeline.fit(*table())
    assert not hasattr(pipeline, "steps_") and not hasattr(pipeline, "privacy_")


@pytest.mark.parametrize("change", [None, _changed(event=Gaussian(9.0))])
def test_a_last_step_that_costs_more_than_its_price_ends_the_fit(change):
    pipeline = make_dp_pipeline(DPTableVectorizer(), Overdrawn(change=change))
    with pytest.raises((RuntimeError, ValueError)):
        pipeline.fit(*table())
    assert not hasattr(pipeline, "privacy_")


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
    weighted = model().fit(X, y, dplogisticregression__sample_weight=np.ones(600))
    assert weighted.privacy_.delta_at(2.0) <= 1e-5


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
