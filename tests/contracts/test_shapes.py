"""Shapes of columns in pictures."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpsk import (
    DPAdditiveRegressor,
)
from dpsk._models.shifted_log import ShiftedLog
from dpsk.additive._terms import Axis, Term
from dpsk.inspection import DPShapeDisplay
from tests.estimators.test_skewed_columns import COLUMNS, NORMAL


def test_buckets_of_several_categories_are_not_drawn():
    axis = Axis("town", None, ["Graz", "Linz", "bucket 0", "bucket 1"], n_named=2)
    values = np.arange(5.0)
    noise = SimpleNamespace(unknown=None, n_draws=9, std=lambda where: 0.1 * values[where])
    term = Term((axis,), values, values, noise, slice(0, 5))
    display = DPShapeDisplay([term], unit="target", classes=None)
    (ax,) = display.plot().axes_.ravel()
    assert [bar.get_height() for bar in ax.patches] == [0.0, 1.0]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["Graz", "Linz"]


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
    np.testing.assert_allclose(ax.get_xticks(), axis.knots)
    assert isinstance(axis.scale, ShiftedLog)
    places = ax.transData.transform(np.column_stack([axis.knots, 0.0 * axis.knots]))[:, 0]
    steps = np.diff(places) / np.diff(axis.scale(axis.knots))
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert display.axes_.ravel()[1].get_xscale() == "linear"
    plt.close("all")
