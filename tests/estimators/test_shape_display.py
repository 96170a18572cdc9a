"""Pictures of curves: what is drawn, from what, and what is refused."""

import sys

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.exceptions import NotFittedError

from dpsk import DPAdditiveClassifier, DPLogisticRegression
from dpsk.inspection import DPShapeDisplay
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
    return make(DPAdditiveClassifier, interactions=[("number", "town"), ("flag", "level")]).fit(
        X, targets(DPAdditiveClassifier, X))


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
    np.testing.assert_allclose(drawn[0].lines[0].get_xydata(),
                               np.column_stack([number.axes[0].knots, number.centered]))
    np.testing.assert_allclose([bar.get_height() for bar in drawn[2].patches], town.centered)
    names = [tick.get_text() for tick in drawn[2].get_xticklabels()]
    assert names == [*town.axes[0].categories, "(other)"]


@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_bands_are_as_wide_as_their_confidence_asks(pairs, confidence):
    display = DPShapeDisplay.from_estimator(pairs, ["number", "town"], confidence=confidence)
    term, bars = pairs.terms_[0], pairs.terms_[2]
    width = student.ppf(0.5 + 0.5 * confidence, term.n_draws - 1)
    (band,) = display.axes_.ravel()[0].collections
    edges = np.concatenate([path.vertices for path in band.get_paths()])
    known = np.isfinite(term.std)
    assert known.sum() >= 3
    for knot, value, std in zip(*(each[known] for each in (
            term.axes[0].knots, term.centered, term.std)), strict=True):
        here = edges[np.isclose(edges[:, 0], knot), 1]
        # Of the width, as an edge may be anywhere near 0.
        np.testing.assert_allclose([value - here.min(), here.max() - value], width * std,
                                   rtol=1e-3)
    (errors,) = display.axes_.ravel()[1].collections
    reaches = [np.ptp(each[:, 1]) for each in errors.get_segments() if len(each)]
    np.testing.assert_allclose(reaches, 2.0 * width * bars.std[np.isfinite(bars.std)], rtol=1e-3)


def test_no_band_is_drawn_where_none_is_wanted(pairs):
    display = DPShapeDisplay.from_estimator(pairs, ["number"], confidence=None)
    assert not display.axes_[0, 0].collections


def test_pairs_are_maps_of_colors_in_either_order_of_names(pairs):
    display = DPShapeDisplay.from_estimator(pairs, [("town", "number"), "count"])
    mesh, term = display.axes_[0, 0].collections[0], pairs.terms_[5]
    np.testing.assert_allclose(np.ravel(mesh.get_array()), term.centered.ravel())
    assert [axis.column for axis in term.axes] == ["number", "town"]
    assert display.axes_[0, 0].get_xlabel() == "town"
    assert display.axes_[0, 1].get_xlabel() == "count"
    assert len(display.terms) == 2
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
