"""What the linear estimators share: from rows and parameters to a Problem, and back."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted, validate_data

from dpsk._data.errors import discreetly
from dpsk._defaults.auto import auto_solver
from dpsk._estimator import DPEstimator
from dpsk._models import LinearModel, Preconditioner
from dpsk._objective.penalties import CONSTRAINTS, PENALTIES
from dpsk._parameters import check_real, choice
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Problem
from dpsk._stages import Whitening
from dpsk._stages.whitening import whitening_pays

__all__ = ["LinearEstimator"]

_FLOATS = [np.float64, np.float32]


class LinearEstimator(DPEstimator):
    """Base of estimators whose raw prediction is ``x' coef + intercept`` of a bounded row."""

    #: That of the losses: whether whitened rows are only scaled down.
    _keeps_length = False

    #: The radius that stands where the user gives none.
    _default_radius: ClassVar[float | None] = None
    _constraints: ClassVar[dict] = {**DPEstimator._constraints, "penalty": choice(*PENALTIES)}

    def _check_combination(self):
        super()._check_combination()
        if self.penalty in CONSTRAINTS:
            check_real("radius", self.radius, low=0, open_low=True,
                       remedy=f"a finite number > 0, as penalty={self.penalty!r} needs one")
        elif self.radius not in (None, self._default_radius):
            raise ValueError(f"radius={self.radius!r}: must be {self._default_radius} beside "
                             f"penalty={self.penalty!r}, which is no set; leave it, or use a set "
                             "such as penalty='l2_ball'.")
        if self.penalty in ("l1", "elasticnet") and self.alpha == 0:
            raise ValueError(f"alpha={self.alpha!r}: must be > 0 beside penalty={self.penalty!r}, "
                             "as 0 is no penalty at all; set alpha, or use penalty='l2'.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_rows(self, X, y):
        """Validate training rows and targets; no message carries a data value."""
        # Finite rows are what bounds rest on: no global setting may skip the check.
        _check_structure(X)
        with config_context(assume_finite=False, array_api_dispatch=False):
            X, y = discreetly("X or y", validate_data, self, X, y, dtype=_FLOATS,
                              accept_sparse="csr", ensure_min_samples=2, **self._target_checks)
        return _without_duplicates(X), y

    def _check_public_rows(self, X, y, like):
        """Validate public rows and targets as the training rows, in the dtype of `like`."""
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError("public_X and public_y go together; pass both or leave both None.")
        with config_context(assume_finite=False, array_api_dispatch=False):
            X, y = discreetly("public_X or public_y", validate_data, self, X, y,
                              dtype=like.dtype, accept_sparse="csr", reset=False,
                              **self._target_checks)
        return _without_duplicates(X), y

    def _fit_linear(self, X, y, loss, n_outputs, **settings):
        """Return the coefficients and the intercept of `_fit_with_rest`."""
        return self._fit_with_rest(X, y, loss, n_outputs, **settings)[:2]

    def _fit_with_rest(self, X, y, loss, n_outputs, *, weights=None, weight_bound=1.0,
                       free_weights=False, holdout=None, stages=(), enforced=(), public=(),
                       released=()):
        """Fit on validated rows and encoded targets; set `preconditioner_`.

        Weights may exceed `weight_bound` only with `free_weights`, and are lowered to it where
        the guarantee of the solver rests on the curvature of a row's loss.

        Returns
        -------
        coef : ndarray of shape (n_features,) or (n_features, n_outputs), dtype of X
        intercept : scalar or ndarray of shape (n_outputs,), dtype of X
        rest : ndarray of float64
            What a saddle loss adds: its extra numbers, then the dual ones.
        """
        n_samples, n_features = X.shape
        epsilon, delta = self._budget(n_samples)
        rows = self._row_model(n_features, n_outputs, bool(self.fit_intercept))
        facts = Problem(n_samples=n_samples, model=rows, loss=loss, penalty=self._penalty(0),
                        epsilon=epsilon, delta=delta,
                        weight_bound=np.inf if free_weights else weight_bound)
        name = self._auto_solver(facts) if self.solver == "auto" else self.solver
        solver = self._solvers[name]
        if free_weights and "loss.smoothness" in solver.requires:
            facts = replace(facts, weight_bound=weight_bound)
            enforced = [*enforced, Enforced(
                "sample_weight", float(weight_bound), "default" if weight_bound == 1.0
                else "derived", "greater weights, times those of classes, are lowered to it")]
        whitened = self._whitens(X, facts, solver)
        # The constant becomes a coordinate of the whitened rows, which have norm 1.
        model = LinearModel(rows.shape[0], n_outputs, False, 1.0) if whitened else rows
        free_rows = int(model.fit_intercept and not solver.penalizes_intercept) + loss.n_extra
        problem = replace(facts, model=model, penalty=self._penalty(free_rows),
                          directions=float(rows.shape[0]) if whitened else None)
        whitening = [Whitening(rows)] if whitened else []
        theta = self._solve(
            problem, name, X, y, weights=weights, holdout=holdout,
            stages=[*whitening, *stages],
            enforced=[*self._row_bounds(whitened), *enforced],
            public=["number of rows and of features, feature names, dtype and container",
                    "all parameters", *public],
            released=["coef_", "intercept_", *(["preconditioner_"] if whitened else []),
                      *released])
        rest = np.empty(0)
        if loss.minimax:
            theta, rest = theta[:model.dimension], theta[model.dimension:]
        self.preconditioner_ = None
        if whitened:
            theta = whitening[0].matrix @ theta
            self.preconditioner_ = whitening[0].matrix.astype(X.dtype)
        theta = theta.astype(X.dtype)
        if not self.fit_intercept:
            return theta, np.zeros(rows.shape[1:], dtype=X.dtype)[()], rest
        return theta[:-1], theta[-1], rest

    def _auto_solver(self, problem):
        """Return the name of the solver that "auto" stands for."""
        return auto_solver(problem)

    def _penalty(self, free_rows):
        return PENALTIES[self.penalty](alpha=float(self.alpha), l1_ratio=float(self.l1_ratio),
                                       radius=self.radius, free_rows=free_rows)

    def _whitens(self, X, problem, solver):
        """Decide from public facts whether rows are whitened."""
        if self.precondition == "auto":
            return solver.whitens and whitening_pays(problem, sparse.issparse(X))
        if not self.precondition:
            return False
        if not solver.whitens:
            raise ValueError("precondition=True: a solver that releases moments or moves inside a "
                             "set has no use for it; leave precondition='auto', or use "
                             "solver='gd'.")
        if sparse.issparse(X):
            raise ValueError("precondition=True: a preconditioner makes rows dense; pass a dense "
                             "X, or leave precondition='auto'.")
        if problem.delta == 0:
            raise ValueError("precondition=True: the second moment gets Gaussian noise, which "
                             "needs delta > 0; leave precondition='auto'.")
        return True

    def _row_model(self, n_features, n_outputs, fit_intercept):
        bound = None if self.data_norm_inf is None else float(self.data_norm_inf)
        return LinearModel(n_features, n_outputs, fit_intercept, float(self.data_norm), bound)

    def _row_bounds(self, whitened):
        """Yield what is enforced on every row of features."""
        more = ", then a constant 1 is appended" if self.fit_intercept else ""
        if whitened:
            more += "; then rows are mapped by the released preconditioner to norm at most 1"
        yield from self._norm_bounds(more)
        if self.data_norm_inf is not None:
            yield Enforced("data_norm_inf", float(self.data_norm_inf), "declared",
                           "entries of a scaled row of features; larger ones are clipped, in "
                           "training and in prediction")

    def _predict_raw(self, X):
        """Return raw predictions of bounded rows, shape (n,) or (n, n_outputs)."""
        check_is_fitted(self, "privacy_")
        _check_structure(X)
        X = discreetly("X", validate_data, self, X, dtype=_FLOATS, accept_sparse="csr",
                       reset=False)
        X = _without_duplicates(X)
        coef = self.coef_.T
        columns = coef if coef.ndim == 2 and coef.shape[1] > 1 else coef.reshape(-1)
        model = self._row_model(X.shape[1], None, False)
        with np.errstate(all="ignore"):
            # The same map as in training, where float64 makes it.
            bounded = model.bounded(X)
            scale = model.row_scales(bounded)[0].astype(X.dtype, copy=False)
            raw = model.predict_raw(columns, bounded, scale) + self.intercept_
            if self.preconditioner_ is None:
                return raw
            rows = self._row_model(X.shape[1], None, bool(self.fit_intercept))
            mapping = Preconditioner(rows, self.preconditioner_, self._keeps_length)
            factors = mapping.factors(X).astype(X.dtype)
        return raw * (factors if raw.ndim == 1 else factors[:, None])


def _check_structure(X):
    """Refuse a compressed matrix whose indices point outside of it, into foreign memory."""
    if sparse.issparse(X) and X.format in ("csr", "csc"):
        # A view, as the check may change what it is called on.
        view = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
        discreetly("X", view.check_format, full_check=True)


def _without_duplicates(X):
    """Return X with one entry a place, in order; the caller's matrix is not touched."""
    if not sparse.issparse(X):
        return X
    # A view without flags: those of the caller's matrix may be out of date.
    X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        if not np.isfinite(X.data).all():
            raise ValueError("Input X contains infinity or a value too large for "
                             f"{X.dtype.name}, once entries of the same place are added.")
    return X
