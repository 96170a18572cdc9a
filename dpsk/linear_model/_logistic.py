"""Logistic regression with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsk._docs import documented
from dpsk._mixins import Probabilities
from dpsk._objective.losses import Logistic, Multinomial
from dpsk._stages import FewRows, ScoreCurvature, Shrinkage, TemperatureScaling
from dpsk.linear_model._classifier import LinearClassifier

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPLogisticRegression"]


@documented
class DPLogisticRegression(Probabilities, LinearClassifier):
    r"""Logistic regression trained with differential privacy.

    Minimizes, with noise for privacy,

    .. math:: \frac1n \sum_i \ell(y_i, \bar x_i^\top w + b) + \alpha\, r(w),
              \qquad \bar x = x \min(1, R / \|x\|_2)

    with coefficients w, intercept b and penalty r on large w. The loss (prediction error) is the
    logistic one for two classes, and the multinomial one for more. Longer rows are scaled down to
    norm `R`, which is `data_norm`.

    Parameters
    ----------
    %(epsilon)s %(delta)s %(alpha)s
        With ``epsilon=inf`` and ``penalty="l2"``, 0 means 1 / n, which is scikit-learn's ``C=1``.
    %(penalty)s %(l1_ratio)s %(radius)s
    %(solver_margin)s %(precondition_scores)s
    temperature : {"auto", True, False}, default="auto"
        Whether to divide scores by a private number, for a fiftieth of the budget. Clipped
        gradients make coefficients too large; the division makes probabilities less extreme
        and leaves `predict` as it is. "auto": only for whitened rows, default `clip_norm` and
        no more classes than features. True needs "gd" or "sgd", an l2 penalty or
        none, and delta > 0. Where noise dominates the scores (``n mu`` below the number of
        features, or below 65 with more than 200 features), "auto" divides scores by 4 instead,
        at no privacy cost.
    %(max_iter)s
        Gradients of rows are scaled down to norm `clip_norm`. If that is inf, the loss and
        `data_norm` bound them.
    %(data_norm)s %(data_norm_inf)s %(fit_intercept)s %(class_weight_balanced)s %(classes)s
    %(solver_options)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coef__classes)s %(intercept__classes)s %(center__linear)s %(feature_scales_)s
    %(data_norm_)s %(preconditioner_)s
    %(preconditioner_scales_)s %(classes_)s
    temperature_ : float or None
        The private number that scores were divided by. None if no budget was used for it.
    score_curvature_ : float or None
        Second derivative of the loss with respect to a factor on all scores, divided by the
        variance of the scores. It is computed from one of the solver's releases, and `summary()`
        uses it. None if rows were not whitened, or there is no such release.
    %(class_shares_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_classes)s

    See Also
    --------
    DPLinearSVC : A linear classifier without probabilities.
    DPAdditiveClassifier : For raw tables, with a shape function for every column.
    sklearn.linear_model.LogisticRegression : The same model without privacy.

    Notes
    -----
    %(privacy)s
    Releases include noisy slopes of the loss if a temperature is fitted, and noisy class counts
    with ``class_weight="balanced"``.

    %(linear_score)s

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; Zhang, Zheng, Mou, Wang (2017), Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DPLogisticRegression(epsilon=1.0, random_state=0).fit(X / 1000.0, y)
    >>> model.predict_proba(X[:2] / 1000.0).shape
    (2, 2)
    >>> model.privacy_.epsilon
    1.0
    """

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None, alpha: float = 0.0,
                 penalty: str | None = "l2", l1_ratio: float = 0.5, radius: float | None = None,
                 solver: str = "auto", precondition: str | bool = "auto",
                 temperature: str | bool = "auto", max_iter: int | None = None,
                 learning_rate: float | None = None, batch_size: float | None = None,
                 clip_norm: float | None = None, data_norm: float | str = "auto",
                 data_norm_inf: float | None = None, fit_intercept: bool = True,
                 class_weight: dict[Any, float] | str | None = None,
                 classes: ArrayLike | None = None,
                 solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        super().__init__(epsilon, delta=delta, class_weight=class_weight, classes=classes,
                         alpha=alpha, penalty=penalty, l1_ratio=l1_ratio, radius=radius,
                         solver=solver, precondition=precondition, max_iter=max_iter,
                         learning_rate=learning_rate, batch_size=batch_size, clip_norm=clip_norm,
                         data_norm=data_norm, data_norm_inf=data_norm_inf,
                         fit_intercept=fit_intercept, solver_options=solver_options,
                         random_state=random_state, verbose=verbose)
        self.temperature = temperature

    _balances = True

    def _check_combination(self):
        super()._check_combination()
        if self._is_balanced() and not self.fit_intercept:
            raise ValueError("class_weight='balanced': corrects the constant of scores; leave "
                             "fit_intercept=True, or declare weights in a dict.")

    def _last_stages(self, row_stage, constraint):
        wanted = None if self.temperature == "auto" else bool(self.temperature)
        temperature = TemperatureScaling(wanted)
        if row_stage is None and wanted is None:
            return [temperature, FewRows(), ScoreCurvature(None)]
        shrinkage = [Shrinkage(row_stage)] if self._draws_in(row_stage) else []
        return [*shrinkage, temperature, ScoreCurvature(row_stage)]

    def _binary_loss(self):
        return Logistic()

    @staticmethod
    def _binary_targets(codes):
        return codes

    def _several_loss(self, n_classes):
        return Multinomial()
