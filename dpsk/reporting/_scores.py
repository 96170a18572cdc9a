"""Scores that scikit-learn's objects computed, which may be private mechanisms."""

from functools import partial

import numpy as np

from dpsk._kinds import kind_of
from dpsk._origin import is_of
from dpsk.reporting._attributes import attributes
from dpsk.reporting._findings import UNKEPT, Exposed
from dpsk.reporting._values import EXACT, inside, is_estimator

__all__ = ["are_private", "scores"]

#: Packages that define scorers.
_SCORERS = ("sklearn.metrics", "dpsk")
_PRIVATE = ("the privacy cost of private scores is not counted here, but on the PrivacyBudget "
            "that is open when they are computed; fit and score inside of one.")
_UNKNOWN = ("scores are not known to be exact ones of scikit-learn, nor private ones of dpsk, so "
            "their privacy cost is unknown. Score by dpsk.metrics.get_scorer inside a "
            "PrivacyBudget, which charges it.")


def scores(fitted, path):
    """Yield a finding for scores of unknown privacy cost; exact scorers cost nothing.

    Parameters
    ----------
    fitted : object
        A fitted object of scikit-learn.
    path : str

    Yields
    ------
    part : Exposed
    """
    found = _of_scorers(fitted)
    if not all(map(_is_exact, found)):
        yield Exposed(path, _PRIVATE if are_private(fitted) else _UNKNOWN, UNKEPT)


def are_private(fitted):
    """Return whether all scorers not known to be exact are private ones of dpsk."""
    found = [each for each in _of_scorers(fitted) if not _is_exact(each)]
    ours = all(is_of(each, "dpsk") or is_of(type(each), "dpsk") for each in found)
    return bool(found) and ours and not any(map(_holds_infinity, _scored(fitted).values()))


def _scored(fitted):
    """Return the attributes that may hold scorers."""
    # Their names are scoring, scorer_, score_func and oob_score; score values are plain arrays.
    return {name: value for name, value in attributes(fitted).items() if "scor" in name}


def _of_scorers(fitted):
    """Return the objects in scorers that are not plain values."""
    return [each for _, each in inside(_scored(fitted), "", {}, EXACT)]


def _holds_infinity(value):
    """Return whether a scorer holds an infinite number anywhere, such as an epsilon."""
    if isinstance(value, (float, np.floating)):
        return bool(np.isinf(value))
    if isinstance(value, partial):
        parts = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list | tuple | set):
        parts = value
    elif not isinstance(value, type) and any(is_of(type(value), each) for each in _SCORERS):
        parts = attributes(value).values()
    else:
        return False
    return any(map(_holds_infinity, parts))


def _is_exact(found):
    """Return whether an object in a scorer is known to compute exact scores."""
    # The score method of an estimator is exact, also in this package.
    known = kind_of(type(found)) is not None and is_estimator(found)
    return known or is_of(type(found), "sklearn.utils._metadata_requests")
