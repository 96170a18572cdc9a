"""Splines of numbers, indicators of categories, and an indicator of what is missing."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder, SplineTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import (
    Certificate,
    DPLogisticRegression,
    DPOneHotEncoder,
    DPSplineTransformer,
    DPTableVectorizer,
    make_dp_pipeline,
)
from dpsk.accounting import Disclosure, Gaussian
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import gaussian_delta, tally
from tests.sklearn_checks import run_check

CODERS = (DPSplineTransformer, DPOneHotEncoder)
_CHECKS = parametrize_with_checks([cls(random_state=seed) for cls in CODERS
                                   for seed in (None, NoiseSeed(0))])
every_coder = pytest.mark.parametrize("cls", CODERS)


def numbers(n=600, seed=0):
    """Return columns of numbers, one with gaps and an atom."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(40, 12, n), "debt": rng.exponential(100, n)})
    X.loc[rng.random(n) < 0.4, "debt"] = 0.0
    X.loc[rng.random(n) < 0.2, "debt"] = np.nan
    return X


def words(n=600, seed=0):
    """Return columns of words, of numbers that are categories, and of flags."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"town": rng.choice(["Linz", "Graz", None], n),
                         "floor": rng.integers(1, 4, n), "lift": rng.random(n) < 0.5})


def fitted(cls, X=None, **params):
    X = (numbers() if cls is DPSplineTransformer else words()) if X is None else X
    return cls(**{"epsilon": 4.0, "delta": 1e-4, "random_state": NoiseSeed(0), **params}).fit(X)


@pytest.mark.covering
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=_CHECKS.kwargs["ids"])
def test_scikit_learns_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


@every_coder
def test_every_parameter_has_its_constraint_declared(cls):
    for name, value in cls().get_params().items():
        cls._constraints[name](name, value)


@pytest.mark.parametrize("cls, name, value", [
    (DPSplineTransformer, "n_knots", 4), (DPSplineTransformer, "missing_indicator", "auto"),
    (DPSplineTransformer, "missing_indicator", ("age",)), (DPTableVectorizer, "missing_indicator",
    1), (DPOneHotEncoder, "n_buckets", 0), (DPOneHotEncoder, "max_categories", 0.5),
    (DPOneHotEncoder, "columns", {"town": []})])
def test_a_bad_value_is_refused_before_rows_are_looked_at(cls, name, value, silent):
    with pytest.raises(ValueError, match=name):
        cls(**{name: value}).fit(object())


@pytest.mark.parametrize("cls, X, params, match", [
    (DPSplineTransformer, words(), {}, "column 'town' is not of numbers"),
    (DPSplineTransformer, numbers(), {"missing_indicator": ["town"]}, "has 'town', which is no"),
    (DPTableVectorizer, words(), {"missing_indicator": ["town"]}, "no column of numbers"),
    (DPOneHotEncoder, words(), {"columns": {"floor": (1, 2, 3)}}, "'floor' has bounds or knots"),
    (DPOneHotEncoder, words(), {"n_buckets": 8, "max_categories": 3}, "n_buckets=8: goes without"),
])
def test_what_does_not_go_with_the_columns_is_refused(cls, X, params, match, silent):
    with pytest.raises(ValueError, match=match) as caught:
        fitted(cls, X, **params)
    assert "Linz" not in str(caught.value)


@pytest.mark.parametrize("make", [pd.DataFrame, np.array])
def test_truths_are_0_and_1_to_splines_as_to_other_transformers_of_numbers(make):
    X = words()[["lift"]]
    found = fitted(DPSplineTransformer, make(X)).transform(make(X))
    # The first and the last knot are 0 and 1.
    np.testing.assert_array_equal(found[:, [0, -1]], np.column_stack([~X["lift"], X["lift"]]))
    assert not found[:, 1:-1].any()


def test_declared_knots_make_scikit_learns_splines(silent):
    knots = np.array([0.0, 10.0, 40.0, 100.0])
    X = np.random.default_rng(0).uniform(-20, 120, (200, 1))
    ours = fitted(DPSplineTransformer, X, columns={0: tuple(knots)})
    theirs = SplineTransformer(degree=1, knots=knots[:, None], extrapolation="constant").fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-6)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.n_features_out_ == theirs.n_features_out_
    assert tally(ours.privacy_.event) == {}


def test_declared_categories_make_scikit_learns_indicators(silent):
    X, known = words()[["town", "floor"]].dropna(), {"town": ["Linz", "Graz"], "floor": [1, 2, 3]}
    ours = fitted(DPOneHotEncoder, X, columns=known)
    theirs = OneHotEncoder(categories=list(known.values()), sparse_output=False).fit(X)
    kept = [name not in ("town_other", "floor_other") for name in ours.get_feature_names_out()]
    np.testing.assert_array_equal(ours.transform(X)[:, kept], theirs.transform(X))
    assert ours.get_feature_names_out()[kept].tolist() == theirs.get_feature_names_out().tolist()
    # What is not among them, and what is missing, is "other".
    rest = ours.transform(pd.DataFrame({"town": ["Rome", None], "floor": [7, 1]}))
    np.testing.assert_array_equal(rest, [[0, 0, 1, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0, 0]])


def test_knots_are_found_in_columns_with_gaps_and_atoms():
    coder = fitted(DPSplineTransformer, n_knots=5, epsilon=20.0)
    assert set(coder.knots_) == {"age", "debt"} and coder.row_norm_ == math.sqrt(2)
    # Two fifths of the rows stand on 0, which is a median of some slice.
    assert np.abs(coder.knots_["debt"]).min() < 1.0
    features = coder.transform(numbers())
    norms = np.linalg.norm(features.astype(np.float64), axis=1)
    assert norms.max() <= coder.row_norm_ and not np.isnan(features).any()


def test_numbers_are_categories_too():
    """A category of a third of the rows is missed at a chance below 1e-9."""
    coder = fitted(DPOneHotEncoder, max_categories=6)
    assert coder.categories_ == {"town": ["Graz", "Linz"], "floor": [1, 2, 3],
                                 "lift": [False, True]}
    features = coder.transform(words())
    np.testing.assert_array_equal(features.sum(axis=1), 3)
    assert coder.row_norm_ == math.sqrt(3)
    array = fitted(DPOneHotEncoder, words()[["floor"]].to_numpy(), max_categories=6)
    assert array.categories_ == {0: [1, 2, 3]}


def test_hashed_categories_cost_nothing(silent):
    coder = fitted(DPOneHotEncoder, n_buckets=5)
    assert tally(coder.privacy_.event) == {}
    assert coder.get_feature_names_out()[:6].tolist() == [
        *(f"town_bucket {k}" for k in range(5)), "town_other"]
    # Whole numbers go by their remainder.
    np.testing.assert_array_equal(coder.transform(words())[:, 6:11].argmax(axis=1),
                                  words()["floor"] % 5)


@every_coder
def test_a_fit_costs_its_budget_and_the_certificate_says_so(cls):
    coder = fitted(cls, **({"max_categories": 6} if cls is DPOneHotEncoder else {}))
    certificate, counts = coder.privacy_, tally(coder.privacy_.event)
    mu = math.sqrt(sum(count * event.mu**2 for event, count in counts.items()
                       if isinstance(event, Gaussian)))
    chance = sum(event.delta for event in counts if isinstance(event, Disclosure))
    assert chance == (pytest.approx(1e-5) if cls is DPOneHotEncoder else 0.0)
    delta = chance + (1.0 - chance) * gaussian_delta(mu, 4.0)
    assert 0.999 * certificate.delta <= delta <= certificate.delta == 1e-4
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert all(hasattr(coder, name) for name in certificate.released)


@every_coder
def test_all_that_a_fit_shows_follows_from_its_releases(cls):
    def shown(X, answers=None):
        with taped(answers) as tape:
            coder = fitted(cls, X, random_state=None)
        return pickle.dumps((vars(coder), coder.privacy_.to_json())), tape

    X = numbers() if cls is DPSplineTransformer else words()
    face, tape = shown(X)
    assert tape.answers
    # Categories that are found are names of the rows' own, so that the same must occur.
    other = X.sample(frac=1.0, random_state=0).reset_index(drop=True)
    if cls is DPSplineTransformer:
        other = 1e6 * other
    assert shown(other, tape.answers)[0] == face


def test_an_indicator_of_missing_numbers_lengthens_no_row():
    X = numbers()
    plain, told = (fitted(DPSplineTransformer, X, missing_indicator=which)
                   for which in (False, ["debt"]))
    assert plain.privacy_.event == told.privacy_.event and told.row_norm_ == plain.row_norm_
    names = told.get_feature_names_out().tolist()
    assert names[-1] == "debt_missing" and "age_missing" not in names
    features = told.transform(X)
    gaps = X["debt"].isna().to_numpy()
    np.testing.assert_array_equal(features[:, -1], gaps)
    debt = features[:, len(told.knots_["age"]):-1]
    np.testing.assert_array_equal(debt[gaps], 0)
    np.testing.assert_allclose(debt[~gaps].sum(axis=1), 1.0, rtol=1e-6)
    assert np.linalg.norm(features, axis=1).max() <= told.row_norm_ * (1 + 1e-7)
    # Declared, never told by the rows.
    filled = fitted(DPSplineTransformer, X.fillna(0.0), missing_indicator=True)
    assert filled.get_feature_names_out()[-1] == "debt_missing"


def test_the_vectorizer_has_the_indicator_too():
    X = numbers().assign(town=words()["town"])
    told = fitted(DPTableVectorizer, X, missing_indicator=True, max_categories=4)
    names = told.get_feature_names_out().tolist()
    assert [name for name in names if "missing" in name] == ["age[missing]", "debt[missing]"]
    column = told.transform(X)[:, names.index("debt[missing]")]
    np.testing.assert_array_equal(column, X["debt"].isna())


@pytest.mark.parametrize("cls, X", [(DPSplineTransformer, numbers()), (DPOneHotEncoder, words())])
def test_they_are_steps_of_a_pipeline_that_knows_their_norm(cls, X):
    y = np.arange(len(X)) % 2
    model = make_dp_pipeline(cls(), DPLogisticRegression(classes=[0, 1]), epsilon=2.0).fit(X, y)
    coder, linear = (step for _, step in model.steps_)
    assert linear.data_norm_ == coder.row_norm_ and coder._whole[0] == 2.0
    assert model.privacy_.delta_at(2.0) <= model.privacy_.delta


@pytest.mark.filterwarnings("ignore:epsilon=inf")
@pytest.mark.parametrize("epsilon", [50.0, np.inf])
def test_ends_of_rounded_numbers_stay_near_them(epsilon):
    """They were at a million, and at -4e12 without noise, as slices between numbers were empty."""
    rounded = np.round(np.random.default_rng(0).normal(size=(5000, 1)))
    knots = DPSplineTransformer(epsilon, random_state=NoiseSeed(0), n_knots=65).fit(
        rounded).knots_[0]
    assert -40.0 < min(knots) < -2.0 and 2.0 < max(knots) < 40.0
