"""What classifiers by a linear score share, however it is trained."""

from dpsk._mixins import ScoreClassifier
from dpsk.linear_model._base import LinearEstimator

__all__ = ["LinearScorer"]


class LinearScorer(ScoreClassifier, LinearEstimator):
    """Base of classifiers by a linear score, of two classes unless a subclass says more."""

    _takes_several = False
    _homogeneous = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_several
        return tags
