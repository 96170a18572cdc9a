"""Base of classifiers built from private moments or counts of the classes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._callbacks import private_fit
from dpsk._data.blocks import row_blocks
from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._data.labels import encode_labels, encoded_rows, labels_fact
from dpsk._data.validation import FLOATS, check_prediction_rows
from dpsk._defaults.budgets import DIAGONAL_SIGNAL
from dpsk._docs import documented
from dpsk._estimator import DPEstimator
from dpsk._fit import run_private
from dpsk._mixins import Probabilities, ScoreClassifier
from dpsk._models.clipping import shortened
from dpsk._parameters import GAUSSIAN_DELTA, PARAMETER_CONSTRAINTS, optional
from dpsk._ranged import RANGED_CONSTRAINTS, Ranged
from dpsk._stages.class_models import smoothed
from dpsk._stages.weight_bound import with_weight_bound
from dpsk._statistics.class_moments import with_short_squares

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._typing import FloatArray, Table

__all__ = ["CHECK_PRIORS", "ClassModel", "GaussianClasses", "JointScores", "log_law"]

#: Greater squared distances count as this one, so that log densities are finite.
_FARTHEST = 1e300


def _check_priors(name, value):
    """Raise a ValueError unless `value` holds probabilities of classes, which sum to 1."""
    try:
        priors = np.asarray(value, dtype=np.float64)
        sound = priors.ndim == 1 and len(priors) > 1 and bool(
            np.all(priors >= 0) and abs(priors.sum() - 1.0) <= 1e-8)
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(f"{name}={value!r}: must be None, or one probability a class, of sum 1, "
                         "such as [0.3, 0.7].")


CHECK_PRIORS = optional(_check_priors)


@documented
class ClassModel(Probabilities, ScoreClassifier, DPEstimator):
    """Base of classifiers with a distribution of the rows for every class.

    A subclass implements `_release`, which fits the distributions, and the scores.
    """

    _solvers: ClassVar[dict] = {}
    _auto_is_gaussian: ClassVar[bool] = True
    _row_checks: ClassVar[dict] = {"dtype": FLOATS}
    #: The parameter that holds probabilities of the classes.
    _prior_name: ClassVar[str] = "priors"
    _constraints: ClassVar[dict] = {**PARAMETER_CONSTRAINTS, "delta": GAUSSIAN_DELTA,
                                    "priors": CHECK_PRIORS}

    @abstractmethod
    def _release(self, rows, budget, classes, public):
        """Fit to rows, with the class index of every row as target, and set attributes.

        `public` lists the public facts of the certificate.
        """

    @private_fit
    def fit(self, X: Table, y: Table | None = None, sample_weight: ArrayLike | None = None, *,
            groups: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X_dense)s
        %(y_labels)s %(sample_weight_moments)s %(groups_moments)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        rows = self._read_rows(X, y, sample_weight, groups).with_weight_bound(1.0)
        classes, rows = encoded_rows(rows, self.classes, type(self).__name__)
        self._check_priors(classes)
        budget = self._table_budget((rows.n_units, rows.n_features), rows.groups)
        public = [f"{self._units_fact(rows)}, feature names, types of numbers and table",
                  "all parameters", labels_fact(classes, self.classes),
                  *self._weight_facts(sample_weight)]
        self._release(rows, budget, classes, public)
        self.classes_ = classes
        return self

    def _checked(self, X):
        """Return validated rows for prediction; the model must be fitted."""
        check_is_fitted(self, "privacy_")
        return check_prediction_rows(self, X, **self._row_checks)

    def _run(self, name, rows, budget, mechanism, data, *, enforced, public, **facts):
        """Run the mechanism of a fit, set the certificate, and return the output."""
        if rows.is_weighted:
            mechanism, lowered = with_weight_bound(budget, mechanism)
            enforced = [*enforced, *lowered]
            public = dict.fromkeys([*public, *self._shown_facts(rows, not lowered)])
        found, self.privacy_ = run_private(
            self._method(), name, budget, mechanism, rows, data, random_state=self.random_state,
            verbose=self.verbose, enforced=[*enforced, *self._group_bounds(rows)],
            public=list(public), **facts)
        return found

    def _check_priors(self, classes):
        """Raise a ValueError unless there are as many given priors as classes."""
        given = getattr(self, self._prior_name)
        if given is not None and len(given) != len(classes):
            raise ValueError(f"{self._prior_name}={given!r}: must be one probability for each of "
                             f"the {len(classes)} classes, in their sorted order.")

    def _priors(self, shares, noise):
        """Return the probabilities of classes, as given or from private class shares."""
        given = getattr(self, self._prior_name)
        return smoothed(shares, noise) if given is None else np.array(given, dtype=np.float64)

    def _check_fit(self, n_samples, y):
        """Raise the ValueErrors of a fit that depend only on row count and labels."""
        classes, _ = encode_labels(y, self.classes, type(self).__name__)
        self._check_priors(classes)


@documented
class JointScores(ClassModel):
    """Base of class models whose scores are logarithms of joint probabilities."""

    #: Whether rows in single precision have such predictions, as in scikit-learn.
    _keeps_single: ClassVar[bool] = False

    @abstractmethod
    def _log_laws(self, X):
        """Return log prior plus log density of every class at rows, shape (n, n_classes)."""

    @blockwise
    @quietly
    def predict_joint_log_proba(self, X: Table) -> FloatArray:
        """Return the logarithm of the joint probability of rows and classes.

        Parameters
        ----------
        %(X_dense)s

        Returns
        -------
        log_probabilities : ndarray of shape (n, n_classes)
            In the order of `classes_`, up to a term per row that is common to all classes.
        """
        found, dtype = self._joint(X)
        return found.astype(dtype, copy=False)

    def _joint(self, X):
        """Return logarithms of joint probabilities, float64, and the dtype of predictions."""
        rows = self._checked(X)
        found = np.empty((rows.shape[0], len(self.classes_)))
        for part in row_blocks(*rows.shape):
            found[part] = self._log_laws(rows[part])
        return found, rows.dtype if self._keeps_single else found.dtype

    @quietly
    def _predict_raw(self, X):
        """Return log-odds of two classes, shape (n,), or a score of every class."""
        found, dtype = self._joint(X)
        if found.shape[1] == 2:
            found = found[:, 1] - found[:, 0]
        elif dtype == np.float32:
            # Rounding would lose small differences of large numbers.
            found -= found.max(axis=1, keepdims=True)
        return found.astype(dtype, copy=False)


def log_law(prior, variances, squares):
    """Return log prior plus log density of rows, up to a constant; -inf only for a prior of 0."""
    return np.log(prior) - 0.5 * (np.log(variances).sum()
                                  + np.minimum(squares.sum(axis=1), _FARTHEST))


class GaussianClasses(Ranged, ClassModel):
    """Base of models with a normal distribution of the rows for every class."""

    _constraints: ClassVar[dict] = {**ClassModel._constraints, **RANGED_CONSTRAINTS}
    _divides: ClassVar[bool] = True
    #: The attributes that hold private outputs.
    _shown: ClassVar[tuple] = ()

    if TYPE_CHECKING:
        # A parameter of the subclasses.
        data_norm: Any

    @abstractmethod
    def _keep(self, fitted, budget):
        """Set the fitted attributes from a `GaussianFit` within a budget."""

    def _release(self, rows, budget, classes, public):
        width = rows.n_features
        plan, data = self._planned(rows, budget, len(classes), None, self._reduces(width))
        if budget.signal_to_noise < DIAGONAL_SIGNAL:
            plan = replace(plan, of="columns", reduces=False)
        learns = plan.learns_ranges or None in (plan.norm, plan.spread)
        stored = ["covariance_"] * bool(getattr(self, "store_covariance", False))
        fitted = self._run("noisy moments of classes", rows, budget, plan, data,
                           public=[*public, *self._shown_facts(rows, learns)],
                           enforced=self._enforced(plan),
                           released=[*self._shown, "center_", "data_norm_", "feature_range_",
                                     *stored])
        self.center_ = fitted.row_map.undone(np.zeros(width))
        self.feature_range_, self.data_norm_ = fitted.row_map.ends, float(fitted.radius)
        self._of_columns = fitted.of_columns
        self._keep(fitted, budget)

    def _reduces(self, width):
        """Return whether rows are first projected to a subspace."""
        return False

    def _halves(self):
        """Return half the range of every column; 1 without ranges."""
        if self.feature_range_ is None:
            return np.ones(len(self.center_))
        low, high = self.feature_range_
        return 0.5 * (high - low)

    def _bounded(self, X):
        """Return rows as float64, clipped to the bounds used in training."""
        row_map, rows = self._row_map(), np.empty(X.shape)
        row_map.dense(X, rows)
        return row_map.undone(self._short(rows))

    def _short(self, rows):
        """Scale centered rows down to the bounds of training, in place, and return them."""
        rows = shortened(rows, self.data_norm_)
        return with_short_squares(rows, self.data_norm_) if self._of_columns else rows
