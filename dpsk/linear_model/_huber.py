"""Huber regression with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._docs import documented
from dpsk._objective.losses import Huber
from dpsk.linear_model._regressor import LinearRegressor

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPHuberRegressor"]


@documented
class DPHuberRegressor(LinearRegressor):
    r"""Robust linear regression trained with differential privacy.

    Targets are clipped to public bounds and mapped to [-1, 1]; on that scale it minimizes,
    under noise,

    .. math:: \frac1n \sum_i h_t(\bar x_i^\top w + b - y_i) + \alpha\, r(w),
              \qquad \bar x = x \min(1, R / \|x\|_2)

    with Huber's loss `h_t`, quadratic up to the `threshold` and linear beyond. Coefficients
    are reported on the scale of the targets.

    Parameters
    ----------
    %(epsilon)s %(delta)s %(target_bounds)s
    threshold : float, default=0.3
        Residual at which the loss turns linear, as a fraction of half the width of
        `target_bounds_`. With learned bounds it follows the targets.
    %(alpha)s
    %(penalty)s %(l1_ratio)s %(radius)s %(solver_margin)s %(precondition)s %(max_iter)s
        ``clip_norm=inf`` clips nothing, as the loss itself bounds the gradient.
    %(regressor)s

    See Also
    --------
    DPRidge : For targets without outliers.
    sklearn.linear_model.HuberRegressor : Without privacy; its threshold follows the residuals.

    Notes
    -----
    %(regressor_notes)s

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; Zhang, Zheng, Mou, Wang (2017), Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPHuberRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DPHuberRegressor(epsilon=2.0, target_bounds=(25, 350), random_state=0)
    >>> model.fit(X, y).predict(X[:3]).shape
    (3,)
    >>> model.privacy_.delta == 1 / len(y)**2
    True
    """

    _whole: ClassVar[bool] = True

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto", threshold: float = 0.3,
                 alpha: float = 0.0, penalty: str | None = "l2", l1_ratio: float = 0.5,
                 radius: float | None = None, solver: str = "auto",
                 precondition: str | bool = "auto", max_iter: int | None = None,
                 learning_rate: float | None = None, batch_size: float | None = None,
                 clip_norm: float | None = None, data_norm: float | str = "auto",
                 data_norm_inf: float | None = None, fit_intercept: bool = True,
                 solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        super().__init__(epsilon, delta=delta, target_bounds=target_bounds, alpha=alpha,
                         penalty=penalty, l1_ratio=l1_ratio, radius=radius, solver=solver,
                         precondition=precondition, max_iter=max_iter, learning_rate=learning_rate,
                         batch_size=batch_size, clip_norm=clip_norm, data_norm=data_norm,
                         data_norm_inf=data_norm_inf, fit_intercept=fit_intercept,
                         solver_options=solver_options, random_state=random_state, verbose=verbose)
        self.threshold = threshold

    def _loss(self):
        return Huber(float(self.threshold))
