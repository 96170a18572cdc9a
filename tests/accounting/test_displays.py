"""The two curves of a guarantee are drawn as scikit-learn's displays are."""

import sys

import numpy as np
import pytest

from dpsk.accounting import (
    Gaussian,
    PrivacyCurveDisplay,
    Pure,
    TradeOffCurveDisplay,
    delta,
    type_two_error,
)

DISPLAYS = [PrivacyCurveDisplay, TradeOffCurveDisplay]


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_line_is_drawn_on_the_axes_that_are_given(display, pyplot):
    _, ax = pyplot.subplots()
    drawn = display.from_events(Gaussian(0.5), ax=ax, name="half", color="red")
    assert drawn.ax_ is ax
    assert drawn.figure_ is ax.figure
    assert drawn.line_.get_color() == "red"
    assert ax.get_legend().get_texts()[0].get_text() == "half"
    assert ax.get_legend().get_lines()[0].get_color() == "red"
    again = drawn.plot()
    assert again.ax_ is not ax


@pytest.mark.thorough
def test_the_curves_are_those_of_the_accountant(pyplot):
    events = [Gaussian(0.5), Pure(0.1)]
    epsilons = [0.0, 0.5, 1.0]
    drawn = PrivacyCurveDisplay.from_events(events, epsilon=epsilons)
    np.testing.assert_array_equal(drawn.line_.get_ydata(), delta(events, epsilons))
    drawn = TradeOffCurveDisplay.from_events(events)
    np.testing.assert_array_equal(
        drawn.line_.get_ydata(), type_two_error(events, drawn.type_one_error))


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_matplotlib_the_error_says_what_is_missing(display, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="requires matplotlib"):
        display.from_events(Gaussian(0.5))
