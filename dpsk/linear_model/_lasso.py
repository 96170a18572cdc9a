"""Least squares over an l1 ball with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsk._docs import documented
from dpsk.linear_model._least_squares import LeastSquares

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPLasso"]


@documented
class DPLasso(LeastSquares):
    r"""Least squares under a bound on the l1 norm, trained with differential privacy.

    Targets are clipped to public bounds and mapped to [-1, 1]; on that scale it minimizes

    .. math:: \frac{1}{2n} \sum_i (\bar x_i^\top w + b - y_i)^2
              \quad \text{over} \quad \|(w, b)\|_1 \le \text{radius}

    under noise, with rows scaled to `data_norm` and their entries clipped to `data_norm_inf`:
    the lasso in its constrained form. Solvers "gd" and "sgd" leave the intercept b free.

    Without a `radius`, for at most 2000 features and delta > 0, there is no ball. The noise in
    coefficients is known, and where few features stand out of it only these are kept. With a
    `radius`, and enough rows to whiten them (see `precondition`), that fit is projected onto the
    ball in the metric of the released covariance. Neither step has a privacy cost of its own.

    Parameters
    ----------
    %(epsilon)s %(delta)s
        Only "frank_wolfe" supports it here.
    %(target_bounds)s %(radius)s
        The l1 ball bounds the norm of coefficients and intercept on the scale of targets mapped
        to [-1, 1]. None: no ball, or radius 1 where a ball is needed: with more than 2000
        features, ``delta=0``, a solver that moves inside a set, or too few rows for slopes where
        no constant is fitted instead. Other sets have radius 1. The certificate says which.
    %(alpha)s
        Must be 0 with constraint sets, such as the default.
    %(penalty)s
        The l1 ball makes it the lasso. "l1" adds `alpha` times the norm instead.
    %(l1_ratio)s
    %(solver_lasso)s %(precondition)s %(max_iter)s
        The squared loss does not bound the gradient, so ``clip_norm=inf`` is refused.
    %(regressor)s

    See Also
    --------
    DPRidge : For data in which most features matter.
    sklearn.linear_model.Lasso : Without privacy, the penalized form.

    Notes
    -----
    %(regressor_notes)s

    The intercept enters as a coordinate of 1, so solvers inside the ball cannot use a
    `data_norm_inf` below 1. Where targets are centered between their bounds,
    ``fit_intercept=False`` is better.

    References
    ----------
    Talwar, Thakurta, Zhang (2015), "Nearly optimal private lasso", Algorithm 2; Wang, Ye, Xu
    (2017), Algorithm 3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPLasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DPLasso(epsilon=2.0, target_bounds=(25, 350), random_state=0)
    >>> model.fit(X, y).predict(X[:3]).shape
    (3,)
    """

    _usual_radius = 1.0

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto",
                 radius: float | None = None, alpha: float = 0.0, penalty: str | None = "l1_ball",
                 l1_ratio: float = 0.5, solver: str = "auto", precondition: str | bool = "auto",
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
