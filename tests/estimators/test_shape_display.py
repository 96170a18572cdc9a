"""Pictures of curves: what is drawn, from what, and what is refused."""

import sys

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPAdditiveClassifier, DPLogisticRegression, DPPipeline, DPSimpleImputer
from dpsk.inspection import DPShapeDisplay
from dpsk.testing import NoiseSeed
from tests.estimators.raw_tables import make, table, targets
from tests.registry import every_additive_model

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def no_windows():
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def pairs():
    X = table()
    return make(DPAdditiveClassifier, interactions=[("number", "town"), ("flag", "level")],
                random_state=NoiseSeed(0)).fit(X, targets(DPAdditiveClassifier, X))


@pytest.fixture(scope="module")
def sure():
    """A model whose inner knots have a known deviation: in 120 of 120 replays some had."""
    X = table()
    return make(DPAdditiveClassifier, epsilon=100.0, interactions=0,
                random_state=NoiseSeed(0)).fit(X, targets(DPAdditiveClassifier, X))


@every_additive_model
def test_every_term_has_its_picture(cls):
    X = table()
    model = make(cls, interactions=0).fit(X, targets(cls, X))
    display = DPShapeDisplay.from_estimator(model, n_cols=2)
    assert display.axes_.shape == (3, 2)
    drawn = display.axes_.ravel()
    assert [ax.get_xlabel() for ax in drawn[:5]] == list(X.columns)
    assert {ax.get_ylabel() for ax in drawn[:5]} == {display.unit} <= {"log-odds", "target"}
    assert not drawn[5].axison
    assert all(ax.figure is display.figure_ for ax in drawn)
    number, town = model.terms_[0], model.terms_[2]
    places, values = drawn[0].lines[0].get_xydata().T
    np.testing.assert_allclose(number.axes[0].interpolate(places, number.centered), values)
    assert set(number.axes[0].knots[1:-1]) <= set(places)
    named = np.argsort(-town.centered[:-1])
    np.testing.assert_allclose([bar.get_height() for bar in drawn[2].patches],
                               town.centered[[*named, -1]])
    names = [tick.get_text() for tick in drawn[2].get_xticklabels()]
    assert names == [*np.array(town.axes[0].categories, object)[named], "(other)"]


def test_an_overview_has_the_terms_that_matter_most_first(pairs):
    display = DPShapeDisplay.from_estimator(pairs, order="importance", max_terms=4)
    importances = pairs.term_importances_
    assert importances.shape == (7,) and np.all(importances >= 0.0)
    wanted = np.argsort(-importances)[:4]
    assert [[axis.column for axis in term.axes] for term in display.terms] == [
        [axis.column for axis in pairs.terms_[place].axes] for place in wanted]
    scales = {ax.get_ylim() for ax, term in zip(display.axes_.ravel(), display.terms, strict=False)
              if len(term.axes) == 1}
    assert len(scales) == 1
    chosen = DPShapeDisplay.from_estimator(pairs, ["flag", "number"], order="importance")
    assert [term.axes[0].column for term in chosen.terms] == ["number", "flag"]


def test_importances_are_root_mean_squares_over_rows():
    X = table(n=2000, gap=0.0)
    model = make(DPAdditiveClassifier, interactions=[("flag", "level")], epsilon=200.0,
                 random_state=NoiseSeed(0)).fit(X, targets(DPAdditiveClassifier, X))
    flag = model.terms_[4]
    rows = flag.centered[[flag.axes[0].categories.index(each) for each in X["flag"].tolist()]]
    assert model.term_importances_[4] == pytest.approx(np.sqrt(np.mean(rows**2)), rel=0.05)


def test_bounds_that_are_declared_end_the_axis():
    X = table()
    # A seed, as knots of some fits do not reach the bounds.
    model = make(DPAdditiveClassifier, columns={"number": (-50.0, 80.0)}, n_knots=9,
                 random_state=NoiseSeed(0)).fit(X, targets(DPAdditiveClassifier, X))
    display = DPShapeDisplay.from_estimator(model, ["number", "count"])
    number, count = display.axes_.ravel()[:2]
    assert number.get_xlim() == (-50.0, 80.0)
    assert np.ptp(count.get_xlim()) <= np.ptp(model.terms_[1].axes[0].knots)


@pytest.mark.parametrize("around", ["DPPipeline", "Pipeline", "search", "threshold"])
def test_models_are_found_in_what_is_around_them(around):
    X = table()
    y = targets(DPAdditiveClassifier, X)
    model, rows = make(DPAdditiveClassifier, interactions=0), X
    if around == "DPPipeline":
        rows = X[["number", "count"]]
        fitted = DPPipeline([("gaps", DPSimpleImputer()), ("curves", model)], epsilon=20.0,
                            delta=1e-4)
    elif around == "Pipeline":
        fitted = make_pipeline(FunctionTransformer(), model)
    elif around == "search":
        fitted = GridSearchCV(model, {"n_knots": [3]}, cv=2)
    else:
        fitted = FixedThresholdClassifier(model)
    display = DPShapeDisplay.from_estimator(fitted.fit(rows, y))
    assert [term.axes[0].column for term in display.terms] == list(rows.columns)


@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_bands_are_as_wide_as_their_confidence_asks(sure, confidence):
    display = DPShapeDisplay.from_estimator(sure, ["number", "town"], confidence=confidence)
    term, bars = sure.terms_[0], sure.terms_[2]
    width = student.ppf(0.5 + 0.5 * confidence, term.n_draws - 1)
    (band,) = display.axes_.ravel()[0].collections
    edges = np.concatenate([path.vertices for path in band.get_paths()])
    # Outer knots may be beyond the axis.
    known = np.isfinite(term.std)
    known[[0, -1]] = False
    assert known.any()
    for knot, value, std in zip(*(each[known] for each in (
            term.axes[0].knots, term.centered, term.std)), strict=True):
        here = edges[np.isclose(edges[:, 0], knot), 1]
        # Of the width, as an edge may be anywhere near 0.
        np.testing.assert_allclose([value - here.min(), here.max() - value], width * std,
                                   rtol=1e-3)
    (errors,) = display.axes_.ravel()[1].collections
    order = [*np.argsort(-bars.centered[:-1]), -1]
    wide = bars.std[order]
    reaches = [np.ptp(each[:, 1]) for each in errors.get_segments() if len(each)]
    np.testing.assert_allclose(reaches, 2.0 * width * wide[np.isfinite(wide)], rtol=1e-3)


def test_no_band_is_drawn_where_none_is_wanted(pairs):
    display = DPShapeDisplay.from_estimator(pairs, ["number"], confidence=None)
    assert not display.axes_[0, 0].collections


@pytest.mark.parametrize(("params", "reason"), [
    ({"epsilon": np.inf}, "epsilon=inf: there is no noise"),
    ({"epsilon": 0.3}, "no second moment of features")])
@pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")
def test_a_picture_says_why_it_has_no_band(params, reason):
    X = table(60)
    model = make(DPAdditiveClassifier, interactions=0, **params).fit(
        X, targets(DPAdditiveClassifier, X))
    for confidence, shown in ((0.95, True), (None, False)):
        ax = DPShapeDisplay.from_estimator(model, ["number"], confidence=confidence).axes_[0, 0]
        note = ax.get_title(loc="left").replace("\n", " ")
        assert (note.startswith("No band: ") and reason in note) if shown else not note
        assert not ax.collections and not ax.get_title()


def test_pairs_are_maps_of_colors_in_either_order_of_names(pairs):
    display = DPShapeDisplay.from_estimator(pairs, [("town", "number"), "count"])
    mesh, term = display.axes_[0, 0].collections[0], pairs.terms_[5]
    np.testing.assert_allclose(np.ravel(mesh.get_array()), term.centered.ravel())
    assert [axis.column for axis in term.axes] == ["number", "town"]
    assert display.axes_[0, 0].get_xlabel() == "town"
    assert display.axes_[0, 1].get_xlabel() == "count"
    assert len(display.terms) == 2
    places = [tuple(map(list(table()).index, ("town", "number"))), list(table()).index("count")]
    again = DPShapeDisplay.from_estimator(pairs, places)
    assert [ax.get_xlabel() for ax in again.axes_.flat] == ["town", "count"]
    assert DPShapeDisplay.from_estimator(pairs).axes_.shape == (3, 3)


def test_several_classes_are_drawn_beside_one_another():
    X = table()
    model = make(DPAdditiveClassifier, interactions=[("flag", "level")]).fit(
        X, np.resize(["a", "b", "c"], len(X)))
    display = DPShapeDisplay.from_estimator(model, ["number", "flag", ("flag", "level")])
    number, flag, *maps = display.axes_.ravel()
    assert [text.get_text() for text in number.get_legend().get_texts()] == ["a", "b", "c"]
    assert len(flag.patches) == 3 * 3
    assert sum(len(ax.collections) > 0 and ax.axison for ax in maps) == 3


def test_axes_that_are_given_are_drawn_on(pairs):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    display = DPShapeDisplay.from_estimator(pairs, ["number", "flag"], ax=axes)
    assert display.figure_ is figure and display.axes_.tolist() == axes.tolist()
    assert [ax.get_xlabel() for ax in axes] == ["number", "flag"]
    display = DPShapeDisplay.from_estimator(pairs, ["count"], ax=axes[0])
    assert display.axes_.tolist() == [axes[0]] and axes[0].get_xlabel() == "count"
    with pytest.raises(ValueError, match="ax has 2 axes for 7 pictures"):
        DPShapeDisplay.from_estimator(pairs, ax=axes)


def test_what_was_stored_is_drawn_again(pairs):
    display = DPShapeDisplay.from_estimator(pairs, ["number"])
    first = display.figure_
    assert display.plot() is display and display.figure_ is not first


def test_columns_of_an_array_have_positions():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = make(DPAdditiveClassifier).fit(X, X[:, 0] > 0)
    display = DPShapeDisplay.from_estimator(model, features=[1])
    assert display.axes_[0, 0].get_xlabel() == "1"


@pytest.mark.parametrize("params, words", [
    ({"features": ["age"]}, "features has 'age', which is no column"),
    ({"features": [("number", "flag")]}, "which is no column or pair"),
    ({"order": "size"}, "order='size'"), ({"max_terms": 0}, "max_terms=0"),
    ({"n_cols": 0}, "n_cols=0"), ({"confidence": 1.0}, "confidence=1.0"),
    ({"confidence": "most"}, "confidence='most'")])
def test_bad_values_are_refused_by_name(pairs, params, words):
    with pytest.raises(ValueError, match=words):
        DPShapeDisplay.from_estimator(pairs, **params)


def test_a_model_without_curves_and_one_that_is_not_fitted_are_refused():
    with pytest.raises(ValueError, match="DPLogisticRegression: has no curves"):
        DPShapeDisplay.from_estimator(DPLogisticRegression())
    with pytest.raises(NotFittedError):
        DPShapeDisplay.from_estimator(DPAdditiveClassifier())


def test_without_matplotlib_it_says_what_is_missing(pairs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="from_estimator requires matplotlib"):
        DPShapeDisplay.from_estimator(pairs)
    with pytest.raises(ImportError, match="plot requires matplotlib"):
        DPShapeDisplay(pairs.terms_, unit="log-odds").plot()
