"""The fit that every private estimator shares: declare, calibrate, solve, certify."""

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

from dpsk._oracle import RowSums
from dpsk._privacy.calibrate import calibrate
from dpsk._privacy.certificate import Certificate, Enforced, library_versions
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.sampling import open_stream
from dpsk._solvers import SOLVERS, check_requirements
from dpsk._utils.content import content_digest
from dpsk._utils.parameters import check_choice, check_integer, check_random_state, check_real
from dpsk._version import __version__

__all__ = ["DPEstimator"]

#: Bounds far from where sums over rows overflow, or clipped products vanish, in float32.
_NORM_RANGE = {"low": 1e-10, "high": 1e10}


class DPEstimator(BaseEstimator):
    """Base of the estimators: parameters of the guarantee, and the private solve.

    Subclasses validate the rows, say what the Problem is, and store what comes back.
    """

    def _check_privacy_params(self):
        """Check what every estimator shares, before any row is looked at."""
        check_real("epsilon", self.epsilon, low=0, open_low=True,
                   remedy="a finite number > 0, such as 1.0")
        if self.delta is not None:
            check_real("delta", self.delta, low=0, high=1, open_high=True,
                       remedy="None for 1/n**2, or a number in [0, 1)")
        check_real("data_norm", self.data_norm, **_NORM_RANGE,
                   remedy="a number in [1e-10, 1e10], a bound on row norms such as 1.0")
        if self.clip_norm is not None:
            check_real("clip_norm", self.clip_norm, low=_NORM_RANGE["low"], finite=False,
                       remedy="None, or a number >= 1e-10 (inf: do not clip)")
        if self.learning_rate is not None:
            check_real("learning_rate", self.learning_rate, low=0, open_low=True,
                       remedy="None, or a finite number > 0")
        if self.max_iter is not None:
            check_integer("max_iter", self.max_iter, low=1, remedy="None, or an int >= 1")
        if self.batch_size is not None:
            check_integer("batch_size", self.batch_size, low=1, remedy="None, or an int >= 1")
        check_choice("solver", self.solver, ["auto", *SOLVERS])
        check_random_state(self.random_state)

    def _budget(self, n_samples):
        """Return (epsilon, delta) with the default delta filled in from the public n."""
        delta = 1.0 / n_samples**2 if self.delta is None else float(self.delta)
        return float(self.epsilon), delta

    def _solver_name(self, delta):
        """Resolve "auto" from public facts."""
        if self.solver != "auto":
            return self.solver
        return "gd" if delta > 0 else "output_perturbation"

    def _build_solver(self, name):
        """Return the solver with this estimator's parameters, None where not given."""
        cls = SOLVERS[name]
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

    def _solve(self, problem, name, X, y, *, enforced, public, released):
        """Run the private part of the fit on validated rows.

        Parameters
        ----------
        problem : Problem
        name : str
            Name of the solver.
        X : ndarray of shape (n, n_features)
        y : ndarray of shape (n,)
        enforced : list of Enforced
        public, released : list of str

        Returns
        -------
        theta : ndarray of float64, shape of the model
            `n_iter_` and `privacy_` are set.
        """
        solver = self._build_solver(name).configured(problem)
        check_requirements(name, solver, problem)
        plan = solver.plan(problem)
        noise_multiplier = calibrate(plan, problem.epsilon, problem.delta)
        event = plan(noise_multiplier)
        if self.verbose:
            print(f"{type(self).__name__}: {solver}, noise multiplier {noise_multiplier:.6g}")
        stream = open_stream(self.random_state, lambda: self._context(X, y))
        ledger = Ledger(event)
        # Overflow and the like would otherwise warn depending on the rows.
        with np.errstate(all="ignore"):
            sums = RowSums(problem.model, problem.loss, X, y, solver.clip_norm, problem.dtype)
            oracle = solver.oracle(problem, sums, noise_multiplier, stream, ledger)
            result = solver.minimize(oracle, problem.penalty, np.zeros(problem.model.shape))
        self.n_iter_ = result.n_iter
        self.privacy_ = Certificate(
            epsilon=problem.epsilon, delta=problem.delta, event=event,
            noise_multiplier=noise_multiplier, estimator=type(self).__name__, solver=name,
            enforced=(*enforced, self._gradient_bound(solver)), public=tuple(public),
            released=tuple(released), noise_source=stream.description,
            reproducible=stream.reproducible,
            versions=library_versions(dpsk=__version__, sklearn=sklearn.__version__))
        return result.theta

    def _gradient_bound(self, solver):
        # A clip norm above what loss and rows imply is not the bound that holds.
        origin = "declared" if solver.clip_norm == self.clip_norm else "derived"
        return Enforced("clip_norm", solver.clip_norm, origin,
                        "l2 norm of one row's gradient; longer ones are scaled down, non-finite "
                        "ones become zero")

    def _context(self, X, y):
        """Return what keys a reproducible stream: method, parameters and content of the rows."""
        params = {key: value.tolist() if isinstance(value, np.ndarray) else value
                  for key, value in self.get_params(deep=False).items()
                  if key not in ("random_state", "verbose")}
        yield f"{type(self).__module__}.{type(self).__qualname__}".encode()
        yield repr(sorted(params.items())).encode()
        yield str(X.dtype).encode()
        yield content_digest(X)
        yield content_digest(y)
