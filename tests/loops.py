"""Cases of one test that are tried in a row: thousands of tests of a millisecond take minutes."""

import inspect
from functools import wraps

import pytest

__all__ = ["in_a_row"]


def in_a_row(names, cases):
    """Return what makes a test of all cases; the first one that fails is named.

    As `pytest.mark.parametrize`, for cases that are quick and leave nothing behind.
    """
    keys = [name.strip() for name in names.split(",")]
    cases = [case if len(keys) > 1 else (case,) for case in cases]

    def decorated(test):
        signature = inspect.signature(test)

        @wraps(test)
        def looped(**given):
            for case in cases:
                try:
                    test(**given, **dict(zip(keys, case, strict=True)))
                except pytest.skip.Exception:
                    continue
                except (Exception, pytest.fail.Exception) as error:
                    raise AssertionError(f"{names}: {case!r}: {error}") from error

        looped.__signature__ = signature.replace(parameters=[
            given for name, given in signature.parameters.items() if name not in keys])
        return looped

    return decorated
