"""Private evaluations are drawn as scikit-learn's displays are, with bands."""

import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpsk import privacy_report
from dpsk.metrics import (
    BinaryEvaluation,
    DPCalibrationDisplay,
    DPPrecisionRecallDisplay,
    DPRocCurveDisplay,
)

DISPLAYS = [DPCalibrationDisplay, DPPrecisionRecallDisplay, DPRocCurveDisplay]
P = np.linspace(0.0, 1.0, 2000)
Y = (P + np.sin(np.arange(2000)) / 2 > 0.5).astype(int)


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_line_and_its_band_are_drawn_on_the_axes_that_are_given(display, pyplot):
    _, ax = pyplot.subplots()
    evaluation = BinaryEvaluation.from_predictions(Y, P, epsilon=4.0)
    drawn = display.from_evaluation(evaluation, ax=ax, name="mine", color="red")
    assert drawn.ax_ is ax and drawn.figure_ is ax.figure
    assert drawn.line_.get_color() == "red"
    assert ax.get_legend().get_texts()[0].get_text() == "mine"
    assert np.all((drawn.low <= drawn.y) & (drawn.y <= drawn.high))
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
    bare = display(x=drawn.x, y=drawn.y, low=drawn.low, high=drawn.high).plot()
    assert not privacy_report(bare).is_private
    drawn.ax_ = LogisticRegression().fit(P[:, None], Y)
    assert not privacy_report(drawn).is_private


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_matplotlib_nothing_is_released(display, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(BinaryEvaluation, "from_predictions", None)
    with pytest.raises(ImportError, match="requires matplotlib"):
        display.from_predictions(Y, P)
