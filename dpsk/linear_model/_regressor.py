"""Base of the linear regressors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._data.source import Rows
from dpsk._data.targets import centered, clipped_targets, largest_of, middle_of, scaled
from dpsk._defaults.losses import loss_defaults
from dpsk._docs import documented
from dpsk._mixins import LEARNT_TARGETS, BoundedRegressor
from dpsk._parameters import check_auto_flag
from dpsk._problem import Budget, Problem
from dpsk._stages import ROW_STAGES, IntoSet, TargetBounds, Whitening
from dpsk._stages.bounds_about_mean import BoundsAboutMean
from dpsk._stages.bounds_within import BoundsWithin, tighter_pays
from dpsk.linear_model._base import LinearEstimator

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, Table

__all__ = ["LinearRegressor"]


def _as_they_are(y, low, high):
    return y


def _check_row_map(name, value):
    """Return a valid `precondition`, which must not normalize rows."""
    stage = ROW_STAGES.get(check_auto_flag(name, value, ROW_STAGES))
    if stage is not None and stage.normalizes:
        raise ValueError(f"{name}={value!r}: classification and ranking only, as rows are "
                         "scaled to one norm; leave precondition='auto'.")
    return value


@documented
class LinearRegressor(BoundedRegressor, LinearEstimator):
    """Base of regressors on targets clipped to public bounds.

    Targets are mapped to a fixed interval before the fit, and coefficients are mapped back. Losses
    and defaults therefore do not depend on the unit of the target.
    """

    _constraints: ClassVar[dict] = {**LinearEstimator._constraints, "precondition": _check_row_map,
                                    **LEARNT_TARGETS}

    #: Whether the loss is a square times that of the unit of targets; then this public unit.
    _squares: ClassVar[bool] = True
    _l1_unit: float = 1.0
    #: A public lower bound of targets, where there is one.
    _lowest: ClassVar[float | None] = None

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto", alpha: float = 0.0,
                 penalty: str | None = "l2", l1_ratio: float = 0.5, radius: float | None = None,
                 solver: str = "auto", precondition: str | bool = "auto",
                 max_iter: int | None = None, learning_rate: float | None = None,
                 batch_size: float | None = None, clip_norm: float | None = None,
                 data_norm: float | str = "auto", data_norm_inf: float | None = None,
                 fit_intercept: bool = True, solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.target_bounds = target_bounds
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.radius = radius
        self.solver = solver
        self.precondition = precondition
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.clip_norm = clip_norm
        self.data_norm = data_norm
        self.data_norm_inf = data_norm_inf
        self.fit_intercept = fit_intercept
        self.solver_options = solver_options
        self.random_state = random_state
        self.verbose = verbose

    def _scalar_loss(self):
        return self._loss()

    @abstractmethod
    def _loss(self):
        """Return the loss on the mapped targets."""

    def _bounded_loss(self, bounds):
        """Return the loss on targets within `bounds`, which are None if learned."""
        return self._loss()

    def _last_stages(self, row_stage, constraint):
        stages = super()._last_stages(row_stage, constraint)
        if constraint is not None and isinstance(row_stage, Whitening):
            stages.append(IntoSet(row_stage, constraint))
        return stages

    @private_fit
    def fit(self, X: Table, y: Table | None = None, sample_weight: ArrayLike | None = None, *,
            groups: ArrayLike | None = None, public_X: Table | None = None,
            public_y: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X)s %(y_targets)s %(sample_weight)s
            "sufficient_statistics" uses the number of rows instead of the sum of weights, so with
            an intercept weights of 1 differ from None there.
        %(groups)s %(public_X)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        rows = self._read_rows(X, y, sample_weight, groups)
        rows = replace(rows, holdout=self._read_public_rows(public_X, public_y, rows))
        bounds, within = self._declared_bounds(rows), None
        if bounds and self._tightens(rows):
            rows = rows.with_targets(partial(clipped_targets, _as_they_are, bounds, np.float64))
            bounds, within = None, bounds
        self._l1_unit = self._unit_of(*bounds) if bounds and self._squares else 1.0
        # Learned bounds are released by a stage, which states them in the certificate.
        learning = [] if bounds else [self._learnt_bounds(rows.dtype, within)]
        coef, intercept = self._fit_linear(
            self._bounded(rows, bounds), self._bounded_loss(bounds), None,
            free_weights=rows.is_weighted, target_stages=learning,
            enforced=[self._target_bound(bounds)] if bounds else [],
            public=self._weight_facts(sample_weight))
        del self._l1_unit
        if bounds:
            self.target_bounds_ = bounds
        # With epsilon=inf, bounds that were not declared are the smallest and largest target.
        self._is_cut = not self._learns_bounds or self.epsilon < np.inf
        self.coef_, self.intercept_ = self._unmapped(coef, intercept, *self.target_bounds_)
        return self

    def _check_fit(self, n_samples, y):
        """Raise the ValueError that a fit to any n rows with these targets would raise."""
        self._check_solver(n_samples, self._scalar_loss())
        if self.target_bounds is None:
            # Whether bounds can be learned depends on the number of rows only.
            self._declared_bounds(Rows(np.broadcast_to(np.int8(0), (n_samples, 1)), y))

    def _solver_name(self, facts):
        name = super()._solver_name(facts)
        return "gd" if (self.solver == "auto" and facts.is_private and facts.delta > 0
                        and self._learns_bounds and self._is_too_expensive(name, facts)) else name

    def _check_learnable(self, facts):
        super()._check_learnable(facts)
        if self.solver != "auto" and self._is_too_expensive(self.solver, facts):
            raise ValueError(
                f"target_bounds: n={facts.n_samples} rows at epsilon={facts.epsilon:g} are too "
                f"few to learn a bound before solver={self.solver!r}; declare target_bounds, or "
                "raise epsilon.")

    def _is_too_expensive(self, name, facts):
        """Return whether learned bounds leave too little for the least cost of a solver."""
        # The cost of a perturbed objective does not fall without limit as its noise grows.
        return not (self._build_solver(name).takes_unit
                    or self._learnt_bounds(np.float64, None).leaves_rest(facts))

    def _learnt_bounds(self, dtype, within):
        """Return the stage that learns bounds, inside the bounds `within` if given."""
        if within is None:
            # Without an intercept, targets are scaled by their distance from 0.
            stage = BoundsAboutMean if self.fit_intercept else TargetBounds
            return stage(self._target_map(), dtype, self._lowest,
                         self._unit_of if self._squares else None)
        return BoundsWithin(self._target_map(), dtype, within)

    def _tightens(self, rows):
        """Return whether to learn bounds inside the declared ones, from public facts.

        This needs a clippable loss of residuals, and neither a non-smooth penalty nor a constraint
        set, whose size would be in units of the declared bounds.
        """
        if self.epsilon == np.inf:
            return False
        facts = self._facts(rows)
        penalty, constraint = self._penalty_and_set(facts)
        facts = replace(facts, penalty=penalty(0))
        unit_is_free = (loss_defaults(facts.loss).of_residuals and facts.loss.clippable
                        and facts.penalty.is_smooth and constraint is None)
        return (unit_is_free and rows.groups is None and rows.holdout is None and tighter_pays(
            Budget(rows.n_units, 1, *self._budget(rows.n_units)),
            self._solver_class(self._solver_name(facts)).is_gaussian))

    def _facts(self, rows):
        """Return the public facts of a fit, before its solver and stages are chosen."""
        return Problem(rows.n_units, self._row_model(rows, None), self._scalar_loss(),
                       self._penalty(0), *self._budget(rows.n_units),
                       grouped=rows.groups is not None)

    def _bounded(self, rows, bounds):
        """Return rows with clipped and mapped targets, unchanged for ``bounds=None``."""
        if bounds is None:
            return rows
        return rows.with_targets(partial(clipped_targets, self._target_map(), bounds, rows.dtype))

    def _penalty(self, unpenalized):
        return super()._penalty(unpenalized).for_targets(self._l1_unit)

    def _unit_of(self, low, high):
        """Return the unit of mapped targets."""
        return (middle_of if self.fit_intercept else largest_of)(low, high)[1]

    def _target_map(self):
        """Return the function that maps targets, and their bounds, to targets of the loss."""
        return centered if self.fit_intercept else scaled

    def _unmapped(self, coef, intercept, low, high):
        """Return coefficients and intercept on the scale of the targets."""
        middle, half = (middle_of if self.fit_intercept else largest_of)(low, high)
        return coef * coef.dtype.type(half), float(intercept) * half + middle

    @blockwise
    @quietly
    def predict(self, X: Table) -> AnyArray:
        """Return predicted targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        targets : ndarray of shape (n,)
            On the scale of the targets, within `target_bounds_`.
        """
        return self._within_bounds(self._predict_raw(X))

    def _within_bounds(self, predicted):
        return np.clip(predicted, *self.target_bounds_) if self._is_cut else predicted
