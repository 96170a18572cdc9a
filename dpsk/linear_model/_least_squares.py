"""Least squares with differential privacy, with and without a ridge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from dpsk._defaults.auto import solver_in_set
from dpsk._defaults.budgets import MOST_COLUMNS, carries_slopes
from dpsk._docs import documented
from dpsk._objective.losses import Squared
from dpsk._objective.penalties import CONSTRAINTS, NO_PENALTY, ConstraintSet, L1Ball
from dpsk._stages import Whitening
from dpsk.linear_model._regressor import LinearRegressor

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPLinearRegression", "DPRidge", "LeastSquares"]


class LeastSquares(LinearRegressor):
    """Base of the regressors with the squared loss."""

    _whole: ClassVar[bool] = True

    def _loss(self):
        return Squared()

    def _penalty_and_set(self, problem):
        if not isinstance(problem.penalty, L1Ball):
            return self._penalty, None
        free = replace(problem, penalty=NO_PENALTY(0))
        if self.radius is None and self._needs_no_set(free):
            # The known noise selects the relevant features better than an arbitrary radius would.
            return NO_PENALTY, None
        # Whitened rows need less noise; the coefficients are projected onto the set afterwards.
        if self.solver == "auto" == self.precondition and problem.is_private and (
                Whitening.worthwhile(free)):
            return NO_PENALTY, problem.penalty
        return self._penalty, None

    def _needs_no_set(self, free):
        """Return whether coefficients stay small without a set, from public facts.

        `free` is the problem without a set.
        """
        if self.solver != "auto":
            solver = self._build_solver(self.solver)
            if not all(each.is_met(solver, free) for each in solver.requires):
                return False
        if not free.is_private:
            return True
        if free.delta == 0 or free.model.n_features > MOST_COLUMNS:
            return False
        constant = (self.solver == "auto" == self.precondition and self.fit_intercept
                    and not free.grouped and self.data_norm_inf is None)
        whitened = self.precondition is not False and Whitening.worthwhile(free)
        return constant or whitened or carries_slopes(free)

    @property
    def _auto_is_gaussian(self):
        """bool : whether "auto" takes only Gaussian solvers; not in an l1 ball."""
        return self.penalty != "l1_ball"

    def _auto_solver(self, problem):
        if isinstance(problem.penalty, ConstraintSet):
            return solver_in_set(problem)
        if problem.delta == 0:
            return "objective_perturbation"
        # With more features the noise on the moments costs more than gradient descent.
        narrow = (problem.model.n_features <= MOST_COLUMNS and problem.penalty.is_smooth
                  and self.penalty not in CONSTRAINTS)
        # Descent clips residuals, which are smaller than targets, so its sums need less noise; it
        # needs enough rows to estimate slopes.
        descends = carries_slopes(problem) or (
            self.precondition is not False and Whitening.worthwhile(problem))
        return "sufficient_statistics" if narrow and not descends else "gd"

    def _solver_of_constant(self, name, problem, rows):
        # With a narrow clip descent converges to a median, with noise proportional to the spread
        # of targets. Moments do not include the sum of weights.
        if self.solver != "auto" or problem.delta == 0 or not problem.penalty.is_smooth:
            return name
        moments = "sufficient_statistics"
        plain = not rows.is_weighted and rows.groups is None
        return moments if plain and self._takes_given(moments) else "gd"


@documented
class DPLinearRegression(LeastSquares):
    r"""Linear regression trained with differential privacy.

    Targets are clipped to public bounds and mapped to [-1, 1]; on that scale it minimizes half
    the mean squared residual over rows scaled to `data_norm`, under noise.

    Parameters
    ----------
    %(least_squares)s

    See Also
    --------
    DPRidge : With a penalty by default.
    DPHuberRegressor : Less sensitive to outliers.
    sklearn.linear_model.LinearRegression : The limit as epsilon grows.

    Notes
    -----
    %(least_squares_notes)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPLinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DPLinearRegression(epsilon=2.0, target_bounds=(25, 350), random_state=0)
    >>> model.fit(X, y).predict(X[:3]).shape
    (3,)
    """


@documented
class DPRidge(LeastSquares):
    r"""Ridge regression trained with differential privacy.

    Targets are clipped to public bounds and mapped to [-1, 1]; on that scale it minimizes half
    the mean squared residual plus ``(alpha / 2) ||w||^2`` over rows scaled to `data_norm`, under
    noise. `alpha` is relative to the **mean** squared residual; scikit-learn's Ridge has the sum.

    Parameters
    ----------
    %(least_squares)s

    See Also
    --------
    DPLinearRegression : Without a penalty by default.
    DPLasso : Under a bound on the l1 norm.
    sklearn.linear_model.Ridge : The limit as epsilon grows.

    Notes
    -----
    %(least_squares_notes)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DPRidge(epsilon=2.0, target_bounds=(25, 350), random_state=0)
    >>> model.fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto", alpha: float = 1e-3,
                 penalty: str | None = "l2", l1_ratio: float = 0.5, radius: float | None = None,
                 solver: str = "auto", precondition: str | bool = "auto",
                 max_iter: int | None = None, learning_rate: float | None = None,
                 batch_size: float | None = None, clip_norm: float | None = None,
                 data_norm: float | str = "auto", data_norm_inf: float | None = None,
                 fit_intercept: bool = True, solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        super().__init__(epsilon, delta=delta, target_bounds=target_bounds, alpha=alpha,
                         penalty=penalty, l1_ratio=l1_ratio, radius=radius, solver=solver,
                         precondition=precondition, max_iter=max_iter, learning_rate=learning_rate,
                         batch_size=batch_size, clip_norm=clip_norm, data_norm=data_norm,
                         data_norm_inf=data_norm_inf, fit_intercept=fit_intercept,
                         solver_options=solver_options, random_state=random_state, verbose=verbose)
