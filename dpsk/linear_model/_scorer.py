"""Base of classifiers by a linear score, however it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsk._mixins import ScoreClassifier
from dpsk.linear_model._base import LinearEstimator

if TYPE_CHECKING:
    from typing import Any

__all__ = ["LinearScorer"]


class LinearScorer(ScoreClassifier, LinearEstimator):
    """Base of classifiers by a linear score, of two classes unless a subclass says more."""

    _takes_several = False
    _homogeneous = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_several
        return tags
