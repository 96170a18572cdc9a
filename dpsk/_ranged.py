"""Mixin of estimators that bring columns to ranges and rows within a bound, for moments."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._models.ranges import RangedRows
from dpsk._parameters import PARAMETER_CONSTRAINTS, check_learnt
from dpsk._privacy.certificate import Enforced
from dpsk._stages.bounds import can_learn
from dpsk._stages.centered import can_learn_spread, row_rule, spread_rule
from dpsk._stages.class_plan import FEW_COLUMNS, GaussianPlan, range_rule

if TYPE_CHECKING:
    from typing import Any

__all__ = ["RANGED_CONSTRAINTS", "Ranged"]

#: The bound on rows that stands where none is declared or learnt.
_PLAIN_NORM = 1.0
#: The length of a usual row in half ranges over that of the longest: half a range is three
#: standard deviations of a normal column.
_USUAL_LENGTH = 1.0 / 3.0
#: What the two parameters must be.
RANGED_CONSTRAINTS = {
    "data_norm": check_learnt(PARAMETER_CONSTRAINTS["data_norm"]),
    "feature_range": check_learnt(lambda name, value: _ranges(value, None))}


class Ranged:
    """Mixin of estimators with `feature_range` and `data_norm`: the plan of their releases."""

    #: Whose second moments are released, as a `GaussianPlan` says it.
    _moments_of: ClassVar[str] = "classes"
    #: Whether models are to divide classes, not to draw rows: rows that are scaled down keep their
    #: direction, and where they are too few to learn a bound they are too few for a mean.
    _divides: ClassVar[bool] = False

    if TYPE_CHECKING:
        # Parameters, and what a fit released.
        feature_range: Any
        data_norm: Any
        center_: Any
        feature_range_: Any

    def _planned(self, rows, budget, n_classes, n_components, reduces):
        """Return the mechanism of a fit, and the data that it runs on, for validated rows."""
        (learns_ranges, norm, spread, centers), data = self._begins(rows, budget)
        plan = GaussianPlan(budget, n_classes, n_components, reduces, learns_ranges, norm, spread,
                            self._moments_of, centers, self._divides)
        return plan, data

    def _begins(self, rows, budget):
        """Return how a `RangedComposite` begins, and the data that it runs on.

        Whether it learns ranges, its bounds on rows and on centered ones, and whether it centers.
        """
        width = rows.n_features
        low, high = _ranges(self.feature_range, width) if self._declares_ranges() else (None, None)
        learns_ranges = self._learns_ranges(budget)
        ranged = learns_ranges or low is not None
        norm, spread = self._bounds(budget, ranged)
        centers = not (ranged and self._divides) or can_learn_spread(budget)
        names = getattr(self, "feature_names_in_", range(width))
        return (learns_ranges, norm, spread, centers), (rows, names, low, high)

    def _declares_ranges(self):
        # Of arrays, "==" would be one too.
        return self.feature_range is not None and not isinstance(self.feature_range, str)

    def _learns_ranges(self, budget):
        """Return whether ranges are learnt, from public facts."""
        if self.feature_range is None or self._declares_ranges() or (
                budget.n_columns > FEW_COLUMNS or self.data_norm not in ("auto", None)):
            return False

        return not budget.is_private or can_learn(
            "feature_range", "auto", None, partial(range_rule, budget),
            effect="columns enter as they are")

    def _bounds(self, budget, ranged):
        """Return the bounds on rows and on centered ones, None where they are learnt.

        `ranged` is whether columns enter in half ranges.
        """
        plain = math.sqrt(budget.n_columns) if ranged else _PLAIN_NORM
        if self.data_norm not in ("auto", None):
            return plain if ranged else float(self.data_norm), float(self.data_norm)

        def rules():
            if not ranged:
                row_rule(budget)
            spread_rule(budget)

        learns = not budget.is_private or can_learn("data_norm", self.data_norm, plain, rules)
        usual = plain * _USUAL_LENGTH if ranged and self._divides else plain
        return plain if ranged or not learns else None, None if learns else usual

    def _enforced(self, plan):
        """Return what is enforced on rows, beside the bounds that are learnt."""
        lines = []
        if self._declares_ranges():
            low, high = _ranges(self.feature_range, None)
            lines.append(Enforced("feature_range", [float(low.min()), float(high.max())],
                                  "declared", "entries outside of their column's declared range "
                                  "are clipped; these are the lowest and the highest end"))
        origin = "default" if self.data_norm in ("auto", None) else "declared"
        return lines + plan.enforced_bounds(origin)

    def _row_map(self):
        """Return the map of rows to their ranges, less the released center."""
        center = self.center_.astype(np.float64)
        ends = (None, None) if self.feature_range_ is None else self.feature_range_
        plain = RangedRows(np.zeros(len(center)), *ends, np.float64)
        mapped = np.empty((1, len(center)))
        plain.dense(center[None], mapped)
        return replace(plain, center=mapped[0])


def _ranges(given, width):
    """Return the ends of public ranges as arrays, of shape (width,) where that is known."""
    try:
        low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in given)
        shape = np.broadcast_shapes(low.shape, high.shape, (1 if width is None else width,))
        sound = not isinstance(given, str) and len(shape) == 1 and width in (None, *shape)
        sound = sound and bool(
            np.all((high - low >= 1e-100) & (np.abs(low) <= 1e30) & (np.abs(high) <= 1e30)))
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(f"feature_range={given!r}: must be (low, high), each a "
                         "number or an array of one a feature, with low < high, such as "
                         "(0.0, 1.0).")
    return np.broadcast_to(low, shape), np.broadcast_to(high, shape)
