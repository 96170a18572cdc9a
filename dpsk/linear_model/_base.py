"""Base of the linear estimators, which state a fit as a Problem and solve it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.longest import beyond_longest
from dpsk._data.source import Rows
from dpsk._data.validation import FLOATS, check_prediction_rows, check_public_rows
from dpsk._defaults.auto import auto_solver
from dpsk._defaults.losses import loss_defaults
from dpsk._estimator import DPEstimator
from dpsk._models import LinearModel
from dpsk._objective.penalties import CONSTRAINTS, NO_PENALTY, PENALTIES, ConstraintSet
from dpsk._objective.requirements import check_requirements
from dpsk._parameters import (
    PARAMETER_CONSTRAINTS,
    check_auto_flag,
    check_learnt,
    choice,
    norm_origin,
)
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Problem
from dpsk._stages import ROW_STAGES, NoFeatures, Shrinkage, Standardizing, Whitening
from dpsk._stages.bounds import can_learn, norm_rule
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning
from dpsk.linear_model._penalized import check_penalty
from dpsk.linear_model._plan import LinearPlan, is_penalized
from dpsk.linear_model._summary import SummarizesCoefficients

if TYPE_CHECKING:
    from typing import Any

__all__ = ["LinearEstimator"]

#: The bound on row norms where no bound can be learned.
_PLAIN_NORM = 1.0


class LinearEstimator(SummarizesCoefficients, DPEstimator):
    """Base of estimators that predict ``x' coef + intercept`` for norm-bounded rows."""

    #: Whether only the signs and the order of scores matter, which scaling a row down preserves.
    _homogeneous: ClassVar[bool] = False
    #: Multiple of a learned norm bound to which rows are scaled down in prediction; None: never.
    _reach: ClassVar[float | None] = None
    #: Whether the target of a long row is scaled down with it, as losses of residuals permit.
    _whole: ClassVar[bool] = False
    #: Whether features are parts of 1 (whitening needs fewer rows); log-odds of a rare class.
    _of_shares: bool = False
    _log_odds: float = 0.0
    #: Default radius of a constraint set; None: the user must give one.
    _usual_radius: ClassVar[float | None] = None
    _default_norm: ClassVar[float | str | None] = "auto"
    _row_checks: ClassVar[dict] = {"dtype": FLOATS, "accept_sparse": "csr"}
    _constraints: ClassVar[dict] = {
        **DPEstimator._constraints, "penalty": choice(*PENALTIES),
        "data_norm": check_learnt(PARAMETER_CONSTRAINTS["data_norm"]),
        "precondition": partial(check_auto_flag, names=ROW_STAGES)}

    @classmethod
    def _offered_solvers(cls):
        """Return the names of the solvers that support at least one common penalty.

        These are the default penalty, an l1 ball and, where a radius has a default, no penalty.
        """
        own = cls()
        facts = {"n_samples": 1000, "model": LinearModel(3, None, True, 1.0), "delta": 1e-6,
                 "loss": own._scalar_loss(), "epsilon": 1.0}
        problems = [Problem(penalty=PENALTIES[penalty](alpha=0.1, l1_ratio=0.5, radius=1.0,
                                                       unpenalized=0), **facts)
                    for penalty in (own.penalty, "l1_ball")]
        if cls._usual_radius is not None:
            problems.append(Problem(penalty=NO_PENALTY(0), **facts))
        return [name for name, solver in cls._solvers.items()
                if any(all(requirement.is_met(solver(), problem)
                           for requirement in solver.requires) for problem in problems)]

    def _check_combination(self):
        super()._check_combination()
        check_penalty(self, self._usual_radius)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read_public_rows(self, X, y, like):
        """Return validated public rows in the dtype of `like`, or None."""
        checked = check_public_rows(self, X, y, dtype=like.dtype, accept_sparse="csr",
                                    **self._target_checks)
        return None if checked is None else Rows(*checked)

    def _fit_linear(self, rows, loss, n_outputs, **settings):
        """Return the coefficients and the intercept of `_fit_with_rest`."""
        return self._fit_with_rest(rows, loss, n_outputs, **settings)[:2]

    def _fit_with_rest(self, rows, loss, n_outputs, *, free_weights=False, target_stages=(),
                       stages=(), enforced=(), public=(), released=()):
        """Fit on validated rows with encoded targets; set `preconditioner_`.

        With `free_weights`, weights may exceed their bound; `weighed` says how they enter.

        Returns
        -------
        coef : ndarray of shape (n_features,) or (n_features, n_outputs), dtype of the rows
        intercept : scalar or ndarray of shape (n_outputs,), dtype of the rows
        rest : ndarray of float64
            Further parameters of a saddle loss: its extra primal ones, then the dual ones.
        """
        n_samples = rows.n_units
        epsilon, delta = self._budget(n_samples)
        model = self._row_model(rows, n_outputs)
        facts = Problem(n_samples=n_samples, model=model, loss=loss, penalty=self._penalty(0),
                        epsilon=epsilon, delta=delta, weight_bound=rows.weight_bound,
                        grouped=rows.groups is not None, log_odds=self._log_odds)
        penalty, constraint = self._penalty_and_set(facts)
        plan = LinearPlan.of(self, replace(facts, penalty=penalty(0)), rows, target_stages,
                             free_weights=free_weights and self._bounds_weights,
                             confined=constraint is not None)
        solver, stage, learns = plan.solver, plan.stage, plan.learns
        free = int(plan.problem.model.fit_intercept and not solver.penalizes_intercept)
        theta, rest = self._solve(
            replace(plan.problem, penalty=penalty(free + loss.n_extra)), plan.name, rows,
            stages=[*plan.stages(target_stages), *self._last_stages(stage, constraint), *stages],
            enforced=[*self._row_bounds(model.data_norm, learns, plan.words),
                      *self._group_bounds(rows), *plan.lowered, *enforced],
            public=[f"{self._units_fact(rows)}, feature names, types of numbers and table",
                    "all parameters", *self._radius_facts(plan.facts),
                    *self._shown_facts(rows, learns or target_stages or plan.weighing), *public],
            released=["coef_", "intercept_", *released,
                      *([] if stage is None else ["preconditioner_scales_"])])
        if constraint is not None:
            # Rounding errors of large coefficients may leave a small set.
            features = model.n_features
            theta[:features] = constraint.prox(theta[:features], 1.0)
        if not learns:
            self.data_norm_ = model.data_norm
        kept = plan.kept(self, rows.dtype)
        self.preconditioner_, self.center_ = kept.preconditioner, kept.center
        self.preconditioner_scales_ = None if stage is None else stage.scales
        self.feature_scales_, self._row_map = kept.feature_scales, kept.row_map
        self._keep_facts(plan.facts, plan.name, solver, stage, free_weights)
        theta = theta.astype(rows.dtype)
        if not self.fit_intercept:
            return theta, np.zeros(model.shape[1:], dtype=rows.dtype)[()], rest
        return theta[:-1], theta[-1], rest

    def _solver_name(self, facts):
        """Return the name of the solver of a fit, from public facts."""
        name = self.solver
        if name != "auto":
            return name
        if not (facts.is_private or facts.loss.minimax):
            return "exact"
        name = self._auto_solver(facts)
        if facts.delta > 0 and not self._takes_given(name) and "gd" in self._solvers:
            # The chosen solver lacks a given parameter, which cannot be checked before the fit.
            name = "gd"
        if facts.grouped and not self._build_solver(name).takes_groups:
            name = "gd"
        if not self._build_solver(name).takes_unit and self._would_learn(facts):
            # Its privacy cost depends on the penalty, whose unit is not known before the fit.
            name = "gd"
        return name

    def _check_solver(self, n_samples, loss):
        """Raise the ValueError that a fit to n rows would raise for its solver.

        Requirements on features, such as their number, are left to the fit.
        """
        if self.solver == "auto":
            return
        solver, (epsilon, delta) = self._build_solver(self.solver), self._budget(n_samples)
        problem = Problem(n_samples=n_samples, model=LinearModel(1, None, False, 1.0), loss=loss,
                          penalty=self._penalty(0), epsilon=epsilon, delta=delta)
        check_requirements(self.solver, solver, problem)
        self._row_stage(np.float64, problem, solver)

    @property
    def _auto_is_gaussian(self):
        """bool : whether "auto" takes only Gaussian solvers: no penalty and no l1 ball."""
        return self.penalty != "l1_ball" and (self.penalty in CONSTRAINTS or self.alpha == 0)

    def _penalty_and_set(self, problem):
        """Return the factory of the solver's penalty, and a set to project onto, or None."""
        return self._penalty, None

    def _radius_facts(self, problem):
        """Return the public facts about a default radius, none where a radius was given."""
        if self.radius is not None or self.penalty not in CONSTRAINTS:
            return []
        inside = isinstance(problem.penalty, ConstraintSet)
        return [f"radius={self._usual_radius}, as none is given" if inside else
                "no set, as no radius is given"]

    def _last_stages(self, row_stage, constraint):
        """Return the stages that follow the solver.

        `row_stage` maps the rows, or is None; `constraint` is the set of `_penalty_and_set`.
        """
        return [Shrinkage(row_stage)] if self._draws_in(row_stage) else []

    def _draws_in(self, row_stage):
        """Return whether to shrink coefficients; it harms classifiers on shares."""
        return type(row_stage) is Whitening and not (self._of_shares and self._homogeneous)

    def _learns_norm(self, problem, solver, rows, target_stages=()):
        """Return whether public facts allow to learn the bound on norms; warn if they do not."""
        if self._norm_is_known(problem):
            return False
        if self._needs_length(rows):
            words = {"instead": "features are left out, and a constant is all that is fitted, "
                                "because rows of unknown norm would add only noise"}
        else:
            words = {"effect": "longer rows are scaled down to it, in prediction too"}

        def rule():
            norm_rule(problem, problem.model)
            if is_penalized(problem) and not solver.takes_unit:
                raise ValueError("data_norm: cannot be learned with this solver and penalty; "
                                 f"declare data_norm, such as 1.0{self._other_remedy(problem)}.")
            if not all(stage.leaves_rest(problem) for stage in target_stages):
                raise ValueError("data_norm: too few rows for target_bounds too; declare either.")

        return can_learn("data_norm", self.data_norm, _PLAIN_NORM, rule, **words)

    def _other_remedy(self, problem):
        """Return what else than a declared bound would let it be learned, if anything does."""
        if self.penalty in CONSTRAINTS or "gd" not in self._solvers:
            return ""
        options = [*([] if problem.delta > 0 else ["leave delta=None"]),
                   *([] if self.solver in ("auto", "gd") else ["use solver='gd'"])]
        return f", or {' and '.join(options)}" if options else ""

    def _norm_is_known(self, problem):
        """Return whether the bound on row norms is declared or derived, or none is needed."""
        return (self.data_norm not in ("auto", None) or self.data_norm_inf is not None
                or not problem.is_private)

    def _standardizes(self, problem, rows):
        """Return whether a saddle solver without noise gets standardized rows by default."""
        return (bool(self.fit_intercept) and self.precondition == "auto" and not rows.is_sparse
                and self.data_norm in ("auto", None) and self.data_norm_inf is None
                and problem.loss.minimax and not is_penalized(problem)
                and Standardizing.pays(problem))

    def _needs_length(self, rows):
        """Return whether to fit only a constant if no bound can be learned.

        Scaling a row keeps the sign of a score but changes a predicted target. Zero coefficients
        lie in every constraint set except a simplex.
        """
        return (not self._homogeneous and bool(self.fit_intercept) and rows.groups is None
                and self.penalty != "simplex" and rows.holdout is None)

    def _carries_no_slope(self, problem):
        """Return whether rows that are not whitened suffice for a constant only, and warn.

        This holds only with "auto" as solver and `precondition`.
        """
        if not (self.solver == "auto" == self.precondition and self.fit_intercept
                and NoFeatures.worthwhile(problem, self._of_shares)):
            return False
        times = loss_defaults(problem.loss).slopes_signal / (problem.n_samples * problem.mu)
        # Models whose features are shares have no parameter `precondition`.
        instead = "" if self._of_shares else (
            "; precondition=False fits coefficients all the same")
        warn(
            f"epsilon={self.epsilon:g}: n={problem.n_samples} rows of {problem.model.n_features} "
            f"features are too few for coefficients, which take {times:.3g} times as many; raise "
            f"epsilon, or leave out features. For now a constant is all that is fitted{instead}.",
            PrivacyWarning, stacklevel=2)
        return True

    def _would_learn(self, problem):
        """Return whether to change the solver so that the norm bound can be learned."""
        if self._norm_is_known(problem) or problem.delta == 0 or not is_penalized(problem) or (
                self.penalty in CONSTRAINTS):
            return False
        try:
            norm_rule(problem, problem.model)
        except ValueError:
            return False
        return True

    def _auto_solver(self, problem):
        """Return the name of the solver that "auto" stands for."""
        return auto_solver(problem)

    def _solver_of_constant(self, name, problem, rows):
        """Return the name of the solver for a fit of the constant alone."""
        return name

    def _penalty(self, unpenalized):
        radius = self._usual_radius if self.radius is None else self.radius
        return PENALTIES[self.penalty](alpha=float(self.alpha), l1_ratio=float(self.l1_ratio),
                                       radius=radius, unpenalized=unpenalized)

    def _row_stage(self, dtype, problem, solver):
        """Return the stage that maps the rows in this fit, from public facts, or None."""
        wanted = self.precondition
        # With epsilon=inf no moment is released, so rows are not mapped.
        if not (wanted and problem.is_private):
            return None
        stage = ROW_STAGES.get(wanted, Whitening)
        if wanted == "auto":
            pays = solver.whitens and stage.worthwhile(problem, self._of_shares) and (
                solver.takes_unit or not is_penalized(problem))
            return stage(problem.model, dtype, solver.takes_unit) if pays else None
        if not solver.whitens:
            raise ValueError(f"precondition={wanted!r}: a solver that releases moments or moves "
                             "inside a set has no use for it; leave precondition='auto', or use "
                             "solver='gd'.")
        if problem.delta == 0:
            raise ValueError(f"precondition={wanted!r}: what it releases gets Gaussian noise, "
                             "which needs delta > 0; leave precondition='auto'.")
        return stage(problem.model, dtype, solver.takes_unit)

    def _row_model(self, rows, n_outputs):
        """Return the model of the rows; a learned or fallback norm bound is 1.

        With bounded entries, norms are at most the square root of their number times as large.
        """
        bound = None if self.data_norm_inf is None else float(self.data_norm_inf)
        norm = self.data_norm
        if norm in ("auto", None):
            # With epsilon=inf no bound is needed, so the bound exceeds every row's norm.
            norm = _PLAIN_NORM if bound is None else math.sqrt(rows.n_features) * bound
            if self.epsilon == np.inf:
                norm = max(norm, beyond_longest(rows))
        return LinearModel(rows.n_features, n_outputs, bool(self.fit_intercept), float(norm),
                           bound, homogeneous=self._homogeneous, whole=self._whole)

    def _row_bounds(self, norm, learns, more_words):
        """Yield the bounds enforced on every row of features, except a learned norm."""
        more = ", then a constant 1 is appended" if self.fit_intercept else ""
        if not learns:
            yield Enforced("data_norm", norm, norm_origin(self), "l2 norm of one row of features; "
                           "longer rows are scaled down to it in training" + more + more_words)
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
