"""The fit that every private estimator shares: declare, calibrate, solve, certify."""

from dataclasses import replace
from functools import partial

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

from dpsk._oracle import Rows
from dpsk._privacy.calibrate import calibrate
from dpsk._privacy.certificate import Certificate, Enforced, library_versions
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.mechanisms import standard_normal
from dpsk._privacy.sampling import open_stream, random_index
from dpsk._solvers import SOLVERS, check_requirements
from dpsk._stages import Framed
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

    #: The solvers by name.
    _solvers = SOLVERS

    #: Whether ``data_norm=None`` leaves rows unbounded, as where gradients are clipped anyway.
    _takes_rows_as_they_are = False

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
        given = self._build_solver(name)
        check_requirements(name, given, problem)
        solver = given.configured(problem)
        _check_holdout(name, solver, holdout)
        rows = Rows(X, y, weights, problem.weight_bound,
                    holdout=None if holdout is None else Rows(*holdout))
        # What is public and random comes first, and from a stream of its own that the rows do
        # not key: plan and noise may follow it, and it may be published.
        apart = open_stream(self.random_state, partial(self._public_context, problem, solver))
        given = given.drawn(problem, partial(random_index, apart))
        solver = given.configured(problem)
        declared = solver.plan(problem)
        first = tuple(stage.event(problem) for stage in stages)
        finishing = [stage for stage in finishing if stage.applies(problem, given, solver)]
        last = tuple(stage.event(problem) for stage in finishing)
        plan = Framed(first, declared, last) if first or last else declared
        noise_multiplier = calibrate(plan, problem.epsilon, problem.delta)
        event = plan(noise_multiplier)
        # The key holds the event: the same noise under two multipliers would give away the sums.
        stream = open_stream(self.random_state,
                             partial(self._context, problem, solver, rows, event))
        if self.verbose:
            print(f"{type(self).__name__}: {solver}, noise multiplier {noise_multiplier:.6g}")
        ledger = Ledger(event)
        # Overflow and the like would otherwise warn depending on the rows.
        with np.errstate(all="ignore"):
            for stage in stages:
                problem, rows = stage.release(problem, rows, stream, ledger)
                # Steps may be fitted to what was released; the plan does not depend on it.
                solver = given.configured(problem)
            oracle = solver.oracle.open(problem, declared, solver.clip_bounds, rows,
                                        noise_multiplier, stream, ledger)
            start = problem.start(partial(standard_normal, apart))
            result = solver.minimize(oracle, problem.penalty, start)
            theta = result.theta
            for stage in finishing:
                theta = stage.release(problem, oracle, theta)
        self.n_iter_ = result.n_iter
        self.privacy_ = Certificate(
            epsilon=problem.epsilon, delta=problem.delta, event=event,
            noise_multiplier=noise_multiplier, estimator=type(self).__name__, solver=name,
            enforced=(*enforced, *self._gradient_bounds(solver), *solver.stated(),
                      *(stage.stated(problem) for stage in finishing)),
            public=(*public, *solver.public_facts(problem)),
            released=(*released, *(stage.attribute for stage in finishing)),
            noise_source=stream.description,
            reproducible=stream.reproducible, arithmetic=oracle.arithmetic,
            versions=library_versions(dpsk=__version__, sklearn=sklearn.__version__))
        return theta

    def _gradient_bounds(self, solver):
        """Yield the bound on a row's gradient, where the solver has one."""
        if not solver.clips:
            return
        # A clip norm above what loss and rows imply is not the bound that holds.
        origin = "declared" if solver.clip_norm == self.clip_norm else "derived"
        yield Enforced("clip_norm", solver.clip_norm, origin,
                       f"{solver.clip_measure} of one row's gradient; longer ones are scaled "
                       "down, non-finite ones become zero")

    def _public_context(self, problem, solver):
        """Yield what keys reproducible public draws: method, parameters and public facts."""
        yield b"public draws"
        yield from self._settings(problem, solver)

    def _context(self, problem, solver, rows, event):
        """Yield what keys a reproducible stream: method, parameters, event and content of rows."""
        yield from self._settings(problem, solver)
        yield repr(event).encode()
        yield str(rows.X.dtype).encode()
        yield content_digest(rows.X)
        yield content_digest(rows.y)
        # Weights of 1 are no weights.
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        yield content_digest(weights.astype(np.float64, copy=False))
        if rows.holdout is not None:
            yield content_digest(rows.holdout.X)
            yield content_digest(rows.holdout.y)

    def _settings(self, problem, solver):
        # Another version may make other rows, or other sums, of the same ones.
        yield __version__.encode()
        yield f"{type(self).__module__}.{type(self).__qualname__}".encode()
        params = self.get_params(deep=False)
        yield repr([(key, _plain(value)) for key, value in sorted(params.items())
                    if key not in ("random_state", "verbose")]).encode()
        # What bounds the weights follows from parameters, and from whether any were given.
        yield repr((replace(problem, weight_bound=1.0), solver)).encode()


def _check_holdout(name, solver, holdout):
    """Raise a ValueError unless public rows are there exactly if the solver wants some."""
    if solver.wants_holdout and holdout is None:
        raise ValueError("public_X=None: holdout='public' compares with public rows; pass "
                         "public_X and public_y to fit, or leave holdout='private'.")
    if holdout is not None and not solver.wants_holdout:
        raise ValueError(f"public_X: solver={name!r} makes no use of public rows as it is set; "
                         "leave public_X=None, or use solver='stgd' with "
                         "solver_options={'holdout': 'public'}.")


def _plain(value):
    """Return array-likes as lists, whose text leaves nothing out."""
    scalar = value is None or isinstance(value, (str, bytes, bool, int, float, dict))
    return value if scalar else np.asarray(value).tolist()
