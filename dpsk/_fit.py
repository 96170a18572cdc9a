"""The fit that every private estimator shares: declare, calibrate, solve, certify."""

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np
import sklearn

from dpsk._budgeted import class_on_trust
from dpsk._charging import Carried, admit
from dpsk._data.content import table_digest
from dpsk._mechanism.replay import opened_session
from dpsk._objective.requirements import check_requirements
from dpsk._parameters import plain
from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.certificate import GROUP_RELATION, Certificate, Enforced, library_versions
from dpsk._privacy.certificate_fields import rounded_up
from dpsk._privacy.events import Composed, NotPrivate, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.samplers import standard_normal
from dpsk._privacy.noise.seeds import noise_seed, public_seed
from dpsk._privacy.noise.streams import open_stream, random_index
from dpsk._privacy.plans import Framed
from dpsk._progress import opened_progress
from dpsk._version import __version__
from dpsk._warnings import is_part, warn
from dpsk.exceptions import PrivacyWarning

__all__ = ["Fitted", "Method", "certify", "check_holdout", "fit_private", "opened_stream",
           "run_private", "warn_of_weak_budget"]

#: A delta above it, or above 1/n, is warned of; the default of 1/n**2 is where n < 32.
_WEAK_DELTA = 1e-3


@dataclass(frozen=True)
class Method:
    """Name of an estimator and its parameters, for keys and certificates.

    Attributes
    ----------
    name, path : str
        Of the class, without and with its module.
    settings : str
        Its parameters, but for seed and verbosity.
    clip_norm : float or None
        As the caller gave it.
    carried : Carried or None
        Budgets that the estimator carries; its fit is charged to them.
    trusted : tuple of str
        Unverified assumptions about the class; the certificate and open budgets state them.
    """

    name: str
    path: str
    settings: str
    clip_norm: float | None
    carried: Carried | None = field(default=None, repr=False, compare=False)
    trusted: tuple = ()

    @classmethod
    def of(cls, estimator, settings, clip_norm=None):
        """Return the method of an estimator with these settings."""
        kind = type(estimator)
        return cls(kind.__name__, f"{kind.__module__}.{kind.__qualname__}", settings, clip_norm,
                   estimator._carried, tuple(class_on_trust(kind)))

    def with_columns(self, columns):
        """Return this method with the columns in its settings: dtypes may declare categories."""
        return replace(self, settings=f"{self.settings} {columns!r}")


@dataclass(frozen=True)
class Fitted:
    """Result of a private fit.

    Attributes
    ----------
    theta : ndarray of float64
        The model's parameters, for untransformed rows.
    rest : ndarray of float64
        Additional parameters of a saddle loss: extra primal variables, then the dual ones.
    n_iter : int
        The planned number of steps.
    certificate : Certificate
    """

    theta: np.ndarray
    rest: np.ndarray
    n_iter: int
    certificate: Certificate


def fit_private(method, problem, name, given, rows, stages, *, random_state, verbose, enforced,
                public, released):
    """Run the private part of a fit on validated rows.

    Parameters
    ----------
    method : Method
    problem : Problem
    name : str
        Name of the solver.
    given : Solver
        With the caller's options.
    rows : Rows
    stages : sequence of Stage
        Additional releases before or after the solver; those that do not apply are skipped. Each
        stage keeps the value that it released.
    random_state : None, int or NoiseSeed
        An int or a NoiseSeed seeds the public draws; only a NoiseSeed also seeds the noise.
    verbose : int
    enforced : list of Enforced
    public, released : list of str

    Returns
    -------
    fitted : Fitted
    """
    warn_of_weak_budget(problem, "row" if rows.groups is None else "group")
    check_requirements(name, given, problem)
    solver = given.configured(problem)
    check_holdout(name, solver, rows.holdout)
    # Public random draws come first, from a separate stream that is not keyed by the rows: they
    # may be published, and the plan and the noise may depend on them.
    apart = open_stream(public_seed(random_state),
                        partial(_public_context, method, problem, solver))
    drawn = given.drawn(solver, partial(random_index, apart))
    if drawn is not given:
        given, solver = drawn, drawn.configured(problem)
    asked = declared = solver.queries(problem)
    stages = [stage for stage in stages if (problem.is_private or stage.without_noise)
              and stage.applies(problem, given, solver)]
    first = [stage for stage in stages if not stage.comes_last]
    last = [stage for stage in stages if stage.comes_last]
    _check_groups(name, solver, problem, rows, stages)
    before, after = _costs(first, problem), _costs(last, problem)
    plan = Framed(before, declared, after) if before or after else declared
    noise_multiplier, event = _calibrated(plan, problem)
    # The key includes the event: equal noise under two multipliers would reveal the sums. The
    # weight bound is left out, as it follows from parameters and from whether weights were given.
    # Odds are part of it, because one table may have several: their own noise has another key.
    odds = (problem.log_odds,) if problem.log_odds else ()
    settings = replace(problem, weight_bound=1.0), solver, *odds
    stream = open_stream(noise_seed(random_state),
                         partial(_context, method, settings, rows, event))
    what = f"{plain(solver)}, noise multiplier {noise_multiplier:.6g}"
    session = _opened(method, what, event, stream, verbose,
                      (*public, *solver.public_facts(problem)), rows.groups is not None,
                      declared.n_answers_elsewhere(noise_multiplier))
    # NumPy's floating-point warnings would otherwise depend on the rows.
    with np.errstate(all="ignore"):
        for stage in first:
            known, rows = stage.release(problem, rows, session)
            if known is not problem:
                # Step sizes and clip norms may depend on released values; privacy costs may not.
                problem, solver = known, given.configured(known)
                asked = solver.queries(problem)
        if asked is not declared and asked(noise_multiplier) != declared(noise_multiplier):
            raise RuntimeError("The price of a solver's queries follows from what was released; "
                               "a plan may depend on public facts only.")
        oracle = asked.run((problem, rows), session, noise_multiplier)
        start = problem.start(partial(standard_normal, apart))
        result = solver.minimize(oracle, problem.penalty, start)
        theta, rest = result.theta, np.empty(0)
        for stage in last:
            theta = stage.release(problem, oracle, theta)
        if problem.loss.minimax:
            theta, rest = np.split(theta, [problem.model.dimension])
        for stage in reversed(first):
            theta = stage.undo(problem.model, theta)
    certificate = certify(
        method, name, problem, event=event, noise_multiplier=noise_multiplier,
        source=(stream.description, stream.reproducible),
        enforced=(*enforced, *_gradient_bounds(method, given, solver), *solver.enforced_bounds(),
                  *(line for stage in stages for line in stage.enforced_bounds(problem))),
        public=(*public, *solver.public_facts(problem)),
        released=dict.fromkeys(
            (*released, *(stage.attribute for stage in stages if stage.attribute))),
        arithmetic=oracle.arithmetic, relation=_relation_of(rows.groups is not None))
    return Fitted(theta, rest, result.n_iter, certificate)


def _costs(stages, problem):
    """Return the events of the stages that release something."""
    events = (stage.event(problem) for stage in stages)
    return tuple(event for event in events if event != Composed(()))


def run_private(method, name, budget, mechanism, rows, data, *, random_state, verbose, enforced,
                public, released):
    """Run a single mechanism on validated rows and certify it.

    Parameters
    ----------
    method : Method
    name : str
        Name of the releases in the certificate.
    budget : Budget
    mechanism : Mechanism
        Gets the whole budget.
    rows : Rows
        Sensitive; their digest keys reproducible noise.
    data : object
        Input of the mechanism, including these rows.
    random_state, verbose, enforced, public, released
        As for `fit_private`.

    Returns
    -------
    found : object
        Result of the mechanism.
    certificate : Certificate
    """
    # A warning may be raised as an error, so it comes before any budget is charged.
    warn_of_weak_budget(budget)
    noise_multiplier, event = _calibrated(mechanism, budget)
    mechanism.forewarn(rows, noise_multiplier)
    session, stream = opened_stream(method, (budget, name), rows, event,
                                    f", noise multiplier {noise_multiplier:.6g}",
                                    random_state=random_state, verbose=verbose, public=public,
                                    of_groups=budget.grouped)
    with np.errstate(all="ignore"):
        found = mechanism.run(data, session, noise_multiplier)
    return found, certify(
        method, name, budget, event=event, noise_multiplier=noise_multiplier,
        source=(stream.description, stream.reproducible),
        enforced=(*enforced, *session.enforced), public=public, released=released)


def certify(method, name, budget, *, event=None, noise_multiplier=1.0, source=("none", False),
            enforced, public, released, arithmetic="grid", relation=None):
    """Return the certificate of a fit within a budget.

    Parameters
    ----------
    method, name, budget, enforced, public, released
        As for `run_private`.
    event : Event or None
        Everything that was released; None if no row was read.
    noise_multiplier : float
    source : (str, bool)
        Description of the noise source, and whether its noise is reproducible.
    arithmetic : str
    relation : str or None
        Neighboring relation; None: the one that the budget protects.
    """
    if relation is None:
        relation = _relation_of(budget.grouped)
    if event is None:
        event = Composed(()) if budget.is_private else NotPrivate()
    description, reproducible = source
    return Certificate(
        epsilon=budget.epsilon, delta=budget.delta, event=event,
        noise_multiplier=noise_multiplier if budget.is_private else 0.0, estimator=method.name,
        solver=name, enforced=tuple(enforced),
        public=tuple(dict.fromkeys((*public, *method.trusted))), released=tuple(released),
        noise_source=description if budget.is_private else "none", reproducible=reproducible,
        arithmetic=arithmetic, relation=relation,
        versions=library_versions(dpsk=__version__, sklearn=sklearn.__version__))


def warn_of_weak_budget(budget, unit=None):
    """Warn if a fit is not private, or if its delta is too large for the number of rows.

    A fit of several parts warns once, because the budget of a part is not its guarantee.
    """
    delta, n_samples, unit = budget.delta, budget.n_samples, unit or budget.unit
    if is_part():
        return
    if not budget.is_private:
        warn("epsilon=inf: no noise is added, so the fit is not private; set a finite epsilon "
             "before anything of it is shown.", PrivacyWarning)
    elif delta > min(_WEAK_DELTA, 1.0 / n_samples):
        warn(f"the fit has a delta of {rounded_up(delta, 6)}, which is weak for n={n_samples} "
             f"{unit}s. Delta is how far a probability may exceed epsilon's bound for a {unit}; "
             f"set delta to at most {_WEAK_DELTA:g} and well below 1/n, such as 1e-6.",
             PrivacyWarning)


def _relation_of(grouped):
    """Return the neighboring relation, for groups of rows or for single rows."""
    return GROUP_RELATION if grouped else Certificate.relation


def opened_stream(method, settings, rows, event, more="", *, random_state, verbose, public=(),
                  of_groups=False):
    """Return a session for releases without a solver, and the stream of their noise.

    Reproducible noise is keyed by `settings`, method, event and rows. The last of the settings is
    a name; with `verbose` it is printed, followed by `more`. Open budgets record `public`;
    `of_groups` says whether groups of rows are protected.
    """
    stream = open_stream(noise_seed(random_state),
                         partial(_context, method, settings, rows, event))
    session = _opened(method, settings[-1] + more, event, stream, verbose, public, of_groups)
    return session, stream


def _opened(method, name, event, stream, verbose, public, of_groups=False, more=0):
    """Charge open budgets and return the session of a fit; print a line with `verbose`."""
    admission = admit(method.name, event, carried=method.carried, of_groups=of_groups,
                      public=(*public, *method.trusted), reproducible=stream.reproducible)
    if verbose:
        print(f"{method.name}: {name}")
    progress = opened_progress(method.name, sum(tally(event).values()) + more, verbose)
    return opened_session(stream, Ledger(event), progress, admission)


def _calibrated(plan, budget):
    """Return the noise multiplier at which a plan costs the budget, and its event."""
    noise_multiplier = calibrate(plan, budget.epsilon, budget.delta) if budget.is_private else 0.0
    event = plan(noise_multiplier)
    if budget.is_private and not _priced(event, budget.epsilon) <= budget.delta:
        # Checked again here, so that no error in the search or its cache can overspend.
        raise RuntimeError("The declared releases exceed the budget; nothing was drawn.")
    return noise_multiplier, event


@lru_cache(maxsize=256)
def _priced(event, epsilon):
    """Return the delta of an event at an epsilon, cached."""
    return accountant.delta(event, epsilon)


def _gradient_bounds(method, given, solver):
    """Yield the enforced bounds on gradients of rows and of groups, if the solver clips."""
    if not (solver.clips and solver.clip_norm < math.inf):
        return
    # The solver lowers a declared clip norm to the bound that the loss and rows imply.
    origin = "declared" if solver.clip_norm == method.clip_norm else "derived"
    yield Enforced("clip_norm", solver.clip_norm, origin,
                   f"{solver.clip_measure} of one row's gradient; longer ones are scaled "
                   "down to it, infinite or undefined ones count as zero")
    bound = getattr(solver, "group_clip_norm", None)
    if bound is not None:
        origin = "declared" if bound == given.group_clip_norm else "derived"
        yield Enforced("group_clip_norm", bound, origin, "l2 norm of the average of a group's "
                       "clipped gradients; longer ones are scaled down")


def _public_context(method, problem, solver):
    """Yield the key of reproducible public draws: method, parameters and public facts."""
    yield b"public draws"
    yield from _settings(method, (replace(problem, weight_bound=1.0), solver))


def _context(method, settings, rows, event):
    """Yield the key of a reproducible stream: method, settings, event and content of rows."""
    yield from _settings(method, settings)
    yield repr(event).encode()
    yield str(rows.dtype).encode()
    yield table_digest(rows)
    if rows.groups is not None:
        yield rows.groups.digest()
        if hasattr(settings[1], "queries"):
            yield repr(settings[1].queries(settings[0])).encode()
    if rows.holdout is not None:
        yield table_digest(rows.holdout)


def _settings(method, settings):
    # Another version may transform or sum the same rows differently.
    yield __version__.encode()
    yield method.path.encode()
    yield method.settings.encode()
    yield repr(settings).encode()


def _check_groups(name, solver, problem, rows, stages):
    """Raise a ValueError for groups if the solver or a stage bounds single rows only.

    Losses of transitions handle groups themselves.
    """
    if rows.groups is None or problem.loss.grouped:
        return
    if not solver.takes_groups:
        raise ValueError(f"groups: solver={name!r} protects rows only: it cannot bound what "
                         "a group of rows changes; use solver='gd' or 'sgd', or groups=None.")
    for stage in stages:
        if not stage.takes_groups:
            raise ValueError(f"groups: {type(stage).__name__} releases what is bounded for rows "
                             "alone; leave out the parameter that asks for it, or groups=None.")


def check_holdout(name, solver, holdout):
    """Raise a ValueError unless public rows are given exactly if the solver needs them."""
    if solver.wants_holdout and holdout is None:
        raise ValueError("public_X=None: holdout='public' compares with public rows; pass "
                         "public_X and public_y to fit, or leave holdout='private'.")
    if holdout is not None and not solver.wants_holdout:
        raise ValueError(f"public_X: solver={name!r} makes no use of public rows as it is set; "
                         "leave public_X=None, or use solver='stgd' with "
                         "solver_options={'holdout': 'public'}.")
