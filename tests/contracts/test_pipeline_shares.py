"""Shares of a pipeline by the rules of its steps."""

import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpsk import (
    Certificate,
    DPRidge,
    DPSimpleImputer,
    DPStandardScaler,
    DPTableVectorizer,
    PrivacyBudget,
)
from dpsk._defaults.columns import median_share, moment_share, spread_share
from dpsk._privacy.domination import covering_mu
from dpsk._problem import Budget
from dpsk._steps import _Covered
from dpsk.accounting import (
    Composed,
    Disclosure,
    Gaussian,
    Pure,
    Repeated,
    SampledGaussian,
    delta,
)
from dpsk.model_selection._plan import SearchPlan
from dpsk.preprocessing._code_plan import CodePlan
from dpsk.testing import NoiseSeed
from tests.events import gaussian_mu
from tests.model_selection.test_refusals import mixed
from tests.model_selection.test_searches import rows
from tests.pipeline.fits import costs, model, table
from tests.pipeline.test_prices import _composed
from tests.pipeline.test_several_steps import model as steps_of
from tests.pipeline.test_several_steps import mu as mu_of
from tests.pipeline.test_several_steps import table as gappy_table


def test_the_vectorizer_takes_what_its_plan_is_worth_of_the_whole():
    X, y = table()
    pipeline = model().fit(X, y)
    columns = [mock.Mock(categories=None, edges=None)] * 2 + [mock.Mock(categories=[])]
    share = CodePlan.of(Budget(len(X), 3, 2.0, 1e-5), columns).share
    mu, chance = _composed([costs(pipeline)[0].event])
    whole = gaussian_mu(2.0, 1e-5 - 1e-6)
    assert chance == pytest.approx(1e-6, rel=1e-6)
    # Its own delta pays for the chance once more.
    assert 0.97 * share < (mu / whole) ** 2 <= share * (1 + 1e-5)
    given = model(shares={"dptablevectorizer": 0.5}).fit(X, y)
    mu, _ = _composed([costs(given)[0].event])
    assert 0.48 < (mu / whole) ** 2 <= 0.5 * (1 + 1e-5)


@pytest.mark.parametrize("event", [
    Repeated(SampledGaussian(0.1, 3.0), 10), Pure(0.3),
    Composed((Pure(0.1), Disclosure(1e-6)))], ids=str)
def test_what_covers_a_last_step_is_never_below_the_composed_truth(event):
    """Beside a Gaussian step, at small and large epsilons, by the accountant of losses."""
    chance = 1e-5
    covered = _Covered(1.002 * covering_mu(event, chance), chance, (0.0, 0.0))
    assert covered(event) and not replace(covered, mu=0.7 * covered.mu)(event)
    for loss in (0.0, 0.3, 2.0):
        truth = delta(Composed((Gaussian(0.5), event)), loss)
        assert truth <= delta(Composed((Gaussian(0.5), covered.event)), loss) * (1 + 1e-9)


def test_shares_are_those_of_the_rules():
    X, y = gappy_table()
    budget, whole = Budget(len(X), 2, 2.0, 1e-6), gaussian_mu(2.0, 1e-6)
    steps = steps_of(DPSimpleImputer(), DPStandardScaler(), DPRidge()).fit(X, y)
    found = [(mu_of(own.event) / whole) ** 2 for own in costs(steps)]
    rules = [median_share(budget, 2), spread_share(budget, 4) + moment_share(budget)]
    np.testing.assert_allclose(found, [*rules, 1.0 - sum(rules)], rtol=1e-5)
    given = steps_of(DPSimpleImputer(), DPStandardScaler(), DPRidge(),
                  shares={"dpsimpleimputer": 0.3}).fit(X, y)
    assert (mu_of(costs(given)[0].event) / whole) ** 2 == pytest.approx(0.3, rel=1e-5)


def test_shares_fall_as_rows_grow_within_limits():
    for rule in (lambda budget: median_share(budget, 6), lambda budget: spread_share(budget, 6),
                 moment_share):
        shares = [rule(Budget(n, 3, 1.0, 1e-8)) for n in (10, 10**3, 10**4, 10**5, 10**7)]
        assert shares == sorted(shares, reverse=True) and 0.01 == shares[-1] < shares[0] <= 0.25
        assert rule(Budget(100, 3, math.inf, 1e-8)) == 0.01
    assert median_share(Budget(100, 3, 1.0, 1e-8), 0) == 0.0


def test_the_rule_takes_it_to_be_a_tenth_of_the_whole():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 2)), columns=["a", "b"])
    whole = 1.0, 1e-6
    mu = gaussian_mu(*whole) * math.sqrt(0.1)
    epsilon = Certificate.epsilon_at(mock.Mock(event=Gaussian(mu)), 1e-6)
    alone = DPTableVectorizer(epsilon, delta=1e-6, random_state=NoiseSeed(0))
    # Numbers in arrays are named by their places.
    assert list(clone(alone).fit(X.to_numpy()).knots_) == [0, 1]
    columns = [mock.Mock(categories=None, edges=None)] * 2
    plan = CodePlan.of(Budget(20_000, 2, *whole), columns).mechanism
    inner = 2**plan.levels - 1
    assert {len(knots) for knots in alone.fit(X).knots_.values()} == {inner + 2}
    # What a pipeline says of the whole takes its place.
    small = clone(alone)
    small._within((0.05, 1e-6))
    small.fit(X)
    assert max(map(len, small.knots_.values())) < inner + 2
    assert clone(small)._whole is None


def test_a_setting_that_would_cost_more_than_a_run_is_refused_before_the_charge(monkeypatch):
    X, y = rows(300)
    budget = PrivacyBudget(100.0, 0.5, kind="gaussian", disclosure=0.4)
    known = SearchPlan.covers
    monkeypatch.setattr(SearchPlan, "covers", lambda plan, event: (
        event == plan.holdout_event and known(plan, event)))
    with budget, pytest.raises(RuntimeError, match="nothing was charged or drawn"):
        mixed().fit(X, y)
    assert not budget.charges
