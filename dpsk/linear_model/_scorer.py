"""Base of classifiers with a linear score, independent of the training method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsk._mixins import ScoreClassifier
from dpsk.linear_model._base import LinearEstimator

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["LinearScorer"]


class LinearScorer(ScoreClassifier, LinearEstimator):
    """Base of classifiers with a linear score; binary unless a subclass says more."""

    _takes_several = False
    _homogeneous = True

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None, alpha: float = 0.0,
                 penalty: str | None = "l2", l1_ratio: float = 0.5, radius: float | None = None,
                 solver: str = "auto", precondition: str | bool = "auto",
                 max_iter: int | None = None, learning_rate: float | None = None,
                 batch_size: float | None = None, clip_norm: float | None = None,
                 data_norm: float | str = "auto", data_norm_inf: float | None = None,
                 fit_intercept: bool = True,
                 class_weight: dict[Any, float] | str | None = None,
                 classes: ArrayLike | None = None,
                 solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
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
        self.class_weight = class_weight
        self.classes = classes
        self.solver_options = solver_options
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_several
        return tags
