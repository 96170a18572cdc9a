"""Calls that may fail on the rows, with errors that never carry a data value."""

import re
import warnings

__all__ = ["discreetly"]

# Messages of validation that name types, shapes and columns only. Anything else is replaced.
_SAFE = re.compile("|".join([
    r"Found array with \d+ (sample|feature)\(s\) \(shape=[\d(), ]+\) while a minimum of \d+ is "
    r"required( by \w+)?\.",
    r"Found array with dim \d+(, while dim <= 2 is required by \w+|\. \w+ expected <= 2)\.",
    r"Found input variables with inconsistent numbers of samples: \[[\d, ]+\]",
    r"Expected 2D array, got (1D|scalar) array instead",
    r"Expected 2D array, got \d+D array instead",
    r"Input (X|y) contains (NaN|infinity|infinity or a value too large for dtype\('\w+'\))\.",
    r"Sparse data was passed for X, but dense data is required\. Use '\.toarray\(\)' to convert "
    r"to a dense numpy array\.",
    r"y should be a 1d array, got an array of shape [\d(), ]+ instead\.",
    r"Unknown label type: [\w-]+\. Maybe you are trying to fit a classifier, which expects "
    r"discrete classes on a regression target with continuous values\.",
    r"\w+ requires y to be passed, but the target y is None\.?",
    r"X has \d+ features, but \w+ is expecting \d+ features as input\.?",
    r"The feature names should match those that were passed during fit\.[\s\S]*",
    r"float\(\) argument must be a string or a (real )?number, not '\w+'",
    r"'<' not supported between instances of '\w+' and '\w+'",
    r"Singleton array .* cannot be considered a valid collection\.",
]))
# Messages whose first words are safe and needed, while the rest may quote data.
_HEADS = ("Complex data not supported", "could not convert string to float",
          "Unknown label type", "Expected 2D array, got 1D array instead",
          "Expected 2D array, got scalar array instead", "Singleton array",
          "Unsupported data type", "dtype='numeric' is not compatible with arrays of bytes/strings",
          "Input X contains NaN", "Input y contains NaN", "Only sparse matrices",
          "Pandas DataFrame with mixed sparse extension arrays", "Expected sequence or array-like",
          "A sparse matrix was passed", "Sparse data was passed")


def discreetly(what, function, *args, **kwargs):
    """Call ``function(*args, **kwargs)`` and strip data values from its errors.

    scikit-learn's and NumPy's messages may quote an entry ("could not convert string to
    float: 'abc'"). The type of the error is kept, and the text where it is known to name
    shapes, types and columns only.

    Parameters
    ----------
    what : str
        Names the argument in a replaced message, such as "X".
    function : callable
    *args, **kwargs

    Returns
    -------
    result : object

    Raises
    ------
    TypeError, ValueError, AttributeError, OverflowError
        As `function` raised them, with a text free of data.
    """
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        kind, message = _public_form(what, error)
    # Raised outside the handler, so that the original is not attached as context.
    raise kind(message)


def _public_form(what, error):
    text = str(error)
    kind = next(base for base in (TypeError, AttributeError, OverflowError, ValueError)
                if isinstance(error, base))
    safe = _SAFE.match(text)
    if safe:
        return kind, safe.group(0)
    head = next((head for head in _HEADS if text.startswith(head)), None)
    if head is not None:
        return kind, f"{head}; {what} must be numeric and of the documented shape."
    return kind, (f"{what} could not be read ({type(error).__name__}); the details are withheld, "
                  "as they may quote data. It must be an array of finite numbers, or of labels.")


def without_warnings(function, *args, **kwargs):
    """Call ``function(*args, **kwargs)`` with warnings off, as they may depend on the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)
