"""Renamed parameters: code that uses the old names keeps running for a while.

Removed functions and classes are marked by `sklearn.utils.deprecated`; the policy is in
docs/contribute/releasing.md.
"""

import functools
import inspect
import warnings

__all__ = ["renamed_parameters"]


def _current(owner, names, since, removal, given):
    """Return keyword arguments under their current names, with a warning for each old name."""
    given = dict(given)
    for old, new in names.items():
        if old not in given:
            continue
        if new in given:
            raise TypeError(f"{owner}: {old!r} is the former name of {new!r}; pass {new!r} alone.")
        # Skip this function and the wrapper, so that the line of the caller is shown.
        warnings.warn(f"{owner}: the parameter {old!r} is called {new!r} since version {since}; "
                      f"the former name goes in {removal}.", FutureWarning, stacklevel=3)
        given[new] = given.pop(old)
    return given


def _wrapped(function, owner, names, since, removal):
    @functools.wraps(function)
    def renamed(*args, **kwargs):
        return function(*args, **_current(owner, names, since, removal, kwargs))

    return renamed


def renamed_parameters(since, removal, **names):
    """Accept former names of parameters of a function or an estimator, with a warning.

    Signatures show the new names only, so `get_params`, `clone` and the documentation use them.
    An estimator accepts former names in its constructor and in `set_params`, and therefore in
    pipelines and searches.

    Parameters
    ----------
    since : str
        The version that introduced the new names.
    removal : str
        The version that removes the former names.
    **names : str
        New names by former ones.

    Returns
    -------
    decorator : callable
        It returns the wrapped function, or the given class.

    Examples
    --------
    >>> import warnings
    >>> from dpsk._deprecation import renamed_parameters
    >>> @renamed_parameters("0.2", "0.4", bound="data_norm")
    ... def halved(data_norm=1.0):
    ...     return data_norm / 2
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     halved(bound=3.0)
    1.5
    >>> print(str(caught[0].message).partition(";")[0])
    halved: the parameter 'bound' is called 'data_norm' since version 0.2
    """

    def decorator(thing):
        target = thing.__init__ if inspect.isclass(thing) else thing
        absent = sorted(set(names.values()) - set(inspect.signature(target).parameters))
        if absent:
            raise TypeError(f"{thing.__qualname__} has no parameters {absent} to be renamed to.")
        if not inspect.isclass(thing):
            return _wrapped(thing, thing.__name__, names, since, removal)
        for method in ("__init__", "set_params"):
            setattr(thing, method, _wrapped(getattr(thing, method), thing.__name__, names,
                                            since, removal))
        return thing

    return decorator
