"""Shapes of columns in pictures."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpsk import DPAdditiveRegressor
from dpsk._models.shifted_log import ShiftedLog
from dpsk.additive._terms import Axis, Term
from dpsk.inspection import DPShapeDisplay
from tests.estimators.test_skewed_columns import COLUMNS, NORMAL


def term(axis, values, std):
    """Return a term whose noise is known."""
    noise = SimpleNamespace(unknown=None, n_draws=16, std=lambda where: std[where])
    return Term((axis,), values, values, noise, slice(0, len(values)))


def test_buckets_of_several_categories_are_not_drawn():
    axis = Axis("town", None, ["Graz", "Linz", "bucket 0", "bucket 1"], n_named=2)
    values = np.arange(5.0)
    display = DPShapeDisplay([term(axis, values, 0.1 * values)], unit="target", classes=None)
    (ax,) = display.plot().axes_.ravel()
    assert [bar.get_height() for bar in ax.patches] == [1.0, 0.0]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["Linz", "Graz"]


@pytest.mark.parametrize("knots, scale, whole, ends", [
    # Of a normal column, parted into eighths: the hundredth is at 2.33.
    ([-1e9, -1.15, -0.674, -0.319, 0.0, 0.319, 0.674, 1.15, 30.0], None, False, (-2.32, 2.32)),
    ([-1e9, -0.674, 0.0, 0.674, 2.0], None, False, (-2.33, 2.0)),
    ([-1e9, 0.0, 1.0], None, False, (-10.0, 1.0)), ([0.0, 1.0], None, False, (0.0, 1.0)),
    ([-1e9, -0.674, 0.0, 0.674, 2.0], None, True, (-1e9, 2.0))])
def test_axes_end_where_knots_tell_that_rows_do(knots, scale, whole, ends):
    axis = Axis("x", np.array(knots), None, scale=scale)
    values = np.zeros(len(knots))
    display = DPShapeDisplay([term(axis, values, values)], unit="target",
                             declared={"x"} if whole else ()).plot()
    assert display.axes_[0, 0].get_xlim() == pytest.approx(ends, abs=0.01)


def test_axes_end_on_the_scale_of_the_column():
    scale = ShiftedLog(1.0, 0.5, 2.0)
    knots = scale.inverse(np.array([-20.0, -0.674, 0.0, 0.674, 20.0]))
    axis, values = Axis("x", knots, None, scale=scale), np.array([50.0, 1.0, 0.0, 1.0, 50.0])
    ax = DPShapeDisplay([term(axis, values, 0.1 + values)], unit="target").plot().axes_[0, 0]
    found = scale(np.array(ax.get_xlim()))
    np.testing.assert_allclose(found[1], 2.33, atol=0.01)
    # Values that are far beyond the picture do not press it flat.
    assert ax.get_ylim()[1] < 40.0


@pytest.mark.parametrize("pairs", [0, [("amount", "even")]])
def test_pictures_have_the_scale_of_the_column(pairs):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    model = DPAdditiveRegressor(epsilon=np.inf, n_knots=5, interactions=pairs).fit(
        COLUMNS[["amount", "even"]], NORMAL)
    display = DPShapeDisplay.from_estimator(model)
    display.figure_.canvas.draw()
    ax = display.axes_.ravel()[0]
    axis = model.terms_[0].axes[0]
    assert isinstance(axis.scale, ShiftedLog)
    ticks, (low, high) = ax.get_xticks(), axis.scale(np.array(ax.get_xlim()))
    np.testing.assert_allclose(ticks[[0, -1]], ax.get_xlim())
    assert set(ticks[1:-1]) < set(axis.knots)
    assert np.diff(axis.scale(ticks)).min() > 0.15 * (high - low)
    places = ax.transData.transform(np.column_stack([axis.knots, 0.0 * axis.knots]))[:, 0]
    steps = np.diff(places) / np.diff(axis.scale(axis.knots))
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert display.axes_.ravel()[1].get_xscale() == "linear"
    plt.close("all")
