"""What pipelines cost: composed without the accountant, within the budget."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import FunctionTransformer, Normalizer

from dpsk import (
    Certificate,
    DPAdditiveClassifier,
    DPAUCMaximizer,
    DPGaussianSampler,
    DPLasso,
    DPLinearSVC,
    DPLogisticRegression,
    DPMLPClassifier,
    DPRidge,
    DPTableVectorizer,
    make_dp_pipeline,
)
from dpsk.accounting import Composed, Disclosure, Gaussian, Pure, SampledGaussian, delta
from dpsk.accounting import epsilon as accounted
from tests.events import GROUP_RELATION, gaussian_delta, gaussian_mu, tally
from tests.instruments import watched_ledgers
from tests.pipeline.fits import costs, delta_beside, model, table
from tests.registry import SETS, every_estimator, every_fit, make_estimator, training_rows


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
    events = [own.event for own in costs(pipeline)]
    assert tally(certificate.event) == tally(Composed(tuple(events)))
    mu, chance = _composed(events)
    spent = chance + (1.0 - chance) * gaussian_delta(mu, 2.0)
    assert certificate.delta_at(2.0) == pytest.approx(spent, rel=1e-6)
    # What is not spent is what additive models leave for categories that are not there.
    assert 0.85e-5 < spent <= certificate.delta == 1e-5
    assert all(name in certificate.solver for name, _ in pipeline.steps_)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.arithmetic == costs(pipeline)[-1].arithmetic


@pytest.mark.parametrize("last", [
    DPMLPClassifier(max_iter=5), DPLasso(target_bounds=(0, 1), data_norm=2.0),
    DPLogisticRegression(alpha=0.1), DPAUCMaximizer(loss="auc", max_iter=5),
    DPGaussianSampler()], ids=repr)
def test_a_last_step_of_another_kind_is_covered_by_a_gaussian(last):
    pipeline = model(last=last).fit(*table())
    first, own = costs(pipeline)
    certificate = pipeline.privacy_
    mu, chance = _composed([certificate.event])
    before, shown = _composed([first.event])
    left, own_chance = math.sqrt(mu**2 - before**2), chance - shown
    assert own_chance == pytest.approx(1e-7, rel=1e-3) and own.delta <= 1.001e-7
    # The truth, by the accountant of losses, is within what is declared, and that in the budget.
    truth = delta(Composed((first.event, own.event)), 2.0)
    assert truth <= certificate.delta_at(2.0) <= 1e-5
    assert certificate.delta_at(2.0) > 0.9e-5
    # Nearly all that squares of mu leave is for the step.
    assert 0.95 * accounted(Gaussian(left), own.delta) < own.epsilon
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_a_last_step_that_no_gaussian_covers_has_a_fixed_price():
    last = DPLogisticRegression(alpha=0.1, solver="objective_perturbation")
    pipeline = model(last=last).fit(*table())
    first, own = costs(pipeline)
    certificate = pipeline.privacy_
    (pure,) = [event for event in tally(certificate.event) if isinstance(event, Pure)]
    assert pure.epsilon == own.epsilon and own.delta == pytest.approx(0.4e-5)
    mu, chance = _composed([first.event])
    both = 1.0 - (1.0 - chance) * (1.0 - own.delta)
    spent = both + (1.0 - both) * delta_beside(mu, own.epsilon, 2.0)
    assert certificate.delta_at(2.0) == pytest.approx(spent, rel=1e-3)
    # Squares of mu would leave more, and its own mu that covers it far less.
    assert 0.85e-5 < spent <= 1e-5 and 0.5 < own.epsilon < 1.9


def test_a_single_private_step_has_all_of_the_budget_whatever_its_kind():
    X, y = table()
    for steps in [(FunctionTransformer(lambda X: X[["age", "wage"]]), Normalizer()),
                  (DPTableVectorizer(columns={"age": (-2.0, 0.0, 2.0), "wage": (0.0, 1.0, 5.0),
                                              "town": ["a", "b"]}),)]:
        pipeline = make_dp_pipeline(*steps, DPMLPClassifier(max_iter=5), epsilon=2.0).fit(X, y)
        own = costs(pipeline)[-1]
        assert (own.epsilon, own.delta) == (2.0, 600.0**-2)
        assert tally(pipeline.privacy_.event) == tally(own.event)
        assert any(isinstance(event, SampledGaussian) for event in tally(own.event))


@pytest.mark.thorough
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
        with watched_ledgers() as ledgers:
            pipeline = model(last=last, epsilon=epsilon, delta=delta, shares=shares).fit(*table(n))
        certificate = pipeline.privacy_.verify()
        assert certificate.delta_at(epsilon) <= delta * (1 + 1e-9)
        spent = [event for ledger in ledgers for event in tally(ledger.spent).elements()]
        own = [own.event for own in costs(pipeline)]
        assert tally(Composed(tuple(spent))) == tally(Composed(tuple(own)))


@pytest.mark.parametrize("last, n, epsilon, delta, share", [
    *[(last, *odd) for last in (DPRidge(), DPLasso()) for odd in [
        (400, 1.5e-4, 4.3e-5, 0.0148), (40, 1e-3, 0.9, 1e-3), (30, 0.1, 0.6, 0.3)]],
    (DPRidge(), 2, 521.0, 1 - 4e-5, 1e-4)], ids=repr)
def test_odd_shares_of_odd_budgets_are_fitted(last, n, epsilon, delta, share):
    """At a small share of a large delta a row is shown with less than a tenth of that."""
    pipeline = model(last=last, epsilon=epsilon, delta=delta,
                     shares={"dptablevectorizer": share}).fit(*table(n))
    own = costs(pipeline)[0]
    assert pipeline.privacy_.delta_at(epsilon) <= delta * (1 + 1e-9)
    assert own.delta_at(own.epsilon) <= own.delta * (1 + 1e-9)


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
            found_by, fitted_by = costs(pipeline)
            found.add((type(last), found_by.epsilon, found_by.event, fitted_by.epsilon,
                       fitted_by.delta))
            widths = first.transform(X).shape[1]
            assert widths == second.n_features_in_
        found.add(widths)
    assert len([each for each in found if isinstance(each, tuple)]) == 2
    assert len([each for each in found if isinstance(each, int)]) > 1


def _is_gaussian(fitted):
    return {type(event) for event in tally(fitted.privacy_.event)} <= {Gaussian}


@every_fit
def test_solvers_that_are_taken_to_be_gaussian_are(cls, solver):
    estimator = make_estimator(cls, solver, delta=1e-4)
    assert _is_gaussian(estimator.fit(*training_rows(estimator))) or not estimator._is_gaussian


@pytest.mark.covering
@every_estimator
@pytest.mark.parametrize("params", [
    {}, {"data_norm": 1.0}, {"alpha": 0.1, "data_norm": 1.0}, {"alpha": 10.0, "data_norm": 0.1},
    {"penalty": "l1_ball", "radius": 1.0}, {"penalty": "l2_ball", "radius": 1.0}], ids=repr)
def test_what_auto_stands_for_is_gaussian_where_it_is_taken_to_be(cls, params):
    known = cls().get_params()
    if "alpha" in params and known.get("penalty") in SETS:
        params = {**params, "penalty": "l2"}
    estimator = cls(delta=1e-4).set_params(**{name: value for name, value in params.items()
                                              if name in known})
    for n in (80, 4000) if "hidden_layer_sizes" not in known else (80,):
        fitted = clone(estimator).fit(*training_rows(estimator, n))
        assert _is_gaussian(fitted) or not estimator._is_gaussian


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
    return lambda certificate: replace(certificate, **change)


@pytest.mark.parametrize("change, match", [
    (None, "left no certificate"), (lambda _: "(1, 0)", "left no certificate"),
    (_changed(relation=GROUP_RELATION), "left no certificate for single rows"),
    (_changed(relation="add or remove a row"), "left no certificate for single rows"),
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


@pytest.mark.parametrize("shares", [{"dppipeline": 0.3},
                                    {"dppipeline": 0.3, "dplogisticregression": 0.6}])
def test_a_pipeline_is_a_step_of_another(shares):
    """Its categories are a chance to show a row, which is set aside before anything is drawn."""
    inner = make_dp_pipeline(DPTableVectorizer(max_categories=8), "passthrough")
    outer = make_dp_pipeline(inner, DPLogisticRegression(), epsilon=2.0, delta=1e-5,
                             shares=shares).fit(*table())
    mu, chance = _composed([outer.privacy_.event])
    assert 0 < chance <= 1e-6 * (1 + 1e-9)
    left = gaussian_mu(2.0, (1e-5 - chance) / (1 - chance))
    whole = 1.0 if len(shares) == 1 else math.sqrt(0.9)
    assert 0.99 * whole * left <= mu <= left and outer.privacy_.delta_at(2.0) <= 1e-5
    last = model(last=make_dp_pipeline(DPTableVectorizer(max_categories=8), DPRidge()))
    assert last.fit(*table()).privacy_.delta_at(2.0) <= 1e-5


def test_a_fit_that_fails_leaves_what_an_earlier_one_left():
    """Of a step that alone has all of the budget the certificate is what finds it out."""
    frame = FunctionTransformer(lambda X: X[["age", "wage"]])
    pipeline = make_dp_pipeline(frame, Overdrawn(change=_changed()), epsilon=1.0, delta=1e-5)
    pipeline.fit(*table())
    before = pipeline.steps_, pipeline.privacy_
    pipeline.set_params(overdrawn__change=_changed(event=Gaussian(9.0)))
    with pytest.raises((RuntimeError, ValueError)):
        pipeline.fit(*table())
    assert (pipeline.steps_, pipeline.privacy_) == before


class Halving(Overdrawn):
    """A private step that leaves rows out."""

    def transform(self, X):
        return X[::2]


def test_a_private_step_that_changes_the_number_of_rows_ends_the_fit():
    pipeline = make_dp_pipeline(FunctionTransformer(lambda X: X[["age", "wage"]]),
                                Halving(change=_changed()), DPRidge(), shares={"halving": 0.05})
    with pytest.raises(ValueError, match="changes the number of rows"):
        pipeline.fit(*table())
