"""What classifiers by a linear score share, however it is trained."""

from typing import ClassVar

from sklearn.base import ClassifierMixin

from dpsk._data.labels import encode_labels
from dpsk._models.scores import best_class
from dpsk.linear_model._base import LinearEstimator

__all__ = ["LinearScorer"]


class LinearScorer(ClassifierMixin, LinearEstimator):
    """Base of classifiers by a linear score, of two classes unless a subclass says more."""

    _target_checks: ClassVar[dict] = {}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # At epsilon=1 with 50 rows half of the fits miss what heavy class weights should give.
        tags.classifier_tags.poor_score = True
        tags.classifier_tags.multi_class = False
        return tags

    def _encode_two(self, y):
        """Return the classes and the index of every label, where two classes are all there is."""
        classes, codes = encode_labels(y, self.classes, type(self).__name__)
        if len(classes) > 2:
            raise ValueError("Only binary classification is supported. The label set has "
                             f"{len(classes)} classes; use DPLogisticRegression for more.")
        return classes, codes

    def decision_function(self, X):
        """Return confidence scores of samples.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)

        Returns
        -------
        scores : ndarray of shape (n,) for two classes, else (n, n_classes)
        """
        return self._predict_raw(X)

    def predict(self, X):
        """Return the class of highest score of each sample.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        # First, as it says so where nothing was fitted.
        codes = best_class(self.decision_function(X))
        return self.classes_[codes]
