"""Delegation of predictions to an inner estimator: a last step, or the best of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.utils.metaestimators import available_if

if TYPE_CHECKING:
    from dpsk._typing import AnyArray, Table

__all__ = ["Delegates"]


def _inner_has(name):
    """Return a check that the inner estimator has a method."""
    def check(self):
        getattr(self._inner, name)
        return True
    return check


class Delegates:
    """Mixin with the prediction methods that the inner estimator has.

    Subclasses define `_inner`, the inner estimator, and ``_delegated(method, X)``, which calls a
    method of the fitted one.
    """

    if TYPE_CHECKING:
        def _delegated(self, method: str, X: Table) -> AnyArray: ...

    @available_if(_inner_has("predict"))
    def predict(self, X: Table) -> AnyArray:
        """Return what the last step, or the best estimator, predicts of rows.

        Parameters
        ----------
        X : array-like or table of shape (n, n_features)
            As the first step, or the best estimator, takes it.

        Returns
        -------
        predictions : ndarray of shape (n,) or (n, n_outputs)
            Labels or numbers, as that estimator returns them.
        """
        return self._delegated("predict", X)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Table) -> AnyArray:
        """Return probabilities of classes by the last step, or the best estimator.

        Parameters
        ----------
        X : array-like or table of shape (n, n_features)
            As the first step, or the best estimator, takes it.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            In the order of its `classes_`.
        """
        return self._delegated("predict_proba", X)

    @available_if(_inner_has("score_samples"))
    def score_samples(self, X: Table) -> AnyArray:
        """Return the score of every row by the last step, or the best estimator.

        Parameters
        ----------
        X : array-like or table of shape (n, n_features)
            As the first step, or the best estimator, takes it.

        Returns
        -------
        scores : ndarray of shape (n,)
            As that estimator returns them, such as log-likelihoods.
        """
        return self._delegated("score_samples", X)

    @available_if(_inner_has("predict_log_proba"))
    def predict_log_proba(self, X: Table) -> AnyArray:
        """Return log-probabilities by the last step, or the best estimator.

        Parameters
        ----------
        X : array-like or table of shape (n, n_features)
            As the first step, or the best estimator, takes it.

        Returns
        -------
        log_probabilities : ndarray of shape (n, n_classes)
            In the order of its `classes_`.
        """
        return self._delegated("predict_log_proba", X)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Table) -> AnyArray:
        """Return scores by the last step, or the best estimator.

        Parameters
        ----------
        X : array-like or table of shape (n, n_features)
            As the first step, or the best estimator, takes it.

        Returns
        -------
        scores : ndarray of shape (n,) or (n, n_classes)
            One number a row for two classes.
        """
        return self._delegated("decision_function", X)
