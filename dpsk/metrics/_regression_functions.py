"""Single metrics of regressors under scikit-learn's names, each a release of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsk._docs import documented
from dpsk.metrics._alone import alone
from dpsk.metrics._regression import RegressionEvaluation, check_metric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk.metrics._estimate import Estimate

__all__ = ["dp_mean_absolute_error", "dp_mean_squared_error", "dp_r2_score"]


@documented
def dp_mean_squared_error(y_true: ArrayLike, y_pred: ArrayLike, *,
                          residual_bound: float | None = None,
                          target_bounds: tuple[float, float] | None = None,
                          epsilon: float = 1.0, delta: float | None = None,
                          groups: ArrayLike | None = None,
                          random_state: RandomState | None = None) -> Estimate:
    """Return the mean of clipped squared residuals, with its error and certificate.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Targets, and predictions of them.
    %(residual_bound_release)s %(target_bounds_release)s
        One of both bounds is needed.
    %(epsilon_release)s %(delta_release)s %(groups_release)s %(random_state_release)s

    Returns
    -------
    error : Estimate
        With its standard error, and the certificate in `privacy_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_mean_squared_error
    >>> y = np.linspace(0, 1, 4000)
    >>> float(dp_mean_squared_error(y, y, epsilon=8.0, residual_bound=1.0)) < 0.1
    True
    """
    return alone(RegressionEvaluation, "mean_squared_error", y_true, y_pred,
                 residual_bound=residual_bound, target_bounds=target_bounds, epsilon=epsilon,
                 delta=delta, groups=groups, random_state=random_state)


@documented
def dp_mean_absolute_error(y_true: ArrayLike, y_pred: ArrayLike, *,
                          residual_bound: float | None = None,
                          target_bounds: tuple[float, float] | None = None,
                          epsilon: float = 1.0, delta: float | None = None,
                          groups: ArrayLike | None = None,
                          random_state: RandomState | None = None) -> Estimate:
    """Return the mean of clipped absolute residuals, with its error and certificate.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Targets, and predictions of them.
    %(residual_bound_release)s %(target_bounds_release)s
        One of both bounds is needed.
    %(epsilon_release)s %(delta_release)s %(groups_release)s %(random_state_release)s

    Returns
    -------
    error : Estimate
        With its standard error, and the certificate in `privacy_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_mean_absolute_error
    >>> y = np.linspace(0, 1, 4000)
    >>> float(dp_mean_absolute_error(y, y, epsilon=8.0, residual_bound=1.0)) < 0.1
    True
    """
    return alone(RegressionEvaluation, "mean_absolute_error", y_true, y_pred,
                 residual_bound=residual_bound, target_bounds=target_bounds, epsilon=epsilon,
                 delta=delta, groups=groups, random_state=random_state)


@documented
def dp_r2_score(y_true: ArrayLike, y_pred: ArrayLike, *, target_bounds: tuple[float, float],
                residual_bound: float | None = None, epsilon: float = 1.0,
                delta: float | None = None, groups: ArrayLike | None = None,
                random_state: RandomState | None = None) -> Estimate:
    """Return R2, the explained share of variance, with its error and certificate.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Targets, and predictions of them.
    target_bounds : (float, float)
        Public; targets and predictions are clipped to them.
    %(residual_bound_release)s
    %(epsilon_release)s %(delta_release)s %(groups_release)s %(random_state_release)s

    Returns
    -------
    r2 : Estimate
        With its standard error, and the certificate in `privacy_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_r2_score
    >>> y = np.linspace(0, 1, 4000)
    >>> float(dp_r2_score(y, y, target_bounds=(0, 1), epsilon=8.0)) > 0.9
    True
    """
    check_metric("r2", residual_bound, target_bounds)
    return alone(RegressionEvaluation, "r2", y_true, y_pred, residual_bound=residual_bound,
                 target_bounds=target_bounds, epsilon=epsilon, delta=delta, groups=groups,
                 random_state=random_state)
