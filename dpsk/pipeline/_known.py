"""Facts about the steps of a pipeline before any of them is fitted."""

from inspect import Parameter, signature

from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from dpsk._budgeted import asked
from dpsk._defaults.columns import curve_penalty
from dpsk._kinds import NOTHING as LEARNS_NOTHING
from dpsk._kinds import kind_of
from dpsk._parameters import with_implied_norm
from dpsk._privacy.noise.public import PublicDraws

__all__ = ["NOTHING", "configured", "is_private", "learns_nothing", "seed_draws", "stand_in",
           "takes"]

#: Values that mean that there is no step.
NOTHING = ("passthrough", None)


def is_private(step):
    """Return whether a step has the parameters `epsilon` and `delta`."""
    known = step.get_params(deep=False) if hasattr(step, "get_params") else {}
    return "epsilon" in known and "delta" in known


def learns_nothing(step):
    """Return whether a step that is not private learns nothing from rows."""
    return step in NOTHING or isinstance(step, FrozenEstimator) or (
        kind_of(type(step)) == LEARNS_NOTHING) or (
        hasattr(step, "transform") and hasattr(step, "__sklearn_tags__")
        and not get_tags(step).requires_fit)


def seed_draws(step):
    """Set a random seed wherever a cloned step has none.

    Draws from NumPy's global generator would reveal how often a search has fitted the step.
    """
    for name, given in step.get_params().items():
        if given is None and name.split("__")[-1] == "random_state":
            drawn = PublicDraws(None).uniforms(1)[0]
            step.set_params(**{name: int(drawn * 2**31)})


def takes(step, parameter):
    """Return whether `fit` of a step takes a parameter in addition to rows and targets."""
    known = signature(step.fit).parameters
    rows_and_targets = ("", *list(known)[:2])
    return parameter not in rows_and_targets and (parameter in known or any(
        each.kind is Parameter.VAR_KEYWORD for each in known.values()))


def stand_in(steps, name, X):
    """Return rows with the columns that the step `name` will see, or None if unknown.

    The first of the (name, step) pairs takes X. After steps whose output columns are public, the
    rows are zeros. Columns that depend on private outputs are unknown.
    """
    for before, step in steps:
        if before == name:
            return X
        if step in NOTHING:
            continue
        X = asked(step)._like_mapped(X)
        if X is None:
            return None
    return None


def configured(step, norm, budget, *, epsilon, delta, random_state, verbose):
    """Set the budget of a cloned private step, and its seed and verbosity if given.

    Without noise, a linear model on rows of known norm gets the default penalty on curves, for
    columns of size 1, if it has no penalty of its own.
    """
    known = step.get_params(deep=False)
    given = {"epsilon": epsilon, "delta": delta}
    if random_state is not None and "random_state" in known:
        given["random_state"] = random_state
    if verbose and "verbose" in known:
        given["verbose"] = verbose
    if norm is not None and isinstance(known.get("data_norm"), str):
        given["data_norm"] = norm
    penalty = curve_penalty(budget)
    if penalty and norm is not None and known.get("alpha") == 0 and known.get("penalty") == "l2":
        given["alpha"] = penalty * min(1.0, norm) ** 2
    step.set_params(**given)
    if "data_norm" in given:
        with_implied_norm(step)
    asked(step)._within((budget.epsilon, budget.delta))
    return step
