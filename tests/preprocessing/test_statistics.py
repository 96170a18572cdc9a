"""What each transformer of numbers learns: without noise, under it, within bounds, of few rows."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpsk import (
    DPMinMaxScaler,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSimpleImputer,
    DPStandardScaler,
    PrivacyBudget,
)
from dpsk.accounting import NotPrivate
from dpsk.exceptions import PrivacyWarning
from tests.events import tally
from tests.preprocessing.numbers import fitted, table

#: Points of the grid are .4 % apart, and distances 1.1 %.
CLOSE = {"rtol": 0.02, "atol": 1e-5}


def exact(cls, X, **params):
    with pytest.warns(PrivacyWarning, match="no noise"):
        scaler = cls(math.inf, **params).fit(X)
    assert tally(scaler.privacy_.event).keys() == {NotPrivate()}
    return scaler


def test_without_noise_centers_and_spreads_are_medians():
    X = table(3001)
    scaler = exact(DPRobustScaler, X)
    np.testing.assert_allclose(scaler.center_, X.median(), **CLOSE)
    np.testing.assert_allclose(scaler.scale_, 2 * (X - scaler.center_).abs().median(), **CLOSE)
    normal = exact(DPRobustScaler, X, unit_variance=True)
    # Of a normal column the spread is that of its quartiles.
    np.testing.assert_allclose(normal.scale_[0], X["age"].std(), rtol=0.1)
    assert exact(DPRobustScaler, X, with_scaling=False).scale_ is None
    assert exact(DPRobustScaler, X, with_centering=False).center_ is None


def test_without_noise_moments_are_those_within_ranges():
    X = table(3001)
    scaler = exact(DPStandardScaler, X)
    inside = X.clip(*scaler.ranges_.T, axis=1)
    np.testing.assert_allclose(scaler.mean_, inside.mean(), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(scaler.scale_, inside.std(ddof=0), rtol=1e-4)
    np.testing.assert_allclose(scaler.var_, scaler.scale_**2)
    declared = exact(DPStandardScaler, X, columns={"age": (30.0, 50.0)})
    assert declared.ranges_[0].tolist() == [30.0, 50.0]
    assert declared.mean_[0] == pytest.approx(X["age"].clip(30, 50).mean(), abs=1e-4)


def test_without_noise_ranges_and_medians_are_quantiles():
    X = table(3001)
    scaler = exact(DPMinMaxScaler, X, columns={"rate": (-1.0, 2.0)})
    low, high = X.quantile([0.005, 0.995]).to_numpy()
    np.testing.assert_allclose(scaler.data_min_, [*low[:2], -1.0], rtol=0.1)
    np.testing.assert_allclose(scaler.data_max_, [*high[:2], 2.0], rtol=0.1)
    np.testing.assert_allclose(X["rate"] * scaler.scale_[2] + scaler.min_[2],
                               scaler.transform(X)[:, 2])
    np.testing.assert_allclose(exact(DPSimpleImputer, X).statistics_, X.median(), **CLOSE)


@pytest.mark.parametrize("law", [stats.norm, stats.expon, stats.cauchy], ids=lambda law: law.name)
def test_without_noise_quantiles_follow_the_law_that_is_asked_for(law):
    X = law.ppf((np.arange(4000) + 0.5) / 4000)[:, None]
    uniform = exact(DPQuantileTransformer, X).transform(X)[:, 0]
    assert stats.kstest(uniform, "uniform").statistic < 0.02
    assert (np.diff(uniform) >= 0).all()
    normal = exact(DPQuantileTransformer, X, output_distribution="normal").transform(X)[:, 0]
    assert stats.kstest(normal, "norm").statistic < 0.02 and np.abs(normal).max() <= 3.0


@pytest.mark.parametrize("cls, released", [(DPRobustScaler, "center_"),
                                           (DPSimpleImputer, "statistics_")])
def test_ranks_of_medians_are_off_by_what_noise_allows(cls, released):
    """Beyond the bound of the exponential mechanism once in 1e9 columns, whatever the rows."""
    n, X = 5000, np.random.default_rng(0).normal(size=(5000, 4)) * [1.0, 1e3, 1e-2, 1e6]
    scaler = fitted(cls, X, epsilon=1.0, random_state=None)
    (choice,) = tally(scaler.privacy_.event)
    # Of the range y a choice costs less than y: half of it is the exponent, a rank at a time.
    exponent = 0.5 * choice.mu
    allowed = (math.log(2**14 + 1) + math.log(1e9)) / exponent
    ranks = (X < getattr(scaler, released)).sum(axis=0)
    assert allowed < 0.5 * n and (np.abs(ranks - n / 2) <= allowed + 1).all()


@pytest.mark.parametrize("cls", [DPRobustScaler, DPStandardScaler])
def test_statistics_lie_within_declared_bounds_whatever_the_noise(cls):
    X = pd.DataFrame({"year": np.repeat([1990.0, 2020.0], 20)})
    for _ in range(20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            scaler = cls(1e-3, columns={"year": (1980, 2030)}).fit(X)
        center = (scaler.center_ if cls is DPRobustScaler else scaler.mean_)[0]
        assert 1980 <= center <= 2030 and 0 < scaler.scale_[0] <= 100


def test_bounds_give_years_points_of_their_own():
    X = pd.DataFrame({"year": np.random.default_rng(0).integers(2001, 2021, 5000)})
    scaler = fitted(DPRobustScaler, X, columns={"year": (1990, 2030)})
    assert abs(scaler.center_[0] - 2010.5) < 2 and 7 < scaler.scale_[0] < 13


def test_a_column_of_one_number_or_of_none_has_a_fallback():
    n = 5000
    X = pd.DataFrame({"zero": np.zeros(n), "gap": np.full(n, np.nan),
                      "mostly": np.where(np.arange(n) % 10, 0.0, 7.0), "far": np.full(n, 2e6)})
    robust = fitted(DPRobustScaler, X)
    assert robust.center_[[0, 2]].tolist() == [0.0, 0.0]
    assert robust.scale_[[0, 2]].tolist() == [1.0, 1.0]
    rows = robust.transform(X)
    assert np.isnan(rows[:, 1]).all() and np.abs(rows[:, 3]).max() <= 0.5
    standard = fitted(DPStandardScaler, X)
    rows = standard.transform(X)
    assert np.abs(rows[:, [0, 3]]).max() <= 3.0 and standard.mean_[3] == pytest.approx(2e6, 0.01)
    imputer = fitted(DPSimpleImputer, X, columns={"gap": (0.0, 5.0)})
    assert 0.0 <= imputer.statistics_[1] <= 5.0


@pytest.mark.parametrize("cls", [DPRobustScaler, DPStandardScaler, DPMinMaxScaler,
                                 DPSimpleImputer])
def test_too_few_rows_are_warned_of_by_public_facts(cls):
    said = "n=50 rows are too few for .* declare bounds in columns, or raise epsilon"
    with pytest.warns(PrivacyWarning, match=said):
        fitted(cls, table(50), epsilon=0.1, delta=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(cls, table(20_000), epsilon=1.0, delta=1e-6)
        # What stops a fit is free.
        with PrivacyBudget(1.0, 1e-5) as budget, pytest.raises(PrivacyWarning):
            fitted(cls, table(50), epsilon=0.1, delta=1e-6)
    assert not budget.charges


def test_what_is_declared_costs_nothing():
    columns = {"age": (0.0, 100.0), "wage": (0.0, 1e4), "rate": (-1.0, 1.0)}
    for scaler in (fitted(DPMinMaxScaler, columns=columns),
                   fitted(DPSimpleImputer, strategy="constant"),
                   fitted(DPRobustScaler, with_centering=False, with_scaling=False),
                   fitted(DPStandardScaler, with_mean=False, with_std=False)):
        assert tally(scaler.privacy_.event) == {} and scaler.privacy_.delta_at(0.0) == 0.0
    # Ranges that are declared leave all of the price to sums.
    assert len(tally(fitted(DPStandardScaler, columns=columns).privacy_.event)) == 1


def test_indicators_are_those_that_are_declared():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [np.nan, 5.0, 6.0]})
    imputer = DPSimpleImputer(strategy="constant", add_indicator=["b"]).fit(X)
    assert imputer.get_feature_names_out().tolist() == ["a", "b", "missingindicator_b"]
    assert imputer.transform(X)[:, 2].tolist() == [1.0, 0.0, 0.0]
    # Nothing in the rows adds or drops one.
    full = DPSimpleImputer(strategy="constant", add_indicator=True).fit(X.fillna(0.0))
    assert full.transform(X).tolist() == [[1, 0, 0, 1], [0, 5, 1, 0], [3, 6, 0, 0]]
    np.testing.assert_array_equal(full.inverse_transform(full.transform(X)), X)
    array = DPSimpleImputer(strategy="constant", add_indicator=[1]).fit(X.to_numpy())
    assert array.get_feature_names_out().tolist() == ["x0", "x1", "missingindicator_x1"]
    for wrong in (["c"], ["b", "b"], "b", 1, [True]):
        with pytest.raises(ValueError, match="add_indicator"):
            DPSimpleImputer(strategy="constant", add_indicator=wrong).fit(X)


#: Columns of 20,000 numbers, and by which share of it a mean and a deviation may be off.
_RNG = np.random.default_rng(0)
COLUMNS = {
    "rare flag": (_RNG.random(20_000) < 0.01).astype(float),
    "flag": (_RNG.random(20_000) < 0.5).astype(float),
    "whole flag": (_RNG.random(20_000) < 0.03).astype(np.uint8),
    "counts": _RNG.poisson(2.0, 20_000).astype(float),
    "years": 2000.0 + np.rint(5.0 * _RNG.normal(size=20_000)),
    "time stamps": 1e9 + 1e3 * _RNG.normal(size=20_000),
    "far below": -1e6 + _RNG.normal(size=20_000),
    "tiny": 1e-6 * _RNG.random(20_000),
    "large": 1e8 * _RNG.normal(size=20_000)}


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("name", COLUMNS)
def test_means_and_deviations_are_right_for_columns_of_any_kind(name, epsilon):
    """In the unit of the column. False-alarm rate at most 1e-7."""
    X = COLUMNS[name][:, None]
    scaler = DPStandardScaler(epsilon=epsilon, delta=1e-6).fit(X)
    assert abs(scaler.mean_[0] - X.mean()) < 0.3 * X.std()
    assert 0.7 < scaler.scale_[0] / X.std() < 1.5


@pytest.mark.parametrize("name", ["counts", "years", "time stamps", "far below", "tiny", "large"])
def test_medians_and_spreads_are_right_for_columns_of_any_kind(name):
    """In the unit of the column. False-alarm rate at most 1e-7."""
    X = COLUMNS[name][:, None]
    scaler = DPRobustScaler(epsilon=0.5, delta=1e-6).fit(X)
    spread = np.subtract(*np.percentile(X, [75, 25]))
    assert abs(scaler.center_[0] - np.median(X)) <= 0.3 * spread
    assert 0.6 < scaler.scale_[0] / spread < 1.6
