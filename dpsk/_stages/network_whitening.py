"""Whitening of the rows of a network by their noisy mean and second moment."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.budgets import (
    LEAST_FLOOR,
    NETWORK_MOMENT_SHARE,
    SCORE_FLOOR,
    are_many,
    mu_of_share,
)
from dpsk._defaults.networks import hidden_scale, whitened_length
from dpsk._models import LinearModel
from dpsk._models.products import product_by_row
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import Gaussian
from dpsk._problem import Geometry
from dpsk._stages.base import Stage
from dpsk._stages.bounds import NormBound, norm_rule
from dpsk._stages.centering import CenteredRows, center_norm
from dpsk._stages.column_scaling import ColumnScaling
from dpsk._stages.row_centering import RowCentering
from dpsk._stages.thresholding import thresholded
from dpsk._stages.whitening import InverseRoot, ampleness
from dpsk._statistics.moments import noisy_second_moment, second_moment_noise

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._problem import Problem
    from dpsk._typing import Features, FloatArray

__all__ = ["MomentNorm", "NetworkWhitening", "network_whitening_pays"]

#: Sums of squares of longer rows could overflow in single precision.
_LONGEST = 2.0**60


class NetworkWhitening(Stage):
    """Release a noisy second moment of rows with a constant 1, and whiten centered rows by it.

    A row x enters a network as ``(x - c) P``, with the mean c and the inverse root P of the
    covariance, both computed from the moment. P is scaled to give usual rows the length
    `whitened_length`. The map is affine and becomes part of the released layers, which therefore
    predict for the original rows.

    `data_norm` bounds rows for the moment; None: an earlier stage releases the bound.
    """

    attribute = "preconditioner_"
    takes_groups = True
    #: The released mean, float32, once there is one.
    center = None

    def __init__(self, n_features, data_norm=None):
        self._declared = data_norm is not None
        self._rows = LinearModel(n_features, None, True, 1.0,
                                 unit=float(data_norm) if self._declared else 1.0)

    @classmethod
    def stages(cls, problem: Problem, data_norm: float | None, given: RowSource) -> list[Any]:
        """Return the stages of one fit to the `given` rows, from public facts.

        The moment comes last, after scales, a center and a learnt bound on rows if needed. They
        are not learnt from rows in groups.
        """
        n_features = problem.model.n_features
        if data_norm is not None:
            return [cls(n_features, data_norm)]
        rows = LinearModel(n_features, None, True, 1.0)
        # Without a learnt bound, use that of `Centering`.
        plain = [cls(n_features, center_norm(n_features, None))]
        if given.groups is not None:
            return plain
        try:
            norm_rule(problem, rows)
        except ValueError:
            return plain
        stage, center = cls(n_features), RowCentering.stages(problem, given)
        bound = MomentNorm(rows, stage, *(each.warn_if_far for each in center))
        return [*ColumnScaling.stages(problem, given), *center, bound, stage]

    @staticmethod
    def prepared(problem: Problem) -> Problem:
        """Return the problem of mapped rows as far as it is known before the release."""
        model = problem.model
        if model.hidden_layer_sizes:
            model = replace(model, hidden_scale=hidden_scale(problem))
        # The geometry only tells the solver that rows are whitened.
        return replace(problem, model=model, geometry=Geometry(model.n_features))

    def take_unit(self, unit: float) -> None:
        """Set the bound on rows to one that an earlier stage released."""
        self._rows = replace(self._rows, unit=unit)

    def event(self, problem: Problem) -> Any:
        """Return the event of the release."""
        return Gaussian(mu_of_share(problem, NETWORK_MOMENT_SHARE))

    def enforced_bounds(self, problem: Problem) -> list[Any]:
        if not self._declared:
            return []
        return [Enforced("moment_norm", self._rows.unit, "derived", _WORDS)]

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem, whose rows need no bound any more, and the whitened rows."""
        model, mu = self._rows, self.event(problem).mu
        noisy = noisy_second_moment(model, rows, mu, session)
        noise_std = second_moment_noise(model, rows.n_units, mu)
        found = thresholded(noisy, noise_std, fit_intercept=True)
        mean = found.moment[:-1, -1]
        signal = rows.n_units * problem.mu / len(noisy)
        floor = max(LEAST_FLOOR / ampleness(signal),
                    SCORE_FLOOR * noise_std * math.sqrt(found.entries))
        covariance = found.moment[:-1, :-1] - np.outer(mean, mean)
        root = InverseRoot.of(covariance, floor, found.noise_share)
        # The bound on rows is the unit of the moment.
        matrix = root.matrix * (whitened_length(len(mean))
                                / (math.sqrt(root.effective_rank) * model.unit))
        self.value = matrix.astype(np.float32)
        self.center = (mean * model.unit).astype(np.float32)
        network = problem.model
        rows = rows.mapped(WhitenedRows(network, self.center, self.value))
        return replace(problem, model=replace(network, data_norm=None)), rows

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return model.before_map(theta, self.center, self.value)


class MomentNorm(NormBound):
    """Release a high quantile of row norms, which bounds rows in the second moment only."""

    attribute = None

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("moment_norm", self.value, "released", _WORDS)]

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return theta


_WORDS = ("l2 norm of one row of features as it enters the noisy second moment; longer rows are "
          "scaled down")


@dataclass(frozen=True, eq=False)
class WhitenedRows(CenteredRows):
    """Map of bounded rows of a network: less the released mean, times a released matrix."""

    matrix: np.ndarray

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the rows of a block to `out`; mapped rows that are too long become 0."""
        out[:] = product_by_row(self.model.bounded(X) - self.center, self.matrix)
        squares = np.einsum("ij,ij->i", out, out, dtype=np.float64)
        out[~(squares < _LONGEST**2)] = 0.0


def network_whitening_pays(problem: Problem) -> bool:
    """Return whether rows of a network are whitened by default, from public facts.

    Units with an odd activation would stay nearly linear in the few steps on whitened rows.
    """
    columns = problem.model.n_features + 1
    fits = not are_many(columns) and columns < problem.n_samples * problem.mu
    return problem.model.activation == "relu" and problem.is_private and problem.delta > 0 and fits
