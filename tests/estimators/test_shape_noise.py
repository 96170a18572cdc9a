"""Centered curves of additive models, and what is said of their noise."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.base import is_classifier

from dpsk import DPAdditiveClassifier, DPAdditiveRegressor
from tests.estimators.raw_tables import make, table, targets
from tests.estimators.test_additive import shares
from tests.registry import every_additive_model


@every_additive_model
@pytest.mark.parametrize("interactions", [0, [("number", "town"), ("flag", "number")]])
def test_centered_curves_have_no_means_and_differ_from_the_values_by_a_constant(
        cls, interactions):
    X = table()
    model = make(cls, interactions=interactions).fit(X, targets(cls, X))
    sums = []
    # Of rows without a gap, whose hats sum to 1.
    seen = X.dropna()
    for kind in ("values", "centered"):
        raw = 0.0
        for term in model.terms_:
            weights = [shares(axis, seen[axis.column]) for axis in term.axes]
            raw = raw + (np.einsum("ij,ik,jk->i", *weights, term.values if kind == "values"
                                   else term.centered) if len(weights) == 2
                         else weights[0] @ getattr(term, kind))
        sums.append(raw)
    np.testing.assert_allclose(np.ptp(sums[0] - sums[1]), 0.0, atol=1e-9)
    for term in model.terms_:
        mine = [model._row_shares[list(X.columns).index(axis.column)] for axis in term.axes]
        for place, share in enumerate(mine):
            means = np.tensordot(share, term.centered, (0, place))
            np.testing.assert_allclose(means, 0.0, atol=1e-9)
        assert all(share.min() >= 0.0 and share.sum() == pytest.approx(1.0) for share in mine)
        assert term.centered.shape == term.values.shape == term.std.shape
        assert (term.std >= 0.0).all() and term.std.max() > 0.0


def test_several_classes_have_a_deviation_each():
    X = table()
    model = make(DPAdditiveClassifier).fit(X, np.resize(["a", "b", "c"], len(X)))
    assert all(term.std.shape == term.centered.shape for term in model.terms_)
    assert all(np.isfinite(term.std).all() for term in model.terms_)


@every_additive_model
def test_without_noise_nothing_is_said_of_it(cls):
    X = table()
    terms = make(cls, epsilon=math.inf, interactions=0).fit(X, targets(cls, X)).terms_
    assert all(term.std is None for term in terms)


def test_without_a_whitening_moment_nothing_is_said_of_noise_and_levels_count_alike():
    X = table(n=60)
    model = make(DPAdditiveRegressor, epsilon=0.5, interactions=0).fit(
        X, targets(DPAdditiveRegressor, X))
    assert model.privacy_.solver.endswith("sufficient_statistics")
    assert all(term.std is None for term in model.terms_)
    assert all(np.ptp(share) == 0.0 for share in model._row_shares)


def people(n, seed=0):
    """Return a table with declared columns, and a score that follows from it."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.uniform(0.0, 10.0, n), "hours": rng.normal(5.0, 2.0, n),
                      "town": rng.choice(["a", "b", "c", "d"], n)})
    score = np.abs(X["age"] - 5.0) - 0.3 * X["hours"] + (X["town"] == "b") - 1.0
    return X, (score + rng.normal(size=n)).to_numpy()


COLUMNS = {"age": (0.0, 2.0, 4.0, 6.0, 8.0, 10.0), "hours": (0.0, 3.0, 5.0, 7.0, 10.0),
           "town": ["a", "b", "c", "d"]}


def inside(cls, n, epsilon, fits, shrink=1.0):
    """Return how often values lie in bands of 95 % about their mean over fits."""
    X, score = people(n)
    y = score > 0.0 if is_classifier(cls()) else score
    more = {} if is_classifier(cls()) else {"target_bounds": (-4.0, 5.0)}
    found = [[np.concatenate([getattr(term, name) for term in model.terms_])
              for name in ("centered", "std")]
             for model in (cls(epsilon, columns=COLUMNS, interactions=0, **more).fit(X, y)
                           for _ in range(fits))]
    values, stds = np.moveaxis(np.array(found), 1, 0)
    # No row is at the last level, of other towns.
    within = np.abs(values - values.mean(axis=0)) <= 1.96 * shrink * stds
    return within[:, :-1].mean()


@pytest.mark.covering(most=1)
@every_additive_model
def test_bands_hold_most_values_and_narrower_ones_do_not(cls):
    """Were all values of a fit in or out together, 24 fits would fail once in 1e9; they are not.
    """
    assert binom.cdf(12, 24, 0.95) < 1e-9
    assert inside(cls, 4000, 1.0, 24) > 12 / 24
    # At most .26, give or take .02.
    assert inside(cls, 4000, 1.0, 24, shrink=0.05) < 12 / 24


@pytest.mark.audit
@every_additive_model
@pytest.mark.parametrize("n, epsilon", [(4000, 1.0), (4000, 4.0), (20_000, 1.0)])
def test_bands_of_95_percent_hold_90_percent_and_a_fifth_of_them_does_not(cls, n, epsilon):
    """They are meant to be wide rather than narrow, where little is known of a curvature."""
    assert inside(cls, n, epsilon, 200) >= 0.90
    assert inside(cls, n, epsilon, 50, shrink=0.2) < 0.90
