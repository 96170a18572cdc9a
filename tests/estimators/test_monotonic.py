"""Monotonic constraints of additive models and gradient boosting: kept exactly, at no cost."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from dpsk import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPGradientBoostingClassifier,
    DPGradientBoostingRegressor,
)
from dpsk.testing import NoiseSeed
from tests.estimators.raw_tables import table, targets

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(600, 3))
X[::9, 0] = np.nan
#: It goes against constraints in places.
SIGNAL = np.nan_to_num(X[:, 0]) * (X[:, 1] - 2.0) + X[:, 2]
GRID = np.linspace(-4.0, 4.0, 101)
#: Of other columns.
PLACES = np.array([(-1.0, 0.3, -0.5), (np.nan, -0.7, 2.0), (1.5, 2.0, 0.1)])
_KINDS = {
    "additive classes": (DPAdditiveClassifier, {}),
    "additive targets": (DPAdditiveRegressor, {}),
    "classes": (DPGradientBoostingClassifier, {"max_iter": 15, "max_depth": 8}),
    "targets": (DPGradientBoostingRegressor, {"max_iter": 15}),
    "classes of bins": (DPGradientBoostingClassifier, {"init": None, "max_iter": 30}),
    "stumps of bins": (DPGradientBoostingRegressor, {
        "init": None, "max_depth": 1, "max_iter": 30})}
every_class = pytest.mark.parametrize("cls", [
    DPAdditiveClassifier, DPAdditiveRegressor, DPGradientBoostingClassifier,
    DPGradientBoostingRegressor])


def fitted(cls, rows=X, **params):
    y = SIGNAL if not is_classifier(cls()) else np.where(SIGNAL > 0, "yes", "no")
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-5.0, 5.0)}
    return cls(**{"epsilon": 8.0, "delta": 1e-4, "random_state": NoiseSeed(0), **bounds,
                  **params}).fit(rows, y)


def falls(model, column, sign):
    """Return how far predictions go the wrong way at most from one number to the next."""
    found = []
    for place in PLACES:
        rows = np.repeat(place[None], len(GRID), axis=0)
        rows[:, column] = GRID
        rows = pd.DataFrame(rows, columns=getattr(model, "feature_names_in_", None))
        raw = (model.predict_proba(rows)[:, 1] if is_classifier(model) else model.predict(rows))
        found.append(-(sign * np.diff(raw)).min())
    return max(found)


@pytest.mark.parametrize("kind", _KINDS)
def test_predictions_follow_constraints_at_any_noise(kind):
    cls, params = _KINDS[kind]
    model = fitted(cls, monotonic_cst=[1, 0, -1], **params)
    assert max(falls(model, 0, 1), falls(model, 2, -1)) < 1e-12
    free = fitted(cls, **params)
    assert max(falls(free, 0, 1), falls(free, 2, -1)) > 1e-3
    assert free.privacy_.event == model.privacy_.event


@every_class
def test_names_and_positions_say_the_same(cls):
    frame = pd.DataFrame(X, columns=list("abc"))
    one, other = (fitted(cls, frame, monotonic_cst=given, random_state=0)
                  for given in ({"a": 1, "c": -1}, np.array([1, 0, -1])))
    assert max(falls(each, 0, 1) for each in (one, other)) < 1e-12


@every_class
@pytest.mark.parametrize("given, match", [
    ([1, 0], "monotonic_cst of length 2"), ({"nowhere": 1}, "nowhere"),
    ({"town": 1}, "'town', a column of categories")])
def test_what_cannot_be_kept_is_refused_before_anything_is_drawn(cls, given, match, silent):
    rows = table()
    with pytest.raises(ValueError, match=match):
        cls(monotonic_cst=given).fit(rows, targets(cls, rows))


@pytest.mark.parametrize("cls", [DPAdditiveClassifier, DPGradientBoostingClassifier])
def test_more_than_two_classes_are_refused(cls, silent):
    with pytest.raises(ValueError, match=r"monotonic_cst.*two classes"):
        cls(monotonic_cst=[1, 0, 0]).fit(X, np.arange(len(X)) % 3)


def test_constrained_columns_have_no_products(silent):
    with pytest.raises(ValueError, match="interactions has a column of monotonic_cst"):
        DPAdditiveRegressor(monotonic_cst=[1, 0, 0], interactions=[(0, 1)]).fit(X, SIGNAL)


def test_pairs_are_chosen_among_other_columns():
    model = fitted(DPAdditiveRegressor, monotonic_cst=[0, 0, 1], interactions=3)
    pairs = [{axis.column for axis in term.axes} for term in model.terms_ if len(term.axes) == 2]
    assert pairs in ([], [{0, 1}])


@pytest.mark.thorough
def test_the_noise_of_curves_is_that_of_curves_that_keep_constraints():
    """The ratio in the middle is .47 with a deviation of .07: eight from the bound."""
    ratios = []
    for _ in range(8):
        free, kept = (fitted(DPAdditiveRegressor, monotonic_cst=given, interactions=0).terms_[2]
                      for given in (None, [0, 0, -1]))
        assert np.ptp(kept.values) < 0.5 * np.ptp(free.values)
        ratios.append(kept.std[2] / free.std[2])
    assert np.nanmean(ratios) < 1.0
