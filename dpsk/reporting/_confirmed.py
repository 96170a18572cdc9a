"""Confirm that a search fitted its candidates with their present parameters."""

import numpy as np

__all__ = ["is_confirmed"]


def is_confirmed(name, leaf, fitted, params, best_params):
    """Return whether a fitted search confirms the parameters of a private part.

    Each parameter must be in the search's record of the candidate, or be equal to that of the
    best estimator, whose certificate states the budget of its fit.

    Parameters
    ----------
    name : str
        Name of the part in the candidate; "" for the whole candidate.
    leaf : estimator
        The part, with its present parameters.
    fitted : estimator or None
        The part of the best estimator.
    params, best_params : dict
        Parameters that the search set for the candidate, and for the best one.
    """
    if type(fitted) is not type(leaf) or not _states_its_budget(fitted):
        return False
    known = fitted.get_params(deep=True)
    for key, value in leaf.get_params(deep=True).items():
        place = f"{name}__{key}" if name else key
        if place in params and not _is_estimator(value):
            continue
        if _is_set(place, params) or _is_set(place, best_params):
            return False
        if key not in known or not _same(value, known[key]):
            return False
    return True


def _states_its_budget(fitted):
    """Return whether the certificate of a fitted part is for its present budget."""
    certificate = getattr(fitted, "privacy_", None)
    return certificate is not None and certificate.epsilon == fitted.epsilon and (
        fitted.delta is None or certificate.delta == fitted.delta)


def _is_set(place, params):
    """Return whether settings include a parameter, or an object that contains it."""
    return any(place == key or place.startswith(f"{key}__") for key in params)


def _same(one, other):
    """Return whether parameter values are equal; for estimators, their classes."""
    if _is_estimator(one):
        return type(one) is type(other)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(
            map(_same, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or bool(one == other)


def _is_estimator(value):
    return hasattr(value, "get_params") and not isinstance(value, type)
