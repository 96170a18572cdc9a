"""Curves of skewed columns are straight on a logarithm of shifted numbers, and seen so."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri

from dpsk import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPDecisionTreeClassifier,
    DPRandomForestClassifier,
    DPRidge,
    DPSplineTransformer,
    DPTableVectorizer,
    make_dp_pipeline,
)
from dpsk.testing import NoiseSeed

N = 4000
#: Normal numbers without noise, in an order of no meaning.
NORMAL = np.random.default_rng(0).permutation(ndtri((np.arange(N) + 0.5) / N))
AMOUNTS = np.exp(1.5 * NORMAL)
COLUMNS = pd.DataFrame({
    "amount": AMOUNTS, "debt": -AMOUNTS, "far": 1e6 + AMOUNTS, "even": NORMAL,
    "constant": np.ones(N), "flag": (NORMAL > 1.0).astype(float)})


def axes_of(model):
    return {axis.column: axis for term in model.terms_ for axis in term.axes}


def test_skewed_columns_have_a_scale_and_no_others():
    model = DPAdditiveRegressor(epsilon=np.inf, interactions=0).fit(COLUMNS, NORMAL)
    scales = {name: axis.scale for name, axis in axes_of(model).items()}
    assert {name for name, scale in scales.items() if scale} == {"amount", "debt", "far"}
    ratio = np.exp(1.5 * ndtri(0.75))
    for name, wanted in [("amount", ratio), ("debt", 1.0 / ratio), ("far", ratio)]:
        assert scales[name].ratio == pytest.approx(wanted, rel=0.02)
        knots = axes_of(model)[name].knots
        np.testing.assert_allclose(scales[name].inverse(scales[name](knots)), knots)


@pytest.mark.parametrize("cls", [DPAdditiveRegressor, DPAdditiveClassifier])
def test_a_curve_of_amounts_is_that_of_their_logarithms(cls):
    """Without noise, so that nothing but the place and the shape of knots matters."""
    labels = np.random.default_rng(1).random(N) < expit(2.0 * NORMAL)
    target = NORMAL if cls is DPAdditiveRegressor else labels.astype(int)
    models = [cls(epsilon=np.inf, n_knots=5).fit(rows[:, None], target)
              for rows in (AMOUNTS, np.log(AMOUNTS))]
    raw, logs = (model._predict_raw(rows[:, None])
                 for model, rows in zip(models, (AMOUNTS, np.log(AMOUNTS)), strict=True))
    np.testing.assert_allclose(raw, logs, atol=0.02 * np.ptp(logs))
    term = models[0].terms_[0]
    np.testing.assert_allclose(models[0].intercept_ + term.axes[0].interpolate(
        AMOUNTS, term.values), raw, atol=1e-5 * np.ptp(raw))


def test_declared_bounds_hold_for_skewed_columns_too():
    model = DPAdditiveRegressor(epsilon=np.inf, columns={0: (0.5, 1e4)}, n_knots=5).fit(
        AMOUNTS[:, None], NORMAL)
    (axis,) = model.terms_[0].axes
    assert axis.scale is not None
    assert axis.knots[0] == 0.5 and axis.knots[-1] <= 1e4


@pytest.mark.parametrize("n_rows", [60, 400])
def test_what_noise_and_few_rows_show_of_skew_is_left_out(n_rows):
    """A ratio within one standard deviation of its error has no scale; any other is drawn to 1."""
    rows = NORMAL[:n_rows, None]
    coder = DPTableVectorizer(epsilon=np.inf, n_knots=5).fit(rows)
    scale = coder.scales_[0]
    low, high = np.diff(np.quantile(rows, [0.25, 0.5, 0.75]))
    assert scale is None or abs(np.log(scale.ratio)) < abs(np.log(high / low))


def test_a_vectorizer_says_on_which_scale_its_weights_are():
    coder = DPTableVectorizer(epsilon=np.inf, n_knots=5).fit(COLUMNS)
    assert set(coder.scales_) == set(COLUMNS)
    scale, knots = coder.scales_["amount"], coder.knots_["amount"]
    between = scale.inverse(0.75 * scale(knots[1]) + 0.25 * scale(knots[2]))
    row = coder.transform(COLUMNS.iloc[:1].assign(amount=between))[0]
    np.testing.assert_allclose(row[:len(knots)], np.eye(len(knots))[1:3].T @ [0.75, 0.25],
                               atol=1e-6)
    # Splines of degree 1 are those of scikit-learn.
    plain = DPSplineTransformer(epsilon=np.inf, n_knots=5).fit(AMOUNTS[:, None])
    assert all(part.scale is None for part in plain._code.parts)


def test_a_line_behind_a_vectorizer_is_one_on_the_scale():
    model = make_dp_pipeline(DPTableVectorizer(n_knots=5), DPRidge(target_bounds=(-4, 4)),
                             epsilon=np.inf).fit(AMOUNTS[:, None], NORMAL)
    assert model.score(AMOUNTS[:, None], NORMAL) > 0.98


@pytest.mark.parametrize("cls", [DPDecisionTreeClassifier, DPRandomForestClassifier])
@pytest.mark.parametrize("epsilon", [2.0, 10.0])
def test_a_number_of_many_rows_is_told_apart_from_larger_and_from_smaller_ones(cls, epsilon):
    """Trees had .75 to .79 where they cut below a knot only, and .95 of the negated columns."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((4000, 10)) < 0.8, 0.0, rng.poisson(20.0, size=(4000, 10)))
    y = (X[:, :3] != 0.0).any(axis=1) ^ (rng.random(4000) < 0.05)
    for columns in (X, -X, (X - X.mean(axis=0)) / X.std(axis=0)):
        model = cls(epsilon, random_state=NoiseSeed(0)).fit(columns[:3000], y[:3000])
        assert model.score(columns[3000:], y[3000:]) > 0.9
