"""Base of samplers of synthetic data."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._callbacks import private_fit
from dpsk._data.columns import is_frame
from dpsk._data.errors import quietly
from dpsk._data.labels import encode_labels, labels_fact
from dpsk._data.validation import FLOATS, check_rows, check_unlabeled_rows
from dpsk._docs import documented
from dpsk._estimator import DPEstimator
from dpsk._fit import run_private
from dpsk._parameters import GAUSSIAN_DELTA, PARAMETER_CONSTRAINTS, check_integer
from dpsk._privacy.noise.public import PublicDraws
from dpsk._privacy.noise.seeds import check_random_state
from dpsk._version import __version__

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["Sampler"]


@documented
class Sampler(DPEstimator):
    """Base of samplers, fitted to rows with or without labels, that draw synthetic data.

    Subclasses define `_fitted_to`, and `_draw`, which makes rows of classes from public draws.
    """

    _solvers: ClassVar[dict] = {}
    _constraints: ClassVar[dict] = {
        **PARAMETER_CONSTRAINTS,
        "delta": GAUSSIAN_DELTA}

    @private_fit
    def fit(self, X: Any, y: Table | None = None) -> Self:
        """Fit the sampler under the declared budget.

        Parameters
        ----------
        %(X_dense)s
        y : array-like of shape (n,) or None, default=None
            Labels, numbers or strings. None: rows have no classes.

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        rows, classes, codes = self._labeled(X, y)
        found = self._fitted_to(rows, codes, 1 if classes is None else len(classes))
        if classes is None:
            del found["class_prior_"]
        else:
            self.classes_ = classes
        for name, value in found.items():
            setattr(self, name, value)
        self._names = X.columns if is_frame(X) else None
        return self

    @quietly
    def sample(self, n_samples: int = 1, y: Table | None = None,
               random_state: RandomState | None = None) -> Any:
        """Draw synthetic rows; any number of them has no further privacy cost.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows, >= 1.
        y : label or array-like of shape (n_samples,), default=None
            One class for all rows, or one per row. None: classes are drawn in proportion to
            `class_prior_`.
        random_state : int, NoiseSeed or None, default=None
            An int or a NoiseSeed repeats the draws, which are public.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features), or DataFrame
            Synthetic rows in the dtype of the training rows; a DataFrame with the same columns
            if `fit` got one of pandas.
        y : ndarray of shape (n_samples,)
            Their classes; only if the sampler was fitted with labels.

        Raises
        ------
        ValueError
            If `n_samples` is not an int >= 1, or `y` holds an unknown class.
        """
        check_is_fitted(self, "privacy_")
        check_integer("n_samples", n_samples, low=1, remedy="an int >= 1")
        draws = PublicDraws(check_random_state(random_state), __version__, type(self).__name__)
        codes = self._codes(n_samples, y, draws)
        X = self._draw(codes, draws)
        return (X, self.classes_[codes]) if hasattr(self, "classes_") else X

    def _codes(self, n_samples, y, draws):
        """Return the index of the class of every row to be drawn."""
        if not hasattr(self, "classes_"):
            if y is not None:
                raise ValueError("y: the sampler was fitted without labels and has no classes; "
                                 "leave y=None, or fit it with y.")
            return np.zeros(n_samples, np.intp)
        if y is None:
            return draws.choices(self.class_prior_[None], np.zeros(n_samples, np.intp))
        labels = np.asarray(y)
        if labels.ndim == 0:
            labels = np.full(n_samples, labels)
        if labels.shape != (n_samples,):
            raise ValueError(f"y of shape {labels.shape}: must be one of the classes, or "
                             f"n_samples={n_samples} of them.")
        try:
            return encode_labels(labels, self.classes_, type(self).__name__)[1]
        except (TypeError, ValueError):
            raise ValueError("y holds a label outside classes_; ask for rows of those classes, or "
                             "leave y=None.") from None

    def _labeled(self, X, y):
        """Return validated rows, the classes (None without labels) and label indices."""
        if y is None:
            if self.classes is not None:
                raise ValueError(f"classes={self.classes!r}: there are none without labels; pass "
                                 "y to fit, or leave classes=None.")
            X = self._check_rows(X)
            return X, None, np.zeros(len(X), np.intp)
        X, y = self._check_rows(X, y)
        classes, codes = encode_labels(y, self.classes, type(self).__name__)
        return X, classes, codes

    def _check_rows(self, X, y=None):
        """Validate training rows, and labels if given; no message carries a data value."""
        if y is None:
            return check_unlabeled_rows(self, X, dtype=FLOATS)
        return check_rows(self, X, y, dtype=FLOATS)

    def _public_facts(self, n_classes):
        """Return the public facts of a fit."""
        facts = ["number of rows and of features, feature names, types of numbers and table",
                 "all parameters"]
        if n_classes > 1:
            facts.append(labels_fact(range(n_classes), self.classes))
        return facts

    def _release(self, name, budget, mechanism, rows, data, **facts):
        """Run the mechanism of a fit; return its result and the certificate."""
        return run_private(
            self._method(), name, budget, mechanism, rows, data, random_state=self.random_state,
            verbose=self.verbose, **facts)
