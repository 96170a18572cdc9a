"""Fits on groups: stages that take none, the order of rows, and noise for the clip of groups."""

import numpy as np
import pytest
from sklearn.base import clone

from dpsk import (
    DPLogisticRegression,
    _fit,
)
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._queries import gradients
from dpsk._stages.base import Stage
from dpsk.testing import NoiseSeed
from tests.estimators.test_groups import every_setting, make, rows
from tests.registry import every_protector_of_groups

#: Tests here compare the plans of several fits, which follow the draw of their rounds.
pytestmark = pytest.mark.usefixtures("longest_rounds")


def stages(cls=Stage):
    """Return every stage that releases by itself, of the package."""
    below = [each for sub in cls.__subclasses__() for each in stages(sub)]
    return [*below, *([cls] if "release" in vars(cls) else [])]


@every_setting
@every_protector_of_groups
def test_no_stage_is_told_of_groups_that_it_does_not_take(cls, setting, monkeypatch):
    """Whichever of those that a fit has did not, before the solver or after it."""
    met, drawn = {}, []
    for stage in stages():
        def release(self, *args, stage=stage, original=stage.release):
            met[type(self)] = type(self).comes_last
            drawn.append(stage)
            return original(self, *args)
        monkeypatch.setattr(stage, "release", release)
    X, y, groups = rows()
    make(cls, setting).fit(X, y, groups=groups)
    for stage in list(met):
        drawn.clear()
        with monkeypatch.context() as patched, pytest.raises(ValueError, match=stage.__name__):
            patched.setattr(stage, "takes_groups", False)
            make(cls, setting).fit(X, y, groups=groups)
        assert not drawn


@pytest.mark.parametrize("setting", ["gd", "mapped"])
def test_order_of_rows_and_names_of_groups_change_no_more_than_rounding(setting, monkeypatch):
    X, y, groups = rows()
    # The order keys noise that repeats, as other sums would.
    monkeypatch.setattr(_fit, "table_digest", lambda rows: b"")
    monkeypatch.setattr("dpsk._data.groups.Groups.digest", lambda self: b"")
    order = np.random.default_rng(1).permutation(len(X))
    names = np.array([f"person {code:03d}" for code in groups])
    model = make(DPLogisticRegression, setting, temperature=setting == "mapped" or "auto",
                 random_state=NoiseSeed(3))
    whole = clone(model).fit(X, y, groups=groups)
    for table in ((X[order], y[order], groups[order]), (X, y, names)):
        other = clone(model).fit(*table[:2], groups=table[2])
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-7)
        np.testing.assert_allclose(other.intercept_, whole.intercept_, rtol=1e-7)
    assert not np.array_equal(clone(model).fit(X, y, groups=groups[order]).coef_, whole.coef_)


@pytest.mark.parametrize("solver", ["gd", "sgd"])
@pytest.mark.parametrize("clip, bound", [(None, 0.05), (0.3, 0.3), (np.inf, 0.4), (7.0, 0.4)])
def test_the_noise_is_for_the_clip_of_groups_and_the_certificate_states_it(
        solver, clip, bound, monkeypatch):
    moves = []
    monkeypatch.setattr(gradients, "Sensitivity", lambda moved, *others: moves.append(
        moved) or Sensitivity(moved, *others))
    X, y, groups = rows()
    model = make(DPLogisticRegression, solver, clip_norm=0.4, temperature=False,
                 solver_options={"group_clip_norm": clip}).fit(X, y, groups=groups)
    stated = {line.name: line for line in model.privacy_.enforced}
    assert stated["clip_norm"].value == 0.4 and stated["group_clip_norm"].value == bound
    assert stated["group_clip_norm"].origin == ("declared" if clip == bound else "derived")
    assert moves == [2.0 * bound]


def test_stages_on_either_side_of_the_solver_are_met_with_groups(monkeypatch):
    sides = set()
    for stage in stages():
        def release(self, *args, original=stage.release):
            sides.add(type(self).comes_last)
            return original(self, *args)
        monkeypatch.setattr(stage, "release", release)
    X, y, groups = rows()
    make(DPLogisticRegression, "mapped").fit(X, y, groups=groups)
    assert sides == {False, True}
