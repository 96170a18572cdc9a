"""Plan of the releases of Gaussian class models: their privacy cost, order and rows."""

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from dpsk._defaults.budgets import (
    AMPLE_SIGNAL,
    CLASS_CUT,
    MOMENT_CUT,
    RANGE_TAILS,
    SUBSPACE_SHARE,
)
from dpsk._mechanism.core import Composite, Share, Statistic, mu_of
from dpsk._models.ranges import RangedRows
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk._stages.center_rounds import rows_within
from dpsk._stages.centered import Centered
from dpsk._stages.class_models import class_models, column_models, principal, shared_model
from dpsk._stages.column_bounds import REACH, bounds_rule, learnt_bounds
from dpsk._statistics.class_moments import (
    COUNT_UNIT,
    ClassMoments,
    noisy_class_moments,
    noisy_class_squares,
    noisy_shared_moments,
)
from dpsk._statistics.moments import noisy_second_moment, second_moment_noise

__all__ = ["FEW_COLUMNS", "GaussianFit", "GaussianPlan", "RangedComposite", "range_rule"]

#: Up to this many columns, the subspace holds all of them.
FEW_COLUMNS = 64
#: Squares of rows with larger entries overflow in single precision; see `RangedRows`.
_LARGEST = 1e30
#: The query for class moments by `of`, and the function that makes models of its output.
_MOMENTS = {"classes": noisy_class_moments, "all": noisy_shared_moments,
            "columns": noisy_class_squares}
_MODELS = {"all": shared_model, "columns": column_models}


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """Result of the releases of Gaussian class models, on the scale of ranged rows.

    Parameters
    ----------
    row_map : RangedRows
        The map that scaled rows to their ranges and subtracted the released mean.
    rest : ndarray of shape (d,)
        Second moments of the columns that the subspace leaves out.
    basis : ndarray of shape (d, k), or None
        The directions of the subspace; None without covariances of classes.
    laws : tuple
        Class models in the subspace: shares, means, and the other outputs of the model function.
    count_noise : float
        Standard deviation of the noise on a share.
    radius : float
        The norm bound enforced on centered rows.
    of_columns : bool
        Whether the second moments are of single columns.
    """

    row_map: RangedRows
    basis: np.ndarray | None
    rest: np.ndarray
    laws: tuple
    count_noise: float
    radius: float
    of_columns: bool


class RangedComposite(Composite):
    """Base of plans that begin with ranges of columns, bounds on rows, and their mean.

    `GaussianPlan` describes the fields.
    """

    budget: Budget
    learns_ranges: bool
    norm: float | None
    spread: float | None
    centers: bool
    #: How many rows a learnt bound cuts, in the terms of `Centered`; None: few.
    _cut: ClassVar[Any] = None

    @property
    def _first_parts(self):
        """tuple of Mechanism : ranges; bounds and mean."""
        places = tuple(range(self.budget.n_columns)) if self.learns_ranges else ()
        return learnt_bounds(self.budget, places, range_rule, REACH), self._centered

    @property
    def _centered(self):
        return Centered(self.budget, self.norm, self.spread, self.centers, self._cut)

    def enforced_bounds(self, origin):
        """Return the declared bounds on rows; `origin` is that of a given `spread`."""
        return self._centered.enforced_bounds(origin)

    def _begun(self, data, session, noise_multiplier):
        """Return the map that ranges and centers rows, the mapped rows, and their norm bound.

        `data` holds the rows, the names of columns, and their public low and high ends, or None.
        """
        (rows, names, low, high), (ends, centered) = data, self._first_parts
        if self.learns_ranges:
            low, high = self._ranges(ends.run((rows,), session, noise_multiplier), names, session)
        row_map = RangedRows(np.zeros(rows.n_features), low, high, rows.dtype)
        return centered.run((rows, row_map), session, noise_multiplier)

    def _ranges(self, ends, names, session):
        """Return low and high ends of ranges, (n_features,) each, and record them as enforced."""
        low, high = ends.T
        # Low and high ends stay different even where a whole column is beyond the limit.
        low = np.clip(low, -_LARGEST, 0.5 * _LARGEST)
        high = np.clip(high, -0.5 * _LARGEST, _LARGEST)
        if self.budget.is_private:
            session.enforced += [
                Enforced(f"bounds of {name}", ends, "released", "entries outside are clipped, and "
                         "the column enters with them as its range")
                for name, *ends in zip(names, low.tolist(), high.tolist(), strict=True)]
        return low, high


@dataclass(frozen=True)
class GaussianPlan(RangedComposite):
    """Release bounds, a mean, a second moment and moments of classes.

    Parameters
    ----------
    budget : Budget
    n_classes : int
    n_components : int or None
        Dimension of the subspace; None: as many directions as stand out of the noise.
    reduces : bool
        Whether a subspace is used, for which the second moment of all rows is released.
    learns_ranges : bool
        Whether ranges of the columns are learnt.
    norm, spread : float or None
        Norm bounds on rows and on centered rows; None where they are learnt.
    of : {"classes", "all", "columns"}
        Which second moments are released: a matrix for each class, one matrix of all rows with
        sums of classes, or squares of columns by class.
    centers : bool
        Whether a mean is released and subtracted first.
    divides : bool
        Whether the models are for classification, not for synthetic data.
    """

    budget: Budget
    n_classes: int
    n_components: int | None
    reduces: bool
    learns_ranges: bool
    norm: float | None
    spread: float | None
    of: str = "classes"
    centers: bool = True
    divides: bool = False

    @property
    def _cut(self):
        # Class variances are drawn to common ones; class means are of their own rows.
        return (CLASS_CUT * self.n_classes if self.divides
                else MOMENT_CUT * math.sqrt(self.n_classes))

    @property
    def parts(self):
        """tuple of Mechanism : ranges; bounds and mean; the second moment; those of classes."""
        mean = self._centered.mean_share
        moment = (1.0 - mean) * SUBSPACE_SHARE if self.reduces else 0.0
        return (*self._first_parts,
                Share(Statistic(noisy_second_moment), moment),
                Share(Statistic(_MOMENTS[self.of]), 1.0 - mean - moment))

    def run(self, data, session, noise_multiplier):
        """Return the `GaussianFit` of rows; data are as for `RangedComposite`."""
        rows, given = data[0], (session, noise_multiplier)
        (squares, classes), width = self.parts[2:], rows.n_features
        row_map, mapped, radius = self._begun(data, *given)
        basis, values, rest, value_noise = None, None, np.zeros(width), 0.0
        if self.reduces:
            model, mu = rows_within(radius, width), mu_of(squares.own(noise_multiplier))
            moment = squares.run((model, mapped), *given)
            value_noise = second_moment_noise(model, rows.n_units, mu)
            basis, values, rest = principal(moment, value_noise, self.n_components)
        elif self.of == "classes":
            basis = np.eye(width)
        if self.of == "classes":
            released = classes.run((mapped, self.n_classes, basis, radius), *given)
        else:
            released = classes.run((mapped, self.n_classes, radius), *given)
        released, total = _in_rows(released, rows), rows.n_units
        laws = (class_models(released, values, value_noise, total, self.divides)
                if self.of == "classes" else _MODELS[self.of](released, total))
        return GaussianFit(row_map, basis, rest, laws, released.count_noise / total, radius,
                           self.of == "columns")


def range_rule(budget):
    """Return the result of `bounds_rule` for range ends; raise ValueError with too few rows.

    As n or epsilon grows, the share of entries beyond the range vanishes.
    """
    least, most = RANGE_TAILS
    return bounds_rule(budget, budget.n_columns, "feature_range",
                       (least / max(1.0, budget.signal_to_noise / AMPLE_SIGNAL), most))


def _in_rows(released, rows):
    """Return moments in the unit of the mean weight, not of the largest, if rows have weights."""
    if not rows.is_weighted:
        return released
    noise = math.sqrt(len(released.counts)) * released.count_noise
    factor = rows.n_units / max(float(released.counts.sum()), noise, COUNT_UNIT)
    return ClassMoments(*(factor * getattr(released, each.name) for each in fields(released)))
