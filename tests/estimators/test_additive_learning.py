"""Additive models learn what plain ones do, and predict what they say."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer

from dpsk import DPAdditiveClassifier, DPAdditiveRegressor, DPGradientBoostingClassifier
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.estimators.raw_tables import LEVELS, TOWNS, curves, fitted, make, table, targets
from tests.events import tally, total_mu
from tests.registry import every_additive_model


def plain_additive(X, final, axes=None):
    """Return an additive model without noise, at given axes of columns or at quantiles."""
    numbers = [name for name in X if X[name].dtype.kind in "if"]
    others = [name for name in X if name not in numbers]
    columns = []
    for name in numbers:
        spline = SplineTransformer(degree=1, n_knots=5, knots="quantile", extrapolation="constant")
        scale = None
        if axes is not None:
            knots, scale = axes[name].knots, axes[name].scale
            spline.set_params(knots=(knots if scale is None else scale(knots))[:, None])
        columns.append((make_pipeline(SimpleImputer(), FunctionTransformer(scale), spline),
                        [name]))
    columns.append((make_pipeline(FunctionTransformer(lambda cells: cells.astype(str)),
                                  OneHotEncoder(handle_unknown="ignore")), others))
    return make_pipeline(make_column_transformer(*columns), final)


def test_with_little_noise_a_classifier_is_about_a_plain_additive_one():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[["mean radius", "mean texture", "mean concavity", "worst area", "worst smoothness"]]
    ours = DPAdditiveClassifier(epsilon=1000.0).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    plain = plain_additive(X, LogisticRegression(max_iter=2000)).fit(X[::2], y[::2])
    assert plain.score(X[1::2], y[1::2]) > 0.93
    assert ours > plain.score(X[1::2], y[1::2]) - 0.04


def test_with_little_noise_a_regressor_is_about_a_plain_additive_one():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X[["bmi", "bp", "s5", "s3"]]
    ours = DPAdditiveRegressor(epsilon=1000.0, target_bounds=(25, 350)).fit(X, y)
    plain = plain_additive(X, LinearRegression()).fit(X, y)
    assert plain.score(X, y) > 0.45 and ours.score(X, y) > plain.score(X, y) - 0.05


@pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")
def test_without_noise_curves_are_no_finer_and_no_steeper_than_a_sample_supports():
    """All whose word is rare are of one class, and few rows are: a fit without end is one that
    tells these apart for certain.
    """
    rng = np.random.default_rng(0)
    X, test = (pd.DataFrame(rng.normal(size=(n, 6))).assign(
        word=np.where(np.arange(n) % 100 == 0, "rare", "usual")) for n in (1500, 4000))
    X.columns = test.columns = [f"x{place}" for place in range(6)] + ["word"]

    def labels(rows):
        return (rows["x0"] + rng.logistic(size=len(rows)) > 3.0) & (rows["word"] == "usual")

    y, wanted = labels(X).to_numpy(), labels(test).to_numpy()
    losses = {}
    for epsilon in (100.0, np.inf):
        model = DPAdditiveClassifier(epsilon, random_state=NoiseSeed(0)).fit(X, y)
        losses[epsilon] = log_loss(wanted, model.predict_proba(test))
    assert losses[np.inf] < min(1.02 * losses[100.0], log_loss(wanted, np.full(
        len(wanted), wanted.mean())))
    assert np.abs(model.term_coef_).max() < 5.0
    assert all(len(axis.knots) < 9 for axis, _ in curves(model).values() if axis.knots is not None)


def test_a_table_with_words_and_gaps_is_learnt_at_a_budget_of_two():
    """Curves that no line is: a plain model of lines has an accuracy of .66 here."""
    X = table(4000)
    y = targets(DPAdditiveClassifier, X)
    model = DPAdditiveClassifier(epsilon=2.0).fit(X, y)
    test = table(2000, seed=2)
    labels = targets(DPAdditiveClassifier, test, seed=2)
    plain = plain_additive(X, LogisticRegression(max_iter=2000)).fit(X, y)
    assert plain.score(test, labels) > 0.85
    assert model.score(test, labels) > 0.8
    axis, values = curves(model)["number"]
    # High at both ends, low in the middle.
    low, middle, high = axis.interpolate([-1.5, 0.0, 1.5], values)
    assert low > middle < high
    axis, values = curves(model)["town"]
    # What is missing counts as what was not found, which is hashed.
    assert axis.categories[:2] == TOWNS and values[0] > values[1]


def test_without_noise_it_is_the_plain_fit_at_its_knots():
    """With the penalty of a sample."""
    X = table(300, gap=0.0)
    y = targets(DPAdditiveRegressor, X)
    with pytest.warns(PrivacyWarning, match="not private"):
        model = DPAdditiveRegressor(epsilon=np.inf, n_knots=5, interactions=0).fit(X, y)
    assert curves(model)["town"][0].categories == TOWNS and not model.privacy_.delta_at(100.0) < 1
    axes = {name: axis for name, (axis, _) in curves(model).items()}
    plain = plain_additive(X, Ridge(alpha=0.3), axes).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=2e-3)


@every_additive_model
def test_what_is_unseen_or_missing_is_predicted_by_what_is_left(cls):
    model = fitted(cls, interactions=0)
    X = table(8, seed=3).assign(flag=True)
    X["level"] = pd.Series(["low"] * 8, dtype=LEVELS)
    known = {"number": 0.0, "count": 2, "town": "north"}

    def check_shift(shift, **cells):
        raw, limits = ((model.decision_function, (-np.inf, np.inf)) if is_classifier(model)
                       else (model.predict, model.target_bounds_))
        # A regressor's predictions end at its bounds, which curves of few rows can pass.
        expected = np.clip(raw(X.assign(**known)) + shift, *limits)
        np.testing.assert_allclose(raw(X.assign(**{**known, **cells})), expected, atol=1e-4)

    values = curves(model)["town"][1]
    for town in ("west", None, 3.5, np.nan):
        check_shift(values[-1] - values[0], town=pd.Series([town] * 8, dtype=object))
    axis, values = curves(model)["number"]
    before = axis.interpolate(0.0, values)
    check_shift(-before, number=np.nan)
    check_shift(values[-1] - before, number=1e300)


def test_weights_of_classes_and_rows_move_predictions():
    X = table(600)
    y = targets(DPAdditiveClassifier, X)
    share = [(make(DPAdditiveClassifier, epsilon=200.0, class_weight=weight).fit(X, y).predict(X)
              == "yes").mean() for weight in ({"yes": 0.02}, {"no": 0.02})]
    # Shares move by .24 and .29, give or take .01 by noise.
    assert share[0] + 0.1 < (y == "yes").mean() < share[1] - 0.1
    weights = np.where(y == "yes", 0.02, 1.0)
    model = make(DPAdditiveClassifier, epsilon=200.0).fit(X, y, sample_weight=weights)
    assert (model.predict(X) == "yes").mean() < share[1] - 0.2
    with pytest.raises(ValueError, match="class_weight='even'"):
        make(DPAdditiveClassifier, class_weight="even").fit(X, y)


def n_knots(model):
    return [len(term.axes[0].knots) for term in model.terms_ if len(term.axes) == 1]


def shared(share, n=20_000, n_columns=2):
    """Return rows of some columns, of which a share is of the second class."""
    rng = np.random.default_rng(0)
    y = np.zeros(n, dtype=int)
    y[:int(share * n)] = 1
    return rng.normal(size=(n, n_columns)) + y[:, None], y


@pytest.mark.thorough
@pytest.mark.parametrize("rare_class", [0, 1])
def test_a_rare_class_has_fewer_knots_and_two_intervals_at_least(rare_class):
    """False-alarm rate below 1e-9: rows of few knots end 8 deviations of their count away."""
    found = []
    for share in (0.5, 0.2, 0.005):
        X, y = shared(share, n=60_000, n_columns=6)
        found.append(n_knots(DPAdditiveClassifier(
            epsilon=0.5, delta=1e-6, classes=[0, 1], interactions=0).fit(
                X, abs(rare_class - 1 + y))))
    assert found == [[9] * 6, [9] * 6, [3] * 6]


@pytest.mark.parametrize(("share", "interactions", "chosen"), [
    (0.5, "auto", True), (0.04, "auto", False), (0.04, 1, True)])
def test_no_pairs_are_looked_for_by_default_where_a_class_is_rare(share, interactions, chosen):
    rng = np.random.default_rng(0)
    flags, number = rng.integers(0, 2, (2, 20_000)), rng.normal(size=20_000)
    y = rng.random(20_000) < 2.0 * share * (flags[0] == flags[1])
    X = pd.DataFrame({"a": flags[0], "b": flags[1], "number": number})
    model = DPAdditiveClassifier(8.0, columns={"a": [0, 1], "b": [0, 1]}, classes=[0, 1],
                                 interactions=interactions, random_state=NoiseSeed(0)).fit(
                                     X, y.astype(int))
    pairs = [[axis.column for axis in term.axes] for term in model.terms_]
    assert (["a", "b"] in pairs) == chosen


@pytest.mark.covering(most=1)
@pytest.mark.parametrize(("n", "classes", "counts"), [
    (20_000, [0, 1], 1), (20_000, [0, 1, 2], 0), (400, [0, 1], 0)])
def test_classes_are_counted_where_knots_follow_from_them_and_nowhere_else(n, classes, counts):
    X, y = shared(0.3, n)

    def fitted_with(**params):
        model = DPAdditiveClassifier(epsilon=1.0, delta=1e-6, classes=classes, interactions=0,
                                     **params).fit(X, y)
        return n_knots(model)[0], sum(tally(model.privacy_.verify().event).values())

    knots, events = fitted_with()
    again, fewer = fitted_with(n_knots=knots)
    assert again == knots and events - fewer == counts


@every_additive_model
def test_a_new_or_missing_category_has_the_mean_of_those_that_rows_had(cls):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"channel": rng.choice(list("abcd"), 3000)})
    params = {"classes": [0, 1]} if is_classifier(cls()) else {"target_bounds": (0, 1)}
    model = cls(epsilon=4.0, columns={"channel": list("abcd")}, random_state=NoiseSeed(1),
                **params).fit(X, rng.integers(0, 2, 3000))
    known = model._predict_raw(pd.DataFrame({"channel": list("abcd")}))
    for other in ("new", None):
        assert known.min() < model._predict_raw(pd.DataFrame({"channel": [other]})) < known.max()


def test_a_rare_class_is_learnt_from_its_odds_at_the_price_of_any_other():
    """Seeds whose noise momentum had made much of: areas were .75 on average, and are .777."""
    rng, n = np.random.default_rng(0), 40_000
    X = pd.DataFrame(rng.uniform(-1, 1, (2 * n, 6)), columns=list("abcdef"))
    rare = (rng.random(2 * n) < expit(2.0 * X["a"] + X["b"] - 4.4)).astype(int)
    areas, costs = [], []
    for seed, y in [*((seed, rare) for seed in (5, 7, 11, 12)), (5, (X["a"] > 0.0).astype(int))]:
        model = DPAdditiveClassifier(0.5, delta=1e-6, columns=dict.fromkeys(X, (-1, 1)),
                                     classes=[0, 1], interactions=0,
                                     random_state=NoiseSeed(seed)).fit(X[:n], y[:n])
        areas.append(roc_auc_score(rare[n:], model.decision_function(X[n:])))
        costs.append([total_mu(each) for each in model.privacy_.event.events])
    assert np.mean(areas[:-1]) > 0.765
    np.testing.assert_allclose(costs[1:], costs[:-1], rtol=1e-5)


def test_descent_from_other_odds_has_other_noise():
    """Of two starts on one table the same noise would give away how gradients differ."""
    rng = np.random.default_rng(0)
    X, y = rng.random((20_000, 2)), (rng.random(20_000) < 0.006).astype(int)
    steps = []
    for constrained in (None, {0: 1}):
        with taped() as tape:
            DPAdditiveClassifier(3.0, delta=1e-6, columns=dict.fromkeys(
                range(2), tuple(np.linspace(0.0, 1.0, 5))), classes=[0, 1], interactions=0,
                monotonic_cst=constrained, random_state=NoiseSeed(7)).fit(X, y)
        # After counts of classes and second moments.
        steps.append((tape.totals[2][0], tape.noise[2]))
    (totals, noise), (others, other_noise) = steps
    assert totals.shape == others.shape and not np.array_equal(totals, others)
    assert not np.any(noise == other_noise)


@pytest.mark.parametrize("cls", [DPAdditiveClassifier, DPGradientBoostingClassifier])
def test_hash_buckets_without_rows_are_not_important(cls):
    """Most buckets have no rows, as there are two words, which say nothing; seeds are fixed."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 6000), "x": rng.uniform(size=6000)})
    y = rng.random(6000) < 0.15 * X["x"]
    shares = []
    for seed in range(6):
        model = cls(epsilon=2.0, columns={"x": (0.0, 1.0)}, classes=[False, True],
                    random_state=NoiseSeed(seed)).fit(X, y)
        start = getattr(model, "init_", model)
        assert len(start.terms_[0].axes[0].categories) > start.terms_[0].axes[0].n_named == 2
        shares.append(start.feature_importances_[0])
    assert np.mean(shares) < 0.2
