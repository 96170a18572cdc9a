"""Scores that scikit-learn's objects had computed, which may be private releases."""

from dpsk.reporting._attributes import attributes
from dpsk.reporting._findings import UNKEPT, Exposed
from dpsk.reporting._table import is_of, kind_of
from dpsk.reporting._values import EXACT, inside, is_estimator

__all__ = ["scores"]

_UNKNOWN = ("scores are not known to be exact ones of scikit-learn: private ones cost what is not "
            "counted here. Score by a name such as 'accuracy', or fit inside a PrivacyBudget, "
            "which charges them.")


def scores(fitted, path):
    """Yield that scores are not counted, unless all code that scored is known to be exact.

    Parameters
    ----------
    fitted : object
        Of scikit-learn.
    path : str

    Yields
    ------
    part : Exposed
    """
    # By every name that scikit-learn has for it: scoring, scorer_, score_func, oob_score.
    scored = {name: value for name, value in attributes(fitted).items() if "scor" in name}
    if not all(_is_exact(each) for _, each in inside(scored, path, {}, EXACT)):
        yield Exposed(path, _UNKNOWN, UNKEPT)


def _is_exact(found):
    """Return whether something in a scorer makes no private release."""
    # The score of an estimator is exact, of this package as well.
    known = kind_of(type(found)) is not None and is_estimator(found)
    return known or is_of(type(found), "sklearn.utils._metadata_requests")
