"""Private evaluations are drawn as scikit-learn's displays are, with bands."""

import inspect
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpsk import PrivacyBudget, privacy_report
from dpsk.metrics import (
    BinaryEvaluation,
    DPCalibrationDisplay,
    DPPrecisionRecallDisplay,
    DPRocCurveDisplay,
)

#: With the names of what is drawn, those of scikit-learn, horizontal first.
NAMES = {DPCalibrationDisplay: ("prob_pred", "prob_true"),
         DPPrecisionRecallDisplay: ("recall", "precision"), DPRocCurveDisplay: ("fpr", "tpr")}
DISPLAYS = list(NAMES)
P = np.linspace(0.0, 1.0, 2000)
Y = (P + np.sin(np.arange(2000)) / 2 > 0.5).astype(int)


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_line_and_its_band_are_drawn_on_the_axes_that_are_given(display, pyplot):
    _, ax = pyplot.subplots()
    evaluation = BinaryEvaluation.from_predictions(Y, P, epsilon=4.0)
    drawn = display.from_evaluation(evaluation, ax=ax, name="mine", color="red")
    assert drawn.ax_ is ax and drawn.figure_ is ax.figure
    assert drawn.line_.get_color() == "red"
    assert ax.get_legend().get_texts()[0].get_text().startswith("mine (")
    vertical = getattr(drawn, NAMES[display][1])
    assert np.all((drawn.low <= vertical) & (vertical <= drawn.high))
    assert drawn.plot().ax_ is not ax


@pytest.mark.parametrize("display", DISPLAYS)
def test_what_is_drawn_was_released_once(display, pyplot):
    model = LogisticRegression().fit(P[:, None], Y)
    for drawn in (display.from_predictions(Y, P, epsilon=0.5, evaluation_kw={"bins": 8}),
                  display.from_estimator(model, P[:, None], Y, epsilon=0.5)):
        assert drawn.evaluation_.privacy_.epsilon == 0.5
        assert "+-" in drawn.ax_.get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_picture_carries_the_guarantee_of_what_it_shows(display, pyplot):
    drawn = display.from_predictions(Y, P, epsilon=0.5, delta=1e-6)
    assert drawn.privacy_ is drawn.evaluation_.privacy_
    report = privacy_report(drawn)
    assert report.is_private and report.epsilon == pytest.approx(0.5) and report.delta == 1e-6
    assert "nothing but this display" in str(report)
    # Numbers of somebody's own have none, and neither has what is put in the place of axes.
    bare = display(**{each: getattr(drawn, each) for each in (*NAMES[display], "low", "high")})
    bare.plot()
    assert not privacy_report(bare).is_private
    drawn.ax_ = LogisticRegression().fit(P[:, None], Y)
    assert not privacy_report(drawn).is_private


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_matplotlib_nothing_is_released(display, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(BinaryEvaluation, "from_predictions", None)
    with pytest.raises(ImportError, match="requires matplotlib"):
        display.from_predictions(Y, P, epsilon=1.0)


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("way", ["from_predictions", "from_estimator"])
def test_what_spends_asks_for_epsilon_and_says_so_first(display, way):
    method = getattr(display, way)
    assert inspect.getdoc(method).startswith("Spend `epsilon`")
    assert inspect.signature(method).parameters["epsilon"].default is inspect.Parameter.empty


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_picture_is_paid_for_once(display, pyplot):
    with PrivacyBudget(10.0, 0.01) as budget:
        drawn = display.from_predictions(Y, P, epsilon=0.5)
        drawn.plot()
        drawn.plot(name="again", despine=True)
        display.from_evaluation(drawn.evaluation_)
        assert len(budget.charges) == 1


@pytest.mark.parametrize("display", DISPLAYS)
def test_parameters_are_those_of_scikit_learn(display, pyplot):
    word = "ref_line" if display is DPCalibrationDisplay else "plot_chance_level"
    drawn = display.from_estimator(LogisticRegression().fit(P[:, None], Y), P[:, None], Y,
                                   epsilon=4.0, pos_label=0, despine=True, **{word: True})
    assert drawn.pos_label == 0 and drawn.evaluation_.labels == (1, 0)
    assert drawn.ax_.get_xlabel().endswith("(positive label: 0)")
    labels = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert labels[0].startswith("LogisticRegression (") and len(labels) == 2
    shown = {side: spine.get_visible() for side, spine in drawn.ax_.spines.items()}
    assert shown == {"top": False, "right": False, "bottom": True, "left": True}
    np.testing.assert_array_equal(drawn.line_.get_xdata(), getattr(drawn, NAMES[display][0]))
    bare = drawn.plot(**{word: False})
    assert bare.chance_level_ is None
    assert all(bare.ax_.spines[each].get_visible() for each in shown)


def test_the_chance_level_of_precision_is_the_released_share(pyplot):
    drawn = DPPrecisionRecallDisplay.from_predictions(
        Y, P, epsilon=4.0, plot_chance_level=True, chance_level_kw={"color": "red"})
    share = float(drawn.evaluation_.prevalence())
    assert list(drawn.chance_level_.get_ydata()) == [share, share]
    assert drawn.chance_level_.get_color() == "red"
    drawn.prevalence_pos_label = None
    with pytest.raises(ValueError, match="prevalence_pos_label is not given"):
        drawn.plot(plot_chance_level=True)


def test_a_calibration_curve_has_the_groups_that_are_asked_for(pyplot):
    drawn = DPCalibrationDisplay.from_predictions(Y, P, epsilon=8.0, n_bins=3, strategy="uniform")
    assert len(drawn.prob_true) == 3
    np.testing.assert_allclose(drawn.prob_pred, [1 / 6, 1 / 2, 5 / 6], atol=0.1)


def test_the_smallest_level_draws_a_calibration_curve(pyplot):
    drawn = DPCalibrationDisplay.from_predictions(Y, P, epsilon=8.0, level=1e-310)
    np.testing.assert_allclose(drawn.low, drawn.high, atol=1e-9)
    # Whatever rounding makes of the ends.
    drawn.low, drawn.high = drawn.high, np.nextafter(drawn.low, -1.0)
    drawn.plot()


@pytest.mark.parametrize("display, options, match", [
    (DPRocCurveDisplay, {"plot_chance_level": 2}, "plot_chance_level=2"),
    (DPRocCurveDisplay, {"despine": "yes"}, "despine='yes'"),
    (DPRocCurveDisplay, {"chance_level_kw": {"hue": 1}}, "hue"),
    (DPRocCurveDisplay, {"chance_level_kw": "red"}, "chance_level_kw of type str"),
    (DPRocCurveDisplay, {"ref_line": True}, "ref_line"),
    (DPCalibrationDisplay, {"ref_line": None}, "ref_line=None"),
    (DPCalibrationDisplay, {"n_bins": 0}, "n_bins=0"),
    (DPCalibrationDisplay, {"strategy": "even"}, "strategy='even'")])
def test_what_cannot_be_drawn_is_refused_before_it_is_paid_for(display, options, match, pyplot):
    with PrivacyBudget(10.0, 0.01) as budget:
        with pytest.raises((AttributeError, TypeError, ValueError), match=match):
            display.from_predictions(Y, P, epsilon=1.0, **options)
        assert budget.charges == []
