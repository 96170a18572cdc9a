"""Quantile regression with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._docs import documented
from dpsk._objective.losses import Pinball
from dpsk._parameters import number
from dpsk._stages.bounds_about_quantile import BoundsAboutQuantile, ResidualQuantile
from dpsk.linear_model._regressor import LinearRegressor

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPQuantileRegressor"]


@documented
class DPQuantileRegressor(LinearRegressor):
    r"""Linear quantile regression trained with differential privacy.

    It predicts the value below which a fraction `q` of the targets lies, given the features.
    Targets are clipped to public bounds and mapped to [-1, 1]; on that scale it minimizes, under
    noise,

    .. math:: \frac1n \sum_i p_q(\bar x_i^\top w + b - y_i) + \alpha\, r(w),
              \qquad \bar x = x \min(1, R / \|x\|_2)

    with the pinball loss ``p_q(r) = max((1 - q) r, -q r)``, whose corner is rounded for
    ``|r| < 0.01``. Coefficients are reported on the scale of the targets.

    Parameters
    ----------
    %(epsilon)s %(delta)s %(target_bounds)s
    quantile : float, default=0.5
        The `q` of the predicted quantile, in the open interval (0, 1).
    %(alpha)s
        The penalty is on the scale of targets mapped to [-1, 1].
    %(penalty)s %(l1_ratio)s %(radius)s %(solver_margin)s %(precondition)s %(max_iter)s
        By default gradients are not clipped below the bound of the loss. A smaller `clip_norm`
        shortens slopes of one sign more than the others, and so fits another quantile.
    %(regressor)s

    See Also
    --------
    DPHuberRegressor : The center of the targets, less sensitive to outliers than a mean.
    sklearn.linear_model.QuantileRegressor : Without privacy; an l1 penalty.

    Notes
    -----
    %(regressor_notes)s

    *An interval* between two quantiles takes two fits; `dpsk.accounting.total` gives their joint
    privacy cost. They are fitted independently, and noise may make them cross.

    *Rounding.* Solvers need a curvature, which a corner does not have. The rounded loss is the
    mean of pinball losses shifted by up to 0.01 either way, in units of half the width of
    `target_bounds`. So the fraction of targets below the prediction, averaged over such shifts,
    is `q` at the optimum. The coverage is exact where the density of targets is constant over
    that width, and off by about ``M w**2 / 6`` where its slope is at most M over shifts of w. If
    the bounds are a hundred times as wide as the residuals, the corner is as wide as the
    residuals and coverage is far from `q`: declare close bounds, or let them be learned.

    *Coverage.* Below .2 and above .8, a private quantile of the residuals, a tenth of mu^2,
    corrects the intercept of unweighted rows without groups after solvers "gd" and "sgd".
    Learned bounds reach a quarter of the tail beyond `q`. On skewed targets coverage was within
    .01 of `q` in nine fits of ten where n mu exceeds 1000, for `q` from .05 to .99. It cannot be
    had with fewer rows, or where bounds cut the quantile or many targets are the same number.

    References
    ----------
    Koenker, Bassett (1978), "Regression quantiles"; Fernandes, Guerre, Horta (2021), "Smoothing
    quantile regressions", for the rounding; Wang, Ye, Xu (2017), Algorithm 4, and Zhang, Zheng,
    Mou, Wang (2017), Algorithm 1, for the solvers.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(4000, 1))
    >>> y = X[:, 0] + rng.uniform(-1, 1, size=4000)
    >>> model = DPQuantileRegressor(epsilon=2.0, quantile=0.8, target_bounds=(-2, 2))
    >>> bool(0.7 < np.mean(y < model.fit(X, y).predict(X)) < 0.9)
    True
    """

    _squares = False
    _constraints: ClassVar[dict] = {
        **LinearRegressor._constraints,
        "quantile": number("a number in (0, 1)", low=0, open_low=True, high=1, open_high=True)}
    #: A row scaled down together with its target has a smaller weight and the same quantiles.
    _whole: ClassVar[bool] = True

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto", quantile: float = 0.5,
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
        self.quantile = quantile

    def _loss(self):
        return Pinball(float(self.quantile))

    def _fit_linear(self, rows, loss, n_outputs, **settings):
        moved = ResidualQuantile(float(self.quantile))
        stages = [moved] if self.fit_intercept and not rows.is_weighted else []
        coef, intercept = super()._fit_linear(rows, loss, n_outputs, stages=stages, **settings)
        return coef, intercept + coef.dtype.type(moved.value)

    def _learnt_bounds(self, dtype, within):
        return BoundsAboutQuantile(float(self.quantile), self._target_map(), dtype)
