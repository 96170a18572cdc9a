"""Support vector classification with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._docs import documented
from dpsk._objective.losses import HuberizedHinge, OneVsRest, Sigmoid, SquaredHinge
from dpsk._parameters import choice
from dpsk.linear_model._classifier import LinearClassifier

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPLinearSVC"]

_LOSSES = {"huberized_hinge": HuberizedHinge, "sigmoid": Sigmoid, "squared_hinge": SquaredHinge}


@documented
class DPLinearSVC(LinearClassifier):
    r"""Linear support vector classification trained with differential privacy.

    Minimizes a smooth hinge loss of the margin under noise, on rows scaled to `data_norm`. With
    several classes each class is trained against the rest, all in one private release whose
    gradients are clipped jointly.

    Parameters
    ----------
    %(epsilon)s %(delta)s
    loss : {"huberized_hinge", "squared_hinge", "sigmoid"}, default="huberized_hinge"
        "huberized_hinge" rounds the corner of the hinge over a width of 1. "squared_hinge" has
        unbounded gradients, which `clip_norm` bounds. "sigmoid" is ``1 / (1 + exp(margin))``, a
        smooth error rate. It is bounded, so outliers and flipped labels have little effect, and
        not convex, so "output_perturbation" and "last_iterate" refuse it.
    %(alpha)s
        With ``epsilon=inf`` and ``penalty="l2"``, 0 means 1 / n, which is scikit-learn's ``C=1``.
    %(penalty)s %(l1_ratio)s %(radius)s %(solver_margin)s
    %(precondition_scores)s %(max_iter)s
        Gradients of rows are scaled down to norm `clip_norm`. If that is inf, the loss and
        `data_norm` bound them.
    %(data_norm)s %(data_norm_inf)s %(fit_intercept)s %(class_weight)s %(classes)s
    %(solver_options)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coef__classes)s %(intercept__classes)s %(center__linear)s %(feature_scales_)s
    %(data_norm_)s %(preconditioner_)s
    %(preconditioner_scales_)s %(classes_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_classes)s

    See Also
    --------
    DPLogisticRegression : With probabilities.
    sklearn.svm.LinearSVC : Without privacy, with the hinge loss.

    Notes
    -----
    %(privacy)s

    %(linear_score)s

    *Several classes.* Descent starts from scores of -1, where the loss of a row has a nonzero
    gradient for its own class only. On whitened rows the default clip is that of one class.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; Zhang, Zheng, Mou, Wang (2017), Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DPLinearSVC(epsilon=1.0, random_state=0).fit(X / 1000.0, y)
    >>> model.decision_function(X[:2] / 1000.0).shape
    (2,)
    """

    _constraints: ClassVar[dict] = {**LinearClassifier._constraints, "loss": choice(*_LOSSES)}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 loss: str = "huberized_hinge", alpha: float = 0.0, penalty: str | None = "l2",
                 l1_ratio: float = 0.5, radius: float | None = None, solver: str = "auto",
                 precondition: str | bool = "auto", max_iter: int | None = None,
                 learning_rate: float | None = None, batch_size: float | None = None,
                 clip_norm: float | None = None, data_norm: float | str = "auto",
                 data_norm_inf: float | None = None, fit_intercept: bool = True,
                 class_weight: dict[Any, float] | None = None, classes: ArrayLike | None = None,
                 solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        super().__init__(epsilon, delta=delta, class_weight=class_weight, classes=classes,
                         alpha=alpha, penalty=penalty, l1_ratio=l1_ratio, radius=radius,
                         solver=solver, precondition=precondition, max_iter=max_iter,
                         learning_rate=learning_rate, batch_size=batch_size, clip_norm=clip_norm,
                         data_norm=data_norm, data_norm_inf=data_norm_inf,
                         fit_intercept=fit_intercept, solver_options=solver_options,
                         random_state=random_state, verbose=verbose)
        self.loss = loss

    def _binary_loss(self):
        return _LOSSES[self.loss]()

    @staticmethod
    def _binary_targets(codes):
        return 2 * codes - 1

    def _several_loss(self, n_classes):
        return OneVsRest(self._binary_loss(), n_classes)
