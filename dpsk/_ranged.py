"""Mixin of estimators of moments: columns are scaled to ranges, and rows to a norm bound."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._models.ranges import RangedRows
from dpsk._parameters import PARAMETER_CONSTRAINTS, check_learnt
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk._stages.bounds import can_learn
from dpsk._stages.centered import can_learn_spread, row_rule, spread_rule
from dpsk._stages.class_plan import FEW_COLUMNS, GaussianPlan, range_rule

if TYPE_CHECKING:
    from typing import Any

__all__ = ["RANGED_CONSTRAINTS", "Ranged"]

#: The norm bound on rows if none is declared or learned.
_PLAIN_NORM = 1.0
#: Norm of a typical row over the largest, in half ranges: half a range is three standard
#: deviations of a normal column.
_USUAL_LENGTH = 1.0 / 3.0
#: Constraints of the two parameters.
RANGED_CONSTRAINTS = {
    "data_norm": check_learnt(PARAMETER_CONSTRAINTS["data_norm"]),
    "feature_range": check_learnt(lambda name, value: _ranges(value, None))}


class Ranged:
    """Mixin of estimators with `feature_range` and `data_norm`: the plan of their releases."""

    #: Which second moments are released, in the terms of `GaussianPlan`.
    _moments_of: ClassVar[str] = "classes"
    #: Whether models separate classes and do not draw synthetic rows. Rows that are scaled down
    #: keep their direction, and too few rows for a bound are too few for a mean.
    _divides: ClassVar[bool] = False

    if TYPE_CHECKING:
        # Parameters, and attributes that a fit releases.
        feature_range: Any
        data_norm: Any
        center_: Any
        feature_range_: Any

    def _planned(self, rows, budget, n_classes, n_components, reduces):
        """Return the mechanism of a fit and its input, for validated rows."""
        (learns_ranges, norm, spread, centers), data = self._begins(rows, budget)
        plan = GaussianPlan(budget, n_classes, n_components, reduces, learns_ranges, norm, spread,
                            self._moments_of, centers, self._divides)
        return plan, data

    def _begins(self, rows, budget):
        """Return the first arguments of a `RangedComposite`, and its input.

        They say whether it learns ranges, bound rows and centered rows, and whether it centers.
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
        # Arrays would be compared elementwise.
        return self.feature_range is not None and not isinstance(self.feature_range, str)

    def _learns_ranges(self, budget):
        """Return whether ranges are learned, by public facts."""
        if self.feature_range is None or self._declares_ranges() or (
                budget.n_columns > FEW_COLUMNS or self.data_norm not in ("auto", None)):
            return False

        return not budget.is_private or can_learn(
            "feature_range", "auto", None, partial(range_rule, budget),
            effect="columns enter as they are")

    def _bounds(self, budget, ranged):
        """Return the bounds on rows and on centered rows, None where they are learned.

        `ranged` says whether columns are in units of half their range.
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

    def _check_fit(self, n_samples, y):
        """Raise the ValueErrors of a fit that depend only on the number of rows and on labels."""
        super()._check_fit(n_samples, y)
        self._bounds(Budget(n_samples, 1, *self._budget(n_samples)),
                     self.feature_range is not None)

    def _enforced(self, plan):
        """Return the enforced bounds on rows, other than learned ones."""
        lines = []
        if self._declares_ranges():
            low, high = _ranges(self.feature_range, None)
            lines.append(Enforced("feature_range", [float(low.min()), float(high.max())],
                                  "declared", "entries outside of their column's declared range "
                                  "are clipped; these are the lowest and the highest end"))
        origin = "default" if self.data_norm in ("auto", None) else "declared"
        return lines + plan.enforced_bounds(origin)

    def _row_map(self):
        """Return the map that scales rows to their ranges and subtracts the released center."""
        center = self.center_.astype(np.float64)
        ends = (None, None) if self.feature_range_ is None else self.feature_range_
        plain = RangedRows(np.zeros(len(center)), *ends, np.float64)
        mapped = np.empty((1, len(center)))
        plain.dense(center[None], mapped)
        return replace(plain, center=mapped[0])


def _ranges(given, width):
    """Return the ends of public ranges as arrays, of shape (width,) if the width is known."""
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
