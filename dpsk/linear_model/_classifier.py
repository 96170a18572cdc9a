"""What the linear classifiers share."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from dpsk._utils.labels import encode_labels
from dpsk._utils.weights import class_weighted
from dpsk.linear_model._base import LinearEstimator

__all__ = ["LinearClassifier"]


class LinearClassifier(ClassifierMixin, LinearEstimator):
    """Base of classifiers by a linear score."""

    _target_checks: ClassVar[dict] = {}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # At epsilon=1 with 50 rows half of the fits miss what heavy class weights should give.
        tags.classifier_tags.poor_score = True
        solver = self._solvers.get(self.solver) if isinstance(self.solver, str) else None
        if solver is not None and "scalar prediction" in solver.requires:
            tags.classifier_tags.multi_class = False
        return tags

    @abstractmethod
    def _binary_loss(self):
        """Return the loss for two classes."""

    @abstractmethod
    def _binary_targets(self, codes):
        """Return the targets of that loss from 0 and 1."""

    @abstractmethod
    def _several_loss(self, n_classes):
        """Return the loss for several classes, whose targets are class indices."""

    @np.errstate(all="ignore")  # a warning of NumPy's would depend on the rows
    def fit(self, X, y, sample_weight=None, *, public_X=None, public_y=None):
        """Fit the model under the declared budget.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)
            Finite numbers; float32 stays float32.
        y : array-like of shape (n,)
            Labels, numbers or strings.
        sample_weight : array-like of shape (n,) or None, default=None
            Factors of the rows' losses, part of the rows: each gradient is clipped after
            weighting, and the sum is divided by n, not by the sum of weights. With
            "output_perturbation" and "last_iterate" products with the class weights count for
            at most the largest class weight, 1 without any.
        public_X, public_y : array-like or None, default=None
            Rows and labels that need no protection, for ``holdout="public"`` of the solvers
            "stgd" and "minibatch_stgd"; no guarantee covers them.

        Returns
        -------
        self : object
        """
        self._check_params()
        X, y = self._check_rows(X, y)
        weights = self._check_weights(sample_weight, X)
        holdout = self._check_public_rows(public_X, public_y, X)
        classes, codes = encode_labels(y, self.classes, type(self).__name__)
        weights, bound = class_weighted(weights, self.class_weight, classes, codes, X.dtype)
        origin = "taken from y" if self.classes is None else "declared"
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
        coef, intercept = self._fit_linear(
            X, targets, loss, n_outputs, weights=weights, weight_bound=bound,
            free_weights=sample_weight is not None, holdout=holdout,
            public=[f"the {len(classes)} class labels ({origin})",
                    *self._weight_facts(sample_weight)])
        self.classes_ = classes
        self.coef_ = np.atleast_2d(coef.T)
        self.intercept_ = np.atleast_1d(intercept)
        return self

    def _encode_two(self, y):
        """Return the classes and the index of every label, where two classes are all there is."""
        classes, codes = encode_labels(y, self.classes, type(self).__name__)
        if len(classes) > 2:
            raise ValueError("Only binary classification is supported. The label set has "
                             f"{len(classes)} classes; use DPLogisticRegression for more.")
        return classes, codes

    def _labels_fact(self, kind, labels, declared):
        """Return what is taken as public of a label set."""
        source = "y" if kind == "class" else "groups"
        origin = f"taken from {source}" if declared is None else "declared"
        return f"the {len(labels)} {kind} labels ({origin})"

    def _public_targets(self, y, classes, dtype):
        """Return the loss's targets of public labels, which are of the training label set."""
        _, codes = encode_labels(y, classes, type(self).__name__, "public_y")
        return self._binary_targets(codes).astype(dtype) if len(classes) == 2 else codes

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
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]
