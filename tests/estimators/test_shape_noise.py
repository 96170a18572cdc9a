"""Centered curves of additive models, and what is said of their noise."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from sklearn.base import is_classifier

from dpsk import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPLogisticRegression,
    PrivacyBudget,
    privacy_report,
)
from dpsk.testing import NoiseSeed
from tests.estimators.raw_tables import make, table, targets
from tests.estimators.test_additive import shares
from tests.registry import every_additive_model

#: Fits of which deviations are found, of how many of them what is told is read, and by how much
#: the middle ratio may be off.
FITS, READ, OFF = 40, 5, 2.2


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


@every_additive_model
def test_without_noise_nothing_is_said_of_it(cls):
    X = table()
    terms = make(cls, epsilon=math.inf, interactions=0).fit(X, targets(cls, X)).terms_
    assert all(np.isnan(term.std).all() and "no noise" in term.unknown for term in terms)
    assert all(term.n_draws == 0 and np.isnan(term.interval()).all() for term in terms)


def test_without_a_whitening_moment_nothing_is_said_of_noise_and_levels_count_alike():
    X = table(n=60)
    model = make(DPAdditiveRegressor, epsilon=0.5, interactions=0).fit(
        X, targets(DPAdditiveRegressor, X))
    assert model.privacy_.solver.endswith("sufficient_statistics")
    assert all(np.isnan(term.std).all() and "no second moment" in term.unknown
               for term in model.terms_)
    assert all(np.ptp(share) == 0.0 for share in model._row_shares)


def people(n=3000, seed=0):
    """Return a table with declared columns, a rare flag among them, and a score of it."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.uniform(0.0, 10.0, n), "ill": 1.0 * (rng.random(n) < 0.05),
                      "town": rng.choice(["a", "b", "c"], n)})
    score = np.abs(X["age"] - 5.0) + X["ill"] - (X["town"] == "b") - 2.0
    return X, (score + rng.normal(size=n)).to_numpy()


COLUMNS = {"age": (0.0, 2.0, 4.0, 6.0, 8.0, 10.0), "ill": [0.0, 1.0],
           "town": ["a", "b", "c", "nowhere"]}


def several(cls, fits, classes=2, **params):
    """Return fits of a model to the same table, with noise of seeds.

    With fresh noise one fit in thirty hides one level more.
    """
    X, score = people()
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-4.0, 5.0)}
    y = np.digitize(score, [0.0, 1.5][:classes - 1]) if is_classifier(cls()) else score
    return [cls(8.0, columns=COLUMNS, interactions=0, random_state=NoiseSeed(seed), **bounds,
                **params).fit(X, y) for seed in range(2, 2 + fits)]


def together(model, name):
    return np.concatenate([getattr(term, name) for term in model.terms_])


@pytest.mark.parametrize(("cls", "classes"), [
    (DPAdditiveClassifier, 2), pytest.param(DPAdditiveClassifier, 3, marks=pytest.mark.thorough),
    pytest.param(DPAdditiveRegressor, 2, marks=pytest.mark.thorough)])
def test_the_noise_of_shape_functions_is_that_of_fits(cls, classes):
    """The logarithm of the middle ratio has a deviation of .16 at most, a fifth of the bound."""
    fits = several(cls, FITS, classes)
    real = np.std([together(model, "centered") for model in fits], axis=0, ddof=1)
    told = np.exp(np.mean([np.log(together(model, "std")) for model in fits[:READ]], axis=0))
    known = np.isfinite(told)
    # Levels that no row is at have none: "nowhere", and any other in two columns; a direction
    # that may be collinear hides one more, or two.
    outputs = classes if classes > 2 else 1
    assert 3 * outputs <= np.sum(~known) <= 5 * outputs
    assert 1.0 / OFF < np.median((told / real)[known]) < OFF


@every_additive_model
def test_levels_without_rows_have_no_noise_that_is_known(cls):
    (model,) = several(cls, 1)
    (age, ill, town) = model.terms_
    assert np.isfinite(age.std).all()
    assert np.isfinite(ill.std[:2]).all() and np.isnan(ill.std[2])
    assert np.isfinite(town.std[:3]).all() and np.isnan(town.std[3:]).all()
    low, high = town.interval(0.9)
    np.testing.assert_allclose(high - low, 2.0 * student.ppf(0.95, town.n_draws - 1) * town.std)
    with pytest.raises(ValueError, match="confidence"):
        town.interval(1.0)


def test_a_model_that_predicts_next_to_nothing_has_the_noise_of_fits_without_signal():
    """The middle ratio is near 1.4; its logarithm has a deviation of .17, a fifth of the way."""
    X, score = people()
    y = np.random.default_rng(1).permutation(score > 0.0)
    fits = [DPAdditiveClassifier(8.0, columns=COLUMNS, interactions=0,
                                 random_state=NoiseSeed(seed)).fit(X, y) for seed in range(15)]
    real = np.std([together(model, "centered") for model in fits], axis=0, ddof=1)
    for model in fits[:READ]:
        model._noise._model.coef_ *= 1e-3
    told = np.exp(np.mean([np.log(together(model, "std")) for model in fits[:READ]], axis=0))
    known = np.isfinite(told)
    assert fits[0].terms_[0].unknown is None
    assert known.sum() >= 7
    assert 1.0 / 3.5 < np.median((told / real)[known]) < 3.5


def test_weights_whose_law_is_not_known_leave_no_noise_that_is():
    X, score = people()
    model = DPAdditiveClassifier(8.0, columns=COLUMNS).fit(
        X, score > 0.0, sample_weight=np.ones(len(X)))
    assert "sample_weight" in model.terms_[0].unknown


@every_additive_model
def test_sizes_of_groups_that_are_not_known_leave_no_noise_that_is(cls):
    """Bands were 2 to 5 times too wide: a clip cuts single rows more than averages of groups."""
    X, score = people()
    y = score > 0.0 if is_classifier(cls()) else np.clip(score, -4.0, 5.0)
    model = cls(8.0, columns=COLUMNS, interactions=0).fit(X, y, groups=np.arange(len(X)) // 2)
    assert "with groups=, how many rows each person has" in model.terms_[0].unknown
    assert all(np.isnan(term.std).all() and term.n_draws == 0 for term in model.terms_)


def test_noise_is_looked_for_when_it_is_read_and_once_and_costs_no_budget(tmp_path, monkeypatch):
    X, score = people()
    with PrivacyBudget(9.0, 1e-6) as budget:
        model = DPAdditiveClassifier(8.0, delta=1e-7, columns=COLUMNS,
                                     random_state=NoiseSeed(2)).fit(X, score > 0.0)
        spent = budget.spent
        copied = pickle.loads(pickle.dumps(model))
        fit = DPLogisticRegression.fit
        with monkeypatch.context() as patch:
            patch.setattr(DPLogisticRegression, "fit", None)
            privacy_report(model)
            assert [term.values.shape for term in model.terms_] == [(6,), (3,), (5,)]
            with pytest.raises(TypeError):
                model.terms_[0].std  # noqa: B018
        assert DPLogisticRegression.fit is fit
        found = model.terms_[0].std
        np.testing.assert_array_equal(model.terms_[0].std, found)
        assert np.isfinite(copied.terms_[0].std).all()
        assert budget.spent == spent
