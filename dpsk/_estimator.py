"""What every private estimator shares: the parameters of the guarantee, and the private fit."""


import numpy as np
from sklearn.base import BaseEstimator

from dpsk._data.source import Rows
from dpsk._fit import Method, fit_private
from dpsk._parameters import check_choice, check_integer, check_real
from dpsk._privacy.noise.seeds import NoiseSeed, check_random_state
from dpsk._solvers import SOLVERS

__all__ = ["DPEstimator"]

#: Bounds far from where sums over rows overflow, or clipped products vanish, in float32.
_NORM_RANGE = {"low": 1e-10, "high": 1e10}


class DPEstimator(BaseEstimator):
    """Base of the estimators: parameters of the guarantee, and the private solve.

    Subclasses validate the rows, say what the Problem is, and store what comes back.
    """

    #: The solvers by name.
    _solvers = SOLVERS

    #: Whether ``data_norm=None`` leaves rows unbounded, as where gradients are clipped anyway.
    _takes_rows_as_they_are = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = not isinstance(self.random_state, NoiseSeed)
        return tags

    def _check_privacy_params(self):
        """Check what every estimator shares, before any row is looked at."""
        check_real("epsilon", self.epsilon, low=0, open_low=True,
                   remedy="a finite number > 0, such as 1.0")
        if self.delta is not None:
            check_real("delta", self.delta, low=0, high=1, open_high=True,
                       remedy="None for 1/n**2, or a number in [0, 1)")
        if self.data_norm is not None or not self._takes_rows_as_they_are:
            check_real("data_norm", self.data_norm, **_NORM_RANGE,
                       remedy="a number in [1e-10, 1e10], a bound on row norms such as 1.0")
        if self.clip_norm is not None:
            # Sums of n gradients of greater norm could overflow before they are noised.
            high = np.inf if self.clip_norm == np.inf else 1e100
            check_real("clip_norm", self.clip_norm, low=_NORM_RANGE["low"], high=high,
                       finite=False, remedy="None, or a number in [1e-10, 1e100], or inf: do "
                       "not clip")
        if self.learning_rate is not None:
            check_real("learning_rate", self.learning_rate, low=0, open_low=True,
                       remedy="None, or a finite number > 0")
        if self.max_iter is not None:
            check_integer("max_iter", self.max_iter, low=1, remedy="None, or an int >= 1")
        if self.batch_size is not None:
            check_integer("batch_size", self.batch_size, low=1, remedy="None, or an int >= 1")
        check_choice("solver", self.solver, ["auto", *self._solvers])
        check_random_state(self.random_state)

    def _budget(self, n_samples):
        """Return (epsilon, delta) with the default delta filled in from the public n."""
        delta = 1.0 / n_samples**2 if self.delta is None else float(self.delta)
        return float(self.epsilon), delta

    def _build_solver(self, name):
        """Return the solver with this estimator's parameters, None where not given."""
        cls = self._solvers[name]
        # Grids made with NumPy hold its scalars, which events and plans do not take.
        given = {key: value.item() if isinstance(value, np.generic) else value
                 for key, value in self.get_params(deep=False).items()
                 if key in ("max_iter", "learning_rate", "clip_norm", "batch_size")}
        for key in cls.ignores:
            if given.pop(key) is not None:
                raise ValueError(f"{key}={getattr(self, key)!r}: solver={name!r} has no use for "
                                 f"it; leave {key}=None, or use another solver.")
        options = {} if self.solver_options is None else self.solver_options
        if not isinstance(options, dict):
            raise ValueError(f"solver_options of type {type(options).__name__}: must be None, or "
                             "a dict of options of the solver.")
        known = sorted(set(cls.options()) - set(given))
        for key in options:
            if key not in known:
                raise ValueError(
                    f"solver_options has {key!r}, which solver={name!r} does not take; it takes "
                    f"{', '.join(map(repr, known)) or 'none'}.")
        return cls(**given, **options)

    def _solve(self, problem, name, X, y, *, weights=None, holdout=None, stages=(), finishing=(),
               enforced, public, released):
        """Run the private part of the fit on validated rows; set `n_iter_` and `privacy_`.

        Parameters
        ----------
        problem : Problem
        name : str
            Name of the solver.
        X : ndarray or CSR matrix of shape (n, n_features)
        y : ndarray of shape (n,)
        weights : ndarray of shape (n,) or None
        holdout : (X, y) or None
            Public rows, if the solver wants some.
        stages : sequence of Whitening, Centring or Counting
            Releases that come first; what they released stays on them.
        finishing : sequence of Tempering
            Releases that come last, those of them that apply.
        enforced : list of Enforced
        public, released : list of str

        Returns
        -------
        theta : ndarray of float64, like the problem's start
        """
        fitted = fit_private(self._method(), problem, name, self._build_solver(name),
                             Rows(X, y, weights, problem.weight_bound,
                                  holdout=None if holdout is None else Rows(*holdout)),
                             stages, finishing, random_state=self.random_state,
                             verbose=self.verbose, enforced=enforced, public=public,
                             released=released)
        self.n_iter_, self.privacy_ = fitted.n_iter, fitted.certificate
        return fitted.theta

    def _method(self):
        """Return what names this method and its parameters in keys and certificates."""
        params = self.get_params(deep=False)
        settings = repr([(key, _plain(value)) for key, value in sorted(params.items())
                         if key not in ("random_state", "verbose")])
        return Method(type(self).__name__, f"{type(self).__module__}.{type(self).__qualname__}",
                      settings, self.clip_norm)


def _plain(value):
    """Return array-likes as lists, whose text leaves nothing out."""
    scalar = value is None or isinstance(value, (str, bytes, bool, int, float, dict))
    return value if scalar else np.asarray(value).tolist()
