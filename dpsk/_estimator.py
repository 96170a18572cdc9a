"""Base of private estimators: the parameters of the guarantee, and the private fit."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from dpsk._budgeted import Budgeted
from dpsk._callbacks import TakesCallbacks
from dpsk._charging import Carries
from dpsk._data.dask import opened_dask
from dpsk._data.groups import groups_of
from dpsk._data.opening import opened
from dpsk._data.source import Rows
from dpsk._data.validation import check_rows, is_dask, is_source
from dpsk._data.weights import check_weights
from dpsk._fit import Method, fit_private
from dpsk._parameters import PARAMETER_CONSTRAINTS, check_choice, norm_origin
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.certificate_fields import ONE_ROW_EACH
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk._problem import Budget
from dpsk._solvers import NOISELESS, SOLVERS
from dpsk._solvers.base import NAMED_OPTIONS

if TYPE_CHECKING:
    from typing import Any

__all__ = ["DPEstimator"]


class DPEstimator(Budgeted, TakesCallbacks, Carries, BaseEstimator):
    """Base of the estimators: parameters of the guarantee, and the private solve.

    Subclasses validate the rows, define the Problem, and store the result.
    """

    _solvers: ClassVar[dict] = SOLVERS
    #: The default `data_norm`.
    _default_norm: ClassVar[float | str | None] = 1.0
    #: Whether fits are Gaussian without a solver, or with every solver that "auto" may choose.
    _auto_is_gaussian: ClassVar[bool] = False
    #: The `data_norm` that an earlier pipeline step guarantees, if any.
    _implied_norm: float | None = None
    #: Whether a fit learns a bound on sample weights; if not, they are at most 1 already.
    _bounds_weights: bool = True
    #: Parameters that came later, whose default None says nothing about the noise.
    _later: ClassVar[tuple] = ("monotonic_cst",)
    #: Checks of parameters, by name.
    _constraints: ClassVar[dict] = PARAMETER_CONSTRAINTS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = not isinstance(self.random_state, NoiseSeed)
        return tags

    @classmethod
    def _get_param_names(cls):
        # Cached: every clone and every candidate of a search asks for them.
        return list(_names_of_parameters(cls))

    @property
    def _is_gaussian(self):
        """bool : whether all releases of a fit are certain to be Gaussian, at delta > 0."""
        if not self._solvers or self.solver == "auto":
            return self._auto_is_gaussian
        # This may be read before an unknown solver is refused.
        known = isinstance(self.solver, str) and self.solver in self._solvers
        return known and self._solvers[self.solver].is_gaussian

    def _check_params(self):
        """Check every parameter, then all of them together, before any row is looked at."""
        # Some parameters are class attributes where a subclass leaves them out of its signature.
        for name, check in self._constraints.items():
            if hasattr(self, name):
                check(name, getattr(self, name))
        if self._solvers:
            check_choice("solver", self.solver, ["auto", *self._solvers])
        self._check_combination()

    def _check_combination(self):
        """Raise a ValueError for valid parameters that do not go together."""

    def _weight_dtype(self, X):
        """Return the dtype of sample weights for validated rows."""
        return X.dtype

    def _check_weights(self, sample_weight, X):
        """Return sample weights as an array, or None."""
        return check_weights(sample_weight, X, self._weight_dtype(X))

    def _weight_facts(self, sample_weight):
        """Return the facts about the weights that are public."""
        return [] if sample_weight is None else ["whether all sample weights are zero"]

    def _norm_bounds(self, more=""):
        """Return the enforced bound on row norms, if any, with `more` appended to its text."""
        if self.data_norm is None:
            return []
        return [Enforced("data_norm", float(self.data_norm),
                         "default" if self.data_norm == self._default_norm else norm_origin(self),
                         "l2 norm of one row of features; longer rows are scaled down, in "
                         "training and in prediction" + more)]

    def _budget(self, n_samples):
        """Return (epsilon, delta); the default delta follows from the number of rows or groups."""
        epsilon, delta = float(self.epsilon), self.delta
        # At epsilon=inf the fit is not private, so delta=0 has no meaning.
        if delta is None or (delta == 0 and epsilon == math.inf):
            delta = 1.0 / n_samples**2
        return epsilon, float(delta)

    def _solver_class(self, name):
        """Return the solver of that name."""
        return NOISELESS.get(name) or self._solvers[name]

    def _takes_given(self, name):
        """Return whether a solver uses all solver parameters that were given."""
        cls = self._solver_class(name)
        return not any(getattr(self, key) is not None for key in cls.ignores) and (
            set(self.solver_options or ()) <= set(cls.options()))

    def _build_solver(self, name):
        """Return the solver with this estimator's solver parameters."""
        cls = self._solver_class(name)
        # Parameter grids made with NumPy hold NumPy scalars, which events and plans do not take.
        given = {key: getattr(self, key) for key in NAMED_OPTIONS}
        given = {key: value.item() if isinstance(value, np.generic) else value
                 for key, value in given.items()}
        for key in cls.ignores:
            if given.pop(key) is not None:
                raise ValueError(f"{key}={getattr(self, key)!r}: solver={name!r} has no use for "
                                 f"it; leave {key}=None, or use another solver.")
        options = self.solver_options or {}
        known = sorted(set(cls.options()) - set(given))
        for key in options:
            if key not in known:
                raise ValueError(
                    f"solver_options has {key!r}, which solver={name!r} does not take; it takes "
                    f"{', '.join(map(repr, known)) or 'none'}; see 'Solvers' in the "
                    "documentation.")
        return cls(**given, **options)

    def _named_solver(self):
        unnamed = not self._solvers or self.solver == "auto"
        return None if unnamed else self._build_solver(self.solver)

    def _check_rows(self, X, y):
        """Return validated rows in memory, and their targets; no message carries a data value."""
        return check_rows(self, X, y, **self._row_checks, **self._target_checks)

    def _read_rows(self, X, y, sample_weight, groups=None):
        """Return validated training rows with unencoded targets, as a RowSource."""
        if is_source(X) or is_dask(X):
            if groups is not None:
                raise ValueError("groups: go with rows in memory, as arrays or frames; X comes "
                                 "in parts.")
            opening = opened_dask if is_dask(X) else opened
            return opening(self, X, y, sample_weight, self._weight_dtype, self._row_checks,
                           self._target_checks)
        X, y = self._check_rows(X, y)
        return Rows(X, y, self._check_weights(sample_weight, X),
                    groups=groups_of(groups, X.shape[0], self.random_state),
                    made=self._implied_norm is not None)

    def _check_table(self, X, y):
        self._check_rows(X, y)

    def _units_fact(self, rows):
        """Return the public facts about the size of a table."""
        return ("number of rows and of features" if rows.groups is None else
                "number of groups of rows and of features, and not that of rows")

    def _table_budget(self, shape, groups):
        """Return the Budget for a table of this shape; with groups, a row stands for a group."""
        n_units, n_columns = shape
        epsilon, delta = self._budget(n_units)
        return Budget(n_units, n_columns, epsilon, delta, groups is not None)

    def _table_facts(self, groups, *facts):
        """Return the public facts about such a table; the first is about its size."""
        if groups is None:
            return list(facts)
        return [facts[0].replace("number of rows", "number of groups of rows"), *facts[1:],
                ONE_ROW_EACH]

    def _shown_facts(self, rows, learns):
        """Return the public facts about rows in groups that a learned transform needs."""
        return [ONE_ROW_EACH] if learns and rows.groups is not None else []

    def _group_bounds(self, rows):
        """Return the bounds that are enforced on groups of rows, if there are any."""
        if rows.groups is None:
            return []
        return [Enforced("groups", 1.0, "derived", "the most that all rows of a group weigh "
                         "together, after the clip; each weighs one over their number")]

    def _solve(self, problem, name, rows, *, stages=(), enforced, public, released):
        """Run the private part of the fit; set `n_iter_`, `privacy_` and attributes of stages.

        Parameters
        ----------
        problem : Problem
        name : str
            Name of the solver.
        rows : RowSource
            With public rows, if the solver needs them.
        stages : sequence of Stage
        enforced : list of Enforced
        public, released : list of str

        Returns
        -------
        theta, rest : ndarray of float64
            The model's parameters, and the additional ones of a saddle loss.
        """
        fitted = fit_private(self._method(), problem, name, self._build_solver(name),
                             rows.with_weight_bound(problem.weight_bound), stages,
                             random_state=self.random_state, verbose=self.verbose,
                             enforced=enforced, public=public, released=released)
        self.n_iter_, self.privacy_ = fitted.n_iter, fitted.certificate
        for stage in stages:
            if stage.attribute is not None:
                setattr(self, stage.attribute, stage.value)
        return fitted.theta, fitted.rest

    def _method(self):
        """Return the name and the parameters of this method, for keys and certificates."""
        params = self.get_params(deep=False)
        settings = repr([(key, _plain(value)) for key, value in sorted(params.items())
                         if key not in ("random_state", "verbose")
                         # A default is left out, so that a NoiseSeed gives the same noise as
                         # before this parameter existed.
                         and not (key in self._later and value is None)])
        return Method.of(self, settings, getattr(self, "clip_norm", None))


@cache
def _names_of_parameters(kind):
    return BaseEstimator._get_param_names.__func__(kind)


def _plain(value):
    """Return array-likes as lists, whose repr is not abbreviated."""
    scalar = value is None or isinstance(value, (str, bytes, bool, int, float, dict))
    if isinstance(value, (set, frozenset)):
        # The order of a set differs between processes.
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple)) and any(
            np.ndim(part) or isinstance(part, (set, frozenset)) for part in value):
        # The items may have different shapes.
        return [_plain(part) for part in value]
    return value if scalar else np.asarray(value).tolist()
