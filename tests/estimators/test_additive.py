"""Additive models: raw tables in, curves out, and nothing else."""

import inspect
import math
import pickle
import warnings
from collections import Counter
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import Certificate, DPAdditiveClassifier, DPAdditiveRegressor, _fit
from dpsk._privacy import accountant
from dpsk._privacy.events import Disclosure, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import streams
from dpsk._privacy.noise.streams import KeyedStream
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.registry import ADDITIVE, every_additive_model

SECRET, SECRET_WORD = 31337.25, "Secretville"
TOWNS = ["north", "south"]
LEVELS = pd.CategoricalDtype(["low", "high"])
_WEIGHTS = ("n is public, divides every sum and sets the noise: a row of weight 2 is one row, "
            "not two, and a row of weight 0 is not removed")
_STEPS = "the check sets max_iter, of which there is none to choose"
_REPEATS = {"check_classifier_data_not_an_array", "check_regressor_data_not_an_array",
            "check_supervised_y_2d", "check_regressors_int", "check_fit_idempotent"}


def table(n=200, seed=0, gap=0.1):
    """Return a table of numbers with gaps, words, categories and flags."""
    rng = np.random.default_rng(seed)
    number = rng.normal(size=n)
    number[rng.random(n) < gap] = np.nan
    town = pd.Series(rng.choice(TOWNS, size=n), dtype=object)
    town[rng.random(n) < gap] = None
    return pd.DataFrame({
        "number": number, "count": rng.poisson(3.0, size=n), "town": town,
        "level": pd.Series(rng.choice(["low", "high"], size=n), dtype=LEVELS),
        "flag": rng.random(n) < 0.5})


def targets(cls, X, seed=0):
    """Return targets that follow the distance of a number from 0, and the town."""
    rng = np.random.default_rng([seed, 1])
    signal = (np.abs(X["number"].fillna(2.0)) - 0.7 + 0.8 * (X["town"] == "north")
              - 0.4 * (X["flag"]) + 0.2 * rng.normal(size=len(X))).to_numpy()
    return np.where(signal > 0, "yes", "no") if is_classifier(cls()) else signal


def make(cls, **params):
    bounds = {} if is_classifier(cls()) else {"target_bounds": (-2.0, 3.0)}
    return cls(**{"epsilon": 20.0, "delta": 1e-4, **bounds, **params})


def curves(model):
    """Return the terms of single columns: from names to axes and values."""
    return {term.axes[0].column: (term.axes[0], term.values) for term in model.terms_
            if len(term.axes) == 1}


def fitted(cls, **params):
    X = table()
    return make(cls, **params).fit(X, targets(cls, X))


@pytest.fixture
def silent(monkeypatch):
    """Fail where noise is drawn."""
    for stream in (streams.EntropyStream, streams.KeyedStream):
        monkeypatch.setattr(stream, "words", lambda self, count: pytest.fail("noise was drawn"))


def _expected(estimator):
    return {"check_sample_weight_equivalence_on_dense_data": _WEIGHTS}


_CHECKS = parametrize_with_checks(
    [cls(random_state=seed) for cls in ADDITIVE.values() for seed in (NoiseSeed(0), None)],
    expected_failed_checks=_expected)


def _marked(case):
    values, marks = getattr(case, "values", case), getattr(case, "marks", ())
    estimator, check = values
    more = ()
    if estimator.random_state is None:
        # With fresh noise, what the same check has seen with noise that repeats.
        more = (pytest.mark.audit,)
        if check.func.__name__ in _REPEATS:
            more = (*more, pytest.mark.skip(reason="wants one int to repeat the noise"))
    return pytest.param(*values, marks=(*marks, *more))


def _set_noise_seed(estimator, random_state=0):
    estimator.set_params(random_state=NoiseSeed(random_state))


@pytest.mark.parametrize(_CHECKS.args[0], list(map(_marked, _CHECKS.args[1])), **_CHECKS.kwargs)
def test_scikit_learn_checks(estimator, check, monkeypatch):
    if estimator.random_state is not None:
        # The checks set an int, under which noise is fresh: the seed would be lost.
        monkeypatch.setattr(estimator_checks, "set_random_state", _set_noise_seed)
    check(estimator)


_BAD = {
    "epsilon": [0, -1.0, math.nan, "1", None, True],
    "delta": [0, 0.0, -1e-9, 1.0, math.nan, "auto"],
    "columns": [["town"], {"town": 3}, {"town": []}, {"town": ["a", "a"]}, {0: (1, 0)},
                {0: (0, math.nan)}, {0: (1.0,)}],
    "n_knots": [0, 1, 4, 6, 258, 3.0, "many", None, True],
    "max_categories": [0, -1, 1.5, "all", True],
    "interactions": [-1, 1.5, "all", None, True, [("a",)], [("a", "a")], ("a", "b")],
    "random_state": [-1, 1.5, "seed", np.random.default_rng(0)],
    "verbose": ["yes", -1, None]}
every_bad_value = pytest.mark.parametrize("name, value", [
    (name, value) for name, values in _BAD.items() for value in values])


@every_additive_model
@every_bad_value
def test_a_bad_value_is_refused_before_rows_are_looked_at(cls, name, value, silent):
    with pytest.raises(ValueError, match=name):
        cls(**{name: value}).fit(object(), None)


@every_additive_model
def test_every_parameter_has_its_constraint_declared(cls):
    known = cls().get_params()
    assert set(known) - set(cls._constraints) <= {"classes", "class_weight", "target_bounds"}
    assert all(f"\n{name}" in inspect.getdoc(cls) for name in known)
    assert "solver" not in known and "data_norm" not in known


@every_additive_model
@pytest.mark.parametrize("value", ["one", 3.5])
def test_targets_that_are_refused_are_so_before_anything_is_drawn(cls, value, silent):
    X = table()
    y = np.full(len(X), value) if is_classifier(cls()) else np.full(len(X), "one")
    with pytest.raises(ValueError):
        make(cls).fit(X, y)


@every_additive_model
def test_columns_that_are_not_there_are_refused(cls, silent):
    X = table()
    with pytest.raises(ValueError, match="interactions has 'age', which is no column"):
        make(cls, interactions=[("age", "town")]).fit(X, targets(cls, X))
    with pytest.raises(ValueError, match="columns has 'age', which is no column"):
        make(cls, columns={"age": (0, 1)}).fit(X, targets(cls, X))


@every_additive_model
def test_terms_add_up_to_the_raw_prediction(cls):
    X = table()
    y = targets(cls, X)
    model = make(cls, columns={"count": (0.0, 2.0, 5.0)},
                 interactions=[("number", "town"), ("flag", "level")]).fit(X, y)
    raw = np.full(len(X), np.ravel(model.intercept_)[0])
    for term in model.terms_:
        assert term.values.shape == tuple(
            len(axis.knots) if axis.categories is None else len(axis.categories) + 1
            for axis in term.axes)
        weights = [shares(axis, X[axis.column]) for axis in term.axes]
        raw += (np.einsum("ij,ik,jk->i", *weights, term.values) if len(weights) == 2 else
                weights[0] @ term.values)
    shown = model.decision_function(X) if is_classifier(cls()) else model.predict(X)
    # Features have single precision.
    np.testing.assert_allclose(shown, raw, atol=1e-5 * np.abs(raw).max())
    axes = [term.axes[0] for term in model.terms_[:5]]
    assert [axis.column for axis in axes] == list(X.columns)
    assert axes[1].knots.tolist() == [0.0, 2.0, 5.0]
    assert axes[3].categories == ["low", "high"] and axes[4].categories == [False, True]
    # In the order of columns.
    assert [[axis.column for axis in term.axes] for term in model.terms_[5:]] == [
        ["number", "town"], ["level", "flag"]]
    assert sum(term.values.size for term in model.terms_) == np.shape(model.coef_)[-1]


def shares(axis, cells):
    """Return how much of every cell is at every place of an axis."""
    if axis.categories is not None:
        places = {cell: place for place, cell in enumerate(axis.categories)}
        return np.eye(len(places) + 1)[[places.get(cell, -1) for cell in cells]]
    numbers, unit = cells.to_numpy(float), np.eye(len(axis.knots))
    hats = np.stack([np.interp(numbers, axis.knots, each) for each in unit], axis=1)
    return np.where(np.isnan(numbers)[:, None], 0.0, hats)


def test_terms_of_several_classes_have_a_value_each():
    X = table()
    y = np.resize(["a", "b", "c"], len(X))
    model = make(DPAdditiveClassifier).fit(X, y)
    assert [term.values.shape[1] for term in model.terms_] == [3] * 5
    axis, values = curves(model)["number"]
    low, high = (model.decision_function(X.assign(number=axis.knots[end])) for end in (0, -1))
    np.testing.assert_allclose(high - low, np.tile(values[-1] - values[0], (len(X), 1)),
                               atol=1e-4)


@every_additive_model
def test_a_fit_costs_its_budget_and_the_certificate_says_so(cls):
    ledgers = []

    class Kept(Ledger):
        def __init__(self, plan):
            super().__init__(plan)
            ledgers.append(self)

    with mock.patch.object(_fit, "Ledger", Kept), taped() as tape:
        model = fitted(cls, epsilon=2.0)
    certificate = model.privacy_
    assert sum((tally(ledger.spent) for ledger in ledgers), Counter()) == tally(certificate.event)
    assert 0.99 * certificate.delta <= certificate.delta_at(2.0) <= certificate.delta == 1e-4
    # Noise of every answer is that of its price.
    (words,) = [event for event in tally(certificate.event) if isinstance(event, Disclosure)]
    assert words.delta == pytest.approx(0.1 * certificate.delta)
    assert all(part.scales[1] > 0 for parts in tape.parts for part in parts)
    assert Certificate.from_json(certificate.to_json()) == certificate
    bounds = {each.name: each for each in certificate.enforced}
    assert bounds["data_norm"].value == pytest.approx(math.sqrt(5))
    assert bounds["features of a column"].value == 1.0
    assert {"coef_", "intercept_", "terms_"} <= set(certificate.released)
    attributes = inspect.getdoc(cls).partition("Attributes")[2].partition("Raises")[0]
    shown = {name for name in vars(model) if name.endswith("_")}
    assert all(f"\n{name} :" in attributes for name in shown | {"terms_"})
    assert "with the categories that these hold" in str(certificate)


@pytest.mark.parametrize("interactions", [0, 1, [("number", "town")]])
def test_prices_follow_from_public_facts_alone(interactions):
    """Knots and categories are one plan; a step costs the same whatever is in it."""
    plans, costs = set(), []
    for seed in range(3):
        X = table(seed=seed, gap=0.3 * seed)
        event = make(DPAdditiveClassifier, interactions=interactions).fit(
            X, np.resize(["no", "yes"], len(X))).privacy_.event
        plans.add(repr(event.events[0]))
        costs.append([accountant.merge(each).mu for each in event.events])
    assert len(plans) == 1
    np.testing.assert_allclose(costs[1:], costs[:-1], rtol=1e-5)


def variants(X):
    """Yield tables of the same public facts: none of their differences may show by itself.

    Words that sort behind those of X leave their positions alone.
    """
    n = len(X)
    yield "other", table(n, seed=1)
    yield "huge", X.assign(number=1e300, count=np.iinfo(np.int64).max)
    yield "constant", X.assign(number=0.0, count=0)
    yield "missing", X.assign(number=np.nan)
    rare = [*TOWNS, *(f"town {each}" for each in range(n - 2))]
    yield "rare words", X.assign(town=pd.Series(rare, dtype=object))
    yield "other types", X.assign(town=pd.Series([*TOWNS, *["town"] * (n - 2)], dtype=object))
    yield "unknown words", X.assign(town=pd.Series([*TOWNS, *[None] * (n - 2)], dtype=object))
    yield "levels", X.assign(level=pd.Series([None] * n, dtype=LEVELS), flag=True)


@every_additive_model
@pytest.mark.parametrize("interactions", [0, 2])
def test_all_that_a_fit_shows_follows_from_its_releases(cls, interactions, capsys):
    """What releases answered for one table, handed back in a fit to another."""
    X = table()
    public = table(9, seed=7)
    params = {"random_state": 0, "verbose": 1, "interactions": interactions}
    if is_classifier(cls()):
        params["classes"] = ["no", "yes"]

    def shown(X, y, answers=None):
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            model = make(cls, **params).fit(X, y)
        printed = capsys.readouterr()
        faces = {"printed": printed.out, "errors": printed.err,
                 "warned": [str(one.message) for one in warned],
                 "certificate": model.privacy_.to_json(), "page": model.privacy_._repr_html_(),
                 "events": tape.events, "attributes": list(vars(model)),
                 "predictions": model.predict(public).tolist(),
                 "terms": pickle.dumps(model.terms_),
                 # How many counts there are follows the rows, and noise hides them all.
                 "scales": [each for each in tape.public if len(each) == 2]}
        faces |= {name: pickle.dumps(value) for name, value in vars(model).items()}
        return faces, tape, model

    y = targets(cls, X)
    faces, tape, model = shown(X, y)
    assert faces["printed"] and curves(model)["town"][0].categories == TOWNS
    ends = np.roll(y, 3) if is_classifier(cls()) else np.full(len(y), 1e9)
    for name, other in variants(X):
        for labels in (y, ends):
            found, _, _ = shown(other, labels, tape.answers)
            assert [face for face in faces if faces[face] != found[face]] == [], name
    assert shown(table(seed=1), y)[0]["coef_"] != faces["coef_"]


@every_additive_model
@pytest.mark.parametrize("random_state", [None, NoiseSeed(3)])
def test_cells_are_not_in_the_pickle_but_for_categories_that_were_released(cls, random_state):
    X = table()
    y = targets(cls, X)
    X.loc[5, "number"] = SECRET
    X["town"] = X["town"].astype(object)
    X.loc[5, "town"] = SECRET_WORD
    X.loc[6, "town"] = SECRET
    model = make(cls, random_state=random_state).fit(X, y)
    for data in (pickle.dumps(model), pickle.dumps(model.terms_), str(model.privacy_).encode()):
        assert SECRET_WORD.encode() not in data and b"31337" not in data
        assert np.float64(SECRET).tobytes() not in data
        assert np.float64(SECRET).byteswap().tobytes() not in data
    assert curves(model)["town"][0].categories == TOWNS
    # Without noise all that occur are released.
    with pytest.warns(PrivacyWarning):
        exact = make(cls, epsilon=np.inf).fit(X, y)
    assert SECRET_WORD.encode() in pickle.dumps(exact)


@every_additive_model
def test_nothing_of_the_size_of_the_table_is_kept(cls):
    X = table(211)
    X["town"] = np.where(np.arange(211) < 90, "north", np.char.mod("t%d", np.arange(211)))
    model = make(cls).fit(X, targets(cls, X))
    for name, value in vars(model).items():
        arrays = [value] if isinstance(value, np.ndarray) else []
        assert all(211 not in each.shape and each.size < 2000 for each in arrays), name
    assert len(pickle.dumps(model)) < 40_000


@every_additive_model
@pytest.mark.parametrize("cell", [[SECRET_WORD], (SECRET,), pd.Timestamp("2020-01-01"), 1j])
def test_cells_that_are_refused_are_not_quoted(cls, cell, silent):
    X = table()
    y = targets(cls, X)
    town = X["town"].astype(object).tolist()
    town[3] = cell
    with pytest.raises(ValueError, match="column 'town'") as caught:
        make(cls).fit(X.assign(town=pd.Series(town, dtype=object)), y)
    said = str(caught.value)
    assert SECRET_WORD not in said and "31337" not in said and "2020" not in said
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@every_additive_model
def test_a_seed_repeats_a_fit_whatever_the_container_and_an_int_does_not(cls):
    def trained(**params):
        model = fitted(cls, **params)
        return pickle.dumps([np.round(model.coef_, 12), np.round(model.intercept_, 12)])

    assert trained(random_state=NoiseSeed(0)) == trained(random_state=NoiseSeed(0))
    assert trained(random_state=NoiseSeed(0)) != trained(random_state=NoiseSeed(1))
    assert trained(random_state=0) != trained(random_state=0)


@every_additive_model
def test_fits_are_the_same_whatever_errors_are_set_to_raise(cls):
    X = table()
    y = targets(cls, X)
    X.loc[:40, "number"] = np.resize([0.0, 5e-324, 1e-300, 1e160, -1.7e308, np.nan], 41)

    def outcome():
        with mock.patch.object(_fit, "open_stream", lambda *_: KeyedStream(b"0123456789abcdef")):
            model = make(cls).fit(X, y)
        return model.coef_.tobytes(), model.predict(X).tobytes()

    calm = outcome()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PrivacyWarning)
        assert outcome() == calm


def plain_additive(X, final, knots=None):
    """Return an additive model without noise, at given knots of columns or at quantiles."""
    numbers = [name for name in X if X[name].dtype.kind in "if"]
    others = [name for name in X if name not in numbers]
    columns = []
    for name in numbers:
        spline = SplineTransformer(degree=1, n_knots=5, knots="quantile", extrapolation="constant")
        if knots is not None:
            spline.set_params(knots=knots[name][:, None])
        columns.append((make_pipeline(SimpleImputer(), spline), [name]))
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
    low, middle, high = np.interp([-1.5, 0.0, 1.5], axis.knots, values)
    assert low > middle < high
    axis, values = curves(model)["town"]
    assert axis.categories == TOWNS and values[0] > values[1]


def test_without_noise_it_is_the_plain_fit_at_its_knots():
    X = table(300, gap=0.0)
    y = targets(DPAdditiveRegressor, X)
    with pytest.warns(PrivacyWarning, match="not private"):
        model = DPAdditiveRegressor(epsilon=np.inf, n_knots=5, interactions=0).fit(X, y)
    assert curves(model)["town"][0].categories == TOWNS and not model.privacy_.delta_at(100.0) < 1
    knots = {name: axis.knots for name, (axis, _) in curves(model).items()}
    plain = plain_additive(X, LinearRegression(), knots).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=2e-3)


@every_additive_model
def test_what_is_unseen_or_missing_is_predicted_by_what_is_left(cls):
    model = fitted(cls, interactions=0)
    X = table(8, seed=3).assign(flag=True)
    X["level"] = pd.Series(["low"] * 8, dtype=LEVELS)
    raw = model.decision_function if is_classifier(cls()) else model.predict
    known = raw(X.assign(number=0.0, count=2, town="north"))
    for town in ("west", None, 3.5, np.nan):
        cells = pd.Series([town] * 8, dtype=object)
        shift = raw(X.assign(number=0.0, count=2, town=cells)) - known
        values = curves(model)["town"][1]
        np.testing.assert_allclose(shift, values[-1] - values[0], atol=1e-4)
    axis, values = curves(model)["number"]
    before = np.interp(0.0, axis.knots, values)
    shift = raw(X.assign(number=np.nan, count=2, town="north")) - known
    np.testing.assert_allclose(shift, -before, atol=1e-4)
    far = raw(X.assign(number=1e300, count=2, town="north")) - known
    np.testing.assert_allclose(far, values[-1] - before, atol=1e-4)


@every_additive_model
def test_names_are_set_and_wanted(cls):
    model = fitted(cls)
    X = table()
    assert model.n_features_in_ == 5 and model.feature_names_in_.tolist() == list(X.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[X.columns[::-1]])


@every_additive_model
@pytest.mark.parametrize("kind", ["array", "list", "objects"])
def test_other_containers_are_read_alike(cls, kind):
    X = table()
    y = targets(cls, X)
    cells = X[["number", "count", "town"]].astype(object).to_numpy()
    cells = cells.tolist() if kind == "list" else cells
    columns = {2: TOWNS}
    if kind == "array":
        cells, columns = cells[:, :2].astype(float), None
    model = make(cls, columns=columns).fit(cells, y)
    assert list(curves(model)) == list(range(model.n_features_in_))
    assert model.predict(cells[:3]).shape == (3,)


@every_additive_model
def test_copies_keep_parameters_and_drop_the_fit(cls):
    model = fitted(cls, epsilon=7.0, n_knots=3)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "privacy_")
    again, X = pickle.loads(pickle.dumps(model)), table(9)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@every_additive_model
def test_a_fit_can_be_repeated_on_another_table(cls):
    model, X = fitted(cls), table(80)[["count", "flag"]]
    y = targets(cls, table(80))
    model.fit(X, y)
    assert list(curves(model)) == ["count", "flag"]
    assert model.predict(X).shape == (80,)


@every_additive_model
def test_wrappers_of_scikit_learn_take_them(cls):
    X = table(90)
    y = targets(cls, X)
    search = GridSearchCV(make(cls), {"epsilon": [4.0, 8.0], "n_knots": ["auto", 3]}, cv=2)
    assert search.fit(X, y).predict(X).shape == (90,)
    assert cross_val_predict(make_pipeline(make(cls)), X, y, cv=2).shape == (90,)
    bagging = BaggingClassifier if is_classifier(cls()) else BaggingRegressor
    numbers = X[["number", "count"]].to_numpy()
    assert bagging(make(cls), 2, random_state=0).fit(numbers, y).predict(numbers).shape == (90,)


def test_probabilities_can_be_calibrated():
    X = table(120)
    y = targets(DPAdditiveClassifier, X)
    model = CalibratedClassifierCV(make(DPAdditiveClassifier), cv=2).fit(X, y)
    assert model.predict_proba(X).shape == (120, 2)


def test_weights_of_classes_and_rows_move_predictions():
    X = table(600)
    y = targets(DPAdditiveClassifier, X)
    share = [(make(DPAdditiveClassifier, epsilon=200.0, class_weight=weight).fit(X, y).predict(X)
              == "yes").mean() for weight in ({"yes": 0.02}, {"no": 0.02})]
    assert share[0] + 0.2 < (y == "yes").mean() < share[1] - 0.2
    weights = np.where(y == "yes", 0.02, 1.0)
    model = make(DPAdditiveClassifier, epsilon=200.0).fit(X, y, sample_weight=weights)
    assert (model.predict(X) == "yes").mean() < share[1] - 0.2
    with pytest.raises(ValueError, match="balanced"):
        make(DPAdditiveClassifier, class_weight="balanced").fit(X, y)


@every_additive_model
@pytest.mark.parametrize("n_knots, most", [(2, 2), (3, 3), (17, 17)])
def test_so_many_knots_are_found(cls, n_knots, most):
    model = fitted(cls, n_knots=n_knots)
    knots = curves(model)["number"][0].knots
    assert len(knots) <= most and (np.diff(knots) > 0).all()
    assert n_knots > 3 or len(knots) == most


@every_additive_model
@pytest.mark.parametrize("n, epsilon", [(2, 1.0), (3, 1e-6), (5, 1e4)])
def test_few_rows_are_fitted(cls, n, epsilon):
    X = table(n)
    y = ["no", "yes", "no", "yes", "no"][:n] if is_classifier(cls()) else np.zeros(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = make(cls, epsilon=epsilon, delta=0.1).fit(X, y)
    assert np.isfinite(model.coef_).all() and len(model.predict(X)) == n


@pytest.mark.parametrize("epsilon", [1e-9, 1e-5, 1e-3, 0.02])
@pytest.mark.parametrize("delta", [1e-12, 1e-4, 0.05])
def test_budgets_of_which_delta_alone_is_much_are_fitted(epsilon, delta):
    """A first model at a tenth of mu^2 may need no epsilon at that delta; it has noise."""
    X = table(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = make(DPAdditiveRegressor, epsilon=epsilon, delta=delta, interactions=1).fit(
            X, targets(DPAdditiveRegressor, X))
    assert model.privacy_.delta_at(epsilon) <= delta
    assert accountant.merge(model.privacy_.event).rest.mu > 0


@every_additive_model
@pytest.mark.parametrize("columns", [
    ["level", "flag"], ["town"], ["number"], ["count", "town"]])
def test_tables_of_one_kind_are_fitted(cls, columns):
    X = table(60)
    model = make(cls).fit(X[columns], targets(cls, X))
    assert list(curves(model)) == columns
    # Words that nobody declared are the one thing that shows in spite of the noise.
    chance = sum(event.delta for event in tally(model.privacy_.event)
                 if isinstance(event, Disclosure))
    assert (chance > 0) == ("town" in columns)
