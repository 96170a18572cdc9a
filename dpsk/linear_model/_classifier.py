"""Base of the linear classifiers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.labels import encode_labels, encoded_rows
from dpsk._defaults.noiseless import noiseless_penalty
from dpsk._docs import documented
from dpsk._objective.penalties import ElasticNet
from dpsk._objective.requirements import SCALAR_PREDICTION
from dpsk._stages import ClassBalance
from dpsk.linear_model._scorer import LinearScorer

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._typing import Table

__all__ = ["LinearClassifier"]


@documented
class LinearClassifier(LinearScorer):
    """Base of classifiers with a loss for two classes and one for several."""

    _takes_several = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        solver = self._solvers.get(self.solver) if isinstance(self.solver, str) else None
        tags.classifier_tags.multi_class = (
            solver is None or SCALAR_PREDICTION not in solver.requires)
        return tags

    def _scalar_loss(self):
        return self._binary_loss()

    def _penalty_and_set(self, problem):
        if problem.is_private or self.alpha or (self.solver, self.penalty) != ("auto", "l2"):
            return super()._penalty_and_set(problem)
        # Linearly separable rows have no minimizer.
        return partial(ElasticNet, noiseless_penalty(problem.n_samples), 0.0), None

    def _check_fit(self, n_samples, y):
        """Raise the ValueError that a fit to any n rows with these labels would raise."""
        classes, _ = encode_labels(y, self.classes, type(self).__name__)
        several = len(classes) > 2
        self._check_solver(n_samples, self._several_loss(len(classes)) if several
                           else self._binary_loss())

    @abstractmethod
    def _binary_loss(self):
        """Return the loss for two classes."""

    @staticmethod
    @abstractmethod
    def _binary_targets(codes):
        """Return the targets of the binary loss from the codes 0 and 1."""

    @abstractmethod
    def _several_loss(self, n_classes):
        """Return the loss for several classes, whose targets are class indices."""

    @private_fit
    def fit(self, X: Table, y: Table | None = None, sample_weight: ArrayLike | None = None, *,
            groups: ArrayLike | None = None, public_X: Table | None = None,
            public_y: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X)s %(y_labels)s %(sample_weight)s %(groups)s %(public_X)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        rows, classes, settings = self._labeled(X, y, sample_weight, groups)
        public = self._read_public_rows(public_X, public_y, rows)
        if public is not None:
            _, public = encoded_rows(public, classes, type(self).__name__, "public_y")
        rows = replace(rows, holdout=public)
        if len(classes) == 2:
            loss, n_outputs, targets = self._binary_loss(), None, self._binary_targets
        else:
            loss, n_outputs, targets = self._several_loss(len(classes)), len(classes), np.asarray
        # With sparse rows, labels of eight bytes would take much of the memory.
        rows = rows.with_targets(partial(_encoded, targets, np.min_scalar_type(-len(classes))))
        balance = [ClassBalance(len(classes))] if self._is_balanced() else []
        coef, intercept = self._fit_linear(rows, loss, n_outputs, target_stages=balance,
                                           **settings)
        self.classes_ = classes
        self.coef_ = np.atleast_2d(coef.T)
        self.intercept_ = np.atleast_1d(intercept)
        return self


def _encoded(targets, dtype, codes):
    """Return the targets of a loss from class indices."""
    return targets(codes).astype(dtype)
