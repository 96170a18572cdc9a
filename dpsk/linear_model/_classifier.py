"""What the linear classifiers share."""

from abc import abstractmethod

import numpy as np

from dpsk._data.errors import quietly
from dpsk._data.labels import encode_labels
from dpsk._docs import documented
from dpsk._objective.requirements import SCALAR_PREDICTION
from dpsk.linear_model._scorer import LinearScorer

__all__ = ["LinearClassifier"]


@documented
class LinearClassifier(LinearScorer):
    """Base of classifiers whose loss is one of two classes, and of several where there is one."""

    _takes_several = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        solver = self._solvers.get(self.solver) if isinstance(self.solver, str) else None
        tags.classifier_tags.multi_class = (
            solver is None or SCALAR_PREDICTION not in solver.requires)
        return tags

    def _scalar_loss(self):
        return self._binary_loss()

    @abstractmethod
    def _binary_loss(self):
        """Return the loss for two classes."""

    @abstractmethod
    def _binary_targets(self, codes):
        """Return the targets of that loss from 0 and 1."""

    @abstractmethod
    def _several_loss(self, n_classes):
        """Return the loss for several classes, whose targets are class indices."""

    @quietly
    def fit(self, X, y, sample_weight=None, *, public_X=None, public_y=None):
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X)s %(y_labels)s %(sample_weight)s
            With solvers that rest on the curvature of a row's loss products with the class
            weights count for at most the largest class weight, 1 without any.
        %(public_X)s

        Returns
        -------
        self : object
        """
        self._check_params()
        X, classes, codes, settings = self._labeled(X, y, sample_weight)
        holdout = self._check_public_rows(public_X, public_y, X)
        if len(classes) == 2:
            loss, n_outputs = self._binary_loss(), None
            targets = self._binary_targets(codes)
        else:
            loss, n_outputs = self._several_loss(len(classes)), len(classes)
            targets = codes
        # Beside sparse rows eight bytes a label would count.
        targets = targets.astype(np.min_scalar_type(-len(classes)))
        del codes
        if holdout is not None:
            holdout = holdout[0], self._public_targets(holdout[1], classes, X.dtype)
        coef, intercept = self._fit_linear(X, targets, loss, n_outputs, holdout=holdout,
                                           **settings)
        self.classes_ = classes
        self.coef_ = np.atleast_2d(coef.T)
        self.intercept_ = np.atleast_1d(intercept)
        return self

    def _public_targets(self, y, classes, dtype):
        """Return the loss's targets of public labels, which are of the training label set."""
        _, codes = encode_labels(y, classes, type(self).__name__, "public_y")
        return self._binary_targets(codes).astype(dtype) if len(classes) == 2 else codes
