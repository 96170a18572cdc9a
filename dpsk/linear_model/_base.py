"""What the linear estimators share: from rows and parameters to a Problem, and back."""

from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.validation import (
    FLOATS,
    check_prediction_rows,
    check_public_rows,
    check_rows,
)
from dpsk._defaults.auto import auto_solver
from dpsk._estimator import DPEstimator
from dpsk._models import LinearModel
from dpsk._objective.penalties import CONSTRAINTS, PENALTIES
from dpsk._parameters import check_auto_flag, check_real, choice
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Problem
from dpsk._stages import ROW_STAGES, Whitening

__all__ = ["LinearEstimator"]


class LinearEstimator(DPEstimator):
    """Base of estimators whose raw prediction is ``x' coef + intercept`` of a bounded row."""

    #: Whether only signs and orders of scores matter, so that long rows keep theirs.
    _homogeneous: ClassVar[bool] = False
    #: The radius that stands where the user gives none.
    _default_radius: ClassVar[float | None] = None
    _constraints: ClassVar[dict] = {
        **DPEstimator._constraints, "penalty": choice(*PENALTIES),
        "precondition": partial(check_auto_flag, names=ROW_STAGES)}

    @classmethod
    def _offered_solvers(cls):
        """Return the names of the solvers whose requirements can be met, an l1 ball included."""
        own = cls()
        facts = {"n_samples": 1000, "model": LinearModel(3, None, True, 1.0), "delta": 1e-6,
                 "loss": own._scalar_loss(), "epsilon": 1.0}
        problems = [Problem(penalty=PENALTIES[penalty](alpha=0.1, l1_ratio=0.5, radius=1.0,
                                                       unpenalized=0), **facts)
                    for penalty in (own.penalty, "l1_ball")]
        return [name for name, solver in cls._solvers.items()
                if any(all(requirement.is_met(solver(), problem)
                           for requirement in solver.requires) for problem in problems)]

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
        return check_rows(self, X, y, dtype=FLOATS, accept_sparse="csr", **self._target_checks)

    def _check_public_rows(self, X, y, like):
        """Validate public rows and targets as the training rows, in the dtype of `like`."""
        return check_public_rows(self, X, y, dtype=like.dtype, accept_sparse="csr",
                                 **self._target_checks)

    def _fit_linear(self, X, y, loss, n_outputs, **settings):
        """Return the coefficients and the intercept of `_fit_with_rest`."""
        return self._fit_with_rest(X, y, loss, n_outputs, **settings)[:2]

    def _fit_with_rest(self, X, y, loss, n_outputs, *, weights=None, weight_bound=1.0,
                       free_weights=False, holdout=None, stages=(), enforced=(), public=(),
                       released=()):
        """Fit on validated rows and encoded targets; set `preconditioner_`.

        Weights may exceed `weight_bound` only with `free_weights`, and are lowered to it where
        the guarantee of the solver rests on it.

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
                        epsilon=epsilon, delta=delta, weight_bound=weight_bound)
        name = self.solver
        if name == "auto":
            exact = not (facts.is_private or loss.minimax)
            name = "exact" if exact else self._auto_solver(facts)
        solver = self._solver_class(name)
        if free_weights and not solver.lowers_weights:
            facts = replace(facts, weight_bound=np.inf)
        elif free_weights:
            enforced = [*enforced, Enforced(
                "sample_weight", float(weight_bound), "default" if weight_bound == 1.0
                else "derived", "greater weights, times those of classes, are lowered to it")]
        stage = self._row_stage(X.dtype, facts, solver)
        problem = facts if stage is None else stage.prepared(facts)
        free = problem.model.fit_intercept and not solver.penalizes_intercept
        problem = replace(problem, penalty=self._penalty(int(free) + loss.n_extra))
        theta, rest = self._solve(
            problem, name, X, y, weights=weights, holdout=holdout,
            stages=[*([] if stage is None else [stage]), *stages, *self._last_stages()],
            enforced=[*self._row_bounds("" if stage is None else stage.words), *enforced],
            public=["number of rows and of features, feature names, dtype and container",
                    "all parameters", *public],
            released=["coef_", "intercept_", *released])
        self.preconditioner_ = None if stage is None else stage.value
        self._row_map = None if stage is None else stage.row_map
        theta = theta.astype(X.dtype)
        if not self.fit_intercept:
            return theta, np.zeros(rows.shape[1:], dtype=X.dtype)[()], rest
        return theta[:-1], theta[-1], rest

    def _last_stages(self):
        """Return the stages that follow the solver."""
        return []

    def _auto_solver(self, problem):
        """Return the name of the solver that "auto" stands for."""
        return auto_solver(problem)

    def _penalty(self, unpenalized):
        return PENALTIES[self.penalty](alpha=float(self.alpha), l1_ratio=float(self.l1_ratio),
                                       radius=self.radius, unpenalized=unpenalized)

    def _row_stage(self, dtype, problem, solver):
        """Return what maps the rows in this fit, decided from public facts, or None."""
        wanted = self.precondition
        # Without a budget nothing is released of the rows, and none of them is mapped.
        if not (wanted and problem.is_private):
            return None
        stage = ROW_STAGES.get(wanted, Whitening)
        if wanted == "auto":
            pays = solver.whitens and stage.pays(problem)
            return stage(problem.model, dtype) if pays else None
        if not solver.whitens:
            raise ValueError(f"precondition={wanted!r}: a solver that releases moments or moves "
                             "inside a set has no use for it; leave precondition='auto', or use "
                             "solver='gd'.")
        if problem.delta == 0:
            raise ValueError(f"precondition={wanted!r}: what it releases gets Gaussian noise, "
                             "which needs delta > 0; leave precondition='auto'.")
        return stage(problem.model, dtype)

    def _row_model(self, n_features, n_outputs, fit_intercept):
        bound = None if self.data_norm_inf is None else float(self.data_norm_inf)
        return LinearModel(n_features, n_outputs, fit_intercept, float(self.data_norm), bound,
                           homogeneous=self._homogeneous)

    def _row_bounds(self, more_words):
        """Yield what is enforced on every row of features."""
        more = ", then a constant 1 is appended" if self.fit_intercept else ""
        yield from self._norm_bounds(more + more_words)
        if self.data_norm_inf is not None:
            yield Enforced("data_norm_inf", float(self.data_norm_inf), "declared",
                           "entries of a scaled row of features; larger ones are clipped")

    @quietly
    def _predict_raw(self, X):
        """Return raw predictions, shape (n,) or (n, n_outputs)."""
        check_is_fitted(self, "privacy_")
        X = check_prediction_rows(self, X, dtype=FLOATS, accept_sparse="csr")
        coef = self.coef_.T
        columns = coef if coef.ndim == 2 and coef.shape[1] > 1 else coef.reshape(-1)
        if self._row_map is None:
            return X @ columns + self.intercept_
        return self._row_map.predict_raw(columns, self.intercept_, X)
