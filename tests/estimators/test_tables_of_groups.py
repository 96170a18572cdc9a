"""Transformers, additive models and boosting that protect groups, told whose row is whose."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from dpsk import (
    DPPCA,
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPGradientBoostingClassifier,
    DPGradientBoostingRegressor,
    DPMinMaxScaler,
    DPOneHotEncoder,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSimpleImputer,
    DPSplineTransformer,
    DPStandardScaler,
    DPTableVectorizer,
    PrivacyBudget,
)
from dpsk.exceptions import BudgetExceededError, PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.events import GROUP_RELATION

G = 150
MAKERS = {cls.__name__: cls for cls in (
    DPAdditiveClassifier, DPAdditiveRegressor, DPGradientBoostingClassifier,
    DPGradientBoostingRegressor, DPMinMaxScaler, DPOneHotEncoder, DPPCA, DPQuantileTransformer,
    DPRobustScaler, DPSimpleImputer, DPSplineTransformer, DPStandardScaler, DPTableVectorizer)}
#: What predicts numbers.
_REGRESSORS = DPAdditiveRegressor, DPGradientBoostingRegressor
every_maker = pytest.mark.parametrize("cls", MAKERS.values(), ids=MAKERS)
every_transformer = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in MAKERS.items() if hasattr(cls, "transform")])


def rows(seed=0, n_words=3, sizes=None):
    rng = np.random.default_rng(seed)
    sizes = np.resize([1, 3, 6, 2], G) if sizes is None else sizes
    people = rng.permutation(np.repeat([f"p{each:03d}" for each in range(G)], sizes))
    n = len(people)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.uniform(size=n)})
    if n_words:
        X["word"] = np.array([f"w{each}" for each in range(n_words)])[rng.integers(n_words,
                                                                                  size=n)]
    return X, (X["a"] > 0).to_numpy().astype(int), people


def made(cls, **params):
    if cls in _REGRESSORS:
        params = {"target_bounds": (0.0, 1.0), **params}
    if "max_iter" in cls().get_params():
        params = {"max_iter": 2, **params}
    return cls(**{"epsilon": 2.0, "delta": 1e-4, **params})


def fitted(cls, table=None, **params):
    X, y, people = rows() if table is None else table
    if not is_classifier(cls()) and cls not in (*_REGRESSORS, DPTableVectorizer):
        X = X[["word"]] if cls is DPOneHotEncoder else X[["a", "b"]]
    return made(cls, **params).fit(X, y, groups=people)


@every_maker
def test_the_certificate_is_that_of_groups_and_leaves_the_number_of_rows_out(cls):
    table = rows()
    certificate = fitted(cls, table, delta=None).privacy_
    assert certificate.relation == GROUP_RELATION and certificate.delta == 1.0 / G**2
    assert any(fact.startswith("number of groups of rows") for fact in certificate.public)
    assert not any(fact.startswith("number of rows") for fact in certificate.public)
    assert any("by public randomness" in fact for fact in certificate.public)
    assert not any(str(len(table[1])) in fact for fact in certificate.public)
    assert type(certificate).from_json(certificate.to_json()).verify() == certificate


@every_transformer
def test_the_price_is_that_of_as_many_rows(cls):
    X, y, _ = rows()
    alone = fitted(cls, (X[:G], y[:G], np.arange(G))).privacy_
    assert fitted(cls).privacy_.event == alone.event


@every_maker
def test_a_budget_of_groups_admits_fits_with_groups_alone(cls):
    with PrivacyBudget(4.0, 1e-3, unit="group") as budget:
        with pytest.raises(BudgetExceededError, match="protects single rows"):
            fitted(cls, (*rows()[:2], None))
        fitted(cls)
    assert [charge.of_groups for charge in budget.charges] == [True]


@every_maker
@pytest.mark.parametrize("spoil, message", [
    (lambda people: people[:-1], "groups of (length|shape)"),
    (lambda people: np.zeros(len(people)), "one group alone"),
    (lambda people: np.full(len(people), np.nan), "groups contains NaN")])
def test_groups_that_are_none_are_refused_before_any_draw(cls, spoil, message, silent):
    X, y, people = rows()
    with pytest.raises(ValueError, match=message):
        fitted(cls, (X, y, spoil(people)))


@pytest.mark.parametrize("cls", _REGRESSORS)
def test_bounds_of_targets_are_learnt_or_refused_before_any_noise(cls):
    X, _, people = rows()
    y = 100.0 + X["a"]
    with (PrivacyBudget(4.0, 1e-3, unit="group") as budget,
          pytest.raises(ValueError, match="target_bounds=None: n=150 rows")):
        made(cls, epsilon=0.1, target_bounds=None).fit(X, y, groups=people)
    assert not budget.charges
    low, high = made(cls, epsilon=60.0, target_bounds=None).fit(
        X, y, groups=people).target_bounds_
    assert 90.0 < low < 99.0 and 101.0 < high < 110.0


@every_maker
def test_seeds_draw_the_rows_and_the_same_noise_again(cls):
    one, other = (fitted(cls, random_state=NoiseSeed(3)) for _ in range(2))
    assert one.privacy_ == other.privacy_
    X = rows(1)[0][["word"] if cls is DPOneHotEncoder else list(one.feature_names_in_)]
    method = "transform" if hasattr(one, "transform") else "predict"
    np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(X))


def test_words_that_no_drawn_row_holds_show_nowhere():
    """Of a person with many words only one can be shown, at the chance that delta pays for."""
    X, _, people = rows()
    X["word"] = np.where(people == "p002", [f"rare {each}" for each in range(len(X))], X["word"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Without noise whatever was counted is kept.
        coder = DPTableVectorizer(epsilon=np.inf, max_categories=500).fit(X, groups=people)
    assert sum("rare" in word for word in coder.categories_["word"]) == 1


@pytest.mark.filterwarnings("ignore:epsilon=inf")
def test_people_with_many_rows_count_no_more_than_others():
    X, y, people = rows(n_words=0)
    more = pd.DataFrame({"a": np.full(5000, 77.0), "b": np.full(5000, 77.0)})
    table = (pd.concat([X, more], ignore_index=True), np.append(y, np.ones(5000, int)),
             np.append(people, np.repeat("p000", 5000)))
    scaler = fitted(DPRobustScaler, table, epsilon=np.inf)
    assert np.all(np.abs(scaler.center_) < 1.5)
    model = fitted(DPAdditiveClassifier, table, epsilon=np.inf)
    assert 0.3 < model.predict_proba(X)[:, 1].mean() < 0.7


def test_few_groups_are_warned_of_however_many_rows_there_are():
    X = rows()[0]
    with pytest.warns(PrivacyWarning, match="is weak for n=3 groups"):
        DPStandardScaler(2.0).fit(X[["a"]], groups=np.arange(len(X)) % 3)
