"""Calls on rows whose errors and warnings carry no data values."""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from sklearn.exceptions import DataConversionWarning

from dpsk._warnings import heard, muted, warn
from dpsk.exceptions import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["discreetly", "quietly", "without_warnings"]

# Safe messages of input validation, which name only types, shapes, columns and rules. Text after
# the match is dropped, as it may quote data.
_SAFE = re.compile("|".join([
    r"Found array with \d+ (sample|feature)\(s\) \(shape=[\d(), ]+\) while a minimum of \d+ is "
    r"required( by \w+)?\.",
    r"Found array with dim \d+(, while dim <= 2 is required by \w+|\. \w+ expected <= 2)\.",
    r"Found input variables with inconsistent numbers of samples: \[[\d, ]+\]",
    r"Expected a 2-dimensional container but got <class '[\w.]+'> instead\.",
    r"Expected sequence or array-like, got <class '[\w.]+'>",
    r"Input( \w+)? contains (NaN|infinity( or a value too large for dtype\('\w+'\))?)\.?",
    r"Sparse data was passed for \w+, but dense data is required\. Use '\.toarray\(\)' to convert "
    r"to a dense numpy array\.",
    r"y should be a 1d array, got an array of shape [\d(), ]+ instead\.",
    r"Unknown label type: [\w-]+\. Maybe you are trying to fit a classifier, which expects "
    r"discrete classes on a regression target with continuous values\.",
    r"Support for labels represented as bytes is not supported\. Convert the labels to a string "
    r"or integer format\.",
    r"This \w+ estimator requires y to be passed, but the target y is None\.",
    r"Sample weights must be 1D array or scalar(, got \dD array\. Expected either a scalar value "
    r"or a 1D array of length \d+\.)?",
    r"Sample weights must contain at least one non-zero number\.",
    r"sample_weight\.shape == \([\d, ]*\), expected \([\d, ]+\)!",
    r"X has \d+ features, but \w+ is expecting \d+ features as input\.",
    r"The feature names should match those that were passed during fit\.[\s\S]*",
    r"Feature names are only supported if all input features have string names, [\s\S]*",
    r"np\.matrix is not supported\. Please convert to a numpy array with np\.asarray\.",
    r"setting an array element with a sequence\. The requested array has an inhomogeneous shape "
    r"after \d+ dimensions\. The detected shape was [\d(), ]+ \+ inhomogeneous part\.",
    r"float\(\) argument must be a string or a (real )?number, not '\w+'",
    r"int too large to convert to float",
    r"'<' not supported between instances of '\w+' and '\w+'",
]))
_SAFE_WARNINGS = {
    re.compile(r"X (does not have|has) (valid )?feature names, but "): UserWarning,
    re.compile(r"A column-vector y was passed when a 1d array was "): DataConversionWarning}
_RESHAPE = (" Reshape your data either using array.reshape(-1, 1) if your data has a single "
            "feature or array.reshape(1, -1) if it contains a single sample.")
_NUMBERS = "; {what} must be numeric."
# Messages that quote data after these first words, with a safe ending instead.
_HEADS = {
    "Expected 2D array, got 1D array instead": "." + _RESHAPE,
    "Expected 2D array, got scalar array instead": "." + _RESHAPE,
    "Input should have at least 1 dimension": "; give {what} one value for each row.",
    "Complex data not supported": _NUMBERS,
    "could not convert string to float": _NUMBERS,
}


def discreetly(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``function(*args, **kwargs)`` and strip data values from its errors.

    scikit-learn's and NumPy's messages may quote an entry ("could not convert string to float:
    'abc'"). A message is kept only if it is known to name shapes, types and columns alone. It is
    raised as a TypeError, an AttributeError or an OverflowError if the error was one, else as a
    ValueError. If the message is withheld, a ValueError is raised. `what` is the name of the
    argument in messages, such as "X".
    """
    try:
        with np.errstate(all="ignore"), heard() as texts:
            result = function(*args, **kwargs)
    except BudgetExceededError:
        # This message carries only names, privacy costs and remedies.
        raise
    except Exception as error:
        kind, message = _public_form(what, error)
    else:
        _warn_again(texts)
        return result
    # Raised outside the handler, so that the original is not attached as context.
    raise kind(message)


def _warn_again(texts: list[str]) -> None:
    """Repeat warnings whose text names only shapes and features, and drop the others."""
    for text in texts:
        for safe, category in _SAFE_WARNINGS.items():
            if safe.match(text):
                warn(text, category, stacklevel=4)


def _public_form(what: str, error: Any) -> tuple[type[Any], str]:
    text = str(error)
    kind = next((base for base in (TypeError, AttributeError, OverflowError)
                 if isinstance(error, base)), ValueError)
    safe = _SAFE.match(text)
    if safe:
        # scikit-learn does not name the argument unless `input_name` was passed.
        named = re.sub(r"^Input contains", f"Input {what} contains", safe.group(0))
        return kind, named if " or " not in what else safe.group(0)
    for head, end in _HEADS.items():
        if text.startswith(head):
            return kind, head + end.format(what=what)
    return ValueError, (
        f"{what} could not be read ({type(error).__name__}); the details are withheld, as they "
        "may quote data. It must be an array of finite numbers, or of labels.")


def without_warnings(function: Callable[..., Any], *args: Any,
                     **kwargs: Any) -> Any:
    """Call ``function(*args, **kwargs)`` without warnings, as they may depend on rows."""
    with muted():
        return function(*args, **kwargs)


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate `function` to ignore floating-point errors, which depend on the data.

    A caller may have set NumPy or SciPy to warn or to raise at such errors.
    """
    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"), special.errstate(all="ignore"):
            return function(*args, **kwargs)
    return wrapped
